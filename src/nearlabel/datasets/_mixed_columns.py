"""Cells of tables as categories, texts and dates, and the probable kind of a column without numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearlabel.datasets._arrow import kind_of, naive_times, row_beyond_calendar
from nearlabel.datasets._table_file import CellError, Kind, shortened
from nearlabel.utils.types import IntArray

FeatureKind: TypeAlias = Literal["number", "category", "text", "date"]
Cells: TypeAlias = NDArray[np.object_]

_MOST_CATEGORIES = 50  # a column of more distinct values is hardly one of categories
_LEAST_IDENTIFIERS = 20  # fewer texts may well differ in each row
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


def may_be(kind: FeatureKind, cells: Kind) -> bool:
    """Return whether a column of a file can be read as features of this kind."""
    return cells in _FROM[kind]


def read_cells(kind: FeatureKind, array: Any) -> Cells:
    """Return the cells of an array of pyarrow as objects; raise CellError for an invalid one.

    A category or text becomes a str, or None if it is missing. A date becomes a `datetime` without a time zone. A
    missing date or number becomes NaN.
    """
    return _READERS[kind](array)


def _categories(array: Any) -> Cells:
    return _each(array, lambda value: _as_text(value).strip() or None)


def _texts(array: Any) -> Cells:
    return _each(array, lambda value: text if (text := _as_text(value)).strip() else None)


def _dates(array: Any) -> Cells:
    if kind_of(array.type) == "time":
        row = row_beyond_calendar(array)
        if row is not None:
            raise CellError(row, "a time that is not in the years 1 to 9999")
        array = naive_times(array)
        return _each(array, lambda value: value, missing=np.nan)
    return _each(array, _date, missing=np.nan)


_READERS: dict[FeatureKind, Callable[[Any], Cells]] = {"category": _categories, "text": _texts, "date": _dates}


def _each(array: Any, read: Callable[[Any], Any], *, missing: Any = None) -> Cells:
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


def _as_text(value: Any) -> str:
    """Return a value as in CSV, so that all formats agree: 3 for 3.0, true for True."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _date(text: str) -> datetime | float:
    """Return a date or time in ISO 8601; one with a time zone is moved to UTC."""
    if not text.strip():
        return np.nan
    time = datetime.fromisoformat(text.strip())
    return time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)


def kinds_of_options(**options: Iterable[str]) -> dict[str, FeatureKind]:
    """Return the kind of each column that an option names; raise ValueError if one is named twice."""
    of_option: dict[str, FeatureKind] = {"categorical": "category", "text": "text", "dates": "date"}
    kinds: dict[str, FeatureKind] = {}
    for option, names in options.items():
        for name in names:
            if name in kinds:
                raise ValueError(f"{option} must name columns of no other kind, each once, got {name!r} again.")
            kinds[name] = of_option[option]
    return kinds


def proposed_option(array: Any) -> str | None:
    """Return the option of `read_table` for a column, by some of its cells; None if most are numbers.

    Few distinct values, most of them more than once, are categories. Single words that are in no other row identify
    rows.
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
    if _LEAST_IDENTIFIERS <= len(present) == len(values) and not have_words(values):
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
        return "-" in text and isinstance(_date(text), datetime)
    except (ValueError, OverflowError):
        return False


def _is_number(text: str) -> bool:
    try:
        return float(text.replace(",", ".")) is not None
    except ValueError:
        return False
