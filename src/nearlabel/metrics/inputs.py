"""Checks of the inputs of metrics: label sets, predictions and scores of one shape, weights, and shared options."""

from __future__ import annotations

import math
import numbers
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse

from nearlabel.utils.types import FloatArray, LabelType, Matrix, MatrixLike
from nearlabel.utils.validation import as_label_matrix, as_score_matrix, check_choice, check_sample_weight

TieRule: TypeAlias = Literal["pessimistic", "optimistic", "low", "high", "average", "index"]
TrivialRule: TypeAlias = Literal["drop", "keep"]

TIE_RULES = ("pessimistic", "optimistic", "low", "high", "average")
TRIVIAL_RULES = ("drop", "keep")
_ROUNDING = 1e-9  # probabilities of other libraries' classifiers may be this far outside [0, 1]


def is_sparse(matrix: Any) -> bool:
    """Return whether this is a sparse container; not a type guard, so that type checkers still see a `Matrix`."""
    return bool(sparse.issparse(matrix))


def check_predicted(y_pred: MatrixLike, shape: tuple[int, int], *, dtype: LabelType | None = np.int64) -> Matrix:
    """Return the predicted label sets as an indicator matrix of the given shape and type."""
    predicted = as_label_matrix(y_pred, name="y_pred", dtype=dtype)
    _check_same_shape("y_pred", predicted.shape, shape)
    return predicted


def check_scores(y_score: Any, shape: tuple[int, int], *, name: str = "y_score") -> Matrix:
    """Return scores as a floating-point array or CSR array of the given shape, without NaN; infinities are allowed."""
    scores = as_score_matrix(y_score, name=name)
    _check_same_shape(name, scores.shape, shape)
    return scores


def check_probabilities(scores: Matrix) -> Matrix:
    """Return checked scores; raise ValueError if one is not in [0, 1]."""
    if not are_probabilities(scores):
        low, high = _range(scores)
        raise ValueError(f"y_prob must be probabilities in [0, 1], got {low:g} to {high:g}.")
    return scores


def are_probabilities(scores: Matrix) -> bool:
    """Return whether all scores are in [0, 1], up to rounding; NaN, in an unknown cell, is ignored."""
    low, high = _range(scores)
    return bool(low >= -_ROUNDING and high <= 1 + _ROUNDING)


def _range(scores: Matrix) -> tuple[Any, Any]:
    """Return the smallest and the largest score that are not NaN."""
    if np.isnan(scores.min()):
        stored = scores.data if is_sparse(scores) else scores
        scores = np.append(stored[~np.isnan(stored)], [0.0] * is_sparse(scores))
    return scores.min(), scores.max()


def check_ties(ties: object) -> TieRule:
    """Return the rule for equal scores; "index" is the former name of "low"."""
    rule: Any = "low" if ties == "index" else ties
    check_choice("ties", rule, TIE_RULES)
    checked: TieRule = rule
    return checked


def dense_rows(matrix: Matrix, rows: slice) -> Any:
    """Return some rows of a dense or CSR matrix as an array."""
    block = matrix[rows]
    return block.toarray() if is_sparse(block) else block


def check_weights(sample_weight: Any, n_samples: int) -> FloatArray | None:
    """Return weights (n_samples,), or None; huge and tiny ones are rescaled, so that sums stay finite."""
    if sample_weight is None:
        return None
    weights = check_sample_weight(sample_weight, n_samples)
    exponent = np.frexp(weights.max())[1]
    return np.ldexp(weights, -exponent) if abs(exponent) > 100 else weights


def check_zero_division(value: object) -> float:
    """Return the value of 0/0: 0, 1, or nan to leave it out of the mean."""
    number = float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else None
    if number is None or not (number in (0.0, 1.0) or math.isnan(number)):
        raise ValueError(f"zero_division must be 0.0, 1.0 or nan, got {value!r}.")
    return number


def _check_same_shape(name: str, got: tuple[int, ...], expected: tuple[int, int]) -> None:
    if got != expected:
        hint = " Hint: a single label is one column, reshape(-1, 1)." if len(got) == 1 else ""
        raise ValueError(f"{name} must be of the same shape as y_true, {expected}, got shape {got}.{hint}")
