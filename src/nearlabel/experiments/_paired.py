"""Records to paired values: what methods reached on the same folds, or on the same data sets."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearlabel._typing import FloatArray
from nearlabel._validation import check_choice
from nearlabel.experiments._records import Record
from nearlabel.metrics import CATALOGUE, get_metric

OVER = ("folds", "datasets")

_DECIMALS = 12  # what the order of a sum may change is no difference


@dataclass(frozen=True, eq=False)
class PairedValues:
    """What some methods reached, by one measure, on the same folds or data sets.

    Parameters
    ----------
    dataset : str
        Name, or "all" where the data sets are the rows.
    metric : str
        Name of the measure.
    methods : tuple of str
        The columns.
    values : ndarray of shape (n_pairs, n_methods)
        NaN where the measure is undefined.
    overlap : float, default=0.0
        Test rows for each training row, where the rows are folds whose training parts overlap; 0 where the rows are
        independent.
    """

    dataset: str
    metric: str
    methods: tuple[str, ...]
    values: FloatArray
    overlap: float = 0.0

    def difference(self, first: str, second: str) -> FloatArray:
        """Return what the first method has more than the second, where both have a value."""
        of_first, of_second = (self.values[:, self.methods.index(method)] for method in (first, second))
        difference: FloatArray = np.round(of_first - of_second, _DECIMALS)
        return difference[~np.isnan(difference)]

    def complete(self) -> PairedValues:
        """Return the methods that have any value, on the rows where all of these have one."""
        known = np.flatnonzero(~np.isnan(self.values).all(axis=0))
        values = self.values[:, known]
        methods = tuple(self.methods[column] for column in known)
        rows = values[~np.isnan(values).any(axis=1)]
        return PairedValues(self.dataset, self.metric, methods, np.round(rows, _DECIMALS), self.overlap)

    @property
    def sign(self) -> int:
        """1 if a greater value is better, else -1."""
        return 1 if get_metric(self.metric).greater_is_better else -1


def paired_values(
    records: Iterable[Record], over: str, metrics: Sequence[str] | None = None, methods: Sequence[str] | None = None
) -> list[PairedValues]:
    """Return the paired values of each measure: over the folds of each data set, or over the data sets.

    Parameters
    ----------
    records : iterable of dict
        As `run` gives them. The values of all numbers of neighbours of a method are averaged first.
    over : {"folds", "datasets"}
        What is a row: a fold, one table for each data set; or a data set, with the mean of its folds.
    metrics, methods : sequence of str, default=None
        Which, in their order; None: all that occur. What is counted of predictions alone ("empty_predictions") is
        neither good nor bad, and is left out.

    Raises
    ------
    ValueError
        If there is no value, or a metric or method does not occur in the records.
    """
    check_choice("over", over, OVER)
    found: Mapping[tuple[str, str], dict[tuple[Any, Any], dict[str, list[float]]]]
    found = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for r in records:
        values = found[r["metric"], r["dataset"]][r["seed"], r["fold"]][r["method"]]
        if r["value"] is not None:
            values.append(r["value"])
    known_metrics = [metric for metric in dict.fromkeys(metric for metric, _ in found) if metric in CATALOGUE]
    known_methods = list(dict.fromkeys(m for folds in found.values() for row in folds.values() for m in row))
    metrics, methods = _chosen("metrics", metrics, known_metrics), _chosen("methods", methods, known_methods)
    folds = [
        _of_folds(dataset, metric, methods, by_fold)
        for metric in metrics
        for (of_metric, dataset), by_fold in found.items()
        if of_metric == metric
    ]
    return folds if over == "folds" else [_of_datasets(metric, methods, folds) for metric in metrics]


def _chosen(name: str, wanted: Sequence[str] | None, known: Sequence[str]) -> tuple[str, ...]:
    if not known:
        raise ValueError(f"records must hold values of measures, got no {name}.")
    unknown = [value for value in wanted or () if value not in known]
    if unknown:
        raise ValueError(f"{name} must occur in the records, which have {', '.join(known)}, got {', '.join(unknown)}.")
    return tuple(known if wanted is None else wanted)


def _of_folds(
    dataset: str, metric: str, methods: Sequence[str], by_fold: Mapping[tuple[Any, Any], Mapping[str, list[float]]]
) -> PairedValues:
    values = [
        [float(np.mean(row[method])) if row.get(method) else np.nan for method in methods] for row in by_fold.values()
    ]
    per_shuffle = min(Counter(seed for seed, _ in by_fold).values())
    overlap = 1 / (per_shuffle - 1) if per_shuffle > 1 else 0.0
    return PairedValues(dataset, metric, tuple(methods), np.array(values), overlap)


def _of_datasets(metric: str, methods: Sequence[str], folds: Sequence[PairedValues]) -> PairedValues:
    """Return a row for each data set: the means over the folds on which each method has a value."""
    rows = [
        [float(np.mean(column[~np.isnan(column)])) if not np.isnan(column).all() else np.nan for column in of.values.T]
        for of in folds
        if of.metric == metric
    ]
    return PairedValues("all", metric, tuple(methods), np.array(rows))
