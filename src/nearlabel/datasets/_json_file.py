"""JSON: an object on each line, as `nearlabel predict` writes them, or one array of objects.

An array is parsed object by object, so that no more than a part of it is in memory.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from nearlabel.datasets import _table_file as table_file
from nearlabel.datasets._lines import Lines, malformed, plain_name
from nearlabel.utils.messages import listening

_MOST_NAMES = 2**16  # more are keys that are data
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
_BATCH_CELLS = 2**20
_LONGEST_SHORT, _LONGEST_INTEGER = 15, 4000  # characters: of one that float64 stores, and one that is parsed fast
_LONGEST_OBJECT = 2**28  # characters; a longer one is a quote that is not closed
_LONGEST_WORD = 16  # characters, of which the beginning may be at the end of a part: "tru"
_BLANKS = re.compile(r"[ \t\r\n]*+")
_ROW_BY_ROW = " Hint: an array of objects, or an object on each line; pandas: to_json(path, orient='records')."

_Type: TypeAlias = Literal["bool", "int", "digits", "float", "text"]


class LongInteger(int):
    """An integer of 64 bits that float64 may not store."""


class LargeInteger(int):
    """An integer of more than 64 bits."""


_TYPES: dict[type, _Type] = {
    bool: "bool",
    int: "int",
    LongInteger: "int",
    LargeInteger: "digits",
    float: "float",
    str: "text",
}
_INTEGERS = {int, LongInteger, LargeInteger}


class _Row(NamedTuple):
    """An object: the number of its line, or its own in an array, and its text."""

    number: int
    values: dict[str, Any]
    text: str


def open_json(path: Path, max_unpacked_bytes: int | None = None) -> JsonLinesFile:
    """Open a file of JSON lines, or of one array: a ``.json`` file may be either."""
    with Lines(path, max_unpacked_bytes) as lines:
        is_array = _may_be_array(path) and lines.part().removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"["
    return (JsonArrayFile if is_array else JsonLinesFile)(path, max_unpacked_bytes)


def _may_be_array(path: Path) -> bool:
    return plain_name(path).lower().endswith(".json")


class JsonLinesFile(table_file.TableFile):
    """The rows of a file of JSON lines. A name that a line lacks is a missing value there, as null is.

    A first reading finds the names and the types of their values: no line declares them for the others.
    """

    _unit = "line"

    def __init__(self, path: Path, max_unpacked_bytes: int | None = None) -> None:
        self.path = path
        self._limit = max_unpacked_bytes
        self._hint = _ROW_BY_ROW if _may_be_array(path) else ""
        self.n_rows = 0
        n_values = 0
        found: dict[str, FoundTypes] = {}
        with listening(None):  # progress is reported for the second reading only
            for _, rows in self._blocks():
                for row in rows:
                    self._add(found, row)
                    n_values += sum(len(value) if isinstance(value, list) else 1 for value in row.values.values())
                self.n_rows += len(rows)
        if not self.n_rows:
            raise ValueError(f"{path} must contain an object on each line, got no {self._unit}.")
        if self.n_rows == 1 and self._hint and all(of.has_parts for of in found.values()):
            names = ", ".join(map(table_file.shortened, [*found][:3]))
            raise ValueError(f"{path} must be a table row by row, got one object of {names}.{self._hint}")
        width = sum(of.width if of.kind == "numbers" else 1 for of in found.values())
        table_file.check_filled(path, self.n_rows * width, n_values)
        self._found = found
        named = (table_file.Column(name, of.kind, of.description) for name, of in found.items())
        self.columns = table_file.columns_by_name(path, named)

    def _batches(self, names: Collection[str]) -> Iterator[table_file.Batch]:
        """Yield the values in the types of their columns."""
        for name in names:
            if self._found[name].kind == "other":
                got = self._found[name].description
                raise ValueError(f"{self.path} must have values of one type in column {name!r}, got {got}.")
        size = max(1, _BATCH_CELLS // max(1, len(names)))
        for share, rows in self._blocks():
            for start in range(0, len(rows), size):
                some = rows[start : start + size]
                columns = {name: self._array(name, some) for name in names}
                locate = table_file.located(self._unit, [row.number for row in some])
                yield table_file.Batch(len(some), columns, share, locate)

    def width(self, name: str) -> int:
        """Return the length of the first list that is not empty."""
        return self._found[name].width

    def _array(self, name: str, rows: Sequence[_Row]) -> Any:
        """Return the values of a column; raise ValueError for a number that float64 cannot store."""
        try:
            array = self._found[name].array([row.values.get(name) for row in rows])
        except table_file.CellError as error:
            raise self._refused(rows[error.row], f"column {name!r} must contain numbers, got {error}.") from None
        if table_file.has_infinite(array):  # Infinity is a word of its own
            for row in rows:
                try:
                    _FINITE.decode(row.text)
                except ValueError as error:
                    raise self._refused(row, str(error)) from None
        return array

    def _refused(self, row: _Row, problem: str) -> ValueError:
        return ValueError(f"{self.path}, {self._unit} {row.number}: {problem}")

    def _blocks(self) -> Iterator[tuple[float, list[_Row]]]:
        """Yield (share of the file that was read, some rows); blank lines are skipped."""
        with Lines(self.path, self._limit) as lines:
            for first, block in lines.blocks():
                texts = enumerate(block.removeprefix(codecs.BOM_UTF8).split(b"\n"), start=first)
                rows = [self._parsed(line, text) for line, text in texts if text.strip()]
                if rows:
                    yield lines.share_read, rows

    def _parsed(self, line: int, encoded: bytes) -> _Row:
        try:
            text = encoded.decode("utf-8")
            values = _DECODER.decode(text)
            _check_characters(values, text)
        except (ValueError, RecursionError) as error:
            raise malformed(self.path, line, _problem("the line", error) + self._hint) from error
        if not isinstance(values, dict):
            problem = f"the line must be an object of JSON, got {table_file.shortened(values)}."
            hint = " Hint: a file of one array must end in .json." if isinstance(values, list) else ""
            raise malformed(self.path, line, problem + (self._hint or hint))
        return _Row(line, values, text)

    def _add(self, found: dict[str, FoundTypes], row: _Row) -> None:
        for name, value in row.values.items():
            if name not in found:
                if len(found) == _MOST_NAMES:
                    raise self._refused(row, f"the file must have at most {_MOST_NAMES} names, got {name!r}.")
                found[name] = FoundTypes()
            found[name].add(value)


class JsonArrayFile(JsonLinesFile):
    """The rows of a file that is one array of objects."""

    _unit = "object"

    def _blocks(self) -> Iterator[tuple[float, list[_Row]]]:
        """Yield (share of the file that was read, some objects)."""
        with Lines(self.path, self._limit) as lines:
            array = _Array(lines)
            rows, n_parts = [], array.n_parts
            for row in array.rows():
                rows.append(row)
                if array.n_parts > n_parts:
                    yield lines.share_read, rows
                    rows, n_parts = [], array.n_parts
            if rows:
                yield lines.share_read, rows


class JsonRows(JsonLinesFile):
    """Objects in memory, as `decoded` returned them, in the place of the lines of a file."""

    _unit = "row"

    def __init__(self, objects: Sequence[Any]) -> None:
        self._objects = objects
        super().__init__(Path("rows"))

    def _blocks(self) -> Iterator[tuple[float, list[_Row]]]:
        yield 1.0, [self._row(number, values) for number, values in enumerate(self._objects, start=1)]

    def _row(self, number: int, values: Any) -> _Row:
        if not isinstance(values, dict):
            raise ValueError(f"rows, row {number}: it must be an object, got {table_file.shortened(values)}.")
        return _Row(number, values, _written(values))


def decoded(content: bytes) -> Any:
    """Return the value of a text of JSON, with the checks of a file; raise ValueError that describes the problem."""
    try:
        text = content.decode("utf-8")
        values = _STRICT.decode(text)
        _check_characters(values, text)
    except (ValueError, RecursionError) as error:
        raise ValueError(_problem("the text", error)) from error
    return values


class _Array:
    """The objects of an array of JSON, of which a part of the text is in memory."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._text, self._at, self._line = "", 0, 1  # where the text begins
        self.n_parts = 0  # that were read

    def rows(self) -> Iterator[_Row]:
        """Yield the objects, counted from 1."""
        self._take("[")
        number = 0
        if self._next() != "]":
            mark = ","
            while mark == ",":
                number += 1
                yield self._object(number)
                mark = self._take(",]")
        else:
            self._take("]")
        if rest := self._next():
            raise self._malformed(f"the array must be the last of the file, got {rest!r} behind it.")

    def _object(self, number: int) -> _Row:
        self._next()
        what = f"object {number}"
        while True:
            try:
                values, end = _DECODER.raw_decode(self._text, self._at)
                text = self._text[self._at : end]
                _check_characters(values, text)
                break
            except json.JSONDecodeError as error:
                if not self._is_cut(error) or not self._read(what):
                    raise self._malformed(_problem(what, ValueError(error.msg))) from error
            except (ValueError, RecursionError) as error:
                raise self._malformed(_problem(what, error)) from error
        if not isinstance(values, dict):
            raise self._malformed(f"{what} must be an object of JSON, got {table_file.shortened(values)}.{_ROW_BY_ROW}")
        self._at = end
        return _Row(number, values, text)

    def _is_cut(self, error: json.JSONDecodeError) -> bool:
        """Return whether an error may come from the end of the text that was read so far."""
        return error.msg.startswith("Unterminated string") or error.pos > len(self._text) - _LONGEST_WORD

    def _take(self, marks: str) -> str:
        """Return the next character, which must be one of the marks, and go behind it."""
        mark = self._next()
        if not mark or mark not in marks:
            raise self._malformed(f"there must be {' or '.join(marks)}, got {mark or 'the end of the file'}.")
        self._at += 1
        return mark

    def _next(self) -> str:
        """Return the next character that is not blank; nothing at the end."""
        while True:
            blanks = _BLANKS.match(self._text, self._at)
            self._at = len(self._text) if blanks is None else blanks.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read("the array"):
                return ""

    def _read(self, what: str) -> bool:
        """Read on, as much again as is left, so that the time stays linear; return whether there was more."""
        left = self._text[self._at :]
        if len(left) > _LONGEST_OBJECT:
            raise self._malformed(f"{what} must have at most {_LONGEST_OBJECT} characters, got more.")
        self._line += self._text.count("\n", 0, self._at)
        self._text, self._at = left, 0
        part = self._lines.part(len(left))
        try:
            self._text += self._decode(part, final=not part)
        except UnicodeDecodeError as error:
            raise self._malformed(f"{what} must be JSON, got: {error}.") from error
        self.n_parts += 1
        return bool(part)

    def _malformed(self, problem: str) -> ValueError:
        line = self._line + self._text.count("\n", 0, self._at)
        return malformed(self._lines.path, line, problem)


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
        if types <= {*_INTEGERS, float, bool} and len(types) > 1:
            if float in types or LargeInteger not in types:
                return "float" if float in types else "int"
            return None if bool in types else "digits"
        if not types:
            return "text" if self._is_list else "float"  # a list without elements is one of tags
        return _TYPES.get(next(iter(types))) if len(types) == 1 else None

    @property
    def _is_nested(self) -> bool:
        """Whether the values are read as their JSON: objects, lists of objects or of true and false, or mixtures.

        Tools write one label as a text, several as a list or an object.
        """
        types, elements = self._types - {type(None)}, self._elements - {type(None)}
        if not types or not types <= {str, list, dict} or types == {str}:
            return False
        return types != {list} or elements == {bool} or dict in elements

    @property
    def has_parts(self) -> bool:
        """Whether all values are lists or objects."""
        return self._types <= {list, dict}

    @property
    def kind(self) -> table_file.Kind:
        """The kind of the column."""
        if self._is_nested:
            return "text"
        if self._type is None or (self._is_list and self._type == "bool"):
            return "other"
        if self._is_list:
            return "texts" if self._type in ("text", "digits") else "numbers"
        return "text" if self._type == "text" else "number"

    @property
    def description(self) -> str:
        """The type, for messages."""
        types = {int if one in _INTEGERS else one for one in self._types | self._elements}
        named = {"digits": "int of more than 64 bits"}.get(self._type or "", self._type)
        what = named or " and ".join(sorted(one.__name__ for one in types))
        return f"list of {what}" if self._is_list else what

    def array(self, values: Sequence[Any]) -> Any:
        """Return values of this column; raise CellError for an integer among floats that would be rounded."""
        if self._is_nested:
            texts = (value if value is None or isinstance(value, str) else _written(value) for value in values)
            return table_file.array_of(list(texts), "text")
        type_ = self._type or "text"
        if type_ in ("bool", "text"):
            return table_file.array_of(values, type_, lists=self._is_list)
        convert = {"int": int, "digits": str, "float": float}[type_]
        as_type = "text" if type_ == "digits" else type_
        types = self._elements if self._is_list else self._types
        if type_ == "float" and types & {LongInteger, LargeInteger}:
            _check_exact(values)
        if not self._is_list:
            return table_file.array_of([None if value is None else convert(value) for value in values], as_type)
        if len(types) > 1 or type_ == "digits":
            values = [row if row is None else [None if one is None else convert(one) for one in row] for row in values]
        return table_file.array_of(values, as_type, lists=True)


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _check_exact(values: Sequence[Any]) -> None:
    """Raise CellError for the first integer, alone or in a list, that float64 cannot store."""
    for row, value in enumerate(values):
        for one in value if isinstance(value, list) else (value,):
            if isinstance(one, int) and not table_file.is_exact(one):
                raise table_file.CellError(row, f"{table_file.shortened(one)} {table_file.NOT_EXACT}")


# Parsing.


class _RefusedError(ValueError):
    """Text that is JSON, and that no table may contain; the message is whole."""


def _problem(what: str, error: Exception) -> str:
    """Return what is wrong with the text of an object."""
    if isinstance(error, UnicodeEncodeError):  # JSON can write half of a pair of surrogates, which no text can contain
        got = f"\\u{ord(error.object[error.start]):04x} alone"
        return f"texts must be of whole characters, got half a character, {got}."
    if isinstance(error, _RefusedError):
        return str(error)
    got = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
    return f"{what} must be JSON, got: {got}."


def _check_characters(values: Any, text: str) -> None:
    """Raise UnicodeEncodeError for half of a pair of surrogates."""
    if _HALF_CHARACTER.search(text):
        json.dumps(values, ensure_ascii=False).encode("utf-8")


def _distinct(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    """Return an object; raise ValueError if a name occurs twice: the last value would silently win."""
    values = dict(pairs)
    if len(values) < len(pairs):
        name, count = Counter(name for name, _ in pairs).most_common(1)[0]
        raise _RefusedError(f"a name must occur once in an object, got {table_file.shortened(name)} {count} times.")
    return values


def _integer(text: str) -> int:
    if len(text) <= _LONGEST_SHORT:
        return int(text)
    if len(text) > _LONGEST_INTEGER:
        raise _RefusedError(f"an integer must have at most {_LONGEST_INTEGER} digits, got {len(text)}.")
    value = int(text)
    return LongInteger(value) if -(2**63) <= value < 2**63 else LargeInteger(value)


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _RefusedError(f"a number must fit in float64, got {text[:60]}. Hint: write it as a text.")
    return value


def _refuse_constant(text: str) -> None:
    raise _RefusedError(f"a number must be finite, got {text}. Hint: null is a missing value.")


_DECODER = json.JSONDecoder(object_pairs_hook=_distinct, parse_int=_integer)
_FINITE = json.JSONDecoder(parse_float=_finite, parse_int=_integer)
_STRICT = json.JSONDecoder(
    object_pairs_hook=_distinct, parse_float=_finite, parse_int=_integer, parse_constant=_refuse_constant
)
