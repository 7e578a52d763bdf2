"""The columns of arrays, pandas and polars data frames, and Arrow tables.

None of these libraries is imported: containers are recognised by their methods.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.utils.types import BoolArray, Matrix, MatrixLike

NONE = np.array(None)
_MOST_FILLED = 0.25  # maximum share of nonzero values in word counts or flags


def is_frame(X: MatrixLike) -> bool:
    """Return whether X is a data frame of pandas or polars, or an Arrow table."""
    return any(hasattr(X, name) for name in ("iloc", "get_columns", "column_names"))


def are_words(X: Matrix) -> bool:
    """Return whether X, an array or CSR, looks like word counts or flags: no negative values, and most are 0."""
    if X.min() < 0:
        return False
    n_filled = X.count_nonzero() if sparse.issparse(X) else np.count_nonzero(X)
    return bool(n_filled <= _MOST_FILLED * X.shape[0] * X.shape[1])


def columns_of(X: MatrixLike) -> list[Any]:
    """Return the columns of a data frame, a table or a two-dimensional array, unconverted."""
    if hasattr(X, "iloc"):
        return [X.iloc[:, place] for place in range(X.shape[1])]
    if hasattr(X, "get_columns"):
        return list(X.get_columns())
    return list(X.columns) if hasattr(X, "column_names") else list(np.asarray(X).T)


def kind_of(column: Any) -> str:
    """Return "number", "category" or "date", by the type of a column or, in an object array, by its values."""
    values = as_array(column)
    if values.dtype.kind == "M":
        return "date"
    if is_categorical(column):
        return "category"
    some = values if values.dtype.kind == "O" else values[:1]
    return "number" if all(is_number(value) or is_missing(value) for value in some) else "category"


def as_array(column: Any) -> NDArray[Any]:
    """Return a column as an array of dates, of numbers with NaN for missing values, or of objects."""
    if hasattr(column, "iloc"):
        return _of_pandas(column)
    if is_categorical(column):  # Arrow: its own conversion to an array loses missing values
        return objects_of(column.to_pylist())
    return _of_polars(column) if hasattr(column, "to_list") else np.asarray(column)


def check_exact(X: Any, rows: Matrix) -> None:
    """Raise ValueError if X, or the array or CSR that was made of it, has an integer that float64 would round.

    Distances are computed in float64, in which two ids may be one number.
    """
    parts = columns_of(X) if is_frame(X) else [rows.data if sparse.issparse(rows) else rows]
    for part in parts:  # of a frame before they are one array, perhaps of float64
        kind = str(getattr(part, "dtype", getattr(part, "type", ""))).lower()
        if kind in ("int64", "uint64"):
            drop = next((name for name in ("dropna", "drop_nulls", "drop_null") if hasattr(part, name)), None)
            values = np.asarray(part if drop is None else getattr(part, drop)(), dtype=kind)
            if (found := rounded_integer(values)) is not None:
                raise ValueError(
                    f"X must contain numbers that float64 can store, got the integer {found}."
                    " Hint: leave out columns of ids; subtract the smallest value from a column of times."
                )


def rounded_integer(values: NDArray[Any]) -> int | None:
    """Return the first integer of an array that float64 would round to another one; None if there is none."""
    if values.dtype.kind not in "iu" or not values.size or max(int(values.max()), -int(values.min())) <= 2**53:
        return None
    rounded = values.astype(np.float64)
    is_beyond = rounded >= float(np.iinfo(values.dtype).max)  # rounded to a power of 2 that the type does not have
    is_other = is_beyond | (np.where(is_beyond, 0, rounded).astype(values.dtype) != values)
    return int(values[is_other].flat[0]) if is_other.any() else None


def missing(values: NDArray[Any]) -> BoolArray:
    """Return which values of an array are missing: NaN, NaT, None or pandas' NA."""
    if values.dtype.kind in "fM":
        return np.asarray(np.isnan(values))
    if values.dtype.kind != "O":
        return np.zeros(values.shape, dtype=bool)
    try:
        return np.asarray(np.equal(values, NONE) | np.not_equal(values, values))
    except (TypeError, ValueError):  # a comparison of pandas' NA, or of an array, has no truth value
        return np.fromiter(map(is_missing, values), dtype=bool, count=len(values))


def _of_pandas(column: Any) -> NDArray[Any]:
    kind = "O" if is_categorical(column) else column.dtype.kind
    if kind in "iuf":
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind == "M":
        return np.asarray(column.to_numpy(dtype="datetime64[us]"))
    return np.where(column.isna(), NONE, column.to_numpy(dtype=object))


def _of_polars(column: Any) -> NDArray[Any]:
    if column.dtype.is_temporal():  # via numbers: polars 1.0 crashes when it converts to an array of dates
        return np.asarray(column.dt.timestamp("us").to_numpy().astype("datetime64[us]"))
    return np.asarray(column) if column.dtype.is_numeric() else objects_of(column.to_list())


def is_categorical(column: Any) -> bool:
    """Return whether a column has a categorical type."""
    return str(getattr(column, "dtype", getattr(column, "type", ""))).startswith(("category", "dictionary"))


def is_number(value: object) -> bool:
    """Return whether a value is a real number, but not a boolean."""
    return isinstance(value, numbers.Real | Decimal) and not isinstance(value, bool | np.bool_)


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, numbers.Real | Decimal | np.datetime64) and bool(value != value)


def objects_of(values: Sequence[Any]) -> NDArray[Any]:
    """Return values as an array of objects, lists among them too."""
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects


def without_sparse_frame(y: MatrixLike) -> MatrixLike:
    """Return a CSR array for a pandas data frame with only sparse columns; return anything else unchanged."""
    y = with_stored_zeros(y)
    return sparse.csr_array(y.sparse.to_coo()) if is_sparse_frame(y) else y


def with_stored_zeros(y: MatrixLike) -> MatrixLike:
    """Return a dense data frame for one whose sparse columns leave out another value than 0, such as NaN."""
    leaves_out_others = is_sparse_frame(y) and any(dtype.fill_value != 0 for dtype in y.dtypes)
    return y.sparse.to_dense() if leaves_out_others else y


def is_sparse_frame(y: MatrixLike) -> bool:
    """Return whether y is a pandas data frame with only sparse columns."""
    # Not hasattr(y, "sparse"): that may be a column name.
    types = y.dtypes if hasattr(y, "iloc") and y.ndim == 2 else ()
    return len(types) > 0 and all(type(dtype).__name__ == "SparseDtype" for dtype in types)
