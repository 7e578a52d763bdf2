"""Scaling of features by their spread; deviations of integers are exact in any order and storage."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import min_max_axis

from nearlabel.utils.types import FloatArray, IntArray, Matrix


class FeatureScaling:
    """Divides features by their spread, without a shift, which would change no distance.

    Methods whose papers include scaling use it (NLDD, ML-MLM). `nearlabel.preprocessing.FeatureScaler`, for users, also
    shifts, and rounds like scikit-learn: two equal features may become slightly different.
    """

    def __init__(self, divisors: FloatArray | None) -> None:
        self.divisors = divisors

    @classmethod
    def by_deviation(cls, X: Matrix) -> FeatureScaling:
        """Divide by the standard deviations (n - 1) of some rows; by 1 for a constant feature.

        n Σz² - (Σz)², with z the difference from the first row, is exact for integers below 2^53, in any order and
        storage: equal features stay equal.
        """
        X, n = X.astype(np.float64), X.shape[0]  # a copy
        if sparse.issparse(X):
            X.sum_duplicates()
        exponents = np.frexp(_ranges(X))[1]  # a power of two changes no digit, and prevents underflow of squares
        total, squares = _sums_from_first_row(X, exponents)
        spread = n * squares - total**2
        constant = spread <= 64 * np.finfo(np.float64).eps * n * squares  # 0 up to rounding
        deviations = np.sqrt(np.maximum(spread, 0.0) / max(n * (n - 1), 1))
        return cls(np.where(constant, 1.0, np.ldexp(deviations, exponents)))

    @classmethod
    def by_range(cls, X: Matrix) -> FeatureScaling:
        """Divide by the ranges of the known values of some rows; by 1 for a constant feature."""
        width = _ranges(X)
        return cls(np.where(width > 0, width, 1.0))

    def __call__(self, X: Matrix) -> Matrix:
        """Divide the features of some rows."""
        if self.divisors is None:
            return X
        if not sparse.issparse(X):
            return X / self.divisors
        return sparse.csr_array((X.data / self.divisors[X.indices], X.indices, X.indptr), shape=X.shape)


def _ranges(X: Matrix) -> FloatArray:
    """Return the range of the known values of each feature; raise ValueError if it is infinite."""
    if sparse.issparse(X):
        low, high = min_max_axis(X, axis=0, ignore_nan=True)
    else:
        low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    with np.errstate(over="ignore"):  # raises an error below
        width = np.nan_to_num(high.astype(np.float64) - low, posinf=np.inf)
    if np.isinf(width).any():
        raise ValueError(f"X must have features whose ranges are finite in float64, got {high.max():.3g}. Hint: scale.")
    return np.asarray(width)


def _sums_from_first_row(X: Matrix, exponents: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return Σz and Σz² of each feature, z its difference from the first row, divided by a power of two."""
    if not sparse.issparse(X):
        shifted = np.ldexp(X - X[0], -exponents)
        return shifted.sum(axis=0), np.square(shifted).sum(axis=0)
    n, d = X.shape
    first = X[[0]].toarray().ravel()
    shifted = np.ldexp(X.data - first[X.indices], -exponents[X.indices])
    absent = n - np.bincount(X.indices, minlength=d)
    first = np.where(absent > 0, np.ldexp(first, -exponents), 0.0)  # otherwise its square may overflow, and is not used
    total = np.bincount(X.indices, weights=shifted, minlength=d) - absent * first
    return total, np.bincount(X.indices, weights=shifted**2, minlength=d) + absent * first**2
