"""Coupled label similarity (Liu and Cao, PAKDD 2015; Chaudhari and Sane 2016)."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import manhattan_distances
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length

from nearlabel.labels.feature_values import feature_values
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.cells import entries
from nearlabel.utils.types import CSR, FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense, as_label_matrix, check_choice, check_flag, check_integer


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
    X = check_array(X, accept_sparse="csc", dtype="numeric")
    labels = as_label_matrix(y, dtype=None)
    check_consistent_length(X, labels)
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
