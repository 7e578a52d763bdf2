"""Columns of tables as label sets: one column per label, or one column of tags."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from nearlabel.datasets._arff_header import NUMBER
from nearlabel.datasets._nominal import SparseRows
from nearlabel.datasets._numeric_columns import numbers
from nearlabel.datasets._table_file import Batch, CellError, TableFile, check_filled, shortened
from nearlabel.datasets._written_tags import is_answer, is_written, read_written, said
from nearlabel.utils.messages import ParameterError
from nearlabel.utils.types import CSR, BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import BLOCK_BYTES

_SEPARATORS = ("|", ",", "#", "::", " / ", "\t")  # the first is seldom a part of a tag
_CELLS_TO_GUESS_BY = 1000


class IndicatorColumns:
    """0/1 columns, one for each label; a missing cell is unknown, and one with the text `unknown`."""

    def __init__(self, table: TableFile, columns: tuple[str, ...], unknown: str | None = None) -> None:
        _check_kinds(table, columns, ("cell", "number", "text"), "0 and 1")
        self._path, self._decimal = table.path, table.decimal
        self._rows = SparseRows()
        self._words = ANSWERS if unknown is None else ANSWERS | {unknown.strip().lower(): np.nan}
        self._unknown = unknown
        self.columns = columns

    def append(self, batch: Batch) -> None:
        """Add rows."""
        Y = np.empty((batch.n_rows, len(self.columns)))
        for label, column in enumerate(self.columns):
            try:
                Y[:, label] = self._zero_one(batch.columns[column])
            except CellError as error:
                where = f"{self._path}, {batch.locate(error.row)}"
                raise not_zero_one(f"{where}: label {column!r} must be 0 or 1", str(error)) from None
        rows, labels = np.nonzero(Y)
        self._rows.append(batch.n_rows, rows, labels, Y[rows, labels])

    def labels(self) -> tuple[Matrix, tuple[str, ...]]:
        """Return Y and the columns' names."""
        return _in_its_storage(self._rows.matrix(len(self.columns))), self.columns

    def _zero_one(self, array: Any) -> FloatArray:
        """Return 0, 1 and NaN."""
        values: FloatArray = with_unknown(numbers(array, self._decimal, words=self._words), self._unknown)
        allowed = (values == 0) | (values == 1) | np.isnan(values)
        if not allowed.all():
            row = int(np.argmin(allowed))
            raise CellError(row, f"{values[row]:g}")
        return values


class TagColumn:
    """A column of lists of tags, or of text with a separator between tags.

    A missing list, and the text `unknown` as a cell or a tag, means that all other tags of the row are unknown.
    """

    def __init__(self, table: TableFile, column: str, separator: str, unknown: str | None = None) -> None:
        _check_kinds(table, (column,), ("cell", "number", "text", "texts", "numbers"), "tags")
        self._path = table.path
        self._kind = table.columns[column].kind
        self._separator = separator
        self._unknown = None if unknown is None else unknown.strip()
        self._numbers_of: dict[str | int | None, int] = {}  # None: the other tags are unknown
        self._rows = SparseRows()
        self.columns: tuple[str, ...] = (column,)

    def append(self, batch: Batch) -> None:
        """Add rows; a repeated tag counts once."""
        array = batch.columns[self.columns[0]]
        if self._kind == "cell":
            array = array.fill_null("")  # an empty cell of CSV has no tag
        try:
            rows, values = self._cells(array)
            tags = self._tags_of(batch.n_rows, rows, values)
        except CellError as error:
            where = f"{self._path}, {batch.locate(error.row)}"
            raise ValueError(f"{where}: column {self.columns[0]!r} must contain tags, got {error}.") from None
        rows, labels = self._beside_missing(array, *tags.nonzero())
        self._rows.append(batch.n_rows, rows, labels, np.ones(len(rows)))

    def labels(self) -> tuple[Matrix, tuple[str, ...]]:
        """Return Y and the tags, sorted."""
        tags = sorted(tag for tag in self._numbers_of if tag is not None)
        if not tags:
            raise ValueError(f"column {self.columns[0]!r} of {self._path} must contain at least one tag, got none.")
        said = self._rows.matrix(len(self._numbers_of))
        Y = said[:, [self._numbers_of[tag] for tag in tags]]
        if None in self._numbers_of:
            n_unknown = said[:, [self._numbers_of[None]]].nnz
            check_filled(self._path, n_unknown * len(tags), said.nnz + said.shape[0], "leave out rows of unknown tags")
            Y = with_unknown_rows(Y, said[:, [self._numbers_of[None]]].toarray().ravel())
        return _in_its_storage(Y), tuple(map(str, tags))

    def _cells(self, array: Any) -> tuple[IntArray, Any]:
        """Return the row (n_values,) of each value that exists, and the values: tags, or text of several."""
        rows, array = np.flatnonzero(array.is_valid().to_numpy(zero_copy_only=False)), array.drop_null()
        if self._kind not in ("texts", "numbers"):
            return rows, array
        is_fixed = hasattr(array.type, "list_size")
        lengths = array.type.list_size if is_fixed else array.value_lengths().to_numpy()
        rows, values = np.repeat(rows, lengths), array.flatten()
        if values.null_count:
            missing = values.is_null().to_numpy(zero_copy_only=False)
            raise CellError(int(rows[np.argmax(missing)]), "a missing value")
        return rows, values

    def _beside_missing(self, array: Any, rows: IntArray, labels: IntArray) -> tuple[IntArray, IntArray]:
        """Return (row, number of the tag) of each tag, also of None where a cell is missing, ordered by row."""
        absent = np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))
        if not absent.size:
            return rows, labels.astype(np.intp)
        number = self._numbers_of.setdefault(None, len(self._numbers_of))
        rows, labels = np.append(rows, absent), np.append(labels, np.full(len(absent), number))
        order = np.argsort(rows, kind="stable")
        return rows[order], labels[order].astype(np.intp)

    def _tags_of(self, n_rows: int, rows: IntArray, values: Any) -> CSR:
        """Return the counts (n_rows, n_tags) of the tags known so far; each distinct value is split once."""
        encoded = values.dictionary_encode()
        codes = encoded.indices.to_numpy()
        tags: list[int] = []
        ends = [0]
        for code, value in enumerate(encoded.dictionary.to_pylist()):
            try:
                tags += [self._numbers_of.setdefault(tag, len(self._numbers_of)) for tag in self._said(value)]
            except ValueError as error:
                raise CellError(int(rows[np.argmax(codes == code)]), str(error)) from None
            ends.append(len(tags))
        of_value = sparse.csr_array((np.ones(len(tags)), tags, ends), shape=(len(ends) - 1, len(self._numbers_of)))
        has_value = sparse.csr_array((np.ones(len(rows)), (rows, codes)), shape=(n_rows, len(ends) - 1))
        return has_value @ of_value

    def _said(self, value: Any) -> list[Any]:
        """Return the tags of one value, None for the text `unknown`; raise ValueError with the value."""
        if self._is_unknown(value):
            return [None]
        return [None if self._is_unknown(tag) else tag for tag in self._split(value)]

    def _is_unknown(self, value: Any) -> bool:
        return self._unknown is not None and str(value).strip() == self._unknown

    def _split(self, value: Any) -> list[Any]:
        """Return the tags of one value; raise ValueError with the value."""
        if isinstance(value, int) and not isinstance(value, bool):
            return [value]
        if not isinstance(value, str):
            raise ValueError(shortened(value))
        if self._kind == "texts":
            return [value] if value.strip() else []
        if not is_written(value):
            return [tag for part in value.split(self._separator) if (tag := part.strip())]
        try:
            each = said(read_written(value))
        except ValueError as error:
            hint = f'a list is like ["red", "blue"], or tags are joined, as in \'red{self._separator}blue\''
            raise ValueError(str(error) if "Hint: " in str(error) else f"{error}. Hint: {hint}") from None
        texts = [(tag, applies) for one, applies in each if (tag := str(one)).strip()]
        if any("\ud800" <= character <= "\udfff" for tag, _ in texts for character in tag):
            raise ValueError(f"{shortened(value)}, with half a character")
        for tag, applies in texts:
            if not applies:  # it is a label, though it may apply nowhere
                self._numbers_of.setdefault(tag, len(self._numbers_of))
        return [tag for tag, applies in texts if applies]


class IndicatorLists:
    """A column of lists of 0 and 1, all of one length: a label for each place, named by its number."""

    def __init__(self, table: TableFile, column: str, width: int) -> None:
        self._path, self._width = table.path, width
        self._rows = SparseRows()
        self.columns: tuple[str, ...] = (column,)

    def append(self, batch: Batch) -> None:
        """Add rows; a missing list means that all labels of the row are unknown."""
        marks = np.empty((batch.n_rows, self._width))
        for row, cell in enumerate(batch.columns[self.columns[0]].to_pylist()):
            marks[row] = math.nan if cell is None or cell == "" else _answers(cell)
        rows, labels = np.nonzero(marks)
        self._rows.append(batch.n_rows, rows, labels, marks[rows, labels])

    def labels(self) -> tuple[Matrix, tuple[str, ...]]:
        """Return Y and the numbers of the places."""
        return _in_its_storage(self._rows.matrix(self._width)), tuple(map(str, range(self._width)))


def width_of_indicators(table: TableFile, column: str) -> int | None:
    """Return the length of the lists if a column is one of indicators; None if it is one of tags.

    Indicators are lists of one length, of true and false, or of 0 and 1 of which some list repeats one: tags do not.
    """
    widths: set[int] = set()
    repeats = False
    for batch in table.batches([column]):
        for cell in batch.columns[column].to_pylist():
            if cell is None or cell == "":
                continue
            answers = _answers(cell)
            if not answers or len(widths | {len(answers)}) > 1:
                return None
            widths.add(len(answers))
            repeats = repeats or len(set(answers)) < len(answers) or any(isinstance(one, bool) for one in answers)
    return next(iter(widths), None) if repeats else None


def _answers(cell: Any) -> list[Any] | None:
    """Return the items of a list of true and false, or of 0 and 1; None if it is none."""
    if isinstance(cell, str):
        try:
            cell = read_written(cell) if is_written(cell) else None
        except ValueError:
            return None
    return list(cell) if isinstance(cell, list) and cell and all(map(is_answer, cell)) else None


LabelColumns: TypeAlias = IndicatorColumns | TagColumn | IndicatorLists


def guess_separator(table: TableFile, column: str) -> str | None:
    """Return what joins tags in the first cells of a column; None if nothing does, or some have a ``;``.

    That is ``|`` or ``,`` in most cells; or any usual separator in two cells or more, if most of the parts that it
    makes of these occur elsewhere, too.
    """
    if column not in table.columns or table.columns[column].kind not in ("cell", "text"):
        return None
    cells: list[str] = []
    for batch in table.batches([column]):
        cells += [cell for cell in batch.columns[column].to_pylist() if cell and not is_written(cell)]
        if len(cells) >= _CELLS_TO_GUESS_BY:
            break
    some = cells[:_CELLS_TO_GUESS_BY]
    if any(";" in cell for cell in some):
        return None
    most = (separator for separator in _SEPARATORS[:2] if 2 * sum(separator in cell for cell in some) > len(some))
    return next(most, None) or next((one for one in _SEPARATORS if _joins(one, some)), None)


def _joins(separator: str, cells: Sequence[str]) -> bool:
    joined = [cell for cell in cells if separator in cell]
    counts = Counter(part.strip() for cell in cells for part in set(cell.split(separator)))
    parts = {part.strip() for cell in joined for part in cell.split(separator)} - {""}
    return len(joined) > 1 and 2 * sum(counts[part] > 1 for part in parts) > len(parts)


def _check_kinds(table: TableFile, columns: Sequence[str], kinds: Sequence[str], what: str) -> None:
    for column in columns:
        if table.columns[column].kind not in kinds:
            got = table.columns[column].description
            raise ValueError(f"column {column!r} of {table.path} must contain {what}, got type {got}.")


def _in_its_storage(Y: CSR) -> Matrix:
    """Return labels, as CSR if a dense array would be large and nearly empty."""
    cells = Y.shape[0] * Y.shape[1]
    labels = as_stored(Y)
    return labels if 8 * cells > BLOCK_BYTES and 10 * Y.nnz < cells else labels.toarray()


# The text of a cell of a table after the labels of its row were changed.

_OPPOSITES = {"true": "false", "false": "true", "yes": "no", "no": "yes"}
_DIGIT = re.compile(r"[01]([.,]0*)?")


def zero_one_cell(old: Any, value: float, unknown: str | None) -> Any:
    """Return a cell with another value, 0, 1 or NaN, written as the cell was: as a digit, a word, or of its type.

    `unknown` is the text for NaN; None: the cell is empty.
    """
    if isinstance(old, str):
        return _zero_one_text(old, value, unknown)
    if math.isnan(value):
        return None if unknown is None else type(old)(float(unknown))
    return int(value) if old is None else type(old)(value)


def _zero_one_text(old: str, value: float, unknown: str | None) -> str:
    if math.isnan(value):
        return unknown or ""
    word = old.strip()
    opposite = _OPPOSITES.get(word.lower())
    if opposite is not None:
        same_case = str.upper if word.isupper() else str.title if word.istitle() else str.lower
        return old.replace(word, same_case(opposite))
    digit = str(int(value))
    return old.replace(word, digit + word[1:]) if _DIGIT.fullmatch(word) else digit


def tags_cell(old: Any, tags: Mapping[str, bool], separator: str) -> Any:
    """Return a cell of tags in which some, those that are True, are added, and the others removed.

    Raises
    ------
    ValueError
        If the cell cannot express that.
    """
    if old is None:
        raise ValueError("a missing value, which means that all tags are unknown")
    if isinstance(old, str):
        return _tags_text(old, tags, separator)
    if isinstance(old, list):
        return _changed(old, tags)
    changed = _changed([old], tags)
    if len(changed) != 1:
        raise ValueError(f"{shortened(old)}, which is one tag and would become {len(changed)}")
    return changed[0]


def _tags_text(old: str, tags: Mapping[str, bool], separator: str) -> str:
    if is_written(old):
        return _written_text(old.strip(), tags)
    if wrong := [tag for tag, added in tags.items() if added and separator in tag]:
        raise ValueError(f"the separator {separator!r} in the tag {wrong[0]!r}")
    parts = [part for part in old.split(separator) if part.strip()]
    space = " " if any(part.startswith(" ") for part in parts[1:]) else ""
    _check_removed({part.strip() for part in parts}, tags)
    kept = [part for part in parts if tags.get(part.strip(), True)]
    there = {part.strip() for part in kept}
    added = [space * bool(kept) + tag for tag, carried in tags.items() if carried and tag not in there]
    return separator.join([*kept, *added]).strip()


def _written_text(old: str, tags: Mapping[str, bool]) -> str:
    """Return a list, tuple or set with other tags, in its own brackets and quotes."""
    read = read_written(old)
    if not isinstance(read, list) or not all(isinstance(one, str | int) for one in read):
        raise ValueError(f"{shortened(old)}, which is no list of tags")
    changed = _changed(read, tags)
    if old.startswith("["):
        return repr(changed) if "'" in old and '"' not in old else json.dumps(changed, ensure_ascii=False)
    if old.startswith("{"):
        return f"{{{', '.join(map(repr, changed))}}}" if changed else "set()"
    return repr(tuple(changed)) if old.startswith("(") else repr(changed)


def _changed(items: list[Any], tags: Mapping[str, bool]) -> list[Any]:
    """Return a list of tags, which are texts or whole numbers, with some added and others removed."""
    _check_removed({str(item) for item in items}, tags)
    kept = [item for item in items if tags.get(str(item), True)]
    are_numbers = bool(items) and all(type(item) is int for item in items)
    there = {str(item) for item in kept}
    return [*kept, *(int(tag) if are_numbers else tag for tag, added in tags.items() if added and tag not in there)]


def _check_removed(there: Collection[str], tags: Mapping[str, bool]) -> None:
    """Raise ValueError if a tag to be removed is missing: it was unknown."""
    for tag, added in tags.items():
        if not added and tag not in there:
            raise ValueError(f"no tag {tag!r}, and cannot express that this one is known not to apply")


# The text that marks an unknown label in a file.

ANSWERS = {"yes": 1.0, "no": 0.0}
_KNOWN = {"true", "false", *ANSWERS}


def check_unknown(unknown: object, *, beside_zero_and_one: bool = False) -> None:
    """Raise TypeError unless it is None or text, ValueError if it means 0 or 1 in columns of these."""
    if unknown is None:
        return
    if not isinstance(unknown, str):
        raise TypeError(f"unknown must be text or None, got {unknown!r}. Hint: {str(unknown)!r}.")
    if beside_zero_and_one and (unknown.strip().lower() in _KNOWN or number_of(unknown) in (0, 1)):
        raise ValueError(f"unknown must be text that means neither 0 nor 1, got {unknown!r}.")


def number_of(unknown: str | None) -> float | None:
    """Return the number that the text is; None if it is none."""
    text = "" if unknown is None else unknown.strip()
    return float(text) if NUMBER.fullmatch(text) else None


def not_zero_one(problem: str, got: object) -> ValueError:
    """Return the error for a label that is neither 0 nor 1; the hint is that a text or -1 may mark an unknown label."""
    text = f"{got:g}" if isinstance(got, float) else str(got)
    may_stand = text.strip("'\"") if text == "-1" or text[:1] in "'\"" else None
    if may_stand is None:
        return ValueError(f"{problem}, got {text}.")
    hint = "{problem}, got {got}. Hint: {unknown}, if it marks an unknown label."
    return ParameterError(hint, {"unknown": may_stand}, {"problem": problem, "got": text})


def with_unknown(values: Matrix, unknown: str | None) -> Matrix:
    """Return numbers with NaN in place of the one that the text is."""
    number = number_of(unknown)
    if number is None:
        return values
    if not sparse.issparse(values):
        return np.where(values == number, math.nan, values)
    data = np.where(values.data == number, math.nan, values.data)
    return sparse.csr_array((data, values.indices, values.indptr), shape=values.shape)


def with_unknown_rows(labels: CSR, is_unknown: BoolArray) -> CSR:
    """Return label sets of 0 and 1 in which all labels that some rows (n_rows,) do not carry are unknown: NaN."""
    rows = np.flatnonzero(is_unknown)
    within, columns = np.nonzero(labels[rows].toarray() == 0)
    nan = np.full(len(within), math.nan)
    return sparse.csr_array(labels + sparse.csr_array((nan, (rows[within], columns)), shape=labels.shape))


def as_stored(Y: Matrix) -> Matrix:
    """Return int64 labels, or float64 if one is unknown."""
    return Y if np.isnan(Y.data if sparse.issparse(Y) else Y).any() else Y.astype(np.int64)
