"""The columns of any container, read as one kind of value."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from nearlabel.utils.containers import NONE, as_array, columns_of, is_number, missing
from nearlabel.utils.types import FloatArray, MatrixLike

_MICROSECONDS_A_DAY = 86_400_000_000


class ColumnReader(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Read columns of any container as numbers, dates, categories or texts.

    Parameters
    ----------
    kind : {"number", "date", "category", "text"}
        "number" and "date" give float64 with NaN where a value is missing, dates as days since 1970; "category" gives
        objects with None where one is missing; "text", of one column, a list of strings, empty where one is missing.
    names : sequence of str
        Names of the columns in messages.
    """

    def __init__(self, kind: str, names: Sequence[str]) -> None:
        self.kind = kind
        self.names = names

    def fit(self, X: MatrixLike, y: object = None) -> Self:
        """Reject columns without any value."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: MatrixLike, y: object = None) -> Any:
        """Read training samples."""
        validate_data(self, X, skip_check_array=True)
        read = self.transform(X)
        for name, column in zip(self.names, [read] if self.kind == "text" else read.T, strict=True):
            if _lack_all(self.kind, column):
                raise ValueError(
                    f"X must have a value in each column, got column {name} of {len(column)} missing ones."
                    " Hint: leave it out."
                )
        return read

    def transform(self, X: MatrixLike) -> Any:
        """Read rows."""
        read = _READERS[self.kind]
        columns = []
        for name, column in zip(self.names, columns_of(X), strict=True):
            try:
                columns.append(read(as_array(column)))
            except (TypeError, ValueError) as error:
                raise ValueError(f"X must have {_EXPECTED[self.kind]} in column {name}: {error}") from error
        return columns[0].tolist() if self.kind == "text" else np.column_stack(columns)


def _lack_all(kind: str, column: Any) -> bool:
    """Return whether no cell of a column that was read has a value."""
    if kind == "text":
        return not any(map(str.strip, column))
    return bool((np.equal(column, NONE) if kind == "category" else np.isnan(column)).all())


def _numbers(values: NDArray[Any]) -> FloatArray:
    if values.dtype.kind not in "biufO":
        raise ValueError(f"got values of type {values.dtype}.")
    if values.dtype.kind == "O":
        values = np.where(missing(values), np.nan, values)
    read: FloatArray = values.astype(np.float64)
    if np.isinf(read).any():
        raise ValueError("got infinity.")
    return read


def _days(values: NDArray[Any]) -> FloatArray:
    if values.dtype.kind not in "MUO" or any(map(is_number, values[~missing(values)][:1])):
        raise ValueError(f"got values of type {values.dtype}.")
    if values.dtype.kind == "O":
        values = values.copy()
        values[missing(values)] = None
    since_1970 = values.astype("datetime64[us]")
    return np.where(np.isnat(since_1970), np.nan, since_1970.astype(np.int64) / _MICROSECONDS_A_DAY)


def _categories(values: NDArray[Any]) -> NDArray[Any]:
    lacking, objects = missing(values), values.astype(object)
    kinds = set(map(type, objects[~lacking]))
    unusable = sorted(kind.__name__ for kind in kinds if not issubclass(kind, Hashable))
    if unusable or len({issubclass(kind, str) for kind in kinds}) > 1:
        names = ", ".join(unusable or sorted(kind.__name__ for kind in kinds))
        raise TypeError(f"got values of type {names}. Hint: make all of them texts.")
    objects[lacking] = None
    return objects


def _texts(values: NDArray[Any]) -> NDArray[Any]:
    values = np.where(missing(values), "", values.astype(object))
    for value in values:
        if not isinstance(value, str):
            raise TypeError(f"got {value!r}.")
    return values


_READERS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "number": _numbers,
    "date": _days,
    "category": _categories,
    "text": _texts,
}
_EXPECTED = {
    "number": "numbers",
    "date": "dates, or texts like 2026-01-31,",
    "category": "categories",
    "text": "texts",
}
