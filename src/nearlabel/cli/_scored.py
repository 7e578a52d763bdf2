"""Metrics of predictions, for all labels and for each, as tables."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import nearlabel
from nearlabel.cli import _console
from nearlabel.cli._console import MethodTable, print_method_tables
from nearlabel.cli._model import OpenModel

if TYPE_CHECKING:
    from nearlabel.utils.types import FloatArray, Matrix


def read_metrics(arguments: argparse.Namespace) -> list[nearlabel.metrics.Metric]:
    """Return the metrics to compute, none without --score."""
    if not arguments.score:
        return []
    return (
        [*nearlabel.metrics.CATALOGUE.values()]
        if arguments.metrics is None
        else [nearlabel.experiments.make_metric(name) for name in arguments.metrics]
    )


def print_scored(
    arguments: argparse.Namespace,
    metrics: Sequence[nearlabel.metrics.Metric],
    truth: Matrix,
    labels: Matrix,
    scores: FloatArray,
    model: OpenModel,
) -> None:
    """Print the metrics of predictions for rows whose label sets are known, in the format of the arguments."""
    names = model.label_names
    values = nearlabel.metrics.score_all(
        truth, labels, scores, metrics, propensities=_propensities(arguments, metrics, model)
    )
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
        print_labels({"Labels": _rows(truth, labels, scores, names)})


def check_metrics(arguments: argparse.Namespace, metrics: Sequence[nearlabel.metrics.Metric], model: OpenModel) -> None:
    """Refuse a metric that needs more than the card of the model contains, before any work."""
    _propensities(arguments, metrics, model)


def _propensities(
    arguments: argparse.Namespace, metrics: Sequence[nearlabel.metrics.Metric], model: OpenModel
) -> FloatArray | None:
    """Return the propensities of labels by the model's training data, if a metric needs them."""
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


def _rows(truth: Matrix, labels: Matrix, scores: FloatArray, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the metrics of each label, with its name."""
    import numpy as np

    table = nearlabel.metrics.label_table(truth, labels, scores) | {"label": np.array(names, dtype=object)}
    columns = [column.tolist() for column in table.values()]
    return [dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True)]


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
    "support": "rows",
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
    "roc_auc": "ROC-AUC",
    "average_precision": "average precision",
    "true_positives": "true positives",
    "false_positives": "false positives",
    "false_negatives": "false negatives",
    "log_loss": "log loss",
    "brier_score": "Brier score",
}


def print_labels(tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Print tables of labels by their titles, with as many columns as there is room for in each."""
    printed = [
        MethodTable(title, {row["label"]: [text_of(row[name]) for name in _HEADERS] for row in rows}, "label")
        for title, rows in tables.items()
    ]
    n_left_out = print_method_tables(printed, [*_HEADERS.values()], every=False)
    if n_left_out:
        _console.print_text(f"{n_left_out} more columns: use a wider terminal or --format csv.")


def text_of(value: float) -> str:
    """Return a figure, or a dash if it is undefined."""
    import numpy as np

    if isinstance(value, int):
        return str(value)
    return "–" if np.isnan(value) else f"{value:.4f}"
