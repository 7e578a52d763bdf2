"""Search by a k-d tree: for few features, where it visits few rows."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from nearlabel.neighbors._bounds_search import BoundsSearch
from nearlabel.neighbors._candidates import first_of_each
from nearlabel.neighbors._distances import TreeDistance, rounding64
from nearlabel.neighbors._exact_distances import as_float64
from nearlabel.neighbors._result import Result
from nearlabel.neighbors._threads import in_threads
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix

_QUERIES_PER_TILE = 2048
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

        unresolved = in_threads(n_jobs, work, ((tile,) for tile in row_blocks(X.shape[0], 1, _QUERIES_PER_TILE)))
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
