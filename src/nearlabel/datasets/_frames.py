"""The matrices of a data set as data frames of pandas, with the names of the columns, and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.utils.optional import import_optional
from nearlabel.utils.types import Matrix
from nearlabel.utils.validation import check_flag, is_sparse_frame, without_sparse_frame

_NONE = np.array(None)
_MOST_COLUMNS = 1_000_000  # each is an object of pandas


def check_as_frame(as_frame: object) -> None:
    """Raise unless `as_frame` is a flag and pandas is installed if needed: before a file is read."""
    check_flag("as_frame", as_frame)
    if as_frame:
        _pandas()


def is_frame(matrix: Any) -> bool:
    """Return whether a matrix of a data set is a data frame."""
    return hasattr(matrix, "iloc")


def frame_of_features(X: Any, names: Sequence[str], kinds: Sequence[str]) -> Any:
    """Return features as a data frame: cells and codes of categories as pandas' categories, dates as its dates."""
    if is_frame(X):
        return X
    if sparse.issparse(X) or (X.dtype.kind != "O" and "code" not in kinds):
        return _frame_of(X, names, "feature_names")
    _check_distinct(names, "feature_names")
    read = _cells_of if X.dtype.kind == "O" else _numbers_of
    return _pandas().DataFrame({name: read(*pair) for name, *pair in zip(names, X.T, kinds, strict=True)})


def frame_of_labels(Y: Any, names: Sequence[str]) -> Any:
    """Return an indicator matrix as a data frame."""
    return Y if is_frame(Y) else _frame_of(Y, names, "label_names")


def features_of_frame(frame: Any, kinds: Sequence[str]) -> Matrix:
    """Return the features behind `frame_of_features`; an array is unchanged."""
    if not is_frame(frame) or is_sparse_frame(frame):
        return without_sparse_frame(frame)
    if all(dtype == np.float64 for dtype in frame.dtypes):
        return frame.to_numpy()
    return np.column_stack([_values_of(frame.iloc[:, place], kind) for place, kind in enumerate(kinds)])


def labels_of_frame(frame: Any) -> Matrix:
    """Return the labels behind `frame_of_labels`; an array is unchanged. Missing values of pandas become NaN."""
    matrix = without_sparse_frame(frame)
    if not is_frame(matrix):
        return matrix
    values: Matrix = matrix.to_numpy()
    return values if values.dtype.kind != "O" else matrix.to_numpy(dtype=np.float64, na_value=np.nan)


def _frame_of(matrix: Matrix, names: Sequence[str], what: str) -> Any:
    """Return a frame of columns of one type; a dense one shares the memory of the matrix."""
    _check_distinct(names, what)
    if sparse.issparse(matrix):
        return _pandas().DataFrame.sparse.from_spmatrix(matrix, columns=list(names))
    return _pandas().DataFrame(matrix, columns=list(names), copy=False)


def _check_distinct(names: Sequence[str], what: str) -> None:
    if len(names) > _MOST_COLUMNS:
        problem = f"{what} of data frames must be at most {_MOST_COLUMNS}, got {len(names)}."
        raise ValueError(f"{problem} Hint: as_frame=False.")
    if len(set(names)) < len(names):
        name, _ = Counter(names).most_common(1)[0]
        raise ValueError(f"{what} must be distinct in a data frame, got {name!r} twice. Hint: as_frame=False.")


def _cells_of(cells: NDArray[Any], kind: str) -> Any:
    """Return a column of an array of objects by its kind."""
    if kind == "category":
        return _pandas().Categorical(cells)
    if kind == "date":
        return np.where(np.equal(cells, cells), cells, _NONE).astype("datetime64[us]")
    return cells if kind == "text" else _numbers_of(cells.astype(np.float64), kind)


def _numbers_of(values: NDArray[Any], kind: str) -> Any:
    """Return a column of numbers; codes become categories, a category in other numbers is a coordinate."""
    if kind != "code":
        return values
    codes = np.where(np.isnan(values), -1, values).astype(np.intp)
    return _pandas().Categorical.from_codes(codes, categories=np.arange(codes.max(initial=-1) + 1))


def _values_of(column: Any, kind: str) -> NDArray[Any]:
    """Return a column of a frame as numbers or, if some of its cells are none, as objects."""
    if kind in ("text", "date") or (kind == "category" and column.dtype.kind == "O"):
        missing = np.array(np.nan, dtype=object) if kind == "date" else _NONE
        return np.where(column.isna(), missing, column.astype(object))
    values: NDArray[Any] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return values


def _pandas() -> ModuleType:
    return import_optional("pandas", extra="frames", purpose="as_frame=True")
