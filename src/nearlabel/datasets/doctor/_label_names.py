"""Findings in the names of labels: tags that were not split, names that are nearly equal, missing cells as labels."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence

from nearlabel.datasets._label_columns import MISSING_TAGS
from nearlabel.datasets.doctor._finding import Finding, counted, listed
from nearlabel.utils.types import IntArray

_SEPARATORS = ("|", ";", ",")
_LEAST_JOINED = 2  # labels, and a tenth of all, which contain a separator
_IGNORED = str.maketrans("", "", " -_\t\n\r\u00a0")
_RARER = 10  # a name in the place of another one by mistake is that much rarer
_LEAST_LETTERS, _MOST_LETTERS = 5, 60  # of names in which a letter may be wrong; short ones differ by one anyway
_MOST_NAMES, _SHOWN = 50_000, 4


def name_findings(names: Sequence[str], n_rows: IntArray) -> Iterator[Finding]:
    """Yield the findings in the names of labels, of which `n_rows` (n_labels,) are the numbers of rows."""
    yield from _joined_tags(names)
    rows = dict(zip(names[:_MOST_NAMES], n_rows.tolist(), strict=False))
    yield from _nothing(rows)
    yield from _alike(rows)


def _joined_tags(names: Sequence[str]) -> Iterator[Finding]:
    """Find a separator that many labels contain, with parts that occur again in other labels."""
    for separator in _SEPARATORS:
        joined = [name for name in names if separator in name]
        parts = [part.strip() for name in names for part in name.split(separator)]
        if len(joined) < max(_LEAST_JOINED, 0.1 * len(names)) or len(set(parts)) == len(parts):
            continue
        sentence = (
            f"{counted(len(joined), 'label')} of {len(names)} contain {separator!r} between parts that occur in other"
            f" labels: {listed(joined)}. Each combination of tags becomes a separate label."
        )
        remedy = f"Separate the tags: --labels-separator '{separator}'."
        evidence = {"labels": listed(joined), "count": len(joined), "separator": separator}
        yield Finding("joined_tags", "severe", sentence, remedy, evidence)


def _nothing(rows: dict[str, int]) -> Iterator[Finding]:
    found = [name for name in rows if name.strip() in (*MISSING_TAGS, "?", "")]
    if found:
        labels = "label may be a missing cell" if len(found) == 1 else "labels may be missing cells"
        shown = _with_rows(found, rows)
        sentence = f"{len(found)} {labels}: {shown}."
        remedy = f"If so, its rows are unknown: --unknown {found[0]}. Or leave the tag out."
        yield Finding("missing_cells_as_labels", "warning", sentence, remedy, {"labels": shown, "count": len(found)})


def _alike(rows: dict[str, int]) -> Iterator[Finding]:
    """Find names that differ in case, blanks, hyphens or the form of letters, and rare names with one other letter."""
    of_key: dict[str, list[str]] = defaultdict(list)
    for name in rows:
        of_key[unicodedata.normalize("NFKC", name).casefold().translate(_IGNORED) or name].append(name)
    same = [sorted(group, key=lambda name: -rows[name]) for group in of_key.values() if len(group) > 1]
    near = list(_one_letter_apart({key: max(group, key=rows.__getitem__) for key, group in of_key.items()}, rows))
    if same:
        shown = _some([_with_rows(group, rows) for group in same])
        names = "The name of 1 label is" if len(same) == 1 else f"The names of {len(same):,} labels are"
        sentence = f"{names} written in several ways: {shown}. Each is a label of its own."
        remedy = "Write them in one way: --normalise case joins upper and lower case."
        yield Finding("alike_labels", "warning", sentence, remedy, {"labels": shown, "count": len(same)})
    if near:
        shown = _some([_with_rows(pair, rows) for pair in near])
        one = "A rare label differs" if len(near) == 1 else f"{len(near)} rare labels differ"
        sentence = f"{one} by a letter from a frequent one: {shown}."
        remedy = "If that is a slip, correct the tag."
        yield Finding("alike_labels", "note", sentence, remedy, {"labels": shown, "count": len(near)})


def _one_letter_apart(name_of: dict[str, str], rows: dict[str, int]) -> Iterator[tuple[str, str]]:
    """Yield pairs of a frequent name and a rare one with a letter more, less, or other, which is no digit.

    Two such texts are equal without one letter each, so each is looked up without each of its letters in turn.
    """
    without: dict[tuple[str, int], list[str]] = defaultdict(list)
    texts = [text for text in name_of if _LEAST_LETTERS <= len(text) <= _MOST_LETTERS]
    pairs: dict[tuple[str, str], None] = {}
    for text in texts:
        for place in range(1, len(text)):  # slips seldom change the first letter
            if not text[place].isdigit():
                without[text[:place] + text[place + 1 :], place].append(text)
    for (rest, _), group in without.items():
        for text in [*group, *([rest] if rest in name_of and len(rest) >= _LEAST_LETTERS else [])]:
            for other in group:
                if text != other and rows[name_of[text]] >= _RARER * max(1, rows[name_of[other]]):
                    pairs[name_of[text], name_of[other]] = None
                if text != other and rows[name_of[other]] >= _RARER * max(1, rows[name_of[text]]):
                    pairs[name_of[other], name_of[text]] = None
    yield from pairs


def _some(items: Sequence[str]) -> str:
    more = len(items) - _SHOWN
    return "; ".join(items[:_SHOWN]) + (f"; and {more:,} more" if more > 0 else "")


def _with_rows(names: Sequence[str], rows: dict[str, int]) -> str:
    return " and ".join(f"{name!r} ({counted(rows[name], 'row')})" for name in names)
