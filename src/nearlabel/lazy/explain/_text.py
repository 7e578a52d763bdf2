"""Explanations as text: aligned columns, at most some forty lines."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearlabel.utils.truncate import shortened
from nearlabel.utils.types import IntArray, Table

_MOST_NEIGHBORS, _MOST_LABELS, _LEAST_LABELS, _WIDEST = 10, 16, 8, 36
_LONGEST_LINE = 112
_HEADS = {"name": "label", "names": "labels", "likelihood_without": "likelihood, without"}
_SIGNED = ("flip", "flip_by_votes")


def sentences(method: str, predicted: Sequence[Any], novelty: float | None, novelty_reason: str) -> list[str]:
    """Return the lines on the decision and on how far the query is from what is known."""
    head = f"{method}: {_names(predicted, 100) or 'no label'}"
    if novelty is None:
        return [head, f"novelty unknown: {novelty_reason}"]
    return [
        head,
        f"novelty {novelty:.2f}: farther from its neighbours than {100 * novelty:.0f} % of the training samples",
    ]


def wrapped(sentence: str) -> list[str]:
    """Return a long sentence as lines, the further ones indented."""
    return textwrap.wrap(sentence, _LONGEST_LINE, subsequent_indent="    ", break_long_words=False) or [""]


def listing(
    table: Table,
    columns: Sequence[str],
    title: str,
    *,
    order: IntArray | None = None,
    n_first: int = 0,
    at_most: int = _MOST_NEIGHBORS,
) -> list[str]:
    """Return the lines of a table: its first rows, in an order, and how many there are besides.

    With an order, the first `n_first` rows are shown as far as there is room, and others until there are some.
    """
    size = len(next(iter(table.values())))
    if order is not None:
        at_most = min(max(n_first + 2, _LEAST_LABELS), _MOST_LABELS)
    rows = np.arange(size)[:at_most] if order is None else order[:at_most]
    cells = [[_head(name, title), *(_cell_of(table, name, row) for row in rows)] for name in columns]
    right = [not _is_text(table[name]) for name in columns]
    widths = [max(map(len, column)) for column in cells]
    lines = [
        "  ".join(
            cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in zip(*cells, strict=True)
    ]
    left, hidden = size - len(rows), max(0, n_first - len(rows))
    besides = [f"... and {left} more {title}" + (f", {hidden} of them chosen" if hidden else "")] if left else []
    return [*lines, *besides]


def _head(name: str, title: str) -> str:
    if name == "row":
        return "neighbour" if title == "neighbours" else name
    return _HEADS.get(name, name.replace("_", " "))


def _is_text(column: NDArray[Any]) -> bool:
    if column.dtype != object:
        return column.dtype.kind in "bUT"
    return not all(cell is None or isinstance(cell, (int, float)) for cell in column)


def _cell_of(table: Table, name: str, row: int) -> str:
    """Return a cell; a score and a threshold that differ look different."""
    value, text = table[name][row], _cell(table[name][row], signed=name in _SIGNED)
    other = {"score": "threshold", "threshold": "score"}.get(name, "")
    if other in table and text == _cell(table[other][row]) and value != table[other][row]:
        return repr(float(value))
    return text


def _cell(value: Any, *, signed: bool = False) -> str:
    if value is None or value != value:
        return "-"
    if signed:
        return f"{value:+d}"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else ""
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}"
    if isinstance(value, tuple):
        return _names(value, _WIDEST + 24) or "(none)"
    return shortened(value, _WIDEST)


def _names(names: Sequence[Any], width: int) -> str:
    """Return names with commas between, as many as fit."""
    shown: list[str] = []
    for number, name in enumerate(names):
        shown.append(shortened(name, _WIDEST))
        if len(", ".join(shown)) > width and number + 1 < len(names):
            return ", ".join(shown) + f", and {len(names) - number - 1} more"
    return ", ".join(shown)
