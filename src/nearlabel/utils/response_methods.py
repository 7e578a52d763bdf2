"""The scores of any multi-label classifier as one array, for all shapes that classifiers return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.utils.types import MatrixLike

RESPONSE_METHODS = ("predict_proba", "decision_function")


def response_method_of(estimator: Any, methods: Sequence[str] = RESPONSE_METHODS) -> str:
    """Return the first of the methods that the estimator has."""
    for method in methods:
        if hasattr(estimator, method):
            return method
    raise ValueError(f"estimator must have {' or '.join(methods)}, got {type(estimator).__name__}.")


def label_scores(estimator: Any, X: MatrixLike, n_labels: int, method: str) -> NDArray[Any]:
    """Return the scores of a fitted classifier, (n_samples, n_labels).

    scikit-learn's classifiers return three shapes: an array (n_samples, n_labels); a list with an array (n_samples,
    n_classes) for each label, where a label with one class in the training data has one column; and, for a single
    label, (n_samples,) or (n_samples, n_classes). A label whose only class is 0 has the probability 0, otherwise 1.
    """
    return as_label_scores(getattr(estimator, method)(X), estimator, n_labels, method)


def as_label_scores(answer: Any, estimator: Any, n_labels: int, method: str) -> NDArray[Any]:
    """Return the result of a fitted classifier's method as scores (n_samples, n_labels)."""
    classes: Any = getattr(estimator, "classes_", None)
    if isinstance(answer, list | tuple):
        each = [(0, 1)] * len(answer) if classes is None else classes
        got = f"a list of {len(answer)} and classes_ of {len(each)}"
        _check(len(answer) == len(each) == n_labels, estimator, method, n_labels, got)
        return np.column_stack([_of_class_1(*pair, estimator, method) for pair in zip(answer, each, strict=True)])
    scores: NDArray[Any] = answer.toarray() if sparse.issparse(answer) else np.asarray(answer)
    if n_labels == 1 and method == "predict_proba" and _is_one_class(classes):
        return np.full((scores.shape[0], 1), float(classes[0] == 1))
    if n_labels == 1 and scores.ndim == 1:
        return scores.reshape(-1, 1)
    if n_labels == 1 and scores.ndim == 2 and scores.shape[1] == 2:
        return scores[:, 1:]
    _check(scores.ndim == 2 and scores.shape[1] == n_labels, estimator, method, n_labels, f"shape {scores.shape}")
    return scores


def _is_one_class(classes: Any) -> bool:
    """Return whether `classes_` is the only class of a single label, and not a single column number as in nearlabel."""
    return isinstance(classes, np.ndarray) and classes.shape == (1,) and classes.dtype.kind != "O"


def _of_class_1(answer: Any, classes: Any, estimator: Any, method: str) -> NDArray[Any]:
    """Return the column of class 1 of a label's scores (n_samples, n_classes); 0 if there is none."""
    probabilities: NDArray[Any] = np.asarray(answer)
    if probabilities.ndim == 2 and np.shape(classes) == (1,):
        return np.full(len(probabilities), float(classes[0] == 1))
    if probabilities.ndim != 2 or np.shape(classes) != probabilities.shape[1:]:
        raise ValueError(
            f"{method} of {type(estimator).__name__} must answer, for each label, with a column for each class of"
            f" classes_, got shape {probabilities.shape} for classes {np.array(classes).tolist()}."
        )
    scores: NDArray[Any] = probabilities @ np.equal(classes, 1)
    return scores


def _check(fits: bool, estimator: Any, method: str, n_labels: int, got: str) -> None:
    if not fits:
        raise ValueError(
            f"{method} of {type(estimator).__name__} must answer with an array (n_samples, {n_labels}), or a list of"
            f" {n_labels} arrays, got {got}."
        )
