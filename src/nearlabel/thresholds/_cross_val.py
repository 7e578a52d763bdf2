"""Scores of samples by classifiers that were not trained on them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags, indexable
from sklearn.utils.parallel import Parallel, delayed

from nearlabel.out_of_sample import Needs, prefit_answer, rows_of, splits_of, splitter_of
from nearlabel.utils.estimators import requiring_multilabel
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.response_methods import RESPONSE_METHODS, response_method_of
from nearlabel.utils.types import BoolArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import LabelContainer, as_dense, check_choice


def cross_val_scores(
    estimator: Any,
    X: MatrixLike,
    y: MatrixLike,
    *,
    cv: Any = 5,
    response_method: str = "auto",
    n_jobs: int | None = None,
    random_state: int | RandomState | None = None,
) -> tuple[NDArray[Any], IntArray]:
    """Return held-out scores, as one array, to which strategies can be fitted.

    `TunedThresholdsClassifierCV` calls it first; use it to compare strategies on the same scores. scikit-learn's
    `cross_val_predict` returns the classifier's own shape, and accepts only a dense y and splits that are partitions.

    Parameters
    ----------
    estimator : multi-label classifier
        Any classifier that supports y of shape (n_samples, n_labels) and has `predict_proba` or `decision_function`;
        cloned for each fold.
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Samples.
    y : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Label sets as an indicator matrix of 0 and 1; with NaN for unknown cells if the classifier supports them.
    cv : int, splitter or iterable of (training, validation) indices, default=5
        An int: the number of folds, of consecutive samples unless `random_state` is given. Warns if the labels of these
        folds differ far more than by chance.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Which scores to use; "auto": probabilities if the classifier has them, else decision values.
    n_jobs : int, default=None
        Number of folds fitted in parallel.
    random_state : int, RandomState or None, default=None
        Shuffles the samples before they are split into folds, if `cv` is an int.

    Returns
    -------
    scores : ndarray of shape (n_scored, n_labels)
        Scores of all folds, concatenated.
    rows : ndarray of int of shape (n_scored,)
        Indices of the scored samples: ``y[rows]`` are their label sets.

    Raises
    ------
    ValueError
        If y is malformed, the lengths differ, there are too few samples, or the classifier supports one label only or
        has no scores.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.lazy import BRkNN
    >>> from nearlabel.thresholds import MicroFOptimum, SCut, cross_val_scores
    >>> digits = load_multidigits()
    >>> scores, rows = cross_val_scores(BRkNN(), digits.X, digits.Y)
    >>> [round(strategy.fit(scores, digits.Y[rows]).objective_, 3) for strategy in (MicroFOptimum(), SCut())]
    [0.706, 0.652]
    """
    check_choice("response_method", response_method, {"auto", *RESPONSE_METHODS})
    truth = PartialLabels.of(y)
    X, _ = indexable(X, truth.labels)
    wrapped = training_labels(LabelContainer.of(y), truth)
    splits = splits_of(splitter_of(cv, wrapped.shape[0], random_state), X, wrapped)
    method = method_of(estimator, response_method)
    scored = score_folds(estimator, method, X, wrapped, splits, n_jobs=n_jobs)
    return np.vstack([scores for scores, _ in scored]), np.concatenate([validation for _, validation in splits])


def training_labels(container: LabelContainer, truth: PartialLabels) -> Matrix:
    """Return label sets for an inner classifier: in the container of y, with NaN in unknown cells.

    A one-dimensional y becomes one column; only the predictions are one-dimensional.
    """
    if truth.unknown is not None:
        matrix = truth.with_nan()
        return matrix if container.kind is None else container.kind(matrix)
    return container.wrap(truth.labels) if container.classes is None else truth.labels.astype(np.int64)


def method_of(estimator: Any, response_method: str) -> str:
    """Return the method for scores, from the unfitted classifier, so that all folds use the same one.

    A fitted OneVsRestClassifier has `predict_proba` or not depending on its first label in that fold.
    """
    return response_method_of(estimator, RESPONSE_METHODS if response_method == "auto" else (response_method,))


class OneClass(NamedTuple):
    """Masks (n_labels,) of labels that no or all training samples carry, without labels unknown in all samples.

    Their decision values have no meaning (scikit-learn's OneVsRestClassifier returns 0 or 1, which may be above all
    other scores), so their score is set to minus or plus infinity.
    """

    never: BoolArray
    always: BoolArray

    @classmethod
    def of(cls, labels: Matrix) -> OneClass:
        """Return the masks for training label sets (n_samples, n_labels), from the known cells."""
        truth = PartialLabels.of(labels)
        carriers = truth.labels.sum(axis=0)
        n_known = truth.labels.shape[0] - (0 if truth.unknown is None else truth.unknown.sum(axis=0))
        return cls(carriers == 0, (carriers > 0) & (carriers == n_known))

    @classmethod
    def none(cls, n_labels: int) -> OneClass:
        """Return empty masks, since the training labels of an already fitted classifier are unknown."""
        nothing = np.zeros(n_labels, dtype=np.bool_)
        return cls(nothing, nothing)

    def with_infinities(self, scores: NDArray[Any], method: str) -> NDArray[Any]:
        """Return scores (n_queries, n_labels), with infinities for these labels if they are decision values."""
        if method != "decision_function" or not (self.never | self.always).any():
            return scores
        return np.where(self.always, np.inf, np.where(self.never, -np.inf, scores))


class Scorer(NamedTuple):
    """A fitted classifier, the method for its scores, and its labels with one class."""

    classifier: Any
    method: str
    one_class: OneClass

    @classmethod
    def fit(
        cls, estimator: Any, method: str, X: MatrixLike, y: Matrix, params: dict[str, Any], rows: IntArray | None = None
    ) -> Scorer:
        """Fit a clone to some samples; None: to all."""
        if rows is not None:
            params = rows_of_params(params, rows, y.shape[0])
            X, y = rows_of(X, rows), y[rows]
        # A single-label classifier needs it in the form of scikit-learn's binary targets.
        only_binary = y.shape[1] == 1 and not get_tags(estimator).target_tags.multi_output
        with requiring_multilabel(estimator):
            classifier = clone(estimator).fit(X, as_dense(y)[:, 0] if only_binary else y, **params)
        frozen = isinstance(classifier, FrozenEstimator)  # trained on other samples
        return cls(classifier, method, OneClass.none(y.shape[1]) if frozen else OneClass.of(y))

    def scores(self, X: MatrixLike) -> NDArray[Any]:
        """Return scores (n_queries, n_labels)."""
        n_labels, only_scores = len(self.one_class.never), Needs(labels=False)
        answer = prefit_answer(self.classifier, X, n_labels, only_scores, self.method)
        return self.one_class.with_infinities(answer.scores, self.method)


def score_folds(
    estimator: Any,
    method: str,
    X: MatrixLike,
    y: Matrix,
    splits: list[tuple[IntArray, IntArray]],
    *,
    params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
    keep: bool = False,
) -> list[tuple[NDArray[Any], Scorer | None]]:
    """Return the scores of each fold's validation samples, and the fitted classifier if `keep`."""
    # scikit-learn's own Parallel also sends its configuration, such as metadata routing, to the workers.
    scored: list[tuple[NDArray[Any], Scorer | None]] = Parallel(n_jobs=n_jobs)(
        delayed(_score_fold)(estimator, method, X, y, split, params or {}, keep) for split in splits
    )
    return scored


def _score_fold(
    estimator: Any,
    method: str,
    X: MatrixLike,
    y: Matrix,
    split: tuple[IntArray, IntArray],
    params: dict[str, Any],
    keep: bool,
) -> tuple[NDArray[Any], Scorer | None]:
    training, validation = split
    scorer = Scorer.fit(estimator, method, X, y, params, training)
    return scorer.scores(rows_of(X, validation)), scorer if keep else None


def rows_of_params(params: dict[str, Any], rows: IntArray, n_samples: int) -> dict[str, Any]:
    """Return metadata for some samples: values with one entry per sample are indexed."""

    def is_of_rows(value: Any) -> bool:
        if hasattr(value, "shape"):
            return len(value.shape) > 0 and value.shape[0] == n_samples
        return isinstance(value, list | tuple) and len(value) == n_samples

    return {name: rows_of(value, rows) if is_of_rows(value) else value for name, value in params.items()}
