"""A table of metrics for each label, to see the labels behind a mean over labels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearlabel.metrics.areas import areas_of_labels
from nearlabel.metrics.counts import Comparison, Counts, compare_checked
from nearlabel.metrics.inputs import are_probabilities, check_predicted, check_zero_division
from nearlabel.metrics.probabilities import losses_of_labels
from nearlabel.metrics.ratios import fbeta, of_known, precision, recall
from nearlabel.metrics.truth import Truth, known_weight
from nearlabel.utils.types import FloatArray, Matrix, MatrixLike
from nearlabel.utils.validation import label_names_of


def label_table(
    y_true: MatrixLike,
    y_pred: MatrixLike | None = None,
    y_score: MatrixLike | None = None,
    *,
    zero_division: float = math.nan,
    sample_weight: ArrayLike | None = None,
) -> dict[str, NDArray[Any]]:
    """Return the metrics of each label, as columns of a table.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the true label sets.
    y_pred : array-like, data frame or sparse container of shape (n_samples, n_labels), optional
        Indicator matrix of the predicted label sets.
    y_score : array-like, data frame or sparse container of shape (n_samples, n_labels), optional
        Scores, larger is better; an absent entry of a sparse container is a score of 0.
    zero_division : {0.0, 1.0, nan}, default=nan
        Value of 0/0 in precision, recall and F1. With 0.0 their means over labels are `macro_precision`, `macro_recall`
        and `macro_f1`.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    dict of str to ndarray of shape (n_labels,)
        ``label``, the column names of a data frame or else the label indices, and ``support``, the number of positive
        samples. If `y_true` has unknown cells (NaN), also ``known``, the number of samples in which the label is known:
        all columns are computed on these samples, and for a label without any, all columns but the counts are nan. With
        `y_pred`: ``true_positives``, ``false_positives``, ``false_negatives``, ``precision``, ``recall`` and ``f1``.
        With `y_score`: ``roc_auc`` and ``average_precision`` (as `mean_average_precision` averages them), nan for a
        label with one class; ``log_loss`` and ``brier_score``, nan unless all scores are in [0, 1]. Counts are sums of
        weights if there are weights.

    Raises
    ------
    ValueError
        If neither `y_pred` nor `y_score` is given, a matrix is not two-dimensional or is empty, the shapes differ, the
        label sets contain anything but 0 and 1, `y_score` contains NaN or a value that is not a number, the weights are
        malformed, or `zero_division` is another number.

    Examples
    --------
    >>> table = label_table([[1, 0], [1, 1], [0, 0]], [[1, 0], [0, 1], [0, 1]])
    >>> table["support"], table["f1"].round(2)
    (array([2, 1]), array([0.67, 0.67]))
    """
    if y_pred is None and y_score is None:
        raise ValueError("y_pred or y_score must be given, got neither.")
    zero_division = check_zero_division(zero_division)
    truth = Truth.of(y_true, sample_weight)
    true, weights = truth.labels, truth.weights
    table = {
        "label": label_names_of(y_true, true.shape[1]),
        "support": true.sum(axis=0) if weights is None else weights @ true,
    }
    if truth.unknown is not None:
        table["known"] = truth.n_known(axis=0) if weights is None else known_weight(weights, truth.unknown)
    if y_pred is not None:
        table |= _of_predictions(compare_checked(truth, check_predicted(y_pred, truth.shape)), zero_division)
    if y_score is not None:
        table |= _of_scores(truth, truth.scores(y_score))
    return table


def _of_predictions(compared: Comparison, zero_division: float) -> dict[str, NDArray[Any]]:
    counts = compared.per_label
    return {
        "true_positives": counts.hits,
        "false_positives": counts.predicted - counts.hits,
        "false_negatives": counts.true - counts.hits,
        **ratios_of_labels(counts, zero_division),
    }


def ratios_of_labels(counts: Counts, zero_division: float) -> dict[str, FloatArray]:
    """Return precision, recall and F1 of each label from its counts."""
    ratios = {"precision": precision, "recall": recall, "f1": fbeta(1.0)}
    return {name: of_known(ratio, counts, zero_division) for name, ratio in ratios.items()}


def _of_scores(truth: Truth, scores: Matrix) -> dict[str, NDArray[Any]]:
    areas = areas_of_labels(truth.labels, scores, truth.weights)
    log_losses = brier_scores = np.full(truth.labels.shape[1], np.nan)
    if are_probabilities(scores):
        losses = losses_of_labels(truth, scores)
        log_losses, brier_scores = (losses.means_of_labels(sums) for sums in (losses.logs, losses.squares))
    return {
        "roc_auc": areas.roc,
        "average_precision": areas.precision,
        "log_loss": log_losses,
        "brier_score": brier_scores,
    }
