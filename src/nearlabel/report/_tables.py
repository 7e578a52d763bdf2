"""Markup of a page: escaped text, numbers, tables and the data behind figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from itertools import chain, count
from typing import Any, NamedTuple, TypeAlias

from nearlabel.utils.characters import escape_markup


class Markup(str):
    """Text that is already markup."""

    __slots__ = ()


Facts: TypeAlias = Mapping[str, Any]
Child: TypeAlias = str | int | float | None
_VOID = frozenset({"br", "input", "meta"})  # void elements of HTML; elements of SVG are closed


def join(*children: Child) -> Markup:
    """Return concatenated children; None is left out, text is escaped."""
    return Markup("".join(c if isinstance(c, Markup) else escape_markup(str(c)) for c in children if c is not None))


def element(name: str, /, *children: Child, **attributes: Child | bool) -> Markup:
    """Return an element; `_` in attribute names becomes `-`, a final one is removed; None and False are left out.

    Examples
    --------
    >>> print(element("p", "a < b", element("br"), class_="note", hidden=True))
    <p class="note" hidden>a &lt; b<br></p>
    """
    words = [name, *(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())]
    start = f"<{' '.join(word for word in words if word)}>"
    return Markup(start if name in _VOID else f"{start}{join(*children)}</{name}>")


def _attribute(name: str, value: Child | bool) -> str:
    if value is None or value is False:
        return ""
    # Values for the script are unchanged: it writes them into files.
    safe = escape if name.startswith("data-") else escape_markup
    return name if value is True else f'{name}="{safe(_short(value))}"'


def _short(value: Child | bool) -> str:
    """Return a coordinate with at most two decimals, anything else unchanged."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


# Numbers on a page: three significant digits, thousands separated, a dash for undefined values.

UNDEFINED = "–"


def shown(value: float | str | None) -> str:
    """Return a number as text.

    Examples
    --------
    >>> shown(0.5), shown(1234567), shown(1234.5), shown(0.00001234), shown(None)
    ('0.500', '1,234,567', '1,234', '1.23e-05', '–')
    """
    if value is None or isinstance(value, str):
        return UNDEFINED if value is None else value
    if isinstance(value, int) or abs(value) >= 999.5:
        return f"{value:,.0f}"
    return f"{value:#.3g}".rstrip(".") if value else "0"


def shown_threshold(value: float | str | None) -> str:
    """Return a threshold; an infinite one as words."""
    return {"inf": "never", "-inf": "always"}.get(str(value)) or shown(value)


def shown_range(numbers: list[int]) -> str:
    """Return ``1 to 30`` for consecutive numbers, otherwise the numbers.

    Examples
    --------
    >>> shown_range([1, 2, 3]), shown_range([5, 10]), shown_range([10])
    ('1 to 3', '5, 10', '10')
    """
    whole = len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1))
    return f"{numbers[0]} to {numbers[-1]}" if whole else ", ".join(map(str, numbers))


# Tables of a page, which the script sorts and filters.

_LEAST_TO_FILTER = 12
_MANY_COLUMNS = 9  # more columns need vertical headings in print

Value: TypeAlias = Markup | str | float | None


class Column(NamedTuple):
    """A column of a table."""

    title: str
    numeric: bool = True
    show: Callable[[float | str | None], str] = shown
    best: bool | None = None  # whether the greatest value is marked, or the smallest, or none


def texts(*titles: str) -> list[Column]:
    """Return columns of texts."""
    return [Column(title, numeric=False) for title in titles]


def table(columns: Sequence[Column], rows: Sequence[Sequence[Value]], caption: str, *, filtered: str = "") -> Markup:
    """Return a table in a scrolling box; with scripts it can be sorted by each column.

    Parameters
    ----------
    columns : sequence of Column
        The columns; the first one contains the names of the rows.
    rows : sequence of sequence
        Values for each column: numbers or None in numeric columns, otherwise text or markup.
    caption : str
        Title of the table.
    filtered : str, default=""
        Word for the rows, for a filter by names if there are enough rows; "": no filter.

    Returns
    -------
    Markup
        The box with the table.
    """
    best = [_best(column, [row[i] for row in rows]) for i, column in enumerate(columns)]
    head = element("tr", *(_head(column) for column in columns))
    body = [
        element("tr", *(_cell(column, value, i == 0, value is not None and value == best[i]) for i, (column, value) in
                        enumerate(zip(columns, row, strict=True))))
        for row in rows
    ]  # fmt: skip
    parts = element("caption", caption), element("thead", head), element("tbody", *body)
    inner = element("table", *parts, class_="many" if len(columns) > _MANY_COLUMNS else None)
    box = element("div", inner, class_="scroll", tabindex="0", role="region", aria_label=caption)
    searched = filtered if len(rows) >= _LEAST_TO_FILTER else ""
    return element("div", box, class_="sorted", data_filter=searched or None)


def section(title: str, content: Markup, anchor: str) -> Markup:
    """Return a section with its heading."""
    return element("section", element("h2", title), content, id=anchor)


def anchors_of(titles: Sequence[str]) -> list[str]:
    """Return distinct anchor names of sections.

    Examples
    --------
    >>> anchors_of(["Over the number of neighbours", "Data a b", "Data a-b"])
    ['over-the-number-of-neighbours', 'data-a-b', 'data-a-b-2']
    """
    anchors: list[str] = []
    for title in titles:
        plain = "".join(c if c.isalnum() else "-" for c in title.lower())
        numbered = (f"{plain}-{number}" for number in count(2))
        anchors.append(next(anchor for anchor in chain([plain], numbered) if anchor not in anchors))
    return anchors


def notes(texts: Sequence[str]) -> Markup:
    """Return notes, one paragraph each."""
    return join(*(element("p", text, class_="note") for text in texts))


def _best(column: Column, values: Sequence[Value]) -> Value:
    numbers = [value for value in values if isinstance(value, (int, float))]
    if column.best is None or len(numbers) < 2:
        return None
    return max(numbers) if column.best else min(numbers)


def _head(column: Column) -> Markup:
    title = element("span", column.title)
    return element("th", title, scope="col", class_="n" if column.numeric else None)


def _cell(column: Column, value: Value, first: bool, best: bool) -> Markup:
    if first:
        return element("th", value, scope="row")
    if not column.numeric:
        return element("td", value)
    precise = f"{value:.7g}" if isinstance(value, (int, float)) else value  # sort key
    return element("td", column.show(value), class_="n best" if best else "n", data_v=precise)
