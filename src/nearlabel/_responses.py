"""The scores of any multi-label classifier as one array, whatever shape its methods answer in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel._typing import MatrixLike

RESPONSE_METHODS = ("predict_proba", "decision_function")


def response_method_of(estimator: Any, methods: Sequence[str] = RESPONSE_METHODS) -> str:
    """Return the first of the methods that the estimator has."""
    for method in methods:
        if hasattr(estimator, method):
            return method
    raise ValueError(f"estimator must have {' or '.join(methods)}, got {type(estimator).__name__}.")


def label_scores(estimator: Any, X: MatrixLike, n_labels: int, method: str) -> NDArray[Any]:
    """Return the scores of a fitted classifier, (n_samples, n_labels).

    scikit-learn's classifiers answer in three shapes: an array (n_samples, n_labels); a list with an array
    (n_samples, n_classes) for each label, where a label of one class in the training data has one column; and, for a
    single label, (n_samples,) or (n_samples, 2). A label whose only class is 0 has the probability 0, else 1.
    """
    answer = getattr(estimator, method)(X)
    if isinstance(answer, list | tuple):
        return np.column_stack([_of_class_1(part, classes) for part, classes in _with_classes(answer, estimator)])
    scores: NDArray[Any] = answer.toarray() if sparse.issparse(answer) else np.asarray(answer)
    if n_labels == 1 and scores.ndim == 1:
        return scores.reshape(-1, 1)
    if n_labels == 1 and scores.ndim == 2 and scores.shape[1] == 2:
        return scores[:, 1:]
    if scores.ndim != 2 or scores.shape[1] != n_labels:
        raise ValueError(
            f"{method} of {type(estimator).__name__} must answer with an array (n_samples, {n_labels}), or a list of"
            f" {n_labels} arrays, got shape {scores.shape}."
        )
    return scores


def _with_classes(answer: Sequence[Any], estimator: Any) -> list[tuple[Any, Any]]:
    classes = getattr(estimator, "classes_", [np.array([0, 1])] * len(answer))
    return list(zip(answer, classes, strict=True))


def _of_class_1(probabilities: Any, classes: Any) -> Any:
    return np.asarray(probabilities) @ np.equal(classes, 1)
