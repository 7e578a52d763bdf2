"""Records to paired values: what methods reached on the same folds, or on the same data sets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from nearlabel.experiments.records import Record
from nearlabel.metrics import CATALOGUE, get_metric
from nearlabel.utils.types import FloatArray
from nearlabel.utils.validation import check_choice, each_once

OVER = ("folds", "datasets")

_DECIMALS = 12
ROUNDING = 10.0**-_DECIMALS  # what the order of a sum may change is no difference

# Values of one method on one fold, by the number of neighbours.
_ByNumber: TypeAlias = dict[int | None, float]


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
        difference = rounded(of_first - of_second)
        return difference[~np.isnan(difference)]

    def complete(self) -> PairedValues:
        """Return the methods that have any value, on the rows where all of these have one."""
        known = np.flatnonzero(~np.isnan(self.values).all(axis=0))
        values = rounded(self.values[:, known])
        methods = tuple(self.methods[column] for column in known)
        return replace(self, methods=methods, values=values[~np.isnan(values).any(axis=1)])

    @property
    def sign(self) -> int:
        """1 if a greater value is better, else -1."""
        return 1 if get_metric(self.metric).greater_is_better else -1


def rounded(values: FloatArray) -> FloatArray:
    """Return values without what the order of a sum may change."""
    return np.asarray(np.round(values, _DECIMALS))


def paired_values(
    records: Iterable[Record], over: str, metrics: Sequence[str] | None = None, methods: Sequence[str] | None = None
) -> list[PairedValues]:
    """Return the paired values of each measure: over the folds of each data set, or over the data sets.

    Parameters
    ----------
    records : iterable of dict
        As `run` gives them. Of a method with several numbers of neighbours the mean over them is taken, fold by fold,
        over those with which all such methods have a value.
    over : {"folds", "datasets"}
        What is a row: a fold, one table for each data set; or a data set, with the means of its folds, those on which
        all methods that occur there have a value.
    metrics, methods : sequence of str, default=None
        Which, in their order; None: all that occur. What is counted of predictions alone ("empty_predictions") is
        neither good nor bad, and is left out.

    Returns
    -------
    list of PairedValues
        The overlap of folds is 1 / (k - 1), k being the highest number of a fold plus 1.

    Raises
    ------
    ValueError
        If there is no value, a metric or method does not occur or comes twice, or methods were run with different
        numbers of neighbours.
    """
    check_choice("over", over, OVER)
    found: Mapping[tuple[str, str], dict[tuple[Any, Any], dict[str, _ByNumber]]]
    found = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    for r in records:
        of_method = found[r["metric"], r["dataset"]][r["seed"], r["fold"]][r["method"]]
        if r["value"] is not None:
            of_method[r.get("n_neighbors")] = r["value"]
    known_methods = dict.fromkeys(method for folds in found.values() for row in folds.values() for method in row)
    metrics = _chosen("metrics", metrics, dict.fromkeys(metric for metric, _ in found))
    methods = _chosen("methods", methods, known_methods)
    folds = [
        _of_folds(dataset, metric, methods, list(by_fold), list(by_fold.values()))
        for metric in metrics
        for (of_metric, dataset), by_fold in found.items()
        if of_metric == metric
    ]
    return folds if over == "folds" else [_of_datasets(metric, methods, folds) for metric in metrics]


def _chosen(name: str, wanted: Sequence[str] | None, known: Iterable[str]) -> tuple[str, ...]:
    """Return the names that are wanted, or all; of metrics those with a better and a worse."""
    judged = [value for value in known if name != "metrics" or value in CATALOGUE]
    if not judged:
        raise ValueError(
            f"records must hold values of measures that are better or worse, got {', '.join(known) or 'none'}."
        )
    chosen: tuple[str, ...] = tuple(judged) if wanted is None else each_once(name, wanted)
    unknown = [value for value in chosen if value not in judged]
    if unknown:
        raise ValueError(f"{name} must be of those in the records, {', '.join(judged)}, got {', '.join(unknown)}.")
    return chosen


def _of_folds(
    dataset: str,
    metric: str,
    methods: Sequence[str],
    folds: Sequence[tuple[int | None, int]],
    rows: Sequence[Mapping[str, _ByNumber]],
) -> PairedValues:
    _check_same_numbers(dataset, metric, methods, rows)
    values = np.array([_means(methods, row) for row in rows])
    n_folds = 1 + max((fold for seed, fold in folds if seed is not None), default=0)  # a given split has no seed
    return PairedValues(dataset, metric, tuple(methods), values, 1 / (n_folds - 1) if n_folds > 1 else 0.0)


def _check_same_numbers(
    dataset: str, metric: str, methods: Sequence[str], rows: Sequence[Mapping[str, _ByNumber]]
) -> None:
    """Raise unless all methods that have numbers of neighbours have the same."""
    numbers = {method: frozenset(k for row in rows for k in row.get(method, {}) if k is not None) for method in methods}
    different = {some: method for method, some in numbers.items() if some}
    if len(different) > 1:
        each = "; ".join(f"{method} {sorted(some)}" for some, method in different.items())
        raise ValueError(f"n_neighbors must be the same for all methods on {dataset} ({metric}), got {each}.")


def _means(methods: Sequence[str], row: Mapping[str, _ByNumber]) -> list[float]:
    """Return the value of each method on a fold, the mean over the numbers of neighbours that all have in common."""
    with_numbers = [set(row[method]) for method in methods if row.get(method) and None not in row[method]]
    common: set[int | None] = set.intersection(*with_numbers) if with_numbers else set()
    means = []
    for method in methods:
        values = [value for k, value in row.get(method, {}).items() if k is None or k in common]
        means.append(float(np.mean(values)) if values else np.nan)
    return means


def _of_datasets(metric: str, methods: Sequence[str], folds: Sequence[PairedValues]) -> PairedValues:
    """Return a row for each data set: the means over the folds on which every method of that data set has a value."""
    rows = []
    for values in (of.values for of in folds if of.metric == metric):
        seen = ~np.isnan(values)
        common = seen[:, seen.any(axis=0)].all(axis=1) & seen.any()
        rows.append(values[common].mean(axis=0) if common.any() else np.full(len(methods), np.nan))
    return PairedValues("all", metric, tuple(methods), np.array(rows))
