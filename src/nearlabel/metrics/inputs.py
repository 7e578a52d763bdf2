"""Checks of the inputs of metrics; true label sets with unknown cells, in which predictions and scores are blanked."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.utils.containers import check_row_names, is_frame, matched
from nearlabel.utils.tags import rows_mask, tag_matrix, tags_or_none
from nearlabel.utils.targets import PartialLabels, as_label_matrix
from nearlabel.utils.types import FloatArray, IntArray, LabelType, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense, as_score_matrix, check_choice, check_sample_weight

TieRule: TypeAlias = Literal["pessimistic", "optimistic", "low", "high", "average", "index"]
TrivialRule: TypeAlias = Literal["drop", "keep"]

TIE_RULES = ("pessimistic", "optimistic", "low", "high", "average")
_ROUNDING = 1e-9  # probabilities of other libraries' classifiers may be this far outside [0, 1]


class Declared(NamedTuple):
    """What the catalogue has of a metric."""

    function: Callable[..., float]
    title: str
    greater_is_better: bool
    on_request: bool


DECLARED: dict[str, Declared] = {}
_Metric = TypeVar("_Metric", bound=Callable[..., float])


def declared(title: str, *, greater_is_better: bool = True, on_request: bool = False) -> Callable[[_Metric], _Metric]:
    """Declare a metric of predictions, if it has a parameter `y_pred`, or of scores, under the function's name."""

    def declare(function: _Metric) -> _Metric:
        DECLARED[function.__name__] = Declared(function, title, greater_is_better, on_request)
        return function

    return declare


def is_sparse(matrix: Any) -> bool:
    """Return whether this is a sparse container; not a type guard, so that type checkers still see a `Matrix`."""
    return bool(sparse.issparse(matrix))


def check_predicted(y_pred: MatrixLike, shape: tuple[int, int], *, dtype: LabelType | None = np.int64) -> Matrix:
    """Return predicted label sets as an indicator matrix of the given shape and type."""
    predicted = as_label_matrix(y_pred, name="y_pred", dtype=dtype)
    _check_same_shape("y_pred", predicted.shape, shape)
    return predicted


def check_scores(y_score: Any, shape: tuple[int, int], *, name: str = "y_score") -> Matrix:
    """Return scores as a floating-point array or CSR array of the given shape, without NaN; infinities are allowed."""
    scores = as_score_matrix(y_score, name=name)
    _check_same_shape(name, scores.shape, shape)
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


def check_trivial(trivial: object) -> None:
    """Raise ValueError unless this is a rule for trivial rows."""
    check_choice("trivial", trivial, ("drop", "keep"))


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


# Lists of tags, true and predicted: the columns are the tags of both, so that what a model has never seen is missed.


class LabelSetsOfBoth(NamedTuple):
    """True and predicted label sets with the same columns, as the user passed them or made of tags."""

    y_true: Any
    y_pred: Any
    names: NDArray[Any] | None = None  # of the columns, if they were made of tags


def label_sets_of_both(y_true: Any, y_pred: Any, sample_weight: Any = None) -> LabelSetsOfBoth:
    """Return matrices with a column for each tag of either if both are tags; unchanged if none are.

    None in place of true tags makes all cells of the sample unknown.

    Raises
    ------
    ValueError
        If only one is tags, or a sample has no predicted tags but None.
    """
    true, predicted = tags_or_none(y_true), tags_or_none(y_pred)
    if not (any(map(_has_some, true or ())) or any(map(_has_some, predicted or ()))):
        return LabelSetsOfBoth(y_true, y_pred)
    if true is None or predicted is None:
        which = "y_true" if predicted is None else "y_pred"
        raise ValueError(
            f"y_true and y_pred must both be lists of tags or both be indicator matrices, got tags for {which} alone."
            " Hint: model.predict_labels(X) predicts tags."
        )
    if None in predicted:
        raise ValueError(f"y_pred must have tags, or [], for each sample, got None for row {predicted.index(None)}.")
    check_row_names(y_true=y_true, y_pred=y_pred, sample_weight=sample_weight)
    unknown = np.array([row is None for row in true])
    left_out = set(np.flatnonzero(unknown).tolist())  # what is predicted there makes no column
    given = [() if place in left_out else row for place, row in enumerate(predicted)]
    labels, names = tag_matrix([() if row is None else row for row in (*true, *given)])
    known = labels[: len(true)]
    if unknown.any():
        known = PartialLabels(known, rows_mask(unknown, known)).with_nan()
    return LabelSetsOfBoth(known, labels[len(true) :], names)


def _has_some(row: Any) -> bool:
    return row is not None and len(row) > 0


# True label sets with unknown cells; predictions and scores are blanked in these cells.
#
# All metrics use the known cells only. A blank prediction is 0, which with a true 0 adds nothing to a count; the
# number of known cells of a group is counted separately. A blank score is NaN: it sorts behind every score and equals
# none, so that functions that rank scores need no special case. Users' scores contain no NaN. Rows without known
# cells are left out.


class Truth(NamedTuple):
    """The rows of checked true label sets that have a known cell, the cells that are unknown, and the rows' weights."""

    labels: Matrix  # (n_left, n_labels), 0 where a cell is unknown
    unknown: Matrix | None  # mask of the same shape; None if all cells are known
    weights: FloatArray | None  # (n_left,); None: 1 each
    rows: IntArray | None  # which of the given rows are left; None: all
    given: PartialLabels  # all rows
    frame: Any = None  # y_true if it is a data frame, whose rows and columns have names

    @classmethod
    def of(
        cls,
        y_true: MatrixLike,
        sample_weight: Any = None,
        *,
        name: str = "y_true",
        dtype: LabelType | None = np.int64,
    ) -> Truth:
        """Check label sets and weights that the user passed; `dtype` is that of `as_label_matrix`."""
        check_row_names(**{name: y_true}, sample_weight=sample_weight)
        given, frame = PartialLabels.of(y_true, name=name, dtype=dtype), y_true if is_frame(y_true) else None
        labels, unknown = given
        if labels.shape[0] == 0:
            raise ValueError(f"{name} must have at least one row, got shape {labels.shape}.")
        weights = check_weights(sample_weight, labels.shape[0])
        if unknown is None:
            return cls(labels, None, weights, None, given, frame)
        rows = rows_with_known_cells(given, weights, name)
        if len(rows) == labels.shape[0]:
            return cls(labels, unknown, weights, None, given, frame)
        return cls(labels[rows], unknown[rows], None if weights is None else weights[rows], rows, given, frame)

    @classmethod
    def known(cls, labels: Matrix) -> Truth:
        """Return checked label sets of which all cells are known, without weights."""
        return cls(labels, None, None, None, PartialLabels(labels, None))

    @property
    def shape(self) -> tuple[int, int]:
        """Return the shape of the given label sets; predictions and scores must have the same shape."""
        shape: tuple[int, int] = self.given.labels.shape
        return shape

    def left(self, matrix: Matrix) -> Matrix:
        """Return the remaining rows of a matrix (n_samples, n_labels)."""
        return matrix if self.rows is None else matrix[self.rows]

    def blank(self, scores: Matrix) -> Matrix:
        """Return the remaining rows of checked scores, NaN where a cell is unknown."""
        return blank_scores(self.left(scores), self.unknown)

    def predicted(self, y_pred: MatrixLike, *, dtype: LabelType | None = np.int64) -> Matrix:
        """Return the user's predictions for all given rows, checked, as an indicator matrix of a type."""
        return check_predicted(matched(self.frame, y_pred, "y_pred"), self.shape, dtype=dtype)

    def checked_scores(self, y_score: Any, *, name: str = "y_score") -> Matrix:
        """Return the user's scores of all given rows, checked."""
        return check_scores(matched(self.frame, y_score, name), self.shape, name=name)

    def scores(self, y_score: Any) -> Matrix:
        """Return the user's scores, checked and blanked."""
        return self.blank(self.checked_scores(y_score))

    def probabilities(self, y_prob: Any) -> Matrix:
        """Return the user's probabilities, checked and blanked."""
        scores = self.blank(self.checked_scores(y_prob, name="y_prob"))
        if not are_probabilities(scores):
            low, high = _range(scores)
            raise ValueError(f"y_prob must be probabilities in [0, 1], got {low:g} to {high:g}.")
        return scores

    def n_known(self, axis: int) -> Any:
        """Return the number of known cells of each label (axis 0) or row (axis 1): one number if all are known."""
        n_cells = self.labels.shape[axis]
        return n_cells if self.unknown is None else n_cells - self.unknown.sum(axis=axis)


def rows_with_known_cells(given: PartialLabels, weights: Any, name: str = "y") -> IntArray:
    """Return the rows with a known cell and a weight above 0; raise ValueError if there are none."""
    n_unknown = 0 if given.unknown is None else given.unknown.sum(axis=1)
    counts = np.broadcast_to(n_unknown < given.labels.shape[1], given.labels.shape[:1])
    rows = np.flatnonzero(counts if weights is None else counts & (weights > 0))
    if not len(rows):
        raise ValueError(f"{name} must have a known cell in a sample with a weight above 0, got none.")
    return rows


def known_weight(weights: NDArray[Any], unknown: Matrix | None) -> Any:
    """Return the weight of each label's known cells, (n_labels,); one number if all cells are known."""
    if unknown is None:
        return weights.sum()
    is_known = unknown.sum(axis=0) < len(weights)  # elsewhere rounding could leave a difference
    return np.where(is_known, weights.sum() - weights @ unknown, 0.0)


def blank_scores(scores: Matrix, unknown: Matrix | None) -> Matrix:
    """Return scores with NaN where a cell is unknown; dense unless both are CSR."""
    if unknown is None:
        return scores
    if is_sparse(scores) and is_sparse(unknown):
        blanks = unknown.astype(scores.dtype)
        blanks.data[:] = np.nan
        return sparse.csr_array(scores + blanks)
    blank = np.array(as_dense(scores))
    blank[unknown.nonzero()] = np.nan
    return blank
