"""Which labels go together: a heat map of the share of one label's rows that have the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearlabel.report._axes import CHARACTER, picture
from nearlabel.report._markup import Markup, element
from nearlabel.utils.truncate import shortened

_CELL, _LONGEST = 16, 22
_LEVELS = 10


def draw_co_occurrence(co_occurrence: Mapping[str, Any]) -> Markup:
    """Return a cell for each pair of labels: the stronger, the more of its line's rows have its column's label.

    Parameters
    ----------
    co_occurrence : mapping
        ``names`` and ``counts`` of the labels, as `nearlabel.report.model_facts` gives them.

    Returns
    -------
    Markup
        The picture.
    """
    names: Sequence[str] = co_occurrence["names"]
    counts: Sequence[Sequence[int]] = co_occurrence["counts"]
    margin = 14 + CHARACTER * max(len(_cut(name)) for name in names)
    cells = [
        _cell(names, line, column, counts[line][column], counts[line][line], margin)
        for line in range(len(names))
        for column in range(len(names))
        if line != column and counts[line][column]
    ]
    size = int(margin) + _CELL * len(names) + 2
    words = f"Of each label's rows, one line a label, the share that has each other of the {len(names)} labels."
    return picture("Label co-occurrence", words, *_headings(names, margin), *cells, width=size, height=size)


def _headings(names: Sequence[str], margin: float) -> list[Markup]:
    lines = [
        element("text", _cut(name), x=margin - 4, y=margin + _CELL * (i + 0.72), class_="ty")
        for i, name in enumerate(names)
    ]
    columns = [
        element(
            "text", _cut(name), transform=f"translate({margin + _CELL * (i + 0.72):.1f} {margin - 4:.1f}) rotate(-90)"
        )
        for i, name in enumerate(names)
    ]
    side = _CELL * len(names)
    return [*lines, *columns, element("rect", x=margin, y=margin, width=side, height=side, class_="field")]


def _cell(names: Sequence[str], line: int, column: int, count: int, total: int, margin: float) -> Markup:
    words = f"{names[line]}, {names[column]}: {count:,} rows, {100 * count / total:.0f} % of {names[line]}"
    level = max(1, round(_LEVELS * count / total))
    x, y = margin + _CELL * column, margin + _CELL * line
    square = element("rect", x=x, y=y, width=_CELL - 1, height=_CELL - 1, class_=f"heat h{level}")
    return element("g", element("title", words), square)


def _cut(name: str) -> str:
    return shortened(name, _LONGEST)
