"""The interface of files with named columns, and the messages on their columns."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

_SHOWN = 64  # characters of a text in a message
_MOST_COMPARED, _LONGEST_COMPARED = 10_000, 100  # names, and characters of each: similarity takes their product
_ALWAYS_ALLOWED, _CELLS_PER_VALUE = 2**24, 100

# "cell" is a cell of CSV or Excel, which has no type; "time" is a date or a time; "numbers" and "texts" are lists.
Kind: TypeAlias = Literal["cell", "number", "text", "time", "numbers", "texts", "other"]


class CellError(ValueError):
    """An invalid cell: its row in the batch, and what was got."""

    def __init__(self, row: int, got: str) -> None:
        super().__init__(got)
        self.row = row


class Column(NamedTuple):
    """A column; `description` is its type in the file, and `names_rows` excludes it from the features."""

    name: str
    kind: Kind
    description: str
    names_rows: bool = False


class Batch(NamedTuple):
    """Some consecutive rows.

    `columns` maps names to pyarrow arrays of `n_rows` cells, `share_done` is the share of the file that was read, and
    `locate` returns the line or row of the file for a row of this batch.
    """

    n_rows: int
    columns: Mapping[str, Any]
    share_done: float
    locate: Callable[[int], str]


class TableFile(Protocol):
    """A file with named columns, which can be read several times."""

    path: Path
    decimal: str  # the decimal separator of numbers in text

    @property
    def columns(self) -> Mapping[str, Column]:
        """The columns by name, in the order of the file."""
        ...

    @property
    def n_rows(self) -> int | None:
        """Number of rows, None if unknown before reading."""
        ...

    def batches(self, names: Collection[str]) -> Iterator[Batch]:
        """Yield all rows of some columns."""
        ...

    def width(self, name: str) -> int:
        """Return how many numbers a cell of a column of lists contains."""
        ...


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
        ends = "cells end in a comma or a semicolon, in .tsv in a tab"
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
