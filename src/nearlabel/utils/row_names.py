"""What people call a row: by its title and its id, where there are some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearlabel.utils.truncate import shortened

_LONGEST = 36  # of a title, and of what stands beside it


def row_name(row: int, kept: Mapping[str, Any], longest: int = _LONGEST) -> str:
    """Return what people call a row: its title, and its id or what else there is in brackets.

    A column whose name ends with "id" is one of ids; the first other column is the title. A blank cell names nothing.

    Parameters
    ----------
    row : int
        Its number, which names it where nothing else does.
    kept : mapping of str to str or None
        Texts of the row by the names of their columns.
    longest : int, default=36
        Number of letters from which on the middle of each text is cut out.

    Returns
    -------
    str
        One line of printable signs.

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
    """Return what people call each of the rows that some columns, at least one, are kept of."""
    of_rows = (dict(zip(kept, texts, strict=True)) for texts in zip(*kept.values(), strict=True))
    return [row_name(row, texts) for row, texts in enumerate(of_rows)]


def _printable(text: str) -> str:
    """Return text with white space as blanks, and a sign instead of each that cannot be shown: SVG allows none."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)
