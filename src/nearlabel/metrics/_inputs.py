"""What the measures accept: label sets, predictions and scores of one shape, and the options many measures share."""

from __future__ import annotations

import math
import numbers
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse

from nearlabel._typing import Matrix, MatrixLike
from nearlabel._validation import as_label_matrix

TieRule: TypeAlias = Literal["pessimistic", "index", "optimistic"]
TrivialRule: TypeAlias = Literal["drop", "keep"]

TIE_RULES = ("pessimistic", "index", "optimistic")
TRIVIAL_RULES = ("drop", "keep")


def is_sparse(matrix: Any) -> bool:
    """Return whether this is a sparse container; a plain bool, so that type checkers go on seeing a `Matrix`."""
    return bool(sparse.issparse(matrix))


def check_true(y_true: MatrixLike) -> Matrix:
    """Return the true label sets as an indicator matrix (n_samples, n_labels) of at least one row."""
    true = as_label_matrix(y_true, name="y_true")
    if true.shape[0] == 0:
        raise ValueError(f"y_true must have at least one row, got shape {true.shape}.")
    return true


def check_predicted(y_pred: MatrixLike, shape: tuple[int, int]) -> Matrix:
    """Return the predicted label sets as an indicator matrix of the given shape."""
    predicted = as_label_matrix(y_pred, name="y_pred")
    _check_same_shape("y_pred", predicted.shape, shape)
    return predicted


def check_scores(y_score: Any, shape: tuple[int, int]) -> Matrix:
    """Return scores as a floating-point array or CSR array of the given shape, without NaN; infinities may stay."""
    scores: Matrix = sparse.csr_array(y_score) if is_sparse(y_score) else _as_dense_scores(y_score)
    if scores.dtype.kind != "f":
        scores = _to_float(scores)
    _check_same_shape("y_score", scores.shape, shape)
    _check_no_nan(scores)
    return scores


def check_zero_division(value: object) -> float:
    """Return what a 0/0 counts as: 0, 1, or nan to leave it out of the mean."""
    number = float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else None
    if number is None or not (number in (0.0, 1.0) or math.isnan(number)):
        raise ValueError(f"zero_division must be 0.0, 1.0 or nan, got {value!r}.")
    return number


def _check_same_shape(name: str, got: tuple[int, ...], expected: tuple[int, int]) -> None:
    if got != expected:
        hint = " Hint: a single label is one column, reshape(-1, 1)." if len(got) == 1 else ""
        raise ValueError(f"{name} must be of the same shape as y_true, {expected}, got shape {got}.{hint}")


def _as_dense_scores(y_score: Any) -> Any:
    if isinstance(y_score, list | tuple) and any(getattr(part, "ndim", 1) == 2 for part in y_score):
        raise ValueError(
            f"y_score must be one array of shape (n_samples, n_labels), got a {type(y_score).__name__} of"
            f" {len(y_score)} arrays. Hint: np.column_stack([p[:, 1] for p in y_score]) joins what scikit-learn's"
            " predict_proba gives for several labels, where each label has both classes in the training data."
        )
    try:
        return np.asarray(y_score)
    except ValueError as error:
        raise ValueError("y_score must be of shape (n_samples, n_labels), got rows of unequal length.") from error


def _to_float(scores: Any) -> Any:
    if scores.dtype.kind not in "buiO":
        raise ValueError(f"y_score must hold numbers, got values of type {scores.dtype}.")
    try:
        return scores.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y_score must hold numbers, got values of type {scores.dtype}.") from error


def _check_no_nan(scores: Any) -> None:
    values = scores.data if is_sparse(scores) else scores
    # The minimum is NaN if any value is: one pass and no temporary array in the good case.
    if values.size == 0 or not np.isnan(values.min()):
        return
    columns = scores.indices[np.isnan(values)] if is_sparse(scores) else np.nonzero(np.isnan(values))[1]
    raise ValueError(f"y_score must not hold NaN, got NaN in column {columns.min()}.")
