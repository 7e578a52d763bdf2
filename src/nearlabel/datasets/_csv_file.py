"""CSV and TSV files: a line of names, then rows of text.

pyarrow parses blocks of whole rows. It is fast but knows no line numbers and does not report a quote that is not
closed; for both, the standard library's reader goes through a block.
"""

from __future__ import annotations

import csv
import io
import json
import re
import threading
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

from nearlabel.datasets import _table_file as table_file
from nearlabel.datasets._lines import Lines, malformed, plain_name
from nearlabel.utils.messages import listening

_ROWS_A_BLOCK = 256  # estimated by the length of the header: the cost of a block grows with the number of columns
_LARGEST_BLOCK = 2**26
_MOST_COLUMNS = 1_000_000  # each takes about 6 KB
_LONGEST_ROW = 2**28  # a longer one is a quote that is not closed
_LONGEST_CELL = 2**31 - 1  # the largest limit that the standard library's reader takes on every platform
_READER_LIMIT = threading.Lock()
_QUOTED_CELL = re.compile(rb'(?<![^;\r\n])"[^"]*+(?:""[^"]*+)*+"?')  # where cells end in a semicolon
_END = "\0end"  # a line behind the last one

_Rows: TypeAlias = Generator[tuple[int, list[str]], None, None]


class CsvFile(table_file.TableFile):
    """The rows of a CSV file; cells end in a comma, or a semicolon where the header has no comma, or a tab in ``.tsv``.

    A first column without a name, in which pandas and R write the index, is left out.
    """

    def __init__(self, path: Path, decimal: str = ".", max_unpacked_bytes: int | None = None) -> None:
        self.path = path
        self._limit = max_unpacked_bytes
        self.decimal = decimal
        self.delimiter = _delimiter(path, max_unpacked_bytes)
        self._names, header, self.header_lines = _read_header(path, self.delimiter, max_unpacked_bytes)
        self.places = {name: place for place, name in enumerate(self._names)}
        self._least_block = min(_ROWS_A_BLOCK * len(header), _LARGEST_BLOCK)
        self.columns = table_file.named_columns(path, self._names)

    def batches(self, names: Collection[str]) -> Iterator[table_file.Batch]:
        """Yield the cells as text, an empty one as null."""
        places = [self.places[name] for name in names]
        parser = table_file.CsvParser(len(self._names), places, self.delimiter)
        with Lines(self.path, self._limit) as lines:
            for first_line, block in self._whole_rows(lines):
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

    def _check_rows(self, first_line: int, block: bytes, places: Collection[int]) -> None:
        """Raise for the first row with another number of cells than the header, or a wanted cell that is not UTF-8."""
        with closing(self._rows(first_line, block)) as rows:
            for line, cells in rows:
                if len(cells) != len(self._names):
                    hint = " Hint: a quote is not closed." if any("\n" in cell for cell in cells) else ""
                    problem = f"a row must have {len(self._names)} cells, as the header has, got {len(cells)}.{hint}"
                    raise malformed(self.path, line, problem)
                for place in places:
                    _decoded(self.path, line, cells[place])

    def _locator(self, first_line: int, block: bytes) -> Callable[[int], str]:
        return lambda row: f"line {[line for line, _ in self._rows(first_line, block)][row]}"

    def _rows(self, first_line: int, block: bytes) -> _Rows:
        return _rows(self.path, first_line, io.BytesIO(block), self.delimiter)


class _OpenQuoteError(ValueError):
    """A quote is not closed where the text ends."""


def _delimiter(path: Path, limit: int | None) -> str:
    if plain_name(path).lower().endswith(".tsv"):
        return "\t"
    try:
        _, header, _ = _read_header(path, ";", limit)
    except _OpenQuoteError:  # one that opens a cell only where a semicolon ends the cell before
        return ","
    unquoted = _QUOTED_CELL.sub(b"", header)
    return ";" if b";" in unquoted and b"," not in unquoted else ","


def _read_header(path: Path, delimiter: str, limit: int | None) -> tuple[list[str], bytes, int]:
    """Return the names of the columns in the first row that is not blank, its text, and the number of its last line."""
    read: list[bytes] = []
    with Lines(path, limit) as lines, closing(_rows(path, 1, _until(lines, read), delimiter)) as rows:
        for line, cells in rows:
            if any(map(bytes.strip, read)):
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
        hint = "Hint: save the file with the line ends of Linux or Windows."
        problem = f"a line must end in a newline, got a carriage return alone. {hint}"
        raise malformed(path, line, problem) from error


@contextmanager
def _cells_of_any_length() -> Iterator[None]:
    """Lift the limit of the standard library's reader, which is one for the whole process, for a while."""
    with _READER_LIMIT:
        before = csv.field_size_limit(_LONGEST_CELL)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _decoded(path: Path, line: int, cell: str) -> str:
    text = cell.encode("latin-1")
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        problem = f"the text must be UTF-8, got the byte 0x{text[error.start]:02x}."
        raise malformed(path, line, f"{problem} Hint: spreadsheets save 'CSV UTF-8'.") from error


# JSON lines: one object a line, as `nearlabel predict` writes them.

_MOST_NAMES = 2**16  # more are keys that are data
_MOST_DIGITS = 18  # of an integer of 64 bits
_HALF_CHARACTER = re.compile(rb"\\u[dD][89a-fA-F]")
_BATCH_CELLS = 2**20

_Type: TypeAlias = Literal["bool", "int", "float", "text"]
_TYPES: dict[type, _Type] = {bool: "bool", int: "int", float: "float", str: "text"}


class JsonLinesFile(table_file.TableFile):
    """The rows of a file of JSON lines. A name that a line lacks is a missing value there, as null is.

    A first reading finds the names and the types of their values: no line declares them for the others.
    """

    def __init__(self, path: Path, max_unpacked_bytes: int | None = None) -> None:
        self.path = path
        self._limit = max_unpacked_bytes
        self.n_rows = 0
        n_values = 0
        found: dict[str, FoundTypes] = {}
        with listening(None):  # progress is reported for the second reading only
            for _, rows in self._blocks():
                for line, row in rows:
                    self._add(found, line, row)
                    n_values += sum(len(value) if isinstance(value, list) else 1 for value in row.values())
                self.n_rows += len(rows)
        if not self.n_rows:
            raise ValueError(f"{path} must contain an object on each line, got no line.")
        width = sum(of.width if of.kind == "numbers" else 1 for of in found.values())
        table_file.check_filled(path, self.n_rows * width, n_values)
        self._found = found
        named = (table_file.Column(name, of.kind, of.description) for name, of in found.items())
        self.columns = table_file.columns_by_name(path, named)

    def batches(self, names: Collection[str]) -> Iterator[table_file.Batch]:
        """Yield the values in the types of their columns."""
        for name in names:
            if self._found[name].kind == "other":
                got = self._found[name].description
                raise ValueError(f"{self.path} must have values of one type in column {name!r}, got {got}.")
        size = max(1, _BATCH_CELLS // max(1, len(names)))
        for share, rows in self._blocks():
            for start in range(0, len(rows), size):
                some = rows[start : start + size]
                columns = {name: self._found[name].array([row.get(name) for _, row in some]) for name in names}
                locate = table_file.located("line", [line for line, _ in some])
                yield table_file.Batch(len(some), columns, share, locate)

    def width(self, name: str) -> int:
        """Return the length of the first list that is not empty."""
        return self._found[name].width

    def _blocks(self) -> Iterator[tuple[float, list[tuple[int, dict[str, Any]]]]]:
        """Yield (share of the file that was read, (line, object) of some rows); blank lines are skipped."""
        with Lines(self.path, self._limit) as lines:
            for first, block in lines.blocks():
                texts = enumerate(block.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=first)
                rows = [(line, self._parsed(line, text)) for line, text in texts if text.strip()]
                if rows:
                    yield lines.share_read, rows

    def _parsed(self, line: int, text: bytes) -> dict[str, Any]:
        try:
            row = json.loads(text.decode("utf-8"), parse_int=_integer)
            if _HALF_CHARACTER.search(text):
                json.dumps(row, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError as error:  # JSON can write half of a pair of surrogates, which no text can contain
            got = f"\\u{ord(error.object[error.start]):04x} alone"
            problem = f"texts must be of whole characters, got half a character, {got}."
            raise malformed(self.path, line, problem) from error
        except ValueError as error:
            raise malformed(self.path, line, f"the line must be JSON, got: {error}.") from error
        except (RecursionError, MemoryError) as error:
            raise malformed(self.path, line, "the line must be JSON, got: it is nested too deeply.") from error
        if not isinstance(row, dict):
            raise malformed(self.path, line, f"the line must be an object of JSON, got {table_file.shortened(row)}.")
        return row

    def _add(self, found: dict[str, FoundTypes], line: int, row: dict[str, Any]) -> None:
        for name, value in row.items():
            if name not in found:
                if len(found) == _MOST_NAMES:
                    raise malformed(self.path, line, f"the file must have at most {_MOST_NAMES} names, got {name!r}.")
                found[name] = FoundTypes()
            found[name].add(value)


class FoundTypes:
    """The types of the values under one name."""

    def __init__(self) -> None:
        self._types: set[type] = set()
        self._elements: set[type] = set()
        self.width = 0

    def add(self, value: Any) -> None:
        """Record a value."""
        self._types.add(type(value))
        if isinstance(value, list):
            self._elements.update(map(type, value))
            self.width = self.width or len(value)

    @property
    def _is_list(self) -> bool:
        return list in self._types

    @property
    def _type(self) -> _Type | None:
        """The type of all values, or of all values in lists; None if there is no such type."""
        types = (self._elements if self._is_list else self._types) - {type(None)}
        if self._is_list and self._types - {list, type(None)}:
            return None
        if types <= {int, float, bool} and len(types) > 1:
            return "float" if float in types else "int"
        if not types:
            return "text" if self._is_list else "float"  # a list without elements is one of tags
        return _TYPES.get(next(iter(types))) if len(types) == 1 else None

    @property
    def _is_nested(self) -> bool:
        """Whether the values are objects, or lists of objects or of true and false, which are read as their JSON."""
        types = self._elements if self._is_list else self._types
        others = self._types - {list, type(None)} if self._is_list else set()
        return not others and types - {type(None)} in ({dict}, {bool}) and (self._is_list or dict in types)

    @property
    def kind(self) -> table_file.Kind:
        """The kind of the column."""
        if self._is_nested:
            return "text"
        if self._type is None or (self._is_list and self._type == "bool"):
            return "other"
        of_one: table_file.Kind = "text" if self._type == "text" else "number"
        return table_file.LISTS[of_one] if self._is_list else of_one

    @property
    def description(self) -> str:
        """The type, for messages."""
        what = self._type or " and ".join(sorted(one.__name__ for one in self._types | self._elements))
        return f"list of {what}" if self._is_list else what

    def array(self, values: Sequence[Any]) -> Any:
        """Return values of this column."""
        if self._is_nested:
            values = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
            return table_file.array_of(values, "text")
        type_ = self._type or "text"
        if type_ in ("bool", "text"):
            return table_file.array_of(values, type_, lists=self._is_list)
        as_type = int if type_ == "int" else float
        if not self._is_list:
            return table_file.array_of([_converted(value, as_type) for value in values], type_)
        if len(self._elements) > 1:  # integers among floats, which may be too large for a float
            values = [None if row is None else [_converted(value, as_type) for value in row] for row in values]
        return table_file.array_of(values, type_, lists=True)


def _converted(value: Any, as_type: Callable[[Any], Any]) -> Any:
    return None if value is None else as_type(value)


def _integer(text: str) -> int | float:
    """Return an integer, as a float if it may need more than 64 bits."""
    return int(text) if len(text) <= _MOST_DIGITS else float(text)
