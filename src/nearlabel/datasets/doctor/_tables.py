"""X of any container as one matrix of float64, with the names of its columns; columns that are no numbers apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.datasets._dataset import Dataset
from nearlabel.datasets._numeric_columns import are_few, have_words
from nearlabel.preprocessing import MixedFeaturesEncoder
from nearlabel.utils.containers import as_array, columns_of, is_categorical, is_frame, missing
from nearlabel.utils.types import BoolArray, FloatArray, Matrix, MatrixLike
from nearlabel.utils.validation import canonical

CATEGORY, TEXT, DATE, IDENTIFIER = "category", "text", "date", "identifier"
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_SAMPLED_VALUES = 1000
_CODE_BYTES = 6  # a float64 represents them exactly


class Other:
    """A column without numbers; `is_declared` is whether its kind was declared, rather than guessed."""

    def __init__(self, name: str, kind: str, values: NDArray[Any], *, is_declared: bool) -> None:
        self.name, self.kind, self.values, self.is_declared = name, kind, values, is_declared

    @property
    def is_compared(self) -> bool:
        """Whether rows are compared by it; identifiers, and dates that were not declared, should be left out."""
        return self.is_declared or self.kind in (CATEGORY, TEXT)

    @cached_property
    def lacking(self) -> BoolArray:
        """Which values are missing; for texts also those with blanks only."""
        return np.asarray(missing(self.values) | (self._texts == ""))

    @cached_property
    def n_distinct(self) -> int:
        """Number of distinct values."""
        return len(set(self._texts[~self.lacking].tolist()))

    @property
    def constant(self) -> bool:
        """Whether it has one value only."""
        return self.n_distinct == 1 and not self.lacking.any()

    @property
    def has_words(self) -> bool:
        """Whether most values are of several words."""
        return have_words(self._texts[~self.lacking].tolist())

    @cached_property
    def _texts(self) -> NDArray[Any]:
        texts = np.empty(len(self.values), dtype=object)
        texts[:] = [str(value).strip() for value in self.values]
        return texts

    @property
    def cells(self) -> NDArray[Any]:
        """The values for an encoder, None where one is missing: categories of several types are no error here."""
        return np.where(self.lacking, np.array(None), self.values if self.kind == DATE else self._texts)

    @property
    def codes(self) -> FloatArray:
        """A number above 0 for each value, equal for equal ones; NaN for a missing one."""
        known = {text: _code(text) for text in set(self._texts.tolist())}
        codes = np.array([known[text] for text in self._texts], dtype=np.float64)
        return np.where(self.lacking, np.nan, codes)


def _code(text: str) -> int:
    return 1 + int.from_bytes(blake2b(text.encode(), digest_size=_CODE_BYTES).digest(), "big")


class Table:
    """A dense or canonical CSR matrix of float64 and the names of its columns; other columns apart.

    `kinds` are those of all columns in their order; other rows of the same columns are read by them in the same way.
    """

    def __init__(
        self, X: Matrix, names: Sequence[str], others: Sequence[Other] = (), kinds: Sequence[str] | None = None
    ) -> None:
        self.X, self.names, self.others, self.kinds = X, tuple(names), tuple(others), kinds

    @property
    def n_columns(self) -> int:
        """Number of all columns."""
        return len(self.names) + len(self.others)

    @property
    def compared(self) -> list[Other]:
        """The columns by which rows are compared in addition to numbers."""
        return [other for other in self.others if other.is_compared]

    def keyed(self) -> Matrix:
        """Return a matrix whose rows are equal where rows are: numbers, and codes of other compared columns."""
        compared = self.compared
        return np.column_stack([self.X, *(other.codes for other in compared)]) if compared else self.X

    def cells(self) -> NDArray[Any]:
        """Return the columns that are compared, as an array of objects."""
        cells = np.empty((self.X.shape[0], len(self.names) + len(self.compared)), dtype=object)
        cells[:, : len(self.names)] = self.X
        for place, other in enumerate(self.compared, start=len(self.names)):
            cells[:, place] = other.cells
        return cells

    def encoder(self) -> MixedFeaturesEncoder:
        """Return the encoder of `cells`."""
        places: dict[str, list[int]] = {CATEGORY: [], TEXT: [], DATE: []}
        for place, other in enumerate(self.compared, start=len(self.names)):
            places[other.kind].append(place)
        names = [*self.names, *(other.name for other in self.compared)]
        return MixedFeaturesEncoder(
            categorical=places[CATEGORY], text=places[TEXT], dates=places[DATE], feature_names=names
        )


def table_of(
    X: MatrixLike | Dataset, names: Sequence[str] | None, kinds: Sequence[str] | None = None, *, what: str = "X"
) -> Table:
    """Return X as a table; `names` None are those of a Dataset or data frame, else the numbers of the columns.

    `kinds` are those of the columns of cells; None: those of a Dataset, else their probable kinds.

    Raises
    ------
    ValueError
        If X is not two-dimensional or has no row or column, `names` or `kinds` are not one for each column, or a column
        is not of its kind.
    """
    if isinstance(X, Dataset):
        data = X.with_arrays()
        X, names = data.X, data.feature_names if names is None else names
        kinds = data.feature_kinds if kinds is None else kinds
    if sparse.issparse(X):
        matrix = canonical(sparse.csr_array(X).astype(np.float64, copy=False))
        return Table(matrix, _checked(matrix.shape, names, what))
    if not is_frame(X):
        X = np.asarray(X)
        known = _checked(X.shape, names, what)
        if X.dtype.kind in "biuf":
            return Table(X.astype(np.float64, copy=False), known)
    else:
        known = _checked(X.shape, _names_of_frame(X) if names is None else names, what)
    if kinds is not None and len(kinds) != len(known):
        raise ValueError(f"feature_kinds must be {len(known)} kinds, one for each column of {what}, got {len(kinds)}.")
    return _of_columns(columns_of(X), known, kinds, X.shape[0], what)


def _names_of_frame(X: Any) -> list[str]:
    return [str(name) for name in getattr(X, "column_names", getattr(X, "columns", ()))]


def _checked(shape: tuple[int, ...], names: Sequence[str] | None, what: str) -> tuple[str, ...]:
    if len(shape) != 2 or 0 in shape:
        raise ValueError(
            f"{what} must be of shape (n_samples, n_features), with a row and a column, got shape {shape}."
        )
    names = list(map(str, range(shape[1]))) if names is None else names
    if len(names) != shape[1]:
        raise ValueError(f"feature_names must be {shape[1]} names, one for each column of {what}, got {len(names)}.")
    return tuple(map(str, names))


def _of_columns(
    columns: Iterable[Any], names: Sequence[str], kinds: Sequence[str] | None, n_rows: int, what: str
) -> Table:
    values: list[FloatArray] = []
    of_values: list[str] = []
    others: list[Other] = []
    found: list[str] = []
    for place, (column, name) in enumerate(zip(columns, names, strict=True)):
        kind = None if kinds is None else kinds[place]
        numbers = _as_numbers(column) if kind in (None, "number", "flag", "code") else None
        if numbers is not None:
            values.append(numbers)
            of_values.append(name)
        elif kind in ("number", "flag", "code"):
            raise ValueError(
                f"{what} must contain numbers in column {name!r}, as feature_kinds declares, got other values."
            )
        else:
            others.append(_other(column, name, kind))
        found.append("number" if numbers is not None else others[-1].kind)
    X = np.column_stack(values) if values else np.empty((n_rows, 0))
    return Table(X, of_values, others, found)


def _other(column: Any, name: str, kind: str | None) -> Other:
    values = as_array(column).astype(object)
    seeming = Other(name, CATEGORY, values, is_declared=False)
    if kind is not None:
        return Other(name, kind, values, is_declared=kind != IDENTIFIER)
    seeming.kind = CATEGORY if is_categorical(column) else _kind_of(seeming)
    return seeming


def _as_numbers(column: Any) -> FloatArray | None:
    """Return numbers, with NaN where they are missing, or None where some value is none."""
    values = as_array(column)
    if values.dtype.kind not in "biufO" or is_categorical(column):
        return None
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        return None


def _kind_of(other: Other) -> str:
    """Return the probable kind of a column: dates, identifiers, categories or texts."""
    texts = [str(value) for value in other.values[~other.lacking]]
    if texts and all(_DATE.match(text) for text in texts[:_SAMPLED_VALUES]):
        return DATE
    if 1 < other.n_distinct == len(other.values) and not other.has_words:
        return IDENTIFIER
    return CATEGORY if are_few(other.n_distinct, len(texts)) else TEXT
