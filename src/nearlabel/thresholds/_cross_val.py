"""Scores of rows by classifiers that were not trained on them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import indexable

from nearlabel._responses import RESPONSE_METHODS, label_scores, response_method_of
from nearlabel._typing import BoolArray, IntArray, Matrix, MatrixLike
from nearlabel._validation import LabelContainer, as_label_matrix, check_choice, check_integer


def cross_val_scores(
    estimator: Any,
    X: MatrixLike,
    Y: MatrixLike,
    *,
    cv: Any = 5,
    response_method: str = "auto",
    n_jobs: int | None = None,
    random_state: int | RandomState | None = None,
) -> tuple[NDArray[Any], IntArray]:
    """Score rows by classifiers that were not trained on them, as one array: what strategies learn from.

    What `TunedThresholdsClassifierCV` does first, for those who want to compare strategies on one set of scores.
    scikit-learn's `cross_val_predict` does so only for classifiers that answer in an array, and a dense Y.

    Parameters
    ----------
    estimator : classifier
        Any multi-label classifier with `predict_proba` or `decision_function`; cloned for each fold.
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Rows.
    Y : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Label sets as an indicator matrix of 0 and 1.
    cv : int, splitter or iterable of (training, validation) rows, default=5
        An int: so many folds, of consecutive rows unless `random_state` is given.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Which scores; "auto" takes probabilities if there are any.
    n_jobs : int, default=None
        Folds fitted at a time.
    random_state : int, RandomState or None, default=None
        Shuffles the rows before they are cut into folds, if `cv` is an int.

    Returns
    -------
    scores : ndarray of shape (n_scored, n_labels)
        Scores, fold after fold.
    rows : ndarray of int of shape (n_scored,)
        Which rows they are of: ``Y[rows]`` are their label sets.

    Raises
    ------
    ValueError
        If Y is malformed, the lengths differ, there are too few rows, or the classifier has no scores.

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
    labels = as_label_matrix(Y)
    X, _ = indexable(X, labels)
    wrapped = LabelContainer.of(Y).wrap(labels)
    splits = list(splitter_of(cv, labels.shape[0], random_state).split(X, wrapped))
    scores = score_folds(estimator, X, wrapped, splits, response_method, n_jobs, {})
    return np.vstack(scores), np.concatenate([validation for _, validation in splits])


def splitter_of(cv: Any, n_samples: int, random_state: int | RandomState | None) -> Any:
    """Return the splitter that `cv` stands for."""
    if not isinstance(cv, int | np.integer):
        return check_cv(cv)
    n_folds = check_integer("cv", cv, low=2)
    if n_folds > n_samples:
        raise ValueError(f"cv must be at most n_samples={n_samples}, got {n_folds}.")
    return KFold(n_folds, shuffle=random_state is not None, random_state=random_state)


def method_of(estimator: Any, response_method: str) -> str:
    """Return the method that gives the scores."""
    return response_method_of(estimator, RESPONSE_METHODS if response_method == "auto" else (response_method,))


def score_folds(
    estimator: Any,
    X: MatrixLike,
    Y: Matrix,
    splits: list[tuple[IntArray, IntArray]],
    response_method: str,
    n_jobs: int | None,
    params: dict[str, Any],
) -> list[NDArray[Any]]:
    """Return the scores of each fold's validation rows."""
    scores: list[NDArray[Any]] = Parallel(n_jobs=n_jobs)(
        delayed(_score_fold)(estimator, X, Y, training, validation, response_method, params)
        for training, validation in splits
    )
    return scores


def _score_fold(
    estimator: Any,
    X: MatrixLike,
    Y: Matrix,
    training: IntArray,
    validation: IntArray,
    response_method: str,
    params: dict[str, Any],
) -> NDArray[Any]:
    """Return the validation rows' scores by a classifier fitted to the training rows."""
    fitted = clone(estimator)
    fitted.fit(rows_of(X, training), Y[training], **rows_of_params(params, training, Y.shape[0]))
    method = method_of(fitted, response_method)
    scores = label_scores(fitted, rows_of(X, validation), Y.shape[1], method)
    return OneClass.of(Y[training]).settle(scores, method)


class OneClass(NamedTuple):
    """Labels, as masks (n_labels,), that no or all training rows carry.

    A decision function says nothing of them (scikit-learn's OneVsRestClassifier answers with 0 or 1, which may lie
    above all other scores), so their score is set to minus or plus infinity.
    """

    never: BoolArray
    always: BoolArray

    @classmethod
    def of(cls, labels: Matrix) -> OneClass:
        """Find them in training label sets (n_samples, n_labels)."""
        carriers = np.asarray(labels.sum(axis=0)).reshape(-1)
        return cls(carriers == 0, carriers == labels.shape[0])

    def settle(self, scores: NDArray[Any], method: str) -> NDArray[Any]:
        """Return scores (n_queries, n_labels) with those of these labels set, if they are decision values."""
        if method != "decision_function" or not (self.never | self.always).any():
            return scores
        return np.where(self.always, np.inf, np.where(self.never, -np.inf, scores))


def rows_of(X: MatrixLike, rows: IntArray) -> MatrixLike:
    """Return some rows of an array, sparse matrix, list or data frame."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return [X[row] for row in rows] if isinstance(X, list | tuple) else X[rows]


def rows_of_params(params: dict[str, Any], rows: IntArray, n_samples: int) -> dict[str, Any]:
    """Return metadata for some rows: what has an entry for each row is cut down to them."""

    def is_of_rows(value: Any) -> bool:
        return hasattr(value, "__len__") and not isinstance(value, str | dict) and len(value) == n_samples

    return {name: rows_of(value, rows) if is_of_rows(value) else value for name, value in params.items()}
