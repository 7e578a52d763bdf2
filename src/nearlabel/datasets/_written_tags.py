"""Tags in one cell as people and programs write them: joined, as JSON, Python, numpy or fastText, in objects."""

from __future__ import annotations

import ast
import json
import re
import unicodedata
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from nearlabel.datasets._lines import FASTTEXT
from nearlabel.datasets._table_file import shortened
from nearlabel.utils.validation import check_choice

Normalisation: TypeAlias = Literal["nfc", "none", "case"]

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
_KEYS = ("name", "label", "text", "id", "value")  # of objects that are tags
_SCORES = ("score", "confidence", "probability")  # of such objects
_LISTS = ("choices", "labels", "tags")  # of an object around a list of tags


class UnclearTagsError(ValueError):
    """What was got, and a hint with the parameters that it names, as `ParameterError` takes them."""

    def __init__(self, got: str, hint: str = "", **parameters: object) -> None:
        super().__init__(got)
        self.hint, self.parameters = hint, parameters


class Notation(NamedTuple):
    """How cells write tags: the parameters of `read_table`."""

    separator: str = ";"
    key: str | None = None
    threshold: float | None = None
    normalise: Normalisation = "nfc"

    def said(self, cell: str) -> list[tuple[str, bool]]:
        """Return the tags of a text, and whether each applies; raise UnclearTagsError if it is unclear."""
        text = cell.strip()
        if text.startswith(FASTTEXT):
            words = text.split()
            if not all(word.startswith(FASTTEXT) for word in words):
                raise UnclearTagsError(f"{shortened(cell)}, labels of fastText among other words")
            each: list[tuple[Any, bool]] = [(word.removeprefix(FASTTEXT), True) for word in words]
        elif is_written(text):
            each = self._in(_read_or_refused(text, self.separator))
        else:
            each = [(part, True) for part in text.split(self.separator)]
        return [(tag, applies) for one, applies in each if (tag := self.plain(str(one)))]

    def plain(self, tag: str) -> str:
        """Return a tag without what makes no difference."""
        tag = tag.strip()
        if not tag.isascii() and any("\ud800" <= character <= "\udfff" for character in tag):
            raise UnclearTagsError(f"{shortened(tag)}, with half a character")
        if self.normalise == "case":
            tag = tag.casefold()
        return tag if self.normalise == "none" else unicodedata.normalize("NFC", tag)

    def _in(self, read: Sequence[Any] | Mapping[Any, Any]) -> list[tuple[Any, bool]]:
        """Return the tags in a list or an object.

        An object may answer for each tag, or have one list of tags; a list may have objects with a name.
        """
        if not isinstance(read, Mapping):
            return [self.item(one) for one in read]
        lists = [value for name, value in read.items() if name in _LISTS and isinstance(value, list)]
        if len(read) == len(lists) == 1:
            return self._in(lists[0])
        if not all(isinstance(value, bool | int | float) for value in read.values()):
            raise UnclearTagsError(shortened(str(dict(read))))
        return [(str(name), self._applies(value, read)) for name, value in read.items()]

    def item(self, one: Any) -> tuple[Any, bool]:
        """Return the tag that is a text or a whole number, or that an object names."""
        applies = True
        if isinstance(one, Mapping):
            scores = [one[name] for name in _SCORES if isinstance(one.get(name), int | float)]
            applies = all(self._applies(score, one) for score in scores)
            one = one[self.key_of(one)]
        if isinstance(one, str) or type(one) is int:
            return one, applies
        raise UnclearTagsError(shortened(str(one)))

    def key_of(self, one: Mapping[Any, Any]) -> str:
        keys = [key for key in _KEYS if isinstance(one.get(key), str | int)]
        got = shortened(str(dict(one)))
        if self.key is not None:
            if self.key not in one:
                raise UnclearTagsError(f"{got}, an object without {self.key!r}")
            return self.key
        if len(keys) == 1:
            return keys[0]
        which = f"with {' and '.join(map(repr, keys))}" if keys else f"without one of {', '.join(_KEYS)}"
        hint = "{label_key} is the key under which an object has the name of its tag"
        raise UnclearTagsError(f"{got}, an object {which}", hint, label_key=None)

    def _applies(self, score: float, among: Mapping[Any, Any]) -> bool:
        if self.threshold is not None:
            return score >= self.threshold
        if not is_answer(score):
            hint = "{label_threshold} is the least score with which a tag applies"
            raise UnclearTagsError(f"{shortened(str(dict(among)))}, a score", hint, label_threshold=None)
        return bool(score)


def check_notation(separator: object, key: object, threshold: object, normalise: object) -> None:
    """Raise TypeError or ValueError for a parameter of `Notation` that is wrong."""
    for name, text in (("labels_separator", separator), ("label_key", key)):
        if text is not None and (not isinstance(text, str) or not text):
            raise ValueError(f"{name} must be text of at least one character, got {text!r}.")
    if threshold is not None and (isinstance(threshold, bool | str) or not isinstance(threshold, int | float)):
        raise TypeError(f"label_threshold must be a number or None, got {threshold!r}.")
    if threshold is not None and threshold != threshold:
        raise ValueError("label_threshold must be a number, got nan.")
    check_choice("normalise", normalise, get_args(Normalisation))


def is_written(cell: str) -> bool:
    """Return whether a cell looks like a list, tuple, set or object; words in brackets, as in [80s], may be a tag."""
    text = cell.strip()
    if text[:1] not in _BRACKETS or text[-1:] != _BRACKETS[text[0]]:
        return _WRAPPED.fullmatch(text) is not None
    inside = text[1:-1].strip()
    if not inside or inside[0] in _BEGINNINGS or inside.endswith(("'", '"')) or _NUMBERS.fullmatch(inside):
        return True
    return "," in inside and not _BRACKET.search(inside)


def _read_or_refused(text: str, separator: str) -> list[Any] | Mapping[Any, Any]:
    try:
        return read_written(text)
    except ValueError as error:
        hint = f'a list is like ["red", "blue"], or tags are joined, as in \'red{separator}blue\''
        raise UnclearTagsError(str(error), hint.replace("{", "{{").replace("}", "}}")) from None


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


def is_answer(value: Any) -> bool:
    """Return whether a value is true, false, 0 or 1."""
    return isinstance(value, bool | int | float) and value in (0, 1)


# A cell after some of its tags were changed.


def changed_tags(old: Any, tags: Mapping[str, bool], notation: Notation) -> Any:
    """Return a cell of tags in which some, those that are True, are added, and the others removed.

    Raises
    ------
    ValueError
        If the cell cannot express that.
    """
    if old is None:
        raise ValueError("a missing value, which means that all tags are unknown")
    if isinstance(old, str):
        return _changed_text(old, tags, notation)
    if isinstance(old, list):
        return _changed_list(old, tags, notation)
    if isinstance(old, dict):
        return _changed_object(old, tags, notation)
    changed = _changed_list([old], tags, notation)
    if len(changed) != 1:
        raise ValueError(f"{shortened(old)}, which is one tag and would become {len(changed)}")
    return changed[0]


def _changed_text(old: str, tags: Mapping[str, bool], notation: Notation) -> str:
    text, separator = old.strip(), notation.separator
    is_fasttext = text.startswith(FASTTEXT)
    if is_written(text):
        return _changed_notation(text, tags, notation)
    if wrong := [tag for tag, added in tags.items() if added and (separator in tag or (is_fasttext and " " in tag))]:
        raise ValueError(f"the separator {separator!r} in the tag {wrong[0]!r}")
    if is_fasttext:
        kept = _changed_list([word.removeprefix(FASTTEXT) for word in text.split()], tags, notation)
        return " ".join(FASTTEXT + tag for tag in kept)
    parts = [part for part in old.split(separator) if part.strip()]
    space = " " if any(part.startswith(" ") for part in parts[1:]) else ""
    changed = _changed_list(parts, tags, notation)
    n_kept = sum(part in parts for part in changed)
    joined = [part if place < n_kept or not place else space + part for place, part in enumerate(changed)]
    return separator.join(joined).strip()


def _changed_notation(old: str, tags: Mapping[str, bool], notation: Notation) -> str:
    """Return a list, tuple, set or object with other tags, in its own brackets and quotes."""
    read = read_written(old)
    if isinstance(read, Mapping):
        changed: Any = _changed_object(read, tags, notation)
    else:
        changed = _changed_list(read, tags, notation)
    if old.startswith("[") or isinstance(read, Mapping):
        return repr(changed) if "'" in old and '"' not in old else json.dumps(changed, ensure_ascii=False)
    if old.startswith("{"):
        return f"{{{', '.join(map(repr, changed))}}}" if changed else "set()"
    return repr(tuple(changed)) if old.startswith("(") else repr(changed)


def _changed_object(old: Mapping[str, Any], tags: Mapping[str, bool], notation: Notation) -> dict[str, Any]:
    """Return an object that answers for each tag, or has one list of tags, with other tags."""
    if len(old) == 1 and isinstance(items := next(iter(old.values())), list):
        return {name: _changed_list(items, tags, notation) for name in old}
    if not all(map(is_answer, old.values())):
        raise ValueError(f"{shortened(str(dict(old)))}, which is not yes or no for each tag")
    of_tag, kind = {notation.plain(name): name for name in old}, type(next(iter(old.values()), True))
    return {**old, **{of_tag.get(tag, tag): kind(added) for tag, added in tags.items()}}


def _changed_list(items: Sequence[Any], tags: Mapping[str, bool], notation: Notation) -> list[Any]:
    """Return a list of tags, which are texts, whole numbers or objects, with some added and others removed."""
    said = [notation.plain(str(notation.item(item)[0])) for item in items]
    for tag, added in tags.items():
        if not added and tag not in said:  # it was unknown
            raise ValueError(f"no tag {tag!r}, and cannot express that this one is known not to apply")
    kept = [item for item, tag in zip(items, said, strict=True) if tags.get(tag, True)]
    make = _maker(items, notation)
    return [*kept, *(make(tag) for tag, added in tags.items() if added and tag not in said)]


def _maker(items: Sequence[Any], notation: Notation) -> Callable[[str], Any]:
    """Return what writes another tag as these items are written."""
    if items and isinstance(items[0], Mapping):
        key = notation.key_of(items[0])
        return lambda tag: {key: tag}
    are_numbers = bool(items) and all(type(item) is int for item in items)
    return int if are_numbers else str
