"""An audit as text, wrapped for a narrow terminal, and as HTML: the first findings of each kind."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from nearlabel.utils.tables import grid_of_rows, html_of

_FIRST, _FIRST_OF_OTHERS = 5, 3  # findings of a kind that are shown; of kinds but cells in a notebook
_WIDTH = 80


class _Kind(NamedTuple):
    """How the findings of a kind are shown: as sentences, or as rows of a table."""

    title: str
    sentence: Callable[[Any], str]
    columns: tuple[str, ...]
    cells: Callable[[Any], tuple[Any, ...]]


def text_of(audit: Any) -> str:
    """Return the figures and the first findings of each kind."""
    parts = (line for kind, how in _KINDS.items() for line in _part(how, getattr(audit, kind)))
    return "\n".join([textwrap.fill(_figures(audit), _WIDTH), *parts])


def page_of(audit: Any) -> str:
    """Return the same as HTML, a table for each kind."""
    tables = []
    for kind, how in _KINDS.items():
        rows = [how.cells(one) for one in getattr(audit, kind)]
        at_most = _FIRST if kind == "cells" else _FIRST_OF_OTHERS
        if rows:
            noun = kind.replace("_", " ")
            tables.append(grid_of_rows(how.columns, rows, noun, title=how.title, at_most=at_most))
    return html_of(_figures(audit), *tables)


def _figures(audit: Any) -> str:
    size = ", ".join(_counted(number, noun) for number, noun in ((audit.n_rows, "row"), (audit.n_labels, "label")))
    share = audit.n_issues / max(1, audit.n_known)
    return f"{size}: confident learning flags {audit.n_issues:,} of {audit.n_known:,} known cells ({share:.1%})."


def called(finding: Any) -> str:
    """Return the name of a row, or its number."""
    return finding.name or f"row {finding.row}"


def value_in_words(value: int | None) -> str:
    """Return yes, no, or unknown."""
    return "unknown" if value is None else "yes" if value else "no"


def _part(how: _Kind, findings: Sequence[Any]) -> Iterator[str]:
    if not findings:
        return
    yield f"\n{how.title}"
    for finding in findings[:_FIRST]:
        yield from _wrapped(how.sentence(finding))
    if len(findings) > _FIRST:
        yield f"  and {len(findings) - _FIRST} more"


def _wrapped(sentence: str) -> list[str]:
    """Return a finding as lines; long names are not split."""
    look: dict[str, Any] = {"initial_indent": "  ", "subsequent_indent": "      "}
    return textwrap.wrap(sentence, _WIDTH, break_long_words=False, break_on_hyphens=False, **look)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _cell(cell: Any) -> str:
    against, n_known = _against(cell)
    effect = ""
    if cell.n_righted is not None:
        effect = f"; correcting it fixes {cell.n_righted} other predictions, breaks {cell.n_wronged}"
    return (
        f"{called(cell)}, {cell.label_name}: {value_in_words(cell.given)}, but {against} of {n_known} neighbours"
        f" ({cell.disagreement:.0%} of the weight) vote {value_in_words(cell.suggested)}; probability"
        f" {cell.probability:.2f}{effect}"
    )


def _row_of_cell(cell: Any) -> tuple[Any, ...]:
    against, n_known = _against(cell)
    words = value_in_words(cell.given), value_in_words(cell.suggested)
    return called(cell), str(cell.label_name), *words, f"{against} of {n_known}", round(cell.probability, 2)


def _against(cell: Any) -> tuple[int, int]:
    """Return how many neighbours have another value of a cell, and of how many it is known."""
    known = [one.value for one in cell.neighbors if one.value is not None]
    return sum(value != cell.given for value in known), len(known)


def _row(row: Any) -> str:
    return f"{called(row)}: has {_labels(row.given)}; predicted without it: {_labels(row.predicted)}"


def _conflict(conflict: Any) -> str:
    rows = ", ".join(_names(conflict)[:_FIRST])
    return f"{rows}: differ in {_labels(conflict.labels)} at a distance of {conflict.distance:.3g}"


def _names(conflict: Any) -> tuple[str, ...]:
    return conflict.names or tuple(f"row {row}" for row in conflict.rows)


def _pair(pair: Any) -> str:
    return f"{_both(pair)} in {pair.n_rows} rows ({pair.expected:.1f} expected)"


def _both(pair: Any) -> str:
    first, second = pair.labels
    return f"{second} is predicted in place of {first}" if pair.kind == "confused" else f"{first} and {second} missing"


def _hub(hub: Any) -> str:
    return f"{called(hub)}: a neighbour of {hub.n_lists} rows, disagreement {hub.disagreement:.2f}"


def _labels(names: Sequence[Any]) -> str:
    return ", ".join(map(str, names)) if names else "no label"


_KINDS: Mapping[str, _Kind] = {
    "cells": _Kind(
        "Cells, the most suspicious first",
        _cell,
        ("row", "label", "given", "suggested", "neighbours against", "probability"),
        _row_of_cell,
    ),
    "rows": _Kind(
        "Rows, the most suspicious first",
        _row,
        ("row", "has", "predicted without it"),
        lambda row: (called(row), row.given, row.predicted),
    ),
    "conflicts": _Kind(
        "Nearly equal rows with different label sets",
        _conflict,
        ("rows", "differ in", "distance"),
        lambda conflict: (_names(conflict), conflict.labels, conflict.distance),
    ),
    "label_pairs": _Kind(
        "Labels confused or missing together",
        _pair,
        ("labels", "rows", "expected"),
        lambda pair: (_both(pair), pair.n_rows, round(pair.expected, 1)),
    ),
    "hubs": _Kind(
        "Hubs",
        _hub,
        ("row", "neighbour of", "disagreement"),
        lambda hub: (called(hub), hub.n_lists, round(hub.disagreement, 2)),
    ),
}
