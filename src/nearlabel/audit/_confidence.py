"""Confident learning on cells, and the quality of the labels of each sample (Northcutt, Jiang and Chuang 2021)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from nearlabel.audit._scores import _BYTES_PER_CELL, _SLACK, self_confidence
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, MatrixLike
from nearlabel.utils.validation import as_dense, check_choice, row_blocks


def confident_thresholds(quality: FloatArray, labels: MatrixLike) -> FloatArray:
    """Return the mean self-confidence of the negatives and of the positives of each label.

    Parameters
    ----------
    quality : ndarray of shape (n_samples, n_labels)
        Result of `self_confidence`.
    labels : array-like, data frame or sparse container of shape (n_samples, n_labels)
        The labels that were given to it.

    Returns
    -------
    thresholds : ndarray of shape (2, n_labels)
        θ0 and θ1; NaN for a value that no known cell has.
    """
    sums, counts = confident_sums(quality, labels)
    return thresholds_of(sums, counts)


def confident_sums(quality: FloatArray, labels: MatrixLike) -> tuple[FloatArray, IntArray]:
    """Return the sum of the self-confidence of the negatives and of the positives of each label, and their numbers.

    Each is (2, n_labels). The sums over blocks of samples can be added; `thresholds_of` takes the totals.
    """
    given = PartialLabels.of(labels, name="labels", dtype=None).labels
    sums, counts = np.zeros((2, quality.shape[1])), np.zeros((2, quality.shape[1]), dtype=np.int64)
    for block in row_blocks(len(quality), _BYTES_PER_CELL * quality.shape[1]):
        known, positive = ~np.isnan(quality[block]), as_dense(given[block]) == 1
        for value, cells in enumerate((known & ~positive, known & positive)):
            sums[value] += np.where(cells, quality[block], 0.0).sum(axis=0)
            counts[value] += cells.sum(axis=0)
    return sums, counts


def thresholds_of(sums: FloatArray, counts: IntArray) -> FloatArray:
    """Return the mean self-confidence of the values of each label; NaN for a value that no known cell has."""
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def confident_issues(probabilities: MatrixLike, labels: MatrixLike) -> BoolArray:
    """Return which cells confident learning marks as wrong, label by label.

    A cell is an issue if the probability of the other value is at least the mean self-confidence of the cells that have
    that value, and the excess over that mean is not larger for its own value. So, unlike a score, this gives a number
    of issues. A label of one class has none.

    Parameters
    ----------
    probabilities, labels
        As in `self_confidence`.

    Returns
    -------
    issues : ndarray of bool of shape (n_samples, n_labels)
        False where a cell is unknown.

    Raises
    ------
    ValueError
        As `self_confidence`.

    References
    ----------
    C. Northcutt, L. Jiang, I. Chuang: Confident Learning: Estimating Uncertainty in Dataset Labels. Journal of
    Artificial Intelligence Research 70, 2021: the off-diagonal of the confident joint of each label.

    Examples
    --------
    >>> from nearlabel.audit import confident_issues
    >>> confident_issues([[0.9], [0.8], [0.1], [0.2], [0.9]], [[1], [1], [0], [0], [0]]).ravel()
    array([False, False, False, False,  True])
    """
    quality = self_confidence(probabilities, labels)
    return issues_of(quality, labels, confident_thresholds(quality, labels))


def issues_of(quality: FloatArray, labels: MatrixLike, thresholds: FloatArray) -> BoolArray:
    """Return which cells are issues, given their `self_confidence` and the thresholds: see `confident_issues`."""
    given = PartialLabels.of(labels, name="labels", dtype=None).labels
    of_negatives, of_positives = thresholds
    issues = np.empty(quality.shape, dtype=np.bool_)
    for block in row_blocks(len(quality), _BYTES_PER_CELL * quality.shape[1]):
        own, other, positive = quality[block], 1.0 - quality[block], as_dense(given[block]) == 1
        confident = other >= np.where(positive, of_negatives, of_positives) - _SLACK
        own_confident = own >= np.where(positive, of_positives, of_negatives) - _SLACK
        issues[block] = confident & (~own_confident | (other > 0.5 + _SLACK))
    return issues


def row_quality(quality: FloatArray, *, by: str = "moving_average", alpha: float = 0.8) -> FloatArray:
    """Return one score per sample from the scores of its known cells; lower is more suspicious.

    Parameters
    ----------
    quality : ndarray of shape (n_samples, n_labels)
        Scores of cells, lower is more suspicious; NaN where a cell is unknown.
    by : {"moving_average", "least", "mean"}, default="moving_average"
        "moving_average": the exponential moving average of the scores in descending order, which ends with the worst
        cells and so weighs them most. "least": the worst cell. "mean": all cells with equal weight.
    alpha : float, default=0.8
        Weight of the next score in the moving average, from 0 to 1.

    Returns
    -------
    ndarray of shape (n_samples,)
        NaN for a sample without a known cell.

    Raises
    ------
    ValueError
        If a parameter is out of range, or there is no sample or no label.

    References
    ----------
    A. Thyagarajan, E. Snorrason, C. Northcutt, J. Mueller: Identifying Incorrect Annotations in Multi-Label
    Classification Data. arXiv:2211.13895, 2022 (the moving average, and alpha).

    Examples
    --------
    >>> import numpy as np
    >>> from nearlabel.audit import row_quality
    >>> row_quality(np.array([[0.4, 0.1, 0.9]])).round(2)
    array([0.18])
    """
    check_choice("by", by, set(_AGGREGATES) | {"moving_average"})
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must be from 0 to 1, got {alpha!r}.")
    if quality.ndim != 2 or not quality.size:
        raise ValueError(f"quality must be of at least one sample and one label, got shape {quality.shape}.")
    aggregate = partial(_moving_average, alpha=alpha) if by == "moving_average" else _AGGREGATES[by]
    found: FloatArray = np.empty(len(quality))
    for block in row_blocks(len(quality), _BYTES_PER_CELL * quality.shape[1]):
        found[block] = aggregate(quality[block])
    return found


def _moving_average(quality: FloatArray, alpha: float) -> FloatArray:
    """Return the exponential moving average of each row's scores in descending order, without NaN."""
    descending = -np.sort(-quality, axis=1)  # NaN comes last
    average = descending[:, 0].copy()
    for following in descending[:, 1:].T:
        average = np.where(np.isnan(following), average, alpha * following + (1.0 - alpha) * average)
    return average


def _least(quality: FloatArray) -> FloatArray:
    """Return the least of each row, without NaN; NaN where all are NaN."""
    return np.asarray(np.fmin.reduce(quality, axis=1))


def _mean(quality: FloatArray) -> FloatArray:
    known = ~np.isnan(quality)
    n_known = known.sum(axis=1)
    total = np.where(known, quality, 0.0).sum(axis=1)
    return np.where(n_known > 0, total / np.maximum(n_known, 1), np.nan)


_AGGREGATES: dict[str, Callable[[FloatArray], FloatArray]] = {"least": _least, "mean": _mean}
