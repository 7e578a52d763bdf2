"""Pair the results of methods on the same folds, or on the same data sets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from scipy.stats import rankdata

from nearlabel.comparison._results import Results, read_results
from nearlabel.experiments import Record
from nearlabel.metrics import CATALOGUE, get_metric
from nearlabel.metrics.evaluation import EMPTY_PREDICTIONS, PER_LABEL, PER_ROW, WITHOUT_COPIES
from nearlabel.utils.types import FloatArray
from nearlabel.utils.validation import check_choice, each_once

OVER = ("folds", "datasets")

_DECIMALS = 12
ROUNDING = 10.0**-_DECIMALS  # smaller differences are due to the order of summation

# Values of one method on one fold, by number of neighbours.
_ByNumber: TypeAlias = dict[int | None, float]


@dataclass(frozen=True, eq=False)
class PairedValues:
    """The values of one metric for several methods on the same folds or data sets.

    Parameters
    ----------
    dataset : str
        Name, or "all" if the rows are data sets.
    metric : str
        Name of the metric.
    methods : tuple of str
        The columns.
    values : ndarray of shape (n_pairs, n_methods)
        NaN where the metric is undefined.
    overlap : float, default=0.0
        Number of test samples divided by the number of training samples, if the rows are folds with overlapping
        training sets; 0 if the rows are independent.
    greater_is_better : bool, default=None
        The direction of the metric. None: the direction in `nearlabel.metrics.CATALOGUE`.
    """

    dataset: str
    metric: str
    methods: tuple[str, ...]
    values: FloatArray
    overlap: float = 0.0
    greater_is_better: bool | None = None

    def difference(self, first: str, second: str) -> FloatArray:
        """Return the differences, first method minus second, on the rows where both have a value."""
        of_first, of_second = (self.values[:, self.methods.index(method)] for method in (first, second))
        difference = rounded(of_first - of_second)
        return difference[~np.isnan(difference)]

    def complete(self) -> PairedValues:
        """Return the methods that have values, on the rows where all of them have one."""
        known = np.flatnonzero(~np.isnan(self.values).all(axis=0))
        values = rounded(self.values[:, known])
        methods = tuple(self.methods[column] for column in known)
        return replace(self, methods=methods, values=values[~np.isnan(values).any(axis=1)])

    @property
    def sign(self) -> int:
        """1 if a greater value is better, else -1."""
        known = self.greater_is_better
        return 1 if (get_metric(self.metric).greater_is_better if known is None else known) else -1

    def ranks(self) -> FloatArray:
        """Return the rank of each method on each row, 1 for the best; equal values share their mean rank."""
        return np.asarray(rankdata(-self.sign * rounded(self.values), axis=1))


def rounded(values: FloatArray) -> FloatArray:
    """Return values without the digits that depend on the order of summation."""
    return np.asarray(np.round(values, _DECIMALS))


def paired_values(
    results: Results,
    over: str,
    metrics: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    greater_is_better: Mapping[str, bool] | None = None,
) -> list[PairedValues]:
    """Return the paired values of each metric over the folds of each data set, or over the data sets.

    Parameters
    ----------
    results : path, DataFrame, list of dict, or list of these
        As in `read_results`. If methods have several numbers of neighbours, the mean on each fold is taken over the
        numbers for which all these methods have a value.
    over : {"folds", "datasets"}
        The rows: "folds" gives one table per data set with a row per fold; "datasets" gives a row per data set, with
        the means over the folds on which all methods of that data set have a value.
    metrics, methods : sequence of str, default=None
        Names, in the desired order; None: all names in the results. "empty_predictions" is left out, since it has no
        direction.
    greater_is_better : mapping of str to bool, default=None
        The direction of metrics that are neither in `nearlabel.metrics.CATALOGUE` nor have the column
        greater_is_better.

    Returns
    -------
    list of PairedValues
        The overlap of folds is 1 / (k - 1), where k is the highest fold number plus 1.

    Raises
    ------
    ValueError
        If there are no values, a metric or method is missing or named twice, the direction of a metric is unknown or
        contradictory, or methods were run with different numbers of neighbours.

    Examples
    --------
    >>> from nearlabel.comparison import paired_values
    >>> record = {"dataset": "emotions", "metric": "hamming_loss"}
    >>> results = [record | {"fold": i, "method": m, "value": i / 10} for i in (0, 1) for m in ("knn", "svm")]
    >>> paired_values(results, "folds")[0].values
    array([[0. , 0. ],
           [0.1, 0.1]])
    """
    return pair_records(read_results(results), over, metrics, methods, greater_is_better)


def pair_records(
    records: Sequence[Record],
    over: str,
    metrics: Sequence[str] | None,
    methods: Sequence[str] | None,
    greater_is_better: Mapping[str, bool] | None,
) -> list[PairedValues]:
    """Return the paired values of checked records."""
    check_choice("over", over, OVER)
    found: Mapping[tuple[str, str], dict[tuple[Any, Any], dict[str, _ByNumber]]]
    found = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    for r in records:
        of_method = found[r["metric"], r["dataset"]][r["seed"], r["fold"]][r["method"]]
        if r["value"] is not None:
            of_method[r["n_neighbors"]] = r["value"]
    metrics = _chosen("metrics", metrics, [r["metric"] for r in records if _is_judged(r["metric"], metrics or ())])
    methods = _chosen("methods", methods, [r["method"] for r in records])
    directions = metric_directions(metrics, records, greater_is_better or {})
    folds = [
        _of_folds(dataset, metric, directions[metric], methods, by_fold)
        for metric in metrics
        for (of_metric, dataset), by_fold in found.items()
        if of_metric == metric
    ]
    return folds if over == "folds" else [_of_datasets([t for t in folds if t.metric == metric]) for metric in metrics]


def _is_judged(metric: str, wanted: Sequence[str]) -> bool:
    """Return whether to compare a metric; variants without copies only on request, since they would count twice."""
    known = metric in wanted or not metric.endswith(WITHOUT_COPIES)
    return metric not in (EMPTY_PREDICTIONS, PER_LABEL, PER_ROW) and known


def _chosen(name: str, wanted: Sequence[str] | None, found: Iterable[str]) -> tuple[str, ...]:
    """Return the requested names, or all names that occur."""
    known = tuple(dict.fromkeys(found))
    if not known:
        raise ValueError("results must contain values of metrics that are better or worse, got none.")
    chosen: tuple[str, ...] = known if wanted is None else each_once(name, wanted)
    unknown = [value for value in chosen if value not in known]
    if unknown:
        raise ValueError(f"{name} must be of those in the results, {', '.join(known)}, got {', '.join(unknown)}.")
    return chosen


def _of_folds(
    dataset: str,
    metric: str,
    greater_is_better: bool,
    methods: tuple[str, ...],
    by_fold: Mapping[tuple[int | None, int], Mapping[str, _ByNumber]],
) -> PairedValues:
    _check_same_numbers(dataset, metric, methods, list(by_fold.values()))
    values = np.array([_means(methods, row) for row in by_fold.values()])
    n_folds = 1 + max((fold for seed, fold in by_fold if seed is not None), default=0)  # a given split has no seed
    overlap = 1 / (n_folds - 1) if n_folds > 1 else 0.0
    return PairedValues(dataset, metric, methods, values, overlap, greater_is_better)


def _check_same_numbers(
    dataset: str, metric: str, methods: Sequence[str], rows: Sequence[Mapping[str, _ByNumber]]
) -> None:
    """Raise an error unless all methods with numbers of neighbours have the same numbers."""
    numbers = {method: frozenset(k for row in rows for k in row.get(method, {}) if k is not None) for method in methods}
    different = {some: method for method, some in numbers.items() if some}
    if len(different) > 1:
        each = "; ".join(f"{method} {sorted(some)}" for some, method in different.items())
        raise ValueError(f"n_neighbors must be the same for all methods on {dataset} ({metric}), got {each}.")


def _means(methods: Sequence[str], row: Mapping[str, _ByNumber]) -> list[float]:
    """Return the value of each method on a fold, the mean over the common numbers of neighbours."""
    with_numbers = [set(row[method]) for method in methods if row.get(method) and None not in row[method]]
    common: set[int | None] = set.intersection(*with_numbers) if with_numbers else set()
    means = []
    for method in methods:
        values = [value for k, value in row.get(method, {}).items() if k is None or k in common]
        means.append(float(np.mean(values)) if values else np.nan)
    return means


def _of_datasets(tables: Sequence[PairedValues]) -> PairedValues:
    """Return a row per data set: the means over the folds on which every method of that data set has a value."""
    rows = []
    for values in (table.values for table in tables):
        seen = ~np.isnan(values)
        common = seen[:, seen.any(axis=0)].all(axis=1) & seen.any()
        rows.append(values[common].mean(axis=0) if common.any() else np.full(values.shape[1], np.nan))
    return replace(tables[0], dataset="all", values=np.array(rows), overlap=0.0)


# Determine for each metric whether greater values are better.


def metric_directions(metrics: Iterable[str], records: Iterable[Record], given: Mapping[str, bool]) -> dict[str, bool]:
    """Return, for each metric, whether greater is better, from the catalogue, the records or the argument.

    Raises
    ------
    ValueError
        If none of the three defines the direction of a metric, or two contradict each other.
    """
    known = {name: (metric.greater_is_better, "the catalogue") for name, metric in CATALOGUE.items()}
    said = [(r["metric"], r["greater_is_better"], "the results") for r in records if "greater_is_better" in r]
    for name, direction, source in [*said, *((name, given[name], "greater_is_better") for name in given)]:
        if direction is None:
            continue
        before, by = known.setdefault(name, (direction, source))
        if before != direction:
            raise ValueError(f"{name}: greater_is_better must be {before}, as in {by}, got {direction} in {source}.")
    directions = {}
    for name in metrics:
        if name not in known:
            raise ValueError(
                f"greater_is_better must be known of every metric, got none for {name}. Hint: --lower-is-better {name},"
                f" in Python greater_is_better={{{name!r}: False}}, or a column greater_is_better; to leave {name} out,"
                " name the metrics to compare."
            )
        directions[name] = known[name][0]
    return directions
