"""Which rows of a table have labels: rows of one id belong together, and annotators leave rows unlabelled."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.datasets._numeric_columns import as_text
from nearlabel.datasets._table_file import Batch, TableFile, require_columns, shortened
from nearlabel.utils.messages import ParameterError, ParameterWarning
from nearlabel.utils.types import CSR, AnyArray, BoolArray, IntArray

_ONE_VALUE = ("cell", "number", "text", "time")

# Columns of annotation tools on whether a row was labelled: all their values, and those for no.
_OF_TOOLS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "answer": (frozenset({"accept", "reject", "ignore"}), frozenset({"reject", "ignore", ""})),
    "is_confirmed": (frozenset({"true", "false", "1", "0"}), frozenset({"false", "0", ""})),
    "cancelled": (frozenset({"true", "false", "1", "0"}), frozenset({"true", "1"})),
    "was_cancelled": (frozenset({"true", "false", "1", "0"}), frozenset({"true", "1"})),
}
# Label Studio exports tasks that no one has labelled, if asked to: they have no annotation. Its other columns.
_ANNOTATION, _BESIDE_ANNOTATION = "annotation_id", {"annotator", "lead_time"}


_LEAST_REPEATED = 20  # one row in that many: fewer are mistakes
_SAMPLED = 2000  # rows, among which some come twice if many do


class Unlabelled:
    """The rows whose cell in some column has some value: their labels are unknown.

    `values_of` are these values by column, as text; None: those of annotation tools, if the table has their columns.
    """

    def __init__(self, table: TableFile, values_of: Mapping[str, str | Sequence[str]] | None, used: set[str]) -> None:
        if values_of is None:
            self._values = _of_tools(table, used)
        else:
            if not isinstance(values_of, Mapping):
                raise TypeError(f"unlabelled must map columns to values, got {values_of!r}. Hint: {{'state': 'todo'}}.")
            require_columns(table, "unlabelled", values_of)
            _check_one_value(table, "unlabelled", values_of)
            self._values = {name: _keys(of) for name, of in values_of.items()}
        self._is_asked = values_of is not None
        self._n_rows, self._found = 0, dict.fromkeys(self._values, False)
        self.columns = tuple(self._values)

    def marked(self, batch: Batch) -> Batch:
        """Return rows that know which of them are unlabelled."""
        if not self._values:
            return batch
        is_unlabelled = np.zeros(batch.n_rows, dtype=bool)
        for column, values in self._values.items():
            cells, codes = _encoded(batch.columns[column])
            of_column = np.array([_key(cell) in values for cell in cells], dtype=bool)[codes]
            self._found[column] = self._found[column] or bool(of_column.any())
            is_unlabelled |= of_column
        self._n_rows += int(is_unlabelled.sum())
        return batch._replace(is_unlabelled=is_unlabelled)

    def check_found(self, table: TableFile, n_rows: int) -> None:
        """Raise ValueError if all rows are unlabelled; warn of values that no row has."""
        if self._values and self._n_rows == n_rows:
            said = ", ".join(f"{name!r}" for name in self._values)
            raise ValueError(f"{table.path} must have rows with known labels, got none: all are unlabelled by {said}.")
        for name in (name for name, is_found in self._found.items() if self._is_asked and not is_found):
            values = " or ".join(sorted(map(repr, self._values[name])))
            problem = f"No row of {table.path} is unlabelled by column {name!r}: no cell is {values}."
            warnings.warn(problem, stacklevel=3)


def _of_tools(table: TableFile, used: set[str]) -> dict[str, frozenset[str]]:
    """Return the values for rows without labels in the columns of an annotation tool, and warn of it."""
    found: dict[str, frozenset[str]] = {}
    is_of_studio = set(table.columns) >= _BESIDE_ANNOTATION
    for name in (*_OF_TOOLS, *([_ANNOTATION] if is_of_studio else [])):
        if name not in table.columns or name in used or table.columns[name].kind not in _ONE_VALUE:
            continue
        arrays = (batch.columns[name] for batch in table.batches([name]))
        there = {_key(cell) for array in arrays for cell in array.unique().to_pylist()}
        allowed, values = _OF_TOOLS.get(name, (there, frozenset({""})))
        if there - {""} and there - {""} <= allowed:
            found[name] = values
            said = " or ".join(repr(value) if value else "empty" for value in sorted(there & values))
            meaning = f"labels are unknown where it is {said}" if said else "all rows are labelled"
            template = (
                "Column {column} is the annotator's and no feature: {meaning}. Hint: {unlabelled} sets other columns."
            )
            parts = {"column": repr(name), "meaning": meaning}
            warnings.warn(ParameterWarning(template, {"unlabelled": None}, parts), stacklevel=3)
    return found


def _encoded(array: Any) -> tuple[list[Any], IntArray]:
    """Return the distinct cells, None among them, and the position of each row's."""
    encoded = array.dictionary_encode()
    cells = [*encoded.dictionary.to_pylist(), None]
    return cells, encoded.indices.fill_null(len(cells) - 1).to_numpy()


def _keys(values: Any) -> frozenset[str]:
    is_one = isinstance(values, str) or not isinstance(values, Collection)
    return frozenset(map(_key, [values] if is_one else values))


def _key(cell: Any) -> str:
    return "" if cell is None else as_text(cell).strip().lower()


def _check_one_value(table: TableFile, option: str, names: Sequence[str] | Mapping[str, Any]) -> None:
    for name in names:
        if table.columns[name].kind not in _ONE_VALUE:
            got = f"{name!r}, {table.columns[name].description}"
            raise ValueError(f"{option} must name columns of {table.path} of one value in a cell, got {got}.")


class JoinedRows:
    """Rows of one id as one row, in the order in which ids first come.

    Only the ids and a number for each row are kept, whatever the table contains.
    """

    def __init__(self, table: TableFile, column: str) -> None:
        require_columns(table, "join_by", [column])
        _check_one_value(table, "join_by", [column])
        self._table, self.column = table, column
        self._numbers: dict[str, int] = {}
        self._hashes: list[int] = []
        self._of_rows: list[IntArray] = []

    @property
    def path(self) -> Path:
        """The file of the rows."""
        return self._table.path

    @property
    def ids(self) -> list[str]:
        """The ids, as text."""
        return list(self._numbers)

    def are_new(self, batch: Batch, X: AnyArray | None = None) -> BoolArray:
        """Take some rows; return which of them (n_rows,) are the first of their ids.

        Raises
        ------
        ValueError
            If an id is missing, or comes again with other features in X (n_rows, n_features).
        """
        cells, codes = _encoded(batch.columns[self.column])
        values, first = np.unique(codes, return_index=True)
        n_before, numbers = len(self._numbers), np.zeros(len(cells), dtype=np.intp)
        for code in values[np.argsort(first)].tolist():
            numbers[code] = self._numbers.setdefault(self._id(cells[code], batch, codes, code), len(self._numbers))
        rows = numbers[codes]
        self._of_rows.append(rows)
        is_new = np.zeros(batch.n_rows, dtype=bool)
        is_new[np.unique(rows, return_index=True)[1]] = True
        is_new &= rows >= n_before
        if X is not None:
            self._check_same(batch, rows, is_new, row_hashes(X))
        return is_new

    def _id(self, cell: Any, batch: Batch, codes: IntArray, code: int) -> str:
        """Return a cell as text; raise ValueError if it is missing, or a float that may be a rounded integer."""
        text = "" if cell is None else as_text(cell).strip()
        is_rounded = isinstance(cell, float) and abs(cell) > 2**53
        if text and not is_rounded:
            return text
        where = f"{self._table.path}, {batch.locate(int(np.argmax(codes == code)))}: column {self.column!r}"
        if is_rounded:
            raise ValueError(f"{where} must have ids that are not rounded, got {cell!r}. Hint: write them as text.")
        raise ValueError(f"{where} must have an id, got an empty cell.")

    def _check_same(self, batch: Batch, rows: IntArray, is_new: BoolArray, hashes: list[int]) -> None:
        self._hashes += [hashes[row] for row in np.flatnonzero(is_new)]
        other = next((row for row, of_id in enumerate(rows.tolist()) if self._hashes[of_id] != hashes[row]), None)
        if other is not None:
            raise ParameterError(
                "{where}: rows of one {column} must have the same features, got others for {got}. Hint: {ignore} leaves"
                " out columns that are not the same.",
                {"ignore": None},
                {
                    "where": f"{self._table.path}, {batch.locate(other)}",
                    "column": repr(self.column),
                    "got": repr(self.ids[rows[other]]),
                },
            )

    def of_ids(self, Y: CSR) -> CSR:
        """Return the labels of each id: those of any of its rows; unknown if no row carries one and one is unknown."""
        rows = np.concatenate(self._of_rows)
        ones = np.ones(len(rows))
        joins = sparse.csr_array((ones, (rows, np.arange(len(rows)))), shape=(len(self._numbers), len(rows)))
        carried, unknown = ((joins @ (cells.astype(np.float64))) > 0 for cells in (Y == 1, Y != Y))
        unknown = sparse.csr_array((unknown > carried).astype(np.float64))
        unknown.data[:] = np.nan
        return sparse.csr_array(carried.astype(np.float64) + unknown)


def row_hashes(X: AnyArray) -> list[int]:
    """Return a number of each row, equal for equal rows."""
    if X.dtype.kind == "O":
        return [hash(repr(row)) for row in X.tolist()]
    return [hash(row.tobytes()) for row in X + 0.0]  # -0 is 0


def aligned(ids: Sequence[str], joined: JoinedRows, Y: CSR, absent: float) -> CSR:
    """Return the labels of some ids, from those of joined rows; labels of an id that has no row are `absent`."""
    Y = joined.of_ids(Y)
    place = {one: number for number, one in enumerate(joined.ids)}
    places = np.array([place.get(one, len(place)) for one in ids], dtype=np.intp)
    n_found = len(set(places.tolist()) - {len(place)})
    if not n_found:
        template = "{join_by} must have ids that are in both files, got {one} in one, but {other} in {path}."
        of_files = {"one": shortened(ids[0]), "other": shortened(joined.ids[0]), "path": joined.path}
        raise ParameterError(template, {"join_by": joined.column}, of_files)
    if extra := len(place) - n_found:
        warnings.warn(f"{extra} of {len(place)} ids with labels have no row, and are left out.", stacklevel=3)
    last = sparse.csr_array(np.full((1, Y.shape[1]), absent))
    return sparse.csr_array(sparse.vstack([Y, last], format="csr")[places])


def check_not_long(table: TableFile, tags_in: Sequence[str], ignored: Sequence[str], X: AnyArray, Y: CSR) -> None:
    """Raise ValueError if a table has one row for each tag of an id, so that rows of an id contradict each other.

    That is so if rows with one value in an ignored column always have the same features and different tags, one each.
    If no such column differs in each row, a warning reports rows of the same features and different tags.
    """
    carried = Y if (Y.data == 1).all() else sparse.csr_array(Y == 1)  # others are 0 or unknown
    counts = np.diff(carried.indptr)
    if counts.max(initial=0) > 1:
        return
    tags = np.full(Y.shape[0], -1)
    tags[counts == 1] = carried.indices
    if len(set(row_hashes(X[:_SAMPLED]))) == len(X[:_SAMPLED]):
        return  # no row comes twice
    hashes = np.unique(np.array(row_hashes(X)), return_inverse=True)[1]
    n_rows, n_again = len(hashes), len(hashes) - hashes.max(initial=-1) - 1
    values = {"path": table.path, "tags": ", ".join(map(repr, tags_in)), "n": n_again, "n_rows": n_rows}
    for column in ignored:
        ids = _numbers_of_cells(table, column)
        n_ids = ids.max(initial=-1) + 1
        if n_ids == n_rows:
            return
        if n_ids and _count(ids, hashes) == n_ids and _count(ids, tags) == n_rows:
            raise ParameterError(
                "{path} must have one row for each sample, got one for each tag: rows of one {column} have the same"
                " features and different tags in {tags}. Hint: {join_by} joins them.",
                {"join_by": column},
                values | {"column": repr(column)},
            )
    if _count(hashes, tags) == n_rows and _LEAST_REPEATED * n_again >= n_rows:
        template = (
            "{n} of {n_rows} rows of {path} have the features of another row, and another tag in {tags}. Hint:"
            " {join_by} joins rows that are tags of one sample."
        )
        warnings.warn(ParameterWarning(template, {"join_by": None}, values), stacklevel=3)


def _numbers_of_cells(table: TableFile, column: str) -> IntArray:
    """Return a number for each cell of a column, equal for equal ones; none if some cell is empty or a list."""
    if table.columns[column].kind not in _ONE_VALUE:
        return np.array([], dtype=np.intp)
    cells = [cell for batch in table.batches([column]) for cell in batch.columns[column].to_pylist()]
    if any(cell in (None, "") for cell in cells):
        return np.array([], dtype=np.intp)
    return np.unique(list(map(as_text, cells)), return_inverse=True)[1]


def _count(ids: IntArray, values: IntArray) -> int:
    """Return how many different pairs there are."""
    return len(np.unique(np.column_stack([ids, values]), axis=0))
