"""Areas under curves: how well scores rank positive cells before negative ones, per label, per sample or overall.

``average`` selects the cells that are ranked together, and the mean over the rankings, as in scikit-learn:

- ``"macro"`` (default): the samples of each label; the mean over labels.
- ``"weighted"``: the same; each label is weighted by its number of positive samples.
- ``"samples"``: the labels of each sample; the mean over samples.
- ``"micro"``: all cells of the matrix together; the scores of different labels must be comparable.

The area is undefined for a label (a sample) with one class, all negative or all positive. ``undefined="skip"``
(default) leaves it out of the mean, and `count_skipped` returns how many are left out; with ``undefined="propagate"``
one such label makes the result nan. scikit-learn returns nan for ROC-AUC; for average precision it counts a label
without positives as 0 and a label without negatives as 1. No metric warns. If all are left out, the result is nan.

If y_true has unknown cells (NaN, see `nearlabel.metrics`), only the known cells are ranked, for every ``average``. The
area of a label (a sample) without known cells is undefined too.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearlabel.metrics.counts import mean
from nearlabel.metrics.inputs import Truth, check_weights, declared, is_sparse
from nearlabel.metrics.ranking import absent_columns, line_blocks
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import BoolArray, FloatArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense, check_choice

Average: TypeAlias = Literal["macro", "micro", "samples", "weighted"]
UndefinedRule: TypeAlias = Literal["skip", "propagate"]

_AVERAGES = ("macro", "micro", "samples", "weighted")
_UNDEFINED_RULES = ("skip", "propagate")


@declared("ROC-AUC ({average})", on_request=True)
def roc_auc(
    y_true: MatrixLike,
    y_score: MatrixLike,
    *,
    average: Average = "macro",
    undefined: UndefinedRule = "skip",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean probability that a positive cell is scored above a negative one; equal scores count one half.

    The area under the receiver operating characteristic curve; equal to :func:`sklearn.metrics.roc_auc_score` if every
    label has both classes. For a sample (``average="samples"``) it is 1 minus its `ranking_loss` with
    ``ties="average"``.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the true label sets.
    y_score : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Scores, larger is better; an absent entry of a sparse container is a score of 0. Infinities are allowed.
    average : {"macro", "micro", "samples", "weighted"}, default="macro"
        Mean over labels, all cells together, mean over samples, or mean over labels weighted by their positives.
    undefined : {"skip", "propagate"}, default="skip"
        Whether labels (samples) with one class are left out of the mean or make it nan.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1 (best), 0.5 for constant scores; nan if every label (sample) has one class.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional or is empty, the shapes differ, `y_true` contains anything but 0 and 1,
        `y_score` contains NaN or a value that is not a number, the weights are malformed, or an option is unknown.

    See Also
    --------
    count_skipped : How many labels (samples) are left out.
    label_table : The areas of each label.

    Examples
    --------
    >>> y_true = [[1, 0, 0], [0, 1, 0], [1, 0, 0]]
    >>> y_score = [[0.9, 0.2, 0.1], [0.4, 0.8, 0.3], [0.3, 0.1, 0.2]]
    >>> roc_auc(y_true, y_score)  # (1/2 + 1) / 2: the third label has no positive sample
    0.75
    """
    areas, weights = _areas_of(y_true, y_score, average, sample_weight)
    return _mean_of_lines(areas.roc, weights, undefined)


@declared("mAP ({average})", on_request=True)
def mean_average_precision(
    y_true: MatrixLike,
    y_score: MatrixLike,
    *,
    average: Average = "macro",
    undefined: UndefinedRule = "skip",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean area under the precision-recall steps of each label, known as mAP.

    The area is the sum of precision times the increase in recall, over the distinct scores from the largest down,
    without interpolation. It equals :func:`sklearn.metrics.average_precision_score` if every label has both classes.
    Not to be confused with `average_precision`, which averages over the relevant labels of each sample and treats ties
    differently.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the true label sets.
    y_score : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Scores, larger is better; an absent entry of a sparse container is a score of 0. Infinities are allowed.
    average : {"macro", "micro", "samples", "weighted"}, default="macro"
        Mean over labels, all cells together, mean over samples, or mean over labels weighted by their positives.
    undefined : {"skip", "propagate"}, default="skip"
        Whether labels (samples) with one class are left out of the mean or make it nan.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1 (best); nan if every label (sample) has one class.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional or is empty, the shapes differ, `y_true` contains anything but 0 and 1,
        `y_score` contains NaN or a value that is not a number, the weights are malformed, or an option is unknown.

    See Also
    --------
    count_skipped : How many labels (samples) are left out.
    label_table : The areas of each label.

    Examples
    --------
    >>> y_true = [[1, 0, 0], [0, 1, 0], [1, 0, 0]]
    >>> y_score = [[0.9, 0.2, 0.1], [0.4, 0.8, 0.3], [0.3, 0.1, 0.2]]
    >>> round(mean_average_precision(y_true, y_score), 4)  # of two labels: ((1/1 + 2/3) / 2 + 1) / 2
    0.9167
    """
    areas, weights = _areas_of(y_true, y_score, average, sample_weight)
    return _mean_of_lines(areas.precision, weights, undefined)


def count_skipped(y_true: MatrixLike, *, average: Average = "macro", sample_weight: ArrayLike | None = None) -> int:
    """Return how many labels or samples `roc_auc` and `mean_average_precision` leave out because they have one class.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the true label sets.
    average : {"macro", "micro", "samples", "weighted"}, default="macro"
        As for the metric. Counts labels, or samples with "samples"; with "micro", 1 if the whole matrix has one class.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights; samples with weight 0 are ignored.

    Returns
    -------
    int
        From 0 to n_labels, or to n_samples.

    Raises
    ------
    ValueError
        If `y_true` is not an indicator matrix or is empty, the weights are malformed, or `average` is unknown.

    Examples
    --------
    >>> y_true = [[1, 0, 0], [0, 1, 0], [1, 0, 0]]
    >>> count_skipped(y_true), count_skipped(y_true, average="samples")
    (1, 0)
    """
    check_choice("average", average, _AVERAGES)
    given = Truth.of(y_true, sample_weight).given
    weights = check_weights(sample_weight, given.labels.shape[0])
    counted = given if weights is None else given.rows(np.flatnonzero(weights))
    return int(_has_one_class(counted, average).sum())


def _has_one_class(given: PartialLabels, average: Average) -> BoolArray:
    """Return for each label, each sample or the whole matrix whether its known cells are equal."""
    axis = {"samples": 1, "micro": None}.get(average, 0)
    positives: Any = np.atleast_1d(given.labels.sum(axis=axis))
    n_cells = given.labels.shape[0] * given.labels.shape[1] // len(positives)
    n_known = n_cells if given.unknown is None else n_cells - given.unknown.sum(axis=axis)
    return np.asarray((positives == 0) | (positives == n_known))


def _areas_of(
    y_true: MatrixLike, y_score: MatrixLike, average: Average, sample_weight: Any
) -> tuple[Areas, FloatArray | None]:
    """Check the user's arguments, and return the areas and the weights of their mean."""
    check_choice("average", average, _AVERAGES)
    truth = Truth.of(y_true, sample_weight)
    return areas_of(truth.labels, truth.scores(y_score), truth.weights, average)


def areas_of(
    true: Matrix, scores: Matrix, weights: FloatArray | None, average: Average = "macro"
) -> tuple[Areas, FloatArray | None]:
    """Return the areas of each label, each sample or the whole matrix, and the weights of these in the mean."""
    if weights is not None and not weights.all():  # rows with weight 0 must not count as a second class
        kept = np.flatnonzero(weights)
        true, scores, weights = true[kept], scores[kept], weights[kept]
    sizes = None if average == "samples" else weights
    if average == "micro" and weights is not None:
        sizes = np.repeat(weights, true.shape[1])
    areas = _areas_of_lines(_as_lines(true, average), _as_lines(scores, average), sizes)
    return areas, {"weighted": areas.n_positive, "samples": weights}.get(average)


def _as_lines(matrix: Matrix, average: Average) -> Matrix:
    if average != "samples":
        matrix = matrix.reshape((1, -1)) if average == "micro" else matrix.T
    return matrix.tocsr() if is_sparse(matrix) else matrix


def _mean_of_lines(values: FloatArray, weights: FloatArray | None, undefined: UndefinedRule) -> float:
    """Return the mean of the areas of lines; lines with one class, whose area is nan, are left out or make it nan."""
    check_choice("undefined", undefined, _UNDEFINED_RULES)
    defined = ~np.isnan(values)
    if undefined == "propagate" and not defined.all():
        return math.nan
    return mean(values[defined], None if weights is None else weights[defined])


# Areas under the two curves of a ranking of cells, for many rankings (lines) at once.
#
# A line is a sequence of cells to rank: the samples of a label, the labels of a sample, or all cells of the matrix.
# Both areas are sums over the groups of equal scores, best first, of the weights of their positive and negative
# cells. A cell with the score NaN is unknown, neither positive nor negative: it comes last, in a group of its own.


class Areas(NamedTuple):
    """Arrays of shape (n_lines,); a line that has only positive or only negative cells has areas of nan."""

    roc: FloatArray
    precision: FloatArray  # average precision: the area under the steps of precision over recall
    n_positive: FloatArray  # or the sum of their weights


def _areas_of_lines(true: Matrix, scores: Matrix, weights: FloatArray | None) -> Areas:
    """Return the areas of each row of matrices (n_lines, n_cells); `weights` (n_cells,) are above 0."""
    sizes = np.ones(true.shape[1]) if weights is None else weights
    blocks = [_areas_of_block(true[lines], scores[lines], sizes) for lines in line_blocks(true, scores)]
    return Areas(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))


def _areas_of_block(true: Matrix, scores: Matrix, sizes: FloatArray) -> Areas:
    """Return the areas of some lines; if sparse, the cells that are empty in all lines are merged into one."""
    absent = absent_columns(true, scores)[1:]
    if len(absent):
        kept = np.delete(np.arange(true.shape[1]), absent)
        stands_for_others = absent_columns(true[:, kept], scores[:, kept])
        sizes_kept = sizes[kept]
        sizes_kept[stands_for_others] += sizes[absent].sum()
        true, scores, sizes = true[:, kept], scores[:, kept], sizes_kept
    return _areas(as_dense(true).astype(bool), -as_dense(scores), sizes)


def _areas(positive: BoolArray, losses: FloatArray, sizes: FloatArray) -> Areas:
    order = np.argsort(losses, axis=1)
    sorted_losses = np.take_along_axis(losses, order, axis=1)
    is_last = np.ones(losses.shape, dtype=bool)  # of a group of equal scores
    is_last[:, :-1] = sorted_losses[:, 1:] != sorted_losses[:, :-1]
    line = np.nonzero(is_last)[0]
    is_hit = np.take_along_axis(positive, order, axis=1)
    sorted_sizes = sizes[order]
    hits, hits_before = _running_sums(is_hit * sorted_sizes, is_last, line)
    misses, misses_before = _running_sums(~(is_hit | np.isnan(sorted_losses)) * sorted_sizes, is_last, line)
    trapezoids = (misses - misses_before) * (hits + hits_before) / 2
    n_lines = len(positive)
    n_hits, n_misses = positive @ sizes, ~(positive | np.isnan(losses)) @ sizes
    with np.errstate(divide="ignore", invalid="ignore"):  # 0/0 is nan
        steps = (hits - hits_before) * hits / (hits + misses)
        roc = np.bincount(line, trapezoids, minlength=n_lines) / (n_hits * n_misses)
        precision = np.where(n_misses > 0, np.bincount(line, steps, minlength=n_lines) / n_hits, np.nan)
    return Areas(roc, precision, n_hits)


def _running_sums(values: FloatArray, is_last: BoolArray, line: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the sums of each line up to the end of each group, and to the end of the group before it."""
    ends = np.cumsum(values, axis=1)[is_last]
    before = np.append(0.0, ends[:-1])
    before[np.append(True, line[1:] != line[:-1])] = 0.0
    return ends, before
