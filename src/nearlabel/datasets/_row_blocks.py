"""Read rows for prediction from a file in blocks of limited size."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, get_args

import numpy as np
from scipy import sparse

from nearlabel.datasets._arff_header import Attribute, Header, read_header
from nearlabel.datasets._arff_kinds import MixedRows, as_cells
from nearlabel.datasets._arff_parts import SparseCells, cells_of, read_rows
from nearlabel.datasets._json_file import JsonRows
from nearlabel.datasets._label_rows import JoinedRows
from nearlabel.datasets._lines import A_TABLE, TABLES, Lines, format_of
from nearlabel.datasets._nominal import CodedColumns, CodedRows, FeatureMatch, Nominal, attribute_of, check_arff
from nearlabel.datasets._npz import matrix_of, names_of, with_columns
from nearlabel.datasets._numbered_names import NumberedNames, counts_of
from nearlabel.datasets._numeric_columns import Cells, FeatureColumns, FeatureKind, Kinds, missing_features
from nearlabel.datasets._svmlight import svmlight_rows
from nearlabel.datasets._table import POINT, open_table
from nearlabel.datasets._table_file import TableFile, did_you_mean, require_columns
from nearlabel.files.untrusted import arrow_errors_named, damage_named, open_npz
from nearlabel.utils.containers import objects_of
from nearlabel.utils.messages import first_of
from nearlabel.utils.types import CSR, AnyArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import BLOCK_BYTES, check_flag, check_integer

_Find: TypeAlias = Callable[..., Matrix]
_CELL_BYTES = 12  # of a stored value in a CSR array, with its index


def open_rows(
    path: str | Path,
    feature_names: Sequence[str],
    *,
    id_column: str | None = None,
    block_rows: int | None = None,
    block_bytes: int = BLOCK_BYTES,
    decimal: str = POINT,
    sheet: str | None = None,
    nominal: Nominal = "overlap",
    feature_kinds: Sequence[str] = (),
    join_by: str | None = None,
    max_unpacked_bytes: int | None = None,
    isolate: bool = False,
) -> RowBlocks:
    r"""Open a file to read the features of a model, block by block.

    Features are found by name, in any order; other columns, including labels, are ignored. The file is never in memory
    as a whole, except for ``.npz``, of which X is loaded at once.

    Parameters
    ----------
    path : path-like
        ARFF, svmlight, CSV, JSON (each plain, gzip or bzip2), Excel, Parquet or ``.npz``, by its suffix. It needs
        no labels. In svmlight, features are named by index, and those left out of a row are 0; in Parquet and JSON,
        ``embedding[3]`` is number 3 of the lists in column ``embedding``.
    feature_names : sequence of str of length n_features
        The columns of X in their order, such as `Dataset.feature_names` of the training data.
    id_column : str, default=None
        A column to return with the rows; of ``.npz`` an array.
    block_rows : int, default=None
        Number of rows in a block; the last may have fewer. None: as many as `block_bytes` allows.
    block_bytes : int, default=64 MiB
        Limit of the size of X in a block. A block has at least one row.
    decimal : {".", ","}, default="."
    sheet : str, default=None
        As in `read_table`.
    nominal : {"overlap", "codes"}, default="overlap"
        As in `read_mulan`, and as the training file was read. Nominal features of ARFF are found by name and category,
        in whatever order this file declares them; rows with a category that is not among `feature_names` are refused.
    feature_kinds : sequence of str of length n_features, default=()
        The kind of each feature of a table or ARFF file, such as `Dataset.feature_kinds` of the training data. Empty:
        all are numbers.
    join_by : str, default=None
        A column of ids in a table: only the first row of each id is returned. Others must have the same features.
    max_unpacked_bytes : int, default=None
        How many bytes a compressed file, a workbook, an ``.npz`` file or the columns that are read from a Parquet file
        may unpack to. None: as in `read_table` and `read_npz`.
    isolate : bool, default=False
        As in `read_table`: a Parquet file at which pyarrow crashes is a ValueError.

    Returns
    -------
    RowBlocks
        Each iteration reads the file again.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    TypeError, ValueError
        If the suffix is unknown, a feature or the column of ids is missing, or a parameter has a wrong type; while
        reading, if the file has no rows, is malformed (with the line or row) or has a row with an unknown category.

    See Also
    --------
    load_dataset : Read a data set whole, label sets included.

    Notes
    -----
    In addition to a block, the reader takes some MiB for the present part of the file.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "pets.csv"
    >>> _ = path.write_text("name,purrs,kg\nTom,1,3.5\nRex,0,20\nJumbo,0,400\n")
    >>> for block in open_rows(path, ["kg", "purrs"], id_column="name", block_rows=2):
    ...     print(block.ids.tolist(), block.X.tolist(), block.share_done)
    ['Tom', 'Rex'] [[3.5, 1.0], [20.0, 0.0]] 1.0
    ['Jumbo'] [[400.0, 0.0]] 1.0
    """
    if block_rows is not None:
        block_rows = check_integer("block_rows", block_rows, low=1)
    block_bytes = check_integer("block_bytes", block_bytes, low=1)
    names = _distinct(feature_names)
    check_flag("isolate", isolate)
    if max_unpacked_bytes is not None:
        check_integer("max_unpacked_bytes", max_unpacked_bytes, low=1)
    kinds = _kinds_by_name(names, feature_kinds)
    path = Path(path)
    format_ = format_of(path)
    check_arff(path, format_, nominal)
    if format_ in TABLES:
        table = open_table(path, decimal, max_unpacked_bytes, isolate=isolate, sheet=sheet)
        return RowBlocks(path, _TableRows(table, names, id_column, kinds, join_by), block_rows, block_bytes)
    _check_numbers(path, {} if format_ == "arff" else kinds, decimal, sheet)
    if join_by is not None:
        raise ValueError(f"join_by must go with {A_TABLE}, got {path}.")
    if format_ == "arff":
        source: RowSource = _ArffRows(path, names, id_column, nominal, max_unpacked_bytes, kinds)
    else:
        source = (_NpzRows if format_ == "npz" else _SvmlightRows)(path, names, id_column, max_unpacked_bytes)
    return RowBlocks(path, source, block_rows, block_bytes)


def rows_of_objects(
    objects: Sequence[Any], feature_names: Sequence[str], feature_kinds: Sequence[str] = ()
) -> RowBlocks:
    """Return rows given as objects of `decoded` JSON, with the checks of a file of JSON lines."""
    kinds = _kinds_by_name(feature_names, feature_kinds)
    table = JsonRows(objects)
    return RowBlocks(table.path, _TableRows(table, feature_names, None, kinds, None), None, BLOCK_BYTES)


@dataclass(frozen=True, eq=False)
class RowBlocks:
    """An iterable of `RowBlock`, made by `open_rows`.

    Parameters
    ----------
    path : pathlib.Path
    source : RowSource
        Gives the rows in blocks of any size.
    block_rows : int or None
    block_bytes : int
        Limits of a block.
    """

    path: Path
    source: RowSource
    block_rows: int | None
    block_bytes: int

    @property
    def n_rows(self) -> int | None:
        """Number of rows, None if unknown before reading; `RowBlock.share_done` is always known."""
        return self.source.n_rows

    def __iter__(self) -> Iterator[RowBlock]:
        most_rows = np.iinfo(np.intp).max if self.block_rows is None else self.block_rows
        empty = True
        with arrow_errors_named(self.path):
            for block in _fitted(self.source.blocks(), int(most_rows), self.block_bytes):
                empty = False
                yield block
        if empty:
            raise ValueError(f"{self.path} must contain at least one row, got none.")


def _distinct(names: Sequence[str]) -> Sequence[str]:
    if isinstance(names, NumberedNames) and len(names):
        return names
    if isinstance(names, str) or not len(names) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"feature_names must be a sequence of at least one text, got {names!r}.")
    if len(set(names)) < len(names):
        twice, _ = Counter(names).most_common(1)[0]
        raise ValueError(f"feature_names must be distinct, got {twice!r} twice.")
    return tuple(names)


def _kinds_by_name(names: Sequence[str], kinds: Sequence[str]) -> dict[str, FeatureKind]:
    """Return the kinds of the features that are no numbers."""
    known = get_args(FeatureKind)
    found = set(counts_of(kinds))
    if kinds and (len(kinds) != len(names) or not found <= set(known)):
        expected = f"{len(names)} of {', '.join(known)}"
        raise ValueError(f"feature_kinds must be empty or contain {expected}, got {kinds!r}.")
    if found <= {"number"}:
        return {}
    return {name: kind for name, kind in zip(names, kinds, strict=False) if kind != "number"}  # type: ignore[misc]


def _fitted(blocks: Iterable[RowBlock], most_rows: int, most_bytes: int) -> Iterator[RowBlock]:
    """Yield the rows in order, in blocks as large as the limits allow."""
    held: list[RowBlock] = []
    rows_left, bytes_left = most_rows, most_bytes
    for block in blocks:
        start, n_rows, ends = 0, block.X.shape[0], _byte_ends(block)
        while start < n_rows:
            fitting = int(np.searchsorted(ends, ends[start] + bytes_left, side="right")) - 1
            stop = max(min(fitting, start + rows_left), start if held else start + 1)
            held.append(_some(block, start, stop))
            rows_left, bytes_left = rows_left - (stop - start), bytes_left - int(ends[stop] - ends[start])
            start = stop
            if start < n_rows or not rows_left:
                yield _joined(held)
                held, rows_left, bytes_left = [], most_rows, most_bytes
    if held:
        yield _joined(held)


def _byte_ends(block: RowBlock) -> IntArray:
    """Return the size of the rows before each row, and of all rows (n_rows + 1,)."""
    if sparse.issparse(block.X):
        ends: IntArray = block.X.indptr.astype(np.intp) * _CELL_BYTES
        return ends
    n_rows, n_features = block.X.shape
    return np.arange(n_rows + 1) * int(n_features * block.X.itemsize)


def _some(block: RowBlock, start: int, stop: int) -> RowBlock:
    return RowBlock(block.X[start:stop], None if block.ids is None else block.ids[start:stop], block.share_done)


def _joined(blocks: Sequence[RowBlock]) -> RowBlock:
    """Return the rows of all blocks as one."""
    if len(blocks) == 1:
        return blocks[0]
    parts = [block.X for block in blocks]
    X = sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)
    ids = [block.ids for block in blocks if block.ids is not None]
    return RowBlock(X, np.concatenate(ids) if ids else None, blocks[-1].share_done)


# Read the features of a model, found by name, from a file of any format, in blocks of any size.


class RowBlock(NamedTuple):
    """Some consecutive rows of a file.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_rows, n_features)
        Float64, or objects if features are not all numbers: the requested features, in that order.
    ids : ndarray of shape (n_rows,) or None
        The cells of the column of ids, as text or numbers in an array of objects; None without `id_column`.
    share_done : float
        The share of the file that was read up to the last of these rows, from 0 to 1.
    """

    X: Matrix
    ids: Cells | None
    share_done: float


class RowSource:
    """Rows of a file, which can be read several times; `n_rows` is None if unknown before reading."""

    n_rows: int | None = None

    def blocks(self) -> Iterator[RowBlock]:
        """Yield all rows."""
        raise NotImplementedError


def _check_numbers(path: Path, kinds: Kinds, decimal: str, sheet: str | None) -> None:
    """Raise ValueError if an option of tables is given for another format."""
    if kinds:
        name, kind = next(iter(kinds.items()))
        raise ValueError(f"{path} must be {A_TABLE} to have a {kind} as feature {name!r}, got another format.")
    if decimal != POINT:
        raise ValueError(f"decimal must go with a CSV or Excel file, got {path}.")
    if sheet is not None:
        raise ValueError(f"sheet must go with an Excel workbook, got {path}.")


class _TableRows(RowSource):
    """Rows of a table."""

    def __init__(
        self, table: TableFile, names: Sequence[str], id_column: str | None, kinds: Kinds, join_by: str | None
    ) -> None:
        self._table, self._id_column, self._join_by = table, id_column, join_by
        self.n_rows = table.n_rows if join_by is None else None
        self._features = FeatureColumns(table, tuple(names), kinds)
        if id_column is not None:
            require_columns(table, "id_column", [id_column])
            column = table.columns[id_column]
            if column.kind in ("numbers", "texts"):
                got = f"{id_column!r} of type {column.description}"
                raise ValueError(f"id_column must have one id in a cell of {table.path}, got {got}.")

    def blocks(self) -> Iterator[RowBlock]:
        wanted = dict.fromkeys(self._features.columns)
        if self._id_column is not None:
            wanted[self._id_column] = None
        joined = None if self._join_by is None else JoinedRows(self._table, self._join_by)
        if joined is not None:
            wanted[joined.column] = None
        for batch in self._table.batches(wanted):
            with damage_named(self._table.path, "a table of ids that can be read"):  # a date in the year 300,000
                ids = None if self._id_column is None else objects_of(batch.columns[self._id_column].to_pylist())
            X = self._features.matrix(batch)
            if joined is not None:
                is_new = joined.are_new(batch, X)
                X, ids = X[is_new], None if ids is None else ids[is_new]
            yield RowBlock(X, ids, batch.share_done)


class _ArffRows(RowSource):
    """Rows of ARFF; attributes that are neither features nor ids may be of any type."""

    def __init__(
        self,
        path: Path,
        names: Sequence[str],
        id_column: str | None,
        nominal: Nominal,
        limit: int | None,
        kinds: Kinds,
    ) -> None:
        self._path, self._limit = path, limit
        with Lines(path, limit) as lines:
            header = read_header(lines)
        if id_column is not None and id_column not in header.names:
            raise ValueError(f"id_column must name an attribute of {path}, got {id_column!r}.")
        self._id = None if id_column is None else header.names.index(id_column)
        self._changed: dict[int, Attribute] = {}  # those that are not read as declared
        if self._id is not None and header.attributes[self._id].declared != "number":
            self._changed[self._id] = replace(header.attributes[self._id], read=str, missing=None)
        self._find = self._find_cells(header, names, kinds) if kinds else self._find_numbers(header, names, nominal)
        self._id_attribute = None if self._id is None else self._changed.get(self._id, header.attributes[self._id])

    def _find_numbers(self, header: Header, names: Sequence[str], nominal: Nominal) -> _Find:
        """Return the function that makes features of cells, if all are numbers."""
        wanted = {*names, *map(attribute_of, names)}
        self._used = np.flatnonzero([name in wanted or attribute_of(name) in wanted for name in header.names])
        used = [header.attributes[column] for column in self._used]
        if wrong := [one for one in used if one.declared != "number" and one.name in wanted]:
            got = f"a {wrong[0].declared}"
            raise ValueError(f"attribute {wrong[0].name!r} of {self._path} must contain numbers, got {got}.")
        coded = CodedColumns(used, nominal)
        match = FeatureMatch(self._path, coded.names, coded.kinds, names)

        def find(cells: SparseCells | AnyArray, *, are_sparse: bool) -> Matrix:
            rows = CodedRows(self._path, coded, is_sparse=are_sparse)
            rows.append(_as_numbers(cells))
            return match.take(rows.matrix())

        return find

    def _find_cells(self, header: Header, names: Sequence[str], kinds: Kinds) -> _Find:
        """Return the function that makes features of cells, if some are texts, dates or categories."""
        places = _places(self._path, names, header.names)
        self._used = np.sort(places)
        for place, name in zip(places.tolist(), names, strict=True):
            self._changed[place] = as_cells(self._path, header.attributes[place], kinds.get(name, "number"))[0]
        used = [self._changed[column] for column in self._used.tolist()]
        order = np.searchsorted(self._used, places)

        def find(cells: SparseCells | AnyArray, *, are_sparse: bool) -> Matrix:
            rows = MixedRows(self._path, used)
            rows.append(cells)
            return rows.matrix()[:, order]

        return find

    def blocks(self) -> Iterator[RowBlock]:
        with Lines(self._path, self._limit) as lines:
            rows = read_rows(read_header(lines).with_attributes(self._changed), lines)
            for cells in rows.blocks:
                X = self._find(cells_of(cells, self._used), are_sparse=rows.are_sparse)
                yield RowBlock(X, self._ids(cells), lines.share_read)

    def _ids(self, cells: SparseCells | AnyArray) -> Cells | None:
        if self._id is None or self._id_attribute is None:
            return None
        column = cells_of(cells, np.array([self._id]))
        ids = np.full(column.n_rows, 0.0, dtype=np.object_) if isinstance(column, SparseCells) else column.ravel()
        if isinstance(column, SparseCells):
            ids[column.rows] = column.values
        declared = self._id_attribute.values if self._id_attribute.read is None else None
        if declared is None:
            return objects_of([_whole(value) for value in ids.tolist()])
        return objects_of([declared[int(code)] if code == code else None for code in ids.tolist()])


def _as_numbers(cells: SparseCells | AnyArray) -> SparseCells | FloatArray:
    if isinstance(cells, SparseCells):
        return cells._replace(values=cells.values.astype(np.float64, copy=False))
    return cells.astype(np.float64, copy=False)


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


class _SvmlightRows(RowSource):
    """Rows of svmlight, where features are named by index and those left out of a row are 0."""

    def __init__(self, path: Path, names: Sequence[str], id_column: str | None, limit: int | None) -> None:
        are_first = isinstance(names, NumberedNames)  # the first columns, of which there may be a billion
        # svmlight can write indices of nine digits at most
        if unknown := [] if are_first else [name for name in names if not re.fullmatch("[0-9]{1,9}", name)]:
            got = f"none for {first_of(unknown, 5)}"
            raise ValueError(f"{path} must have features that are named by their indices, got {got}.")
        if id_column is not None:
            raise ValueError(f"id_column must be None for {path}, got {id_column!r}: a svmlight file has no columns.")
        self._path, self._limit, self._width = path, limit, len(names)
        self._columns: IntArray | None = None if are_first else np.array([int(name) for name in names], dtype=np.intp)
        if self._columns is not None and len(np.unique(self._columns)) < len(names):
            raise ValueError(f"{path} must have one column for every feature, got two names of one index.")
        with Lines(path, limit):
            pass  # raises now if the file cannot be opened

    def blocks(self) -> Iterator[RowBlock]:
        with Lines(self._path, self._limit) as lines:
            for rows in svmlight_rows(lines):
                yield RowBlock(_some_columns(rows, self._columns, self._width), None, lines.share_read)


class _NpzRows(RowSource):
    """Rows of a .npz file, whose X is loaded at once."""

    def __init__(self, path: Path, names: Sequence[str], id_column: str | None, largest: int | None) -> None:
        with open_npz(path, largest) as arrays:
            X = matrix_of(path, arrays, "X")
            known = names_of(path, arrays, "feature_names", X.shape[1])
            self._ids = None if id_column is None else _id_array(path, arrays, id_column, X.shape[0])
        columns = _places(path, names, known)
        self._X = with_columns(X, columns)
        self.n_rows = X.shape[0]

    def blocks(self) -> Iterator[RowBlock]:
        yield RowBlock(self._X, self._ids, 1.0)


def _places(path: Path, names: Sequence[str], known: Sequence[str]) -> IntArray:
    """Return the column of each feature."""
    if isinstance(known, NumberedNames):
        place: Mapping[str, int] = {name: known.index(name) for name in names if name in known}
        hint = f" Hint: its features are named by their numbers, from 0 to {len(known) - 1}."
    else:
        place, hint = {name: column for column, name in enumerate(known)}, ""
    if missing := [name for name in names if name not in place]:
        raise missing_features(path, missing, hint or did_you_mean(missing[0], known))
    if not hint and len(place) < len(known):
        counts = Counter(known)
        if twice := [name for name in set(names) if counts[name] > 1]:
            raise ValueError(f"{path} must have one column for every feature, got several of the name {min(twice)!r}.")
    return np.array([place[name] for name in names], dtype=np.intp)


def _some_columns(rows: CSR, columns: IntArray | None, width: int) -> CSR:
    """Return `columns`, which are distinct, or else the first `width` ones; what the rows lack is 0.

    scipy would take memory for each column that there is: a row may be a thousand million columns wide.
    """
    order = np.arange(0) if columns is None else np.argsort(columns, kind="stable")
    if columns is None:
        is_wanted, place = rows.indices < width, rows.indices
    else:
        at = np.minimum(np.searchsorted(columns, rows.indices, sorter=order), len(columns) - 1)
        is_wanted, place = columns[order[at]] == rows.indices, order[at]
    ends = np.concatenate([[0], np.cumsum(is_wanted)])[rows.indptr]
    found = sparse.csr_array((rows.data[is_wanted], place[is_wanted], ends), shape=(rows.shape[0], width))
    found.sort_indices()
    return found


def _id_array(path: Path, arrays: Any, name: str, n_rows: int) -> Cells:
    if name not in arrays:
        raise ValueError(f"id_column must name an array of {path}, got {name!r}.")
    ids = arrays[name]
    if ids.shape != (n_rows,):
        raise ValueError(f"id_column must name an array of {n_rows} ids in {path}, got {name!r} of shape {ids.shape}.")
    return objects_of(ids.tolist())
