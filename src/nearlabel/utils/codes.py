"""Errors for label matrices with other values than 0 and 1: which values there are, and what they may mean.

A wrong guess would exchange or lose labels, so the values are never recoded here: the message asks, and has an
expression for each answer.
"""

from __future__ import annotations

import numbers
import re
import warnings
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.utils.containers import is_frame
from nearlabel.utils.messages import AdviceWarning
from nearlabel.utils.types import MatrixLike

NEGATIVE_HINT = " Hint: 0 means that a label does not apply, NaN that it is unknown."
SETS_HINT = (
    " Hint: classifiers accept lists of tags if all tags are str;"
    " sklearn.preprocessing.MultiLabelBinarizer makes an indicator matrix from any labels."
)
CELLS_HINT = (
    " Hint: nearlabel.datasets.from_frame(frame, labels_column=...) reads a column of tags in the usual notations;"
    " X and Y of its result go to fit."
)
_MOST_SHOWN = 3
_LARGEST_CODE = 1e6
_IN_BRACKETS = re.compile(r"\[.*\]|\{.*\}|\(.*\)|set\(\)", re.DOTALL)
_SEPARATORS = re.compile(r"[|;,#\t]|::| / ")
_PAIRS = ({"0", "1"}, {"false", "true"}, {"no", "yes"}, {"-1", "1"})


def refusal_of_numbers(y: MatrixLike, values: NDArray[Any], name: str, *, has_unknown: bool = False) -> ValueError:
    """Return the error for a label matrix whose known cells have numbers other than 0 and 1."""
    expected = f"{name} must contain {'0, 1 and NaN' if has_unknown else '0 and 1'} only"
    found = np.unique(values)
    wrong = found[(found != 0) & (found != 1)]
    if (wrong != np.round(wrong)).any():
        first = values[(values != 0) & (values != 1)][0]
        return ValueError(f"{expected}, got {first.item()!r}. Is it a continuous target?")
    if len(found) == 2 and np.abs(found).max() < _LARGEST_CODE:
        low, high = map(int, found)
        remedy = _remedy(y, name, [high] if low == 0 else [low] if high == 0 else [high, low], has_unknown)
        if low == -1 and (means_unknown := _where_unknown(y, name)):
            left = "to apply" if high == 0 else "not to apply"
            remedy += f"; {means_unknown} if -1 means unknown, but then no label is known {left}"
        return ValueError(f"{expected}, got two values, {low!r} and {high!r}. What do they mean? Hint: {remedy}.")
    first = values[values < 0][0] if (values < 0).any() else wrong[0]
    hint = NEGATIVE_HINT if first < 0 else SETS_HINT if isinstance(y, list | tuple) and len(found) > 2 else ""
    return ValueError(f"{expected}, got {first:g}.{hint}")


def refusal_of_objects(y: MatrixLike, values: NDArray[Any], name: str, *, has_unknown: bool = False) -> ValueError:
    """Return the error for a label matrix with cells (n_known,) that are not all numbers."""
    wrong = next(value for value in values if not isinstance(value, numbers.Real | np.bool_))
    expected = f"{name} must contain 0 and 1 only"
    if not all(isinstance(value, str) for value in values):
        hint = CELLS_HINT if isinstance(wrong, Collection) and not isinstance(wrong, str | bytes) else ""
        return ValueError(f"{expected}, got {_shown(wrong)} of type {type(wrong).__name__}.{hint}")
    found = sorted(map(str, set(values)), reverse=True)
    if len(found) == 2:
        remedy = _remedy(y, name, found, has_unknown)
        return ValueError(
            f"{expected}, got two values, {found[1]!r} and {found[0]!r}. What do they mean? Hint: {remedy}."
        )
    hint = CELLS_HINT if np.shape(y)[1:] == (1,) else SETS_HINT
    some = ", ".join(map(_shown, found[: -_MOST_SHOWN - 1 : -1]))
    return ValueError(f"{expected}, got {len(found)} texts: {some}{', ...' * (len(found) > _MOST_SHOWN)}.{hint}")


def cells_hint(classes: Sequence[str]) -> str:
    """Return the hint for cells of tags if classes of a one-dimensional y look like such cells."""
    are_cells = any(_IN_BRACKETS.fullmatch(one) or _SEPARATORS.search(one) or "__label__" in one for one in classes)
    return CELLS_HINT if are_cells else ""


def warn_of_cells(classes: Sequence[str]) -> None:
    """Warn if the two classes of a one-dimensional y seem to be cells of tags, such as "a" and "a|b"."""
    parts = [{part.strip() for part in _SEPARATORS.split(one)} for one in classes]
    if all(map(_IN_BRACKETS.fullmatch, classes)) or (parts[0] & parts[-1] and parts[0] != parts[-1]):
        warnings.warn(
            f"y was read as one label with the classes {' and '.join(map(repr, classes))}, which look like cells of"
            f" tags.{CELLS_HINT}",
            AdviceWarning,
            stacklevel=2,
        )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _remedy(y: MatrixLike, name: str, positives: Sequence[Any], has_unknown: bool) -> str:
    """Return what to pass, for each value that may mean that a label applies."""
    ways = [f"{_equal(y, name, value, has_unknown)} if {value!r} means that a label applies" for value in positives]
    return "pass " + ", or ".join(ways)


def _equal(y: MatrixLike, name: str, value: Any, has_unknown: bool) -> str:
    """Return the expression for the cells that are equal to a value; unknown cells stay unknown."""
    given = _comparable(y, name)
    if not has_unknown or np.ma.isMaskedArray(y):
        return f"{given} == {value!r}"
    if is_frame(y):
        return f"({given} == {value!r}).astype(float).where({given}.notna())"
    is_missing = "np.isnan" if isinstance(value, numbers.Real) else "pandas.isna"
    return f"np.where({is_missing}({given}), np.nan, {given} == {value!r})"


def _where_unknown(y: MatrixLike, name: str) -> str:
    """Return the expression with NaN for -1; nothing for a sparse matrix, where there is no short one."""
    given = _comparable(y, name)
    if sparse.issparse(y):
        return ""
    if np.ma.isMaskedArray(y):
        return f"np.ma.masked_equal({given}, -1)"
    return f"{given}.mask({given} == -1)" if is_frame(y) else f"np.where({given} == -1, np.nan, {given})"


def _comparable(y: MatrixLike, name: str) -> str:
    """Return an expression for y that compares cell by cell and has the names of the columns."""
    given = name if name.isidentifier() else "y"
    if hasattr(y, "iloc") or sparse.issparse(y) or (isinstance(y, np.ndarray) and y.dtype.kind != "O"):
        return given
    if is_frame(y):
        return f"{given}.to_pandas()"
    values = np.asarray(y, dtype=object).ravel()
    are_numbers = all(value is None or isinstance(value, numbers.Real) for value in values)
    return f"np.array({given}, dtype={'float' if are_numbers else 'object'})"


def refuse_codes(tags: Iterable[Any]) -> None:
    """Raise ValueError for rows of tags that are the rows of a matrix of two texts, such as "yes" and "no".

    A list of tags has no reason to name one twice, and lists of one length over two texts are rarely tags at all. Read
    as tags, almost every sample would have both.
    """
    found: set[str] = set()
    lengths: set[int] = set()
    for row in tags:
        found.update(row)
        lengths.add(len(row))
        if len(found) > 2 or len(lengths) > 1 or len(row) < 2 or isinstance(row, set | frozenset):
            return
    repeats = any(len(set(row)) < len(row) for row in tags)
    if repeats or {text.casefold() for text in found} in _PAIRS:
        values = sorted(map(str, found), reverse=True)
        ways = ", or ".join(f"np.array(list(y)) == {text!r} if {text!r} means that a label applies" for text in values)
        raise ValueError(
            f"y must have each tag of a row once, got rows of one length with {' and '.join(map(repr, values[::-1]))}"
            f" only, as in an indicator matrix. Hint: pass {ways}, or [set(row) for row in y] if they are tags."
        )
