"""Attributes of ARFF as columns of numbers; nominal ones are compared by overlap: equal or not.

A category is a direction of its own of squared length 1/2, so that two different ones are at the squared distance 1/2 +
1/2. It has two columns with 1/2 each, as in `nearlabel.preprocessing`: then equal distances are equal to the last bit.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse

from nearlabel.datasets._arff_header import Attribute
from nearlabel.datasets._arff_parts import SparseCells
from nearlabel.datasets._numeric_columns import Cells, missing_features
from nearlabel.datasets._table_file import check_filled, did_you_mean
from nearlabel.utils.types import CSR, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import check_choice

Nominal = Literal["overlap", "codes"]
_Cells: TypeAlias = tuple[IntArray, IntArray, FloatArray]  # their rows, columns and values, each (n_cells,)

_NOMINAL = ("overlap", "codes")
AGAIN = " (again)"  # ends the name of the second column of a value
_TRUE = frozenset({"1", "1.0", "yes", "y", "true", "t"})
_FALSE = frozenset({"0", "0.0", "-1", "no", "n", "false", "f"})
_SPARSE_BELOW = 0.01  # share of stored cells in dense rows with many categories: an identifier must not fill the memory


class CodedColumns:
    """The columns that encode some attributes.

    Parameters
    ----------
    attributes : sequence of Attribute
        The features, in the order of the file.
    nominal : {"overlap", "codes"}
        Whether an attribute becomes one column, with the position of its value, or, unless its values mean yes and no,
        two columns for each declared value.
    """

    def __init__(self, attributes: Sequence[Attribute], nominal: Nominal) -> None:
        check_choice("nominal", nominal, _NOMINAL)
        kinds = [_kind(attribute, nominal) for attribute in attributes]
        parts = [_column_names(attribute, kind) for attribute, kind in zip(attributes, kinds, strict=True)]
        widths: IntArray = np.array([len(part) for part in parts], dtype=np.intp)
        self._widths = widths
        self._starts: IntArray = np.cumsum(widths) - widths
        self.names = tuple(name for part in parts for name in part)
        self.kinds = tuple(np.repeat(np.array(kinds, dtype=object), widths).tolist())
        is_category = np.array([kind == "category" for kind in kinds], dtype=np.bool_)
        is_turned = [kind == "flag" and is_true(attribute) for attribute, kind in zip(attributes, kinds, strict=True)]
        self._categories: IntArray = np.flatnonzero(is_category)
        self._turned: IntArray = np.flatnonzero(is_turned)  # "yes" is declared first: its code is 0
        self._plain: IntArray = np.flatnonzero(~is_category)
        self._n_values: IntArray = widths[self._categories] // 2
        self._changed: IntArray = np.union1d(self._categories, self._turned)
        self.are_sparse = bool(self._categories.size) and len(attributes) * 2 < _SPARSE_BELOW * len(self.names)

    def dense(self, cells: FloatArray) -> FloatArray:
        """Return the columns for rows of codes (n_rows, n_attributes)."""
        if not self._changed.size:
            return cells
        plain = cells[:, self._plain]
        turned = np.searchsorted(self._plain, self._turned)
        plain[:, turned] = 1 - plain[:, turned]
        X = np.zeros((len(cells), len(self.names)))
        rows, columns, values = self._category_cells(cells[:, self._categories])
        X[:, self._starts[self._plain]] = plain
        X[rows, columns] = values
        return X

    def n_implied(self, cells: SparseCells) -> int:
        """Return about how many cells sparse rows become: also those left out, and several for a missing value."""
        missing = np.isnan(cells.values)
        return cells.n_rows * len(self._changed) + int(self._widths[cells.columns[missing]].sum())

    def sparse(self, cells: SparseCells) -> SparseCells:
        """Return the columns for sparse rows, where an attribute left out has its first value."""
        if not self._changed.size:
            return cells
        place = np.searchsorted(self._changed, cells.columns)
        special = self._changed[np.minimum(place, self._changed.size - 1)] == cells.columns
        codes = np.zeros((cells.n_rows, len(self._changed)))
        codes[cells.rows[special], place[special]] = cells.values[special]
        parts = [
            (cells.rows[~special], self._starts[cells.columns[~special]], cells.values[~special]),
            self._turned_cells(codes[:, np.searchsorted(self._changed, self._turned)]),
            self._category_cells(codes[:, np.searchsorted(self._changed, self._categories)]),
        ]
        rows, columns, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        order = np.lexsort((columns, rows))
        return SparseCells(cells.n_rows, rows[order], columns[order], values[order])

    def _turned_cells(self, codes: FloatArray) -> _Cells:
        values = 1 - codes
        rows, which = np.nonzero(values)
        return rows, self._starts[self._turned][which], values[rows, which]

    def _category_cells(self, codes: FloatArray) -> _Cells:
        """Return 1/2 in both columns of each value, NaN in all columns of each attribute that is missing."""
        starts, n_values = self._starts[self._categories], self._n_values
        rows, which = np.nonzero(~np.isnan(codes))
        first = starts[which] + codes[rows, which].astype(np.intp)
        lacking, of = np.nonzero(np.isnan(codes))
        widths = 2 * n_values[of]
        within = np.arange(widths.sum()) - np.repeat(np.cumsum(widths) - widths, widths)
        return (
            np.concatenate([rows, rows, np.repeat(lacking, widths)]),
            np.concatenate([first, first + n_values[which], np.repeat(starts[of], widths) + within]),
            np.repeat([0.5, np.nan], [2 * len(rows), len(within)]),
        )


class CodedRows:
    """A growing matrix of features: CSR if rows are sparse, or if nearly all columns are those of categories."""

    def __init__(self, path: Path, columns: CodedColumns, *, is_sparse: bool) -> None:
        self._path = path
        self._columns = columns
        self._n_written = self._n_implied = 0
        self._rows = SparseRows() if is_sparse or columns.are_sparse else DenseRows(len(columns.names))

    def append(self, cells: SparseCells | FloatArray) -> None:
        """Add rows of codes, with a cell for each attribute in the order of the columns."""
        if isinstance(self._rows, SparseRows):
            cells = cells if isinstance(cells, SparseCells) else _all_cells(cells)
            self._n_written += cells.n_rows + len(cells.values)
            self._n_implied += self._columns.n_implied(cells)
            check_filled(self._path, self._n_implied, self._n_written, "nominal='codes' has one column an attribute")
            self._rows.append(*self._columns.sparse(cells))
        elif not isinstance(cells, SparseCells):
            self._rows.append(self._columns.dense(cells))

    def matrix(self) -> Matrix:
        """Return all rows."""
        if isinstance(self._rows, SparseRows):
            return self._rows.matrix(len(self._columns.names))
        return self._rows.matrix()


class FeatureMatch:
    """Features of a model found by name among columns, where files may declare other values of a nominal attribute.

    A value that the model knows and the file does not declare is in no row: its columns are 0. A value that the model
    does not know has no coordinates, so a row with it raises an error.

    Parameters
    ----------
    names, kinds : sequence of str of length n_columns
        The columns.
    wanted : sequence of str of length n_features
        The features of the model.
    """

    def __init__(self, path: str | Path, names: Sequence[str], kinds: Sequence[str], wanted: Sequence[str]) -> None:
        self._path, self._names = path, names
        place = {name: column for column, name in enumerate(names)}
        categories = [column for column, kind in enumerate(kinds) if kind == "category"]
        of_attribute = {attribute_of(names[column]): column for column in categories}
        known = set(wanted)
        found = [place.get(name, of_attribute.get(attribute_of(name), -1)) for name in wanted]
        if missing := [name for name, column in zip(wanted, found, strict=True) if column < 0]:
            raise missing_features(Path(path), missing, did_you_mean(missing[0], names))
        if len(place) < len(names) and (twice := [name for name in known & set(place) if names.count(name) > 1]):
            raise ValueError(f"{path} must have one column for every feature, got several of the name {min(twice)!r}.")
        self._columns: IntArray = np.array(found, dtype=np.intp)
        self.kinds = tuple(kinds[column] for column in found)
        self._is_there: FloatArray = np.array([name in place for name in wanted], dtype=np.float64)
        attributes = {attribute_of(name) for name in wanted if "=" in name}
        others = [column for column in categories if names[column] not in known]
        unknown = [column for column in others if attribute_of(names[column]) in attributes]
        self._unknown: IntArray = np.array(unknown, dtype=np.intp)

    def take(self, X: Matrix) -> Matrix:
        """Return the features of rows; raise ValueError if one has a value that the model does not know."""
        self._check_known(X)
        if self._is_there.all() and np.array_equal(self._columns, np.arange(X.shape[1])):
            return X
        columns = X[:, self._columns]
        if self._is_there.all():
            return columns
        if not sparse.issparse(columns):
            return columns * self._is_there  # NaN stays: then the attribute is missing
        columns.data *= self._is_there[columns.indices]
        columns.eliminate_zeros()
        return columns

    def _check_known(self, X: Matrix) -> None:
        if not self._unknown.size:
            return
        of_columns = X[:, self._unknown]
        column = np.flatnonzero(np.asarray((of_columns > 0).sum(axis=0)).ravel())
        if column.size:
            name = self._names[self._unknown[column[0]]]
            raise ValueError(
                f"{self._path} must contain categories that the model knows, got {name!r}."
                " Hint: fit the model to data that have it, or write ? where the category is not known."
            )


def check_arff(path: Path, format_: str, nominal: Nominal) -> None:
    """Raise ValueError if a coding is requested for a format that has no nominal attributes."""
    check_choice("nominal", nominal, _NOMINAL)
    if format_ != "arff" and nominal != _NOMINAL[0]:
        raise ValueError(f"nominal must go with an ARFF file, got {path}.")


def check_overlap(path: Path, nominal: Nominal) -> None:
    """Raise ValueError if codes are requested where X contains the categories themselves."""
    check_choice("nominal", nominal, _NOMINAL)
    if nominal != _NOMINAL[0]:
        expected = f"{_NOMINAL[0]!r} for {path}, which has features of other kinds"
        raise ValueError(f"nominal must be {expected}, got {nominal!r}. Hint: ignore leaves texts and dates out.")


def _all_cells(codes: FloatArray) -> SparseCells:
    n_rows, width = codes.shape
    rows, columns = np.repeat(np.arange(n_rows), width), np.tile(np.arange(width), n_rows)
    return SparseCells(n_rows, rows, columns, codes.ravel())


def attribute_of(name: str) -> str:
    """Return the attribute in the name of a column ``attribute=value``."""
    return name.partition("=")[0]


def says_yes_or_no(attribute: Attribute) -> bool:
    """Return whether the declared values are 0 and 1, YES and NO or similar, or one of them."""
    words = [value.lower() for value in attribute.values or ()]
    positive, negative = sum(word in _TRUE for word in words), sum(word in _FALSE for word in words)
    return positive + negative == len(words) and max(positive, negative) == 1


def is_true(attribute: Attribute) -> bool:
    """Return whether the first declared value means yes."""
    return attribute.values is not None and attribute.values[0].lower() in _TRUE


def _kind(attribute: Attribute, nominal: Nominal) -> str:
    if attribute.values is None:
        return "number"
    if nominal == "codes":
        return "code"
    return "flag" if says_yes_or_no(attribute) else "category"


def _column_names(attribute: Attribute, kind: str) -> tuple[str, ...]:
    if kind != "category":
        return (attribute.name,)
    names = tuple(f"{attribute.name}={value}" for value in attribute.values or ())
    return (*names, *(f"{name}{AGAIN}" for name in names))


# Rows as they come from a file, split into features and labels at once.
#
# `array.array` grows in place (the system moves pages, not bytes), so the peak stays close to the finished matrices;
# collecting blocks and joining them at the end would store everything twice.


class SparseRows:
    """A growing CSR matrix.

    `first_column` and `width` (one more than the last column) also count explicit zeros.
    """

    def __init__(self) -> None:
        self.first_column = 2**31
        self.width = 0
        self._data = array("d")
        self._indices = array("i")
        self._ends = array("q", [0])

    def append(self, n_rows: int, rows: IntArray, columns: IntArray, values: FloatArray) -> None:
        """Add `n_rows` rows by their cells, of which zeros are dropped; `rows` (n_cells,) is ascending from 0."""
        self.first_column = min(self.first_column, int(columns.min(initial=2**31)))
        self.width = max(self.width, int(columns.max(initial=-1)) + 1)
        stored = values != 0
        if not stored.all():
            rows, columns, values = rows[stored], columns[stored], values[stored]
        counts = np.bincount(rows, minlength=n_rows)
        self._ends.frombytes((np.cumsum(counts) + self._ends[-1]).astype(np.int64).tobytes())
        self._indices.frombytes(columns.astype(np.intc).tobytes())
        self._data.frombytes(values.astype(np.float64, copy=False).tobytes())

    def __len__(self) -> int:
        return len(self._ends) - 1

    def shift(self, by: int) -> None:
        """Move all cells by a number of columns."""
        _view(self._indices, np.intc)[:] += by
        self.first_column, self.width = self.first_column + by, self.width + by

    def matrix(self, n_columns: int) -> CSR:
        """Return the rows as a canonical float64 CSR array that shares the memory."""
        ends = _view(self._ends, np.int64)
        if ends[-1] <= np.iinfo(np.intc).max:
            ends = ends.astype(np.intc)  # otherwise scipy would widen the column indices too
        parts = _view(self._data, np.float64), _view(self._indices, np.intc), ends
        matrix = sparse.csr_array(parts, shape=(len(self), n_columns))
        matrix.sort_indices()
        return matrix


class DenseRows:
    """A growing dense matrix of a known width."""

    def __init__(self, n_columns: int) -> None:
        self._data = array("d")
        self._n_columns = n_columns
        self._n_rows = 0

    def __len__(self) -> int:
        return self._n_rows

    def append(self, block: FloatArray) -> None:
        """Add the rows of a block (n_rows, n_columns)."""
        self._n_rows += len(block)
        self._data.frombytes(block.astype(np.float64, copy=False).tobytes())

    def matrix(self) -> FloatArray:
        """Return the rows as an array that shares the memory."""
        rows: FloatArray = _view(self._data, np.float64).reshape(self._n_rows, self._n_columns)
        return rows


class CellRows:
    """A growing array of objects of a known width."""

    def __init__(self, n_columns: int) -> None:
        self._blocks = [np.empty((0, n_columns), dtype=np.object_)]
        self._n_rows = 0

    def __len__(self) -> int:
        return self._n_rows

    def append(self, block: Cells) -> None:
        """Add the rows of a block (n_rows, n_columns)."""
        self._n_rows += len(block)
        self._blocks.append(block)

    def matrix(self) -> Cells:
        """Return the rows as one array."""
        return np.vstack(self._blocks)


def _view(store: array[Any], dtype: type[np.generic]) -> Any:
    return np.frombuffer(store, dtype=dtype) if store else np.empty(0, dtype=dtype)
