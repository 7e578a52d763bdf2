"""JSON lines: one object a line, as `nearlabel predict` writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from nearlabel.datasets._arrow import array_of
from nearlabel.datasets._lines import Lines, malformed
from nearlabel.datasets._table_file import Batch, Column, Kind, check_filled, columns_by_name, shortened
from nearlabel.utils.messages import listening

_MOST_NAMES = 2**16  # more are keys that are data
_MOST_DIGITS = 18  # of an integer of 64 bits
_HALF_CHARACTER = re.compile(rb"\\u[dD][89a-fA-F]")
_BATCH_CELLS = 2**20

_Type: TypeAlias = Literal["bool", "int", "float", "text"]
_TYPES: dict[type, _Type] = {bool: "bool", int: "int", float: "float", str: "text"}
_KINDS: dict[tuple[bool, _Type], Kind] = {
    (False, "bool"): "number",
    (False, "int"): "number",
    (False, "float"): "number",
    (False, "text"): "text",
    (True, "int"): "numbers",
    (True, "float"): "numbers",
    (True, "text"): "texts",
}


class JsonLinesFile:
    """The rows of a file of JSON lines. A name that a line lacks is a missing value there, as null is.

    A first reading finds the names and the types of their values: no line declares them for the others.
    """

    decimal = "."

    def __init__(self, path: Path, max_unpacked_bytes: int | None = None) -> None:
        self.path = path
        self._limit = max_unpacked_bytes
        self.n_rows = 0
        n_values = 0
        found: dict[str, _Found] = {}
        with listening(None):  # progress is reported for the second reading only
            for _, rows in self._blocks():
                for line, row in rows:
                    self._add(found, line, row)
                    n_values += sum(len(value) if isinstance(value, list) else 1 for value in row.values())
                self.n_rows += len(rows)
        if not self.n_rows:
            raise ValueError(f"{path} must contain an object on each line, got no line.")
        check_filled(
            path, self.n_rows * sum(of.width if of.kind == "numbers" else 1 for of in found.values()), n_values
        )
        self._found = found
        self.columns = columns_by_name(path, (Column(name, of.kind, of.description) for name, of in found.items()))

    def batches(self, names: Collection[str]) -> Iterator[Batch]:
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
                yield Batch(len(some), columns, share, _locator([line for line, _ in some]))

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
            raise malformed(self.path, line, f"the line must be an object of JSON, got {shortened(row)}.")
        return row

    def _add(self, found: dict[str, _Found], line: int, row: dict[str, Any]) -> None:
        for name, value in row.items():
            if name not in found:
                if len(found) == _MOST_NAMES:
                    raise malformed(self.path, line, f"the file must have at most {_MOST_NAMES} names, got {name!r}.")
                found[name] = _Found()
            found[name].add(value)


class _Found:
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
    def kind(self) -> Kind:
        """The kind of the column."""
        return "other" if self._type is None else _KINDS.get((self._is_list, self._type), "other")

    @property
    def description(self) -> str:
        """The type, for messages."""
        what = self._type or " and ".join(sorted(one.__name__ for one in self._types | self._elements))
        return f"list of {what}" if self._is_list else what

    def array(self, values: Sequence[Any]) -> Any:
        """Return values of this column."""
        type_ = self._type or "text"
        if type_ in ("bool", "text"):
            return array_of(values, type_, lists=self._is_list)
        as_type = int if type_ == "int" else float
        if not self._is_list:
            return array_of([_converted(value, as_type) for value in values], type_)
        if len(self._elements) > 1:  # integers among floats, which may be too large for a float
            values = [None if row is None else [_converted(value, as_type) for value in row] for row in values]
        return array_of(values, type_, lists=True)


def _converted(value: Any, as_type: Callable[[Any], Any]) -> Any:
    return None if value is None else as_type(value)


def _integer(text: str) -> int | float:
    """Return an integer, as a float if it may need more than 64 bits."""
    return int(text) if len(text) <= _MOST_DIGITS else float(text)


def _locator(lines: Sequence[int]) -> Callable[[int], str]:
    return lambda row: f"line {lines[row]}"
