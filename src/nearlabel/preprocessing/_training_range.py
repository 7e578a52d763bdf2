"""The range of each number in the training samples, and what happens to values of other samples outside it."""

from __future__ import annotations

import numbers
from typing import Any, Self, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from nearlabel.utils.containers import are_words, without_mask
from nearlabel.utils.types import AnyArray, BoolArray, Matrix, MatrixLike

OutOfRange: TypeAlias = str | float
CLIP, KEEP = "clip", "keep"


def check_out_of_range(value: object) -> None:
    """Raise ValueError unless `value` is "clip", "keep" or a number of ranges."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    is_width = is_number and 0 <= float(value) < np.inf  # type: ignore[arg-type]  # isinstance is two lines away
    if not is_width and not (isinstance(value, str) and value in (CLIP, KEEP)):
        raise ValueError(f"out_of_range must be 'clip', 'keep' or a finite number of at least 0, got {value!r}.")


def has_range(X: Matrix) -> bool:
    """Return whether the features of X have ranges: X is dense, and has no counts of words or flags.

    A word that is more frequent than in any training sample is no drift, and sparse values have no lower end but 0.
    """
    return not sparse.issparse(X) and X.dtype.kind != "O" and X.size > 0 and not are_words(X)


class TrainingRange(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Move values outside the training range to its end, or keep them; NaN stays.

    Parameters
    ----------
    out_of_range : {"clip", "keep"} or float, default="clip"
        A number c: values are moved to the end of a range that is wider by c ranges on each side.
    """

    def __init__(self, out_of_range: OutOfRange = CLIP) -> None:
        self.out_of_range = out_of_range

    def fit(self, X: MatrixLike, y: object = None) -> Self:
        """Learn the least and the largest value of each column; NaN does not count."""
        validate_data(self, X, skip_check_array=True)
        values = _floats(X)
        self.low_, self.high_ = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
        return self

    def transform(self, X: MatrixLike) -> AnyArray:
        """Return X itself if there is nothing to move, as in training, else a copy."""
        check_is_fitted(self)
        return self.moved(_floats(X))

    def moved(self, values: AnyArray) -> AnyArray:
        """Return floats moved into the range, without a check."""
        if self.out_of_range == KEEP or not self.is_outside(values).any():
            return values
        return np.clip(values, *self._ends())

    def is_outside(self, X: MatrixLike) -> BoolArray:
        """Return which values are outside the range; missing ones are not."""
        return np.asarray(np.less(X, self.low_) | np.greater(X, self.high_))

    def widened(self, X: MatrixLike) -> TrainingRange:
        """Return the range of the training samples and some more."""
        return TrainingRange(self.out_of_range).fit(np.vstack([self.low_, self.high_, X]))

    def _ends(self) -> tuple[Any, Any]:
        if self.out_of_range in (CLIP, 0):  # a range may be infinite in float64, and 0 times infinity is NaN
            return self.low_, self.high_
        with np.errstate(over="ignore"):
            more = self.out_of_range * (self.high_ - self.low_)
            return self.low_ - more, self.high_ + more


def _floats(X: MatrixLike) -> AnyArray:
    """Return X with float values: differences of integers may overflow."""
    values = np.asarray(without_mask(X))
    return values if values.dtype.kind == "f" else values.astype(np.float64)
