"""A printed order of methods, next to the orders from our records and from the printed numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from nearlabel.comparison import Order, PairedTest, PairedValues, order_methods, paired_tests, paired_values
from nearlabel.experiments import Cell, Record
from nearlabel.utils.messages import warnings_as_notes

_TEST = "t"  # Zhang and Zhou's
_OVERLAP = "The test is the paper's: folds share training samples, so its p-values are too small."

# Metric, better method, worse method.
_Relation: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True)
class PrintedRelation:
    """One method is better than another on a metric, in the paper or in our records.

    Parameters
    ----------
    metric, better, worse : str
        Metric and methods.
    printed, ours : bool
        Whether the paper states it, and whether our records show it.
    of_printed : bool or None
        Whether the same test on the printed numbers shows it; None if they cannot be tested.
    difference : float or None
        Our mean of the better method minus our mean of the worse; None if there is none.
    p_value : float or None
        Two-tailed p-value of our difference.
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
    """The wins of a method minus its losses, over all relations.

    Parameters
    ----------
    printed, ours : int
        In the paper, and in our records.
    of_printed : int or None
        By the same test on the printed numbers; None if they cannot be tested.
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
        All relations in the paper or in our records.
    scores : dict of str to PrintedScore
        The total order, in the order of the paper.
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

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a flat dict for each relation."""
        for relation in self.relations:
            yield {"table": self.table} | asdict(relation)


def reproduce_order(
    paper: str, number: str, facts: Mapping[str, Any], printed: Iterable[Sequence[Any]], records: Iterable[Record]
) -> ReproducedOrder:
    """Return a printed order next to ours.

    Parameters
    ----------
    paper, number : str
        Names.
    facts : mapping
        The section of the order: title, relations, scores, over, corrections, notes.
    printed : iterable of rows
        Data set, method, number of neighbours, metric, value: the cells behind the order. Only pairs of methods with a
        printed value are compared.
    records : iterable of dict
        Ours.
    """
    corrections = facts.get("corrections", ())
    cells = {(metric, method, dataset): value for dataset, method, _, metric, value, *_ in printed}
    cells |= {(metric, method, dataset): value for dataset, method, metric, value in corrections}
    tables = _printed_values(cells)
    methods = list(facts["scores"])
    datasets = {dataset for _, _, dataset in cells}
    with warnings_as_notes() as overlap:
        tests = _tests_of([r for r in records if r["dataset"] in datasets], facts["over"], tables)
    ours = order_methods(tests, methods)
    # A printed mean over folds cannot be tested: its folds are not printed.
    of_printed = None
    if facts["over"] == "datasets":
        of_printed = order_methods([test for table in tables for test in paired_tests(table, _TEST)], methods)
    scores = {
        method: PrintedScore(score, ours.scores[method], None if of_printed is None else of_printed.scores[method])
        for method, score in facts["scores"].items()
    }
    relations = tuple(_relations(facts["relations"], ours, of_printed, tests))
    notes = [*facts.get("notes", ()), *([_OVERLAP] if overlap else [])]
    notes += [
        f"By its figures: {dataset}, {method}, {metric} is taken as {value}, which is what the average requires."
        for dataset, method, metric, value in corrections
    ]
    return ReproducedOrder(paper, number, facts["title"], tuple(notes), relations, scores)


def _printed_values(cells: Mapping[tuple[str, str, str], float]) -> list[PairedValues]:
    """Return the printed values of each metric, with a row for each data set."""
    datasets = list(dict.fromkeys(dataset for _, _, dataset in cells if dataset != "average"))
    tables = []
    for metric in dict.fromkeys(metric for metric, _, _ in cells):
        methods = tuple(dict.fromkeys(method for of, method, _ in cells if of == metric))
        values = [[cells[metric, method, dataset] for method in methods] for dataset in datasets]
        tables.append(PairedValues("all", metric, methods, np.array(values, dtype=np.float64)))
    return tables


def _tests_of(records: Sequence[Record], over: str, printed: Iterable[PairedValues]) -> list[PairedTest]:
    """Test the pairs of methods with printed values on our records."""
    pairs = {table.metric: list(combinations(table.methods, 2)) for table in printed}
    return [
        test
        for table in paired_values([record for record in records if record["metric"] in pairs], over)
        for test in paired_tests(table, _TEST, [p for p in pairs[table.metric] if set(p) <= set(table.methods)])
    ]


def _relations(
    printed: Iterable[Sequence[str]], ours: Order, of_printed: Order | None, tests: Iterable[PairedTest]
) -> Iterator[PrintedRelation]:
    """Yield all relations by metric, printed ones first."""
    in_print: list[_Relation] = [(metric, better, worse) for metric, better, worse in printed]
    in_ours = _keys(ours)
    in_values = set() if of_printed is None else _keys(of_printed)
    by_pair = {(test.metric, frozenset(test.methods)): test for test in tests}
    everything = list(dict.fromkeys([*in_print, *sorted(in_values), *sorted(in_ours)]))
    metrics = list(dict.fromkeys(metric for metric, _, _ in everything))
    for key in sorted(everything, key=lambda key: metrics.index(key[0])):
        metric, better, worse = key
        difference, p_value = _our_figures(by_pair.get((metric, frozenset((better, worse)))), better)
        follows = None if of_printed is None else key in in_values
        yield PrintedRelation(metric, better, worse, key in in_print, key in in_ours, follows, difference, p_value)


def _keys(order: Order) -> set[_Relation]:
    return {(relation.metric, relation.better, relation.worse) for relation in order.relations}


def _our_figures(test: PairedTest | None, better: str) -> tuple[float | None, float | None]:
    """Return our difference and its p-value."""
    if test is None:
        return None, None
    difference = test.difference if test.methods[0] == better else -test.difference
    return difference, test.p_value if np.isfinite(test.p_value) else None


# Rankings of methods over data sets with pairwise tests, for papers that claim an order without printed numbers.


@dataclass(frozen=True)
class RankedMetric:
    """Methods ranked by one metric.

    Parameters
    ----------
    metric : str
        Name of the metric.
    claim : str
        The paper's claim on this metric; "" if there is none.
    values : dict of str to dict of str to float
        For each data set, the mean of each method.
    mean_ranks : dict of str to float
        For each method the mean of its ranks over the data sets, 1 for the best; equal means share their mean rank.
    """

    metric: str
    claim: str
    values: dict[str, dict[str, float]]
    mean_ranks: dict[str, float]


@dataclass(frozen=True)
class Ranking:
    """The order of methods that a paper claims, and our order.

    Parameters
    ----------
    paper, ranking, title : str
        Name of the paper, number and title of the ranking.
    notes : tuple of str
        What a reader must know to compare.
    metrics : tuple of RankedMetric
        One for each metric.
    tests : tuple of PairedTest
        One test for each tested data set and metric.
    """

    paper: str
    ranking: str
    title: str
    notes: tuple[str, ...]
    metrics: tuple[RankedMetric, ...]
    tests: tuple[PairedTest, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists, for JSON."""
        return asdict(self)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a flat dict for each value, then for each mean rank, then for each test."""
        for ranked in self.metrics:
            for dataset, values in ranked.values.items():
                for method, value in values.items():
                    row = {"dataset": dataset, "method": method, "metric": ranked.metric, "ours": value}
                    yield {"ranking": self.ranking} | row
        for ranked in self.metrics:
            for method, rank in ranked.mean_ranks.items():
                yield {"ranking": self.ranking, "method": method, "metric": ranked.metric, "mean_rank": rank}
        for test in self.tests:
            yield {"ranking": self.ranking} | asdict(test) | {"method": " - ".join(test.methods)}


def reproduce_ranking(
    paper: str, number: str, facts: Mapping[str, Any], cells: Sequence[Cell], records: Sequence[Record]
) -> Ranking:
    """Rank the methods by each metric for which the paper has a claim, and test the pairs that its file lists."""
    # Records contain the direction of a user's metric.
    directions = {r["metric"]: r["greater_is_better"] for r in records if "greater_is_better" in r}
    metrics = tuple(
        rank_methods(cells, metric, claim, greater_is_better=directions.get(metric))
        for metric, claim in facts["claims"].items()
    )
    tests = tuple(
        test
        for metric, *pair in facts.get("tests", ())
        for values in paired_values(records, "folds", [metric], pair)
        for test in paired_tests(values, "corrected-t")
    )
    return Ranking(paper, number, facts["title"], tuple(facts.get("notes", ())), metrics, tests)


def rank_methods(
    cells: Iterable[Cell], metric: str, claim: str, *, greater_is_better: bool | None = None
) -> RankedMetric:
    """Rank the methods of some cells, one for each data set and method, by a metric; None: by the catalogue."""
    values: dict[str, dict[str, float]] = defaultdict(dict)
    for cell in cells:
        if cell.metric == metric and cell.n_neighbors != "mean":
            values[cell.dataset][cell.method] = cell.mean
    methods = list(dict.fromkeys(method for row in values.values() for method in row))
    for dataset, row in values.items():
        if len(row) < len(methods):
            missing = ", ".join(method for method in methods if method not in row)
            raise ValueError(f"{metric} must be defined for every method on {dataset}, got none of {missing}.")
    table = np.array([[row[method] for method in methods] for row in values.values()])
    values_by_row = PairedValues("all", metric, tuple(methods), table, greater_is_better=greater_is_better)
    mean_ranks = values_by_row.ranks().mean(axis=0)
    return RankedMetric(metric, claim, dict(values), dict(zip(methods, mean_ranks.tolist(), strict=True)))
