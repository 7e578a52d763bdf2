"""The value of a metric that scores reach with their best thresholds: the criterion of every choice by scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from nearlabel.metrics import Metric
from nearlabel.metrics.evaluation import Evaluation
from nearlabel.metrics.inputs import check_predicted
from nearlabel.thresholds._global import common_threshold
from nearlabel.thresholds._per_label import FBR
from nearlabel.thresholds._strategy import ByThresholds, ThresholdStrategy, counted_rows
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import BoolArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense


def for_a_refit(strategy: ThresholdStrategy, scores: Any) -> ThresholdStrategy:
    """Raise the thresholds that no known score reaches, for a classifier that is fitted again to more samples.

    Such a threshold is just above the largest score, so that the label is never predicted. A refit shifts scores a
    little, and then it could be predicted for all samples. Halfway between that score and 1 is out of reach.

    Parameters
    ----------
    strategy : ThresholdStrategy
        Fitted to the scores; it is changed.
    scores : ndarray of shape (n_samples, n_labels)
        Probabilities.
    """
    thresholds = getattr(strategy, "thresholds_", None)
    if thresholds is not None:
        largest = np.max(scores, axis=0)
        strategy.thresholds_ = np.where(thresholds > largest, np.maximum(thresholds, (1 + largest) / 2), thresholds)
    return strategy


FEWEST = 10  # positives, on both sides of a split, of a label that gets a threshold of its own


def sharing_one(
    strategy: ThresholdStrategy, scores: Any, truth: PartialLabels, weights: Any, n_learnt: Any
) -> BoolArray | None:
    """Give rare labels one common threshold, for a classifier that is fitted again to more samples.

    A classifier that has seen two positives of a label gives all samples nearly the same low score, and a threshold
    among these is below all scores of a classifier that has seen five. The common threshold is the best one for all
    labels, by the metric of the strategy.

    Parameters
    ----------
    strategy : ThresholdStrategy
        Fitted to the scores; it is changed if it finds thresholds for a metric. `FBR` has a rule of its own.
    scores, truth, weights
        The checked scores that it was fitted to, label sets and weights of their samples.
    n_learnt : ndarray of int of shape (n_labels,)
        Positives among the samples that the classifier of the scores was fitted to.

    Returns
    -------
    ndarray of bool of shape (n_labels,) or None
        The labels with the common threshold; None if the rule is not for this strategy.
    """
    objective = strategy._objective()
    is_sought = isinstance(strategy, ByThresholds) and strategy._is_ours and not isinstance(strategy, FBR)
    if objective is None or not is_sought:
        return None
    rare: BoolArray = np.minimum(n_learnt, as_dense(truth.labels.sum(axis=0))) < FEWEST
    if rare.any():
        common, _ = common_threshold(objective, scores, truth, weights)
        strategy.thresholds_ = np.where(rare, common, strategy.thresholds_)
        strategy.objective_ = strategy._reached(truth, strategy._decide(scores), weights)
    return rare


class BestThresholds:
    """Finds thresholds for scores of the same samples, and the value of a metric that they reach there.

    Label sets are checked once, for any number of scores.

    Parameters
    ----------
    labels : ndarray or CSR of shape (n_samples, n_labels)
        True label sets, with NaN in unknown cells.
    metric : Metric
        The metric, of label sets or of scores.
    strategy : ThresholdStrategy
        Finds thresholds; a clone is fitted to each array of scores.

    Attributes
    ----------
    takes_stored : bool
        Whether scores may be `SparseScores`.
    """

    def __init__(self, labels: MatrixLike, metric: Metric, strategy: ThresholdStrategy) -> None:
        self._truth, self._metric, self._strategy = PartialLabels.of(labels), metric, strategy
        self._evaluation = Evaluation.of(labels, [metric])
        self._is_reached = self._truth.unknown is None and strategy._reaches(metric)
        self._is_ours = strategy._is_ours
        self.takes_stored = strategy._takes_stored and metric.needs == "prediction" and self._truth.unknown is None
        if self._is_ours:
            strategy._check_parameters()

    def tuned(self, scores: Any, rows: Any = None) -> tuple[ThresholdStrategy, float]:
        """Return thresholds found on some rows of checked scores (n_samples, n_labels), and their value there."""
        strategy, truth = clone(self._strategy), self._truth
        if rows is not None:
            scores, truth = scores[rows], truth.rows(rows)
        if not self._is_ours:
            strategy.fit(scores, truth.with_nan())
        elif truth.unknown is None:
            strategy._fit_checked(scores, truth, None)
        else:
            strategy._fit_checked(*counted_rows(scores, truth, None))
        if self._is_reached:
            return strategy, strategy.objective_
        return strategy, self.value(self.decided(strategy, scores), scores, None if rows is None else truth)

    def decided(self, strategy: ThresholdStrategy, scores: Any) -> Matrix:
        """Return the label sets of checked scores by a fitted strategy."""
        if self._is_ours:
            return strategy._decide(scores)
        return check_predicted(strategy.predict(scores), (scores.shape[0], scores.shape[1]))

    def value(self, decided: Matrix, scores: Any, truth: PartialLabels | None = None) -> float:
        """Return the metric of checked label sets and scores: of all samples, or of others whose truth is given."""
        evaluation = self._evaluation
        if truth is not None:
            evaluation = Evaluation.of(truth.with_nan(), [self._metric])
        return evaluation.of_checked(decided, scores)[self._metric.name]
