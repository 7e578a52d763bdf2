"""Columns of tables as label sets: one column per label, or one column of tags."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from nearlabel.datasets._numeric_columns import numbers
from nearlabel.datasets._row_store import SparseRows
from nearlabel.datasets._table_file import Batch, CellError, TableFile, check_filled, shortened
from nearlabel.datasets._unknown import (
    ANSWERS,
    as_stored,
    check_beside_zero_and_one,
    not_zero_one,
    with_unknown,
    with_unknown_rows,
)
from nearlabel.utils.blocks import BLOCK_BYTES
from nearlabel.utils.types import CSR, FloatArray, IntArray, Matrix

# Text that looks like a list of texts or whole numbers; and a list as Python writes it, with the commas, without which
# Python would join two texts.
WRITTEN_LIST = re.compile(r"\s*+\[\s*+(?:['\"].*|\d[\d\s,]*+)?\]\s*+", re.DOTALL)
_PYTHON_TEXT = r"(?:'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\")"
_TEXT_OF_PYTHON = re.compile(_PYTHON_TEXT, re.DOTALL)
_PYTHON_LIST = re.compile(rf"\[\s*+{_PYTHON_TEXT}\s*+(?:,\s*+{_PYTHON_TEXT}\s*+)*+(?:,\s*+)?\]", re.DOTALL)
_SEPARATORS = ("|", ",")  # the first is seldom a part of a tag
_CELLS_TO_GUESS_BY = 1000


class LabelSource(Protocol):
    """Reads Y from the rows of a table."""

    columns: tuple[str, ...]

    def append(self, batch: Batch) -> None:
        """Add rows."""
        ...

    def labels(self) -> tuple[Matrix, tuple[str, ...]]:
        """Return Y (n_rows, n_labels) and the names of the labels."""
        ...


class IndicatorColumns:
    """0/1 columns, one for each label; a missing cell is unknown, and one with the text `unknown`."""

    def __init__(self, table: TableFile, columns: tuple[str, ...], unknown: str | None = None) -> None:
        check_beside_zero_and_one(unknown)
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
        _check_present(values, rows)
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
        if WRITTEN_LIST.fullmatch(value):
            return _tags_of_list(value, self._separator)
        return [tag for part in value.split(self._separator) if (tag := part.strip())]


def _tags_of_list(text: str, separator: str) -> list[str]:
    """Return the tags of a list as JSON or Python writes it; raise ValueError with the text."""
    tags = parsed_list(text.strip())
    if not all(isinstance(tag, str) or type(tag) is int for tag in tags):
        hint = f'Hint: a list is like ["red", "blue"], or tags are joined, as in \'red{separator}blue\''
        raise ValueError(f"{shortened(text)}. {hint}")
    texts = [tag for one in tags if (tag := str(one)).strip()]
    if any("\ud800" <= character <= "\udfff" for tag in texts for character in tag):
        raise ValueError(f"{shortened(text)}, with half a character")
    return texts


def parsed_list(text: str) -> list[Any]:
    """Return a list as JSON or Python writes it; one with None where it is neither."""
    with suppress(ValueError, RecursionError, MemoryError):
        tags = json.loads(text)
        return tags if isinstance(tags, list) else [None]
    if not _PYTHON_LIST.fullmatch(text):
        return [None]
    with suppress(ValueError, SyntaxError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on a backslash that escapes nothing
        # One after the other: Python would make a tree of a long list, of a hundred times its size.
        return [ast.literal_eval(one) for one in _TEXT_OF_PYTHON.findall(text)]
    return [None]


def guess_separator(table: TableFile, column: str) -> str | None:
    """Return what most of the first cells of tags contain, ``|`` or ``,``; None if neither, or some have a ``;``."""
    if column not in table.columns or table.columns[column].kind not in ("cell", "text"):
        return None
    cells: list[str] = []
    for batch in table.batches([column]):
        cells += [cell for cell in batch.columns[column].to_pylist() if cell and not WRITTEN_LIST.fullmatch(cell)]
        if len(cells) >= _CELLS_TO_GUESS_BY:
            break
    some = cells[:_CELLS_TO_GUESS_BY]
    if any(";" in cell for cell in some):
        return None
    most = (separator for separator in _SEPARATORS if 2 * sum(separator in cell for cell in some) > len(some))
    return next(most, None)


def _check_present(values: Any, rows: IntArray) -> None:
    if values.null_count:
        missing = values.is_null().to_numpy(zero_copy_only=False)
        raise CellError(int(rows[np.argmax(missing)]), "a missing value")


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
