"""Metrics of the first k labels of each ranking, for data with many labels, of which users see only the first.

Equal scores and samples without labels are treated as in `nearlabel.metrics.ranking`, with two differences. A sample
with all labels is not trivial: its first k labels are relevant. And ``ties="pessimistic"`` puts the relevant labels
last among equal ones, since a label is either among the first k or not.

If y_true has unknown cells (NaN, see `nearlabel.metrics`), only the known labels of a sample are ranked, and the first
k are taken from these. If fewer than k are known, all of them are taken, and `precision_at_k` divides by their number.
A sample without known labels is left out.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from nearlabel.metrics.inputs import TieRule, TrivialRule, Truth, check_ties, declared
from nearlabel.metrics.ranking import absent_columns, line_blocks, mean_of_rows
from nearlabel.utils.containers import require_dense
from nearlabel.utils.types import FloatArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense, check_integer, check_positive


@declared("precision@{k}", on_request=True)
def precision_at_k(
    y_true: MatrixLike,
    y_score: MatrixLike,
    k: int,
    *,
    ties: TieRule = "pessimistic",
    trivial: TrivialRule = "drop",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean share of relevant labels among the first k.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the relevant labels.
    y_score : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Scores, larger is better; an absent entry of a sparse container is a score of 0. Infinities are allowed.
    k : int
        Number of labels, at most n_labels. A sample with fewer relevant labels cannot reach 1.
    ties : {"pessimistic", "optimistic", "low", "high", "average"}, default="pessimistic"
        Order of equal scores: relevant labels last, relevant labels first, lower label index first, higher label
        index first, or the mean over all orders.
    trivial : {"drop", "keep"}, default="drop"
        Whether samples without labels are dropped, or kept with the value 0.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1 (best); nan if every sample is dropped.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional or is empty, the shapes differ, `y_true` contains anything but 0 and 1,
        `y_score` contains NaN or a value that is not a number, `k` is below 1 or above n_labels, the weights are
        malformed, or an option is unknown.
    TypeError
        If `k` is not an integer.

    Examples
    --------
    >>> precision_at_k([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.2, 0.7, 0.1]], 2)  # (1/2 + 1/2) / 2
    0.5
    """
    top = _Top.of(y_true, y_score, k, sample_weight)
    return top.mean_of_rows(top.sums(ties) / np.minimum(top.k, top.n_known), trivial)


@declared("recall@{k}", on_request=True)
def recall_at_k(
    y_true: MatrixLike,
    y_score: MatrixLike,
    k: int,
    *,
    ties: TieRule = "pessimistic",
    trivial: TrivialRule = "drop",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean share of a sample's relevant labels that are among the first k.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the relevant labels.
    y_score : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Scores, larger is better; an absent entry of a sparse container is a score of 0. Infinities are allowed.
    k : int
        Number of labels, at most n_labels. A sample with more relevant labels cannot reach 1.
    ties : {"pessimistic", "optimistic", "low", "high", "average"}, default="pessimistic"
        Order of equal scores, as in `precision_at_k`.
    trivial : {"drop", "keep"}, default="drop"
        Whether samples without labels are dropped, or kept with the value 0.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1 (best); nan if every sample is dropped.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional or is empty, the shapes differ, `y_true` contains anything but 0 and 1,
        `y_score` contains NaN or a value that is not a number, `k` is below 1 or above n_labels, the weights are
        malformed, or an option is unknown.
    TypeError
        If `k` is not an integer.

    Examples
    --------
    >>> recall_at_k([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.2, 0.7, 0.1]], 2)  # (1/2 + 1/1) / 2
    0.75
    """
    top = _Top.of(y_true, y_score, k, sample_weight)
    return top.mean_of_rows(top.sums(ties) / np.maximum(top.n_relevant, 1), trivial)


@declared("nDCG@{k}", on_request=True)
def ndcg_at_k(
    y_true: MatrixLike,
    y_score: MatrixLike,
    k: int,
    *,
    ties: TieRule = "pessimistic",
    trivial: TrivialRule = "drop",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean discounted cumulative gain of the first k labels, as a share of the largest possible one.

    A relevant label at rank r gains ``1 / log2(r + 1)`` [1]_. With ``ties="average"`` and ``trivial="keep"`` this is
    ``sklearn.metrics.ndcg_score(y_true, y_score, k=k)``.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the relevant labels.
    y_score : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Scores, larger is better; an absent entry of a sparse container is a score of 0. Infinities are allowed.
    k : int
        Number of labels, at most n_labels.
    ties : {"pessimistic", "optimistic", "low", "high", "average"}, default="pessimistic"
        Order of equal scores, as in `precision_at_k`.
    trivial : {"drop", "keep"}, default="drop"
        Whether samples without labels are dropped, or kept with the value 0.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1 (best); nan if every sample is dropped.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional or is empty, the shapes differ, `y_true` contains anything but 0 and 1,
        `y_score` contains NaN or a value that is not a number, `k` is below 1 or above n_labels, the weights are
        malformed, or an option is unknown.
    TypeError
        If `k` is not an integer.

    References
    ----------
    .. [1] Järvelin, Kekäläinen: Cumulated gain-based evaluation of IR techniques. ACM Transactions on Information
       Systems 20(4), 2002.

    Examples
    --------
    >>> round(ndcg_at_k([[0, 1, 1]], [[0.9, 0.5, 0.1]], 2), 4)  # 1/log2(3) of 1/log2(2) + 1/log2(3)
    0.3869
    """
    top = _Top.of(y_true, y_score, k, sample_weight)
    discounts = 1 / np.log2(np.arange(2, top.k + 2))
    best = np.append(1.0, np.cumsum(discounts))[np.minimum(top.n_relevant, top.k)]  # no relevant label: a trivial row
    return top.mean_of_rows(top.sums(ties, discounts) / best, trivial)


@declared("PSP@{k}", on_request=True)
def propensity_scored_precision_at_k(
    y_true: MatrixLike,
    y_score: MatrixLike,
    k: int,
    *,
    propensities: ArrayLike,
    ties: TieRule = "pessimistic",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the propensity-weighted gain of the first k labels, as a share of the largest possible one.

    The gain of a relevant label is the inverse of its propensity, so that rare labels count more [1]_. The result is a
    ratio of two sums over all samples, not a mean of ratios. Samples without labels add nothing to either sum.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the relevant labels.
    y_score : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Scores, larger is better; an absent entry of a sparse container is a score of 0. Infinities are allowed.
    k : int
        Number of labels, at most n_labels.
    propensities : array-like of shape (n_labels,)
        Probability that a relevant label is recorded, above 0 and at most 1: `label_propensities` of the training
        labels.
    ties : {"pessimistic", "optimistic", "low", "high", "average"}, default="pessimistic"
        Order of equal scores: smallest gain first, largest gain first, lower label index first, higher label index
        first, or the mean over all orders.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1 (best); nan if no sample has a label.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional or is empty, the shapes differ, `y_true` contains anything but 0 and 1,
        `y_score` contains NaN or a value that is not a number, `k` is below 1 or above n_labels, the propensities or
        weights are malformed, or an option is unknown.
    TypeError
        If `k` is not an integer.

    References
    ----------
    .. [1] Jain, Prabhu, Varma: Extreme multi-label loss functions for recommendation, tagging, ranking & other missing
       label applications. KDD 2016.

    Examples
    --------
    >>> y_true, y_score = [[1, 0, 1]], [[0.9, 0.5, 0.1]]
    >>> propensity_scored_precision_at_k(y_true, y_score, 1, propensities=[0.5, 0.5, 0.25])  # 2 of 4
    0.5
    """
    top = _Top.of(y_true, y_score, k, sample_weight)
    worth = 1 / _check_propensities(propensities, top.true.shape[1])
    gains = top.sums(ties, worth=worth)
    best = top.best_sums(worth)
    weights = np.ones(len(best)) if top.weights is None else top.weights
    total = weights @ best
    return float(weights @ gains / total) if total else math.nan


def label_propensities(y_train: MatrixLike, a: float = 0.55, b: float = 1.5) -> FloatArray:
    """Return the propensities of labels: the probabilities that a relevant label is recorded, from label frequencies.

    ``1 / (1 + c * (n_l + b) ** -a)`` for a label of n_l of the n samples, where ``c = (ln n - 1) (b + 1) ** a`` [1]_.

    Parameters
    ----------
    y_train : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the training labels, with at least 3 samples. A label with unknown cells (NaN) is counted on
        the samples in which it is known, also at least 3.
    a, b : float, default=0.55, 1.5
        Parameters of the model, above 0. The paper uses 0.5 and 0.4 for Wikipedia, 0.6 and 2.6 for Amazon.

    Returns
    -------
    ndarray of shape (n_labels,)
        Above 0, below 1.

    Raises
    ------
    ValueError
        If `y_train` is not an indicator matrix or has fewer than 3 samples (or a label fewer than 3 known cells), for
        which the model is undefined, or `a` or `b` is not above 0.
    TypeError
        If `a` or `b` is not a number.

    References
    ----------
    .. [1] Jain, Prabhu, Varma: Extreme multi-label loss functions for recommendation, tagging, ranking & other missing
       label applications. KDD 2016.

    Examples
    --------
    >>> label_propensities([[1, 0], [1, 0], [1, 0], [1, 1]]).round(3)
    array([0.8  , 0.721])
    """
    a, b = check_positive("a", a), check_positive("b", b)
    truth = Truth.of(y_train, name="y_train")
    return propensities_of_counts(truth.labels.sum(axis=0), truth.n_known(axis=0), a, b)


def propensities_of_counts(counts: ArrayLike, n_samples: ArrayLike, a: float = 0.55, b: float = 1.5) -> FloatArray:
    """Return the propensities, given each label's number of positive samples and of samples in which it is known."""
    fewest = np.min(n_samples)
    if fewest < 3:  # the logarithm of n, minus 1, is negative
        raise ValueError(f"y_train must have at least 3 samples, and 3 known cells of each label, got {fewest}.")
    logarithms: Any = np.vectorize(math.log, otypes=[np.float64])(n_samples)  # numpy's differ by processor
    c = (logarithms - 1) * (b + 1) ** a
    propensities: FloatArray = 1 / (1 + c * (np.asarray(counts) + b) ** -a)
    return propensities


class _Top(NamedTuple):
    """The checked inputs of a metric of the first k labels."""

    true: Matrix
    scores: Matrix  # NaN in an unknown cell, which sorts behind all others
    k: int
    n_relevant: Any  # labels of each row, (n_samples,)
    n_known: Any  # the same, or one number for all rows
    weights: FloatArray | None

    @classmethod
    def of(cls, y_true: MatrixLike, y_score: MatrixLike, k: object, sample_weight: Any) -> Self:
        """Check the user's arguments."""
        truth = Truth.of(y_true, sample_weight)
        true, scores = truth.labels, truth.scores(y_score)
        number = check_integer("k", k, low=1)
        if number > true.shape[1]:
            raise ValueError(f"k must be at most n_labels={true.shape[1]}, got {number}.")
        return cls(true, scores, number, true.sum(axis=1), truth.n_known(axis=1), truth.weights)

    def sums(self, ties: TieRule, discounts: FloatArray | None = None, worth: FloatArray | float = 1.0) -> FloatArray:
        """Return, for each row, the summed gains of its relevant labels in the first k places, (n_samples,).

        The gain of a label is its worth times the discount of its place, 1 each if they are not given.
        """
        rule, worths = check_ties(ties), np.broadcast_to(worth, self.true.shape[1:])
        of_places = np.ones(self.k) if discounts is None else discounts
        parts = [
            _top_gains(self.true[rows], self.scores[rows], self.k, worths, rule) @ of_places
            for rows in line_blocks(self.true, self.scores)
        ]
        return np.concatenate(parts)

    def best_sums(self, worth: FloatArray) -> FloatArray:
        """Return, for each row, the summed worth of its k most valuable labels, (n_samples,)."""
        parts = [_best_gains(self.true[rows], self.k, worth).sum(axis=1) for rows in line_blocks(self.true, self.true)]
        return np.concatenate(parts)

    def mean_of_rows(self, values: FloatArray, trivial: TrivialRule) -> float:
        """Return the mean of values (n_samples,); rows without labels are left out, or count 0."""
        return mean_of_rows(values, self.n_relevant == 0, 0.0, trivial, self.weights)


def _check_propensities(propensities: ArrayLike, n_labels: int) -> FloatArray:
    require_dense("propensities", propensities)
    values = np.asarray(propensities, dtype=np.float64)
    if values.shape != (n_labels,) or not ((values > 0) & (values <= 1)).all():
        raise ValueError(
            f"propensities must be numbers above 0 and at most 1, one for each of {n_labels} labels, got shape"
            f" {values.shape}. Hint: label_propensities(y_train)."
        )
    return values


# Gains of the top labels of each row's ranking; the four metrics of the first k labels are sums of gains.


def _top_gains(true: Matrix, scores: Matrix, k: int, worths: FloatArray, ties: TieRule) -> FloatArray:
    """Return the gains of the first k places of some rows, (n_rows, k).

    The columns that are empty in all these sparse rows have equal, irrelevant cells. The first k and the last k of them
    are enough to fill the places.
    """
    absent = absent_columns(true, scores)[k:-k]
    kept = np.delete(np.arange(true.shape[1]), absent) if len(absent) else slice(None)
    gains = as_dense(true[:, kept]) * worths[kept]
    losses = -as_dense(scores[:, kept])
    return _in_order(gains, losses, ties, len(absent))[:, :k]


def _best_gains(true: Matrix, k: int, worths: FloatArray) -> FloatArray:
    present = np.delete(np.arange(true.shape[1]), absent_columns(true, true))
    return np.sort(as_dense(true[:, present]) * worths[present], axis=1)[:, -k:]


def _in_order(gains: FloatArray, losses: FloatArray, ties: TieRule, n_absent: int) -> FloatArray:
    """Return the gains of each row in the order of its ranking; `losses` are the negated scores.

    `n_absent` further cells of each row are not ranked; their gain and their loss are 0.
    """
    if ties == "high":
        return _in_order(gains[:, ::-1], losses[:, ::-1], "low", n_absent)
    if ties in ("pessimistic", "optimistic"):
        order = np.lexsort((gains if ties == "pessimistic" else -gains, losses))
    else:
        order = np.argsort(losses, axis=1, kind="stable")
    ordered = np.take_along_axis(gains, order, axis=1)
    if ties != "average":
        return ordered
    return _shared(ordered, np.take_along_axis(losses, order, axis=1), n_absent)


def _shared(gains: FloatArray, losses: FloatArray, n_absent: int) -> FloatArray:
    """Return the gains, replaced within each group of equal losses by their mean."""
    opens = np.ones(losses.shape, dtype=bool)
    opens[:, 1:] = losses[:, 1:] != losses[:, :-1]
    group = np.cumsum(opens) - 1
    sizes = np.bincount(group) + n_absent * (losses[opens] == 0)
    means: FloatArray = np.bincount(group, weights=gains.ravel()) / sizes
    shared: FloatArray = means[group].reshape(gains.shape)
    return shared
