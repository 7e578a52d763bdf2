"""Columns of arrays, of frames of pandas, polars and narwhals, and of Arrow tables; names that disagree.

None of these libraries is imported: containers are recognised by their methods.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.utils.messages import AdviceWarning
from nearlabel.utils.stored import checked_places
from nearlabel.utils.types import BoolArray, Matrix, MatrixLike

NONE = np.array(None)
_MOST_FILLED = 0.25  # maximum share of nonzero values in word counts or flags


def is_frame(X: MatrixLike) -> bool:
    """Return whether X is a data frame of pandas, polars or narwhals, or an Arrow table."""
    return any(hasattr(X, name) for name in ("iloc", "iter_columns", "column_names"))


def are_words(X: Matrix) -> bool:
    """Return whether X, an array or CSR, looks like word counts or flags: no negative values, and most are 0."""
    if X.min() < 0:
        return False
    n_filled = X.count_nonzero() if sparse.issparse(X) else np.count_nonzero(X)
    return bool(n_filled <= _MOST_FILLED * X.shape[0] * X.shape[1])


def columns_of(X: MatrixLike) -> list[Any]:
    """Return the columns of a data frame, a table or a two-dimensional array, unconverted."""
    if hasattr(X, "iloc"):
        return [column for _, column in X.items()]
    if hasattr(X, "iter_columns"):
        return list(X.iter_columns())
    return list(X.columns) if hasattr(X, "column_names") else list(np.asarray(without_mask(X)).T)


def named_columns(name: str, given: Any, n_rows: int | None, of: str = "training samples") -> dict[Any, Sequence[Any]]:
    """Return columns that name rows, by their names: of a data frame or table, or of a mapping to sequences.

    A column is to be indexed by place; a Series of pandas itself would look numbers up in its index.

    Parameters
    ----------
    name : str
        Name in messages.
    given : data frame, table or mapping
        What the user passed.
    n_rows : int or None
        Length of each column; None: that of the first.
    of : str
        The rows in messages.

    Raises
    ------
    TypeError
        If it is neither, or a column is no sequence of single values.
    ValueError
        If a column has another length, or a frame two columns of one name.
    """
    if is_frame(given) and getattr(given, "ndim", 2) == 2:
        names = list(getattr(given, "column_names", given.columns))
        columns = dict(zip(names, columns_of(given), strict=True))
        if len(columns) < len(names):
            raise ValueError(f"{name} must have columns of distinct names, got {names}.")
    elif isinstance(given, Mapping):
        columns = dict(given)
    else:
        hint = f'Hint: {{"title": {name}}}.'
        raise TypeError(f"{name} must map names of columns to their values, got {type(given).__name__}. {hint}")
    by_place = {column: _by_place(name, column, values) for column, values in columns.items()}
    for column, values in by_place.items():
        n_rows = len(values) if n_rows is None else n_rows
        if len(values) != n_rows:
            raise ValueError(f"{name} must have a value for each of {n_rows} {of}, got {len(values)} of {column!r}.")
    return by_place


def _by_place(name: str, column: Any, values: Any) -> Sequence[Any]:
    """Return a sequence of single values that is indexed by place."""
    is_sequence = hasattr(values, "__getitem__") and hasattr(values, "__len__")
    if not is_sequence or isinstance(values, str | bytes | Mapping) or getattr(values, "ndim", 1) != 1:
        raise TypeError(f"{name} must map {column!r} to a sequence of texts or numbers, got {values!r}.")
    if hasattr(values, "to_pylist"):  # of pyarrow, whose elements are no Python objects
        values = values.to_pylist()
    of_places: Sequence[Any] = values.array if hasattr(values, "iloc") else values
    return of_places


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


def check_exact(name: str, X: Any) -> None:
    """Raise ValueError if rows, or a column of a data frame, have an integer that float64 would round.

    Distances are computed in float64, in which two ids may be one number. A list counts if its first number is an
    integer.
    """
    if isinstance(X, list | tuple):
        X = _integers_of(X)
    for part in [X.data] if sparse.issparse(X) else _columns_or_one(X):
        kind = str(getattr(part, "dtype", getattr(part, "type", ""))).lower()
        if kind in ("int64", "uint64", "object"):
            drop = next((name for name in ("dropna", "drop_nulls", "drop_null") if hasattr(part, name)), None)
            values = np.asarray(part if drop is None else getattr(part, drop)(), dtype=kind)
            if (found := rounded_integer(values)) is not None:
                raise ValueError(
                    f"{name} must contain numbers that float64 can store, got the integer {found}."
                    " Hint: leave out columns of ids; subtract the smallest value from a column of times."
                )


def _integers_of(rows: Sequence[Any]) -> Any:
    """Return nested rows as an array if their first number is an integer, else None."""
    first = rows
    while isinstance(first, list | tuple) and first:
        first = first[0]
    try:
        return np.asarray(rows) if isinstance(first, numbers.Integral) else None
    except ValueError:  # rows of unequal length
        return None


def rounded_integer(values: NDArray[Any]) -> int | None:
    """Return the first integer of an array that float64 would round to another one; None if there is none."""
    if values.dtype.kind == "O":
        large = (value for value in values.flat if type(value) is int and abs(value) > 2**53)
        return next((value for value in large if abs(value) >= 2**1023 or float(value) != value), None)
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


def date_of(text: str) -> datetime | float:
    """Return a date or time in ISO 8601; one with a time zone is moved to UTC; NaN for no text."""
    if not text.strip():
        return np.nan
    time = datetime.fromisoformat(text.strip())
    return time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)


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


def checked_container(name: str, values: Any) -> Any:
    """Return what a user passed, such that neither numpy nor scipy loses or believes anything in silence.

    A masked array has NaN or None where it hides a value, and the places that a sparse container stores are checked.
    Nothing else may touch a user's container before.

    Raises
    ------
    ValueError
        If a sparse container is invalid, or there is one among the elements of a list, an array or a frame; the
        message has the name of the argument.
    """
    if sparse.issparse(values):
        return checked_places(name, values)
    values = of_numpy(name, values)
    refuse_sparse_rows(name, values)
    return without_mask(values)


def of_numpy(name: str, values: Any) -> Any:
    """Return an array of another library, such as a torch tensor, as one of numpy, without a copy if possible.

    Anything else is unchanged.

    Raises
    ------
    TypeError
        If numpy cannot read it, for instance because it is in the memory of a GPU; the message has the argument's name.
    """
    is_other_array = hasattr(values, "__dlpack__") and not hasattr(values, "to_pylist")  # Arrow has missing values
    if not is_other_array or isinstance(values, np.ndarray | np.generic):
        return values
    try:
        return np.asarray(values)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise TypeError(
            f"{name} must be an array that numpy can read, got a {type(values).__name__}: {error} Hint: for torch,"
            f" {name}.detach().cpu() is a tensor in memory without gradients, and .float() of a type that numpy has."
        ) from error


def require_dense(name: str, values: Any) -> None:
    """Raise TypeError if an array-like is a sparse container, or has one among its elements."""
    if sparse.issparse(values):
        raise TypeError(f"{name} must be a dense array, got {type(values).__name__}. Hint: {name}.toarray().")
    if (kind := _sparse_element(values)) is not None:
        raise TypeError(
            f"{name} must be a dense array, got a {type(values).__name__} in which there is a {kind.__name__}."
        )


def refuse_sparse_rows(name: str, values: Any) -> None:
    """Raise ValueError if an element of a list, an array or a frame is a sparse container.

    numpy makes an object of it, which it compares by scipy's code, which believes its places.
    """
    if (kind := _sparse_element(values)) is not None:
        raise ValueError(
            f"{name} must be one array or one sparse container, got a {type(values).__name__} in which there is a"
            f" {kind.__name__}. Hint: scipy.sparse.vstack({name}) joins sparse rows."
        )


def _sparse_element(values: Any) -> type | None:
    """Return the type of a sparse container among elements, at any depth; None if there is none."""
    if isinstance(values, np.ndarray) and values.dtype.kind != "O":
        return None
    if not isinstance(values, list | tuple):
        objects = [part for part in _columns_or_one(values) if str(getattr(part, "dtype", "")).lower() == "object"]
        return next(filter(None, map(_sparse_element, (np.asarray(part).ravel().tolist() for part in objects))), None)
    kinds = set(map(type, values))
    for kind in kinds:
        if issubclass(kind, sparse.sparray | sparse.spmatrix):
            return kind
    deeper = any(issubclass(kind, list | tuple | np.ndarray) or hasattr(kind, "iloc") for kind in kinds)
    return next(filter(None, map(_sparse_element, values)), None) if deeper else None


def _columns_or_one(values: Any) -> list[Any]:
    return columns_of(values) if is_frame(values) and getattr(values, "ndim", 2) == 2 else [values]


def checked_samples(name: str, X: Any) -> Any:
    """Return samples as `checked_container` does; raise ValueError for an integer that float64 would round, too."""
    X = checked_container(name, X)
    check_exact(name, X)
    return X


def without_mask(values: Any) -> Any:
    """Return a masked array with NaN, or None for texts and objects, in place of hidden values; others unchanged.

    numpy drops the mask when it converts such an array, so that hidden values would count.
    """
    if isinstance(values, list | tuple) and any(map(np.ma.isMaskedArray, values)):
        values = np.ma.array(values)
    if not np.ma.isMaskedArray(values):
        return values
    if not np.ma.is_masked(values):
        return values.data
    if values.dtype.kind in "biu":
        values = values.astype(np.float64)
    if values.dtype.kind == "f":
        return values.filled(np.nan)
    return np.where(np.ma.getmaskarray(values), NONE, values.data.astype(object))


# Frames that disagree: samples are matched by place, as everywhere in scikit-learn, and columns of labels by name.


def check_row_names(**frames: Any) -> None:
    """Warn if two pandas objects of one length have different indexes: their rows are matched by place.

    A default index and one of texts or dates do not disagree: rows with a default index have no names. A default index
    and other numbers do, because rows that were sorted, split or shuffled have such numbers.

    Parameters
    ----------
    **frames : object
        Containers by their names in the message; those other than pandas objects have no names of rows.
    """
    indexed = [(name, frame.index) for name, frame in frames.items() if _has_index(frame)]
    for name, index in indexed[1:]:
        of_first, first = indexed[0]
        if index is first or len(index) != len(first) or index.equals(first) or _names_nothing(first, index):
            continue
        row = _first_difference(first, index)
        in_first, in_other = first[row : row + 1].tolist(), index[row : row + 1].tolist()
        is_other_order = first.is_unique and index.is_unique and bool(index.isin(first).all())
        by_name = f" {name} = {name}.loc[{of_first}.index] matches them by name;" * is_other_order
        warnings.warn(
            f"{of_first} and {name} have different indexes, but their rows are matched by place: row {row}, counted"
            f" from 0, is {in_first[0]!r} in {of_first} and {in_other[0]!r} in {name}."
            f"{' Both have the same rows in another order.' * is_other_order} Hint:{by_name} if the places are right,"
            f" {name} = {name}.set_axis({of_first}.index) makes the indexes equal.",
            AdviceWarning,
            stacklevel=3,
        )


def _has_index(frame: Any) -> bool:
    return hasattr(frame, "iloc") and hasattr(getattr(frame, "index", None), "equals")


def _names_nothing(first: Any, second: Any) -> bool:
    """Return whether one index is the default and the other has no numbers."""
    pairs = (first, second), (second, first)
    return any(_is_default(one) and getattr(other.dtype, "kind", "O") not in "iuf" for one, other in pairs)


def _is_default(index: Any) -> bool:
    """Return whether an index of pandas is the default, 0, 1, 2 and so on, of rows or columns without names."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def _first_difference(first: Any, second: Any) -> int:
    """Return the first place where two different indexes differ; missing names are equal."""
    low, high = 0, len(first)  # they differ in [low, high), and nowhere before
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if first[low:middle].equals(second[low:middle]) else (low, middle)
    return low


def matched(frame: Any, other: Any, name: str, *, of: str = "y_true") -> Any:
    """Return another data frame with its columns in the order of the first; unchanged unless both have names.

    Warns as `check_row_names`; raises ValueError if the columns have other names.
    """
    check_row_names(**{of: frame, name: other})
    return in_columns(_names_of_columns(frame), other, name, of)


def in_columns(names: Sequence[Any] | None, frame: Any, name: str, of: str) -> Any:
    """Return a data frame with its columns in the order of names, equal as texts; unchanged if one has no names.

    Raises
    ------
    ValueError
        If the columns have other names.
    """
    own, wanted = _names_of_columns(frame), None if names is None else list(map(str, names))
    if wanted is None or own is None or own == wanted:
        return frame
    if len(set(own)) < len(own) or set(own) != set(wanted):
        lacks = [f"no {one!r}" for one in wanted if one not in own]
        has_more = [f"{one!r} too" for one in own if one not in wanted]
        raise ValueError(
            f"{name} must have the columns of {of}, each once, got {[*lacks, *has_more, 'one twice'][0]}. Hint: rename"
            f" its columns, or pass {name}.to_numpy() to match them by place."
        )
    place_of = {column: place for place, column in enumerate(own)}
    places = [place_of[column] for column in wanted]
    if hasattr(frame, "iloc"):
        return frame.iloc[:, places]
    return frame.select([frame.columns[place] for place in places] if hasattr(frame, "iter_columns") else places)


def _names_of_columns(frame: Any) -> list[str] | None:
    """Return the names of columns as texts; None if there are none, or they are only numbered."""
    columns = getattr(frame, "column_names", getattr(frame, "columns", None)) if is_frame(frame) else None
    return None if columns is None or _is_default(columns) else list(map(str, columns))


def is_dask_array(X: object) -> bool:
    """Return whether X is a dask array, whose blocks may be on other machines."""
    return hasattr(X, "__dask_graph__")


def gathered(X: Any) -> Any:
    """Return a dask array as an array in memory; anything else unchanged."""
    return X.compute() if is_dask_array(X) else X
