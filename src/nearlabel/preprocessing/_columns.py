"""The columns of arrays, of data frames of pandas and polars and of Arrow tables, read as one kind of value.

None of these libraries is imported: a container is known by its methods.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from nearlabel.utils.types import BoolArray, FloatArray, MatrixLike

_MICROSECONDS_A_DAY = 86_400_000_000
_NONE = np.array(None)


def is_frame(X: MatrixLike) -> bool:
    """Return whether X is a data frame of pandas or polars, or an Arrow table."""
    return any(hasattr(X, name) for name in ("iloc", "get_columns", "column_names"))


def columns_of(X: MatrixLike) -> list[Any]:
    """Return the columns of a data frame, a table or a two-dimensional array, as it holds them."""
    if hasattr(X, "iloc"):
        return [X.iloc[:, place] for place in range(X.shape[1])]
    if hasattr(X, "get_columns"):
        return list(X.get_columns())
    return list(X.columns) if hasattr(X, "column_names") else list(np.asarray(X).T)


def kind_of(column: Any) -> str:
    """Return "number", "category" or "date": what a column holds by its type or, in an array of objects, its values."""
    values = as_array(column)
    if values.dtype.kind == "M":
        return "date"
    if _is_categorical(column):
        return "category"
    some = values if values.dtype.kind == "O" else values[:1]
    return "number" if all(_is_number(value) or _is_missing(value) for value in some) else "category"


def as_array(column: Any) -> NDArray[Any]:
    """Return a column as an array: of dates, of numbers with NaN where one is missing, or of objects."""
    if hasattr(column, "iloc"):
        return _of_pandas(column)
    if _is_categorical(column):  # of Arrow, whose own conversion to an array forgets what is missing
        return _objects(column.to_pylist())
    return _of_polars(column) if hasattr(column, "to_list") else np.asarray(column)


def missing(values: NDArray[Any]) -> BoolArray:
    """Return which values of an array are missing: NaN, NaT, None or what pandas has for them."""
    if values.dtype.kind in "fM":
        return np.asarray(np.isnan(values))
    if values.dtype.kind != "O":
        return np.zeros(values.shape, dtype=bool)
    try:
        return np.asarray(np.equal(values, _NONE) | np.not_equal(values, values))
    except (TypeError, ValueError):  # pandas' NA is neither equal nor unequal, an array is both
        return np.fromiter(map(_is_missing, values), dtype=bool, count=len(values))


class ColumnReader(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Read columns of any container as numbers, dates, categories or texts.

    Parameters
    ----------
    kind : {"number", "date", "category", "text"}
        "number" and "date" give float64 with NaN where a value is missing, dates as days since 1970; "category" gives
        objects with None where one is missing; "text", of one column, a list of strings, empty where one is missing.
    names : sequence of str
        What messages call the columns.
    """

    def __init__(self, kind: str, names: Sequence[str]) -> None:
        self.kind = kind
        self.names = names

    def fit(self, X: MatrixLike, y: object = None) -> Self:
        """Refuse columns without any value."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: MatrixLike, y: object = None) -> Any:
        """Read training rows."""
        validate_data(self, X, skip_check_array=True)
        read = self.transform(X)
        for name, column in zip(self.names, () if self.kind == "text" else read.T, strict=False):
            if (np.equal(column, _NONE) if self.kind == "category" else np.isnan(column)).all():
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
                raise ValueError(f"X must hold {_EXPECTED[self.kind]} in column {name}: {error}") from error
        return columns[0].tolist() if self.kind == "text" else np.column_stack(columns)


def _of_pandas(column: Any) -> NDArray[Any]:
    kind = "O" if _is_categorical(column) else column.dtype.kind
    if kind in "iuf":
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind == "M":
        return np.asarray(column.to_numpy(dtype="datetime64[us]"))
    return np.where(column.isna(), _NONE, column.to_numpy(dtype=object))


def _of_polars(column: Any) -> NDArray[Any]:
    if column.dtype.is_temporal():  # by way of numbers: polars 1.0 crashes on its way to an array of dates
        return np.asarray(column.dt.timestamp("us").to_numpy().astype("datetime64[us]"))
    return np.asarray(column) if column.dtype.is_numeric() else _objects(column.to_list())


def _is_categorical(column: Any) -> bool:
    return str(getattr(column, "dtype", getattr(column, "type", ""))).startswith(("category", "dictionary"))


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real | Decimal) and not isinstance(value, bool | np.bool_)


def _is_missing(value: object) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, numbers.Real | Decimal | np.datetime64) and bool(value != value)


def _objects(values: list[Any]) -> NDArray[Any]:
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects


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
    if values.dtype.kind not in "MUO" or any(map(_is_number, values[~missing(values)][:1])):
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
