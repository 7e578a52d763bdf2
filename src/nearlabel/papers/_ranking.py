"""Rankings of methods over data sets with pairwise tests, for papers that claim an order without printed numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from nearlabel.comparison import PairedTest, PairedValues, paired_tests, paired_values
from nearlabel.experiments import Cell, Record


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
