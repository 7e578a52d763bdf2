"""Class probabilities from decision values by temperature scaling, as Platt's sigmoid for two classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.random import RandomState
from scipy.optimize import brentq
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.parallel import Parallel, delayed

from nearlabel.statistics.label_probabilities import deal_out
from nearlabel.utils.fit_params import params_of_samples
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix


class Temperature(ClassifierMixin, BaseEstimator):
    """A classifier with probabilities: the softmax of its decision values times one slope.

    The slope, at least 0, maximises the likelihood of decision values from five-fold cross-validation; its inverse is
    the temperature. The rows of each class are assigned to the folds in turn, so a class with at least two rows is in
    every training part. The row of a class with a single row is left out: a classifier without that class gives no
    information about the slope.

    Parameters
    ----------
    estimator : classifier
        Must have `decision_function` with a column for each class, or with one column for two classes.
    random_state : int
        Shuffles the rows before they are assigned to folds.
    n_jobs : int, default=None
        Number of folds fitted in parallel.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger: On calibration of modern neural networks. International Conference on
    Machine Learning, 2017.
    """

    def __init__(self, estimator: Any, random_state: int, n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Matrix, y: IntArray, **params: Any) -> Self:
        """Fit the classifier to all rows, and the slope to out-of-sample decision values.

        `params` are passed to the classifier; a `sample_weight` among them also weights the fit of the slope.
        """
        fold = deal_out(y, RandomState(self.random_state))
        parts = Parallel(n_jobs=self.n_jobs)(
            delayed(_held_out)(self.estimator, X, y, fold == number, params) for number in np.unique(fold)
        )
        self.slope_ = most_likely_slope([part for part in parts if part is not None])
        self.estimator_ = clone(self.estimator).fit(X, y, **params)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: Matrix) -> IntArray:
        """Return the classifier's own predictions."""
        return np.asarray(self.estimator_.predict(X))

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return the probability of every class (n_queries, n_classes)."""
        return np.asarray(softmax(self.slope_ * _decisions(self.estimator_, X), axis=1))


class HeldOut(NamedTuple):
    """Held-out decision values (n, n_classes), the column of each row's class, and the row's weight."""

    decisions: FloatArray
    column: IntArray
    weights: FloatArray


def most_likely_slope(parts: Sequence[HeldOut]) -> float:
    """Return the slope s >= 0 that maximises ``Σ_i log p_i(y_i) + 1/n Σ_i mean_k log p_i(k)``, p_i = softmax(s d_i).

    Sums over rows are weighted, and n is the sum of the weights. The second sum counts as one row that belongs to all
    classes equally. Like Platt's targets, which are a little less than 1, it keeps the slope finite if all decisions
    are correct. If all decision values are equal, all slopes are equally likely, and 1 is returned.
    """
    n = sum(part.weights.sum() for part in parts)
    below = [part.decisions - part.decisions.max(axis=1, keepdims=True) for part in parts]
    spread = max((-values.min() for values in below), default=0.0)
    if spread == 0:
        return 1.0
    below = [values / spread for values in below]
    met = sum(
        (weights * values[np.arange(len(column)), column]).sum() + (weights * values.mean(axis=1)).sum() / n
        for values, (_, column, weights) in zip(below, parts, strict=True)
    )
    weighted = [part.weights[:, np.newaxis] * values for part, values in zip(parts, below, strict=True)]

    def rise(slope: float) -> float:
        """Return the derivative, which decreases with the slope: observed minus expected decision values."""
        expected = sum(
            np.vdot(softmax(slope * values, axis=1), each) for values, each in zip(below, weighted, strict=True)
        )
        return float(met - (1 + 1 / n) * expected)

    if rise(0.0) <= 0:
        return 0.0
    high = 1.0
    while rise(high) > 0:
        high *= 2
    return float(brentq(rise, 0.0, high) / spread)


def _held_out(estimator: Any, X: Matrix, y: IntArray, inside: BoolArray, params: Mapping[str, Any]) -> HeldOut | None:
    """Return decision values of the inner rows whose class occurs in the outer rows; None if there are none."""
    classes = np.unique(y[~inside])
    tested = np.flatnonzero(inside & np.isin(y, classes))
    if len(classes) < 2 or not len(tested):
        return None
    training = np.flatnonzero(~inside)
    fitted = clone(estimator).fit(X[training], y[training], **params_of_samples(params, training, len(y)))
    weights = params.get("sample_weight", np.ones(len(y)))[tested]
    return HeldOut(_decisions(fitted, X[tested]), np.searchsorted(classes, y[tested]), weights)


def _decisions(fitted: Any, X: Matrix) -> FloatArray:
    """Return a column for each class; a single column for two classes is for the second and against the first."""
    answer = np.asarray(fitted.decision_function(X), dtype=np.float64)
    decisions, n_classes = answer.reshape(X.shape[0], -1), len(fitted.classes_)
    if n_classes == 2 and decisions.shape[1] == 1:
        return np.hstack([-decisions, decisions])
    if decisions.shape[1] != n_classes:
        raise ValueError(
            f"decision_function of {type(fitted).__name__} must have a column for each of {n_classes} classes, got"
            f" shape {answer.shape}. Hint: decision_function_shape='ovr'."
        )
    return decisions
