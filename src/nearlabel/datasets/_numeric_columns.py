"""The features of tables: cells as numbers, categories, texts or dates, and the probable kind of a column."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from nearlabel.datasets._table_file import (
    EXACT,
    NOT_EXACT,
    Batch,
    CellError,
    Kind,
    NotExactError,
    TableFile,
    columns_hint,
    is_exact,
    kind_of,
    pyarrow,
    shortened,
)
from nearlabel.utils.containers import date_of
from nearlabel.utils.messages import ParameterError, first_of
from nearlabel.utils.types import AnyArray, FloatArray, IntArray

FeatureKind: TypeAlias = Literal["number", "category", "text", "date"]
Kinds: TypeAlias = Mapping[str, FeatureKind]  # of features, by name; those left out are numbers
Cells: TypeAlias = AnyArray  # of objects
MISSING_WORDS = ("", "na", "n/a", "nan", "null", "none")
_WORDS = {"true": 1.0, "false": 0.0} | dict.fromkeys(MISSING_WORDS, np.nan)
_LONGEST_NAME, _LONGEST_PROBLEM = 200, 1000  # characters
_SWAP = str.maketrans(".,", ",.")
WITH_COMMA = re.compile(r"'\s*+[-+]?+\d*+,\d++(?:[eE][-+]?+\d++)?+\s*+'")
# Possessive: a text of many digits that is no number must not be tried at each digit.
_NUMBER = re.compile(r"[-+]?+(?:(?:\d++\.?+\d*+|\.\d++)(?:e[-+]?+\d++)?+|inf|infinity)")
_ELEMENT = re.compile(r"(.+)\[(0|[1-9]\d*)\]", re.DOTALL)


def numbers(array: Any, decimal: str = ".", words: dict[str, float] | None = None) -> FloatArray:
    """Return numbers, booleans and text of either as float64, a missing cell as NaN; raise CellError for others.

    In text, `decimal` precedes the decimals, and `words` are numbers, too.
    """
    is_swapped = decimal != "." and kind_of(array.type) == "text"
    try:
        return _cast(_swapped(array) if is_swapped else array, words or {})
    except CellError as error:
        raise type(error)(error.row, str(error).translate(_SWAP) if is_swapped else str(error)) from None


def _swapped(array: Any) -> Any:
    """Return text with points for its commas and commas for its points."""
    compute = pyarrow().compute
    for old, new in ((".", "\0"), (",", "."), ("\0", ",")):
        array = compute.replace_substring(array, old, new)
    return array


def _cast(array: Any, words: dict[str, float]) -> FloatArray:
    try:
        values: FloatArray = array.cast("double", safe=False).to_numpy(zero_copy_only=False)
    except ValueError:  # pyarrow takes no blanks, words for missing values, or booleans in text
        values = _parsed(array.dictionary_encode(), words)
    large = np.flatnonzero(np.abs(values) >= EXACT)
    if large.size and not pyarrow().types.is_floating(array.type):
        _check_exact(array, large)
    return values


def _check_exact(array: Any, rows: IntArray) -> None:
    """Raise NotExactError for the first of some rows whose number is rounded, or infinite though its text is not."""
    for row, value in zip(rows.tolist(), array.take(pyarrow().array(rows)).to_pylist(), strict=True):
        if not is_exact(value):
            raise NotExactError(row, f"{shortened(value)} {NOT_EXACT}")


def _parsed(array: Any, words: dict[str, float]) -> FloatArray:
    """Return the numbers of text; each distinct text is parsed once."""
    texts = array.dictionary.to_pylist()
    values = [_number(text, _WORDS | words) for text in texts]
    codes = array.indices.fill_null(len(texts)).to_numpy()
    wrong = np.isin(codes, [code for code, value in enumerate(values) if value is None])
    if wrong.any():
        row = int(np.argmax(wrong))
        raise CellError(row, shortened(texts[codes[row]]))
    numbers_of_codes: FloatArray = np.array([*values, np.nan], dtype=np.float64)[codes]
    return numbers_of_codes


def _number(text: str, words: dict[str, float]) -> float | None:
    word = text.strip().lower()
    return words[word] if word in words else float(word) if _NUMBER.fullmatch(word) else None


def vectors(array: Any, width: int) -> FloatArray:
    """Return lists of `width` numbers as rows (n_rows, width), a missing list as NaN; raise CellError for others."""
    present = array.is_valid().to_numpy(zero_copy_only=False)
    if not hasattr(array.type, "list_size"):
        lengths = array.value_lengths().fill_null(width).to_numpy()
        if (lengths != width).any():
            row = int(np.argmax(lengths != width))
            raise CellError(row, f"{lengths[row]} numbers where others are {width}")
    rows = np.full((len(array), width), np.nan)
    try:
        rows[present] = numbers(array.flatten()).reshape(-1, width)
    except CellError as error:
        raise type(error)(int(np.flatnonzero(present)[error.row // width]), str(error)) from None
    return rows


class _Part(NamedTuple):
    """The features in one column: `elements` of its lists (None for single cells), which go to `places` in X."""

    column: str
    places: IntArray
    elements: IntArray | None = None
    width: int = 1
    kind: FeatureKind = "number"


class FeatureColumns:
    """The features of X in their order, and the columns of a table in which they are.

    A column of lists, such as embeddings, has a feature for each number: ``embedding[0]``, ``embedding[1]`` and so on.
    `kinds` are those of the features, in their order; empty if all are numbers. `may_ignore` adds a hint to errors; a
    column like those of `tags` is no feature there.
    """

    def __init__(
        self,
        table: TableFile,
        names: tuple[str, ...],
        kinds: Kinds | None = None,
        *,
        may_ignore: bool = False,
        tags: Sequence[str] = (),
    ) -> None:
        self._table, self._may_ignore, self._tags, self.names = table, may_ignore, tags, names
        kinds = kinds or {}
        sources = [_source(table, name) for name in names]
        if missing := [name for name, (column, _) in zip(names, sources, strict=True) if not column]:
            raise missing_features(table.path, missing, columns_hint(table, missing[0]))
        places_of: dict[str, list[int]] = {}
        for place, (column, element) in enumerate(sources):
            if element is None:
                _check_kind(table, column, kinds.get(column, "number"))
            places_of.setdefault(column, []).append(place)
        self._parts: list[_Part] = []
        for column, places in places_of.items():
            elements = [element for place in places if (element := sources[place][1]) is not None]
            self._parts.append(_part(table, column, places, elements, kinds.get(column, "number")))
        of_place = {place: part.kind for part in self._parts for place in part.places.tolist()}
        is_mixed = any(part.kind != "number" for part in self._parts)
        self.kinds: tuple[FeatureKind, ...] = tuple(of_place[place] for place in range(len(names))) if is_mixed else ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that must be read."""
        return tuple(part.column for part in self._parts)

    def matrix(self, batch: Batch) -> FloatArray | Cells:
        """Return the rows of X: an array of objects if a feature is no number."""
        shape = batch.n_rows, len(self.names)
        X: FloatArray | Cells = np.empty(shape, dtype=np.object_) if self.kinds else np.empty(shape)
        wrong: dict[str, CellError] = {}
        for part in self._parts:
            array = batch.columns[part.column]
            try:
                if part.kind != "number":
                    X[:, part.places] = read_cells(part.kind, array)[:, np.newaxis]
                elif part.elements is None:
                    X[:, part.places] = numbers(array, self._table.decimal)[:, np.newaxis]
                else:
                    X[:, part.places] = vectors(array, part.width)[:, part.elements]
            except CellError as error:
                wrong[part.column] = error
        if wrong:
            raise self._refused(batch, wrong)
        return X

    def _refused(self, batch: Batch, wrong: dict[str, CellError]) -> ValueError:
        column, error = next(iter(wrong.items()))
        kind = next(part.kind for part in self._parts if part.column == column)
        where = f"{self._table.path}, {batch.locate(error.row)}"
        problem = f"{where}: column {column!r} must contain {EXPECTED[kind]}, got {error}."
        if self._table.decimal == "." and WITH_COMMA.fullmatch(str(error)):
            hint = "{problem} Hint: {decimal} reads such decimals."
            return ParameterError(hint, {"decimal": ","}, {"problem": problem})
        if kind != "number" or not self._may_ignore:
            return ValueError(problem)
        if isinstance(error, NotExactError):
            hint = "{problem} Hint: {ignore} leaves out ids, {categorical} compares them as equal or different."
            return ParameterError(hint, {"ignore": [column], "categorical": [column]}, {"problem": problem})
        return not_features(problem, _options(batch, tuple(wrong), self._tags), self._tags)


def features_beside(
    table: TableFile, others: set[str], kinds: Kinds | None = None, tags: Sequence[str] = ()
) -> FeatureColumns:
    """Return all columns as features, except `others` and index columns; `kinds` are those that are no numbers.

    `tags` are the columns of tags, for hints.
    """
    kinds = kinds or {}
    used = [c for c in table.columns.values() if c.name not in others and (c.name in kinds or not c.names_rows)]
    wrong = [c.name for c in used if c.name not in kinds and c.kind in ("text", "time", "texts", "other")]
    if wrong:
        got = table.columns[wrong[0]].description
        problem = f"column {shortened(wrong[0])} of {table.path} must contain numbers, got type {got}."
        raise not_features(problem, _proposed(table, wrong, tags), tags)
    if not used:
        raise ValueError(f"{table.path} must contain at least one feature, got only labels and ignored columns.")
    names: list[str] = []
    for column in used:
        is_list = column.kind == "numbers" and column.name not in kinds
        names += _element_names(table, column.name) if is_list else [column.name]
    return FeatureColumns(table, tuple(names), kinds, may_ignore=True, tags=tags)


def _proposed(table: TableFile, names: Sequence[str], tags: Sequence[str]) -> dict[str, str | None]:
    """Return, for each column, the option that would read it, by its first cells; None if none would."""
    options = {name: "dates" if table.columns[name].kind == "time" else None for name in names}
    texts = [name for name in names if table.columns[name].kind == "text"]
    for batch in islice(table.batches([*texts, *tags]), 1) if texts else ():
        options |= _options(batch, texts, tags)
    return options


def _options(batch: Batch, names: Sequence[str], tags: Sequence[str]) -> dict[str, str | None]:
    """Return the option for each column; that of tags, if most of its cells are in `tags`, or only the numbers differ.

    So tag2 is one next to tag1: a column of tags as a feature would give the answer away.
    """
    options = {name: proposed_option(batch.columns[name], name) for name in names}
    texts = [batch.columns[tag] for tag in tags if kind_of(batch.columns[tag].type) == "text"]
    of_tags = {cell for array in texts for cell in _encoded(array)[0] if isinstance(cell, str)}
    stems = {_stem(tag) for tag in tags} - {*tags}
    alike = [name for name in batch.columns if _stem(name) in stems]  # an empty one, too
    for name in (name for name in names if texts and kind_of(batch.columns[name].type) == "text"):
        cells = [cell for cell in _encoded(batch.columns[name])[0] if isinstance(cell, str)]
        if 2 * len(of_tags.intersection(cells)) > max(1, len(cells)):
            alike.append(name)
    return options | dict.fromkeys((name for name in alike if name not in tags), "labels_column")


def _stem(name: str) -> str:
    """Return a name without a number at its end, and what is before that."""
    stem = name.rstrip(string.digits)
    return name if stem == name else stem.rstrip(string.punctuation + " ")


def _element_names(table: TableFile, column: str) -> list[str]:
    """Return the names of the features in a column of lists.

    No other column may have such a name: it would be taken for the feature when rows for prediction are read by name.
    """
    names = [f"{column}[{element}]" for element in range(table.width(column))]
    if both := [name for name in names if name in table.columns]:
        problem = f"{table.path} must have no column named like a number in the lists of {column!r}, got {both[0]!r}."
        raise ParameterError("{problem} Hint: rename one, or {ignore}.", {"ignore": [column]}, {"problem": problem})
    return names


def _source(table: TableFile, name: str) -> tuple[str, int | None]:
    """Return the column of a feature and its position in the lists of that column; ("", None) if it is missing."""
    if name in table.columns:
        return name, None
    element = _ELEMENT.fullmatch(name)
    if element is None or element[1] not in table.columns or table.columns[element[1]].kind != "numbers":
        return "", None
    return element[1], int(element[2])


def _check_kind(table: TableFile, column: str, kind: FeatureKind) -> None:
    if table.columns[column].kind not in _FROM[kind]:
        got = table.columns[column].description
        raise ValueError(f"column {column!r} of {table.path} must contain {EXPECTED[kind]}, got type {got}.")


def _part(table: TableFile, column: str, places: list[int], elements: list[int], kind: FeatureKind) -> _Part:
    if not elements:
        return _Part(column, np.array(places), kind=kind)
    width = table.width(column)
    if max(elements) >= width:
        raise ValueError(f"column {column!r} of {table.path} must contain {max(elements) + 1} numbers, got {width}.")
    return _Part(column, np.array(places), np.array(elements), width)


def missing_features(path: Path, missing: Sequence[str], hint: str) -> ValueError:
    """Return the error for features that a file lacks."""
    return ValueError(f"{path} must have a column for every feature, got none for {first_of(missing, 5)}.{hint}")


def not_features(problem: str, columns: Mapping[str, str | None], tags: Sequence[str] = ()) -> ParameterError:
    """Return the error for columns without numbers.

    The hint proposes to leave them out, or the option for each column, if `columns` names one for it: columns of tags
    next to `tags`. The first column of ids is that of the option of a command for ids.
    """
    if max(map(len, columns)) > _LONGEST_NAME:  # as an option it would be repeated in full
        return ParameterError("{problem}", {}, {"problem": problem[:_LONGEST_PROBLEM]})
    proposed: dict[str, list[str]] = {}
    for column, option in columns.items():
        if option is not None:
            proposed.setdefault(option, list(tags) if option == "labels_column" else []).append(column)
    ids, *others = proposed.pop("ignore", [""])
    hints = [f"{{{option}}}" for option in sorted(proposed)]
    if ids:
        hints += ["and {row_names} for a column that names rows"[0 if hints else 4 :]]
    if ids and others:
        hints += ["{ignore} for others"]
    elif not ids:
        it = "it" if len(columns) == 1 else "them"
        others = list(columns)
        hints += [f"or leave {it} out: {{ignore}}" if hints else f"{{ignore}} leaves {it} out"]
    parameters = {**proposed, "row_names": [ids], "ignore": others}
    return ParameterError(f"{{problem}} Hint: {', '.join(hints)}.", parameters, {"problem": problem})


# Cells of tables as categories, texts and dates, and the probable kind of a column without numbers.


_PER_DAY = {"s": 86_400, "ms": 86_400 * 10**3, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}
_FIRST_DAY, _LAST_DAY = (day.toordinal() - date(1970, 1, 1).toordinal() for day in (date.min, date.max))
_MOST_CATEGORIES = 50  # a column of more distinct values is hardly one of categories
_LEAST_IDENTIFIERS = 20  # fewer texts may well differ in each row
_NEARLY_ALL = 0.95  # of the rows of a table in which a few rows are twice
_SAMPLED_TEXTS = 1000
# The kinds of cells in a file that can be read as each kind of feature.
_FROM: dict[FeatureKind, tuple[Kind, ...]] = {
    "number": ("cell", "number"),
    "category": ("cell", "number", "text"),
    "text": ("cell", "number", "text"),
    "date": ("cell", "text", "time"),
}
EXPECTED: dict[FeatureKind, str] = {
    "number": "numbers",
    "category": "categories",
    "text": "texts",
    "date": "dates such as 2026-01-31",
}


def read_cells(kind: FeatureKind, array: Any) -> Cells:
    """Return the cells of an array of pyarrow as objects; raise CellError for an invalid one.

    A category or text becomes a str, or None if it is missing. A date becomes a `datetime` without a time zone. A
    missing date or number becomes NaN.
    """
    return _READERS[kind](array)


def _categories(array: Any) -> Cells:
    return each_cell(array, lambda value: as_text(value).strip() or None)


def _texts(array: Any) -> Cells:
    return each_cell(array, lambda value: text if (text := as_text(value)).strip() else None)


def _dates(array: Any) -> Cells:
    if kind_of(array.type) == "time":
        _check_calendar(array)
        naive = array.cast(pyarrow().timestamp("us"), safe=False)  # those with a zone are moved to UTC
        return each_cell(naive, lambda value: value, missing=np.nan)
    return each_cell(array, date_of, missing=np.nan)


def _check_calendar(array: Any) -> None:
    """Raise CellError for a date or time that is beyond the years 1 to 9999."""
    arrow = pyarrow()
    if arrow.types.is_date32(array.type):
        array, per_day = array.cast(arrow.int32()), 1
    else:
        per_day = _PER_DAY["ms" if arrow.types.is_date64(array.type) else array.type.unit]
    days = array.cast(arrow.int64()).fill_null(0).to_numpy(zero_copy_only=False) // per_day
    beyond = (days < _FIRST_DAY) | (days > _LAST_DAY)
    if beyond.any():
        raise CellError(int(beyond.argmax()), "a time that is not in the years 1 to 9999")


_READERS: dict[FeatureKind, Callable[[Any], Cells]] = {"category": _categories, "text": _texts, "date": _dates}


def each_cell(array: Any, read: Callable[[Any], Any], *, missing: Any = None) -> Cells:
    """Return what `read` makes of each cell; it is called once for each distinct value."""
    values, codes = _encoded(array)
    cells = np.full(len(values) + 1, missing, dtype=np.object_)
    for code, value in enumerate(values):
        try:
            cells[code] = read(value)
        except (ValueError, OverflowError) as error:  # the last: moved to UTC, a date before year 1
            raise CellError(int(np.argmax(codes == code)), shortened(value)) from error
    return cells[codes]


def _encoded(array: Any) -> tuple[list[Any], IntArray]:
    """Return the distinct values, and for each cell its position among them; for a missing one their number."""
    encoded = array.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    return values, encoded.indices.fill_null(len(values)).to_numpy()


def as_text(value: Any) -> str:
    """Return a value as in CSV, so that all formats agree: 3 for 3.0, true for True."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def kinds_of_options(**options: Iterable[str]) -> dict[str, FeatureKind]:
    """Return the kind of each column that an option names; raise ValueError if one is named twice."""
    of_option: dict[str, FeatureKind] = {"categorical": "category", "text": "text", "dates": "date"}
    kinds: dict[str, FeatureKind] = {}
    for option, names in options.items():
        if isinstance(names, str):
            raise TypeError(f"{option} must be a sequence of names of columns, got {names!r}. Hint: [{names!r}].")
        for name in names:
            if name in kinds:
                raise ValueError(f"{option} must name columns of no other kind, each once, got {name!r} again.")
            kinds[name] = of_option[option]
    return kinds


def proposed_option(array: Any, name: str = "") -> str | None:
    """Return the option of `read_table` for a column, by some of its cells; None if most are numbers.

    Few distinct values, most of them more than once, are categories. Single words that are in hardly any other row
    identify rows: "ignore". If the name ends in id, few rows are enough.
    """
    if kind_of(array.type) != "text" or array.null_count == len(array):
        return None
    values, codes = _encoded(array)
    present = codes[codes < len(values)]
    if all(map(_is_date, filter(str.strip, values))):  # JSON writes an empty text for a missing value
        return "dates"
    is_number = np.array([*map(_is_number, values), True], dtype=bool)
    if 2 * np.count_nonzero(is_number[present]) >= len(present):
        return None
    is_enough = len(present) >= _LEAST_IDENTIFIERS or (len(present) > 1 and name.casefold().endswith("id"))
    if is_enough and len(values) >= _NEARLY_ALL * len(present) and not have_words(values):
        return "ignore"
    return "categorical" if are_few(len(values), len(present)) else "text"


def have_words(texts: Sequence[str]) -> bool:
    """Return whether most of some texts are of several words."""
    some = texts[:_SAMPLED_TEXTS]
    return 2 * sum(len(text.split()) > 1 for text in some) > len(some)


def are_few(n_distinct: int, n_present: int) -> bool:
    """Return whether this number of distinct values, among that many, suggests categories rather than texts."""
    return n_distinct <= min(_MOST_CATEGORIES, n_present / 2)


def _is_date(text: str) -> bool:
    try:
        return "-" in text and isinstance(date_of(text), datetime)
    except (ValueError, OverflowError):
        return False


def _is_number(text: str) -> bool:
    try:
        return float(text.replace(",", ".")) is not None
    except ValueError:
        return False
