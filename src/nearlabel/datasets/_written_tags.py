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
_NUMPY = re.compile(rf"\b(?:np|numpy)\.(?:\w++\(({_QUOTED}|[-+.\w]++)\)|(True|False)_)", re.DOTALL)  # its scalars
_LETTERS = r"[^\s\[\](){}:=,'\"]++"
_WORD = rf"{_LETTERS}(?: ++{_LETTERS})*+"
_ITEM = re.compile(rf"\s*+(?:(?P<quoted>{_QUOTED})|(?P<comma>,)|(?P<word>{_WORD}))", re.DOTALL)
_CALL = re.compile(r"([A-Za-z_][\w.]*+)\((.*)\)", re.DOTALL)
_CONTAINERS = (  # of Python, R and Scala: their parentheses may contain words without quotes
    "Array", "ArrayBuffer", "Counter", "List", "OrderedDict", "Seq", "Set", "WrappedArray", "array", "c", "deque",
    "dict", "frozenset", "list", "set", "tuple",
)  # fmt: skip
_MOST_CALLS = 4  # one in another, as in array(list([1]))
_EMPTY = ("character(0)", "String[]", "Any[]")  # of R and Julia
_KEYWORDS = re.compile(r"(?:\s*+,\s*+\w++\s*+=[^=,]*+)++")  # dtype=object, maxlen=3
_BRACKETS = {"[": "]", "(": ")", "{": "}"}
_NUMBER = re.compile(r"[+-]?+(?:\d++\.?+\d*+|\.\d++)(?:[eE][+-]?+\d++)?+", re.ASCII)
_BLANKS = re.compile(r"[\s,]+")
_BEGINNINGS, _BRACKET = ("'", '"', "[", "{", "(", "np.", "numpy."), re.compile(r"[\[\](){}]")
_CONSTANTS = {"True": True, "False": False, "None": None, "nan": None}
_LEFT_OUT = "..."  # what numpy writes in the middle of a long array
_MOST_DIGITS = 1000  # of a number: Python makes none of many thousands
_LONGEST_TREE = 2**16  # letters: Python makes a tree of a hundred times the size of a text
_KEYS = ("name", "label", "text", "id", "value")  # of objects that are tags
_SCORES = ("score", "confidence", "probability")  # of such objects
_ANSWERS = ("value", "checked", "selected", "applies")  # of such objects, if true or false
_LISTS = ("choices", "labels", "tags", "label", "values", "value")  # of an object around a list of tags
BULLETS = ("- ", "* ", "\u2022 ")
_SPACES = [chr(code) for code in range(0x3001) if chr(code).isspace()]
_FIRST = frozenset([*_SPACES, *(begin[0] for begin in (FASTTEXT, *BULLETS))])
_LAST = frozenset([*_SPACES, *"])}>"])  # letters of texts that may be more than joined tags
_IN_ANGLES = re.compile(r"<([^<>]++)>\s*+")
_OBJECT_HINT = 'an object is like {{"red": true, "blue": false}}, {{"choices": ["red"]}} or {{"name": "red"}}'


class UnclearTagsError(ValueError):
    """What was got, and a hint with the parameters that it names, as `ParameterError` takes them."""

    def __init__(self, got: str, hint: str = "", **parameters: object) -> None:
        super().__init__(got)
        self.hint, self.parameters = hint, parameters


class Notation(NamedTuple):
    """How cells write tags: the parameters of `read_table`, and the brackets in which one word, too, is a list."""

    separator: str = ";"
    key: str | None = None
    threshold: float | None = None
    normalise: Normalisation = "nfc"
    brackets: str = ""

    def joined(self, cell: str) -> list[str] | None:
        """Return the parts of a text that can be nothing but tags joined by the separator; None for others."""
        if cell[:1] in _FIRST or cell[-1:] in _LAST or '"' in cell:
            return None
        return cell.split(self.separator)

    def said(self, cell: str) -> list[tuple[str, bool | None]]:
        """Return the tags of a text, and whether each applies, None if unknown; raise UnclearTagsError if unclear."""
        text = cell.strip()
        marked = marked_tags(text)
        if marked is not None:
            each: list[tuple[Any, bool | None]] = [(tag, True) for tag in marked.tags]
        elif self.is_list(text):
            each = self._in(_read_or_refused(text, self.separator))
        else:
            each = [(without_quotes(part), True) for part in parts_of(text, self.separator)]
        return [(tag, applies) for one, applies in each if (tag := self.plain(str(one)))]

    def is_list(self, text: str) -> bool:
        """Return whether a text is a list or an object: a word in brackets is one if other cells of the column are."""
        return is_written(text) or (text[:1] in _BRACKETS and text[0] in self.brackets and is_bracketed(text))

    def plain(self, tag: str) -> str:
        """Return a tag without what makes no difference."""
        tag = tag.strip()
        if not tag.isascii() and any("\ud800" <= character <= "\udfff" for character in tag):
            raise UnclearTagsError(f"{shortened(tag)}, with half a character")
        if self.normalise == "case":
            tag = tag.casefold()
        return tag if self.normalise == "none" else unicodedata.normalize("NFC", tag)

    def _in(self, read: Sequence[Any] | Mapping[Any, Any]) -> list[tuple[Any, bool | None]]:
        """Return the tags in a list or an object.

        An object may answer for each tag, have one list of tags, or be a tag with a name; a list may have such objects.
        """
        if not isinstance(read, Mapping):
            return [self.item(one) for one in read]
        lists = [value for name, value in read.items() if name in _LISTS and isinstance(value, list)]
        if len(read) == len(lists) == 1:
            return self._in(lists[0])
        if all(value is None or isinstance(value, bool | int | float) for value in read.values()):
            return [(str(name), self._applies(value, read)) for name, value in read.items()]
        if self.key in read or any(isinstance(read.get(name), str) for name in _KEYS):
            return [self.item(read)]
        raise UnclearTagsError(shortened(str(dict(read))), _OBJECT_HINT)

    def item(self, one: Any) -> tuple[Any, bool | None]:
        """Return the tag that is a text or a whole number, or that an object names, and whether it applies."""
        applies: bool | None = True
        if isinstance(one, Mapping):
            scores = [one[name] for name in _SCORES if isinstance(one.get(name), int | float)]
            answers = [one[name] for name in _ANSWERS if isinstance(one.get(name), bool)]
            each = [*answers, *(self._applies(score, one) for score in scores)]
            applies = None if None in each else all(each)
            one = one[self.key_of(one)]
        if isinstance(one, str) or type(one) is int:
            return one, applies
        raise UnclearTagsError(shortened(str(one)))

    def key_of(self, one: Mapping[Any, Any]) -> str:
        """Return the key under which an object has its name; raise UnclearTagsError if that is unclear."""
        keys = [key for key in _KEYS if isinstance(one.get(key), str) or type(one.get(key)) is int]
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

    def _applies(self, score: float | None, among: Mapping[Any, Any]) -> bool | None:
        if score is None or score != score:
            return None
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


class MarkedTags(NamedTuple):
    """Tags that are apart by a mark at the beginning of each, as in __label__red, or around it, as in <red>."""

    tags: list[str]
    begin: str
    end: str = ""
    between: str = ""


def marked_tags(text: str) -> MarkedTags | None:
    """Return the tags of fastText, of lines with bullets, or in angle brackets; None if a text is none of these."""
    if text.startswith(FASTTEXT):
        words = text.split()
        if not all(word.startswith(FASTTEXT) for word in words):
            raise UnclearTagsError(f"{shortened(text)}, labels of fastText among other words")
        return MarkedTags([word.removeprefix(FASTTEXT) for word in words], FASTTEXT, "", " ")
    if text.startswith(BULLETS):
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        if all(line.startswith(text[:2]) for line in lines):
            return MarkedTags([line[2:].strip() for line in lines], text[:2], "", "\n")
    if text.startswith("<") and text.upper() != "<NA>" and not _IN_ANGLES.sub("", text):
        return MarkedTags(_IN_ANGLES.findall(text), "<", ">")
    return None


def parts_of(text: str, separator: str) -> list[str]:
    """Return what is between separators; a part in double quotes may contain them."""
    if '"' not in text or '"' in separator:
        return text.split(separator)
    between = re.escape(separator)
    part = rf'(\s*+"(?:[^"]|"")*+"\s*+|(?:(?!{between})[^"])*+)(?:{between}|\Z)'
    if re.fullmatch(rf"(?:{part})++", text) is None:  # quotes within words
        return text.split(separator)
    parts = [found[1] for found in re.finditer(part, text)]
    return parts if text.endswith(separator) else parts[:-1]  # the last match is what is behind the end


def without_quotes(part: str) -> str:
    """Return a part of a text without the double quotes around it, as in CSV."""
    inside = part.strip()[1:-1]
    is_quoted = len(part.strip()) > 1 and part.strip()[0] == part.strip()[-1] == '"'
    return inside.replace('""', '"') if is_quoted and '"' not in inside.replace('""', "") else part


def is_bracketed(text: str) -> bool:
    """Return whether a text is in brackets, and has none inside."""
    return text[-1:] == _BRACKETS.get(text[:1], " ") and not _BRACKET.search(text[1:-1])


def is_written(cell: str) -> bool:
    """Return whether a cell looks like a list, tuple, set or object; words in brackets, as in [80s], may be a tag."""
    text = cell.strip()
    if text[-1:] not in _BRACKETS.values():
        return False
    if text[:1] not in _BRACKETS or text[-1] != _BRACKETS[text[0]]:
        call = _CALL.fullmatch(text)
        return text in _EMPTY or (call is not None and (call[1] in _CONTAINERS or _is_begun(call[2].strip())))
    inside = text[1:-1].strip()
    if not inside or _is_begun(inside) or inside.endswith(("'", '"')):
        return True
    if "," in inside and not _BRACKET.search(inside):
        return True
    return (text[0] == "[" or inside not in _CONSTANTS) and _scalars(inside) is not None


def _is_begun(inside: str) -> bool:
    return inside.startswith(_BEGINNINGS)


def _scalars(inside: str) -> list[Any] | None:
    """Return numbers and truths that are apart by blanks or commas, as numpy writes them; None if there are others."""
    words = _BLANKS.split(inside.strip())
    are_known = all(word in _CONSTANTS or word == _LEFT_OUT or _NUMBER.fullmatch(word) for word in words if word)
    return [_value(word) for word in words if word] if are_known else None


def _read_or_refused(text: str, separator: str) -> list[Any] | Mapping[Any, Any]:
    try:
        return read_written(text)
    except ValueError as error:
        hint = f'a list is like ["red", "blue"], or tags are joined, as in \'red{separator}blue\''
        if _LEFT_OUT in text:
            hint = f"{_LEFT_OUT} is what numpy writes for the middle of a long array: save lists, array.tolist()"
        raise UnclearTagsError(str(error), hint.replace("{", "{{").replace("}", "}}")) from None


def read_written(cell: str) -> list[Any] | Mapping[Any, Any]:
    """Return a list or an object as JSON, Python, numpy, R or SQL has it; raise ValueError if it is none of these."""
    text = cell.strip()
    with suppress(ValueError, RecursionError, MemoryError):
        read = json.loads(text)
        if isinstance(read, list | dict):
            return read
    text = _unwrapped(_NUMPY.sub(r"\1\2", text) if "np." in text or "numpy." in text else text)
    if not text or text in _EMPTY:
        return []
    is_list = text[0] in _BRACKETS and text[-1] == _BRACKETS[text[0]]
    items = _flat(text[1:-1] if is_list else text)
    if items is not None:
        return items
    if is_list and len(text) <= _LONGEST_TREE and ("{" in text or "(" in text):
        with suppress(ValueError, TypeError, SyntaxError, RecursionError, MemoryError), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on a backslash that escapes nothing
            read = ast.literal_eval(text)
            return read if isinstance(read, dict) else list(read)
    raise ValueError(shortened(cell))


def _unwrapped(text: str) -> str:
    """Return what is in the parentheses of a call, as of array(...), without keywords behind it."""
    for _ in range(_MOST_CALLS):
        call = None if text in _EMPTY else _CALL.fullmatch(text)
        if call is None:
            break
        text = call[2].strip()
        end = max(map(text.rfind, _BRACKETS.values())) + 1
        if _KEYWORDS.fullmatch(text, end):
            text = text[:end]
    return text


def _flat(inside: str) -> list[Any] | None:
    """Return the items between two brackets, texts and whole numbers; None if they are not apart by commas.

    numpy has blanks in place of commas: between texts in quotes, and between numbers.
    """
    if "," not in inside and len(inside.split(maxsplit=1)) > 1 and (numbers := _scalars(inside)) is not None:
        return None if _LEFT_OUT in numbers else numbers
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
    return items


def _value(word: str) -> Any:
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    if len(word) > _MOST_DIGITS or not _NUMBER.fullmatch(word):
        return word
    return int(word) if word.lstrip("+-").isdigit() else float(word)


def _unquoted(quoted: str) -> str:
    if "\\" not in quoted:
        return quoted[1:-1]
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
        new = _changed_text(old, tags, notation)
        expected = {tag for tag, applies in notation.said(old) if applies and tags.get(tag, True)}
        if {tag for tag, applies in notation.said(new) if applies} != expected.union(tag for tag in tags if tags[tag]):
            raise ValueError(f"{shortened(old)}, and {shortened(new)} would be other tags")
        return new
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
    if (marked := marked_tags(text)) is not None:
        return _changed_marks(marked, tags, notation)
    if notation.is_list(text):
        return _changed_notation(text, tags, notation)
    parts = [part for part in parts_of(old, separator) if part.strip()]
    are_quoted = any(without_quotes(part) != part for part in parts)
    wrong = [tag for tag, added in tags.items() if added and separator in tag]
    if wrong and not are_quoted:
        raise ValueError(f"the separator {separator!r} in the tag {wrong[0]!r}")
    space = " " if any(part.startswith(" ") for part in parts[1:]) else ""
    changed = _changed_list(parts, tags, notation, [without_quotes(part) for part in parts])
    written = {tag: '"' + tag.replace('"', '""') + '"' for tag in wrong}
    changed = [written.get(part, part) for part in changed]
    n_kept = sum(part in parts for part in changed)
    joined = [part if place < n_kept or not place else space + part for place, part in enumerate(changed)]
    return separator.join(joined).strip()


def _changed_marks(marked: MarkedTags, tags: Mapping[str, bool], notation: Notation) -> str:
    """Return tags apart by marks, some others of them."""
    begin, end, between = marked[1:]
    for tag in (tag for tag, added in tags.items() if added):
        if any(mark in tag for mark in (between, end) if mark):
            raise ValueError(f"the mark {between or end!r} in the tag {tag!r}")
    return between.join(f"{begin}{tag}{end}" for tag in _changed_list(marked.tags, tags, notation))


def _changed_notation(old: str, tags: Mapping[str, bool], notation: Notation) -> str:
    """Return a list, tuple, set or object with other tags, in its own brackets and quotes."""
    call = None if old[0] in _BRACKETS else _CALL.fullmatch(old)
    if call is not None and (inside := _unwrapped(old)).startswith(tuple(_BRACKETS)):
        return f"{call[1]}({_changed_notation(inside, tags, notation)})"
    read = read_written(old)
    if isinstance(read, Mapping) and (read or "{" not in notation.brackets):
        changed: Any = _changed_object(read, tags, notation)
    else:
        changed = _changed_list(list(read), tags, notation)
        has_quotes = "'" in old or '"' in old
        if old[0] in "({" or (old[0] == "[" and read and not has_quotes):
            return _in_brackets(old, changed)
        if call is not None and call[1] in ("c", "character"):
            return f"c({', '.join(map(_in_quotes, changed))})" if changed else "character(0)"
    return repr(changed) if "'" in old and '"' not in old else _in_quotes(changed)


def _in_brackets(old: str, tags: Sequence[Any]) -> str:
    """Return a tuple or set of Python, an array of SQL, or a list without quotes, of other tags than the old one."""
    if "'" in old:
        return repr(tuple(tags)) if old[0] == "(" else f"{{{', '.join(map(repr, tags))}}}" if tags else "set()"
    write = _in_quotes if '"' in old or len(tags) == 1 else _as_word
    return old[0] + (", " if ", " in old else ",").join(map(write, tags)) + _BRACKETS[old[0]]


def _in_quotes(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except TypeError as error:  # a set in an object
        raise ValueError(f"{shortened(str(value))}, which is no JSON") from error


def _as_word(tag: Any) -> str:
    """Return a tag without quotes, unless it would be read as something else."""
    text = str(tag)
    return text if type(tag) is int or (re.fullmatch(_WORD, text) and _value(text) == text) else _in_quotes(text)


def _changed_object(old: Mapping[str, Any], tags: Mapping[str, bool], notation: Notation) -> dict[str, Any]:
    """Return an object that answers for each tag, or has one list of tags, with other tags."""
    if len(old) == 1 and isinstance(items := next(iter(old.values())), list):
        return {name: _changed_list(items, tags, notation) for name in old}
    answers = [value for value in old.values() if value is not None]
    if not all(map(is_answer, answers)):
        raise ValueError(f"{shortened(str(dict(old)))}, which is not yes or no for each tag")
    of_tag, kind = {notation.plain(name): name for name in old}, type(next(iter(answers), True))
    return {**old, **{of_tag.get(tag, tag): kind(added) for tag, added in tags.items()}}


def _changed_list(
    items: Sequence[Any], tags: Mapping[str, bool], notation: Notation, said: Sequence[Any] | None = None
) -> list[Any]:
    """Return a list of tags, which are texts, whole numbers or objects, with some added and others removed."""
    said = [notation.plain(str(tag)) for tag in said or [notation.item(item)[0] for item in items]]
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
