"""The header of an ARFF file: its attributes, and what a cell of each becomes."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from nearlabel.datasets._java_dates import DEFAULT_FORMAT
from nearlabel.datasets._lines import Lines, malformed

# What an attribute without declared values contains; a relation is a table in a cell.
Declared: TypeAlias = Literal["number", "text", "date", "relation"]

# Patterns are possessive: none looks at a character twice, whatever the file. Blanks behind a bare value belong to its
# match, and are stripped from it.
QUOTED = r"""'((?:[^'\\]++|\\.)*+)'|"((?:[^"\\]++|\\.)*+)\""""
NUMBER = re.compile(r"[-+]?+(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?+\d++)?+")

_DECLARATION = re.compile(r"@(\w++)\s*+(.*+)", re.DOTALL)
_NAME = re.compile(rf"(?:{QUOTED}|([^\s'\"{{][^\s{{]*+))\s*+(.*+)", re.DOTALL)
_VALUE = re.compile(rf"\s*+(?:(?:{QUOTED})\s*+|([^\s,}}'\"][^,}}]*+))([,}}])")
_BARE_VALUES = re.compile(r"\{[^,}'\"]*+\}")  # those with blanks between them have no commas
_KIND = re.compile(r"(\w++)\s*+(?:\[[^]]*+\]\s*+)?+(?:%.*+)?+")
_DATE = re.compile(rf"\w++\s*+(?:(?:{QUOTED})|([^\s%{{'\"]++))?+\s*+(?:%.*+)?+")
_DECLARED: dict[str, Declared] = {
    **dict.fromkeys(("numeric", "real", "integer"), "number"),
    "string": "text",
    "date": "date",
    "relational": "relation",
}
_MOST_CHARACTERS = 2**26
_ESCAPE = re.compile(r"\\(.)")
_CONTROL = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True)
class Attribute:
    """A column: nominal with its declared values in order, or of the type `declared` (then `values` is None).

    `unknown` is a text that means a missing value, as ``?`` does. `read` makes the object of a cell, `missing` is that
    of a missing one; without it a cell is a number, a code, or, if it can be neither, skipped.
    """

    name: str
    values: tuple[str, ...] | None = None
    unknown: str | None = None
    declared: Declared = "number"
    date_format: str = ""
    read: Callable[[str], Any] | None = None
    missing: Any = math.nan

    @functools.cached_property
    def encode(self) -> Callable[[str | None], Any]:
        """The function that makes a number or an object of a cell; a ValueError lacks the line, which the caller knows.

        None is a missing value. A question mark in quotes is, too, where it can be no text and no declared value.
        """
        if self.read is None and self.declared == "number":
            return functools.partial(_number, self) if self.values is None else self.code
        missing, read = self.missing, self.read or (lambda _: math.nan)
        if self.declared == "text" if self.values is None else "?" in self.values:
            return lambda text: missing if text is None else read(text)
        return lambda text: missing if text is None or text == "?" else read(text)

    @property
    def is_required(self) -> bool:
        """Whether a sparse row must have a cell: a text or date that it leaves out would be any."""
        return self.read is not None and self.declared != "number"

    def code(self, text: str | None) -> float:
        """Return the position of a declared value, NaN for a missing one."""
        code = self._codes.get(text)
        if code is None and text is not None and NUMBER.fullmatch(text):
            code = self.codes_by_number.get(float(text))  # 1.0 where 1 is declared
        if code is None:
            raise ValueError(f"attribute {self.name!r} must be one of {_shorten(self.values or ())}, got {text!r}.")
        return code

    @functools.cached_property
    def _codes(self) -> dict[str | None, float]:
        codes: dict[str | None, float] = {None: math.nan, "?": math.nan}
        codes.update((value, float(code)) for code, value in enumerate(self.values or ()))
        return codes if self.unknown is None else codes | {self.unknown: math.nan}

    @functools.cached_property
    def codes_by_number(self) -> dict[float, float]:
        """Codes of those declared values that are numbers; empty when two of them are the same number."""
        numeric = [(float(value), code) for value, code in self._codes.items() if value and NUMBER.fullmatch(value)]
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

    @functools.cached_property
    def holds_cells(self) -> bool:
        """Whether some cells become objects."""
        return any(attribute.read is not None for attribute in self.attributes)

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
            relation = _plain_name(rest)
        elif keyword == "attribute":
            attributes.append(_attribute(lines, rest))
        elif keyword == "end":
            raise malformed(lines.path, lines.number, f"@end must follow a relational attribute, got {rest[:60]!r}.")
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
    if match is None or keyword not in ("relation", "attribute", "end", "data"):
        problem = f"a header line must begin with @relation, @attribute or @data, got {text[:60]!r}."
        raise malformed(lines.path, lines.number, problem)
    return keyword, match[2]


def _plain_name(rest: str) -> str:
    """Return the name that ends a line; an unquoted one may contain blanks, and a comment may follow either."""
    quoted = re.match(QUOTED, rest)
    return unquote(quoted.groups()) if quoted else rest.partition("%")[0].strip()


def _attribute(lines: Lines, rest: str) -> Attribute:
    name, kind = _name_and_kind(lines, rest)
    if kind.startswith("{"):
        return Attribute(name, _nominal_values(lines, name, kind))
    declared = _declared(lines, name, kind)
    if declared == "relation":
        _skip_relation(lines, name)
    return Attribute(name, declared=declared, date_format=_date_format(lines, name, kind) if declared == "date" else "")


def _name_and_kind(lines: Lines, rest: str) -> tuple[str, str]:
    match = _NAME.fullmatch(rest)
    if match is None:
        problem = f"@attribute must be followed by a name, quoted or without blanks, and a type, got {rest[:60]!r}."
        raise malformed(lines.path, lines.number, problem)
    return unquote(match.groups()[:3]), match[4]


def _declared(lines: Lines, name: str, kind: str) -> Declared:
    word = re.match(r"\w*+", kind)
    declared = _DECLARED.get(word[0].lower()) if word else None
    if declared is None or (declared != "date" and not _KIND.fullmatch(kind)):
        expected = "numeric, real, integer, string, date, relational or {value,...}"
        problem = f"the type of attribute {name!r} must be {expected}, got {kind[:60] or 'nothing'}."
        raise malformed(lines.path, lines.number, problem)
    return declared


def _date_format(lines: Lines, name: str, kind: str) -> str:
    match = _DATE.fullmatch(kind)
    if match is None:
        problem = f"the type of attribute {name!r} must be a date and its format in quotes, got {kind[:60]}."
        raise malformed(lines.path, lines.number, problem)
    return unquote(match.groups()) or DEFAULT_FORMAT


def _skip_relation(lines: Lines, name: str) -> None:
    """Read up to the ``@end`` of a relational attribute, whose own attributes may be relational, too."""
    open_names = [name]
    while open_names:
        line = lines.next_line()
        if line is None:
            expected = f"the declaration of the relational attribute {open_names[-1]!r} must end in @end"
            raise malformed(lines.path, lines.number, f"{expected}, got the end of the file.")
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        keyword, rest = _declaration(lines, text)
        if keyword == "attribute":
            inner, kind = _name_and_kind(lines, rest)
            if not kind.startswith("{") and _declared(lines, inner, kind) == "relation":
                open_names.append(inner)
        elif keyword != "end" or _plain_name(rest).lower() != open_names.pop().lower():
            expected = f"the declaration of the relational attribute {name!r} must end in @end and its name"
            raise malformed(lines.path, lines.number, f"{expected}, got {text[:60]!r}.")


def _nominal_values(lines: Lines, name: str, text: str) -> tuple[str, ...]:
    values = []
    if bare := _BARE_VALUES.match(text):
        text = f"{{{','.join(bare[0][1:-1].split())}}}{text[bare.end() :]}"
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


def _number(attribute: Attribute, text: str | None) -> float:
    if text is None or text == "?":
        return math.nan
    number = float(text) if NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(number):
        hint = " Hint: a missing value is written ?." if text.lower() in ("nan", "na", "") else ""
        raise ValueError(f"attribute {attribute.name!r} must be a finite number, got {text!r}.{hint}")
    return number


def _shorten(values: tuple[str, ...]) -> str:
    shown = ",".join(values[:5])
    return f"{{{shown},...}}" if len(values) > 5 else f"{{{shown}}}"
