"""Values of features next to labels: columns of 0 and 1 for each value, and the coupled similarity of labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import manhattan_distances
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length

from nearlabel.utils.containers import check_row_names, checked_samples
from nearlabel.utils.messages import require_room
from nearlabel.utils.targets import as_label_matrix
from nearlabel.utils.types import CSR, FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import (
    as_dense,
    canonical,
    check_choice,
    check_flag,
    check_integer,
    entries,
    row_blocks,
    uneven_blocks,
)


class FeatureValues(NamedTuple):
    """The present values of some features, that is, all but 0.

    `indicators`, CSC (n_samples, n_values), has a column for each value, with 1 in the rows that have it; the columns
    of one feature are adjacent. `feature` (n_values,) is the feature of each value, counted from the first one;
    `n_features` is their number.
    """

    indicators: Any
    feature: IntArray
    n_features: int

    def sum_by_feature(self, values: Matrix) -> Matrix:
        """Sum the values of each feature: (n_values,) or (n_values, n), dense or CSR, to (n_features, ...)."""
        ones = np.ones(len(self.feature), dtype=values.dtype)
        entries = (ones, (self.feature, np.arange(len(self.feature))))
        return sparse.csr_array(entries, shape=(self.n_features, len(self.feature))) @ values


def feature_values(X: Matrix, n_bins: int, bytes_per_feature: int = 0) -> Iterator[FeatureValues]:
    """Yield the values of the features of X, block by block of features.

    The value 0 means absence and gets no column, so sparse data stay sparse. A feature with at most `n_bins` other
    values keeps them unchanged. The values of other features are discretised into bins of equal frequency: a value that
    exceeds r of the m present ones is in bin ``floor(n_bins · r / m)``, so equal values share a bin and some bins may
    be empty. Stored zeros count as absent: dense and sparse data give the same values.
    """
    columns = canonical(sparse.csc_array(X)) if sparse.issparse(X) else None
    n_present = np.full(X.shape[1], X.shape[0]) if columns is None else np.diff(columns.indptr).astype(np.int64)
    for block in uneven_blocks(64 * n_present + bytes_per_feature):
        yield _values_of(sparse.csc_array(X[:, block]) if columns is None else columns[:, block], n_bins)


def _values_of(X: Any, n_bins: int) -> FeatureValues:
    """Return the values of a block of features, CSC in canonical form."""
    present = X.data != 0
    feature = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))[present]
    row, value = X.indices[present], X.data[present]
    order = np.lexsort((value, feature))
    feature, row, value = feature[order], row[order], value[order]
    code = _bins(feature, value, n_bins)
    starts = np.flatnonzero(_changes(feature, code))
    indptr = np.append(starts, len(row))
    shape = (X.shape[0], len(starts))
    indicators = sparse.csc_array((np.ones(len(row), dtype=np.int64), row, indptr), shape=shape)
    return FeatureValues(indicators, feature[starts], X.shape[1])


def _bins(feature: IntArray, value: FloatArray, n_bins: int) -> IntArray:
    """Return, for present values sorted by feature and value, the number of each value's bin within its feature."""
    place = np.arange(len(feature))
    first = _changes(feature)
    start, size = np.maximum.accumulate(np.where(first, place, 0)), np.bincount(feature)[feature]
    distinct = _changes(feature, value)
    n_smaller = np.maximum.accumulate(np.where(distinct, place, 0)) - start
    number = np.cumsum(distinct)
    rank = number - number[start]
    n_distinct = np.bincount(feature, weights=distinct)[feature]
    return np.where(n_distinct <= n_bins, rank, n_bins * n_smaller // size)


def _changes(*keys: FloatArray | IntArray) -> FloatArray:
    """Return which of the sorted entries differ from the entry before."""
    first = np.zeros(len(keys[0]), dtype=np.bool_)
    first[:1] = True
    for key in keys:
        first[1:] |= key[1:] != key[:-1]
    return np.asarray(first)


# Coupled label similarity (Liu and Cao, PAKDD 2015; Chaudhari and Sane 2016).


def coupled_similarity(
    X: MatrixLike,
    y: MatrixLike,
    *,
    values: str = "present",
    feature_weights: str = "mean",
    n_bins: int = 10,
    adjusted: bool = False,
) -> FloatArray:
    """Return the coupled similarity of each pair of labels: the similarity of their frequencies and features.

    With F_i the number of samples that have label i, and CF(v, i) the number of those that also have the value v of a
    feature::

        intra-coupling  F_i F_j / (F_i + F_j + F_i F_j)
        inter-coupling  Σ_v min(CF(v, i), CF(v, j)) / max(F_i, F_j)      of each feature
        similarity      intra-coupling · mean over features of the inter-coupling

    and 1 on the diagonal (Chaudhari and Sane 2016, equations 1 to 3).

    Parameters
    ----------
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Samples. Sparse data stay sparse.
    y : indicator matrix of shape (n_samples, n_labels)
        Their label sets.
    values : {"present", "all"}, default="present"
        Which values v of a feature count: all but 0, or all. The value 0 of a sparse feature carries little
        information: if it counts, two labels with similar frequencies are similar even if they never occur together.
    feature_weights : {"mean", "sum"}, default="mean"
        Whether the inter-couplings are averaged over the features, or summed as in equation 1. Only the mean lies
        between 0 and 1, as the equations that use it require.
    n_bins : int, default=10
        A feature with at most this many distinct values other than 0 keeps them. The values of other features are
        discretised into this many bins of equal frequency; equal values share a bin.
    adjusted : bool, default=False
        Whether co-occurrences expected by chance are subtracted: with n samples, of which F_v have the value v,
        ``max(0, CF(v, i) - F_v F_i / n)`` replaces CF(v, i). So only values that are more frequent with both labels
        than without make them similar. Needed where almost all samples have almost all features.

    Returns
    -------
    similarity : ndarray of shape (n_labels, n_labels)
        Symmetric. Labels without samples have similarity 0 to all other labels.

    Raises
    ------
    ValueError
        If X or y is malformed, their lengths differ, or a parameter is out of range.

    Notes
    -----
    The paper does not define whether F is a count or a share (only counts give the couplings the range that their
    authors state), which values of a feature are used, how numbers are discretised, or the similarity of a label to
    itself; its sum over the features exceeds 1. The definition above is our interpretation. `adjusted` is not in
    the paper: without it, labels that do not depend on the features at all have inter-couplings of nearly 1 if their
    frequencies are equal and all values count.

    References
    ----------
    C. Liu, L. Cao: A Coupled k-Nearest Neighbor Algorithm for Multi-label Classification. PAKDD 2015.

    P. Chaudhari, S. S. Sane: Multilabel Classification Exploiting Coupled Label Similarity with Feature Selection.
    2016.

    Examples
    --------
    Three samples have label 0 and two have label 1: the intra-coupling is 6 / (5 + 6). The first feature is present in
    two samples with label 0 and in one with label 1, the second in two of each: the inter-couplings are 1 / 3 and 2 /
    3.

    >>> coupled_similarity([[1, 1], [1, 0], [0, 1], [1, 1]], [[1, 0], [1, 0], [1, 1], [0, 1]]).round(3)
    array([[1.   , 0.273],
           [0.273, 1.   ]])

    By chance, 3 · 3 / 4 rows of label 0 have the first feature and as many the second, 2 · 3 / 4 of label 1. Label 0
    has neither feature more often than that, and label 1 only the second, so nothing is shared:

    >>> coupled_similarity([[1, 1], [1, 0], [0, 1], [1, 1]], [[1, 0], [1, 0], [1, 1], [0, 1]], adjusted=True)
    array([[1., 0.],
           [0., 1.]])
    """
    check_choice("values", values, {"present", "all"})
    check_choice("feature_weights", feature_weights, {"mean", "sum"})
    check_flag("adjusted", adjusted)
    n_bins = check_integer("n_bins", n_bins, low=1)
    check_row_names(X=X, y=y)
    X = check_array(checked_samples("X", X), accept_sparse="csc", dtype="numeric")
    labels = as_label_matrix(y, dtype=None)
    check_consistent_length(X, labels)
    require_room("similarities", (labels.shape[1],) * 2, ("labels", "labels"), "fewer labels")
    similarity = _coupling(X, sparse.csr_array(labels).astype(np.int64), values, n_bins, adjusted)
    if feature_weights == "mean":
        similarity /= X.shape[1]
    np.fill_diagonal(similarity, 1.0)
    return similarity


def _coupling(X: Matrix, labels: CSR, values: str, n_bins: int, adjusted: bool) -> FloatArray:
    """Return intra-coupling times the sum over features of the inter-coupling (n_labels, n_labels)."""
    n_samples, n_labels = labels.shape
    shared: FloatArray = np.zeros((n_labels, n_labels))
    F = np.asarray(labels.sum(axis=0)).reshape(-1)
    for some in feature_values(X, n_bins, bytes_per_feature=32 * n_labels):
        counts = (some.indicators.T @ labels).tocsr()
        with_value = np.asarray(some.indicators.sum(axis=0)).reshape(-1)
        shared += _sum_of_minima(_excess(counts, with_value, F, n_samples) if adjusted else counts)
        if values == "all":
            absent, without = F - as_dense(some.sum_by_feature(counts)), n_samples - some.sum_by_feature(with_value)
            shared += _sum_of_minima(_excess(absent, without, F, n_samples) if adjusted else absent)
    if adjusted:
        shared /= n_samples
    for block in row_blocks(n_labels, 64 * n_labels):
        products, larger = np.outer(F[block], F).astype(np.float64), np.maximum.outer(F[block], F)
        intra = products / np.maximum(np.add.outer(F[block], F) + products, 1)
        shared[block] = intra * (shared[block] / np.maximum(larger, 1))
    return shared


def _excess(counts: Matrix, with_value: IntArray, F: IntArray, n_samples: int) -> Matrix:
    """Return n_samples times what counts (n_values, n_labels) exceed their expectation by, in whole numbers; or 0."""
    if not sparse.issparse(counts):
        return np.maximum(n_samples * counts - np.multiply.outer(with_value, F), 0)
    row, label, count = entries(counts)
    excess = np.maximum(n_samples * count - with_value[row] * F[label], 0)
    return sparse.csr_array((excess, counts.indices, counts.indptr), shape=counts.shape)


def _sum_of_minima(counts: Matrix) -> FloatArray:
    """Return Σ_v min(counts[v, i], counts[v, j]) for all pairs of labels, by min(a, b) = (a + b - |a - b|) / 2.

    All numbers are integers, so the sums are exact in any order.
    """
    if not counts.shape[0]:  # no feature of the block has a value
        return np.zeros((counts.shape[1], counts.shape[1]))
    totals = np.asarray(counts.sum(axis=0), dtype=np.float64).reshape(-1)
    filled = not sparse.issparse(counts) or counts.nnz > 0.1 * counts.shape[0] * counts.shape[1]
    columns = np.ascontiguousarray(as_dense(counts).T, dtype=np.float64) if filled else _with_short_indices(counts.T)
    minima: FloatArray = manhattan_distances(columns)
    np.negative(minima, out=minima)
    minima += totals
    minima += totals[:, np.newaxis]
    minima /= 2
    return minima


def _with_short_indices(columns: CSR) -> CSR:
    """Return CSR with the index type that scikit-learn's sparse Manhattan distance needs; it suffices for a block."""
    rows = sparse.csr_array(columns, dtype=np.float64)
    rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    return rows
