"""Lists of candidates on an accelerator, which receive scores and give candidates, once.

The *score* s of a row and a query, its *slack* σ and the query's *shift* h ≥ 0 are derived in `_device.py`: half of the
squared distance, negated, is between s - 2σ - h and s - h. The *level* of a query, in float64, is the k-th greatest of
bounds from below of k rows; a row whose bound from above is below it is no candidate. Operations on single numbers in
float32 err by at most 2^-23 of their result, and σ, a sum of four products of numbers of at least 0, by 2^-21. So

    s - 2σ - 2^-20 (|s| + 2σ) - h    is a bound from below:

the term in brackets is more than the computed σ and two subtractions can err together, and bounds of h are apart by
more than the operations with it, in float64, err. Scores are compared with level + h, also in float64. For a group of
rows s is the greatest, and σ that of the largest terms of each kind.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nearlabel.neighbors.exact._candidates import NONE_YET, CandidateLists, Candidates
from nearlabel.neighbors.exact._panel_search import most_candidates
from nearlabel.neighbors.optional._torch import TorchDevice
from nearlabel.utils.types import Float32Array, FloatArray, IntArray

LONGEST_GROUP = 256  # rows of a panel that bound the k-th neighbour together; panels are padded to a multiple
_GROUPS_PER_NEIGHBOR = 8  # in a panel: the k-th greatest of few groups bounds the k-th neighbour badly
_LONGEST_RUN = 32
_RUNS_AT_LEAST, _RUNS_PER_NEIGHBOR = 256, 2  # of a panel, which a query may open before it is given up
_OPENED_AT_MOST = 2**20  # runs that lists keep on the device: 180 MB
_SINGLE = 2.0**-20  # a few roundings to float32
_GIVEN_UP = float(NONE_YET)  # a level above all scores


class DeviceLists(CandidateLists):
    """Lists of candidates whose limits, and whose latest candidates, are on the device until they are needed.

    `rows` are the numbers of the rows by their places, `terms` those of their slack, on the device.
    """

    def __init__(self, n_queries: int, n_neighbors: int, device: TorchDevice, rows: IntArray, terms: Any) -> None:
        super().__init__(n_queries, n_neighbors, most_candidates(n_neighbors), exact=False)
        self._device, self._rows, self._terms = device, rows, terms
        self._run = min(_LONGEST_RUN, group_length(device.panel_rows, n_neighbors))
        self._numbers = device.put(np.arange(n_queries))
        # of each query bounds from below of k rows, greatest first; the last is its level
        self._greatest = device.put(np.full((n_queries, n_neighbors), -float(NONE_YET) / 2))
        self._opened: list[tuple[Any, ...]] = []  # places, queries, scores of the run's rows, terms, shift
        self._n_opened = 0

    def offer_scores(self, scores: Any, rows: tuple[int, int, Any], queries: tuple[Any, Any, Any]) -> None:
        """Raise the levels of some queries by scores (n_rows, n_queries), and keep the runs that they do not exclude.

        `rows` are their first place, the length of groups, and their terms; `queries` their numbers, terms, and
        bounds of the shift.
        """
        (start, group, of_rows), (which, of_queries, shift) = rows, queries
        device, run, n_queries = self._device, self._run, scores.shape[1]
        which = which if isinstance(which, slice) else device.put(which)
        runs = scores.reshape(-1, run, n_queries)
        best = device.greatest(runs, 1)
        source, length = (best, group // run) if group >= run else (scores, group)
        groups = device.greatest(source.reshape(-1, length, n_queries), 1)
        largest = device.greatest(of_rows.reshape(-1, group, of_rows.shape[1]), 1)
        lower = _lower_scores(groups, slack_of(largest[:, None], of_queries)) - shift[:, 1]
        greatest = device.merged(self._greatest[which], lower)
        n_open = (best >= greatest[:, -1] + shift[:, 0]).sum(0)
        greatest[n_open > _RUNS_AT_LEAST + _RUNS_PER_NEIGHBOR * self.n_neighbors] = _GIVEN_UP
        self._greatest[which] = greatest
        number, query = device.nonzero(best >= greatest[:, -1] + shift[:, 0])
        opened = start + number * run, self._numbers[which][query], runs[number, :, query]
        self._opened.append((*opened, of_queries[query], shift[query, 0]))
        self._n_opened += len(number)

    def panel_seen(self) -> None:
        """Count the panels; after the 1st, 2nd, 4th, 8th ... fetch the limits, which show what panels to leave out."""
        self._panels_seen += 1
        if self._panels_seen & (self._panels_seen - 1) == 0:
            self._fetch_limits()

    def _fetch_limits(self) -> None:
        level = self._device.get(self._greatest[:, -1])
        np.minimum(self.limit, single_up(-2 * level), out=self.limit)
        self.unresolved |= level == _GIVEN_UP

    def fetch(self) -> None:
        """Fetch the limits, and the candidates that are within them by now."""
        self._fetch_limits()
        if not self._n_opened:
            return
        device = self._device
        first, query, scores, terms, shift = (device.joined(parts, 0) for parts in zip(*self._opened, strict=True))
        self._opened, self._n_opened = [], 0
        run, within = device.nonzero(scores >= (self._greatest[query, -1] + shift)[:, None])
        place = first[run] + within
        pairs = device.get(device.joined([query[run], place], 0)).reshape(2, -1)
        squares = squares_of(scores[run, within], slack_of(self._terms[place], terms[run]), shift[run])
        square, error = device.get(device.joined(squares, 0)).reshape(2, -1).astype(np.float32)
        self.add(Candidates(pairs[0], self._rows[pairs[1]], square, error))

    def relieve(self) -> None:
        """Fetch candidates if they become many, and give up the queries that have too many."""
        if self._n_opened > _OPENED_AT_MOST:
            self.tighten()
            self._greatest[self._device.put(self.unresolved)] = _GIVEN_UP

    def tighten(self) -> None:
        """Lower the limits to the k-th least upper bounds of the candidates, all of which are fetched."""
        self.fetch()
        super().tighten()


def slack_of(of_rows: Any, of_queries: Any) -> Any:
    """Return the slack of pairs, N A + R B + C + D, given their terms."""
    return sum(of_rows[..., term] * of_queries[..., term] for term in range(4))


def _lower_scores(scores: Any, slack: Any) -> Any:
    """Return bounds from below, derived above but for the shift."""
    return scores - 2 * slack - _SINGLE * (abs(scores) + 2 * slack)


def squares_of(scores: Any, slack: Any, shift: Any) -> tuple[Any, Any]:
    """Return squared distances of pairs, and the largest errors of these, with later roundings to float32."""
    squares = 2 * (slack - scores) + 2 * shift
    return squares, 2 * slack + 4 * _SINGLE * (abs(scores) + slack) + _SINGLE / 4 * abs(squares)


def group_length(n_rows: int, k: int) -> int:
    """Return how many consecutive rows of a panel to take together for a limit on k neighbours."""
    halves = (LONGEST_GROUP >> times for times in range(LONGEST_GROUP.bit_length()))
    return next(length for length in halves if length == 1 or n_rows // length >= _GROUPS_PER_NEIGHBOR * k)


def single_up(values: FloatArray) -> Float32Array:
    """Convert to float32, rounded up."""
    return np.nextafter(values.astype(np.float32), np.float32(np.inf))
