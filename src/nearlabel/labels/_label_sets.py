"""Statistics of an indicator matrix: numbers of labels and label sets, imbalance and co-occurrence."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from nearlabel.utils.targets import PartialLabels, as_label_matrix
from nearlabel.utils.types import FloatArray, LabelType, Matrix, MatrixLike
from nearlabel.utils.validation import check_integer, check_sample_weight


def cardinality(y: MatrixLike) -> float:
    """Return the mean number of labels of a sample.

    Parameters
    ----------
    y : indicator matrix of shape (n_samples, n_labels)

    Returns
    -------
    float
        If cells are unknown: the sum, over the labels, of the share of positive samples among those in which the label
        is known.

    Raises
    ------
    ValueError
        If y is not an indicator matrix or has no rows.

    References
    ----------
    G. Tsoumakas, I. Katakis. Multi-label classification: an overview. International Journal of Data Warehousing and
    Mining 3(3), 2007.

    Examples
    --------
    >>> cardinality([[1, 0, 1], [0, 1, 0]])
    1.5
    """
    return _cardinality(_parts(y))


def density(y: MatrixLike) -> float:
    """Return the cardinality divided by the number of labels.

    Parameters
    ----------
    y : indicator matrix of shape (n_samples, n_labels)

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    ValueError
        If y is not an indicator matrix or has no rows.

    References
    ----------
    G. Tsoumakas, I. Katakis. Multi-label classification: an overview. International Journal of Data Warehousing and
    Mining 3(3), 2007.

    Examples
    --------
    >>> density([[1, 0, 1], [0, 1, 0]])
    0.5
    """
    parts = _parts(y)
    return _cardinality(parts) / int(parts.labels.shape[1])


def distinct_labelsets(y: MatrixLike) -> tuple[Matrix, NDArray[np.int64], NDArray[np.int64]]:
    """Return the label sets that occur, each once.

    The same as ``np.unique(y, axis=0, return_inverse=True, return_counts=True)``, but rows are compared by their packed
    bits or the positions of their ones, so that 100,000 sparse labels need no dense matrix.

    Parameters
    ----------
    y : indicator matrix of shape (n_samples, n_labels)

    Returns
    -------
    labelsets : ndarray or csr_array of shape (n_labelsets, n_labels)
        The distinct rows of y in lexicographic order, that is, sorted as binary numbers with the first label most
        significant; CSR if y is sparse.
    inverse : ndarray of int64, shape (n_samples,)
        ``labelsets[inverse]`` is y.
    counts : ndarray of int64, shape (n_labelsets,)
        Number of occurrences of each.

    Raises
    ------
    ValueError
        If y is not an indicator matrix or has no rows.

    Examples
    --------
    >>> labelsets, inverse, counts = distinct_labelsets([[1, 0], [0, 1], [1, 0]])
    >>> labelsets.tolist(), inverse.tolist(), counts.tolist()
    ([[0, 1], [1, 0]], [1, 0, 1], [1, 2])
    """
    labels = _with_rows(as_label_matrix(y, dtype=None))
    keys = np.array(_row_keys(labels), dtype=object)
    _, first, inverse, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    return labels[first].astype(np.int64), inverse, counts


def labelsets_by_frequency(y: MatrixLike, sample_weight: ArrayLike | None = None) -> tuple[Matrix, NDArray[np.int64]]:
    """Return the distinct label sets, most frequent first, and the index of each sample's label set.

    Parameters
    ----------
    y : indicator matrix of shape (n_samples, n_labels)
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights. None: all weights are 1.

    Returns
    -------
    labelsets : ndarray or CSR array of shape (n_labelsets, n_labels)
        By decreasing frequency; equally frequent label sets in the order of their first sample. CSR if y is sparse.
    inverse : ndarray of int of shape (n_samples,)
        ``labelsets[inverse]`` is y.

    Raises
    ------
    ValueError
        If y is not an indicator matrix or has no rows.

    Examples
    --------
    >>> labelsets, inverse = labelsets_by_frequency([[0, 1], [1, 0], [1, 0]])
    >>> labelsets.tolist(), inverse.tolist()
    ([[1, 0], [0, 1]], [1, 0, 0])
    """
    labelsets, inverse, counts = distinct_labelsets(y)
    if sample_weight is not None:
        counts = np.bincount(inverse, weights=check_sample_weight(sample_weight, len(inverse)))
    first = np.unique(inverse, return_index=True)[1]
    order = np.lexsort((first, -counts))
    return labelsets[order], np.argsort(order)[inverse]


def labelset_diversity(y: MatrixLike) -> int:
    """Return the number of distinct label sets.

    Parameters
    ----------
    y : indicator matrix of shape (n_samples, n_labels)

    Returns
    -------
    int
        Samples with unknown cells are not counted.

    Raises
    ------
    ValueError
        If y is not an indicator matrix or has no rows.

    References
    ----------
    J. Read. Scalable multi-label classification. PhD thesis, University of Waikato, 2010.

    M.-L. Zhang, Z.-H. Zhou. A review on multi-label learning algorithms. IEEE Transactions on Knowledge and Data
    Engineering 26(8), 2014.

    Examples
    --------
    >>> labelset_diversity([[1, 0], [0, 1], [1, 0]])
    2
    """
    return _n_distinct(_whole_rows(_parts(y, None)))


def labelset_proportion(y: MatrixLike) -> float:
    """Return the number of distinct label sets divided by the number of samples.

    Zhang and Zhou's review calls it PLDiv. Read's PUniq is a different statistic: it counts only the label sets that
    occur in a single sample.

    Parameters
    ----------
    y : indicator matrix of shape (n_samples, n_labels)

    Returns
    -------
    float
        Above 0, at most 1. Samples with unknown cells are left out; NaN if there are no others.

    Raises
    ------
    ValueError
        If y is not an indicator matrix or has no rows.

    References
    ----------
    J. Read. Scalable multi-label classification. PhD thesis, University of Waikato, 2010.

    M.-L. Zhang, Z.-H. Zhou. A review on multi-label learning algorithms. IEEE Transactions on Knowledge and Data
    Engineering 26(8), 2014.

    Examples
    --------
    >>> labelset_proportion([[1, 0], [0, 1], [1, 0], [1, 0]])
    0.5
    """
    whole = _whole_rows(_parts(y, None))
    return _n_distinct(whole) / int(whole.shape[0]) if whole.shape[0] else float("nan")


def frequencies(y: MatrixLike) -> NDArray[np.int64]:
    """Return the number of samples that are known to have each label.

    Parameters
    ----------
    y : indicator matrix of shape (n_samples, n_labels)

    Returns
    -------
    ndarray of int64, shape (n_labels,)

    Raises
    ------
    ValueError
        If y is not an indicator matrix or has no rows.

    Examples
    --------
    >>> frequencies([[1, 0, 1], [1, 0, 0]]).tolist()
    [2, 0, 1]
    """
    return _frequencies(_parts(y, None))


def known_counts(y: MatrixLike) -> NDArray[np.int64]:
    """Return, for each label, the number of samples in which it is known.

    Parameters
    ----------
    y : indicator matrix of shape (n_samples, n_labels)

    Returns
    -------
    ndarray of int64, shape (n_labels,)

    Raises
    ------
    ValueError
        If y is not an indicator matrix or has no rows.

    See Also
    --------
    frequencies : The number of samples that have the label.

    Examples
    --------
    >>> known_counts([[1, 0, float("nan")], [1, 0, 0]]).tolist()
    [2, 2, 1]
    """
    return _known_counts(_parts(y, None))


def most_frequent(y: MatrixLike, n_labels: int | None = None) -> NDArray[np.int64]:
    """Return the columns of the labels that occur, most frequent first; ties are in column order.

    Parameters
    ----------
    y : indicator matrix of shape (n_samples, n_labels)
    n_labels : int, default=None
        Return at most this many. None: all.

    Returns
    -------
    ndarray of int64, shape (n_found,)
        Column numbers.

    Raises
    ------
    ValueError
        If y is not an indicator matrix or has no rows, or `n_labels` is below 1.

    Examples
    --------
    >>> most_frequent([[1, 0, 1], [0, 0, 1]]).tolist()
    [2, 0]
    """
    counts = frequencies(y)
    most = len(counts) if n_labels is None else check_integer("n_labels", n_labels, low=1)
    order = np.argsort(-counts, kind="stable")[:most]
    found: NDArray[np.int64] = order[counts[order] > 0]
    return found


def co_occurrence(y: MatrixLike) -> Matrix:
    """Return the number of samples that are known to have each pair of labels.

    Parameters
    ----------
    y : indicator matrix of shape (n_samples, n_labels)

    Returns
    -------
    ndarray or csr_array of int64, shape (n_labels, n_labels)
        Symmetric, with the frequencies on the diagonal; CSR if y is sparse.

    Raises
    ------
    ValueError
        If y is not an indicator matrix or has no rows.

    Examples
    --------
    >>> co_occurrence([[1, 0, 1], [1, 1, 0]]).tolist()
    [[2, 1, 1], [1, 1, 0], [1, 0, 1]]
    """
    labels = _parts(y).labels
    if sparse.issparse(labels):
        return (labels.T @ labels).tocsr()
    # Float products are much faster than integer ones, and exact up to 2^53 rows.
    ones = labels.astype(np.float64)
    return (ones.T @ ones).astype(np.int64)


def _parts(y: MatrixLike, dtype: LabelType | None = np.int64) -> PartialLabels:
    """Return the known labels and the mask of unknown cells; raise ValueError if there are no rows."""
    parts = PartialLabels.of(y, dtype=dtype)
    _with_rows(parts.labels)
    return parts


def _with_rows(labels: Matrix) -> Matrix:
    if labels.shape[0] == 0:
        raise ValueError(f"y must have at least one row, got shape {labels.shape}.")
    return labels


def _cardinality(parts: PartialLabels) -> float:
    labels = parts.labels
    return float(labels.sum() / labels.shape[0] if parts.unknown is None else _shares(parts).sum())


def _frequencies(parts: PartialLabels) -> NDArray[np.int64]:
    return np.asarray(parts.labels.sum(axis=0), dtype=np.int64)


def _n_distinct(labels: Matrix) -> int:
    return len(set(_row_keys(labels)))


def _known_counts(parts: PartialLabels) -> NDArray[np.int64]:
    n_rows, n_labels = parts.labels.shape
    unknown = np.zeros(n_labels) if parts.unknown is None else parts.unknown.sum(axis=0)
    return np.asarray(n_rows - unknown, dtype=np.int64)


def _shares(parts: PartialLabels) -> FloatArray:
    """Return, for each label, the share of positive samples among those in which it is known; 0 if there are none."""
    return np.asarray(parts.labels.sum(axis=0) / np.maximum(_known_counts(parts), 1), dtype=np.float64)


def _unknown_of_rows(parts: PartialLabels) -> NDArray[np.int64]:
    """Return the number of unknown cells (n_samples,) of each row."""
    n_rows = parts.labels.shape[0]
    return np.zeros(n_rows, np.int64) if parts.unknown is None else np.asarray(parts.unknown.sum(axis=1), np.int64)


def _whole_rows(parts: PartialLabels) -> Matrix:
    """Return the label sets without unknown cells."""
    return parts.labels if parts.unknown is None else parts.labels[_unknown_of_rows(parts) == 0]


def _row_keys(labels: Matrix) -> list[bytes]:
    """Return byte keys that are equal if the rows are equal, and that sort in the order of the rows."""
    if not sparse.issparse(labels):
        packed = np.packbits(labels, axis=1)  # first label in the highest bit
        return [row.tobytes() for row in packed]
    # The row with a 1 further left is larger, so positions count from the right. Big-endian bytes compare like the
    # numbers, and a longer key is larger than its prefix.
    distances = (labels.shape[1] - 1 - labels.indices).astype(">u4").tobytes()
    ends = (4 * labels.indptr).tolist()
    return [distances[start:end] for start, end in pairwise(ends)]
