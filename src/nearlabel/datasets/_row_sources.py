"""Read the features of a model, found by name, from a file of any format, in blocks of any size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nearlabel.datasets._arff import peek_storage
from nearlabel.datasets._arff_cells import CellReader, SparseCells, cells_of
from nearlabel.datasets._arff_header import Header, read_header
from nearlabel.datasets._formats import A_TABLE, TABLES, format_of
from nearlabel.datasets._lines import Lines
from nearlabel.datasets._mixed_columns import FeatureKind
from nearlabel.datasets._nominal import CodedColumns, CodedRows, FeatureMatch, Nominal, attribute_of, check_arff
from nearlabel.datasets._npz import array_of, matrix_of, names_of, open_npz
from nearlabel.datasets._numeric_columns import FeatureColumns, missing_features
from nearlabel.datasets._svmlight import svmlight_rows
from nearlabel.datasets._table import POINT, open_table
from nearlabel.datasets._table_file import TableFile, did_you_mean, require_columns
from nearlabel.utils.types import FloatArray, IntArray, Matrix


class RowBlock(NamedTuple):
    """Some consecutive rows of a file.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_rows, n_features)
        Float64, or objects if features are not all numbers: those that were asked for, in that order.
    ids : ndarray of shape (n_rows,) or None
        The cells of the column of ids, as text or numbers in an array of objects; None if none was asked for.
    share_done : float
        The share of the file that was read up to the last of these rows, from 0 to 1.
    """

    X: Matrix
    ids: NDArray[np.object_] | None
    share_done: float


class RowSource(Protocol):
    """Rows of a file, which can be read several times; `n_rows` is None if unknown before reading."""

    n_rows: int | None

    def blocks(self) -> Iterator[RowBlock]:
        """Yield all rows."""
        ...


def open_source(
    path: Path,
    names: tuple[str, ...],
    id_column: str | None,
    decimal: str,
    nominal: Nominal,
    kinds: Mapping[str, FeatureKind],
) -> RowSource:
    """Open a file by its suffix; raise ValueError if a feature or the column of ids is missing."""
    format_ = format_of(path)
    check_arff(path, format_, nominal)
    if format_ in TABLES:
        return _TableRows(open_table(path, decimal), names, id_column, kinds)
    if kinds:
        name, kind = next(iter(kinds.items()))
        raise ValueError(f"{path} must be {A_TABLE} to have a {kind} as feature {name!r}, got another format.")
    if decimal != POINT:
        raise ValueError(f"decimal must go with a CSV or Excel file, got {path}.")
    if format_ == "arff":
        return _ArffRows(path, names, id_column, nominal)
    source: RowSource = _SOURCES[format_](path, names, id_column)
    return source


class _TableRows:
    """Rows of a table."""

    def __init__(
        self, table: TableFile, names: tuple[str, ...], id_column: str | None, kinds: Mapping[str, FeatureKind]
    ) -> None:
        self._table = table
        self._features = FeatureColumns.named(table, names, kinds)
        self._id_column = id_column
        self.n_rows = self._table.n_rows
        if id_column is not None:
            require_columns(self._table, "id_column", [id_column])
            column = self._table.columns[id_column]
            if column.kind in ("numbers", "texts"):
                raise ValueError(
                    f"id_column must have one id in a cell, got {id_column!r} of type {column.description}."
                )

    def blocks(self) -> Iterator[RowBlock]:
        wanted = dict.fromkeys(self._features.columns)
        if self._id_column is not None:
            wanted[self._id_column] = None
        for batch in self._table.batches(wanted):
            ids = None if self._id_column is None else _objects(batch.columns[self._id_column].to_pylist())
            yield RowBlock(self._features.matrix(batch), ids, batch.share_done)


class _ArffRows:
    """Rows of ARFF."""

    n_rows: int | None = None

    def __init__(self, path: Path, names: tuple[str, ...], id_column: str | None, nominal: Nominal) -> None:
        self._path = path
        with Lines(path) as lines:
            header = read_header(lines)
        known = header.names
        wanted = {*names, *map(attribute_of, names)}
        self._used = np.flatnonzero([name in wanted or attribute_of(name) in wanted for name in known])
        self._coded = CodedColumns([header.attributes[column] for column in self._used], nominal)
        self._match = FeatureMatch(path, self._coded.names, self._coded.kinds, names)
        if id_column is not None and id_column not in known:
            raise ValueError(f"id_column must name an attribute of {path}, got {id_column!r}.")
        self._id = None if id_column is None else known.index(id_column)

    def blocks(self) -> Iterator[RowBlock]:
        with Lines(self._path) as lines:
            header = read_header(lines)
            is_sparse, texts = peek_storage(self._path, lines.blocks())
            reader = CellReader(header)
            for first_line, text in texts:
                cells = reader.sparse(first_line, text) if is_sparse else reader.dense(first_line, text)
                rows = CodedRows(self._coded, is_sparse=is_sparse)
                rows.append(cells_of(cells, self._used))
                yield RowBlock(self._match.take(rows.matrix()), self._ids(header, cells), lines.share_read)

    def _ids(self, header: Header, cells: SparseCells | FloatArray) -> NDArray[np.object_] | None:
        if self._id is None:
            return None
        column = cells_of(cells, np.array([self._id]))
        codes = (_dense_column(column) if isinstance(column, SparseCells) else column).ravel().tolist()
        declared = header.attributes[self._id].values
        if declared is None:
            return _objects([int(code) if code.is_integer() else code for code in codes])
        return _objects([declared[int(code)] if code == code else None for code in codes])


class _SvmlightRows:
    """Rows of svmlight, where features are named by index and those left out of a row are 0."""

    n_rows = None

    def __init__(self, path: Path, names: tuple[str, ...], id_column: str | None) -> None:
        unknown = [name for name in names if not (name.isascii() and name.isdecimal())]
        if unknown:
            raise ValueError(f"{path} must have features that are named by their indices, got none for {unknown[0]!r}.")
        if id_column is not None:
            raise ValueError(f"id_column must be None for {path}, got {id_column!r}: a svmlight file has no columns.")
        self._path = path
        self._columns: IntArray = np.array([int(name) for name in names], dtype=np.intp)
        with Lines(path):
            pass  # raises now if the file cannot be opened

    def blocks(self) -> Iterator[RowBlock]:
        width = int(self._columns.max(initial=0)) + 1
        with Lines(self._path) as lines:
            for rows in svmlight_rows(lines):
                rows.resize((rows.shape[0], max(width, rows.shape[1])))
                yield RowBlock(rows[:, self._columns], None, lines.share_read)


class _NpzRows:
    """Rows of a .npz file, whose X is loaded at once."""

    def __init__(self, path: Path, names: tuple[str, ...], id_column: str | None) -> None:
        with open_npz(path) as arrays:
            X = matrix_of(path, arrays, "X")
            known = names_of(path, arrays, "feature_names", X.shape[1])
            self._ids = None if id_column is None else _id_array(path, arrays, id_column, X.shape[0])
        columns = _places(path, names, known)
        self._X = X if np.array_equal(columns, np.arange(X.shape[1])) else X[:, columns]
        self.n_rows = X.shape[0]

    def blocks(self) -> Iterator[RowBlock]:
        yield RowBlock(self._X, self._ids, 1.0)


_SOURCES: dict[str, Any] = {
    "npz": _NpzRows,
    "svmlight": _SvmlightRows,
}


def _places(path: Path, names: Sequence[str], known: Sequence[str]) -> IntArray:
    """Return the column of each feature."""
    place = {name: column for column, name in enumerate(known)}
    if missing := [name for name in names if name not in place]:
        raise missing_features(path, missing, did_you_mean(missing[0], known))
    wanted = set(names)
    if len(place) < len(known) and (twice := [name for name in wanted if known.count(name) > 1]):
        raise ValueError(f"{path} must have one column for every feature, got several of the name {min(twice)!r}.")
    return np.array([place[name] for name in names], dtype=np.intp)


def _dense_column(cells: SparseCells) -> FloatArray:
    column = np.zeros(cells.n_rows)
    column[cells.rows] = cells.values
    return column


def _id_array(path: Path, arrays: Any, name: str, n_rows: int) -> NDArray[np.object_]:
    if name not in arrays:
        raise ValueError(f"id_column must name an array of {path}, got {name!r}.")
    ids = array_of(path, arrays, name)
    if ids.shape != (n_rows,):
        raise ValueError(f"id_column must name an array of {n_rows} ids, got {name!r} of shape {ids.shape}.")
    return _objects(ids.tolist())


def _objects(values: Sequence[object]) -> NDArray[np.object_]:
    array = np.empty(len(values), dtype=np.object_)
    array[:] = values
    return array
