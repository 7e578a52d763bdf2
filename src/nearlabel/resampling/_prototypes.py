"""Prototypes of groups of rows: the features and labels of a group, and when a group need not be divided."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from nearlabel.utils.types import CSR, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense


def have_a_label_in_common(labels: CSR, rows: IntArray) -> bool:
    """Return whether some label is one of all the rows: they are *homogeneous*."""
    return int(np.bincount(labels[rows].indices).max(initial=0)) == len(rows)


def numbered_by_first(groups: IntArray) -> IntArray:
    """Return groups (n_rows,) under the numbers 0, 1, ..., in the order of their first rows."""
    _, first, number = np.unique(groups, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number]


def group_of_each(parts: Sequence[IntArray]) -> IntArray:
    """Return the part (n_rows,) of each row; parts are numbered in the order of their first rows."""
    part = np.repeat(np.arange(len(parts)), [len(rows) for rows in parts])
    return numbered_by_first(part[np.argsort(np.concatenate(parts))])


def rows_of_each(group_of: IntArray) -> list[IntArray]:
    """Return the rows of groups 0, 1, ..., ascending."""
    sizes = np.bincount(group_of)
    return np.split(np.argsort(group_of, kind="stable"), np.cumsum(sizes)[:-1])


def majority_labels(labels: Matrix, group_of: IntArray) -> Matrix:
    """Return the labels on more than half of the rows of each group (n_groups, n_labels), stored as `labels`."""
    sizes = np.bincount(group_of)
    counts = sparse.csr_array(indicator(group_of) @ sparse.csr_array(labels, dtype=np.int64))
    counts.data = (2 * counts.data > np.repeat(sizes, np.diff(counts.indptr))).astype(np.int64)
    counts.eliminate_zeros()
    counts.sort_indices()
    return counts if sparse.issparse(labels) else as_dense(counts)


def indicator(group_of: IntArray) -> CSR:
    """Return the matrix (n_groups, n_rows) whose product with rows adds those of each group, in their order."""
    n_rows = len(group_of)
    entries = (np.ones(n_rows, dtype=np.int64), (group_of, np.arange(n_rows)))
    return sparse.csr_array(entries, shape=(int(group_of.max()) + 1, n_rows))


def medians(X: Matrix, groups: Sequence[IntArray]) -> Matrix:
    """Return the median of each feature in each group (n_groups, n_features) in float64, stored as `X`."""
    if sparse.issparse(X):
        return _sparse_medians(X, groups)
    middle: FloatArray = np.empty((len(groups), X.shape[1]))
    for number, rows in enumerate(groups):
        middle[number] = X[rows[0]] if len(rows) == 1 else np.median(X[rows].astype(np.float64, copy=False), axis=0)
    return middle


def _sparse_medians(X: CSR, groups: Sequence[IntArray]) -> CSR:
    parts = [_sparse_median(X, rows) for rows in groups]
    ends = np.cumsum([0, *(len(columns) for columns, _ in parts)])
    columns = np.concatenate([columns for columns, _ in parts])
    values = np.concatenate([values for _, values in parts])
    return sparse.csr_array((values, columns, ends), shape=(len(groups), X.shape[1]))


def _sparse_median(X: CSR, rows: IntArray) -> tuple[IntArray, FloatArray]:
    """Return where the medians of the features are not 0, and their values.

    A feature stored in less than half of the rows has the median 0. The other features are made dense together, so they
    take at most twice the memory of the stored values.
    """
    some = X[rows]
    columns, place, count = np.unique(some.indices, return_inverse=True, return_counts=True)
    kept = np.flatnonzero(2 * count >= len(rows))
    values = np.zeros((len(rows), len(columns[kept])))
    is_kept = np.isin(place, kept)
    row = np.repeat(np.arange(len(rows)), np.diff(some.indptr))
    values[row[is_kept], np.searchsorted(kept, place[is_kept])] = some.data[is_kept]
    middle = np.median(values, axis=0)
    return columns[kept][middle != 0], middle[middle != 0]
