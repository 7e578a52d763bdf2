"""Means of records over folds, for tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearlabel.experiments._record_lines import COUNTS_OF_LABELS, FIGURES_OF_LABELS, Record
from nearlabel.labels import known_counts
from nearlabel.metrics import label_table
from nearlabel.metrics.counts import Counts, ratios_of_labels
from nearlabel.metrics.evaluation import PER_LABEL
from nearlabel.utils.tables import ShownList
from nearlabel.utils.targets import has_unknown
from nearlabel.utils.types import FloatArray, IntArray, Matrix


@dataclass(frozen=True)
class Cell:
    """A mean over folds, for one cell of a table.

    Parameters
    ----------
    dataset, method : str
        Names, as in the records.
    n_neighbors : int, "mean" or None
        Number of neighbours; "mean" for the mean over all of them, None if the method has no such number.
    metric : str
        Name of the metric.
    mean : float
        Mean over the folds of a shuffle, then over the shuffles.
    std : float
        Standard deviation over the folds of a shuffle (n - 1), averaged over the shuffles; nan for a single fold.
    spread : float
        Standard deviation of the shuffles' means (n - 1); nan for a single shuffle.
    """

    dataset: str
    method: str
    n_neighbors: int | str | None
    metric: str
    mean: float
    std: float
    spread: float


def summarise(records: Iterable[Record]) -> list[Cell]:
    """Return a cell for each data set, method, number of neighbours and metric, and for the mean over the numbers.

    Data sets and methods are in the order of the records, and numbers of neighbours ascend. The mean over them comes
    last and has ``n_neighbors="mean"``: in each fold the values of all numbers of neighbours are averaged first, as in
    Tables 2 and 3 of Spyromitros et al. (2008). A value that is None (a metric undefined on that fold) is left out.

    Examples
    --------
    >>> from nearlabel.experiments import summarise
    >>> record = {"dataset": "toy", "seed": 0, "method": "brknn", "n_neighbors": 3, "metric": "hamming_loss"}
    >>> cells = summarise([record | {"fold": 0, "value": 0.25}, record | {"fold": 1, "value": 0.75}])
    >>> [(cell.n_neighbors, cell.mean) for cell in cells]
    [(3, 0.5), ('mean', 0.5)]
    """
    values: dict[tuple[str, str, int | str | None, str], dict[tuple[int | None, int], list[float]]]
    values = defaultdict(lambda: defaultdict(list))
    for r in records:
        numbers = (None,) if r["n_neighbors"] is None else (r["n_neighbors"], "mean")
        for k in numbers if r["value"] is not None else ():
            values[r["dataset"], r["method"], k, r["metric"]][r["seed"], r["fold"]].append(r["value"])
    pairs = {pair: place for place, pair in enumerate(dict.fromkeys(key[:2] for key in values))}
    order = sorted(values, key=lambda key: (pairs[key[:2]], *_place(key[2])))
    columns = ("dataset", "method", "n_neighbors", "metric", "mean", "std")
    return ShownList((_cell(key, values[key]) for key in order), columns, "cells")


def _place(n_neighbors: int | str | None) -> tuple[bool, int]:
    """Return a sort key of numbers of neighbours, with the mean last."""
    return isinstance(n_neighbors, str), n_neighbors if isinstance(n_neighbors, int) else 0


def _cell(key: tuple[str, str, int | str | None, str], by_fold: dict[tuple[int | None, int], list[float]]) -> Cell:
    shuffles: dict[int | None, list[float]] = defaultdict(list)
    for (seed, _), of_fold in by_fold.items():
        shuffles[seed].append(float(np.mean(of_fold)))
    means = [float(np.mean(folds)) for folds in shuffles.values()]
    deviation = float(np.mean([_deviation(folds) for folds in shuffles.values()]))
    return Cell(*key, mean=float(np.mean(means)), std=deviation, spread=_deviation(means))


def _deviation(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


# Metrics of each label over the folds of a run, recorded as tables per fold and then combined.
#
# There are several ways to average over folds (Forman and Scholz 2010). Here counts are summed over the folds, and
# precision, recall and F1 are computed from the sums, since a rare label has no positives in many folds, where these
# ratios are not informative. Areas are means over the folds in which the label has both classes: scores of different
# models must not be ranked together. Losses are means over all samples.


def table_of_fold(label_names: Iterable[str], truth: Matrix, labels: Matrix, scores: Matrix) -> dict[str, Any]:
    """Return the metrics of each label on the test samples of a fold as lists; undefined values are None.

    If some labels are unknown, a label's metrics are computed on the samples in which it is known; the table has their
    number.
    """
    table = label_table(truth, labels, scores)
    figures = {name: [None if np.isnan(cell) else cell for cell in table[name].tolist()] for name in FIGURES_OF_LABELS}
    known = {"known_rows": known_counts(truth).tolist()} if has_unknown(truth) else {}
    return {"rows": int(truth.shape[0]), "label": list(label_names)} | known | figures


def summarise_labels(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Return the metrics of each label over all folds, for each data set, method and number of neighbours.

    Parameters
    ----------
    records : iterable of dict
        Records of a `Plan` with ``per_label=True``; other records are ignored.

    Returns
    -------
    list of dict
        For each label: dataset, method, n_neighbors, label and these metrics, with nan for undefined values:

        - support, true_positives, false_positives, false_negatives: sums over the folds;
        - precision, recall, f1: computed from these sums;
        - roc_auc, average_precision: means over the folds in which the label has both classes;
        - log_loss, brier_score: means over the test samples in which the label is known; nan unless all scores are in
          [0, 1];
        - folds, skipped_folds: number of folds, and of those in which the known values of the label have one class.

    References
    ----------
    Forman, Scholz: Apples-to-apples in cross-validation studies: pitfalls in classifier performance measurement.
    SIGKDD Explorations 12(1), 2010.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.experiments import Plan, run, summarise_labels
    >>> plan = Plan(("brknn",), (5,), cv=2, metrics=("micro_f1",), per_label=True)
    >>> rows = summarise_labels(run(plan, [load_multidigits()]))
    >>> rows[0]["label"], rows[0]["support"], round(rows[0]["f1"], 2)
    ('0', 612, 0.78)
    """
    found: dict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for r in records:
        if r["metric"] == PER_LABEL:
            found[r["dataset"], r["method"], r["n_neighbors"]].append(r["table"])
    rows = []
    for key, tables in found.items():
        _check_same_labels(key, tables)
        columns = {"label": tables[0]["label"]} | {name: of.tolist() for name, of in _over_folds(tables).items()}
        of_run = dict(zip(("dataset", "method", "n_neighbors"), key, strict=True))
        rows += [of_run | dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return rows


def _check_same_labels(key: tuple[Any, ...], tables: list[Mapping[str, Any]]) -> None:
    """Raise ValueError unless the tables of the folds have the same labels."""
    names = tables[0]["label"]
    for table in tables:
        if table["label"] != names:
            dataset, method, _ = key
            raise ValueError(
                f"records must have the same labels in each fold, got others in a fold of {dataset} by {method}."
            )


def _over_folds(tables: list[Mapping[str, Any]]) -> dict[str, NDArray[Any]]:
    """Return the metrics over folds, arrays (n_labels,), from the tables of one method."""
    folds = {name: np.array([table[name] for table in tables], dtype=np.float64) for name in FIGURES_OF_LABELS}
    sums = {name: folds[name].sum(axis=0).astype(np.int64) for name in COUNTS_OF_LABELS}
    n_labels = len(tables[0]["label"])
    sizes = np.array([table.get("known_rows", [table["rows"]] * n_labels) for table in tables])
    hits, wrong = sums["true_positives"], sums["false_positives"]
    counts = Counts(hits, hits + wrong, sums["support"], sum(table["rows"] for table in tables))
    has_one_class = (folds["support"] == 0) | (folds["support"] == sizes)
    return {
        **sums,
        **ratios_of_labels(counts, np.nan),
        **{name: _mean_of_defined(folds[name]) for name in ("roc_auc", "average_precision")},
        **{name: _mean_over_rows(folds[name], sizes) for name in ("log_loss", "brier_score")},
        "folds": np.full(len(hits), len(tables)),
        "skipped_folds": has_one_class.sum(axis=0),
    }


def _mean_over_rows(values: FloatArray, sizes: IntArray) -> FloatArray:
    """Return the means over the first axis of values that are means over given numbers of rows; nan without rows."""
    totals = sizes.sum(axis=0)
    means: FloatArray = np.full(values.shape[1], np.nan)
    np.divide((np.where(sizes > 0, values, 0) * sizes).sum(axis=0), totals, out=means, where=totals > 0)
    return means


def _mean_of_defined(values: FloatArray) -> FloatArray:
    """Return the means over the first axis, ignoring nan; nan if all values are nan, without a warning."""
    defined = ~np.isnan(values)
    n_defined = defined.sum(axis=0)
    means: FloatArray = np.full(values.shape[1], np.nan)
    np.divide(np.where(defined, values, 0).sum(axis=0), n_defined, out=means, where=n_defined > 0)
    return means
