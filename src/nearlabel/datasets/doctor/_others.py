"""Findings in columns without numbers: categories, texts, dates, identifiers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nearlabel.datasets.doctor._columns import LEAST_ROWS, date_finding, id_finding
from nearlabel.datasets.doctor._finding import NOTE, SEVERE, WARNING, Finding, counted, listed
from nearlabel.datasets.doctor._tables import CATEGORY, DATE, IDENTIFIER, TEXT, Other

_MOST_NAMED = 3  # columns in the text of a remedy


def other_findings(others: Sequence[Other], n_distinct: int) -> Iterator[Finding]:
    """Yield the findings in columns without numbers, whether their kinds are declared or not.

    `n_distinct` is the number of rows that are not copies of an earlier one.
    """
    identifiers = [other for other in others if identifies(other, n_distinct)]
    seeming = [other for other in others if not other.is_declared]
    yield from date_finding([other.name for other in seeming if other.kind == DATE])
    yield from id_finding([other.name for other in identifiers], SEVERE, "contain a different text in each row")
    yield from _undeclared([other for other in seeming if other.is_compared and other not in identifiers])
    yield from _many_categories([other for other in others if has_many_categories(other, n_distinct)])
    yield from _missing([other for other in others if other.kind in (CATEGORY, TEXT)])


def identifies(other: Other, n_distinct: int) -> bool:
    """Return whether a column seems to identify rows: it has texts, single words that are in no other distinct row."""
    all_distinct = other.kind in (CATEGORY, TEXT) and n_distinct >= LEAST_ROWS and other.n_distinct == n_distinct
    return other.kind == IDENTIFIER or (all_distinct and (other.kind == CATEGORY or not other.has_words))


def has_many_categories(other: Other, n_distinct: int) -> bool:
    """Return whether most rows have a category of their own, without each distinct row having one."""
    n_rows = len(other.values)
    return other.kind == CATEGORY and n_rows >= LEAST_ROWS and n_rows / 2 < other.n_distinct < n_distinct


def _undeclared(others: Sequence[Other]) -> Iterator[Finding]:
    if not others:
        return
    names = [other.name for other in others]
    options = [("--categorical", CATEGORY), ("--text", TEXT)]
    of_kind = {option: [other.name for other in others if other.kind == kind] for option, kind in options}
    proposed = " ".join(f"{option} {','.join(some[:_MOST_NAMED])}" for option, some in of_kind.items() if some)
    yield Finding(
        "text_columns",
        SEVERE,
        f"{counted(len(names), 'column')} contain{'s' * (len(names) == 1)} texts or categories: {listed(names)}."
        " Distances depend on which of the two they are.",
        f"Declare them: {proposed}, in Python nearlabel.preprocessing.MixedFeaturesEncoder; or leave them out:"
        f" --ignore {','.join(names[:_MOST_NAMED])}.",
        {"count": len(names), "columns": listed(names)},
    )


def _many_categories(others: Sequence[Other]) -> Iterator[Finding]:
    if others:
        names = [other.name for other in others]
        shown = listed([f"{other.name} ({other.n_distinct:,})" for other in others])
        yield Finding(
            "many_categories",
            WARNING,
            f"{counted(len(names), 'column')} of categories distinguish{'es' * (len(names) == 1)} most rows from all"
            f" others: {shown}.",
            f"If they contain several words, compare these: --text {','.join(names[:_MOST_NAMED])}. Or leave them out:"
            f" --ignore {','.join(names[:_MOST_NAMED])}.",
            {"count": len(names), "columns": shown},
        )


def _missing(others: Sequence[Other]) -> Iterator[Finding]:
    counts = {other.name: int(other.lacking.sum()) for other in others}
    total = sum(counts.values())
    if total:
        shown = listed([f"{name} ({count:,})" for name, count in counts.items() if count])
        yield Finding(
            "missing_categories",
            NOTE,
            f"{counted(total, 'cell')} of categories and texts {'is' if total == 1 else 'are'} missing, by column:"
            f" {shown}. Each differs from all others.",
            "They need no remedy. MixedFeaturesEncoder(missing_categories='category') treats missing ones as equal.",
            {"values": total, "columns": shown},
        )
