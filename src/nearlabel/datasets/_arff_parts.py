"""The parts of an ARFF file: its header, and the cells of one block of data rows."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nearlabel.datasets._lines import NUMBER_PATTERN, Lines, decode, malformed, parse_numbers
from nearlabel.utils.types import FloatArray, IntArray

# Patterns are possessive: none looks at a character twice, whatever the file. Blanks behind a bare value belong to its
# match, and are stripped from it.
QUOTED = r"""'((?:[^'\\]++|\\.)*+)'|"((?:[^"\\]++|\\.)*+)\""""
NUMBER = re.compile(r"[-+]?+(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?+\d++)?+")

_DECLARATION = re.compile(r"@(\w++)\s*+(.*+)", re.DOTALL)
_NAME = re.compile(rf"(?:{QUOTED}|([^\s'\"{{][^\s{{]*+))\s*+(.*+)", re.DOTALL)
_VALUE = re.compile(rf"\s*+(?:(?:{QUOTED})\s*+|([^\s,}}'\"][^,}}]*+))([,}}])")
_KIND = re.compile(r"(\w++)\s*+(?:\[[^]]*+\]\s*+)?+(?:%.*+)?+")
_MOST_CHARACTERS = 2**26
_ESCAPE = re.compile(r"\\(.)")
_CONTROL = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True)
class Attribute:
    """A column: numeric (`values` is None), or nominal with its declared values in order.

    `unknown` is a text that means a missing value, as ``?`` does.
    """

    name: str
    values: tuple[str, ...] | None = None
    unknown: str | None = None

    def encode(self, text: str) -> float:
        """Return the number of a cell; raise ValueError without the line, which the caller knows."""
        if text == "?":
            return math.nan
        return _number(self, text) if self.values is None else self._code(text)

    def _code(self, text: str) -> float:
        code = self._codes.get(text)
        if code is None and NUMBER.fullmatch(text):
            code = self.codes_by_number.get(float(text))  # 1.0 where 1 is declared
        if code is None:
            raise ValueError(f"attribute {self.name!r} must be one of {_shorten(self.values or ())}, got {text!r}.")
        return code

    @functools.cached_property
    def _codes(self) -> dict[str, float]:
        codes = {value: float(code) for code, value in enumerate(self.values or ())}
        return codes if self.unknown is None else codes | {self.unknown: math.nan}

    @functools.cached_property
    def codes_by_number(self) -> dict[float, float]:
        """Codes of those declared values that are numbers; empty when two of them are the same number."""
        numeric = [(float(value), code) for value, code in self._codes.items() if NUMBER.fullmatch(value)]
        codes = dict(numeric)
        return codes if len(codes) == len(numeric) else {}


@dataclass(frozen=True)
class Header:
    """The relation's name and its attributes in the order of the columns."""

    path: Path
    relation: str
    attributes: tuple[Attribute, ...]

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The attributes' names."""
        return tuple(attribute.name for attribute in self.attributes)

    def with_attributes(self, changed: dict[int, Attribute]) -> Header:
        """Return the header with some columns read as another attribute."""
        return replace(self, attributes=tuple(changed.get(i, old) for i, old in enumerate(self.attributes)))


def read_header(lines: Lines) -> Header:
    """Read up to and including ``@data``."""
    relation = ""
    attributes: list[Attribute] = []
    while (line := lines.next_line()) is not None:
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        keyword, rest = _declaration(lines, text)
        if keyword == "relation":
            relation = _relation(rest)
        elif keyword == "attribute":
            attributes.append(_attribute(lines, rest))
        elif rest.strip() and not rest.lstrip().startswith("%"):
            raise malformed(lines.path, lines.number, f"@data must be alone on its line, got {rest[:60]!r} behind it.")
        elif attributes:
            _check_lengths(lines, attributes)
            return Header(lines.path, relation, tuple(attributes))
        else:
            raise malformed(lines.path, lines.number, "@data must follow at least one @attribute, got none.")
    raise malformed(lines.path, lines.number, "the header must end in @data, got the end of the file.")


def _check_lengths(lines: Lines, attributes: list[Attribute]) -> None:
    """Raise ValueError if the names of columns, each of an attribute and a value, would be far longer than the header.

    A name of 50,000 letters and 10,000 values fit into 100 KB, and would be 1 GB of names.
    """
    n_characters = sum(len(one.name) * len(one.values or ()) for one in attributes)
    if n_characters > _MOST_CHARACTERS:
        problem = f"attributes and their values must make names of at most {_MOST_CHARACTERS} characters in all"
        raise malformed(lines.path, lines.number, f"{problem}, got {n_characters}. Hint: shorter names of attributes.")


def _declaration(lines: Lines, text: str) -> tuple[str, str]:
    match = _DECLARATION.fullmatch(text)
    keyword = match[1].lower() if match else ""
    if match is None or keyword not in ("relation", "attribute", "data"):
        problem = f"a header line must begin with @relation, @attribute or @data, got {text[:60]!r}."
        raise malformed(lines.path, lines.number, problem)
    return keyword, match[2]


def _relation(rest: str) -> str:
    """Return the name; an unquoted one may contain blanks, and a comment may follow either."""
    quoted = re.match(QUOTED, rest)
    return unquote(quoted.groups()) if quoted else rest.partition("%")[0].strip()


def _attribute(lines: Lines, rest: str) -> Attribute:
    match = _NAME.fullmatch(rest)
    if match is None:
        problem = f"@attribute must be followed by a name, quoted or without blanks, and a type, got {rest[:60]!r}."
        raise malformed(lines.path, lines.number, problem)
    name, kind = unquote(match.groups()[:3]), match[4]
    if kind.startswith("{"):
        return Attribute(name, _nominal_values(lines, name, kind))
    _check_numeric(lines, name, kind)
    return Attribute(name)


def _check_numeric(lines: Lines, name: str, kind: str) -> None:
    match = _KIND.fullmatch(kind)
    if match is None or match[1].lower() not in ("numeric", "real", "integer"):
        got = kind.split()[0] if kind.split() else "nothing"
        problem = f"the type of attribute {name!r} must be numeric, real, integer or {{value,...}}, got {got}."
        hint = " Hint: text and dates have no distance; remove the attribute or convert it to numbers."
        raise malformed(lines.path, lines.number, problem + hint)


def _nominal_values(lines: Lines, name: str, text: str) -> tuple[str, ...]:
    values = []
    position = 1
    closing = ","
    while closing == ",":
        match = _VALUE.match(text, position)
        if match is None:
            problem = f"the values of attribute {name!r} must read {{value,...}}, got {text[position - 1 :][:60]!r}."
            raise malformed(lines.path, lines.number, problem)
        values.append(unquote(match.groups()[:3]))
        position, closing = match.end(), match[4]
    rest = text[position:].strip()
    if (rest and not rest.startswith("%")) or len(set(values)) < len(values):
        got = f"{rest[:60]!r} behind them" if rest else "one of them twice"
        problem = f"the values of attribute {name!r} must read {{value,...}}, each once, got {got}."
        raise malformed(lines.path, lines.number, problem)
    return tuple(values)


def unquote(groups: tuple[str | None, ...]) -> str:
    """Return a token from the groups (single-quoted, double-quoted, bare): quoted text loses its backslashes."""
    single, double, *bare = groups
    quoted = single if single is not None else double
    return unescape(quoted) if quoted is not None else (bare[0].rstrip() if bare and bare[0] is not None else "")


def unescape(text: str) -> str:
    r"""Return the text with each backslash escape replaced by its character.

    >>> unescape(r"rock \'n\' roll")
    "rock 'n' roll"
    """
    return _ESCAPE.sub(lambda match: _CONTROL.get(match[1], match[1]), text)


def _number(attribute: Attribute, text: str) -> float:
    number = float(text) if NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(number):
        hint = " Hint: a missing value is written ?." if text.lower() in ("nan", "na", "") else ""
        raise ValueError(f"attribute {attribute.name!r} must be a finite number, got {text!r}.{hint}")
    return number


def _shorten(values: tuple[str, ...]) -> str:
    shown = ",".join(values[:5])
    return f"{{{shown},...}}" if len(values) > 5 else f"{{{shown}}}"


# The cells of one block of ARFF data rows.
#
# Each block is tried the fast way first: one regular expression proves that it contains only plainly written numbers,
# numpy reads them all in one call, and nominal values are looked up as arrays. A block that is more complicated
# (quotes, words, comments, ``?``, any mistake) goes line by line through the slow way, which alone detects errors and
# reports their line. So the fast way may give up on any block but must never accept one that the slow way rejects.

_PAIR = rb"\d++[ \t]++" + NUMBER_PATTERN
_SPARSE_BLOCK = re.compile(rb"(?:\{(?:%b(?:,[ \t]*+%b)*+)?+\}\n)*+" % (_PAIR, _PAIR))
_DENSE_BLOCK = re.compile(rb"(?:[ \t]*+%b[ \t]*+[,\n])*+" % NUMBER_PATTERN)
_DENSE_COMMAS = bytes.maketrans(b"\n", b",")
_SPARSE_BLANKS = bytes.maketrans(b"{},\n\t", b"     ")
_MOST_DIGITS = 18  # of an integer of 64 bits
_SLOW_PAIR = re.compile(rf"\s*+(?:(-?+\d++)\s++(?:(?:{QUOTED})\s*+|([^\s,}}'\"%][^,}}%]*+)))?+([,}}])")
_SLOW_CELL = re.compile(rf"\s*+(?:(?:{QUOTED})\s*+|([^\s,'\"%][^,%]*+))(,|(?:%.*+)?+$)")


class SparseCells(NamedTuple):
    """Cells of `n_rows` rows, ordered by row and column; each array has shape (n_cells,)."""

    n_rows: int
    rows: IntArray
    columns: IntArray
    values: FloatArray


def read_rows(header: Header, lines: Lines) -> tuple[bool, Iterator[Any]]:
    """Return whether the first row is sparse, and the blocks of rows behind a header: `SparseCells`, or arrays."""
    blocks = lines.blocks()
    for number, block in blocks:
        rows = (line.strip() for line in block.split(b"\n"))
        if first := next((row for row in rows if row and not row.startswith(b"%")), b""):
            reader = CellReader(header)
            is_sparse = first.startswith(b"{")
            read = reader.sparse if is_sparse else reader.dense
            return is_sparse, itertools.starmap(read, itertools.chain([(number, block)], blocks))
    raise ValueError(f"{lines.path} must contain at least one row behind @data, got none.")


class CellReader:
    """Reads blocks of data rows under one header."""

    def __init__(self, header: Header) -> None:
        self._path = header.path
        self._attributes = header.attributes
        self._codes = _NumericCodes(header.attributes)

    def sparse(self, first_line: int, block: bytes) -> SparseCells:
        """Return the cells of rows ``{index value,...}``."""
        cells = self._fast_sparse(_tidy(block).replace(b"{,", b"{"))
        return self._slow_sparse(first_line, block) if cells is None else cells

    def dense(self, first_line: int, block: bytes) -> FloatArray:
        """Return rows ``value,...`` as an array (n_rows, n_attributes)."""
        cells = self._fast_dense(_tidy(block))
        return self._slow_dense(first_line, block) if cells is None else cells

    def _fast_sparse(self, block: bytes) -> SparseCells | None:
        if not _SPARSE_BLOCK.fullmatch(block):
            return None
        counts = _cells_per_sparse_row(block)
        numbers = parse_numbers(block.translate(_SPARSE_BLANKS), " ").reshape(-1, 2)
        values = numbers[:, 1].copy()
        if numbers[:, 0].max(initial=0) >= len(self._attributes) or not np.isfinite(values).all():
            return None
        rows, columns = np.repeat(np.arange(len(counts)), counts), numbers[:, 0].astype(np.intp)
        if not self._codes.encode(values, columns):
            return None
        return _ordered(SparseCells(len(counts), rows, columns, values), len(self._attributes))

    def _fast_dense(self, block: bytes) -> FloatArray | None:
        width = len(self._attributes)
        if not _DENSE_BLOCK.fullmatch(block) or (_per_line(block, b",") != width - 1).any():
            return None
        cells = parse_numbers(block.translate(_DENSE_COMMAS, b" \t")[:-1], ",").reshape(-1, width)
        columns = np.broadcast_to(np.arange(width), cells.shape)
        return cells if np.isfinite(cells).all() and self._codes.encode(cells, columns) else None

    def _slow_sparse(self, first_line: int, block: bytes) -> SparseCells:
        counts: list[int] = []
        columns: list[int] = []
        values: list[float] = []
        for number, line in _data_lines(first_line, block):
            try:
                row = _sparse_row(line, self._attributes)
            except ValueError as error:
                raise malformed(self._path, number, str(error)) from None
            counts.append(len(row))
            columns.extend(row)
            values.extend(row[column] for column in row)
        rows = np.repeat(np.arange(len(counts)), np.array(counts, dtype=np.intp))
        return SparseCells(len(counts), rows, np.array(columns, dtype=np.intp), np.array(values, dtype=np.float64))

    def _slow_dense(self, first_line: int, block: bytes) -> FloatArray:
        rows: list[FloatArray] = []
        for number, line in _data_lines(first_line, block):
            try:
                rows.append(_dense_row(line, self._attributes))
            except ValueError as error:
                raise malformed(self._path, number, str(error)) from None
        return np.array(rows).reshape(-1, len(self._attributes))


class _NumericCodes:
    """Nominal values that are numbers, looked up as arrays: columns of equal declaration form one group."""

    def __init__(self, attributes: tuple[Attribute, ...]) -> None:
        group_of: dict[tuple[tuple[str, ...], str | None], int] = {}
        self._group_of_column = np.zeros(len(attributes), dtype=np.intp)
        self._tables: list[tuple[FloatArray, FloatArray]] = []
        for column, attribute in enumerate(attributes):
            if attribute.values is None:
                continue
            declared = attribute.values, attribute.unknown
            if declared not in group_of:
                self._tables.append(_table(attribute.codes_by_number))
                group_of[declared] = len(self._tables)
            self._group_of_column[column] = group_of[declared]
        # Numbers of 8 or 16 bits, which are most often enough, are sorted several times faster.
        self._group_of_column = self._group_of_column.astype(np.min_scalar_type(len(self._tables)))

    def encode(self, values: FloatArray, columns: IntArray) -> bool:
        """Replace nominal numbers by their codes in place; False if one is not declared."""
        if not self._tables:
            return True
        groups, cells = self._group_of_column[columns].ravel(), values.reshape(-1)
        nominal = np.flatnonzero(groups)
        # The cells of each group side by side: a walk over all cells for each group would be quadratic.
        nominal = nominal[np.argsort(groups[nominal], kind="stable")]
        starts = np.flatnonzero(np.diff(groups[nominal], prepend=0))
        for here in np.split(nominal, starts[1:]) if starts.size else ():
            numbers, codes = self._tables[groups[here[0]] - 1]
            if not numbers.size:
                return False
            found = cells[here]
            place = np.minimum(np.searchsorted(numbers, found), numbers.size - 1)
            if (numbers[place] != found).any():
                return False
            cells[here] = codes[place]
        return True


def _table(codes: dict[float, float]) -> tuple[FloatArray, FloatArray]:
    numbers = sorted(codes)
    return np.array(numbers, dtype=np.float64), np.array([codes[number] for number in numbers], dtype=np.float64)


def _tidy(block: bytes) -> bytes:
    """Return the block with plain line ends and without empty lines."""
    block = block.replace(b"\r\n", b"\n")
    if block.startswith(b"\n") or b"\n\n" in block:
        block = re.sub(rb"\n{2,}", b"\n", block).lstrip(b"\n")
    return block


def _per_line(block: bytes, separator: bytes) -> IntArray:
    """Return how often the separator occurs in each line."""
    characters = np.frombuffer(block, dtype=np.uint8)
    ends = np.flatnonzero(characters == ord("\n"))
    counts: IntArray = np.diff(np.cumsum(characters == ord(separator))[ends], prepend=0)
    return counts


def _cells_per_sparse_row(block: bytes) -> IntArray:
    characters = np.frombuffer(block, dtype=np.uint8)
    ends = np.flatnonzero(characters == ord("\n"))
    empty = characters[ends - 2] == ord("{")  # a line is {...}\n, so only {} has the brace there
    counts: IntArray = _per_line(block, b",") + 1 - empty
    return counts


def _ordered(cells: SparseCells, width: int) -> SparseCells | None:
    """Return the cells in the order of the columns, None if a column occurs twice in a row."""
    keys = cells.rows * width + cells.columns
    if (np.diff(keys) > 0).all():
        return cells
    order = np.argsort(keys, kind="stable")
    if (np.diff(keys[order]) == 0).any():
        return None
    return SparseCells(cells.n_rows, cells.rows, cells.columns[order], cells.values[order])


def cells_of(cells: SparseCells | FloatArray, columns: IntArray) -> SparseCells | FloatArray:
    """Return the cells of some columns, which are ascending and renumbered."""
    if not isinstance(cells, SparseCells):
        return cells[:, columns]
    place = np.searchsorted(columns, cells.columns)
    here = columns[np.minimum(place, len(columns) - 1)] == cells.columns
    return SparseCells(cells.n_rows, cells.rows[here], place[here], cells.values[here])


def _data_lines(first_line: int, block: bytes) -> Iterator[tuple[int, str]]:
    """Yield (line number, text) of the lines that contain a row."""
    for number, line in enumerate(block.split(b"\n"), first_line):
        text = decode(line).strip()
        if text and not text.startswith("%"):
            yield number, text


def _sparse_row(text: str, attributes: tuple[Attribute, ...]) -> dict[int, float]:
    """Return column -> value, in the order of the columns."""
    if not text.startswith("{"):
        raise ValueError(f"a row must be sparse, {{index value,...}}, as the first is, got {text[:60]!r}.")
    row: dict[int, float] = {}
    position, closing = 1, ","
    while closing == ",":
        match = _SLOW_PAIR.match(text, position)
        if match is None or (match[1] is None and not _may_be_empty(text, position)):
            raise ValueError(f"a cell must read 'index value', got {text[position:][:60]!r}.{_quote_hint(text)}")
        if match[1] is not None:
            column = _column(match[1], row, len(attributes))
            row[column] = attributes[column].encode(unquote(match.groups()[1:4]))
        position, closing = match.end(), match[5]
    _check_end(text[position:].strip())
    return dict(sorted(row.items()))


def _may_be_empty(text: str, position: int) -> bool:
    """Allow ``{}`` and the empty first cell ``{,3 1}`` that some writers leave."""
    return position == 1 or text.startswith("{,}")


def _column(number: str, row: dict[int, float], width: int) -> int:
    column = int(number) if len(number) <= _MOST_DIGITS else -1
    if not 0 <= column < width:
        got = number if len(number) <= _MOST_DIGITS else f"a number of {len(number)} digits"
        raise ValueError(f"an index must be from 0 to {width - 1} for {width} attributes, got {got}.")
    if column in row:
        raise ValueError(f"an index must occur once in a row, got {column} twice.")
    return column


def _dense_row(text: str, attributes: tuple[Attribute, ...]) -> FloatArray:
    if text.startswith("{"):
        raise ValueError(f"a row must be dense, value,..., as the first is, got {text[:60]!r}.")
    cells = _split(text)
    if len(cells) == len(attributes) + 1 and cells[-1].startswith("{"):
        _check_end("," + cells[-1])
    if len(cells) != len(attributes):
        raise ValueError(f"a row must have {len(attributes)} cells, got {len(cells)}.")
    return np.array([attribute.encode(cell) for attribute, cell in zip(attributes, cells, strict=True)])


def _split(text: str) -> list[str]:
    if not any(character in text for character in "'\"%"):
        return [cell.strip() for cell in text.split(",")]
    cells: list[str] = []
    position, closing = 0, ","
    while closing == ",":
        match = _SLOW_CELL.match(text, position)
        if match is None:
            raise ValueError(
                f"a cell must be a value, plain or in quotes, got {text[position:][:60]!r}.{_quote_hint(text)}"
            )
        cells.append(unquote(match.groups()[:3]))
        position, closing = match.end(), match[4]
    return cells


def _quote_hint(text: str) -> str:
    return " Hint: a quote is not closed." if text.count("'") % 2 or text.count('"') % 2 else ""


def _check_end(rest: str) -> None:
    """Reject anything except a comment behind a row."""
    if re.match(r",\s*\{", rest):
        raise ValueError(f"a row must have no instance weight, got {rest[1:].strip()!r}: weights are not supported.")
    if rest and not rest.startswith("%"):
        raise ValueError(f"a row must end in }}, got {rest[:60]!r} behind it.")
