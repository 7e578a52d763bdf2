"""The cells of one block of ARFF data rows.

Each block is tried the fast way first: one regular expression proves that it contains only plainly written numbers,
numpy reads them all in one call, and nominal values are looked up as arrays. A block that is more complicated (quotes,
words, comments, ``?``, weights, any mistake) goes line by line through the slow way, which alone detects errors and
reports their line. So the fast way may give up on any block but must never accept one that the slow way rejects.
"""

from __future__ import annotations

import itertools
import math
import re
from array import array
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from nearlabel.datasets._arff_header import NUMBER, QUOTED, Attribute, Header, unquote
from nearlabel.datasets._lines import NUMBER_PATTERN, Lines, decode, malformed, parse_numbers
from nearlabel.utils.types import AnyArray, FloatArray, IntArray

_PAIR = rb"\d++[ \t]++" + NUMBER_PATTERN
_SPARSE_BLOCK = re.compile(rb"(?:\{(?:%b(?:,[ \t]*+%b)*+)?+\}\n)*+" % (_PAIR, _PAIR))
_DENSE_BLOCK = re.compile(rb"(?:[ \t]*+%b[ \t]*+[,\n])*+" % NUMBER_PATTERN)
_DENSE_COMMAS = bytes.maketrans(b"\n", b",")
_SPARSE_BLANKS = bytes.maketrans(b"{},\n\t", b"     ")
_MOST_DIGITS = 18  # of an integer of 64 bits
_SLOW_PAIR = re.compile(rf"\s*+(?:(-?+\d++)\s++(?:(?:{QUOTED})\s*+|([^\s,}}'\"%][^,}}%]*+)))?+([,}}])")
_SLOW_CELL = re.compile(rf"\s*+(?:(?:{QUOTED})\s*+|([^\s,'\"%][^,%]*+))(,|(?:%.*+)?+$)")
# The same for cells with blanks or tabs between them, as WEKA reads them: a bare cell has none itself, and no quotes.
_WORD = r"[^\s,%{}'\"]++"
_END = r"\s*+(?:%.*+)?+$"
_BLANK_PAIR = re.compile(rf"\s*+(?:(-?+\d++)\s++(?:{QUOTED}|({_WORD})))?+(?:\s*+([,}}])|\s++)")
_BLANK_CELL = re.compile(rf"(?:{QUOTED}|(\{{[^{{}}]*+\}}|{_WORD}))({_END}|\s*+,\s*+|\s++|(?=\{{))")
_WEIGHT = re.compile(r"(?:,?+\s*+\{([^{}]*+)\})?+\s*+(?:%.*+)?+")  # behind a sparse row


class SparseCells(NamedTuple):
    """Cells of `n_rows` rows, ordered by row and column; each array has shape (n_cells,)."""

    n_rows: int
    rows: IntArray
    columns: IntArray
    values: AnyArray


class RowWeights:
    """The weights of rows; one that has none weighs 1."""

    def __init__(self) -> None:
        self._n_rows = 0
        self._rows, self._values = array("q"), array("d")

    def append(self, n_rows: int, found: dict[int, float]) -> None:
        """Add rows, some of which have a weight."""
        self._rows.extend(self._n_rows + row for row in found)
        self._values.extend(found.values())
        self._n_rows += n_rows

    def weights(self) -> FloatArray | None:
        """Return the weights (n_rows,); None if all are 1."""
        if all(value == 1 for value in self._values):
            return None
        weights = np.ones(self._n_rows)
        weights[np.array(self._rows)] = self._values
        return weights


class Rows(NamedTuple):
    """Rows behind a header: whether they are sparse, their blocks (`SparseCells`, or arrays), and their weights."""

    are_sparse: bool
    blocks: Iterator[Any]
    weights: RowWeights


def read_rows(header: Header, lines: Lines) -> Rows:
    """Return the rows behind a header; they are sparse if the first one is."""
    blocks = lines.blocks()
    for number, block in blocks:
        rows = (line.strip() for line in block.split(b"\n"))
        if first := next((row for row in rows if row and not row.startswith(b"%")), b""):
            reader = CellReader(header)
            is_sparse = first.startswith(b"{")
            read = reader.sparse if is_sparse else reader.dense
            return Rows(is_sparse, itertools.starmap(read, itertools.chain([(number, block)], blocks)), reader.weights)
    raise ValueError(f"{lines.path} must contain at least one row behind @data, got none.")


class CellReader:
    """Reads blocks of data rows under one header, and keeps their weights."""

    def __init__(self, header: Header) -> None:
        self._path = header.path
        self._attributes = header.attributes
        self._codes = _NumericCodes(header.attributes)
        self._dtype = np.object_ if header.holds_cells else np.float64
        self._required = [column for column, one in enumerate(header.attributes) if one.is_required]
        self.weights = RowWeights()

    def sparse(self, first_line: int, block: bytes) -> SparseCells:
        """Return the cells of rows ``{index value,...}``."""
        cells = self._fast_sparse(_tidy(block).replace(b"{,", b"{")) if self._dtype is np.float64 else None
        if cells is None:
            return self._slow_sparse(first_line, block)
        self.weights.append(cells.n_rows, {})
        return cells

    def dense(self, first_line: int, block: bytes) -> AnyArray:
        """Return rows ``value,...`` as an array (n_rows, n_attributes)."""
        cells = self._fast_dense(_with_commas(_tidy(block))) if self._dtype is np.float64 else None
        if cells is None:
            return self._slow_dense(first_line, block)
        self.weights.append(len(cells), {})
        return cells

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
        values: list[Any] = []
        weights: dict[int, float] = {}
        for number, line in _data_lines(first_line, block):
            try:
                row, weight = _sparse_row(line, self._attributes)
                self._check_required(row)
                if weight is not None:
                    weights[len(counts)] = _weight_of(weight)
            except ValueError as error:
                raise malformed(self._path, number, str(error)) from None
            counts.append(len(row))
            columns.extend(row)
            values.extend(row.values())
        self.weights.append(len(counts), weights)
        rows = np.repeat(np.arange(len(counts)), np.array(counts, dtype=np.intp))
        return SparseCells(len(counts), rows, np.array(columns, dtype=np.intp), np.array(values, dtype=self._dtype))

    def _check_required(self, row: dict[int, Any]) -> None:
        for column in self._required:
            if column not in row:
                name = self._attributes[column].name
                hint = "Hint: a missing value is written ?, and ignore leaves the attribute out."
                raise ValueError(f"a sparse row must have a cell for text or date {name!r}, got none. {hint}")

    def _slow_dense(self, first_line: int, block: bytes) -> AnyArray:
        rows: list[list[Any]] = []
        weights: dict[int, float] = {}
        for number, line in _data_lines(first_line, block):
            try:
                row, weight = _dense_row(line, self._attributes)
                if weight is not None:
                    weights[len(rows)] = _weight_of(weight)
            except ValueError as error:
                raise malformed(self._path, number, str(error)) from None
            rows.append(row)
        self.weights.append(len(rows), weights)
        return np.array(rows, dtype=self._dtype).reshape(-1, len(self._attributes))


def _weight_of(text: str) -> float:
    weight = float(text) if NUMBER.fullmatch(text.strip()) else math.nan
    if not 0 <= weight < math.inf:
        raise ValueError(f"the weight of a row must be a finite number from 0, got '{{{text[:60]}}}'.")
    return weight


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


def _with_commas(block: bytes) -> bytes:
    """Return a tidy block with commas for the blanks between cells, if it has no comma at all."""
    if b"," in block:
        return block
    lines = re.sub(rb"[ \t]*+\n[ \t]*+", b"\n", block).lstrip(b" \t")
    return re.sub(rb"[ \t]++", b",", lines)


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


def cells_of(cells: SparseCells | AnyArray, columns: IntArray) -> SparseCells | AnyArray:
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


def _sparse_row(text: str, attributes: tuple[Attribute, ...]) -> tuple[dict[int, Any], str | None]:
    """Return column -> value, in the order of the columns, and the text of the weight, if there is one."""
    if not text.startswith("{"):
        raise ValueError(f"a row must be sparse, {{index value,...}}, as the first is, got {text[:60]!r}.")
    try:
        return _pairs(text, attributes, _SLOW_PAIR)
    except ValueError as error:
        try:
            return _pairs(text, attributes, _BLANK_PAIR)
        except ValueError:
            raise error from None


def _pairs(text: str, attributes: tuple[Attribute, ...], pattern: re.Pattern[str]) -> tuple[dict[int, Any], str | None]:
    row: dict[int, Any] = {}
    position, closing = 1, ","
    while closing != "}":
        match = pattern.match(text, position)
        if match is None or (match[1] is None and not _may_be_empty(text, position)):
            raise ValueError(f"a cell must read 'index value', got {text[position:][:60]!r}.{_quote_hint(text)}")
        number, single, double, bare, closing = match.groups()
        if number is not None:
            column = _column(number, row, len(attributes))
            attribute = attributes[column]
            if attribute.declared != "number":
                _check_words(bare)
            row[column] = attribute.encode(_cell(single, double, bare))
        position = match.end()
    weight = _WEIGHT.fullmatch(text, position)
    if weight is None:
        raise ValueError(f"a row must end in }}, got {text[position:].strip()[:60]!r} behind it.")
    return dict(sorted(row.items())), weight[1]


def _check_words(bare: str | None) -> None:
    """Raise ValueError for a text of several words without quotes: the second may be the index of another cell."""
    if bare is not None and len(bare.split()) > 1:
        raise ValueError(f"a text with blanks in a sparse row must be in quotes, got {bare[:60]!r}.")


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


def _dense_row(text: str, attributes: tuple[Attribute, ...]) -> tuple[list[Any], str | None]:
    """Return the cells, and the text of the weight, if there is one."""
    if text.startswith("{"):
        raise ValueError(f"a row must be dense, value,..., as the first is, got {text[:60]!r}.")
    cells, weight = _split(text, len(attributes))
    return [attribute.encode(cell) for attribute, cell in zip(attributes, cells, strict=True)], weight


def _cell(single: str | None, double: str | None, bare: str | None) -> str | None:
    """Return the text of a cell, in quotes or bare; None for a bare question mark, a missing value."""
    if bare is None:
        return unquote((single, double))
    text = bare.rstrip()
    return None if text == "?" else text


def _split(text: str, width: int) -> tuple[list[str | None], str | None]:
    """Return the cells between commas, or else, if these are not as many as attributes, between commas and blanks."""
    problem: ValueError | None = None
    cells: list[str | None] = []
    weight: str | None = None
    try:
        cells, weight = _between_commas(text)
    except ValueError as error:
        problem = error
    if len(cells) == width:
        return cells, weight
    others, weight = _between_blanks(text)
    if len(others) == width:
        return others, weight
    if problem is not None:
        raise problem
    n_cells = len(cells if "," in text else others or cells)
    hint = " Hint: commas, blanks or tabs part cells." if ";" in text else ""
    raise ValueError(f"a row must have {width} cells, got {n_cells}.{hint}")


def _between_commas(text: str) -> tuple[list[str | None], str | None]:
    if not any(character in text for character in "'\"%"):
        cells: list[str | None] = [cell.strip() for cell in text.split(",")]
        if "?" in text:
            cells = [None if cell == "?" else cell for cell in cells]
        return _without_weight(cells) if text.endswith("}") else (cells, None)
    cells, is_bare = [], False
    position, closing = 0, ","
    while closing == ",":
        match = _SLOW_CELL.match(text, position)
        if match is None:
            raise ValueError(
                f"a cell must be a value, plain or in quotes, got {text[position:][:60]!r}.{_quote_hint(text)}"
            )
        cells.append(_cell(*match.group(1, 2, 3)))
        position, closing, is_bare = match.end(), match[4], match[3] is not None
    return _without_weight(cells) if is_bare else (cells, None)


def _without_weight(cells: list[str | None]) -> tuple[list[str | None], str | None]:
    """Return the cells without a weight, ``{5}``, at the end of the last one, which is bare."""
    last = cells[-1] or ""
    before, brace, weight = last.removesuffix("}").rpartition("{")
    if not brace or not last.endswith("}"):
        return cells, None
    bare = before.rstrip()
    return [*cells[:-1], *filter(None, [bare])] if bare != "?" else [*cells[:-1], None], weight


def _between_blanks(text: str) -> tuple[list[str | None], str | None]:
    """Return no cell if there is an empty one: two commas may mean that a value is missing."""
    cells: list[str | None] = []
    position = 0
    while position < len(text):
        match = _BLANK_CELL.match(text, position)
        if match is None:
            return [], None
        if match[3] is not None and match[3].startswith("{"):
            return (cells, match[3][1:-1]) if match.end() == len(text) else ([], None)
        cells.append(_cell(*match.group(1, 2, 3)))
        position = match.end()
    return ([], None) if text.endswith(",") else (cells, None)


def _quote_hint(text: str) -> str:
    return " Hint: a quote is not closed." if text.count("'") % 2 or text.count('"') % 2 else ""
