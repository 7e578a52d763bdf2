"""Compare the predictions of two methods for single samples; the tests compare means."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from nearlabel.experiments import Record
from nearlabel.metrics import Metric, get_metric
from nearlabel.metrics.evaluation import PER_ROW

_EXACT = "subset_accuracy"


@dataclass(frozen=True)
class ComparedRow:
    """A sample for which one of two methods predicts better.

    Parameters
    ----------
    dataset : str
        Name.
    seed : int or None
        Seed of the shuffle; None for a given split.
    fold, row : int
        Indices from 0; `row` is the sample's row in the data set, or in the test part of a given split.
    better, worse : str
        The methods.
    labels, of_better, of_worse : tuple of str
        The true labels of the sample, and the predictions of the two methods.
    unknown : tuple of str
        Labels that are unknown for the sample.
    value_of_better, value_of_worse : float
        The metric on this sample alone.
    """

    dataset: str
    seed: int | None
    fold: int
    row: int
    better: str
    worse: str
    labels: tuple[str, ...]
    of_better: tuple[str, ...]
    of_worse: tuple[str, ...]
    unknown: tuple[str, ...]
    value_of_better: float
    value_of_worse: float


@dataclass(frozen=True)
class RowComparison:
    """Two methods compared sample by sample.

    Parameters
    ----------
    metric : str
        Name of the metric.
    methods : tuple of str
        Names of the two methods.
    n_rows : int
        Number of test samples that both predicted; with several seeds a sample counts once for each.
    n_better : dict of str to int
        Number of samples on which each method is better than the other.
    rows : tuple of ComparedRow
        These samples: first those on which the first method is better; within each group, largest differences first.
    """

    metric: str
    methods: tuple[str, str]
    n_rows: int
    n_better: dict[str, int]
    rows: tuple[ComparedRow, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists, for JSON."""
        return asdict(self)


def compare_rows(
    records: Iterable[Record],
    methods: Sequence[str] | None = None,
    *,
    metric: str | Metric = _EXACT,
    n_neighbors: int | None = None,
) -> RowComparison:
    """Return the samples for which one method predicts better than another.

    By default these are the samples whose label set one method predicts exactly and the other does not, like the images
    in figure 4 of Zhang and Zhou (2007).

    Parameters
    ----------
    records : iterable of dict
        Records of a `nearlabel.experiments.Plan` with ``per_row=True``; records without label sets of samples are
        ignored.
    methods : sequence of two str, default=None
        Names; None: the two methods in the records.
    metric : str or Metric, default="subset_accuracy"
        A metric of label sets, computed for each sample alone. Where it is undefined, no method is better.
    n_neighbors : int, default=None
        The number of neighbours, for methods that were run with several.

    Returns
    -------
    RowComparison
        Of the samples in the folds for which both methods have predictions.

    Raises
    ------
    ValueError
        If no record has label sets of samples, a method is missing, was run with several numbers of neighbours or not
        with the requested one, the metric needs scores, or the methods have predictions for different samples or no
        common fold.

    References
    ----------
    M.-L. Zhang, Z.-H. Zhou. ML-KNN: a lazy learning approach to multi-label learning. Pattern Recognition 40(7), 2007.

    Examples
    --------
    >>> from nearlabel.comparison import compare_rows
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.experiments import Plan, run
    >>> plan = Plan(("mlknn", "brknn"), (10,), cv=5, metrics=("micro_f1",), per_row=True)
    >>> found = compare_rows(run(plan, [load_multidigits()]))
    >>> found.n_rows, found.n_better
    (2000, {'mlknn': 98, 'brknn': 42})
    """
    judge = get_metric(metric)
    if judge.needs != "prediction":
        raise ValueError(f"metric must be one of label sets, since records contain no scores, got {judge.name}.")
    two, by_fold = _answers(records, methods, n_neighbors)
    rows = [row for fold, tables in by_fold.items() for row in _compared(fold, two, tables, judge)]
    rows.sort(key=lambda row: (two.index(row.better), -abs(row.value_of_better - row.value_of_worse)))
    n_better = {method: sum(row.better == method for row in rows) for method in two}
    n_rows = sum(len(first["row"]) for first, _ in by_fold.values())
    return RowComparison(judge.name, two, n_rows, n_better, tuple(rows))


class _Fold(NamedTuple):
    dataset: str
    seed: int | None
    number: int


# The samples of a fold in a record: indices, true and predicted label sets.
_Table: TypeAlias = Mapping[str, Any]


def _answers(
    records: Iterable[Record], methods: Sequence[str] | None, n_neighbors: int | None
) -> tuple[tuple[str, str], dict[_Fold, tuple[_Table, _Table]]]:
    """Return the two methods, and their tables on each fold for which both have predictions."""
    tables: dict[str, dict[int | None, dict[_Fold, _Table]]] = defaultdict(lambda: defaultdict(dict))
    for r in records:
        if r["metric"] == PER_ROW:
            tables[r["method"]][r["n_neighbors"]][_Fold(r["dataset"], r["seed"], r["fold"])] = r["table"]
    if not tables:
        raise ValueError(
            "results must contain the label sets of samples, got none. Hint: evaluate --per-row --out FOLDER, in Python"
            " Plan(..., per_row=True)."
        )
    names = tuple(tables if methods is None else methods)
    if len(set(names)) != 2 or len(names) != 2 or not set(names) <= set(tables):
        raise ValueError(f"methods must be two of {', '.join(tables)}, got {', '.join(names)}.")
    first, second = (_with_number(method, tables[method], n_neighbors) for method in names)
    shared = {fold: (first[fold], second[fold]) for fold in first if fold in second}
    if not shared:
        raise ValueError(f"methods must share folds, got none in common of {', '.join(names)}.")
    return (names[0], names[1]), shared


def _with_number(
    method: str, by_number: Mapping[int | None, dict[_Fold, _Table]], n_neighbors: int | None
) -> dict[_Fold, _Table]:
    """Return the tables of a method for a number of neighbours, or its only ones."""
    if len(by_number) == 1 and (n_neighbors is None or None in by_number):
        (only,) = by_number.values()
        return only
    if n_neighbors not in by_number:
        known = ", ".join(map(str, by_number))
        raise ValueError(f"n_neighbors must be of those of {method}, {known}, got {n_neighbors}.")
    return by_number[n_neighbors]


def _compared(
    fold: _Fold, methods: tuple[str, str], tables: tuple[_Table, _Table], metric: Metric
) -> Iterator[ComparedRow]:
    """Yield the samples of a fold on which one of the methods is better."""
    first, second = tables
    if any(first.get(what) != second.get(what) for what in ("label", "row", "true", "unknown")):
        raise ValueError(
            f"methods must have predictions for the same samples, got others in fold {fold.number} of {fold.dataset}."
        )
    sign = 1 if metric.greater_is_better else -1
    for place, predicted in enumerate(zip(first["predicted"], second["predicted"], strict=True)):
        if predicted[0] != predicted[1]:
            values = [_value(metric, first, place, labels) for labels in predicted]
            # With a NaN, neither method is better.
            for better, worse in ((0, 1), (1, 0)):
                if sign * values[better] > sign * values[worse]:
                    yield ComparedRow(
                        *fold,
                        row=first["row"][place],
                        better=methods[better],
                        worse=methods[worse],
                        labels=_names(first, first["true"][place]),
                        of_better=_names(first, predicted[better]),
                        of_worse=_names(first, predicted[worse]),
                        unknown=_names(first, first["unknown"][place] if "unknown" in first else []),
                        value_of_better=values[better],
                        value_of_worse=values[worse],
                    )


def _names(table: _Table, labels: Iterable[int]) -> tuple[str, ...]:
    return tuple(table["label"][label] for label in labels)


def _value(metric: Metric, table: _Table, place: int, predicted: Sequence[int]) -> float:
    """Return a metric of one sample alone, for the labels that a method predicts."""
    y_true, y_pred = np.zeros((2, 1, len(table["label"])))
    y_true[0, table["true"][place]] = 1
    y_pred[0, predicted] = 1
    if "unknown" in table:
        y_true[0, table["unknown"][place]] = np.nan
    return metric(y_true, y_pred)
