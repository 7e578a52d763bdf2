"""The interface of files with named columns, the messages on their columns, and pyarrow's arrays, which columns are.

Other readers call methods of these arrays only: this module, and that of Parquet, import pyarrow.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from nearlabel.datasets._lines import BYTE_ORDER_MARK
from nearlabel.files.untrusted import arrow_errors_named
from nearlabel.utils.naming import import_optional
from nearlabel.utils.types import BoolArray

_SHOWN = 64  # characters of a text in a message
_MOST_COMPARED, _LONGEST_COMPARED = 10_000, 100  # names, and characters of each: similarity takes their product
_LONGEST_KEY = 1000  # characters of a name in objects
_ALWAYS_ALLOWED, _CELLS_PER_VALUE = 2**24, 100

# "cell" is a cell of CSV or Excel, which has no type; "time" is a date or a time; "numbers" and "texts" are lists.
Kind: TypeAlias = Literal["cell", "number", "text", "time", "numbers", "texts", "other"]


class CellError(ValueError):
    """An invalid cell: its row in the batch, and what was got."""

    def __init__(self, row: int, got: str) -> None:
        super().__init__(got)
        self.row = row


class NotExactError(CellError):
    """A cell with a number that float64 cannot store."""


class Column(NamedTuple):
    """A column; `description` is its type in the file, and `names_rows` excludes it from the features."""

    name: str
    kind: Kind
    description: str
    names_rows: bool = False


class Batch(NamedTuple):
    """Some consecutive rows.

    `columns` maps names to pyarrow arrays of `n_rows` cells, `share_done` is the share of the file that was read, and
    `locate` returns the line or row of the file for a row of this batch. `is_unlabelled` (n_rows,) marks rows whose
    labels are unknown; None: no row.
    """

    n_rows: int
    columns: Mapping[str, Any]
    share_done: float
    locate: Callable[[int], str]
    is_unlabelled: BoolArray | None = None


class TableFile:
    """A file with named columns, which can be read several times."""

    path: Path
    columns: Mapping[str, Column]  # by name, in the order of the file
    n_rows: int | None = None  # None if unknown before reading
    decimal: str = "."  # the decimal separator of numbers in text
    tags: str | None = None  # the column of tags, if the format declares one
    texts: tuple[str, ...] = ()  # features that are texts, if the format declares them

    def batches(self, names: Collection[str]) -> Iterator[Batch]:
        """Yield all rows of some columns; errors of pyarrow name the file."""
        with arrow_errors_named(self.path):
            yield from self._batches(names)

    def _batches(self, names: Collection[str]) -> Iterator[Batch]:
        raise NotImplementedError

    def width(self, name: str) -> int:
        """Return how many numbers a cell of a column of lists contains."""
        raise NotImplementedError

    def has_plain_texts(self, name: str) -> bool:
        """Return whether missing texts of a column may be empty cells, as in data frames read from CSV."""
        return False

    def class_names(self, name: str) -> Sequence[str] | None:
        """Return the names of the classes that are numbers in a column; None if the file does not name them."""
        return None


def located(unit: str, numbers: Sequence[int]) -> Callable[[int], str]:
    """Return the function `Batch.locate` for rows in these lines or rows of the file."""
    return lambda row: f"{unit} {numbers[row]}"


def named_columns(path: Path, names: Sequence[str]) -> dict[str, Column]:
    """Return the columns of a table of text, without a first one that has no name: the index of pandas and R."""
    named = names[1:] if len(names) > 1 and not names[0] else names
    return columns_by_name(path, (Column(name, "cell", "text") for name in named))


def columns_by_name(path: Path, columns: Iterable[Column]) -> dict[str, Column]:
    """Return the columns by name; raise ValueError for empty or duplicate names."""
    columns = list(columns)
    for name, count in Counter(column.name for column in columns).items():
        if not name:
            raise ValueError(f"{path} must have a name for every column, got {count} without.")
        if count > 1:
            raise ValueError(f"{path} must have columns of distinct names, got {name!r} {count} times.")
    return {column.name: column for column in columns}


def check_filled(path: Path, n_cells: int, n_values: int, hint: str = "svmlight is for sparse rows") -> None:
    """Raise ValueError if next to no cell has a value, in formats that write none for the others.

    Otherwise a small file would become a matrix of any size.
    """
    if n_cells > max(_ALWAYS_ALLOWED, _CELLS_PER_VALUE * n_values):
        got = f"{n_values} values in {n_cells} cells"
        raise ValueError(f"{path} must have values in most cells, got {got}. Hint: {hint}.")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint of the most similar known names, or nothing."""
    if len(name) > _LONGEST_COMPARED:
        return ""
    compared = [one for one in islice(known, _MOST_COMPARED) if len(one) <= _LONGEST_COMPARED]
    near = difflib.get_close_matches(name, compared, n=3)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def columns_hint(table: TableFile, wanted: str = "") -> str:
    """Return a hint of similar columns, else of the first ones, or of the separators if a CSV file has one column."""
    names = list(table.columns)
    if len(names) == 1 and table.columns[names[0]].kind == "cell":
        ends = "cells end in a comma, a semicolon or a tab"
        return f" Hint: the only column is {shortened(names[0])}; {ends}."
    some = ", ".join(map(shortened, names[:8])) + (", ..." if len(names) > 8 else "")
    return did_you_mean(wanted, names) or f" Hint: the columns are {some}."


def require_columns(table: TableFile, option: str, names: Iterable[str]) -> None:
    """Raise ValueError if a name is no column."""
    for name in names:
        if name not in table.columns:
            raise ValueError(f"{option} must name columns of {table.path}, got {name!r}.{columns_hint(table, name)}")


def shortened(value: object) -> str:
    """Return the repr of a value, truncated for a message."""
    if isinstance(value, str):
        value = value[:_SHOWN]  # its repr is as long, or longer
    try:
        text = repr(value)
    except RecursionError:
        text = f"a deeply nested {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:60]}..."


# Arrays of pyarrow.


def pyarrow() -> Any:
    """Return pyarrow with its functions."""
    import_optional("pyarrow.compute", extra="tables", purpose="Reading tables")
    return import_optional("pyarrow", extra="tables", purpose="Reading tables")


def interchanged(frame: Any) -> Any:
    """Return a data frame of the interchange protocol as a table of pyarrow."""
    return import_optional("pyarrow.interchange", extra="tables", purpose="Reading data frames").from_dataframe(frame)


class CsvParser:
    """Parses blocks of whole rows into the text of some columns."""

    def __init__(self, n_columns: int, wanted: list[int], delimiter: str) -> None:
        self._arrow = pyarrow()
        self._csv = import_optional("pyarrow.csv", extra="tables", purpose="Reading tables")
        self._names = [str(column) for column in range(n_columns)]  # unlike those of the header they are distinct
        names = [str(column) for column in wanted]
        self._parsing = self._csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        self._conversion = self._csv.ConvertOptions(
            include_columns=names,
            column_types=dict.fromkeys(names, self._arrow.string()),
            null_values=[""],
            strings_can_be_null=True,
        )

    def parse(self, block: bytes) -> list[Any]:
        """Return the wanted columns as arrays of text, an empty cell as null; raise ValueError for ragged rows."""
        if block.startswith(BYTE_ORDER_MARK):
            block = BYTE_ORDER_MARK + block  # pyarrow removes one mark, which here belongs to the first cell
        reading = self._csv.ReadOptions(use_threads=False, block_size=len(block) + 1, column_names=self._names)
        try:
            table = self._csv.read_csv(
                self._arrow.py_buffer(block),
                read_options=reading,
                parse_options=self._parsing,
                convert_options=self._conversion,
            )
        except self._arrow.ArrowException as error:
            if "thread" in str(error):  # for whose stack there is no memory
                raise MemoryError(str(error)) from error
            raise
        return [column.combine_chunks() for column in table.columns]


def kind_of(data_type: Any) -> Kind:
    """Return the kind of a column of this type; objects, and lists of objects, are read as their JSON."""
    types = pyarrow().types
    if is_nested(data_type):
        return "text"
    if _is_list(data_type):
        return LISTS.get(_kind_of_scalar(types, _decoded(types, data_type.value_type)), "other")
    return _kind_of_scalar(types, _decoded(types, data_type))


def _decoded(types: Any, data_type: Any) -> Any:
    return data_type.value_type if types.is_dictionary(data_type) else data_type


def _is_list(data_type: Any) -> bool:
    types = pyarrow().types
    tests = (types.is_list, types.is_large_list, types.is_fixed_size_list, *_views(types))
    return any(test(data_type) for test in tests)


def _views(types: Any) -> list[Callable[[Any], bool]]:
    """Return the tests for views of lists, which older versions of pyarrow lack."""
    return [getattr(types, name) for name in ("is_list_view", "is_large_list_view") if hasattr(types, name)]


def is_nested(data_type: Any) -> bool:
    """Return whether cells are objects, or lists of objects, with names that are not too long to be repeated."""
    types = pyarrow().types
    if _is_list(data_type):
        return bool(types.is_struct(data_type.value_type)) and is_nested(data_type.value_type)
    if not types.is_struct(data_type):
        return bool(types.is_map(data_type))
    return all(len(data_type.field(place).name) <= _LONGEST_KEY for place in range(data_type.num_fields))


# Numbers that float64 can store: it would round other integers in silence.

EXACT = 2**53  # all integers of at most this size
NOT_EXACT = "(float64 cannot store it)"
_INTEGER = re.compile(r"\s*+[-+]?+\d++\s*+")
_INFINITY = re.compile(r"\s*+[-+]?+inf(?:inity)?\s*+", re.IGNORECASE)


def is_exact(value: int | Decimal | str) -> bool:
    """Return whether float64 can store a number: an integer exactly, another one in its range.

    >>> is_exact(2**60), is_exact(2**60 + 1), is_exact("1e400"), is_exact("0.1"), is_exact("inf")
    (True, False, False, True, True)
    """
    try:
        number = float(value)
        if math.isinf(number):
            return isinstance(value, str) and _INFINITY.fullmatch(value) is not None
        if isinstance(value, str):
            digits = value.strip().lstrip("+-").lstrip("0")
            return _INTEGER.fullmatch(value) is None or int(digits or 0) == abs(number)
        return value != int(value) or int(value) == number
    except OverflowError:
        return False


LISTS: dict[Kind, Kind] = {"number": "numbers", "text": "texts"}


def _kind_of_scalar(types: Any, data_type: Any) -> Kind:
    if types.is_string(data_type) or types.is_large_string(data_type) or types.is_string_view(data_type):
        return "text"
    if types.is_date(data_type) or types.is_timestamp(data_type):
        return "time"
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
    return "number" if any(test(data_type) for test in tests) else "other"


def array_of(values: Sequence[Any], data_type: Literal["bool", "int", "float", "text"], *, lists: bool = False) -> Any:
    """Return Python's values, or lists of them, as an array; None is missing."""
    arrow = pyarrow()
    types = {"bool": arrow.bool_(), "int": arrow.int64(), "float": arrow.float64(), "text": arrow.string()}
    return arrow.array(values, arrow.list_(types[data_type]) if lists else types[data_type])


def has_infinite(array: Any) -> bool:
    """Return whether an array of floats, or of lists of them, contains infinity."""
    arrow = pyarrow()
    values = array.flatten() if arrow.types.is_list(array.type) else array
    return arrow.types.is_floating(values.type) and bool(arrow.compute.any(arrow.compute.is_inf(values)).as_py())


def plain(array: Any) -> Any:
    """Return categories and string views as plain arrays, which other modules can handle, and objects as their JSON."""
    arrow = pyarrow()
    types = arrow.types
    if any(test(array.type) for test in _views(types)):
        array = arrow.array(array.to_pylist(), arrow.list_(array.type.value_type))  # a cast of a slice is wrong
    if types.is_dictionary(array.type):
        array = arrow.DictionaryArray.from_arrays(array.indices, plain(array.dictionary)).dictionary_decode()
    if is_nested(array.type):
        is_map = types.is_map(array.type)
        cells = (dict(cell) if is_map and cell is not None else cell for cell in array.to_pylist())
        texts = [None if cell is None else json.dumps(cell, ensure_ascii=False, default=str) for cell in cells]
        return array_of(texts, "text")
    if _is_list(array.type):
        of_values = _decoded(types, array.type.value_type)
        if types.is_string_view(of_values):  # older versions do not cast their values, none such categories
            return array_of(array.to_pylist(), "text", lists=True)
        return array if of_values == array.type.value_type else array.cast(arrow.list_(of_values))
    return array.cast("string") if types.is_string_view(array.type) else array
