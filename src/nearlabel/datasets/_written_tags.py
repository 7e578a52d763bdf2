"""Tags in one cell, as JSON, Python and numpy write them: lists, tuples, sets, objects, and answers by tag."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from nearlabel.datasets._table_file import shortened

_QUOTED = r"(?:'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\")"
_LETTERS = r"[^\s\[\](){}:,'\"]++"
_WORD = rf"{_LETTERS}(?: ++{_LETTERS})*+"
_ITEM = re.compile(rf"\s*+(?:(?P<quoted>{_QUOTED})|(?P<comma>,)|(?P<word>{_WORD}))", re.DOTALL)
_WRAPPED = re.compile(r"(?:frozenset|set|tuple|list|array)\s*+\((.*)\)", re.DOTALL)
_DTYPE = re.compile(r",\s*+dtype\s*+=.*", re.DOTALL)
_BRACKETS = {"[": "]", "(": ")", "{": "}"}
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)", re.ASCII)
_NUMBERS = re.compile(r"[-+.\d][-+.\d\s,]*+", re.ASCII)
_BEGINNINGS, _BRACKET = set("'\"[{("), re.compile(r"[\[\](){}]")
_CONSTANTS = {"True": True, "False": False, "None": None, "nan": None}
_LONGEST_TREE = 2**16  # letters: Python makes a tree of a hundred times the size of a text
_NAMES = ("name", "label", "text", "id", "value")  # of objects that are tags
_LISTS = ("choices", "labels", "tags")  # of an object around a list of tags


def is_written(cell: str) -> bool:
    """Return whether a cell looks like a list, tuple, set or object; words in brackets, as in [80s], may be a tag."""
    text = cell.strip()
    if text[:1] not in _BRACKETS or text[-1:] != _BRACKETS[text[0]]:
        return _WRAPPED.fullmatch(text) is not None
    inside = text[1:-1].strip()
    if not inside or inside[0] in _BEGINNINGS or inside.endswith(("'", '"')) or _NUMBERS.fullmatch(inside):
        return True
    return "," in inside and not _BRACKET.search(inside)


def read_written(cell: str) -> list[Any] | Mapping[Any, Any]:
    """Return a list or an object as JSON, Python or numpy writes it; raise ValueError if it is none of these."""
    text = cell.strip()
    with suppress(ValueError, RecursionError, MemoryError):
        read = json.loads(text)
        if isinstance(read, list | dict):
            return read
    while (wrapped := _WRAPPED.fullmatch(text)) is not None:
        text = _DTYPE.sub("", wrapped[1]).strip()
    if not text:
        return []
    if text[0] in _BRACKETS and text[-1] == _BRACKETS[text[0]]:
        items = _flat(text[1:-1])
        if items is not None:
            return items
        if len(text) <= _LONGEST_TREE and "{" in text:
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # on a backslash that escapes nothing
                read = ast.literal_eval(text)
                return read if isinstance(read, dict) else list(read)
    raise ValueError(shortened(cell))


def _flat(inside: str) -> list[Any] | None:
    """Return the items between two brackets, texts and whole numbers; None if they are not apart by commas.

    numpy has blanks in place of commas: between texts in quotes, and between numbers.
    """
    items: list[Any] = []
    place, n_commas, is_next = 0, 0, True
    inside = inside.rstrip()
    while place < len(inside):
        found = _ITEM.match(inside, place)
        if found is None or (found["comma"] is not None and is_next):
            return None
        place = found.end()
        if found["comma"] is not None:
            n_commas, is_next = n_commas + 1, True
            continue
        if not is_next and (n_commas or found["quoted"] is None):  # texts that Python would join
            return None
        items.append(_unquoted(found["quoted"]) if found["quoted"] is not None else _value(found["word"]))
        is_next = False
    numbers = inside.split()
    if n_commas == 0 and len(numbers) > 1 and len(items) == 1:
        return [_value(one) for one in numbers] if all(map(_NUMBER.fullmatch, numbers)) else None
    return items


def _value(word: str) -> Any:
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    if _NUMBER.fullmatch(word):
        return int(word) if word.lstrip("+-").isdigit() else float(word)
    return word


def _unquoted(quoted: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return str(ast.literal_eval(quoted))
        except (ValueError, SyntaxError) as error:
            raise ValueError(shortened(quoted)) from error


def said(read: Sequence[Any] | Mapping[Any, Any]) -> list[tuple[Any, bool]]:
    """Return the tags of a list or an object that was read, and whether each applies; raise ValueError otherwise.

    An object may answer for each tag, or have one list of tags; a list may have objects with a name.
    """
    if isinstance(read, Mapping):
        return _of_object(read)
    return [(_tag(one), True) for one in read]


def is_answer(value: Any) -> bool:
    """Return whether a value is true, false, 0 or 1."""
    return isinstance(value, bool | int | float) and value in (0, 1)


def _of_object(read: Mapping[Any, Any]) -> list[tuple[Any, bool]]:
    lists = [value for name, value in read.items() if name in _LISTS and isinstance(value, list)]
    if len(read) == len(lists) == 1:
        return said(lists[0])
    if all(map(is_answer, read.values())):
        return [(str(name), bool(value)) for name, value in read.items()]
    if all(isinstance(value, int | float) for value in read.values()):
        raise ValueError(
            f"{shortened(str(dict(read)))}, scores, from which tags cannot be read. Hint: lists of those that do, or"
            ' 0 and 1, as in {"red": 1, "blue": 0}'
        )
    raise ValueError(shortened(str(dict(read))))


def _tag(one: Any) -> Any:
    """Return a tag: a text, a whole number, or the name of an object."""
    if isinstance(one, Mapping):
        names = [name for name in _NAMES if isinstance(one.get(name), str | int)]
        if len(names) != 1:
            got = " and ".join(map(repr, names)) or "none"
            raise ValueError(
                f"{shortened(str(dict(one)))}, an object that must have one of {', '.join(_NAMES)}, got {got}"
            )
        one = one[names[0]]
    if isinstance(one, str) or type(one) is int:
        return one
    raise ValueError(shortened(str(one)))
