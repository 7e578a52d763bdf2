"""Print metrics: of methods on data sets, of predictions, and of labels; and panels over k."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from operator import attrgetter
from typing import Any, TypeAlias

import nearlabel
from nearlabel.cli import _console, _imports, _model

# Text, since the help page loads no room.
Cells: TypeAlias = "Sequence[nearlabel.experiments.Cell]"

_USUAL = (  # the columns of a table, as far as there is room
    "hamming_loss", "subset_accuracy", "micro_f1", "average_precision", "jaccard_examples", "macro_f1", "one_error",
    "ranking_loss",
)  # fmt: skip


def directions_of(records: Iterable[nearlabel.experiments.Record]) -> dict[str, bool]:
    """Return for each metric whether greater is better: from the catalogue, or for other metrics from their records."""
    known = {name: metric.greater_is_better for name, metric in nearlabel.metrics.CATALOGUE.items()}
    return known | {r["metric"]: r["greater_is_better"] for r in records if "greater_is_better" in r}


def show(cells: Cells, format_: str, directions: Mapping[str, bool] | None = None, *, every: bool = False) -> None:
    """Print the cells in a format; `directions` is whether greater is better, by metric.

    A table starts with the usual metrics; metrics that do not fit are printed only if `every` metric is wanted.
    """
    show_each(cells, format_, partial(_print_dataset, directions=directions or directions_of(()), every=every))


def show_each(
    figures: Sequence[Any], format_: str, print_dataset: Callable[[_console.Page, str, Sequence[Any]], None]
) -> None:
    """Print dataclasses in a format; as tables, one for each data set."""
    if format_ == "json":
        _console.print_json([asdict(each) for each in figures])
    elif format_ == "csv":
        _console.print_csv([asdict(each) for each in figures])
    else:
        for dataset in dict.fromkeys(each.dataset for each in figures):
            print_dataset(_console.PAGES[format_], dataset, [each for each in figures if each.dataset == dataset])


def panels(cells: Cells, metrics: Sequence[str]) -> nearlabel.plots.NeighborsPanelsDisplay:
    """Return a panel for each metric with each method's means over the number of neighbours."""
    lines: dict[str, dict[str, dict[int, float]]] = {}
    for metric in metrics:
        better = "higher" if nearlabel.metrics.CATALOGUE[metric].greater_is_better else "lower"
        heading = f"{nearlabel.metrics.evaluation.title_of(metric)} ({better} is better)"
        for cell in cells:
            if cell.metric == metric and isinstance(cell.n_neighbors, int):
                lines.setdefault(heading, {}).setdefault(cell.method, {})[cell.n_neighbors] = cell.mean
    drawn = {heading: curves(of_methods) for heading, of_methods in lines.items()}
    return nearlabel.plots.NeighborsPanelsDisplay(drawn)


def curves(series: Mapping[str, Mapping[int, float]]) -> list[nearlabel.plots.NeighborsCurveDisplay]:
    """Return a line for each name, from its values by number of neighbours."""
    display = nearlabel.plots.NeighborsCurveDisplay
    return [display(list(of), list(of.values()), name=name) for name, of in series.items()]


def print_order(page: _console.Page, order: nearlabel.comparison.Order, heading: str, *, every: bool = False) -> None:
    """Print the significant wins minus losses of each method, best first."""
    by_metric = order.by_metric()
    metrics = _ordered(by_metric, every=every)
    cells = {
        method: (f"{n:+d}", *(f"{by_metric[m][method]:+d}" for m in metrics)) for method, n in order.scores.items()
    }
    titles = map(nearlabel.metrics.evaluation.title_of, metrics)
    _console.print_method_tables(page, [_console.MethodTable(heading, cells)], ("total", *titles), every=every)


def _ordered(metrics: Iterable[str], *, every: bool) -> list[str]:
    """Return metrics in the order of their columns: as given, or the usual ones first if some may not fit."""
    metrics = list(dict.fromkeys(metrics))
    return metrics if every else sorted(metrics, key=lambda name: _USUAL.index(name) if name in _USUAL else len(_USUAL))


def _print_dataset(
    page: _console.Page, dataset: str, cells: Cells, directions: Mapping[str, bool], *, every: bool
) -> None:
    """Print the means of each method and, over several k, its best ones."""
    metrics = _ordered((cell.metric for cell in cells), every=every)
    numbers = sorted({cell.n_neighbors for cell in cells if isinstance(cell.n_neighbors, int)})
    of_metrics = [([cell for cell in cells if cell.metric == metric], directions.get(metric)) for metric in metrics]
    means = [_means(*each) for each in of_metrics]
    at = f"k = {_shown(numbers)}" if numbers else ""
    over = "mean over k" if len(numbers) > 1 else "mean ± deviation over folds" if _deviation(cells[0]) else ""
    title = f"{dataset}: {', '.join(filter(None, (at, over))) or 'one fold'}; * is best"
    tables = [_method_table(title, cells, means)]
    if len(numbers) > 1:
        best = [_best(*each) for each in of_metrics]
        tables.append(_method_table(f"{dataset}: each method's best k on these test folds", cells, best))
    arrows = {True: " ↑", False: " ↓", None: ""}
    headings = [nearlabel.metrics.evaluation.title_of(m) + arrows[directions.get(m)] for m in metrics]
    n_left_out = _console.print_method_tables(page, tables, headings, every=every)
    if n_left_out:
        s = "" if n_left_out == 1 else "s"
        page.print_text(f"{n_left_out} more metric{s}: use a wider terminal or --format csv.")


def _method_table(title: str, cells: Cells, columns: Sequence[Mapping[str, str]]) -> _console.MethodTable:
    """Return the table of columns, each a text by method; methods without any text are left out."""
    methods = dict.fromkeys(cell.method for cell in cells)
    rows = {method: [column.get(method, "") for column in columns] for method in methods}
    return _console.MethodTable(title, {method: row for method, row in rows.items() if any(row)})


def _means(cells: Cells, greater_is_better: bool | None) -> dict[str, str]:
    """Return, by method, the mean of one metric over folds (and over k if there are several); a star marks the best."""
    means = {cell.method: cell for cell in cells if not isinstance(cell.n_neighbors, int)}  # or of a method without k
    several = len({cell.n_neighbors for cell in cells if isinstance(cell.n_neighbors, int)}) > 1
    best = None  # a count of the predictions is neither good nor bad
    if greater_is_better is not None:
        best = (max if greater_is_better else min)(cell.mean for cell in means.values())
    return {
        method: f"{cell.mean:.4f}{'' if several else _deviation(cell)}{'*' if cell.mean == best else ' '}"
        for method, cell in means.items()
    }


def _best(cells: Cells, greater_is_better: bool | None) -> dict[str, str]:
    """Return by method the best value of one metric over the numbers of neighbours, and where."""
    if greater_is_better is None:
        return {}
    best: dict[str, nearlabel.experiments.Cell] = {}
    for cell in cells:
        if isinstance(cell.n_neighbors, int):
            better = max if greater_is_better else min
            best[cell.method] = better(best.get(cell.method, cell), cell, key=attrgetter("mean"))
    return {method: f"{cell.mean:.4f} (k={cell.n_neighbors})" for method, cell in best.items()}


def print_skipped(page: _console.Page, records: Iterable[nearlabel.experiments.Record]) -> None:
    """Print which means are not over all labels or rows of a fold."""
    most: dict[str, int] = {}
    for record in records:
        if "skipped" in record:
            most[record["metric"]] = max(most.get(record["metric"], 0), record["skipped"])
    for metric, n in most.items():
        over_labels = nearlabel.metrics.evaluation.is_mean_over_labels(metric)
        what = "labels without a known value" if over_labels else "labels or rows with one class"
        page.print_text(
            f"{nearlabel.metrics.evaluation.title_of(metric)}: {what} in a test fold are left out"
            f" (at most {n} in a fold)."
        )


def print_costs(page: _console.Page, dataset: str, costs: Sequence[nearlabel.experiments.SearchCost]) -> None:
    """Print a table for each metric with a line for each method and search, the mean over the numbers of neighbours."""
    numbers = sorted({cost.n_neighbors for cost in costs if isinstance(cost.n_neighbors, int)})
    at = f"@{numbers[0]}" if len(numbers) == 1 else ""
    headers = ("exact", "searched", "difference", f"recall{at}", "s, exact", "s, searched")
    over = f"k = {_shown(numbers)}, mean over folds{'' if at else ' and k'}; seconds of search a fold"
    for metric in dict.fromkeys(cost.metric for cost in costs):
        cells = {
            f"{cost.method}, {cost.search}": (
                f"{cost.exact:.4f}", f"{cost.value:.4f}", f"{cost.difference + 0.0:+.4f}", f"{cost.recall:.4f}",
                f"{cost.exact_seconds:.3f}", f"{cost.seconds:.3f}",
            )
            for cost in costs
            if cost.metric == metric and not isinstance(cost.n_neighbors, int)
        }  # fmt: skip
        title = f"{dataset}, {nearlabel.metrics.evaluation.title_of(metric)}: {over}"
        table = _console.MethodTable(title, cells, of="method, search")
        _console.print_method_tables(page, [table], headers, every=True)


def _shown(numbers: Sequence[int]) -> str:
    """Return ``1..30`` for a whole range, else the numbers."""
    whole_range = len(numbers) > 1 and list(numbers) == list(range(numbers[0], numbers[-1] + 1))
    return f"{numbers[0]}..{numbers[-1]}" if whole_range else ", ".join(map(str, numbers))


def _deviation(cell: nearlabel.experiments.Cell) -> str:
    return "" if math.isnan(cell.std) else f"±{cell.std:.4f}"


# Metrics of predictions, for all labels and for each: ``predict --score``.


def read_metrics(arguments: argparse.Namespace) -> list[nearlabel.metrics.Metric]:
    """Return the metrics to compute, none without --score."""
    if not arguments.score:
        return []
    if arguments.metrics is None:
        return [*nearlabel.metrics.CATALOGUE.values()]
    return [nearlabel.experiments.make_metric(_imports.metric(name)) for name in arguments.metrics]


def print_scored(
    arguments: argparse.Namespace,
    metrics: Sequence[nearlabel.metrics.Metric],
    truth: Any,
    labels: Any,
    scores: Any,
    model: _model.OpenModel,
) -> None:
    """Print the metrics of predictions for rows whose label sets are known, in the format of the arguments."""
    names = model.label_names
    propensities = propensities_of(arguments, metrics, model)
    values = nearlabel.metrics.score_all(truth, labels, scores, metrics, propensities=propensities)
    skipped = nearlabel.metrics.evaluation.skipped_lines(truth, metrics)
    if arguments.format == "json":
        rows = _rows(truth, labels, scores, names)
        _console.print_json({"rows": len(labels), "metrics": values, "skipped": skipped, "per_label": rows})
        return
    _console.print_notes(_notes(skipped))
    if arguments.format == "csv":
        each = [{"metric": name, "value": value} for name, value in values.items()]
        _console.print_csv(_rows(truth, labels, scores, names) if arguments.per_label else each)
        return
    title = {metric.name: metric.title for metric in metrics}
    lines = [(title[name], text_of(value)) for name, value in values.items()]
    _console.print_table(f"Metrics on {len(labels)} rows", ("metric", "value"), lines)
    if arguments.per_label:
        print_labels(_console.SCREEN, {"Labels": _rows(truth, labels, scores, names)})


def propensities_of(
    arguments: argparse.Namespace, metrics: Sequence[nearlabel.metrics.Metric], model: _model.OpenModel
) -> Any:
    """Return the propensities of labels by the model's training data, if a metric needs them.

    Raises
    ------
    ValueError
        If the card of the model does not contain them.
    """
    needing = [metric.name for metric in metrics if nearlabel.metrics.catalogue.needs_propensities(metric)]
    if not needing:
        return None
    data = model.card.data
    if data.label_counts is None or data.rows is None:
        raise ValueError(
            f"{arguments.model} must contain the number of training samples of each label, for {needing[0]}, got a card"
            " without label_counts. Hint: save_model(..., data=data), or fit again."
        )
    return nearlabel.metrics.top_k.propensities_of_counts(data.label_counts, data.rows)


def _rows(truth: Any, labels: Any, scores: Any, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the metrics of each label, with its name."""
    columns = {name: of.tolist() for name, of in nearlabel.metrics.label_table(truth, labels, scores).items()}
    columns["label"] = list(names)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _notes(skipped: Mapping[str, int]) -> list[str]:
    """Return notes on which means are not over all labels or rows."""
    of = {name: "rows" if "average=samples" in name else "labels" for name in skipped}
    why = ("that have one class", "without a known value")
    return [
        f"{name} leaves out {n} {of[name]} {why[nearlabel.metrics.evaluation.is_mean_over_labels(name)]} here."
        for name, n in skipped.items()
    ]


# Tables of labels: what ``predict --score --per-label`` and ``evaluate --per-label`` print.

_HEADERS = {  # columns, the most informative first: the last ones may not fit
    "support": "rows", "precision": "precision", "recall": "recall", "f1": "F1", "roc_auc": "ROC-AUC",
    "average_precision": "average precision", "true_positives": "true positives", "false_positives": "false positives",
    "false_negatives": "false negatives", "log_loss": "log loss", "brier_score": "Brier score",
}  # fmt: skip


def print_labels(page: _console.Page, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Print tables of labels by their titles, with as many columns as there is room for in each."""
    printed = [
        _console.MethodTable(title, {row["label"]: [text_of(row[name]) for name in _HEADERS] for row in rows}, "label")
        for title, rows in tables.items()
    ]
    n_left_out = _console.print_method_tables(page, printed, [*_HEADERS.values()], every=False)
    if n_left_out:
        page.print_text(f"{n_left_out} more columns: use a wider terminal or --format csv.")


def text_of(value: float) -> str:
    """Return a figure, or a dash if it is undefined."""
    if isinstance(value, int):
        return str(value)
    return "–" if math.isnan(value) else f"{value:.4f}"
