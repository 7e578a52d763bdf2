"""Squared Euclidean distances, for methods that compare rows with each other rather than search them.

Each is summed feature by feature in float64, so dense and sparse rows, and blocks of any size, give the same bits:
equal distances are equal everywhere, and ties are real.
"""

from __future__ import annotations

import numpy as np

from nearlabel.neighbors._distances import SquaredEuclidean, check_not_too_small
from nearlabel.neighbors._exact import as_float_rows, stored_alike
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import FloatArray, IntArray, Matrix

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
