"""Blocks of rows that fit a memory budget, cells of dense and CSR matrices, and limits of the size of features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.sparsefuncs import min_max_axis

from nearlabel.utils.types import CSR, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense

BLOCK_BYTES = 64 * 2**20  # bytes of one temporary array of a block


def row_blocks(n_rows: int, bytes_per_row: int, budget: int = BLOCK_BYTES) -> Iterator[slice]:
    """Return slices that cover ``range(n_rows)``, each of at least one row and at most `budget` bytes."""
    size = max(1, budget // max(1, bytes_per_row))
    return iter([slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)])


def bytes_per_row(X: Matrix) -> int:
    """Return the mean number of bytes per row, dense or CSR."""
    n_bytes = X.nnz * (X.data.itemsize + X.indices.itemsize) if sparse.issparse(X) else X.nbytes
    return int(n_bytes // max(1, X.shape[0]))


def uneven_blocks(sizes: IntArray, budget: int = BLOCK_BYTES) -> Iterator[slice]:
    """Yield slices that cover rows with given sizes in bytes, each with one row or at most `budget` bytes."""
    ends = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + budget, side="right")))
        yield slice(start, stop)
        start = stop


def as_float64(rows: Matrix) -> Matrix:
    """Return float64 rows, dense or CSR; a copy only where they are not."""
    return rows.astype(np.float64, copy=False)


def is_mapped(X: Matrix) -> bool:
    """Return whether rows are mapped from a file."""
    part = X.data if sparse.issparse(X) else X
    while isinstance(part, np.ndarray) and not isinstance(part, np.memmap):
        part = part.base
    return isinstance(part, np.memmap)


# Entries and cells of a dense or CSR matrix.


def entries(matrix: Matrix) -> tuple[IntArray, IntArray, IntArray]:
    """Return rows, columns and values of the nonzero entries, row by row."""
    if sparse.issparse(matrix):
        matrix = matrix.tocoo()
        return matrix.row.astype(np.intp), matrix.col.astype(np.intp), matrix.data
    row, column = np.nonzero(matrix)
    return row, column, matrix[row, column]


def cells_of(matrix: Matrix, rows: IntArray, columns: IntArray) -> IntArray:
    """Return matrix[rows, columns] as a dense array, for every version of scipy."""
    return as_dense(matrix[rows, columns]).ravel()


def entry_rows(stored: CSR) -> IntArray:
    """Return the row of each stored entry."""
    return np.repeat(np.arange(stored.shape[0]), np.diff(stored.indptr))


def canonical(stored: Any) -> Any:
    """Return a sparse matrix whose entries are sorted, each once; that of the caller is not changed."""
    if not stored.has_canonical_format:
        stored = stored.copy()
        stored.sum_duplicates()
    return stored


def groups_of_labels(unknown: Matrix) -> list[tuple[IntArray, IntArray]]:
    """Return the labels that are unknown in the same rows, and those rows, by the first label of each group."""
    columns = sparse.csc_array(unknown)
    columns.sort_indices()
    groups: dict[bytes, list[int]] = {}
    hidden = np.split(columns.indices, columns.indptr[1:-1])
    for label, rows in enumerate(hidden):
        groups.setdefault(rows.tobytes(), []).append(label)
    return [(np.array(labels), hidden[labels[0]]) for labels in groups.values()]


# Limits of the size of features for methods that sum their squares and products.

# Measured: LinearSVC and LogisticRegression(solver="liblinear"), both based on liblinear, do not terminate if a feature
# reaches 1e76 (scikit-learn rejects more than 1e30 for the second), nor if classes are equally frequent and the
# features that separate them are below 1e-163, so that their squares are 0.
LARGEST_FEATURE, SMALLEST_OF_ALL, SMALLEST_OF_LIBLINEAR = 1e30, 1e-100, 1e-150


def largest_size(X: Matrix) -> float:
    """Return the largest absolute value of a dense or sparse matrix, ignoring missing values; 0 if there is none."""
    values = X.data if sparse.issparse(X) else X
    if not values.size:
        return 0.0
    return max(float(np.fmax.reduce(values, axis=None)), -float(np.fmin.reduce(values, axis=None)), 0.0)


def check_feature_sizes(X: Matrix, method: str, *, smallest: float = 0.0) -> None:
    """Raise ValueError if a feature is too large for sums of squares, or if all are too small but not all 0.

    Small features among larger ones, such as saturated probabilities, add nothing to such sums; values below `smallest`
    are an error. `method` is the name of the method in messages.
    """
    sizes = _largest_sizes(X)
    wrong = int(np.argmax(sizes))
    if sizes[wrong] > LARGEST_FEATURE:
        raise ValueError(
            f"X must have features of at most {LARGEST_FEATURE:g} for {method}, got {sizes[wrong]:.3g} in feature"
            f" {wrong}, counted from 0. Hint: scale the features."
        )
    if 0 < sizes[wrong] < SMALLEST_OF_ALL:
        raise ValueError(
            f"X must have a feature whose largest size is at least {SMALLEST_OF_ALL:g} for {method}, got"
            f" {sizes[wrong]:.3g} as the largest. Hint: multiply the features."
        )
    if len(tiny := np.flatnonzero((sizes > 0) & (sizes < smallest))):
        raise ValueError(
            f"X must have features whose largest size is 0 or at least {smallest:g} for {method}, got"
            f" {sizes[tiny[0]]:.3g} in feature {tiny[0]}, counted from 0. Hint: scale it, or leave it out."
        )


def check_sizes_for(estimator: Any, X: Matrix) -> None:
    """Raise ValueError if a classifier might not terminate on features of these sizes."""
    if isinstance(estimator, LinearSVC) or (
        isinstance(estimator, LogisticRegression) and estimator.solver == "liblinear"
    ):
        check_feature_sizes(X, type(estimator).__name__, smallest=SMALLEST_OF_LIBLINEAR)


def _largest_sizes(X: Matrix) -> FloatArray:
    """Return the largest absolute value of each feature."""
    if sparse.issparse(X):
        low, high = min_max_axis(X.astype(np.float64, copy=False), axis=0)
    else:
        low, high = X.min(axis=0), X.max(axis=0)
    return np.asarray(np.maximum(high.astype(np.float64), -low.astype(np.float64)))
