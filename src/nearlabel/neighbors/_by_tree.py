"""Nearest rows by a k-d tree: for few features, where it visits few rows."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from nearlabel._blocks import row_blocks
from nearlabel._typing import FloatArray, IntArray, Matrix
from nearlabel.neighbors._distances import Pairs, TreeDistance, as_float64
from nearlabel.neighbors._shortlist import first_of_each
from nearlabel.neighbors._threads import in_threads

_QUERIES_PER_TILE = 2048
_SLACK = 1 + 2.0**-40  # far more than the distances of the tree, summed in another order, are off
_UNDERFLOW = 2.0**-500


class TreeSearch:
    """Ask scipy's tree for the k nearest and one more; where that one is as far as the k-th, for all within reach."""

    def __init__(self, X: Matrix, distance: TreeDistance) -> None:
        self._X, self._distance = X, distance
        self._tree = cKDTree(as_float64(X), balanced_tree=False)

    def nearest(self, queries: Matrix | None, k: int, n_jobs: int | None) -> tuple[FloatArray, IntArray]:
        """Return ranks and indices (n_queries, k) of the nearest rows; of the rows themselves, each without itself."""
        X = self._X if queries is None else queries
        answer = np.empty((X.shape[0], k)), np.empty((X.shape[0], k), dtype=np.intp)

        def work(tile: slice) -> None:
            own = np.arange(tile.start, tile.stop) if queries is None else None
            answer[0][tile], answer[1][tile] = self._nearest(X[tile], k, own)

        in_threads(n_jobs, work, ((tile,) for tile in row_blocks(X.shape[0], 1, _QUERIES_PER_TILE)))
        return answer

    def _nearest(self, queries: Matrix, k: int, own: IntArray | None) -> tuple[FloatArray, IntArray]:
        query, row = self._candidates(as_float64(queries), k if own is None else k + 1)
        if own is not None:
            others = row != own[query]
            query, row = query[others], row[others]
        ranks = self._distance.ranks(queries, self._X, (query, row))
        return first_of_each(query, row, ranks, np.ones(len(queries), dtype=bool), k)

    def _candidates(self, queries: FloatArray, k: int) -> Pairs:
        """Return pairs of a query and a row, query by query: all rows that may be among the k nearest."""
        wanted = min(k + 1, self._X.shape[0])
        distances, rows = self._tree.query(queries, range(1, wanted + 1), p=self._distance.power)
        reach = distances[:, k - 1] * _SLACK + _UNDERFLOW
        tied = np.flatnonzero((distances[:, -1] <= reach) & (wanted > k))
        within = self._tree.query_ball_point(queries[tied], reach[tied], p=self._distance.power)
        counts = np.full(len(queries), wanted)
        counts[tied] = [len(some) for some in within]
        found = list(rows)
        for number, some in zip(tied, within, strict=True):
            found[number] = some
        return np.repeat(np.arange(len(queries)), counts), np.concatenate(found).astype(np.intp)
