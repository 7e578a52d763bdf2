"""Methods ranked over data sets, and compared in pairs: for papers that claim an order and print no figures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata, ttest_rel

from nearlabel.experiments._records import Record
from nearlabel.experiments._summary import Cell
from nearlabel.metrics import get_metric


@dataclass(frozen=True)
class RankedMeasure:
    """Methods by one measure.

    Parameters
    ----------
    metric : str
        Name of the measure.
    claim : str
        What the paper says of it; "" if nothing.
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
class PairedTest:
    """Two methods on the folds of one data set: a paired two-tailed t-test.

    Parameters
    ----------
    dataset, metric : str
        Names, as in the records.
    methods : tuple of str
        The two methods.
    difference : float
        Mean of the first less that of the second.
    statistic : float
        t.
    p_value : float
        Two-tailed; folds share training rows, so it is too small (Nadeau and Bengio 2003).
    n_folds : int
        Number of pairs.
    """

    dataset: str
    metric: str
    methods: tuple[str, str]
    difference: float
    statistic: float
    p_value: float
    n_folds: int


@dataclass(frozen=True)
class Ranking:
    """The order of methods that a paper claims, and ours.

    Parameters
    ----------
    paper, ranking, title : str
        Name of the paper, number and title of the ranking.
    notes : tuple of str
        What a reader must know to compare.
    measures : tuple of RankedMeasure
        One for each measure.
    tests : tuple of PairedTest
        One for each data set and measure that is tested.
    """

    paper: str
    ranking: str
    title: str
    notes: tuple[str, ...]
    measures: tuple[RankedMeasure, ...]
    tests: tuple[PairedTest, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists, for JSON."""
        return asdict(self)


def rank_methods(cells: Iterable[Cell], metric: str, claim: str) -> RankedMeasure:
    """Rank the methods of some cells, one for each data set and method, by a measure."""
    values: dict[str, dict[str, float]] = defaultdict(dict)
    for cell in cells:
        if cell.metric == metric and cell.n_neighbors != "mean":
            values[cell.dataset][cell.method] = cell.mean
    methods = list(dict.fromkeys(method for row in values.values() for method in row))
    for dataset, row in values.items():
        if len(row) < len(methods):
            missing = ", ".join(method for method in methods if method not in row)
            raise ValueError(f"{metric} must be defined for every method on {dataset}, got none of {missing}.")
    sign = -1 if get_metric(metric).greater_is_better else 1
    ranks = [rankdata([sign * row[method] for method in methods]) for row in values.values()]
    return RankedMeasure(metric, claim, dict(values), dict(zip(methods, np.mean(ranks, axis=0).tolist(), strict=True)))


def paired_tests(records: Sequence[Record], metric: str, methods: tuple[str, str]) -> list[PairedTest]:
    """Compare two methods on each data set, fold by fold; folds where the measure is undefined are left out.

    A data set without a fold where both are defined has no test.
    """
    folds: Mapping[str, dict[tuple[Any, Any], dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for r in records:
        if r["metric"] == metric and r["method"] in methods and r["value"] is not None:
            folds[r["dataset"]][r["seed"], r["fold"]][r["method"]] = r["value"]
    pairs = {
        dataset: [(fold[methods[0]], fold[methods[1]]) for fold in of.values() if len(fold) == len(methods)]
        for dataset, of in folds.items()
    }
    return [_paired_test(dataset, metric, methods, of) for dataset, of in pairs.items() if of]


def _paired_test(dataset: str, metric: str, methods: tuple[str, str], pairs: list[tuple[float, float]]) -> PairedTest:
    first, second = np.array(pairs).T
    difference = first - second
    if np.ptp(difference) < 1e-12:  # t is undefined: the same difference on every fold, or one fold only
        statistic, p_value = float("nan"), float("nan")
    else:
        result = ttest_rel(first, second)
        statistic, p_value = float(result.statistic), float(result.pvalue)
    return PairedTest(dataset, metric, methods, float(difference.mean()), statistic, p_value, len(pairs))
