"""The kernels of Rank-SVM, bit-identical for dense and sparse rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.spatial.distance import cdist

from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import FloatArray, Matrix
from nearlabel.utils.validation import as_dense


@dataclass(frozen=True)
class Kernel:
    """An inner product of rows: linear, polynomial or Gaussian."""

    name: str  # "linear", "poly" or "rbf"
    gamma: float
    degree: int
    coef0: float
    middle: FloatArray | float  # subtracted from each row: 0 except for "linear", where it only reduces rounding errors

    @classmethod
    def for_rows(cls, X: Matrix, name: str, gamma: str | float, degree: int, coef0: float) -> Self:
        """Return the kernel with gamma="scale" and the middle computed from training samples."""
        if name == "linear":
            return cls(name, 1.0, degree, coef0, _mean(X))
        return cls(name, _scale(X) if isinstance(gamma, str) else float(gamma), degree, coef0, 0.0)

    def __call__(self, X: Matrix, Z: Matrix) -> FloatArray:
        """Return the kernel of each row of X with each of Z."""
        if self.name == "rbf":
            return np.asarray(np.exp(-self.gamma * _of_all_pairs(_squared_distances, X, Z)))
        products = _of_all_pairs(self._products, X, Z)
        return products if self.name == "linear" else np.asarray((self.gamma * products + self.coef0) ** self.degree)

    def _products(self, rows: FloatArray, others: FloatArray) -> FloatArray:
        return np.asarray((rows - self.middle) @ (others - self.middle).T)


def _squared_distances(rows: FloatArray, others: FloatArray) -> FloatArray:
    """Return Σ (x - z)², not expanded, which would cause cancellation for rows far from zero."""
    return np.asarray(cdist(rows, others, "sqeuclidean"))


def _of_all_pairs(function: Callable[[FloatArray, FloatArray], FloatArray], X: Matrix, Z: Matrix) -> FloatArray:
    """Apply a function to all pairs of dense blocks; the last bit must be reproducible, since many steps magnify it."""
    values = np.empty((X.shape[0], Z.shape[0]))
    for block, rows in _dense_blocks(X):
        for others, other_rows in _dense_blocks(Z):
            values[block, others] = function(rows, other_rows)
    return values


def _dense_blocks(X: Matrix) -> Iterator[tuple[slice, FloatArray]]:
    """Yield dense rows in blocks; the blocks do not depend on the storage."""
    for block in row_blocks(X.shape[0], 8 * X.shape[1]):
        yield block, np.ascontiguousarray(as_dense(X[block]))


def _mean(X: Matrix) -> FloatArray:
    """Return the mean row."""
    return np.asarray(sum(rows.sum(axis=0) for _, rows in _dense_blocks(X)) / X.shape[0])


def _scale(X: Matrix) -> float:
    """Return 1 / (n_features * variance of all cells), or 1 if the variance is 0."""
    n_cells = X.shape[0] * X.shape[1]
    mean = sum(float(rows.sum()) for _, rows in _dense_blocks(X)) / n_cells
    variance = sum(float(np.square(rows - mean).sum()) for _, rows in _dense_blocks(X)) / n_cells
    deviation = np.sqrt(variance)
    constant = deviation <= 64 * np.finfo(np.float64).eps * abs(mean)  # 0 up to rounding
    return 1.0 if constant else 1.0 / (X.shape[1] * variance)
