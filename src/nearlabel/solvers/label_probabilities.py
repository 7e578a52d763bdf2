"""The probability of each label from its own binary classifier: binary relevance, which several methods use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.random import RandomState
from scipy import sparse
from scipy.optimize import brentq
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed

from nearlabel.solvers.binomial import fit_binomial
from nearlabel.solvers.joint_newton import best_together, fit_support_vectors
from nearlabel.utils.estimators import RESPONSE_METHODS, label_scores, params_of_samples, response_method_of
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import groups_of_labels

_N_FOLDS = 5


def default_estimator() -> Any:
    """Return the default classifier, a linear support vector machine.

    Its primal solver needs no random numbers. With features far from zero (years, time stamps) it may stop early
    without a warning: scale them, for instance in a pipeline with StandardScaler.
    """
    return LinearSVC(dual=False)


def chosen_classifier(estimator: Any, default: Callable[[], Any] = default_estimator) -> Any:
    """Return the classifier to clone; None gives the default.

    Raises ValueError for a name, a class, or an estimator that is not a classifier by scikit-learn's tags, for instance
    a regressor. An object without tags is accepted.
    """
    if estimator is None:
        return default()
    if isinstance(estimator, type):
        hint = f" Hint: an object instead of the class, {estimator.__name__}()."
    elif not hasattr(estimator, "fit"):
        hint = ""
    elif _kind(estimator) in (None, "classifier"):
        return estimator
    else:
        hint = f" Hint: by scikit-learn's tags it is a {_kind(estimator)}."
    raise ValueError(f"estimator must be a classifier, got {estimator!r}.{hint}")


def _kind(estimator: Any) -> str | None:
    """Return the kind of estimator from scikit-learn's tags; None if it has none."""
    return get_tags(estimator).estimator_type if hasattr(estimator, "__sklearn_tags__") else None


@dataclass(frozen=True)
class LabelProbabilities:
    """A fitted classifier for each label, or the constant probability, 0 or 1, of a label with one class."""

    classifiers: Sequence[Any]

    @classmethod
    def fit(
        cls,
        estimator: Any,
        X: Matrix,
        labels: Matrix,
        random: RandomState,
        n_jobs: int | None = None,
        *,
        unknown: Matrix | None = None,
        probability: bool = True,
        **params: Any,
    ) -> Self:
        """Fit a clone of the estimator, see `chosen_classifier`, to each label, with `params` such as `sample_weight`.

        If it has no `predict_proba`, its decision values are calibrated, see `Platt`, unless `probability` is False.
        All labels use the same random numbers, so their order does not matter. The default's models are fitted
        together. Each label is fitted to the rows in which it is known; one that is unknown in all rows is 0.
        """
        seed = int(random.randint(np.iinfo(np.int32).max))
        if unknown is None:
            return cls(_fit_seeded(estimator, X, labels, seed, n_jobs, probability=probability, **params))
        fitted: list[Any] = [0.0] * labels.shape[1]
        for columns, hidden in groups_of_labels(unknown):
            rows = np.setdiff1d(np.arange(X.shape[0]), hidden)
            if not len(rows):
                continue
            known = params_of_samples(params, rows, X.shape[0])
            some = _fit_seeded(
                estimator, X[rows], labels[rows][:, columns], seed, n_jobs, probability=probability, **known
            )
            for label, classifier in zip(columns.tolist(), some, strict=True):
                fitted[label] = classifier
        return cls(fitted)

    def decide(self, X: Matrix) -> IntArray:
        """Return the predictions of each classifier (n_queries, n_labels)."""
        labels = np.empty((X.shape[0], len(self.classifiers)), dtype=np.int64)
        for label, classifier in enumerate(self.classifiers):
            labels[:, label] = classifier if isinstance(classifier, float) else classifier.predict(X)
        return labels

    def predict(self, X: Matrix) -> FloatArray:
        """Return the probability of every label (n_queries, n_labels)."""
        return self._scores(X, "predict_proba", lambda constant: constant)

    def decision_values(self, X: Matrix) -> FloatArray:
        """Return the decision value of every label (n_queries, n_labels); 1 or -1 for a label with one class."""
        return self._scores(X, "decision_function", lambda constant: 2 * constant - 1)

    def _scores(self, X: Matrix, method: str, of_constant: Callable[[float], float]) -> FloatArray:
        scores = np.empty((X.shape[0], len(self.classifiers)))
        for label, classifier in enumerate(self.classifiers):
            if isinstance(classifier, float):
                scores[:, label] = of_constant(classifier)
            else:
                scores[:, label] = label_scores(classifier, X, 1, method)[:, 0]
        return scores


def _fit_seeded(
    estimator: Any,
    X: Matrix,
    labels: Matrix,
    seed: int,
    n_jobs: int | None,
    *,
    probability: bool,
    **params: Any,
) -> list[Any]:
    """Return a classifier, or the constant probability, of each label."""
    if estimator is None and params.keys() <= {"sample_weight"} and best_together(X):
        return _fit_together(X, labels, seed, n_jobs, params.get("sample_weight"), probability=probability)
    classifier = seeded_classifier(chosen_classifier(estimator), seed, probability=probability)
    columns = sparse.csc_array(labels)
    fitted: list[Any] = Parallel(n_jobs=n_jobs)(
        delayed(_fit_label)(classifier, X, _column(columns, label), params) for label in range(labels.shape[1])
    )
    return fitted


def _column(columns: Any, label: int) -> IntArray:
    """Return one label of all rows, dense."""
    y = np.zeros(columns.shape[0], dtype=np.int64)
    y[columns.indices[columns.indptr[label] : columns.indptr[label + 1]]] = 1
    return y


def _fit_together(
    X: Matrix, labels: Matrix, seed: int, n_jobs: int | None, weights: FloatArray | None, *, probability: bool
) -> list[Any]:
    """Fit the default estimator to all labels together."""
    columns = sparse.csc_array(labels)
    n_rows, counts = columns.shape[0], np.diff(columns.indptr)
    fitted: list[Any] = (counts == n_rows).astype(np.float64).tolist()
    varying = np.flatnonzero((counts > 0) & (counts < n_rows)).tolist()
    if not varying:
        return fitted
    y = np.array([_column(columns, label) for label in varying])
    folds = np.array([deal_out(each, RandomState(seed)) for each in y]) if probability else None
    machines = fit_support_vectors(X, y, folds, weights, n_jobs)
    unfitted = with_seed(default_estimator(), seed)
    for number, label in enumerate(varying):
        machine = copy(unfitted)
        machine.coef_, machine.intercept_ = machines.coef[[number]], machines.intercept[[number]]
        machine.classes_, machine.n_features_in_ = np.array([0, 1]), X.shape[1]
        fitted[label] = machine
        if folds is not None:
            fitted[label] = Platt(unfitted, seed).prefitted(machine, machines.decisions[number], y[number], weights)
    return fitted


def _fit_label(classifier: Any, X: Matrix, y: IntArray, params: Mapping[str, Any]) -> Any:
    return float(y[0]) if y.min() == y.max() else clone(classifier).fit(X, y, **params)


def seeded_classifier(estimator: Any, seed: int, *, probability: bool) -> Any:
    """Return a clone with random states set, and with `predict_proba` if requested, by calibration if necessary."""
    seeded = with_seed(estimator, seed)
    method = response_method_of(seeded, RESPONSE_METHODS if probability else ("predict",))
    return Platt(seeded, seed) if method == "decision_function" else seeded


def with_seed(estimator: Any, seed: int) -> Any:
    """Return a clone whose unset random states are set by a seed."""
    copy = clone(estimator)
    params = copy.get_params()
    states = [name for name in params if name.split("__")[-1] == "random_state" and params[name] is None]
    return copy.set_params(**dict.fromkeys(states, seed))


class Platt(ClassifierMixin, BaseEstimator):
    """A binary classifier whose decision values are calibrated by a sigmoid (Platt 1999), as in libsvm.

    The sigmoid is fitted to decision values from five-fold cross-validation. The rows of each class are assigned to the
    folds in turn; if a training part has one class only, the decision value is plus or minus 1. scikit-learn's
    `CalibratedClassifierCV` raises an error for classes with fewer rows than folds.

    Parameters
    ----------
    estimator : classifier
        Must have `decision_function`.
    random_state : int
        Shuffles the rows before they are assigned to folds.

    References
    ----------
    J. Platt: Probabilistic outputs for support vector machines. Advances in Large Margin Classifiers, 1999.

    H.-T. Lin, C.-J. Lin, R. C. Weng: A note on Platt's probabilistic outputs for support vector machines. Machine
    Learning 68, 2007.
    """

    def __init__(self, estimator: Any, random_state: int) -> None:
        self.estimator = estimator
        self.random_state = random_state

    def fit(self, X: Matrix, y: IntArray, **params: Any) -> Self:
        """Fit the classifier to all rows, and the sigmoid to out-of-sample decision values.

        `params` are passed to the classifier; a `sample_weight` among them also weights the fit of the sigmoid.
        """
        fold = deal_out(y, RandomState(self.random_state))
        decisions = np.empty(len(y))
        for number in np.unique(fold):
            inside = fold == number
            training = np.flatnonzero(~inside)
            known = params_of_samples(params, training, len(y))
            decisions[inside] = _decisions(self.estimator, X[training], y[training], X[inside], known)
        fitted = clone(self.estimator).fit(X, y, **params)
        return self.prefitted(fitted, decisions, y, params.get("sample_weight"))

    def prefitted(self, fitted: Any, decisions: FloatArray, y: IntArray, weights: FloatArray | None) -> Self:
        """Use a fitted classifier, and fit the sigmoid to its decision values (n,) on rows it was not trained on."""
        self.slope_, self.intercept_ = _sigmoid(decisions, y, np.ones(len(y)) if weights is None else weights)
        self.estimator_, self.classes_ = fitted, fitted.classes_
        return self

    def predict(self, X: Matrix) -> IntArray:
        """Return the classifier's own prediction, independent of the probability."""
        return np.asarray(self.estimator_.predict(X))

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return the probability of class 0 and of class 1 (n_queries, 2)."""
        linear = self.slope_ * np.asarray(self.estimator_.decision_function(X)) + self.intercept_
        return np.column_stack([expit(-linear), expit(linear)])


def deal_out(y: IntArray, random: RandomState) -> IntArray:
    """Return the fold of each row; the rows of each class are assigned to the folds in turn."""
    order = random.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    fold = np.empty(len(y), dtype=np.int64)
    fold[order] = np.arange(len(y)) % _N_FOLDS
    return fold


def _decisions(estimator: Any, X: Matrix, y: IntArray, queries: Matrix, params: Mapping[str, Any]) -> FloatArray:
    if len(y) == 0 or y.min() == y.max():
        return np.full(queries.shape[0], 0.0 if len(y) == 0 else 2.0 * y[0] - 1.0)
    return np.asarray(clone(estimator).fit(X, y, **params).decision_function(queries))


def _sigmoid(decisions: FloatArray, y: IntArray, weights: FloatArray) -> tuple[float, float]:
    """Fit probabilities to the targets (n1 + 1) / (n1 + 2) and 1 / (n0 + 2) instead of 1 and 0 (Platt)."""
    n, n1 = weights.sum(), (weights * y).sum()
    targets = np.where(y == 1, (n1 + 1) / (n1 + 2), 1 / (n - n1 + 2))
    if np.ptp(decisions) == 0:
        mean = (weights * targets).sum() / n
        return 0.0, float(np.log(mean / (1 - mean)))
    fit = fit_binomial(decisions[:, np.newaxis], weights * targets, weights)
    return float(fit.coef[1]), float(fit.coef[0])


# Class probabilities from decision values by temperature scaling, as Platt's sigmoid for two classes.


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
        return np.asarray(softmax(self.slope_ * _decision_values(self.estimator_, X), axis=1))


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
    return HeldOut(_decision_values(fitted, X[tested]), np.searchsorted(classes, y[tested]), weights)


def _decision_values(fitted: Any, X: Matrix) -> FloatArray:
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
