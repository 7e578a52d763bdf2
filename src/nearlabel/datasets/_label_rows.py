"""Which rows of a table have labels: rows of one id belong together, and annotators leave rows unlabelled."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.datasets._numeric_columns import as_text
from nearlabel.datasets._table_file import Batch, TableFile, require_columns
from nearlabel.utils.messages import ParameterError, ParameterWarning
from nearlabel.utils.types import CSR, AnyArray, BoolArray, IntArray

_ONE_VALUE = ("cell", "number", "text", "time")

# Columns of annotation tools on whether a row was labelled: all their values, and those for no.
_OF_TOOLS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "answer": (frozenset({"accept", "reject", "ignore"}), frozenset({"reject", "ignore"})),
    "is_confirmed": (frozenset({"true", "false", "1", "0"}), frozenset({"false", "0", ""})),
    "cancelled": (frozenset({"true", "false", "1", "0"}), frozenset({"true", "1"})),
    "was_cancelled": (frozenset({"true", "false", "1", "0"}), frozenset({"true", "1"})),
}
# Label Studio exports tasks that no one has labelled, if asked to: they have no annotation. Its other columns.
_ANNOTATION, _BESIDE_ANNOTATION = "annotation_id", {"annotator", "lead_time"}


class Unlabelled:
    """The rows whose cell in some column has some value: their labels are unknown.

    `values_of` are these values by column, as text; None: those of annotation tools, if the table has their columns.
    """

    def __init__(self, table: TableFile, values_of: Mapping[str, str | Sequence[str]] | None, used: set[str]) -> None:
        if values_of is None:
            self._values = _of_tools(table, used)
        else:
            require_columns(table, "unlabelled", values_of)
            _check_one_value(table, "unlabelled", values_of)
            each = {name: [of] if isinstance(of, str) else of for name, of in values_of.items()}
            self._values = {name: frozenset(map(_key, of)) for name, of in each.items()}
        self._found: Counter[str] = Counter()
        self.columns = tuple(self._values)

    def marked(self, batch: Batch) -> Batch:
        """Return rows that know which of them are unlabelled."""
        if not self._values:
            return batch
        is_unlabelled = np.zeros(batch.n_rows, dtype=bool)
        for column, values in self._values.items():
            cells, codes = _encoded(batch.columns[column])
            self._found.update({column: 0})
            is_unlabelled |= np.array([_key(cell) in values for cell in cells], dtype=bool)[codes]
        self._found.update({"": int(is_unlabelled.sum())})
        return batch._replace(is_unlabelled=is_unlabelled)

    def check_found(self, table: TableFile, n_rows: int) -> None:
        """Raise ValueError if all rows are unlabelled."""
        if self._values and self._found[""] == n_rows:
            said = ", ".join(f"{name!r}" for name in self._values)
            raise ValueError(f"{table.path} must have rows with known labels, got none: all are unlabelled by {said}.")


def _of_tools(table: TableFile, used: set[str]) -> dict[str, frozenset[str]]:
    """Return the values for rows without labels in the columns of an annotation tool, and warn of it."""
    found: dict[str, frozenset[str]] = {}
    is_of_studio = set(table.columns) >= _BESIDE_ANNOTATION
    for name in (*_OF_TOOLS, *([_ANNOTATION] if is_of_studio else [])):
        if name not in table.columns or name in used or table.columns[name].kind not in _ONE_VALUE:
            continue
        there = {_key(cell) for batch in table.batches([name]) for cell in _seen(batch.columns[name])}
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


def _seen(array: Any) -> list[Any]:
    """Return the distinct cells, with None if one is missing."""
    cells, codes = _encoded(array)
    return [cells[code] for code in np.unique(codes).tolist()]


def _encoded(array: Any) -> tuple[list[Any], IntArray]:
    """Return the distinct cells, None among them, and the position of each row's."""
    encoded = array.dictionary_encode()
    cells = [*encoded.dictionary.to_pylist(), None]
    return cells, encoded.indices.fill_null(len(cells) - 1).to_numpy()


def _key(cell: Any) -> str:
    return "" if cell is None else as_text(cell).strip().lower()


def _check_one_value(table: TableFile, option: str, names: Sequence[str] | Mapping[str, Any]) -> None:
    for name in names:
        if table.columns[name].kind not in _ONE_VALUE:
            got = f"{name!r}, {table.columns[name].description}"
            raise ValueError(f"{option} must name columns of one value in a cell, got {got}.")


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
        if (missing := codes == len(cells) - 1).any():
            where = f"{self._table.path}, {batch.locate(int(np.argmax(missing)))}"
            raise ValueError(f"{where}: column {self.column!r} must have an id, got an empty cell.")
        values, first = np.unique(codes, return_index=True)
        n_before, numbers = len(self._numbers), np.zeros(len(cells), dtype=np.intp)
        for code in values[np.argsort(first)].tolist():
            numbers[code] = self._numbers.setdefault(as_text(cells[code]), len(self._numbers))
        rows = numbers[codes]
        self._of_rows.append(rows)
        is_new = np.zeros(batch.n_rows, dtype=bool)
        is_new[np.unique(rows, return_index=True)[1]] = True
        is_new &= rows >= n_before
        if X is not None:
            self._check_same(batch, rows, is_new, row_hashes(X))
        return is_new

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
    if extra := len(place) - len(set(places.tolist()) - {len(place)}):
        warnings.warn(f"{extra} of {len(place)} ids with labels have no row, and are left out.", stacklevel=3)
    last = sparse.csr_array(np.full((1, Y.shape[1]), absent))
    return sparse.csr_array(sparse.vstack([Y, last], format="csr")[places])


def check_not_long(table: TableFile, columns: Sequence[str], candidates: Sequence[str], X: AnyArray, Y: CSR) -> None:
    """Raise ValueError if a table has one row for each tag of an id, so that rows of an id contradict each other.

    That is so if rows with one value in another column always have the same features and different tags, one each.
    """
    carried = sparse.csr_array(Y == 1)  # others are 0 or unknown
    counts = np.diff(carried.indptr)
    if counts.max(initial=0) > 1:
        return
    tags = np.full(Y.shape[0], -1)
    tags[counts == 1] = carried.indices
    hashes = np.unique(np.array(row_hashes(X)), return_inverse=True)[1]
    if hashes.max(initial=-1) + 1 == len(hashes):
        return  # no row comes twice
    for column in candidates:
        if table.columns[column].kind not in _ONE_VALUE:
            continue
        cells = [cell for batch in table.batches([column]) for cell in batch.columns[column].to_pylist()]
        if any(cell in (None, "") for cell in cells):
            continue
        ids = np.unique(list(map(as_text, cells)), return_inverse=True)[1]
        n_ids = ids.max() + 1
        if n_ids < len(ids) and _count(ids, hashes) == n_ids and _count(ids, tags) == len(ids):
            raise ParameterError(
                "{path} must have one row for each sample, got one for each tag: rows of one {column} have the same"
                " features and different tags in {tags}. Hint: {join_by} joins them.",
                {"join_by": column},
                {"path": table.path, "column": repr(column), "tags": ", ".join(map(repr, columns))},
            )


def _count(ids: IntArray, values: IntArray) -> int:
    """Return how many different pairs there are."""
    return len(np.unique(np.column_stack([ids, values]), axis=0))
