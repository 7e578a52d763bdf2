"""From scores to label sets: pure functions, each of one rule.

Scores are a dense array or a CSR array (n_samples, n_labels); values that a CSR array does not store are scores of 0.
Label sets are returned as an int64 indicator matrix in the same container.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from nearlabel.utils.types import CSR, BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import row_blocks


def cut(scores: Matrix, thresholds: ArrayLike = 0.5, *, strict: bool = False) -> Matrix:
    """Predict the labels whose score reaches the threshold.

    Parameters
    ----------
    scores : ndarray or CSR array of shape (n_samples, n_labels)
        Scores. A threshold that 0 reaches fills the label's column of a CSR array.
    thresholds : float or array-like of shape (n_labels,), default=0.5
        One for all labels or one for each.
    strict : bool, default=False
        Whether a score equal to the threshold is below it.

    Returns
    -------
    labels : ndarray or CSR array of shape (n_samples, n_labels)
        Indicator matrix.

    Raises
    ------
    ValueError
        If there is neither one threshold nor one for each label, or one is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> cut(np.array([[0.2, 0.5, 0.9]]))
    array([[0, 1, 1]])
    >>> cut(np.array([[0.2, 0.5, 0.9]]), strict=True)
    array([[0, 0, 1]])
    """
    limits = _one_each("thresholds", np.asarray(thresholds, dtype=np.float64), scores.shape[1], "labels")
    if np.isnan(limits).any():
        raise ValueError(f"thresholds must not be NaN, got it for label {np.flatnonzero(np.isnan(limits))[0]}.")
    passes = np.greater if strict else np.greater_equal
    if not sparse.issparse(scores):
        return passes(scores, limits).astype(np.int64)
    stored = sparse.csr_array(scores)
    chosen = passes(stored.data, limits[stored.indices])
    filled = np.flatnonzero(passes(0.0, limits))
    return _entries_where(stored, chosen) if not len(filled) else _filled(stored, chosen, filled)


def at_least_one(labels: Matrix, scores: Matrix) -> Matrix:
    """Give each sample without a label the label of highest score, the lower index on a tie.

    Parameters
    ----------
    labels : ndarray or CSR array of shape (n_samples, n_labels)
        Indicator matrix.
    scores : ndarray or CSR array of shape (n_samples, n_labels)
        Scores, at least 0 where sparse. A sample of equal scores gets label 0.

    Returns
    -------
    labels : ndarray or CSR array of shape (n_samples, n_labels)
        Indicator matrix with at least one label for each sample.

    Examples
    --------
    >>> import numpy as np
    >>> at_least_one(np.array([[0, 0, 0], [1, 0, 0]]), np.array([[0.1, 0.4, 0.4], [0.5, 0.1, 0.2]]))
    array([[0, 1, 0],
           [1, 0, 0]])
    """
    empty = np.flatnonzero(np.asarray(labels.sum(axis=1)) == 0)
    best = np.asarray(scores[empty].argmax(axis=1)).ravel()  # older scipy returns a column
    if not sparse.issparse(labels):
        filled = labels.copy()
        filled[empty, best] = 1
        return filled
    top = (np.ones(len(empty), dtype=np.int64), (empty, best))
    return (labels + sparse.csr_array(top, shape=labels.shape)).tocsr()


def top_labels(scores: Matrix, sizes: ArrayLike) -> Matrix:
    """Predict, for each sample, the given number of labels of highest score, lower indices on a tie.

    Parameters
    ----------
    scores : ndarray or CSR array of shape (n_samples, n_labels)
        Scores; in a CSR array only labels with stored scores can be predicted.
    sizes : int or array-like of int of shape (n_samples,)
        Numbers of labels; 0 predicts none.

    Returns
    -------
    labels : ndarray or CSR array of shape (n_samples, n_labels)
        Indicator matrix.

    Raises
    ------
    ValueError
        If there is neither one size nor one for each sample.

    Examples
    --------
    >>> import numpy as np
    >>> top_labels(np.array([[0.3, 0.9, 0.3], [0.3, 0.9, 0.3]]), [2, 0])
    array([[1, 1, 0],
           [0, 0, 0]])
    """
    wanted = _one_each("sizes", np.asarray(sizes), scores.shape[0], "rows")
    if sparse.issparse(scores):
        stored = sparse.csr_array(scores)
        row = np.repeat(np.arange(stored.shape[0]), np.diff(stored.indptr))
        order = np.lexsort((stored.indices, _best_first(stored.data), row))
        place = np.empty(len(row), dtype=np.intp)
        place[order] = np.arange(len(row)) - stored.indptr[row[order]]
        return _entries_where(stored, place < wanted[row])
    labels = np.zeros(scores.shape, dtype=np.int64)
    for rows in row_blocks(scores.shape[0], 32 * scores.shape[1]):
        order = np.argsort(_best_first(scores[rows]), axis=1, kind="stable")
        chosen = np.arange(scores.shape[1]) < wanted[rows, np.newaxis]
        np.put_along_axis(labels[rows], order, chosen.astype(np.int64), axis=1)
    return labels


def within_sizes(labels: Matrix, scores: Matrix, *, at_least: int = 0, at_most: int | None = None) -> Matrix:
    """Bound the number of labels of each sample: add those of highest score, or drop those of lowest.

    Parameters
    ----------
    labels : ndarray of shape (n_samples, n_labels)
        Indicator matrix.
    scores : ndarray of shape (n_samples, n_labels)
        Scores; of equal ones the lower label index is kept or added first.
    at_least : int, default=0
        A sample with fewer labels gets the best of the others.
    at_most : int, default=None
        A sample with more labels keeps the best of them. None: any number.

    Returns
    -------
    labels : ndarray of shape (n_samples, n_labels)
        Indicator matrix.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[0.1, 0.4, 0.3], [0.5, 0.1, 0.2]])
    >>> within_sizes(np.array([[0, 0, 0], [1, 1, 1]]), scores, at_least=1, at_most=2)
    array([[0, 1, 0],
           [1, 0, 1]])
    """
    sizes = labels.sum(axis=1)
    wanted = np.clip(sizes, at_least, labels.shape[1] if at_most is None else at_most)
    rows = np.flatnonzero(sizes != wanted)
    bounded = labels.copy()
    order = np.lexsort((_best_first(scores[rows]), 1 - labels[rows]), axis=1)
    first = np.arange(labels.shape[1]) < wanted[rows, np.newaxis]
    kept = np.zeros((len(rows), labels.shape[1]), dtype=labels.dtype)
    np.put_along_axis(kept, order, first.astype(labels.dtype), axis=1)
    bounded[rows] = kept
    return bounded


def _filled(scores: CSR, chosen: BoolArray, columns: IntArray) -> CSR:
    """Return the chosen entries, and those columns full but for entries that are stored and not chosen."""
    n, n_columns = scores.shape[0], len(columns)
    full = (np.ones(n * n_columns, dtype=np.int64), np.tile(columns, n), np.arange(0, n * n_columns + 1, n_columns))
    missed = np.isin(scores.indices, columns) & ~chosen
    inside = np.isin(scores.indices, columns) & chosen
    labels = sparse.csr_array(full, shape=scores.shape) - _entries_where(scores, missed)
    labels = (labels + _entries_where(scores, chosen & ~inside)).tocsr()
    labels.eliminate_zeros()
    labels.sort_indices()
    return labels


def _one_each(name: str, values: Any, n: int, what: str) -> Any:
    if values.shape not in ((), (1,), (n,)):
        raise ValueError(f"{name} must be one number or one for each of the {n} {what}, got shape {values.shape}.")
    return np.broadcast_to(values, n)


def _best_first(scores: Any) -> FloatArray:
    """Return numbers that ascend as the scores descend; unsigned scores have no negative of their own type."""
    negated: FloatArray = np.negative(scores, dtype=np.float64)
    return negated


def _entries_where(scores: CSR, chosen: BoolArray) -> CSR:
    labels = sparse.csr_array((chosen.astype(np.int64), scores.indices, scores.indptr), shape=scores.shape, copy=True)
    labels.eliminate_zeros()
    labels.sort_indices()
    return labels
