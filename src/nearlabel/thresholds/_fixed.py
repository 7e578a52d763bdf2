"""A classifier with given thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearlabel.decision import cut
from nearlabel.thresholds._cross_val import Scorer, method_of
from nearlabel.thresholds._with_thresholds import WithThresholds
from nearlabel.utils.types import FloatArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_score_matrix


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

    thresholds_: FloatArray

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
        return cut(as_score_matrix(scores), self.thresholds_)
