"""Readable names of samples, from titles and ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearlabel.utils.truncate import shortened

_LONGEST = 36  # maximum of letters of a title, and of the text in brackets


def row_name(row: int, kept: Mapping[str, Any], longest: int = _LONGEST) -> str:
    """Return the name of a sample: its title, with its id or another column in brackets.

    A column whose name ends with "id" contains ids; the first other column is the title. Blank cells are ignored.

    Parameters
    ----------
    row : int
        Row number, used if there is no other name.
    kept : mapping of str to str or None
        Texts of the sample, by column name.
    longest : int, default=36
        Maximum number of letters; the middle of longer texts is left out.

    Returns
    -------
    str
        One line of printable characters.

    Examples
    --------
    >>> row_name(464, {"id": "4711", "title": "Abbey Road", "year": "1969"})
    'Abbey Road (id 4711)'
    >>> row_name(464, {"title": "Abbey Road", "year": "1969"}), row_name(464, {"id": "4711"}), row_name(464, {})
    ('Abbey Road (year 1969)', 'id 4711', 'row 464')
    """
    texts = {name: shortened(_printable(kept[name] or ""), longest) for name in kept}
    named = {name: text for name, text in texts.items() if text}
    ids = [name for name in named if name.casefold().endswith("id")]
    titles = [name for name in named if name not in ids]
    others = [*ids, *titles[1:]]
    beside = [f"{shortened(_printable(name), longest)} {named[name]}" for name in others[:1]]
    if titles:
        return " ".join([named[titles[0]], *(f"({text})" for text in beside)])
    return beside[0] if beside else f"row {row}"


def names_of_rows(kept: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the names of all samples from at least one saved column."""
    of_rows = (dict(zip(kept, texts, strict=True)) for texts in zip(*kept.values(), strict=True))
    return [row_name(row, texts) for row, texts in enumerate(of_rows)]


def _printable(text: str) -> str:
    """Return text with white space as blanks and non-printable characters replaced, since SVG does not allow them."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)
