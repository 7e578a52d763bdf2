"""Classifiers with thresholds: decisions by thresholds and bounds on label sets; and one whose thresholds are given."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from nearlabel.models.decision import SparseScores, cut, within_sizes
from nearlabel.models.explanation import Explanation
from nearlabel.solvers.score_maps import JointMap, fit_joint_map
from nearlabel.thresholds._cross_val import AroundClassifier, Scorer, explains_itself, method_of
from nearlabel.utils.containers import require_dense
from nearlabel.utils.estimators import available_if
from nearlabel.utils.frames import framed
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_score_matrix, check_integer

_MOST_CELLS = 2**24  # of scores that are made dense


def _has(method: str) -> Callable[[Any], bool]:
    return lambda self: hasattr(self.estimator, method)


def _has_probabilities(self: Any) -> bool:
    maps = hasattr(self, "score_map_") or getattr(self, "map_scores", False)
    return maps or hasattr(self.estimator, "predict_proba")


class WithThresholds(AroundClassifier):
    """A classifier that scores by an inner one, decides on label sets by thresholds, and bounds their sizes.

    It may map the scores to probabilities that people can read. All decisions are on the scores themselves.
    """

    _only_decides = True

    at_least: int
    at_most: int | None
    thresholds_: FloatArray
    score_map_: JointMap  # if scores are mapped

    @available_if(explains_itself)
    def explain(self, X: MatrixLike) -> list[Any]:
        """Explain the label set of every sample, if the inner classifier has `explain`.

        If it is in a pipeline or a search of parameters, use `nearlabel.models.explain`.

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
        explanations = self._explained(X, thresholds=getattr(self, "thresholds_", None), decide=decide)
        return [_mapped(one, self.score_map_) for one in explanations] if self._maps else explanations

    @available_if(_has_probabilities)
    @framed
    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the probabilities as one array: the inner classifier's, or those of the map if there is one.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_labels) or (n_queries, n_classes)
            One array, even if the inner classifier returns a list. For a one-dimensional y, a column for each class.
        """
        scores = self._scores(X, self.response_method_ if self._maps else "predict_proba")
        return self._container.probabilities(self.mapped(scores))

    def mapped(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Return scores of the inner classifier on the scale of `predict_proba`.

        Parameters
        ----------
        scores : ndarray of shape (n_queries, n_labels)
            Scores of the method `response_method_`.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_labels)
            The probabilities of the map; unchanged if there is none.
        """
        require_dense("scores", scores)
        return self.score_map_.predict(scores) if self._maps else scores

    @property
    def mapped_thresholds_(self) -> FloatArray:
        """The thresholds on the scale of `predict_proba`; infinite ones stay infinite.

        Decisions compare raw scores with `thresholds_`. A raw score that differs from its threshold by a rounding error
        may be equal to it once both are mapped.
        """
        return np.where(np.isinf(self.thresholds_), self.thresholds_, self.mapped(self.thresholds_))

    @property
    def _maps(self) -> bool:
        return hasattr(self, "score_map_")

    def _learn_map(self, scores: Any, truth: PartialLabels, weights: Any = None) -> None:
        """Learn the map from held-out scores (n_held_out, n_labels) of the method `response_method_`.

        If `SparseScores` have many cells, some rows count.
        """
        if isinstance(scores, SparseScores):
            some = np.arange(0, len(scores), len(scores) * scores.shape[1] // _MOST_CELLS + 1)
            scores, truth = scores[some].toarray(), truth.rows(some)
        are_probabilities = self.response_method_ == "predict_proba"
        self.score_map_ = fit_joint_map(scores, truth, weights, are_probabilities=are_probabilities)

    @available_if(_has("decision_function"))
    @framed
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

    @property
    def _decides_stored(self) -> bool:
        return self.cuts_only

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
        labels = self._decide(scores)
        if isinstance(scores, SparseScores):
            return labels  # of any size, see `_decides_stored`
        return within_sizes(labels, scores, at_least=self.at_least, at_most=self.at_most)

    def _check_parameters(self, n_labels: int) -> None:
        super()._check_parameters(n_labels)
        least = check_integer("at_least", self.at_least, low=0)
        if self.at_most is not None:
            check_integer("at_most", self.at_most, low=least)
        if least > n_labels:
            raise ValueError(f"at_least must be at most the {n_labels} labels, got {least}.")


def _mapped(explanation: Explanation, score_map: JointMap) -> Explanation:
    """Return an explanation whose scores and thresholds are mapped; the raw ones get names of their own.

    The columns determine the raw score, which is shown before the score.
    """
    known = explanation.labels
    mapped = {name: score_map.predict(known[name]) for name in ("score", "score_at") if name in known}
    limits = known["threshold"]
    mapped["threshold"] = np.where(np.isfinite(limits), score_map.predict(limits), limits)
    raw = {f"raw_{name}": known[name] for name in ("score", "threshold")}
    scores, chosen, decision = explanation.rule.rpartition("chosen: ")
    scores = re.sub(r"\bscore\b", "raw_score", scores)
    rule = f"{scores}score: probability of the raw score, by a rising curve of held-out samples; {chosen}{decision}"
    shown = [column for name in explanation.shown for column in (["raw_score", name] if name == "score" else [name])]
    return replace(explanation, labels={**known, **mapped, **raw}, rule=rule, shown=shown)


# A classifier with given thresholds.


class FixedThresholdsClassifier(WithThresholds):
    """A classifier with given thresholds.

    The equivalent of scikit-learn's `FixedThresholdClassifier` for many labels.

    Parameters
    ----------
    estimator : multi-label classifier
        Any classifier that takes y of shape (n_samples, n_labels) and has `predict_proba` or `decision_function`;
        cloned in `fit`. Wrap a fitted one in `sklearn.frozen.FrozenEstimator` to use it without a refit. Wrap a
        classifier of one label in `BinaryRelevance`.
    thresholds : float, array-like of shape (n_labels,) or "auto", default="auto"
        A label is predicted if its score is at least this. "auto": 0.5 for probabilities, 0 for decision values.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Which scores to use; "auto": probabilities if the classifier has them, else decision values.
    at_least : int, default=0
        Least number of labels of a sample: if fewer are predicted, those with the next highest scores are added.
    at_most : int, default=None
        Largest number of labels of a sample: if more are predicted, those with the highest scores are kept.

    Attributes
    ----------
    estimator_ : classifier
        The fitted inner classifier.
    thresholds_ : ndarray of shape (n_labels,)
        The thresholds.
    response_method_ : str
        The method whose scores are compared with the thresholds.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features, if the inner classifier has the attribute.

    Examples
    --------
    >>> from nearlabel.lazy import BRkNN
    >>> from nearlabel.thresholds import FixedThresholdsClassifier
    >>> X, y = [[0], [1], [2], [9]], [[1, 0], [1, 1], [0, 1], [0, 0]]
    >>> FixedThresholdsClassifier(BRkNN(3), [0.7, 0.3]).fit(X, y).predict([[1]])
    array([[0, 1]])
    """

    def __init__(
        self,
        estimator: Any,
        thresholds: ArrayLike = "auto",
        *,
        response_method: str = "auto",
        at_least: int = 0,
        at_most: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.thresholds = thresholds
        self.response_method = response_method
        self.at_least = at_least
        self.at_most = at_most

    def _fit(self, X: MatrixLike, y: Matrix, routed: Any, **direct: Any) -> None:
        thresholds = self._given_thresholds(y.shape[1])
        method = method_of(self.estimator, self.response_method)
        self._keep(Scorer.fit(self.estimator, method, X, y, routed.estimator.fit))
        middle = 0.5 if method == "predict_proba" else 0.0
        self.__dict__.pop("score_map_", None)  # of an earlier fit
        self.thresholds_ = np.full(y.shape[1], middle) if thresholds is None else thresholds

    def _given_thresholds(self, n_labels: int) -> FloatArray | None:
        if isinstance(self.thresholds, str) and self.thresholds == "auto":
            return None
        try:
            given = np.asarray(self.thresholds, dtype=np.float64)
            thresholds: FloatArray = np.broadcast_to(given, n_labels).copy()
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"thresholds must be 'auto', a number or one for each of {n_labels} labels, got {self.thresholds!r}."
            ) from error
        if np.isnan(thresholds).any() or given.shape not in ((), (n_labels,)):
            raise ValueError(f"thresholds must be {n_labels} numbers that are not NaN, got {self.thresholds!r}.")
        return thresholds

    def _decide(self, scores: NDArray[Any]) -> Matrix:
        return cut(scores if isinstance(scores, SparseScores) else as_score_matrix(scores), self.thresholds_)
