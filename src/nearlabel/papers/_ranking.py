"""Methods ranked over data sets, and compared in pairs: for papers that claim an order and print no figures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from nearlabel.comparison import PairedTest, PairedValues
from nearlabel.experiments import Cell


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
    table = np.array([[row[method] for method in methods] for row in values.values()])
    mean_ranks = PairedValues("all", metric, tuple(methods), table).ranks().mean(axis=0)
    return RankedMeasure(metric, claim, dict(values), dict(zip(methods, mean_ranks.tolist(), strict=True)))
