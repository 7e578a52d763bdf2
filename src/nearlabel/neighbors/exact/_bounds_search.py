"""Search by float64 bounds on all pairs: for any metric, and for queries that single precision cannot resolve."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree

from nearlabel.neighbors.exact._candidates import Result, first_of_each, in_threads, keep_best, nonzero
from nearlabel.neighbors.exact._distances import Distance, Rows, Tile, TreeDistance, rounding64
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import BLOCK_BYTES, as_float64, row_blocks

_QUERIES_PER_TILE = 256
_USUAL_TILE, _LARGEST_TILE = 2**24, BLOCK_BYTES  # bytes; allocating a large tile takes as long as its product
_ROWS_PER_NEIGHBOR = 64  # in a panel: the nearest of a few rows give a poor limit
_BYTES_PER_PAIR = 8 * 2  # a bound, run minima and a comparison
_LONGEST_RUN = 32
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class BoundsSearch:
    """Bound all pairs in float64 and refine those within the limits, panel by panel; no copy of the rows is kept."""

    X: Matrix
    distance: Distance

    def nearest(self, queries: Matrix | None, k: int, n_jobs: int | None) -> Result:
        """Return ranks and indices (n_queries, k) of the nearest rows; without queries, of each row without itself."""
        X = self.X if queries is None else queries
        result = Result.empty(X.shape[0], k)
        self.write(X, np.arange(X.shape[0]), result, n_jobs, drop_self=queries is None)
        return result

    def write(self, X: Matrix, numbers: IntArray, result: Result, n_jobs: int | None, *, drop_self: bool) -> None:
        """Write the result of some queries: the rows of X with these numbers.

        With `drop_self`, X are the training samples, and no row is its own neighbour.
        """

        def work(tile: slice) -> None:
            some = numbers[tile]
            own = some if drop_self else None
            result.ranks[some], result.indices[some] = self._nearest(X[some], result.ranks.shape[1], own)

        most = _LARGEST_TILE // self._filled_bytes_per_row()
        tiles = row_blocks(len(numbers), 1, budget=max(1, min(_QUERIES_PER_TILE, most)))
        in_threads(n_jobs, work, ((tile,) for tile in tiles))

    def _nearest(self, queries: Matrix, k: int, own: IntArray | None) -> tuple[FloatArray, IntArray]:
        ready = self.distance.prepare(queries)
        return nearest_rows(ready, self._panels(len(ready), k), self.X.shape[0], k, self.distance, own=own)

    def _panels(self, n_queries: int, k: int) -> Iterator[tuple[int, Rows]]:
        bytes_per_row = n_queries * _BYTES_PER_PAIR + 8 * self.X.shape[1] * (not sparse.issparse(self.X))
        bytes_per_row += self._filled_bytes_per_row()
        budget = max(_USUAL_TILE, min(_LARGEST_TILE, _ROWS_PER_NEIGHBOR * k * bytes_per_row))
        for panel in row_blocks(self.X.shape[0], bytes_per_row, budget):
            yield panel.start, self.distance.prepare(self.X[panel])

    def _filled_bytes_per_row(self) -> int:
        """Return the bytes of a sparse row made dense, if the distance makes it dense, else 1."""
        filled = self.distance.fills_rows and sparse.issparse(self.X)
        return 8 * int(self.X.shape[1]) if filled else 1


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

    A panel is the number of its first row and its rows. A pair whose lower bound exceeds the k-th least upper bound, or
    the k-th rank so far, is no neighbour; the others are refined, and the k best are kept. Row own[i] is dropped from
    the list of query i.
    """
    n_queries = len(queries)
    ranks = np.full((n_queries, k), np.inf)
    indices = np.full((n_queries, k), n_rows)
    for start, rows in panels:
        tile = distance.tile(queries, rows)
        if own is not None:
            _exclude_own(tile, own - start)
        run = max(1, min(_LONGEST_RUN, tile.lower.shape[1] // (2 * k)))
        least = _least_of_runs(tile.lower, run)
        limit = np.minimum(_bound_on_kth(tile, least, run, k), above(ranks[:, -1] - tile.base))
        query, row = _within(tile.lower, least, run, limit)
        ranks, indices = keep_best(ranks, indices, query, tile.refine(query, row), row + start)
    return ranks, indices


def _exclude_own(tile: Tile, own: IntArray) -> None:
    """Put the pairs (i, own[i]) above every limit, so that no row is its own neighbour."""
    inside = np.flatnonzero((own >= 0) & (own < tile.lower.shape[1]))
    tile.lower[inside, own[inside]] = np.inf


def _least_of_runs(lower: FloatArray, run: int) -> FloatArray:
    """Return the least bound (n_queries, n_runs) of each of disjoint runs of rows.

    Run i of n has the rows i, i + n, i + 2n, ..., so that numpy takes minima along contiguous memory. The last rows,
    fewer than a run for each, are in none.
    """
    n_queries, n_rows = lower.shape
    least: FloatArray = lower[:, : n_rows // run * run].reshape(n_queries, run, -1).min(axis=1)
    return least


def _bound_on_kth(tile: Tile, least: FloatArray, run: int, k: int) -> FloatArray:
    """Return, for each query, a finite upper bound on the k-th least rank (minus `base`), if there are k rows.

    The least bounds of k runs belong to k different rows; finding them costs far less than a partition of all pairs.
    Each run takes the largest slack of its own rows.
    """
    n_queries, n_runs = least.shape
    if n_runs < k:
        return np.full(n_queries, _LARGEST)
    upper = least + tile.row_slack[: n_runs * run].reshape(run, n_runs).max(axis=0)
    return above(np.partition(upper, k - 1, axis=1)[:, k - 1] + tile.query_slack)


def _within(lower: FloatArray, least: FloatArray, run: int, limit: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the pairs (query, row) whose bound is within the limit; only runs whose least bound is are opened."""
    n_runs = least.shape[1]
    n_in_runs = run * n_runs
    query, first = nonzero(least <= limit[:, np.newaxis])
    rows = first[:, np.newaxis] + np.arange(0, n_in_runs, n_runs)
    pair, place = nonzero(lower[query[:, np.newaxis], rows] <= limit[query, np.newaxis])
    last_query, last_row = nonzero(lower[:, n_in_runs:] <= limit[:, np.newaxis])
    return np.concatenate([query[pair], last_query]), np.concatenate([rows[pair, place], last_row + n_in_runs])


def above(limit: FloatArray) -> FloatArray:
    """Return limits raised by more than the rounding of the sum that gave them; finite ones."""
    return np.minimum(limit + 4 * np.finfo(np.float64).eps * np.abs(limit), _LARGEST)


# Search by a k-d tree: for few features, where it visits few rows.

_QUERIES_PER_TREE_TILE = 2048
_UNDERFLOW = 2.0**-500
_MOST_PER_NEIGHBOR, _MOST_AT_LEAST = 32, 256  # rows within reach of a query, before `BoundsSearch` takes over


class TreeSearch:
    """Query scipy's tree for k + 1 neighbours, and order them by their ranks.

    Where the last is about as far as the k-th, ties may be missing, so the tree is queried for all rows within reach.
    """

    def __init__(self, X: Matrix, distance: TreeDistance) -> None:
        self._X, self._distance = X, distance
        self._tree = cKDTree(as_float64(X), balanced_tree=False)
        self._slack = 1 + 2.0**-40 + rounding64(X.shape[1])  # the tree sums in another order
        self._bounds_search = BoundsSearch(X, distance)

    def nearest(self, queries: Matrix | None, k: int, n_jobs: int | None) -> Result:
        """Return ranks and indices (n_queries, k) of the nearest rows; without queries, of each row without itself."""
        X = self._X if queries is None else queries
        self._distance.check(X)
        result = Result.empty(X.shape[0], k)

        def work(tile: slice) -> IntArray:
            own = np.arange(tile.start, tile.stop) if queries is None else None
            return self._search_tile(X[tile], tile, own, result)

        unresolved = in_threads(n_jobs, work, ((tile,) for tile in row_blocks(X.shape[0], 1, _QUERIES_PER_TREE_TILE)))
        if unresolved:
            self._bounds_search.write(X, np.concatenate(unresolved), result, n_jobs, drop_self=queries is None)
        return result

    def _search_tile(self, queries: Matrix, tile: slice, own: IntArray | None, result: Result) -> IntArray:
        """Write the result of a tile; return the unresolved queries, which have too many rows within reach."""
        k = result.ranks.shape[1]
        query, row, answered = self._candidates(as_float64(queries), k if own is None else k + 1)
        if own is not None:
            others = row != own[query]
            query, row = query[others], row[others]
        ranks = self._distance.ranks(queries, self._X, (query, row))
        numbers = np.arange(tile.start, tile.stop)
        some = numbers[answered]
        result.ranks[some], result.indices[some] = first_of_each(query, row, ranks, answered, k)
        return numbers[~answered]

    def _candidates(self, queries: FloatArray, k: int) -> tuple[IntArray, IntArray, BoolArray]:
        """Return all pairs (query, row) that may be neighbours, grouped by query, and which queries are resolved."""
        wanted, power = min(k + 1, self._X.shape[0]), self._distance.power
        distances, rows = self._tree.query(queries, range(1, wanted + 1), p=power)
        reach = distances[:, k - 1] * self._slack + _UNDERFLOW
        tied = np.flatnonzero((distances[:, -1] <= reach) & (wanted > k))
        counts, found, answered = np.full(len(queries), wanted), list(rows), np.ones(len(queries), dtype=bool)
        counts[tied] = self._tree.query_ball_point(queries[tied], reach[tied], p=power, return_length=True)
        too_many = counts[tied] > max(_MOST_AT_LEAST, _MOST_PER_NEIGHBOR * k, wanted)
        answered[tied[too_many]], counts[tied[too_many]] = False, 0
        tied = tied[~too_many]
        for number, within in zip(tied, self._tree.query_ball_point(queries[tied], reach[tied], p=power), strict=True):
            found[number] = within
        kept = [some for some, count in zip(found, counts, strict=True) if count]
        query = np.repeat(np.arange(len(queries)), counts)
        return query, np.concatenate([np.empty(0, dtype=np.intp), *kept]).astype(np.intp), answered
