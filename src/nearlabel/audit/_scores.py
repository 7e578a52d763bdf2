"""Scores of how far leave-one-out evidence contradicts the given labels of samples, cell by cell.

All scores derive from one number, the self-confidence of a cell: the probability of its given value. It does not depend
on which of the two values is called 1. It is rounded to twelve digits, so that a probability of 0.1 of the given value
is the same number for a positive and a negative, where 1 - 0.9 would be smaller than 0.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from nearlabel.utils.containers import matched, require_dense
from nearlabel.utils.messages import require_room
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import CSR, BoolArray, FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import (
    as_dense,
    as_score_matrix,
    check_choice,
    row_blocks,
)

_DIGITS = 12
_ROUNDING = 1e-13  # a probability that is a sum may exceed 1; its self-confidence does not, when rounded
_SLACK = 1e-9  # a mean of equal numbers differs from them by rounding
_BYTES_PER_CELL = 32  # of temporary arrays


class Cells(NamedTuple):
    """Cells of y, the most suspicious first.

    Parameters
    ----------
    rows, labels : ndarray of int of shape (n_cells,)
        Row and column numbers.
    quality : ndarray of shape (n_cells,)
        The score that orders them, ascending: `self_confidence`, or `prior_odds`.
    disagreement : ndarray of shape (n_cells,)
        Share of the neighbours' votes for the other value; NaN where no shares were given.
    confidence : ndarray of shape (n_cells,)
        Their `self_confidence`.
    """

    rows: IntArray
    labels: IntArray
    quality: FloatArray
    disagreement: FloatArray
    confidence: FloatArray

    @classmethod
    def of_rows(
        cls, numbers: IntArray, confidence: FloatArray, quality: FloatArray, disagreement: FloatArray, n_cells: int
    ) -> Cells:
        """Return the most suspicious cells of some rows: known ones that any evidence contradicts.

        The three scores are of all cells (n_rows, n_labels), NaN where a cell is unknown.
        """
        at = np.nonzero(confidence < 1)
        if len(at[0]) > n_cells:
            some = quality[at] <= np.partition(quality[at], n_cells - 1)[n_cells - 1]
            at = at[0][some], at[1][some]
        found = cls(numbers[at[0]], at[1], quality[at], disagreement[at], confidence[at])
        return found.first(n_cells)

    @classmethod
    def joined(cls, parts: Sequence[Cells]) -> Self:
        """Return all cells of some parts."""
        columns: list[Any] = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return cls(*columns)

    def first(self, n_cells: int) -> Cells:
        """Return the first cells in the order of suspicion: quality, disagreement, row, label."""
        order = np.lexsort((self.labels, self.rows, -self.disagreement, self.quality))[:n_cells]
        columns: list[Any] = [column[order] for column in self]
        return Cells(*columns)


def self_confidence(probabilities: MatrixLike, labels: MatrixLike) -> FloatArray:
    """Return the probability of the given value of each cell: p of a positive, 1 - p of a negative.

    Lower is more suspicious. The logarithm and the margin, ``2 g - 1``, give the same order of cells.

    Parameters
    ----------
    probabilities : array-like or sparse container of shape (n_samples, n_labels)
        Leave-one-out probabilities, or shares of votes, from 0 to 1.
    labels : array-like, data frame or sparse container of shape (n_samples, n_labels)
        0 and 1, and NaN where a cell is unknown.

    Returns
    -------
    quality : ndarray of shape (n_samples, n_labels)
        From 0 to 1, rounded to twelve digits; NaN where a cell is unknown.

    Raises
    ------
    ValueError
        If there is no sample, shapes differ, labels have values other than 0, 1 and NaN, or probabilities are not from
        0 to 1.

    References
    ----------
    C. Northcutt, L. Jiang, I. Chuang: Confident Learning: Estimating Uncertainty in Dataset Labels. Journal of
    Artificial Intelligence Research 70, 2021.

    Examples
    --------
    >>> from nearlabel.audit import self_confidence
    >>> self_confidence([[0.9, 0.9]], [[1, 0]])
    array([[0.9, 0.1]])
    """
    return confidence_of(*checked_evidence(probabilities, labels))


def confidence_of(scores: Matrix, given: PartialLabels) -> FloatArray:
    """Return `self_confidence` of checked probabilities and labels."""
    quality: FloatArray = np.empty(scores.shape)
    for block in row_blocks(scores.shape[0], _BYTES_PER_CELL * scores.shape[1]):
        p = as_dense(scores[block])
        quality[block] = np.round(np.where(as_dense(given.labels[block]) == 1, p, 1.0 - p), _DIGITS)
        if given.unknown is not None:
            quality[block][as_dense(given.unknown[block])] = np.nan
    return quality


def positive_shares(labels: MatrixLike) -> FloatArray:
    """Return the share of the known cells of each label that are positive.

    Parameters
    ----------
    labels : array-like, data frame or sparse container of shape (n_samples, n_labels)
        0 and 1, and NaN where a cell is unknown.

    Returns
    -------
    shares : ndarray of shape (n_labels,)
        NaN for a label without a known cell.
    """
    n_known, n_positive = _counts(PartialLabels.of(labels, name="labels", dtype=None))
    return np.asarray(np.where(n_known > 0, n_positive / np.maximum(n_known, 1), np.nan))


def halfway_prior(labels: MatrixLike) -> FloatArray:
    """Return a prior of each label halfway between its own share of positives and that of all labels, in log-odds.

    With its own share as its prior, a label is assumed to have as many wrong positives as wrong negatives; with the
    share of all labels, all cells of a value are assumed to be wrong equally often. Real data are mostly in between. If
    0 and 1 are exchanged in all labels, so are the priors.

    Parameters
    ----------
    labels : array-like, data frame or sparse container of shape (n_samples, n_labels)
        0 and 1, and NaN where a cell is unknown.

    Returns
    -------
    prior : ndarray of shape (n_labels,)
        From 0 to 1; NaN for a label without a known cell.

    Examples
    --------
    >>> from nearlabel.audit import halfway_prior
    >>> halfway_prior([[1, 0], [1, 0], [1, 1], [0, 0], [0, 0]]).round(2)  # the shares are 0.6, 0.2 and, of all, 0.4
    array([0.5 , 0.29])
    """
    n_known, n_positive = _counts(PartialLabels.of(labels, name="labels", dtype=None))
    overall = n_positive.sum() / max(1, n_known.sum())
    share = positive_shares(labels)
    positive, negative = np.sqrt(share * overall), np.sqrt((1.0 - share) * (1.0 - overall))
    return np.asarray(positive / (positive + negative))


def prior_odds(probabilities: MatrixLike, labels: MatrixLike, *, prior: ArrayLike | None = None) -> FloatArray:
    """Return the ratio of `self_confidence` to the prior of the given value, for each cell.

    It is how many times as likely the given value is as in any sample.

    Lower is more suspicious. A probability of 0.1 is strong evidence against a positive of a label that half of the
    samples have, and no evidence against one of a label that one sample in twenty has.

    Parameters
    ----------
    probabilities, labels
        As in `self_confidence`.
    prior : array-like of shape (n_labels,), default=None
        Prior probability of each label. None: its share of positives.

    Returns
    -------
    quality : ndarray of shape (n_samples, n_labels)
        At least 0, rounded to twelve digits; NaN where a cell is unknown.

    Raises
    ------
    ValueError
        As `self_confidence`, or if `prior` is not a number from 0 to 1 for each label.

    Examples
    --------
    >>> from nearlabel.audit import prior_odds
    >>> prior_odds([[0.2], [0.5], [0.1], [0.9]], [[1], [0], [0], [0]]).round(2).ravel()
    array([0.8 , 0.67, 1.2 , 0.13])
    """
    scores, given = checked_evidence(probabilities, labels)
    return odds_of(confidence_of(scores, given), given, positive_shares(labels) if prior is None else prior)


def odds_of(confidence: FloatArray, given: PartialLabels, prior: ArrayLike) -> FloatArray:
    """Return `prior_odds`, given `self_confidence` and checked labels."""
    n_labels = confidence.shape[1]
    require_dense("prior", prior)
    shares = np.asarray(prior, dtype=np.float64)
    if shares.shape != (n_labels,) or not ((shares >= 0) & (shares <= 1) | np.isnan(shares)).all():
        raise ValueError(f"prior must be {n_labels} numbers from 0 to 1, one for each label, got {prior!r}.")
    odds = np.empty_like(confidence)
    for block in row_blocks(len(odds), _BYTES_PER_CELL * n_labels):
        of_values = np.where(as_dense(given.labels[block]) == 1, shares, 1.0 - shares)
        if ((of_values == 0) & ~np.isnan(confidence[block])).any():
            raise ValueError("prior must be above 0 for every value that a label has, got 0.")
        odds[block] = np.round(confidence[block] / of_values, _DIGITS)
    return odds


def disagreement(shares: MatrixLike, labels: MatrixLike) -> FloatArray:
    """Return the share of the neighbours' votes for the value other than the given one.

    Higher is more suspicious: 1 minus the `self_confidence` of the shares.

    Parameters
    ----------
    shares : array-like or sparse container of shape (n_samples, n_labels)
        Share of the neighbours that carry each label, or of their weights.
    labels : array-like, data frame or sparse container of shape (n_samples, n_labels)
        0 and 1, and NaN where a cell is unknown.

    Returns
    -------
    ndarray of shape (n_samples, n_labels)
        From 0 to 1; NaN where a cell is unknown.

    Examples
    --------
    >>> from nearlabel.audit import disagreement
    >>> disagreement([[0.9, 0.9]], [[1, 0]]).round(2)
    array([[0.1, 0.9]])
    """
    return np.asarray(1.0 - confidence_of(*checked_evidence(shares, labels, "shares")))


def _counts(given: PartialLabels) -> tuple[IntArray, IntArray]:
    """Return how many cells of each label are known, and how many of them are positive, (n_labels,) each."""
    n_samples, n_labels = given.labels.shape
    n_known = np.full(n_labels, n_samples)
    if given.unknown is not None:
        n_known = n_known - as_dense(given.unknown.sum(axis=0))
    return n_known, as_dense(given.labels.sum(axis=0, dtype=np.int64))


def checked_evidence(
    probabilities: MatrixLike, labels: MatrixLike, name: str = "probabilities"
) -> tuple[Matrix, PartialLabels]:
    """Return probabilities and labels of one shape, dense or CSR."""
    given = PartialLabels.of(labels, name="labels", dtype=None)
    scores = as_score_matrix(matched(labels, probabilities, name, of="labels"), name=name)
    if scores.shape != given.labels.shape:
        raise ValueError(f"{name} must be of the shape of labels, {given.labels.shape}, got {scores.shape}.")
    if scores.shape[0] == 0:
        raise ValueError(f"labels must have at least one sample, got shape {scores.shape}.")
    require_room(f"{name}, dense,", scores.shape, ("samples", "labels"), "fewer labels, or `audit`, which needs blocks")
    values = scores.data if sparse.issparse(scores) else scores
    if values.size and not (values.min() >= -_ROUNDING and values.max() <= 1 + _ROUNDING):
        raise ValueError(f"{name} must be from 0 to 1, got values from {values.min()} to {values.max()}.")
    return scores, given


# Confident learning on cells, and the quality of the labels of each sample (Northcutt, Jiang and Chuang 2021).


def confident_sums(quality: FloatArray, given: PartialLabels) -> tuple[FloatArray, IntArray]:
    """Return the sum of the self-confidence of the negatives and of the positives of each label, and their numbers.

    Each is (2, n_labels). The sums over blocks of samples can be added; `thresholds_of` takes the totals.
    """
    sums, counts = np.zeros((2, quality.shape[1])), np.zeros((2, quality.shape[1]), dtype=np.int64)
    for block in row_blocks(len(quality), _BYTES_PER_CELL * quality.shape[1]):
        known, positive = ~np.isnan(quality[block]), as_dense(given.labels[block]) == 1
        for value, cells in enumerate((known & ~positive, known & positive)):
            sums[value] += np.where(cells, quality[block], 0.0).sum(axis=0)
            counts[value] += cells.sum(axis=0)
    return sums, counts


def thresholds_of(sums: FloatArray, counts: IntArray) -> FloatArray:
    """Return θ0 and θ1 (2, n_labels), the mean self-confidence of each label's negatives and of its positives.

    NaN for a value that no known cell has.
    """
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
    scores, given = checked_evidence(probabilities, labels)
    quality = confidence_of(scores, given)
    return issues_of(quality, given, thresholds_of(*confident_sums(quality, given)))


def issues_of(quality: FloatArray, given: PartialLabels, thresholds: FloatArray) -> BoolArray:
    """Return which cells are issues, given their `self_confidence` and the thresholds: see `confident_issues`."""
    of_negatives, of_positives = thresholds
    issues = np.empty(quality.shape, dtype=np.bool_)
    for block in row_blocks(len(quality), _BYTES_PER_CELL * quality.shape[1]):
        own, other, positive = quality[block], 1.0 - quality[block], as_dense(given.labels[block]) == 1
        confident = other >= np.where(positive, of_negatives, of_positives) - _SLACK
        own_confident = own >= np.where(positive, of_positives, of_negatives) - _SLACK
        issues[block] = confident & (~own_confident | (other > 0.5 + _SLACK))
    return issues


def believable(issues: CSR, given: PartialLabels) -> CSR:
    """Return the issues without those of labels of which more cells of one value are marked than the rarer value has.

    If hardly any neighbour has a rare label, the mean self-confidence of its positives is nearly 0, and each negative
    that a neighbour votes against reaches it.
    """
    n_known, n_positive = _counts(given)
    of_label = np.asarray(issues.sum(axis=0), dtype=np.int64)
    of_positives = np.asarray(issues.multiply(sparse.csr_array(given.labels)).sum(axis=0), dtype=np.int64)
    most = np.maximum(of_positives, of_label - of_positives)
    kept = sparse.csr_array(issues.multiply(most <= np.minimum(n_positive, n_known - n_positive)))
    kept.eliminate_zeros()
    return kept


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
    require_dense("quality", quality)
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


def _mean(quality: FloatArray) -> FloatArray:
    known = ~np.isnan(quality)
    n_known = known.sum(axis=1)
    total = np.where(known, quality, 0.0).sum(axis=1)
    return np.where(n_known > 0, total / np.maximum(n_known, 1), np.nan)


_AGGREGATES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "least": partial(np.fmin.reduce, axis=1),  # without NaN; NaN where all are NaN
    "mean": _mean,
}
