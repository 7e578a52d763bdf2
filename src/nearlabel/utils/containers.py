"""The columns of arrays, of data frames of pandas and polars and of Arrow tables.

None of these libraries is imported: a container is known by its methods.
"""

from __future__ import annotations

import numbers
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.utils.types import BoolArray, Matrix, MatrixLike

NONE = np.array(None)
_MOST_FILLED = 0.25  # of the values of words and flags


def is_frame(X: MatrixLike) -> bool:
    """Return whether X is a data frame of pandas or polars, or an Arrow table."""
    return any(hasattr(X, name) for name in ("iloc", "get_columns", "column_names"))


def are_words(X: Matrix) -> bool:
    """Return whether X, an array or CSR, looks like counts of words or flags: no value below 0, and most are 0."""
    if X.min() < 0:
        return False
    n_filled = X.count_nonzero() if sparse.issparse(X) else np.count_nonzero(X)
    return bool(n_filled <= _MOST_FILLED * X.shape[0] * X.shape[1])


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
    if is_categorical(column):
        return "category"
    some = values if values.dtype.kind == "O" else values[:1]
    return "number" if all(is_number(value) or is_missing(value) for value in some) else "category"


def as_array(column: Any) -> NDArray[Any]:
    """Return a column as an array: of dates, of numbers with NaN where one is missing, or of objects."""
    if hasattr(column, "iloc"):
        return _of_pandas(column)
    if is_categorical(column):  # of Arrow, whose own conversion to an array forgets what is missing
        return _objects(column.to_pylist())
    return _of_polars(column) if hasattr(column, "to_list") else np.asarray(column)


def missing(values: NDArray[Any]) -> BoolArray:
    """Return which values of an array are missing: NaN, NaT, None or what pandas has for them."""
    if values.dtype.kind in "fM":
        return np.asarray(np.isnan(values))
    if values.dtype.kind != "O":
        return np.zeros(values.shape, dtype=bool)
    try:
        return np.asarray(np.equal(values, NONE) | np.not_equal(values, values))
    except (TypeError, ValueError):  # pandas' NA is neither equal nor unequal, an array is both
        return np.fromiter(map(is_missing, values), dtype=bool, count=len(values))


def _of_pandas(column: Any) -> NDArray[Any]:
    kind = "O" if is_categorical(column) else column.dtype.kind
    if kind in "iuf":
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind == "M":
        return np.asarray(column.to_numpy(dtype="datetime64[us]"))
    return np.where(column.isna(), NONE, column.to_numpy(dtype=object))


def _of_polars(column: Any) -> NDArray[Any]:
    if column.dtype.is_temporal():  # by way of numbers: polars 1.0 crashes on its way to an array of dates
        return np.asarray(column.dt.timestamp("us").to_numpy().astype("datetime64[us]"))
    return np.asarray(column) if column.dtype.is_numeric() else _objects(column.to_list())


def is_categorical(column: Any) -> bool:
    """Return whether a column is of a type for categories."""
    return str(getattr(column, "dtype", getattr(column, "type", ""))).startswith(("category", "dictionary"))


def is_number(value: object) -> bool:
    """Return whether a value is a real number and no boolean."""
    return isinstance(value, numbers.Real | Decimal) and not isinstance(value, bool | np.bool_)


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN, NaT or what pandas has for a missing one."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, numbers.Real | Decimal | np.datetime64) and bool(value != value)


def _objects(values: list[Any]) -> NDArray[Any]:
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects
