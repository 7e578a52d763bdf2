"""The header of an ARFF file: the relation and its attributes."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass, replace
from pathlib import Path

from nearlabel.datasets._lines import Lines, malformed

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
