"""A printed order of methods beside the one that our records give, and the one that the printed figures give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from nearlabel.comparison import (
    Order,
    PairedTest,
    PairedValues,
    order_methods,
    paired_tests,
    paired_values,
)
from nearlabel.experiments import Record
from nearlabel.utils.notes import warnings_as_notes

_TEST = "t"  # Zhang and Zhou's
_OVERLAP = "The test is the paper's: folds share training rows, so its p-values are too small."


@dataclass(frozen=True)
class PrintedRelation:
    """One method is better than another by a measure: who says so.

    Parameters
    ----------
    metric, better, worse : str
        Measure and methods.
    printed, ours : bool
        Whether the paper says so, and whether our records do.
    of_printed : bool or None
        Whether the same test on the printed figures does; None where they cannot be tested.
    difference : float or None
        Our mean of the better method less that of the worse; None if there is none.
    p_value : float or None
        Of our difference, two-tailed.
    """

    metric: str
    better: str
    worse: str
    printed: bool
    ours: bool
    of_printed: bool | None
    difference: float | None
    p_value: float | None


@dataclass(frozen=True)
class PrintedScore:
    """What a method wins less what it loses.

    Parameters
    ----------
    printed, ours : int
        By the paper, and by our records.
    of_printed : int or None
        By the same test on the printed figures; None where they cannot be tested.
    """

    printed: int
    ours: int
    of_printed: int | None


@dataclass(frozen=True)
class ReproducedOrder:
    """One order of methods, reproduced.

    Parameters
    ----------
    paper, table, title : str
        Name of the paper, number and title of the table.
    notes : tuple of str
        What a reader must know to compare.
    relations : tuple of PrintedRelation
        All that the paper or we find.
    scores : dict of str to PrintedScore
        The total order, in the paper's.
    """

    paper: str
    table: str
    title: str
    notes: tuple[str, ...]
    relations: tuple[PrintedRelation, ...]
    scores: dict[str, PrintedScore]

    def as_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists, for JSON."""
        return asdict(self)


def reproduce_order(
    paper: str, number: str, facts: Mapping[str, Any], printed: Sequence[Sequence[Any]], records: Iterable[Record]
) -> ReproducedOrder:
    """Put a printed order beside ours.

    Parameters
    ----------
    paper, number : str
        Names.
    facts : mapping
        Of the order: title, relations, scores, over, corrections, notes.
    printed : sequence of rows
        Data set, method, number of neighbours, measure, figure: the cells that the order is made of. Only pairs of
        methods that have a figure are compared.
    records : iterable of dict
        Ours.
    """
    cells = {(metric, method, dataset): value for dataset, method, _, metric, value, *_ in printed}
    cells |= {(metric, method, dataset): value for dataset, method, metric, value in facts.get("corrections", ())}
    of_cells = _figures_as_values(cells)
    datasets = {dataset for _, _, dataset in cells}
    tables = paired_values([r for r in records if r["dataset"] in datasets], facts["over"])
    with warnings_as_notes() as overlap:
        ours = [
            test
            for table in tables
            for known in of_cells
            if known.metric == table.metric
            for test in paired_tests(table, _TEST, [p for p in _pairs(known) if set(p) <= set(table.methods)])
        ]
    notes = [_OVERLAP] if overlap else []
    notes += [
        f"By its figures: {dataset}, {method}, {metric} is taken as {value}, which is what the average asks for."
        for dataset, method, metric, value in facts.get("corrections", ())
    ]
    methods = list(facts["scores"])
    of_printed = [test for values in of_cells for test in paired_tests(values, _TEST)]
    order, order_of_printed = order_methods(ours, methods), order_methods(of_printed, methods)
    testable = facts["over"] == "datasets"
    scores = {
        method: PrintedScore(score, order.scores[method], order_of_printed.scores[method] if testable else None)
        for method, score in facts["scores"].items()
    }
    return ReproducedOrder(
        paper, number, facts["title"], (*facts.get("notes", ()), *notes),
        tuple(_relations(facts["relations"], order, order_of_printed if testable else None, ours)), scores,
    )  # fmt: skip


def _pairs(values: PairedValues) -> list[tuple[str, str]]:
    return list(combinations(values.methods, 2))


def _figures_as_values(cells: Mapping[tuple[str, str, str], float]) -> list[PairedValues]:
    """Return the printed figures of each measure, a row for each data set."""
    metrics = dict.fromkeys(metric for metric, _, _ in cells)
    datasets = list(dict.fromkeys(dataset for _, _, dataset in cells if dataset != "average"))
    tables = []
    for metric in metrics:
        methods = tuple(dict.fromkeys(method for of, method, _ in cells if of == metric))
        values = [[cells[metric, method, dataset] for method in methods] for dataset in datasets]
        tables.append(PairedValues("all", metric, methods, np.array(values, dtype=np.float64)))
    return tables


def _relations(
    printed: Iterable[Sequence[str]], ours: Order, of_printed: Order | None, tests: Iterable[PairedTest]
) -> list[PrintedRelation]:
    """Return every relation that anyone finds, by measure, the printed ones first."""
    in_print = [(metric, better, worse) for metric, better, worse in printed]
    found = {(r.metric, r.better, r.worse) for r in ours.relations}
    follows = None if of_printed is None else {(r.metric, r.better, r.worse) for r in of_printed.relations}
    by_pair = {(test.metric, frozenset(test.methods)): test for test in tests}
    everything = list(dict.fromkeys([*in_print, *sorted(follows or ()), *sorted(found)]))
    order = list(dict.fromkeys(metric for metric, _, _ in everything))
    return [
        PrintedRelation(
            *key,
            key in in_print,
            key in found,
            None if follows is None else key in follows,
            *_our_figures(by_pair.get((key[0], frozenset(key[1:]))), key[1]),
        )
        for key in sorted(everything, key=lambda key: order.index(key[0]))
    ]


def _our_figures(test: PairedTest | None, better: str) -> tuple[float | None, float | None]:
    """Return our difference and its p-value."""
    if test is None:
        return None, None
    difference = test.difference if test.methods[0] == better else -test.difference
    return difference, test.p_value if np.isfinite(test.p_value) else None
