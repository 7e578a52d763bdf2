"""An audit as text: the first findings of each kind, wrapped for a narrow terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

_FIRST = 5  # findings of a kind that are shown
_WIDTH = 80


def text_of(audit: Any) -> str:
    """Return the figures and the first findings of each kind."""
    size = ", ".join(_counted(number, noun) for number, noun in ((audit.n_rows, "row"), (audit.n_labels, "label")))
    share = audit.n_issues / max(1, audit.n_known)
    lines = [
        textwrap.fill(
            f"{size}: confident learning flags {audit.n_issues:,} of {audit.n_known:,} known cells ({share:.1%}).",
            _WIDTH,
        ),
        *_part("Cells, the most suspicious first", audit.cells, _cell),
        *_part("Rows, the most suspicious first", audit.rows, _row),
        *_part("Nearly equal rows with different label sets", audit.conflicts, _conflict),
        *_part("Labels confused or missing together", audit.label_pairs, _pair),
        *_part("Hubs", audit.hubs, _hub),
    ]
    return "\n".join(lines)


def called(finding: Any) -> str:
    """Return the name of a row, or its number."""
    return finding.name or f"row {finding.row}"


def value_in_words(value: int | None) -> str:
    """Return yes, no, or unknown."""
    return "unknown" if value is None else "yes" if value else "no"


def _part(title: str, findings: Sequence[Any], line_of: Callable[[Any], str]) -> Iterator[str]:
    if not findings:
        return
    yield f"\n{title}"
    for finding in findings[:_FIRST]:
        yield from _wrapped(line_of(finding))
    if len(findings) > _FIRST:
        yield f"  and {len(findings) - _FIRST} more"


def _wrapped(sentence: str) -> list[str]:
    """Return a finding as lines; long names are not split."""
    return textwrap.wrap(
        sentence,
        _WIDTH,
        initial_indent="  ",
        subsequent_indent="      ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _cell(cell: Any) -> str:
    known = [one.value for one in cell.neighbors if one.value is not None]
    against = sum(value != cell.given for value in known)
    effect = ""
    if cell.n_righted is not None:
        effect = f"; correcting it fixes {cell.n_righted} other predictions, breaks {cell.n_wronged}"
    return (
        f"{called(cell)}, {cell.label_name}: {value_in_words(cell.given)}, but {against} of {len(known)} neighbours"
        f" ({cell.disagreement:.0%} of the weight) vote {value_in_words(cell.suggested)}; probability"
        f" {cell.probability:.2f}{effect}"
    )


def _row(row: Any) -> str:
    return f"{called(row)}: has {_labels(row.given)}; predicted without it: {_labels(row.predicted)}"


def _conflict(conflict: Any) -> str:
    rows = conflict.names or tuple(f"row {row}" for row in conflict.rows)
    return f"{', '.join(rows[:_FIRST])}: differ in {_labels(conflict.labels)} at a distance of {conflict.distance:.3g}"


def _pair(pair: Any) -> str:
    first, second = pair.labels
    what = f"{second} is predicted in place of {first}" if pair.kind == "confused" else f"{first} and {second} missing"
    return f"{what} in {pair.n_rows} rows ({pair.expected:.1f} expected)"


def _hub(hub: Any) -> str:
    return f"{called(hub)}: a neighbour of {hub.n_lists} rows, disagreement {hub.disagreement:.2f}"


def _labels(names: Sequence[Any]) -> str:
    return ", ".join(map(str, names)) if names else "no label"
