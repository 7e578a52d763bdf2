"""Lists of candidates on an accelerator, which receive scores and give candidates, once.

The *score* s of a row and a query, and its *slack* σ, are derived in `_device.py`: half of the squared distance,
negated, is between s - 2σ and s. The limit of a query is a score too: a row is no candidate if its score is below the
k-th greatest of bounds from below of k rows. Those are s - 2σ - 2^-20 (|s| + 2σ). Operations on single numbers in
float32 err by at most 2^-23 of their result, and σ, a sum of four products of numbers of at least 0, by 2^-21; so the
last term is more than the computed σ and the two subtractions can err together. For a group of rows s is the greatest,
and σ of the largest terms of each kind. To compare scores is exact, and so is the squared distance -2 s.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nearlabel.neighbors.exact._candidates import NONE_YET, CandidateLists, Candidates
from nearlabel.neighbors.exact._panel_search import most_candidates
from nearlabel.neighbors.optional._torch import TorchDevice
from nearlabel.utils.types import IntArray

LONGEST_GROUP = 256  # rows of a panel that bound the k-th neighbour together; panels are padded to a multiple
_GROUPS_PER_NEIGHBOR = 8  # in a panel: the k-th greatest of few groups bounds the k-th neighbour badly
_LONGEST_RUN = 32
_RUNS_AT_LEAST, _RUNS_PER_NEIGHBOR = 256, 2  # of a panel, which a query may open before it is given up
_OPENED_AT_MOST = 2**20  # runs that lists keep on the device: 150 MB
_SINGLE = 2.0**-20  # a few roundings to float32


class DeviceLists(CandidateLists):
    """Lists of candidates whose limits, and whose latest candidates, are on the device until they are needed.

    `rows` are the numbers of the rows by their places.
    """

    def __init__(self, n_queries: int, n_neighbors: int, device: TorchDevice, rows: IntArray) -> None:
        super().__init__(n_queries, n_neighbors, most_candidates(n_neighbors), exact=False)
        self._device, self._rows = device, rows
        self._run = min(_LONGEST_RUN, group_length(device.panel_rows, n_neighbors))
        self._numbers = device.put(np.arange(n_queries))
        # of each query k bounds from below on scores of k rows, greatest first; infinite where it is given up
        self._greatest = device.put(np.full((n_queries, n_neighbors), -NONE_YET / 2, dtype=np.float32))
        self._opened: list[tuple[Any, ...]] = []  # numbers of runs, queries, scores of the run's rows, and slack
        self._n_opened = 0

    def offer_scores(self, scores: Any, start: int, group: int, of_rows: Any, of_queries: Any, queries: Any) -> None:
        """Raise the limits of some queries by scores (n_rows, n_queries), and keep the runs that are within them.

        Rows are those from the place `start` on, in groups of a length. `of_rows` and `of_queries` are terms.
        """
        device, run, n_queries = self._device, self._run, scores.shape[1]
        runs = scores.reshape(-1, run, n_queries)
        best = device.greatest(runs, 1)
        source, length = (best, group // run) if group >= run else (scores, group)
        lower = self._lower_scores(
            device.greatest(source.reshape(-1, length, n_queries), 1), self._largest(of_rows, group), of_queries
        )
        greatest = device.merged(self._greatest[queries], lower)
        greatest[self._crowded(best, greatest)] = np.inf
        self._greatest[queries] = greatest
        which, query = device.nonzero(best >= greatest[:, -1])
        slack = slack_of(self._largest(of_rows, run)[which], of_queries[query])
        self._opened.append((which + start // run, self._numbers[queries][query], runs[which, :, query], slack))
        self._n_opened += len(which)

    def _lower_scores(self, greatest: Any, of_groups: Any, of_queries: Any) -> Any:
        """Return bounds from below on the greatest exact score of each group and query. The greatest of k are k rows'.

        The last term is for the roundings here.
        """
        twice = 2 * slack_of(of_groups[:, None], of_queries)
        return greatest - twice - _SINGLE * (abs(greatest) + twice)

    def _crowded(self, best: Any, greatest: Any) -> Any:
        """Return which queries have more runs within their limits than they may open."""
        return (best >= greatest[:, -1]).sum(0) > _RUNS_AT_LEAST + _RUNS_PER_NEIGHBOR * self.n_neighbors

    def _largest(self, terms: Any, length: int) -> Any:
        """Return the largest terms of each group of consecutive rows."""
        return self._device.greatest(terms.reshape(-1, length, terms.shape[1]), 1)

    def panel_seen(self) -> None:
        """Count the panels; after the 1st, 2nd, 4th, 8th ... fetch the limits, which show what panels to leave out."""
        self._panels_seen += 1
        if self._panels_seen & (self._panels_seen - 1) == 0:
            self._fetch_limits()

    def _fetch_limits(self) -> None:
        limit = -2 * self._device.get(self._greatest[:, -1])
        np.minimum(self.limit, limit, out=self.limit)
        self.unresolved |= limit == -np.inf

    def fetch(self) -> None:
        """Fetch the limits, and the candidates that are within them by now."""
        self._fetch_limits()
        if not self._n_opened:
            return
        device = self._device
        run, query, scores, slack = (device.joined(parts, 0) for parts in zip(*self._opened, strict=True))
        self._opened, self._n_opened = [], 0
        which, place = device.nonzero(scores >= self._greatest[query, -1][:, None])
        query, score, slack = query[which], scores[which, place], slack[which]
        pairs = device.get(device.joined([query, run[which] * self._run + place], 0)).reshape(2, -1)
        squares = device.get(device.joined(squares_of(score, slack), 0)).reshape(2, -1)
        self.add(Candidates(pairs[0], self._rows[pairs[1]], *squares))

    def relieve(self) -> None:
        """Fetch candidates if they become many, and give up the queries that have too many."""
        if self._n_opened > _OPENED_AT_MOST:
            self.tighten()
            self._greatest[self._device.put(self.unresolved)] = np.inf

    def tighten(self) -> None:
        """Lower the limits to the k-th least upper bounds of the candidates, all of which are fetched."""
        self.fetch()
        super().tighten()


def slack_of(of_rows: Any, of_queries: Any) -> Any:
    """Return the slack of pairs, N A + R B + C + D, given their terms."""
    return sum(of_rows[..., term] * of_queries[..., term] for term in range(4))


def squares_of(scores: Any, slack: Any) -> tuple[Any, Any]:
    """Return squared distances of pairs, and the largest errors of these, with roundings here and in the lists."""
    return 2 * slack - 2 * scores, 2 * slack + 4 * _SINGLE * (abs(scores) + slack)


def group_length(n_rows: int, k: int) -> int:
    """Return how many consecutive rows of a panel to take together for a limit on k neighbours."""
    halves = (LONGEST_GROUP >> times for times in range(LONGEST_GROUP.bit_length()))
    return next(length for length in halves if length == 1 or n_rows // length >= _GROUPS_PER_NEIGHBOR * k)
