"""CSV and TSV files: a line of names, then rows of text.

pyarrow parses blocks of whole rows. It is fast but knows no line numbers and does not report a quote that is not
closed; for both, the standard library's reader goes through a block.
"""

from __future__ import annotations

import csv
import io
import re
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import closing
from itertools import islice, pairwise
from pathlib import Path
from typing import TypeAlias

from nearlabel.datasets import _table_file as table_file
from nearlabel.datasets._lines import Lines, malformed, only_returned, plain_name
from nearlabel.utils.process_settings import ProcessSetting

_ROWS_A_BLOCK = 256  # estimated by the length of the header: the cost of a block grows with the number of columns
_LARGEST_BLOCK = 2**26
_MOST_COLUMNS = 1_000_000  # each takes about 6 KB
_LONGEST_ROW = 2**28  # a longer one is a quote that is not closed
_LONGEST_CELL = 2**31 - 1  # the largest limit that the standard library's reader takes on every platform
_ROWS_TO_GUESS_BY, _MOST_DIGITS = 10, 18
_NUMBER_OF_R = re.compile(r"[-+]?+(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?+\d++)?+|NA|TRUE|FALSE")
_ESCAPED = b'\\"'  # how R writes a quote in a cell, unless asked to double it
_SAID = re.compile(rb"\s*+sep=([,;|\t])\s*+")  # how the first line gives spreadsheets the end of a cell
_QUOTED_CELL = re.compile(rb'(?<![^;\r\n])"[^"]*+(?:""[^"]*+)*+"?')  # where cells end in a semicolon
_END = "\0end"  # a line behind the last one

_Rows: TypeAlias = Generator[tuple[int, list[str]], None, None]


class CsvFile(table_file.TableFile):
    """The rows of a CSV file; cells end in a comma, or a semicolon where the header has no comma, or a tab in ``.tsv``.

    Where the header has neither, cells end in a tab, or as R writes them in a blank. A first column without a name, in
    which pandas and R write the index, is left out, also if the header has no cell for it.
    """

    def __init__(self, path: Path, decimal: str = ".", max_unpacked_bytes: int | None = None) -> None:
        self.path = path
        self._limit = max_unpacked_bytes
        self.decimal = decimal
        self.delimiter = _delimiter(path, max_unpacked_bytes)
        self._names, header, self.header_lines = _read_header(path, self.delimiter, max_unpacked_bytes)
        self._is_of_r = _has_row_names(path, len(self._names), self.delimiter, self.header_lines, max_unpacked_bytes)
        if self._is_of_r:
            self._names.insert(0, "")
        self.places = {name: place for place, name in enumerate(self._names)}
        self._least_block = min(_ROWS_A_BLOCK * len(header), _LARGEST_BLOCK)
        self.columns = table_file.named_columns(path, self._names)

    def _batches(self, names: Collection[str]) -> Iterator[table_file.Batch]:
        """Yield the cells as text, an empty one as null."""
        places = [self.places[name] for name in names]
        parser = table_file.CsvParser(len(self._names), places, self.delimiter)
        with Lines(self.path, self._limit) as lines:
            for first_line, block in self._whole_rows(lines):
                self._check_quotes(first_line, block)
                try:
                    arrays = parser.parse(block)
                except ValueError as error:
                    self._check_rows(first_line, block, places)
                    raise malformed(self.path, first_line, f"rows from here on must be CSV, got: {error}") from error
                columns = dict(zip(names, arrays, strict=True))
                yield table_file.Batch(len(arrays[0]), columns, lines.share_read, self._locator(first_line, block))

    def raw_rows(self, lines: Lines) -> Generator[tuple[bytes, list[str]], None, None]:
        """Yield the text of each row behind the header, with blank lines before it, and its cells as Latin-1.

        What is behind the last row comes last, without a cell.
        """
        read: list[bytes] = []

        def remembered() -> Iterator[bytes]:
            while line := lines.raw_line():
                read.append(line)
                yield line

        with closing(_rows(self.path, lines.number + 1, remembered(), self.delimiter)) as rows:
            for _, cells in rows:
                yield b"".join(read), cells
                read.clear()
        yield b"".join(read), []

    def _whole_rows(self, lines: Lines) -> Iterator[tuple[int, bytes]]:
        """Yield (number of the first line, whole rows) behind the header."""
        for _ in range(self.header_lines):
            lines.next_bytes()
        first_line = lines.number + 1
        while block := lines.block(self._least_block):
            while error := self._open_quote(first_line, block):
                # As much again as was read so far: the time stays linear, however long the row is.
                more = lines.block(len(block)) if len(block) <= _LONGEST_ROW else b""
                if not more:
                    raise error
                block += more
            yield first_line, block
            first_line = lines.number + 1

    def _open_quote(self, first_line: int, block: bytes) -> _OpenQuoteError | None:
        """Return the error for a block that ends within quotes, None for one that ends with a row."""
        if b'"' in block:
            try:
                deque(self._rows(first_line, block), maxlen=0)
            except _OpenQuoteError as error:
                return error
        return None

    def _check_quotes(self, first_line: int, block: bytes) -> None:
        """Raise ValueError for a quote within a cell that R escaped: it would end the cell."""
        if (self._is_of_r or self.delimiter == " ") and _ESCAPED in block:
            line = first_line + block.count(b"\n", 0, block.index(_ESCAPED))
            hint = "Hint: write.table(..., qmethod = 'double')."
            raise malformed(self.path, line, f"a quote within a cell must be doubled, got {_ESCAPED.decode()}. {hint}")

    def _check_rows(self, first_line: int, block: bytes, places: Collection[int]) -> None:
        """Raise for the first row with another number of cells than the header, or a wanted cell that is not UTF-8."""
        with closing(self._rows(first_line, block)) as rows:
            for line, cells in rows:
                if len(cells) != len(self._names):
                    problem = f"a row must have {len(self._names)} cells, as the header has, got {len(cells)}."
                    raise malformed(self.path, line, problem + self._hint(cells))
                for place in places:
                    _decoded(self.path, line, cells[place])

    def _hint(self, cells: list[str]) -> str:
        """Return why a row may have another number of cells than the header."""
        if any("\n" in cell for cell in cells):
            return " Hint: a quote is not closed."
        if len(cells) != len(self._names) + 1:
            return ""
        if not cells[-1]:
            return f" Hint: it ends in {self.delimiter!r}, unlike the header."
        return " Hint: decimals must have a point here, and a column of row names a name."

    def _locator(self, first_line: int, block: bytes) -> Callable[[int], str]:
        return lambda row: f"line {[line for line, _ in self._rows(first_line, block)][row]}"

    def _rows(self, first_line: int, block: bytes) -> _Rows:
        return _rows(self.path, first_line, io.BytesIO(block), self.delimiter)


class _OpenQuoteError(ValueError):
    """A quote is not closed where the text ends."""


def _delimiter(path: Path, limit: int | None) -> str:
    with Lines(path, limit) as lines:
        if (said := _SAID.fullmatch(lines.next_bytes() or b"")) is not None:
            return said[1].decode()
    if plain_name(path).lower().endswith(".tsv"):
        return "\t"
    try:
        _, header, _ = _read_header(path, ";", limit)
    except _OpenQuoteError:  # one that opens a cell only where a semicolon ends the cell before
        return ","
    unquoted = _QUOTED_CELL.sub(b"", header)
    if b"," in unquoted:
        return ","
    if found := next((mark for mark in ";\t" if mark.encode() in unquoted), None):
        return found
    return " " if b" " in header and _has_blanks_between(path, limit) else ","


def _has_blanks_between(path: Path, limit: int | None) -> bool:
    """Return whether a header and the first row are cells with blanks between, as R's write.table makes them."""
    try:
        names, header, n_lines = _read_header(path, " ", limit)
    except ValueError:
        return False
    if len(names) < 2 or not all(names):
        return False
    for first in _first_rows(path, " ", n_lines, limit, most=1):
        if len(first) - len(names) in (0, 1):
            return b'"' in header or any(map(_NUMBER_OF_R.fullmatch, first))
    return False


def _has_row_names(path: Path, n_names: int, delimiter: str, n_lines: int, limit: int | None) -> bool:
    """Return whether rows have a name, for which the header has no cell.

    A row has a cell more for other reasons, too: a comma at its end, a decimal comma, as in 0,5, or a name that was
    forgotten. So numbers are row names only if they ascend.
    """
    for most in (1, _ROWS_TO_GUESS_BY):  # a row of a million cells is read once more, not ten
        rows = _first_rows(path, delimiter, n_lines, limit, most)
        if not rows or not rows[0][-1] or any(len(cells) != n_names + 1 for cells in rows):
            return False
    names = [cells[0] for cells in rows]
    if any(map(str.isdecimal, names)):
        numbers = [int(name) if name.isdecimal() and len(name) < _MOST_DIGITS else -1 for name in names]
        return delimiter != "," and all(one >= 0 and one < other for one, other in pairwise(numbers))
    return all(names) and len(set(names)) == len(names)


def _first_rows(path: Path, delimiter: str, n_lines: int, limit: int | None, most: int) -> list[list[str]]:
    """Return the cells, as Latin-1, of the first rows behind the header, whose numbers keep their quotes.

    The result is empty for malformed rows, which are reported when they are read.
    """
    with Lines(path, limit) as lines:
        for _ in range(n_lines):
            lines.next_bytes()
        texts = (re.sub(rb'^"(\d++)"', rb'"\'\1"', text) for text in _until(lines, []))
        try:
            with closing(_rows(path, n_lines + 1, texts, delimiter)) as rows:
                return [cells for _, cells in islice(rows, most)]
        except ValueError:
            return []


def _read_header(path: Path, delimiter: str, limit: int | None) -> tuple[list[str], bytes, int]:
    """Return the names of the columns in the first row that is not blank, its text, and the number of its last line."""
    read: list[bytes] = []
    with Lines(path, limit) as lines, closing(_rows(path, 1, _until(lines, read), delimiter)) as rows:
        for line, cells in rows:
            if any(map(bytes.strip, read)) and not _SAID.fullmatch(b"".join(read)):
                if len(cells) > _MOST_COLUMNS:
                    hint = "Hint: svmlight and sparse ARFF are for more features."
                    problem = f"there must be at most {_MOST_COLUMNS} columns, got {len(cells)}. {hint}"
                    raise malformed(path, line, problem)
                return [_decoded(path, line, cell) for cell in cells], b"".join(read), lines.number
            read.clear()  # each line is looked at once, however many blank ones there are
    raise ValueError(f"{path} must begin with a line of column names, got an empty file.")


def _until(lines: Lines, read: list[bytes]) -> Iterator[bytes]:
    """Yield the lines, and append them to `read`, until they are so long that a quote in them is not closed."""
    n_bytes = 0
    while n_bytes <= _LARGEST_BLOCK and (line := lines.next_bytes()) is not None:
        n_bytes += len(line)
        read.append(line)
        yield line


def _rows(path: Path, first_line: int, lines: Iterable[bytes], delimiter: str) -> _Rows:
    """Yield (number of its first line, cells as Latin-1) of every row that is not empty.

    Raises
    ------
    _OpenQuoteError
        If a quote is not closed.
    ValueError
        If a line outside quotes ends in a carriage return alone.
    """
    is_read = False

    def texts() -> Iterator[str]:
        nonlocal is_read
        for text in lines:
            yield text.decode("latin-1").removesuffix("\n") + "\n"
        is_read = True
        yield _END

    reader = csv.reader(texts(), delimiter=delimiter)
    line = first_line
    try:
        with _cells_of_any_length():
            for cells in reader:
                if is_read and cells != [_END]:  # the end is within quotes
                    opened = first_line + reader.line_num - 1 - cells[-1].count("\n")
                    hint = "Hint: a cell that begins with a quote is written in quotes, each of its own twice."
                    problem = f"a quote must be closed, got one that is not. {hint}"
                    raise _OpenQuoteError(str(malformed(path, opened, problem)))
                if cells and not is_read:
                    yield line, cells
                line = first_line + reader.line_num
    except csv.Error as error:  # for cells of any length, the only one
        raise only_returned(path, line) from error


# Of the standard library's reader, which has one limit for the whole process.
_cells_of_any_length = ProcessSetting(csv.field_size_limit, csv.field_size_limit, lambda _: _LONGEST_CELL)


def _decoded(path: Path, line: int, cell: str) -> str:
    text = cell.encode("latin-1")
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        problem = f"the text must be UTF-8, got the byte 0x{text[error.start]:02x}."
        raise malformed(path, line, f"{problem} Hint: spreadsheets save 'CSV UTF-8'.") from error
