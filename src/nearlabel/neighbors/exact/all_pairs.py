"""The distances of all pairs of queries and rows, for methods that need more than the nearest.

It also offers what these are made of to other packages: distances by name with their bounds, and rows as they take
them.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.neighbors.exact._candidates import equal_rows
from nearlabel.neighbors.exact._distances import Distance, Euclidean, Rows, SquaredEuclidean, Tile, check_not_too_small
from nearlabel.neighbors.exact._search import distance_named, takes_missing_values
from nearlabel.neighbors.exact._segments import as_rows, stored_alike
from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_float64, row_blocks

__all__ = [
    "AllDistances", "Distance", "Euclidean", "Rows", "SquaredDistances", "Tile", "as_float_rows",
    "check_not_too_small", "distance_named", "equal_rows", "stored_alike", "takes_missing_values",
]  # fmt: skip

_PRECISE_ENOUGH = 1e-9  # relative width of the bounds on a distance; they are for the worst rounding


def as_float_rows(X: Matrix) -> Matrix:
    """Return float64 rows; sparse ones as a canonical CSR array."""
    return as_rows(as_float64(X))


class AllDistances:
    """Distances of all pairs, by any metric of `ExactNeighbors`.

    The fast bounds of a metric give the distance of most pairs. The few whose bounds are wide, those of rows that
    nearly agree, are computed feature by feature. So equal rows are at distance 0, whatever the storage.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
        Rows from which the metric may learn a centre or variances.
    metric : str or callable
        As in `ExactNeighbors`.
    metric_params : dict or None
        As in `ExactNeighbors`.
    """

    def __init__(self, X: Matrix, metric: str | Callable[..., float], metric_params: dict[str, Any] | None) -> None:
        self._distance = distance_named(metric, metric_params)
        self._is_sparse = sparse.issparse(X)
        self._distance.fit(as_float_rows(X))

    def refitted(self, X: Matrix) -> AllDistances:
        """Return the same distances, with the centre of other rows; variances and what else changes distances stay."""
        other = copy(self)
        other._distance = copy(self._distance)
        other._distance.fit(as_float_rows(X))
        return other

    def between(self, queries: Matrix, rows: Matrix) -> FloatArray:
        """Return the distances (n_queries, n_rows)."""
        tile = self._distance.tile(self._prepared(queries), self._prepared(rows))
        low = tile.lower + tile.base[:, np.newaxis]
        high = tile.query_slack[:, np.newaxis] + tile.row_slack
        high += low
        with np.errstate(invalid="ignore"):  # the root of a bound below 0
            least, most = self._distance.to_distance(low), self._distance.to_distance(high)
        distances = np.asarray(least + most)
        distances /= 2  # in place, as more than half of the time is that of memory
        query, row = np.nonzero(~(np.subtract(most, least, out=least) <= _PRECISE_ENOUGH * most))
        distances[query, row] = self._distance.to_distance(tile.refine(query, row))
        return distances

    def _prepared(self, X: Matrix) -> Any:
        return self._distance.prepare(as_float_rows(stored_alike(X, as_sparse=self._is_sparse)))


# Squared Euclidean distances, for methods that compare rows with each other rather than search them.
#
# Each is summed feature by feature in float64, so dense and sparse rows, and blocks of any size, give the same bits:
# equal distances are equal everywhere, and ties are real.

_BYTES_PER_PAIR = 32  # two indices, a bound from below and one from above


class SquaredDistances:
    """Squared Euclidean distances between rows, which are named by their numbers.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
        Rows.

    Raises
    ------
    ValueError
        If the squared norm of a row overflows, or all values are so small that squares might vanish.
    """

    def __init__(self, X: Matrix) -> None:
        self.X = as_float_rows(X)
        self._distance = SquaredEuclidean()
        check_not_too_small([self.X], self._distance)
        self._distance.fit(self.X)

    def among(self, rows: IntArray) -> FloatArray:
        """Return the distances of all pairs of some rows (n_rows, n_rows)."""
        distances = np.zeros((len(rows), len(rows)))
        for block in row_blocks(len(rows), _BYTES_PER_PAIR * len(rows)):
            left, right = np.nonzero(np.arange(len(rows)) < np.arange(len(rows))[block, np.newaxis])
            left += block.start
            distances[left, right] = self._distance.ranks(self.X, self.X, (rows[left], rows[right]))
        distances += distances.T  # one of both is 0
        return distances

    def from_row(self, row: int, rows: IntArray) -> FloatArray:
        """Return the distances of a row to some rows (n_rows,)."""
        return self._distance.ranks(self.X, self.X, (np.full(len(rows), row), rows))

    def nearest(self, rows: IntArray, centres: Matrix) -> IntArray:
        """Return which of some points is nearest to each of some rows (n_rows,); of equally near ones the first."""
        prepared = self._distance.prepare(stored_alike(centres, as_sparse=not isinstance(self.X, np.ndarray)))
        nearest = np.empty(len(rows), dtype=np.intp)
        for block in row_blocks(len(rows), _BYTES_PER_PAIR * centres.shape[0]):
            tile = self._distance.tile(self._distance.prepare(self.X[rows[block]]), prepared)
            most = (tile.lower + tile.row_slack).min(axis=1) + tile.query_slack
            query, centre = np.nonzero(tile.lower <= most[:, np.newaxis])
            by_distance = np.lexsort((tile.refine(query, centre), query))  # stable: of equal ones the first
            first = np.searchsorted(query[by_distance], np.arange(len(most)))
            nearest[block] = centre[by_distance[first]]
        return nearest
