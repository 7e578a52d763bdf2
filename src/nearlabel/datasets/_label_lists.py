"""A column of lists of 0 and 1, all of one length: a label for each place."""

from __future__ import annotations

import json
import math
import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from nearlabel.datasets._label_codes import ANSWERS, Codes, changed_cell, number_of, with_unknown
from nearlabel.datasets._label_options import Edits, LabelChange, LabelOptions
from nearlabel.datasets._nominal import SparseRows
from nearlabel.datasets._numeric_columns import numbers
from nearlabel.datasets._table_file import Batch, CellError, TableFile, kind_of, shortened
from nearlabel.datasets._written_tags import is_written, read_written
from nearlabel.utils.messages import ParameterError, ParameterWarning
from nearlabel.utils.types import CSR, FloatArray, IntArray

_WORDS = {"true": 1.0, "false": 0.0, **ANSWERS}
_CODES = (-1.0, 0.0, 1.0, 2.0)  # that may mean unknown, no and yes
_JOINED = re.compile(r"[01](?:[\s,;|]++[01])++", re.ASCII)  # 0 1 1, 0,1,1
_DIGITS = re.compile(r"[01]{3,}+", re.ASCII)  # 011
_DIGIT = re.compile("[01]")
_ITEM = re.compile(r"-?\b(?:[01]\.?0*+|true|false|yes|no|nan|none|null)\b", re.ASCII | re.IGNORECASE)


class IndicatorLists:
    """Lists of 0 and 1, in which a missing place is unknown; a missing list means that all labels of a row are."""

    def __init__(self, column: str, width: int, options: LabelOptions) -> None:
        names = options.label_names
        if names is not None and len(names) != width:
            raise ValueError(f"label_names must be {width} names, one for each place, got {len(names)}.")
        self._names = tuple(map(str, range(width))) if names is None else tuple(names)
        self._rows = SparseRows()
        self._options = options
        self.columns: tuple[str, ...] = (column,)
        if names is None:
            template = "Each cell of {column} is a list of {width} times 0 or 1, read as labels 0 to {last}. Hint:"
            values = {"column": repr(column), "width": width, "last": width - 1}
            warnings.warn(ParameterWarning(template + " {label_names}.", {"label_names": None}, values), stacklevel=3)

    def append(self, batch: Batch) -> None:
        """Add rows."""
        marks = np.full((batch.n_rows, len(self._names)), math.nan)
        found = _lists_in(batch.columns[self.columns[0]], self._options)
        assert found is not None, "the whole column was looked at"
        marks[found.rows] = found.values.reshape(len(found.rows), len(self._names))
        if batch.is_unlabelled is not None:
            marks[batch.is_unlabelled] = math.nan
        rows, labels = np.nonzero(marks)
        self._rows.append(batch.n_rows, rows, labels, marks[rows, labels])

    def labels(self) -> tuple[CSR, tuple[str, ...]]:
        """Return Y and the names of the places."""
        return self._rows.matrix(len(self._names)), self._names

    def edits(self, changes: Iterable[LabelChange]) -> Edits:
        """Return what changes the places of some rows."""
        of_rows: dict[int, dict[int, float]] = defaultdict(dict)
        for row, label, value in changes:
            if math.isnan(value):
                raise ValueError("corrections must be 0 or 1 where labels are lists of these, got ?.")
            of_rows[row][self._names.index(label)] = value
        return {self.columns[0]: {row: partial(_edited_list, values=values) for row, values in of_rows.items()}}


def _edited_list(old: Any, values: Mapping[int, float]) -> Any:
    """Return a list of 0 and 1, or its text, with other values in some places."""
    try:
        items = _items_in(old)
        before = list(map(_number, items))
    except ValueError:
        raise ValueError(f"corrections must go to a list of 0 and 1, got {shortened(old)}.") from None
    pattern = _DIGIT if isinstance(old, str) and _DIGITS.fullmatch(old.strip()) else _ITEM
    written = list(pattern.finditer(old)) if isinstance(old, str) else []
    if len(written) == len(items):
        items = [found[0] for found in written]
    for place, value in values.items():
        if before[place] != value:
            items[place] = changed_cell(items[place], value, Codes())
    if not isinstance(old, str):
        return items
    if len(written) != len(items):
        return json.dumps(items)
    ends = [0, *(found.end() for found in written)]
    between = [old[end : found.start()] for end, found in zip(ends, written, strict=False)]
    return "".join(text + item for text, item in zip(between, items, strict=True)) + old[ends[-1] :]


# The numbers in lists.


class _Lists(NamedTuple):
    """Lists of numbers: their rows and lengths (n_lists,), and all numbers.

    With `are_answers` some are true, false or missing, which tags are not. `digits` are the first of texts of digits.
    """

    rows: IntArray
    lengths: IntArray
    values: FloatArray
    are_answers: bool
    digits: frozenset[str] = frozenset()


def width_of_indicators(table: TableFile, column: str, options: LabelOptions) -> int | None:
    """Return the length of the lists if a column is one of indicators; None if it is one of tags.

    Indicators are lists of one length, of true and false, or of 0 and 1 of which some list repeats one: tags do not. If
    the caller names the places, none need do so. Lists of other codes, of which some repeat one, are an error.
    """
    if table.class_names(column) is not None:
        return None
    lengths: set[int] = set()
    codes: set[float] = set()
    digits: set[str] = set()
    repeat = options.label_names is not None
    for batch in table.batches([column]):
        found = _lists_in(batch.columns[column], options)
        if found is None:
            return None
        counts = {code: np.count_nonzero(found.values == code) for code in _CODES}
        if sum(counts.values()) < np.count_nonzero(~np.isnan(found.values)):
            return None
        codes |= {code for code, count in counts.items() if count}
        lengths |= set(np.unique(found.lengths).tolist())
        digits |= found.digits
        repeat = repeat or found.are_answers or _some_repeat(found)
    if not codes or not repeat or digits == {"1"}:  # numbers, of which none begins with 0
        return None
    if codes <= {0, 1} and len(lengths) == 1:
        return lengths.pop()
    if options.label_names is None and not digits and _are_codes(codes, lengths):
        raise _unclear(table, column, codes, lengths)
    return None


def _some_repeat(found: _Lists) -> bool:
    if found.lengths.max(initial=0) > len(_CODES):
        return True
    places = np.repeat(np.arange(len(found.lengths)), found.lengths) * len(_CODES) + found.values.astype(np.intp) + 1
    return len(np.unique(places)) < len(places)


def _are_codes(codes: set[float], lengths: set[int]) -> bool:
    """Return whether lists, of which some repeat a number, are hardly of tags."""
    return codes <= {0, 1} or (len(lengths) == 1 and (codes <= {-1, 0, 1} or codes <= {1, 2}))


def _unclear(table: TableFile, column: str, codes: set[float], lengths: set[int]) -> ValueError:
    problem = f"column {column!r} of {table.path} must contain tags, or lists of 0 and 1 of one length, got lists"
    problem += f" of {', '.join(f'{code:g}' for code in sorted(codes))}, some more than once"
    if len(lengths) > 1:
        return ValueError(f"{problem}, of {min(lengths)} to {max(lengths)} numbers.")
    if codes == {-1, 0, 1}:
        return ParameterError(
            "{problem}. Hint: {unknown}, if it marks unknown labels.", {"unknown": "-1"}, {"problem": problem}
        )
    return ValueError(f"{problem}. Hint: write 0 for no and 1 for yes.")


def _lists_in(array: Any, options: LabelOptions) -> _Lists | None:
    """Return the lists of numbers in an array; None if some value is something else."""
    rows, array = np.flatnonzero(array.is_valid().to_numpy(zero_copy_only=False)), array.drop_null()
    kind = kind_of(array.type)
    if kind == "text":
        return _lists_in_texts(rows, array, options)
    if kind not in ("numbers", "texts"):
        return None
    items, is_fixed = array.flatten(), hasattr(array.type, "list_size")
    lengths = np.full(len(rows), array.type.list_size) if is_fixed else array.value_lengths().to_numpy()
    try:
        numbers(items.slice(0, 1), words=ANSWERS)  # of tags, the first one is not
        values = with_unknown(numbers(items, words=ANSWERS), options.unknown)
    except CellError:
        return None
    are_answers = str(array.type.value_type) == "bool" or bool(np.isnan(values).any())
    return _Lists(rows, lengths, values, are_answers)


def _lists_in_texts(rows: IntArray, array: Any, options: LabelOptions) -> _Lists | None:
    """Return the lists of numbers that texts are; if their lengths differ, each distinct one once."""
    encoded = array.dictionary_encode()
    texts, codes = encoded.dictionary.to_pylist(), encoded.indices.to_numpy()
    is_there = np.array([bool(text.strip()) for text in texts], dtype=bool)[codes]
    rows, codes = rows[is_there], codes[is_there]
    lists: list[list[float]] = []
    are_answers = False
    try:
        for text in texts:
            items = _items_in(text, may_be_joined=options.labels_separator is None) if text.strip() else []
            lists.append([_number(item, options.unknown) for item in items])
            are_answers = are_answers or any(isinstance(item, bool) or item is None for item in items)
    except ValueError:
        return None
    digits = frozenset(text.strip()[0] for text in texts if _DIGITS.fullmatch(text.strip()))
    there, places = np.unique(codes, return_inverse=True)
    each = [lists[code] for code in there.tolist()]
    lengths = np.array([len(one) for one in each], dtype=np.intp)
    if len(set(lengths.tolist())) > 1:
        return _Lists(rows, lengths, np.concatenate(each), are_answers, digits)
    return _Lists(rows, lengths[places], np.array(each)[places].ravel(), are_answers, digits)


def _items_in(cell: Any, *, may_be_joined: bool = True) -> list[Any]:
    """Return the items of a list or its text, or digits that are joined; raise ValueError if it is none of these."""
    if isinstance(cell, str):
        text = cell.strip()
        if may_be_joined and (_DIGITS.fullmatch(text) or _JOINED.fullmatch(text)):
            return _DIGIT.findall(text)
        cell = read_written(text) if is_written(text) else None
    if not isinstance(cell, list):
        raise ValueError("no list")
    return list(cell)


def _number(item: Any, unknown: str | None = None) -> float:
    """Return an item as a number that may be a code, NaN if it is missing; raise ValueError for any other."""
    if item is None or item != item:
        return math.nan
    if isinstance(item, str):
        word = item.strip().lower()
        item = _WORDS[word] if word in _WORDS else number_of(word)
    if isinstance(item, bool | int | float) and item in _CODES:
        return math.nan if unknown is not None and number_of(unknown) == item else float(item)
    raise ValueError("no code")
