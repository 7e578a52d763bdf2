"""CSV and TSV files: a line of names, then rows of text.

Blocks of whole rows go to pyarrow, which is fast but knows no line numbers; a block that it refuses is read again by
the standard library's reader, which finds the line.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from nearlabel.datasets._arrow import CsvParser
from nearlabel.datasets._csv_quotes import QuotedCells
from nearlabel.datasets._csv_rows import cells_of_any_length, numbered_rows
from nearlabel.datasets._lines import Lines, malformed, plain_name
from nearlabel.datasets._table_file import Batch, Column, columns_by_name

_ROWS_A_BLOCK = 256  # each thought to be as long as the header: the cost of a block grows with the number of columns
_LARGEST_BLOCK = 2**26
_LONGEST_ROW = 2**28  # a longer one is a quote that is not closed


class CsvFile:
    """The rows of a CSV file; cells end in a comma, or a semicolon where the header has no comma, or a tab in ``.tsv``.

    A first column without a name, where pandas and R write the names of rows, is left out.
    """

    n_rows = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self._delimiter = _delimiter(path)
        self._quotes = QuotedCells(self._delimiter)
        with Lines(path) as lines:
            header = _header(lines, self._quotes)
            self._names = self._names_of(lines.number - header.count(b"\n", 0, -1), header)
        self._least_block = min(_ROWS_A_BLOCK * len(header), _LARGEST_BLOCK)
        named = self._names[1:] if len(self._names) > 1 and not self._names[0] else self._names
        self.columns = columns_by_name(path, (Column(name, "cell", "text") for name in named))

    def batches(self, names: Collection[str]) -> Iterator[Batch]:
        """Yield the cells as text, an empty one as null."""
        place = {name: column for column, name in enumerate(self._names)}
        parser = CsvParser(len(self._names), [place[name] for name in names], self._delimiter)
        with Lines(self.path) as lines:
            _header(lines, self._quotes)
            for first_line, block in _whole_rows(lines, self._quotes, self._least_block):
                arrays = self._parse(parser, first_line, block)
                columns = dict(zip(names, arrays, strict=True))
                yield Batch(len(arrays[0]), columns, lines.share_read, self._locator(first_line, block))

    def width(self, name: str) -> int:
        """Refuse: no cell is a list of numbers."""
        raise TypeError(f"column {name!r} of {self.path} must contain lists of numbers, got text.")

    def _names_of(self, first_line: int, header: bytes) -> list[str]:
        if not header.strip():
            raise ValueError(f"{self.path} must begin with a line of column names, got an empty file.")
        _check_encoding(self.path, first_line, header)
        if (line := self._quotes.line_left_open(first_line, header)) is not None:
            problem = "the column names must end with the line, got a quote that is not closed."
            raise malformed(self.path, line, problem)
        with cells_of_any_length():
            rows = numbered_rows(self.path, first_line, header.rstrip(b"\r\n"), self._delimiter, "utf-8")
            return next(cells for _, cells in rows)

    def _parse(self, parser: CsvParser, first_line: int, block: bytes) -> list[Any]:
        try:
            return parser.parse(block)
        except ValueError as error:
            self._check_rows(first_line, block)
            raise malformed(self.path, first_line, f"rows from here on must be CSV, got: {error}") from error

    def _check_rows(self, first_line: int, block: bytes) -> None:
        """Raise for the first line that is no UTF-8, or the first row with another number of cells than the header."""
        _check_encoding(self.path, first_line, block)
        with cells_of_any_length():
            for number, cells in self._rows(first_line, block):
                if len(cells) != len(self._names):
                    hint = " Hint: a quote is not closed." if any("\n" in cell for cell in cells) else ""
                    problem = f"a row must have {len(self._names)} cells, as the header has, got {len(cells)}.{hint}"
                    raise malformed(self.path, number, problem)

    def _rows(self, first_line: int, block: bytes) -> Iterator[tuple[int, list[str]]]:
        """Yield numbered rows; columns that are not wanted need not be UTF-8."""
        return numbered_rows(self.path, first_line, block, self._delimiter, "latin-1")

    def _locator(self, first_line: int, block: bytes) -> Callable[[int], str]:
        def locate(row: int) -> str:
            with cells_of_any_length():
                numbers = [number for number, _ in self._rows(first_line, block)]
            return f"line {numbers[row]}"

        return locate


def _delimiter(path: Path) -> str:
    if plain_name(path).lower().endswith(".tsv"):
        return "\t"
    quotes = QuotedCells(";")
    with Lines(path) as lines:
        unquoted = quotes.removed(_header(lines, quotes))
    return ";" if b";" in unquoted and b"," not in unquoted else ","


def _header(lines: Lines, quotes: QuotedCells) -> bytes:
    """Return the first line that is not empty, with those behind it that a quote holds to it; nothing if there is none.

    A quote that is not closed does not hold the whole of a large file.
    """
    size, opened = 0, None
    held: list[bytes] = []
    while (line := lines.next_bytes()) is not None:
        if not held and not line.strip():
            continue
        held.append(line)
        size += len(line)
        opened = quotes.line_left_open(lines.number, line, opened)
        if opened is None or size > _LARGEST_BLOCK:
            break
    return b"".join(held)


def _whole_rows(lines: Lines, quotes: QuotedCells, least: int) -> Iterator[tuple[int, bytes]]:
    """Yield (number of the first line, whole rows), of at least some bytes: no block ends between two quotes."""
    first, size, opened = lines.number + 1, 0, None
    held: list[bytes] = []
    for number, block in lines.blocks():
        held.append(block)
        size += len(block)
        opened = quotes.line_left_open(number, block, opened)
        if opened is None and size >= least:
            yield first, b"".join(held)
            first, held, size = lines.number + 1, [], 0
        elif opened is not None and size > _LONGEST_ROW:
            break
    if opened is not None:
        hint = "Hint: a cell that begins with a quote is written in quotes, each of its own twice."
        raise malformed(lines.path, opened, f"a quote must be closed, got one that is not. {hint}")
    if held:
        yield first, b"".join(held)


def _check_encoding(path: Path, first_line: int, text: bytes) -> None:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        number = first_line + text.count(b"\n", 0, error.start)
        problem = f"the text must be UTF-8, got the byte 0x{text[error.start]:02x}."
        raise malformed(path, number, f"{problem} Hint: spreadsheets save 'CSV UTF-8'.") from error
