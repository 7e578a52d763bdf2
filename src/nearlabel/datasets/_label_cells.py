"""The text of a cell of a table after the labels of its row were changed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from typing import Any

from nearlabel.datasets._label_columns import WRITTEN_LIST, parsed_list
from nearlabel.datasets._table_file import shortened

_OPPOSITES = {"true": "false", "false": "true", "yes": "no", "no": "yes"}
_DIGIT = re.compile(r"[01]([.,]0*)?")


def zero_one_cell(old: Any, value: float, unknown: str | None) -> Any:
    """Return a cell with another value, 0, 1 or NaN, written as the cell was: as a digit, a word, or of its type.

    `unknown` is the text for NaN; None: the cell is empty.
    """
    if isinstance(old, str):
        return _zero_one_text(old, value, unknown)
    if math.isnan(value):
        return None if unknown is None else type(old)(float(unknown))
    return int(value) if old is None else type(old)(value)


def _zero_one_text(old: str, value: float, unknown: str | None) -> str:
    if math.isnan(value):
        return unknown or ""
    word = old.strip()
    opposite = _OPPOSITES.get(word.lower())
    if opposite is not None:
        same_case = str.upper if word.isupper() else str.title if word.istitle() else str.lower
        return old.replace(word, same_case(opposite))
    digit = str(int(value))
    return old.replace(word, digit + word[1:]) if _DIGIT.fullmatch(word) else digit


def tags_cell(old: Any, tags: Mapping[str, bool], separator: str) -> Any:
    """Return a cell of tags in which some, those that are True, are added, and the others removed.

    Raises
    ------
    ValueError
        If the cell cannot express that.
    """
    if old is None:
        raise ValueError("a missing value, which means that all tags are unknown")
    if isinstance(old, str):
        return _tags_text(old, tags, separator)
    if isinstance(old, list):
        return _changed(old, tags)
    changed = _changed([old], tags)
    if len(changed) != 1:
        raise ValueError(f"{shortened(old)}, which is one tag and would become {len(changed)}")
    return changed[0]


def _tags_text(old: str, tags: Mapping[str, bool], separator: str) -> str:
    if WRITTEN_LIST.fullmatch(old):
        changed = _changed(parsed_list(old.strip()), tags)
        return repr(changed) if "'" in old and '"' not in old else json.dumps(changed, ensure_ascii=False)
    if wrong := [tag for tag, added in tags.items() if added and separator in tag]:
        raise ValueError(f"the separator {separator!r} in the tag {wrong[0]!r}")
    parts = [part for part in old.split(separator) if part.strip()]
    space = " " if any(part.startswith(" ") for part in parts[1:]) else ""
    _check_removed({part.strip() for part in parts}, tags)
    kept = [part for part in parts if tags.get(part.strip(), True)]
    there = {part.strip() for part in kept}
    added = [space * bool(kept) + tag for tag, carried in tags.items() if carried and tag not in there]
    return separator.join([*kept, *added]).strip()


def _changed(items: list[Any], tags: Mapping[str, bool]) -> list[Any]:
    """Return a list of tags, which are texts or whole numbers, with some added and others removed."""
    _check_removed({str(item) for item in items}, tags)
    kept = [item for item in items if tags.get(str(item), True)]
    are_numbers = bool(items) and all(type(item) is int for item in items)
    there = {str(item) for item in kept}
    return [*kept, *(int(tag) if are_numbers else tag for tag, added in tags.items() if added and tag not in there)]


def _check_removed(there: Collection[str], tags: Mapping[str, bool]) -> None:
    """Raise ValueError if a tag to be removed is missing: it was unknown."""
    for tag, added in tags.items():
        if not added and tag not in there:
            raise ValueError(f"no tag {tag!r}, and cannot express that this one is known not to apply")
