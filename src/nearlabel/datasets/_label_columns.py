"""Columns of tables as label sets: a column for each label, columns of tags, or lists of 0 and 1."""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from nearlabel.datasets._label_codes import (
    Codes,
    changed_cell,
    distinct_values,
    known_pair,
    not_codes,
    with_unknown_rows,
)
from nearlabel.datasets._label_lists import IndicatorLists, width_of_indicators
from nearlabel.datasets._label_options import (
    Edit,
    Edits,
    LabelChange,
    LabelOptions,
    some_cells,
    tell_of_separator,
)
from nearlabel.datasets._nominal import SparseRows
from nearlabel.datasets._numeric_columns import WITH_COMMA
from nearlabel.datasets._table_file import Batch, CellError, TableFile, check_filled, shortened
from nearlabel.datasets._written_tags import (
    Notation,
    UnclearTagsError,
    changed_tags,
)
from nearlabel.utils.messages import ParameterError, ParameterWarning
from nearlabel.utils.types import CSR, IntArray

_LARGEST_EXACT = 2**53  # integers beyond are rounded in floats
MISSING_TAGS = ("nan", "NaN", "NaT", "<NA>", "NA", "N/A", "None", "NULL", "null")  # as programs write a missing cell


class IndicatorColumns:
    """0/1 columns, one for each label; a missing cell is unknown."""

    def __init__(self, table: TableFile, columns: tuple[str, ...], codes: Codes) -> None:
        _check_kinds(table, columns, ("cell", "number", "text"), "0 and 1")
        self._table, self._codes = table, codes
        self._rows = SparseRows()
        self._may_be_coded = codes.negative is None
        self.columns = columns

    def append(self, batch: Batch) -> None:
        """Add rows."""
        Y = np.empty((batch.n_rows, len(self.columns)))
        for label, column in enumerate(self.columns):
            try:
                Y[:, label] = self._codes.values(batch.columns[column], self._table.decimal)
            except CellError as error:
                where = f"{self._table.path}, {batch.locate(error.row)}"
                self._codes = self._guessed(f"{where}: label {column!r} must be 0 or 1", str(error))
                Y[:, label] = self._codes.values(batch.columns[column], self._table.decimal)
        if batch.is_unlabelled is not None:
            Y[batch.is_unlabelled] = np.nan
            self._may_be_coded = False
        rows, labels = np.nonzero(Y)
        self._rows.append(batch.n_rows, rows, labels, Y[rows, labels])

    def labels(self) -> tuple[CSR, tuple[str, ...]]:
        """Return Y and the columns' names; warn if all labels are 1 or unknown."""
        Y = self._rows.matrix(len(self.columns))
        if self._may_be_coded and Y.nnz == Y.shape[0] * Y.shape[1] > np.count_nonzero(Y.data == 1) > 0:
            template = (
                "No label is known not to apply: all are 1 or missing. Hint: if empty means no: {negative} {positive}."
            )
            warnings.warn(ParameterWarning(template, {"negative": "", "positive": "1"}), stacklevel=2)
        return Y, self.columns

    def edits(self, changes: Iterable[LabelChange]) -> Edits:
        """Return what changes the cells of some labels."""
        codes = self._codes
        if codes.negative is None and (pair := known_pair(distinct_values(self._table, self.columns, codes.unknown))):
            codes = codes._replace(negative=pair[0], positive=pair[1])
        edits: dict[str, dict[int, Edit]] = defaultdict(dict)
        for row, label, value in changes:
            edits[label][row] = partial(changed_cell, value=value, codes=codes)
        return edits

    def _guessed(self, problem: str, got: str) -> Codes:
        """Return the codes that all label columns have, if their meaning is certain; raise ValueError otherwise."""
        codes = self._codes
        if codes.negative is not None:
            raise ValueError(f"{problem.removesuffix('0 or 1')}{codes.negative!r} or {codes.positive!r}, got {got}.")
        if self._table.decimal == "." and WITH_COMMA.fullmatch(got):
            hint = "{problem}, got {got}. Hint: {decimal} reads such decimals."
            raise ParameterError(hint, {"decimal": ","}, {"problem": problem, "got": got})
        values = distinct_values(self._table, self.columns, codes.unknown)
        pair = known_pair(values)
        if pair is None:
            raise not_codes(problem, got, values, self.columns)
        warnings.warn(
            ParameterWarning(
                "Labels do not apply where a cell is {no}, and apply where it is {yes}. Hint: {negative} and {positive}"
                " set others.",
                dict.fromkeys(("negative", "positive")),
                {"no": repr(pair[0]), "yes": repr(pair[1])},
            ),
            stacklevel=2,
        )
        return codes._replace(negative=pair[0], positive=pair[1])


_NEEDS_NO_TAG = ContextVar("_NEEDS_NO_TAG", default=False)


@contextmanager
def needing_no_tag() -> Iterator[None]:
    """Accept columns of tags in which no row has a tag: of samples for a model, which knows its labels."""
    token = _NEEDS_NO_TAG.set(True)
    try:
        yield
    finally:
        _NEEDS_NO_TAG.reset(token)


class _UnknownTag(NamedTuple):
    """A tag for which an object has neither yes nor no."""

    tag: Any


class TagColumns:
    """Columns of tags: lists, or text in a `Notation`; of several columns, a row has the tags of all.

    A missing list in the only column, and the text `unknown` as a cell or a tag, mean that all other tags of the row
    are unknown; its number is that of None. If a row is one of several of an id, a missing cell is no tag.
    """

    def __init__(
        self,
        table: TableFile,
        columns: tuple[str, ...],
        notation: Notation,
        unknown: str | None = None,
        *,
        is_long: bool = False,
    ) -> None:
        _check_kinds(table, columns, ("cell", "number", "text", "texts", "numbers"), "tags")
        self._path, self._notation, self._may_lack = table.path, notation, is_long or len(columns) > 1
        self._kinds = {column: table.columns[column].kind for column in columns}
        self._classes = {column: table.class_names(column) for column in columns}
        self._are_numbers = set(self._kinds.values()) <= {"number", "numbers"}
        self._unknown = None if unknown is None else notation.plain(unknown)
        self._guesses = {name for name, kind in self._kinds.items() if kind == "text" and table.has_plain_texts(name)}
        self._n_missing = 0  # of these
        names = {name for of_column in self._classes.values() for name in of_column or ()}
        self._numbers_of: dict[Any, int] = {name: number for number, name in enumerate(sorted(names))}
        self._number_of_part: dict[str, int] = {}
        self._rows = SparseRows()
        self.columns = columns

    def append(self, batch: Batch) -> None:
        """Add rows; a repeated tag counts once."""
        hidden = batch.is_unlabelled
        said = [self._said_in(batch, column) for column in self.columns]
        rows, labels = (np.concatenate(parts) for parts in zip(*said, strict=True))
        if hidden is not None:
            known, unlabelled = ~hidden[rows], np.flatnonzero(hidden)
            rows, labels = np.append(rows[known], unlabelled), np.append(labels[known], self._all_unknown(unlabelled))
        if len(said) > 1 or hidden is not None or (rows[1:] < rows[:-1]).any():
            shape = batch.n_rows, len(self._numbers_of)
            rows, labels = sparse.csr_array((np.ones(len(rows)), (rows, labels)), shape=shape).nonzero()
        self._rows.append(batch.n_rows, rows, labels, np.ones(len(rows)))

    def labels(self) -> tuple[CSR, tuple[str, ...]]:
        """Return Y and the tags, sorted."""
        tags = sorted(tag for tag in self._numbers_of if not (tag is None or isinstance(tag, _UnknownTag)))
        where = f"{'column' if len(self.columns) == 1 else 'columns'} {', '.join(map(repr, self.columns))}"
        if not (tags or self._numbers_of) and _NEEDS_NO_TAG.get():
            return self._rows.matrix(0), ()
        if not tags:
            raise ValueError(f"{where} of {self._path} must contain at least one tag, got none.")
        said = self._rows.matrix(len(self._numbers_of))
        Y = said[:, [self._numbers_of[tag] for tag in tags]]
        if self._n_missing and self._unknown is None:
            template = "{n} missing texts in {where} are read as no tag. Hint: {unknown} makes their labels unknown."
            values = {"n": self._n_missing, "where": where}
            warnings.warn(ParameterWarning(template, {"unknown": ""}, values), stacklevel=2)
        nothing = {self._notation.plain(text) for text in MISSING_TAGS}
        _tell_of_nothing(where, {tag: Y[:, [place]].nnz for place, tag in enumerate(tags) if tag in nothing})
        Y = self._with_unknown_tags(Y, said, tags)
        if None in self._numbers_of:
            n_unknown = said[:, [self._numbers_of[None]]].nnz
            check_filled(self._path, n_unknown * len(tags), said.nnz + said.shape[0], "leave out rows of unknown tags")
            Y = with_unknown_rows(Y, said[:, [self._numbers_of[None]]].toarray().ravel())
        return Y, tuple(map(str, tags))

    def _with_unknown_tags(self, Y: CSR, said: CSR, tags: Sequence[Any]) -> CSR:
        """Return label sets in which tags that are unknown, and that no cell of the row has, are NaN."""
        unknown = [tag for tag in self._numbers_of if isinstance(tag, _UnknownTag)]
        if not unknown:
            return Y
        rows, which = said[:, [self._numbers_of[tag] for tag in unknown]].nonzero()
        place = {tag: place for place, tag in enumerate(tags)}
        labels = np.array([place[one.tag] for one in unknown])[which]
        marked = sparse.csr_array((np.ones(len(rows)), (rows, labels)), shape=Y.shape)
        marked = sparse.csr_array((marked > Y).astype(np.float64))
        marked.data[:] = math.nan
        return sparse.csr_array(Y + marked)

    def edits(self, changes: Iterable[LabelChange]) -> Edits:
        """Return what changes the cells of some rows; raise ValueError if tags cannot express a change."""
        if len(self.columns) > 1:
            raise ValueError(f"corrections must go to one column of tags, got {len(self.columns)}. Hint: --out X.npz.")
        tags: dict[int, dict[str, bool]] = defaultdict(dict)
        for row, label, value in changes:
            if math.isnan(value):
                problem = "corrections must be 0 or 1 where labels are tags"
                raise ValueError(f"{problem}, got ? for row {row}, label {label!r}.")
            tags[row][label] = value == 1
        return {self.columns[0]: {row: partial(self._edited, row=row, tags=of_row) for row, of_row in tags.items()}}

    def _edited(self, old: Any, row: int, tags: Mapping[str, bool]) -> Any:
        try:
            if old == [] and self._kinds[self.columns[0]] == "text":  # elsewhere are objects
                raise ValueError("an empty list, where other lists are of objects")
            return changed_tags(old, tags, self._notation)
        except ValueError as error:
            where = f"{self._path}, row {row}: column {self.columns[0]!r}"
            raise ValueError(f"{where} must take corrections, got {error}.") from None

    def _said_in(self, batch: Batch, column: str) -> tuple[IntArray, IntArray]:
        """Return (row, number of the tag) of each tag in a column; a tag may come twice."""
        array = batch.columns[column]
        if self._kinds[column] == "cell" or column in self._guesses:
            self._n_missing += array.null_count * (column in self._guesses and not self._may_lack)
            array = array.fill_null("")  # an empty cell of CSV has no tag
        try:
            rows, values = self._cells(array, column)
            rows, labels = self._tags_of(batch.n_rows, rows, values, column)
        except CellError as error:
            raise self._refused(f"{self._path}, {batch.locate(error.row)}", column, error) from error.__cause__
        absent = np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))
        if not absent.size or self._may_lack:
            return rows, labels
        return np.append(rows, absent), np.append(labels, self._all_unknown(absent))

    def _all_unknown(self, rows: IntArray) -> IntArray:
        """Return the number of None, for unknown tags, for each of some rows."""
        return np.full(len(rows), self._numbers_of.setdefault(None, len(self._numbers_of)) if len(rows) else 0)

    def _refused(self, where: str, column: str, error: CellError) -> ValueError:
        problem, cause = f"{where}: column {column!r} must contain tags, got {error}.", error.__cause__
        if not isinstance(cause, UnclearTagsError) or not cause.hint:
            return ValueError(problem)
        return ParameterError(f"{{problem}} Hint: {cause.hint}.", cause.parameters, {"problem": problem})

    def _cells(self, array: Any, column: str) -> tuple[IntArray, Any]:
        """Return the row (n_values,) of each value that exists, and the values: tags, or text of several."""
        rows, array = np.flatnonzero(array.is_valid().to_numpy(zero_copy_only=False)), array.drop_null()
        if self._kinds[column] not in ("texts", "numbers"):
            return rows, array
        is_fixed = hasattr(array.type, "list_size")
        lengths = array.type.list_size if is_fixed else array.value_lengths().to_numpy()
        rows, values = np.repeat(rows, lengths), array.flatten()
        if values.null_count:
            missing = values.is_null().to_numpy(zero_copy_only=False)
            raise CellError(int(rows[np.argmax(missing)]), "a missing value")
        return rows, values

    def _tags_of(self, n_rows: int, rows: IntArray, values: Any, column: str) -> tuple[IntArray, IntArray]:
        """Return (row, number of the tag) of the tags in values; each distinct value is split once."""
        encoded = values.dictionary_encode()
        codes = encoded.indices.to_numpy()
        tags: list[int] = []
        ends = [0]
        for code, value in enumerate(encoded.dictionary.to_pylist()):
            try:
                tags += self._numbers_in(value, column)
            except ValueError as error:
                raise CellError(int(rows[np.argmax(codes == code)]), str(error)) from error
            ends.append(len(tags))
        of_value = sparse.csr_array((np.ones(len(tags)), tags, ends), shape=(len(ends) - 1, len(self._numbers_of)))
        has_value = sparse.csr_array((np.ones(len(rows)), (rows, codes)), shape=(n_rows, len(ends) - 1))
        of_row, labels = (has_value @ of_value).nonzero()
        return of_row.astype(np.intp), labels.astype(np.intp)

    def _numbers_in(self, value: Any, column: str) -> list[int]:
        """Return the numbers of the tags of one value; raise ValueError with the value."""
        parts = self._notation.joined(value) if self._kinds[column] in ("cell", "text") else None
        if parts is None or self._is_unknown(value):
            return [self._number_of(tag) for tag in self._said(value, column)]
        known = self._number_of_part
        numbers = [known[part] if part in known else self._added(part) for part in parts]
        return numbers if min(numbers) >= 0 else [number for number in numbers if number >= 0]

    def _added(self, part: str) -> int:
        """Return the number of a tag as a cell has it, -1 for blanks; it is looked up from now on."""
        tag = self._notation.plain(part)
        number = self._number_of(None if tag == self._unknown else tag) if tag else -1
        self._number_of_part[part] = number
        return number

    def _number_of(self, tag: Any) -> int:
        return self._numbers_of.setdefault(tag, len(self._numbers_of))

    def _said(self, value: Any, column: str) -> list[Any]:
        """Return the tags of one value, None for the text `unknown`; raise ValueError with the value."""
        if self._is_unknown(value):
            return [None]
        return [None if self._is_unknown(tag) else tag for tag in self._split(value, column)]

    def _is_unknown(self, value: Any) -> bool:
        return self._unknown is not None and self._notation.plain(str(value)) == self._unknown

    def _split(self, value: Any, column: str) -> list[Any]:
        """Return the tags of one value; raise ValueError with the value."""
        if isinstance(value, float) and value.is_integer() and abs(value) <= _LARGEST_EXACT:
            value = int(value)  # as pandas has integers in a column with missing cells
        if isinstance(value, int) and not isinstance(value, bool):
            return [
                tag if tag is None or self._are_numbers else str(tag) for tag in _class_of(value, self._classes[column])
            ]
        if not isinstance(value, str):
            raise UnclearTagsError(shortened(value))
        if self._kinds[column] == "texts":
            tag = self._notation.plain(value)
            return [tag] if tag else []
        said = self._notation.said(value)
        for tag, applies in said:
            if not applies:  # it is a label, though it may apply nowhere
                self._number_of(tag)
        return [tag if applies else _UnknownTag(tag) for tag, applies in said if applies is not False]


def _class_of(number: int, classes: Sequence[str] | None) -> list[Any]:
    """Return the tag with a number: the number itself, or the name of a class; -1 is no known class."""
    if classes is None:
        return [number]
    if not -1 <= number < len(classes):
        raise UnclearTagsError(f"{number}, though the file names {len(classes)} classes")
    return [classes[number] if number >= 0 else None]


def _tell_of_nothing(where: str, rows_of: Mapping[str, int]) -> None:
    """Warn of tags that programs write for a missing cell."""
    if rows_of:
        rows = ", ".join(f"{tag!r} ({n_rows} row{'' if n_rows == 1 else 's'})" for tag, n_rows in rows_of.items())
        template = "Tags in {where} may be missing cells: {rows}. Hint: {unknown} makes labels of such rows unknown."
        values = {"where": where, "rows": rows}
        warnings.warn(ParameterWarning(template, {"unknown": next(iter(rows_of))}, values), stacklevel=2)


LabelColumns: TypeAlias = IndicatorColumns | TagColumns | IndicatorLists


def tag_columns(
    table: TableFile, columns: tuple[str, ...], options: LabelOptions, *, is_long: bool
) -> TagColumns | IndicatorLists:
    """Return columns of tags, or one of lists of 0 and 1, if the caller names its places or it can be nothing else."""
    names = options.label_names
    if len(columns) == 1 and (width := width_of_indicators(table, columns[0], options)) is not None:
        return IndicatorLists(columns[0], width, options)
    if names is not None:
        raise ValueError(f"label_names must go with lists of 0 and 1 of one length, got others in {columns[0]!r}.")
    cells = some_cells(table, columns)
    notation = options.notation(cells)
    if options.labels_separator is None:
        tell_of_separator(notation.separator, cells)
    return TagColumns(table, columns, notation, options.unknown, is_long=is_long)


def _check_kinds(table: TableFile, columns: Sequence[str], kinds: Sequence[str], what: str) -> None:
    for column in columns:
        if table.columns[column].kind not in kinds:
            got = table.columns[column].description
            raise ValueError(f"column {column!r} of {table.path} must contain {what}, got type {got}.")
