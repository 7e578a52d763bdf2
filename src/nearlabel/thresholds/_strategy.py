"""What a threshold strategy is: learn from scores and label sets, turn scores into label sets, judge the result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from nearlabel.decision import cut
from nearlabel.thresholds._objective import Objective
from nearlabel.utils.types import FloatArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_label_matrix, as_score_matrix


class ThresholdStrategy(BaseEstimator, ABC):
    """A rule from scores to label sets that may learn from scores of rows whose label sets are known.

    A subclass defines `_learn` (from checked scores and label sets) and `_decide`; one that optimises a measure defines
    `_objective` and sets `objective_`, the value it reached.
    """

    absent: float

    def fit(self, scores: MatrixLike, y: MatrixLike, sample_weight: Any = None) -> Self:
        """Learn from scores and label sets.

        Parameters
        ----------
        scores : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Scores, the larger the surer; of rows that the classifier was not trained on. Infinities may occur.
        y : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Label sets as an indicator matrix of 0 and 1.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, at least 0; a row of weight 2 counts as two rows, one of weight 0 as none.

        Returns
        -------
        self
            The fitted strategy.

        Raises
        ------
        ValueError
            If scores or y are malformed or of different shapes, a score is NaN (the message names the column), weights
            are negative, or a parameter is out of range.
        TypeError
            If a parameter is of the wrong type.
        """
        self._check_parameters()
        matrix, labels, weights = checked_rows(scores, y, sample_weight)
        self.n_labels_ = labels.shape[1]
        self._learn(matrix, labels, weights)
        return self

    def predict(self, scores: MatrixLike) -> Matrix:
        """Return the label set of every row.

        Parameters
        ----------
        scores : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Scores.

        Returns
        -------
        labels : ndarray or CSR array of shape (n_samples, n_labels)
            Indicator matrix, stored as the scores are.

        Raises
        ------
        ValueError
            If the scores are malformed or of another number of labels than in `fit`.
        """
        check_is_fitted(self)
        matrix = as_score_matrix(scores)
        if matrix.shape[1] != self.n_labels_:
            raise ValueError(f"scores must have the {self.n_labels_} labels seen in fit, got {matrix.shape[1]}.")
        return self._decide(matrix)

    def score(self, scores: MatrixLike, y: MatrixLike, sample_weight: Any = None) -> float:
        """Return what the fitted strategy reaches on other rows, by the measure that it optimises.

        Parameters
        ----------
        scores : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Scores.
        y : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Label sets as an indicator matrix of 0 and 1.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            The measure, in its own direction (a loss is the better the smaller); NaN if the strategy optimises none.

        Raises
        ------
        ValueError
            If scores or y are malformed or of different shapes.
        """
        matrix, labels = checked_pair(scores, y)
        return self._reached(labels, self.predict(matrix), check_weights(sample_weight, labels))

    def _reached(self, labels: Matrix, predicted: Matrix, weights: Any) -> float:
        objective = self._objective()
        return float("nan") if objective is None else objective.of(labels, predicted, weights)

    def _objective(self) -> Objective | None:
        """Return the measure that is optimised, if any."""
        return None

    def _check_parameters(self) -> None:
        """Raise unless the parameters make sense."""
        check_absent(self.absent)

    @abstractmethod
    def _learn(self, scores: Matrix, labels: Matrix, weights: Any) -> None:
        """Learn from checked scores and label sets (n_samples, n_labels) and weights (n_samples,) or None."""

    @abstractmethod
    def _decide(self, scores: Matrix) -> Matrix:
        """Return an indicator matrix, stored as the scores are."""


class ByThresholds(ThresholdStrategy):
    """A strategy that gives each label one threshold; a label is chosen where its score is at least that."""

    thresholds_: FloatArray

    def _decide(self, scores: Matrix) -> Matrix:
        return cut(scores, self.thresholds_, absent=self.absent)


def checked_pair(scores: MatrixLike, y: MatrixLike) -> tuple[Matrix, Matrix]:
    """Return scores and label sets of one shape, or raise."""
    matrix, labels = as_score_matrix(scores), as_label_matrix(y)
    if matrix.shape != labels.shape or matrix.shape[0] == 0:
        raise ValueError(
            f"scores and y must be of one shape (n_samples, n_labels) with at least one row,"
            f" got {matrix.shape} and {labels.shape}."
        )
    return matrix, labels


def checked_rows(scores: MatrixLike, y: MatrixLike, sample_weight: Any) -> tuple[Matrix, Matrix, Any]:
    """Return scores, label sets and weights; a row of weight 0 is left out, for its scores are no places to cut."""
    matrix, labels = checked_pair(scores, y)
    weights = check_weights(sample_weight, labels)
    if weights is None or weights.all():
        return matrix, labels, weights
    counted = weights > 0
    return matrix[counted], labels[counted], weights[counted]


def check_absent(absent: object) -> None:
    """Raise unless an absent entry of sparse scores counts as 0 or minus infinity."""
    if isinstance(absent, bool) or absent not in (0.0, -np.inf):
        raise ValueError(
            f"absent must be 0.0 or -inf, the score of what a sparse array does not store, got {absent!r}."
        )


def check_not_below(scores: Matrix, absent: float) -> None:
    """Raise if a stored score is below what is not stored: those rules that rank a row look at stored scores only."""
    if sparse.issparse(scores) and scores.nnz and scores.data.min() < absent:
        raise ValueError(
            f"scores stored in a sparse array must not be below absent={absent}, got {scores.data.min()}."
            " Hint: absent=-inf ranks what is stored above what is not."
        )


def check_weights(sample_weight: Any, labels: Matrix) -> Any:
    """Return the weights as an array, of whole numbers if they are; None if there are none."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    check_consistent_length(weights, labels)
    if weights.ndim != 1 or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError("sample_weight must be finite numbers of at least 0, one for each row, not all 0.")
    # Whole numbers as long as sums over all labels, times the terms of beta², fit into 62 bits.
    small = weights.max() < 2**41 and weights.sum() * labels.shape[1] * 2e6 < 2**62
    if small and (weights == np.rint(weights)).all():
        return weights.astype(np.int64)
    exponent = np.frexp(weights.max())[1]
    return np.ldexp(weights, -exponent) if abs(exponent) > 100 else weights  # products shall not leave the floats
