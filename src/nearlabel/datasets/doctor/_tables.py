"""X of any container as one matrix of float64, with the names of its columns; columns that are no numbers apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.utils.types import FloatArray, Matrix, MatrixLike

_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_SAMPLED_VALUES = 1000


class Table(NamedTuple):
    """A dense or canonical CSR matrix of float64 and the names of its columns; the names of other columns, by kind."""

    X: Matrix
    names: tuple[str, ...]
    dates: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


def table_of(X: MatrixLike, names: Sequence[str] | None, *, what: str = "X") -> Table:
    """Return X as a table; `names` None are those of a data frame, else the numbers of the columns.

    Raises
    ------
    ValueError
        If X is not two-dimensional or has no row or column, or `names` are not one for each column.
    """
    if sparse.issparse(X):
        matrix = _canonical(X)
        return Table(matrix, _checked(matrix.shape, names, what))
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        known = _checked(X.shape, list(map(str, X.columns)) if names is None else names, what)
        return _of_columns((X.iloc[:, number] for number in range(len(known))), known, X.shape[0])
    values = np.asarray(X)
    known = _checked(values.shape, names, what)
    if values.dtype.kind in "biuf":
        return Table(values.astype(np.float64, copy=False), known)
    return _of_columns(values.T, known, len(values))


def _canonical(X: Any) -> Matrix:
    rows = sparse.csr_array(X).astype(np.float64, copy=False)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _checked(shape: tuple[int, ...], names: Sequence[str] | None, what: str) -> tuple[str, ...]:
    if len(shape) != 2 or 0 in shape:
        raise ValueError(
            f"{what} must be of shape (n_samples, n_features), with a row and a column, got shape {shape}."
        )
    names = list(map(str, range(shape[1]))) if names is None else names
    if len(names) != shape[1]:
        raise ValueError(f"feature_names must be {shape[1]} names, one for each column of {what}, got {len(names)}.")
    return tuple(map(str, names))


def _of_columns(columns: Iterable[Any], names: Sequence[str], n_rows: int) -> Table:
    values: list[FloatArray] = []
    of_values: list[str] = []
    others: dict[str, list[str]] = {"dates": [], "identifiers": [], "texts": []}
    for column, name in zip(columns, names, strict=True):
        numbers = _as_numbers(column)
        if numbers is None:
            others[_kind_of(np.asarray(column, dtype=object))].append(name)
        else:
            values.append(numbers)
            of_values.append(name)
    X = np.column_stack(values) if values else np.empty((n_rows, 0))
    return Table(X, tuple(of_values), **{kind: tuple(found) for kind, found in others.items()})


def _as_numbers(column: Any) -> FloatArray | None:
    """Return numbers, with NaN where they are missing, or None where some value is none."""
    if column.dtype.kind not in "biufO":
        return None
    try:
        if hasattr(column, "to_numpy"):
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _kind_of(values: NDArray[Any]) -> str:
    texts = [str(value) for value in values if value is not None and value == value]  # NaN and NaT equal nothing
    if texts and all(_DATE.match(text) for text in texts[:_SAMPLED_VALUES]):
        return "dates"
    return "identifiers" if len(values) > 1 and len(set(texts)) == len(values) else "texts"
