"""The contract of threshold strategies: learn from scores and label sets, predict label sets from scores."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from nearlabel.metrics import CATALOGUE, Metric, MetricLike, get_metric
from nearlabel.metrics.counts import MEAN_RATIOS, Comparison, Counts, Grouping, MeanRatio, fbeta
from nearlabel.metrics.inputs import check_weights as scaled_weights
from nearlabel.metrics.inputs import rows_with_known_cells
from nearlabel.models.decision import cut
from nearlabel.utils.containers import matched, require_dense
from nearlabel.utils.one_step import all_or_nothing
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_score_matrix, check_positive


class ThresholdStrategy(BaseEstimator, ABC):
    """A rule from scores to label sets; it may learn from scores of samples with known label sets.

    A subclass defines `_learn` (from checked scores and label sets) and `_decide`; one that optimises a metric defines
    `_objective` and sets `objective_`, the value it reached. Label sets may have unknown cells: the rule is fitted to
    the known ones.
    """

    # To scikit-learn's metadata routing every argument but X and y is metadata; here scores take the place of X.
    __metadata_request__fit: ClassVar = {"scores": UNUSED}
    __metadata_request__predict: ClassVar = {"scores": UNUSED}
    __metadata_request__score: ClassVar = {"scores": UNUSED}

    _learns_from_stored: ClassVar = False  # whether `_learn` and `_decide` take `SparseScores`

    @all_or_nothing
    def fit(self, scores: MatrixLike, y: MatrixLike, sample_weight: Any = None) -> Self:
        """Learn from scores and label sets.

        Parameters
        ----------
        scores : array-like or data frame of shape (n_samples, n_labels)
            Scores of samples that the classifier was not trained on; larger is more certain. Infinities are allowed.
        y : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Label sets as an indicator matrix of 0 and 1, with NaN for unknown cells; samples without a known cell are
            left out.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, at least 0; a sample of weight 2 counts as two samples, one of weight 0 as none.

        Returns
        -------
        self
            The fitted strategy.

        Raises
        ------
        ValueError
            If scores or y are malformed or of different shapes, no cell is known, a score is NaN (the message names the
            column), weights are negative, or a parameter is out of range.
        TypeError
            If a parameter is of the wrong type, or scores are in a sparse container.
        """
        self._check_parameters()
        return self._fit_checked(*checked_rows(scores, y, sample_weight))

    # The doors for checked data: `_fit_checked`, `_decide` and `_reached` in place of `fit`, `predict` and `score`.

    def _fit_checked(self, scores: NDArray[Any], truth: PartialLabels, weights: Any) -> Self:
        """Learn from the result of `checked_rows`."""
        self.n_labels_ = scores.shape[1]
        self._learn(scores, truth, weights)
        return self

    def predict(self, scores: MatrixLike) -> NDArray[Any]:
        """Return the label set of every sample.

        Parameters
        ----------
        scores : array-like or data frame of shape (n_samples, n_labels)
            Scores.

        Returns
        -------
        labels : ndarray of shape (n_samples, n_labels)
            Indicator matrix.

        Raises
        ------
        ValueError
            If the scores are malformed or have another number of labels than in `fit`.
        """
        return self._decide(self._checked_like_fit(scores))

    def score(self, scores: MatrixLike, y: MatrixLike, sample_weight: Any = None) -> float:
        """Return the value of the optimised metric that the fitted strategy reaches on other samples.

        Parameters
        ----------
        scores : array-like or data frame of shape (n_samples, n_labels)
            Scores.
        y : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Label sets as an indicator matrix of 0 and 1, with NaN where a cell is unknown.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        float
            The value of the metric, not negated for a loss; NaN if the strategy optimises none.

        Raises
        ------
        ValueError
            If scores or y are malformed or of different shapes.
        """
        matrix, truth = checked_pair(scores, y)
        return self._reached(truth, self.predict(matrix), check_weights(sample_weight, truth.labels))

    def _reaches(self, metric: Metric) -> bool:
        """Return whether `objective_`, without weights, is the value of this metric to the bit."""
        return False

    @property
    def _is_ours(self) -> bool:
        """Whether our code may use the doors for checked data; a user's class may have public methods of its own."""
        return type(self).__module__.startswith("nearlabel.")

    @property
    def _takes_stored(self) -> bool:
        """Whether the doors for checked data take `SparseScores` too."""
        return self._is_ours and self._learns_from_stored

    def _reached(self, truth: PartialLabels, predicted: NDArray[Any], weights: Any) -> float:
        objective = self._objective()
        return float("nan") if objective is None else objective.of(truth, predicted, weights)

    def _objective(self) -> Objective | None:
        """Return the metric that is optimised, if any."""
        return None

    def _checked_like_fit(self, scores: MatrixLike) -> NDArray[Any]:
        """Return checked scores of the labels seen in fit, or raise."""
        check_is_fitted(self)
        matrix = checked_scores(scores)
        if matrix.shape[1] != self.n_labels_:
            raise ValueError(f"scores must have the {self.n_labels_} labels seen in fit, got {matrix.shape[1]}.")
        return matrix

    def _check_parameters(self) -> None:
        """Raise unless the parameters make sense."""

    @abstractmethod
    def _learn(self, scores: NDArray[Any], truth: PartialLabels, weights: Any) -> None:
        """Learn from checked scores and label sets (n_samples, n_labels) and weights (n_samples,) or None.

        Each sample has a known cell, and a weight above 0.
        """

    @abstractmethod
    def _decide(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Return an indicator matrix (n_samples, n_labels) of checked scores."""


class ByThresholds(ThresholdStrategy):
    """A strategy that gives each label one threshold; a label is predicted if its score is at least that."""

    thresholds_: FloatArray

    def _decide(self, scores: NDArray[Any]) -> NDArray[Any]:
        labels: NDArray[Any] = cut(scores, self.thresholds_)
        return labels


def checked_scores(scores: MatrixLike) -> NDArray[Any]:
    """Return scores as a dense floating-point array, or raise."""
    require_dense("scores", scores)
    matrix: NDArray[Any] = as_score_matrix(scores)
    return matrix


def checked_pair(scores: MatrixLike, y: MatrixLike) -> tuple[NDArray[Any], PartialLabels]:
    """Return scores and label sets of one shape, or raise."""
    matrix, truth = checked_scores(matched(y, scores, "scores", of="y")), PartialLabels.of(y)
    if matrix.shape != truth.labels.shape or matrix.shape[0] == 0:
        raise ValueError(
            f"scores and y must be of one shape (n_samples, n_labels) with at least one row,"
            f" got {matrix.shape} and {truth.labels.shape}."
        )
    return matrix, truth


def checked_rows(scores: MatrixLike, y: MatrixLike, sample_weight: Any) -> tuple[NDArray[Any], PartialLabels, Any]:
    """Return scores, label sets and weights, without samples of weight 0 or without a known cell.

    Their scores do not become thresholds.
    """
    return counted_rows(*checked_pair(scores, y), sample_weight)


def counted_rows(
    matrix: NDArray[Any], truth: PartialLabels, sample_weight: Any
) -> tuple[NDArray[Any], PartialLabels, Any]:
    """Return the result of `checked_rows` for checked scores and label sets."""
    weights = check_weights(sample_weight, truth.labels)
    counted = rows_with_known_cells(truth, weights)
    if len(counted) == len(matrix):
        return matrix, truth, weights
    return matrix[counted], truth.rows(counted), None if weights is None else weights[counted]


def check_weights(sample_weight: Any, labels: Matrix) -> NDArray[Any] | None:
    """Return the weights as an array, of integers if all are whole numbers; None if there are none."""
    weights = scaled_weights(sample_weight, labels.shape[0])
    # Sums of whole numbers are exact as long as those over all labels, times the terms of beta², fit into 62 bits.
    if weights is None or weights.max() >= 2**41 or weights.sum() * labels.shape[1] * 2e6 >= 2**62:
        return weights
    return weights.astype(np.int64) if (weights == np.rint(weights)).all() else weights


# The metric that a strategy optimises: of the catalogue, by name or as an object, or of the user's own.

_FBETA: dict[str, Grouping] = {
    "fbeta_examples": "per_example",
    "macro_fbeta": "per_label",
    "micro_fbeta": "in_total",
}
OF_EXAMPLES = frozenset(name for name, metric in MEAN_RATIOS.items() if metric.groups == "per_example") | {
    "fbeta_examples"
}
OF_LABELS = frozenset(name for name, metric in MEAN_RATIOS.items() if metric.groups == "per_label") | {
    "hamming_loss",  # a sum over labels, too
    "macro_fbeta",
}
ALL = frozenset(MEAN_RATIOS) | frozenset(_FBETA)


def check_beta(beta: object) -> float:
    """Return beta as a float that F can be computed with; raise TypeError or ValueError otherwise."""
    number = check_positive("beta", beta)
    if not 1e-4 <= number <= 1e4:
        raise ValueError(f"beta must be from 0.0001 to 10000, got {beta}. Beyond, F is precision or recall.")
    return number


@dataclass(frozen=True)
class Objective:
    """A metric to be made as good as possible: `sign` times its value is the larger the better it is."""

    metric: MeanRatio | Metric  # a Metric is one of the user's own, of which nothing but its values is known
    sign: int

    @classmethod
    def given(
        cls, metric: MetricLike, beta: object, known: Collection[str], hint: str = "", *, own: bool = False
    ) -> Objective:
        """Return the metric if it is among the known ones, or, with `own`, one of the user's own."""
        weight = check_beta(beta)
        if isinstance(metric, str):
            name = metric
        else:
            guest = get_metric(metric)
            name = guest.name
            if name not in CATALOGUE:
                return cls._of_guest(guest, beta, own)
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            suggestion = hint if name in ALL else f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"metric must be one of {', '.join(sorted(known))}, got {name!r}.{suggestion}")
        if name in _FBETA:
            return cls(MeanRatio(_FBETA[name], (fbeta(weight),)), 1)
        _check_no_beta(beta)
        return cls(MEAN_RATIOS[name], 1 if CATALOGUE[name].greater_is_better else -1)

    @classmethod
    def _of_guest(cls, metric: Metric, beta: object, own: bool) -> Objective:
        if not own:
            raise ValueError(
                f"metric must be one of the catalogue for this strategy, got {metric.name!r}."
                " Hint: GlobalCut and RCut take metrics of your own."
            )
        if metric.needs != "prediction":
            raise ValueError(f"metric must be one of predictions, got {metric.name!r}, which needs scores.")
        _check_no_beta(beta)
        return cls(metric, 1 if metric.greater_is_better else -1)

    def of(self, truth: PartialLabels, predicted: NDArray[Any], weights: NDArray[Any] | None = None) -> float:
        """Return the metric of predicted label sets, not negated for a loss; rows may have weights."""
        if isinstance(self.metric, Metric):
            return self.metric(truth.with_nan(), predicted, sample_weight=weights)
        return self.metric.of(Comparison.of(truth.labels, predicted, weights, truth.unknown))

    def parts(self, counts: Counts) -> FloatArray:
        """Return the ratios of each group, (n_ratios, n_groups); 0/0 counts as 0."""
        return np.stack([ratio(counts, 0.0) for ratio in self._mean_ratio.ratios])

    def combine(self, means: FloatArray) -> FloatArray:
        """Return the signed values of means of the ratios, (n_ratios, n) -> (n,)."""
        if len(means) == 1:
            return np.asarray(self.sign * means[0])
        combine = self._mean_ratio.combine
        values: Any = np.fromiter((combine(*column) for column in means.T), np.float64, means.shape[1])
        return np.asarray(self.sign * values)

    @property
    def groups(self) -> Grouping:
        """Return over which groups of cells the ratios are counted."""
        return self._mean_ratio.groups

    @property
    def _mean_ratio(self) -> MeanRatio:
        assert isinstance(self.metric, MeanRatio)
        return self.metric


def _check_no_beta(beta: object) -> None:
    if beta != 1:
        raise ValueError(f"beta must be 1 unless metric is one of {', '.join(sorted(_FBETA))}, got {beta}.")


def label_counts(truth: PartialLabels, predicted: NDArray[Any], weights: NDArray[Any] | None = None) -> Counts:
    """Return the counts of each label; rows may have weights."""
    return Comparison.of(truth.labels, predicted, weights, truth.unknown).per_label
