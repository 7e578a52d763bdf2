"""Nearest rows by float64 bounds on all pairs: for any metric, and where single precision cannot tell rows apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from scipy import sparse

from nearlabel._blocks import BLOCK_BYTES, row_blocks
from nearlabel._typing import FloatArray, IntArray, Matrix
from nearlabel.neighbors._answer import Answer
from nearlabel.neighbors._distances import Distance, Rows, Tile
from nearlabel.neighbors._threads import in_threads

_QUERIES_PER_TILE = 256
_LARGEST_TILE = BLOCK_BYTES
_BYTES_PER_PAIR = 8 * 2  # a bound, run minima and a comparison
_LARGEST = float(np.finfo(np.float64).max)


class BoundsSearch:
    """Bound every pair in float64, refine what the bounds leave. Rows are made ready panel by panel, none are kept."""

    def __init__(self, X: Matrix, distance: Distance) -> None:
        self._X, self._distance = X, distance

    def nearest(self, queries: Matrix | None, k: int, n_jobs: int | None) -> Answer:
        """Return ranks and indices (n_queries, k) of the nearest rows; of the rows themselves, each without itself."""
        X = self._X if queries is None else queries
        answer = Answer.empty(X.shape[0], k)
        self.answer(X, np.arange(X.shape[0]), answer, n_jobs, leave_out=queries is None)
        return answer

    def answer(self, X: Matrix, numbers: IntArray, answer: Answer, n_jobs: int | None, *, leave_out: bool) -> None:
        """Write the answers to those queries among the rows of X that have these numbers.

        With `leave_out` X are the rows themselves, and none is its own neighbour.
        """

        def work(tile: slice) -> None:
            some = numbers[tile]
            own = some if leave_out else None
            answer.ranks[some], answer.indices[some] = self._nearest(X[some], answer.ranks.shape[1], own)

        most = _LARGEST_TILE // self._filled_bytes_per_row()
        tiles = row_blocks(len(numbers), 1, budget=max(1, min(_QUERIES_PER_TILE, most)))
        in_threads(n_jobs, work, ((tile,) for tile in tiles))

    def _nearest(self, queries: Matrix, k: int, own: IntArray | None) -> tuple[FloatArray, IntArray]:
        ready = self._distance.prepare(queries)
        return nearest_rows(ready, self._panels(len(ready)), self._X.shape[0], k, self._distance, own=own)

    def _panels(self, n_queries: int) -> Iterator[tuple[int, Rows]]:
        bytes_per_row = n_queries * _BYTES_PER_PAIR + 8 * self._X.shape[1] * (not sparse.issparse(self._X))
        for panel in row_blocks(self._X.shape[0], bytes_per_row + self._filled_bytes_per_row(), _LARGEST_TILE):
            yield panel.start, self._distance.prepare(self._X[panel])

    def _filled_bytes_per_row(self) -> int:
        """Return what a sparse row takes where the distance makes it dense, else 1."""
        filled = self._distance.fills_rows and sparse.issparse(self._X)
        return 8 * int(self._X.shape[1]) if filled else 1


def nearest_rows(
    queries: Rows,
    panels: Iterable[tuple[int, Rows]],
    n_rows: int,
    k: int,
    distance: Distance,
    *,
    own: IntArray | None = None,
) -> tuple[FloatArray, IntArray]:
    """Return rank and index (n_queries, k) of the k rows of least (rank, index) for each query.

    Panel by panel (the number of its first row, its rows): a pair whose lower bound exceeds the k-th least upper bound,
    or the k-th rank so far, is no neighbour; the others are refined, and the k best are kept. Row own[i] is left out
    of the list of query i.
    """
    n_queries = len(queries)
    ranks = np.full((n_queries, k), np.inf)
    indices = np.full((n_queries, k), n_rows)
    for start, rows in panels:
        tile = distance.tile(queries, rows)
        if own is not None:
            _leave_out_own(tile, own - start)
        limit = np.minimum(_bound_on_kth(tile, k), _above(ranks[:, -1] - tile.base))
        query, row = np.divmod(np.flatnonzero(tile.lower <= limit[:, np.newaxis]), tile.lower.shape[1])
        ranks, indices = keep_best(ranks, indices, query, tile.refine(query, row), row + start)
    return ranks, indices


def _leave_out_own(tile: Tile, own: IntArray) -> None:
    """Put the pairs (i, own[i]) above every limit."""
    inside = np.flatnonzero((own >= 0) & (own < tile.lower.shape[1]))
    tile.lower[inside, own[inside]] = np.inf


def _bound_on_kth(tile: Tile, k: int) -> FloatArray:
    """Return, for each query, a finite number that at least k rows, if there are as many, do not exceed (less `base`).

    The k least minima of disjoint runs belong to k different rows; minima of strided runs cost far less than a
    partition of all pairs. Each run takes the largest slack of its own rows.
    """
    n_queries, n_rows = tile.lower.shape
    if n_rows < k:
        return np.full(n_queries, _LARGEST)
    run = max(1, min(32, n_rows // (2 * k)))
    n_runs = n_rows // run
    least = tile.lower[:, : n_runs * run].reshape(n_queries, run, n_runs).min(axis=1)
    least += tile.row_slack[: n_runs * run].reshape(run, n_runs).max(axis=0)
    return _above(np.partition(least, k - 1, axis=1)[:, k - 1] + tile.query_slack)


def _above(limit: FloatArray) -> FloatArray:
    """Return finite numbers that rounding, in the sum that gave `limit`, cannot have made too small."""
    return np.minimum(limit + 4 * np.finfo(np.float64).eps * np.abs(limit), _LARGEST)


def keep_best(
    ranks: FloatArray, indices: IntArray, query: IntArray, new_ranks: FloatArray, new_indices: IntArray
) -> tuple[FloatArray, IntArray]:
    """Merge newly refined pairs into the k best so far of each query, ordered by (rank, index)."""
    n_queries, k = ranks.shape
    all_queries = np.concatenate([np.repeat(np.arange(n_queries), k), query])
    all_ranks = np.concatenate([ranks.ravel(), new_ranks])
    all_indices = np.concatenate([indices.ravel(), new_indices])
    order = np.lexsort((all_indices, all_ranks, all_queries))
    first = np.searchsorted(all_queries[order], np.arange(n_queries))
    best = order[first[:, np.newaxis] + np.arange(k)]
    return all_ranks[best], all_indices[best]
