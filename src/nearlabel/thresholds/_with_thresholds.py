"""The base class of classifiers with thresholds: decisions by thresholds, bounds on label sets, unchanged scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from nearlabel.decision import within_sizes
from nearlabel.thresholds._around import AroundClassifier, explains_itself
from nearlabel.utils.available_if import available_if
from nearlabel.utils.types import FloatArray, Matrix, MatrixLike
from nearlabel.utils.validation import check_integer


def _has(method: str) -> Callable[[Any], bool]:
    return lambda self: hasattr(self.estimator, method)


class WithThresholds(AroundClassifier):
    """A classifier that scores by an inner one, decides on label sets by thresholds, and bounds their sizes."""

    _only_decides = True

    at_least: int
    at_most: int | None

    @available_if(explains_itself)
    def explain(self, X: MatrixLike) -> list[Any]:
        """Explain the label set of every sample, if the inner classifier has `explain`.

        If it is in a pipeline or a search of parameters, use `nearlabel.inspection.explain`.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Rows.

        Returns
        -------
        list of nearlabel.lazy.Explanation
            The inner classifier's explanations, with the decisions of the thresholds or of the learnt rule.
        """
        check_is_fitted(self)
        decide = None if self.cuts_only else self.label_sets_of
        return self._explained(X, thresholds=getattr(self, "thresholds_", None), decide=decide)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the inner classifier's probabilities as one array.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_labels) or (n_queries, n_classes)
            One array, even if the inner classifier returns a list. For a one-dimensional y, a column for each class.
        """
        scores = self._scores(X, "predict_proba")
        return self._container.probabilities(scores)

    @available_if(_has("decision_function"))
    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Return the inner classifier's decision values as one array.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_labels) or (n_queries,)
            Decision values; minus or plus infinity for a label of one class in the training samples. For a
            one-dimensional y, the decision value of its second class.
        """
        scores = self._scores(X, "decision_function")
        return self._container.decisions(scores)

    @abstractmethod
    def _decide(self, scores: NDArray[Any]) -> Matrix:
        """Return the label sets (n_queries, n_labels) of scores."""

    @property
    def cuts_only(self) -> bool:
        """Whether predictions depend only on whether each score reaches its label's threshold."""
        return self.at_least == 0 and self.at_most is None

    def label_sets_of(self, scores: NDArray[Any]) -> Matrix:
        """Return the label sets of given scores, such as leave-one-out scores of the inner classifier.

        Parameters
        ----------
        scores : ndarray of shape (n_queries, n_labels)
            Scores of the method `response_method_`.

        Returns
        -------
        labels : ndarray of shape (n_queries, n_labels)
            Indicator matrix, for any form of y, within the bounds on the sizes of label sets.
        """
        return within_sizes(self._decide(scores), scores, at_least=self.at_least, at_most=self.at_most)

    def _check_parameters(self, n_labels: int) -> None:
        super()._check_parameters(n_labels)
        least = check_integer("at_least", self.at_least, low=0)
        if self.at_most is not None:
            check_integer("at_most", self.at_most, low=least)
        if least > n_labels:
            raise ValueError(f"at_least must be at most the {n_labels} labels, got {least}.")
