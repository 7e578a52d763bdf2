"""The output of ``nearlabel predict --score``: the metrics of the predictions, for all labels and for each."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nearlabel.cli import _console
from nearlabel.cli._label_table import print_labels, text_of
from nearlabel.cli._model import OpenModel
from nearlabel.experiments import make_metric
from nearlabel.metrics import CATALOGUE, Metric, label_table, score_all
from nearlabel.metrics.catalogue import needs_propensities
from nearlabel.metrics.evaluation import is_mean_over_labels, skipped_lines
from nearlabel.metrics.top_k import propensities_of_counts
from nearlabel.utils.types import FloatArray, Matrix


def read_metrics(arguments: argparse.Namespace) -> list[Metric]:
    """Return the metrics to compute, none without --score."""
    if not arguments.score:
        return []
    return [*CATALOGUE.values()] if arguments.metrics is None else [make_metric(name) for name in arguments.metrics]


def print_scored(
    arguments: argparse.Namespace,
    metrics: Sequence[Metric],
    truth: Matrix,
    labels: Matrix,
    scores: FloatArray,
    model: OpenModel,
) -> None:
    """Print the metrics of predictions for rows whose label sets are known, in the format of the arguments."""
    names = model.label_names
    values = score_all(truth, labels, scores, metrics, propensities=_propensities(arguments, metrics, model))
    skipped = skipped_lines(truth, metrics)
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


def check_metrics(arguments: argparse.Namespace, metrics: Sequence[Metric], model: OpenModel) -> None:
    """Refuse a metric that needs more than the card of the model contains, before any work."""
    _propensities(arguments, metrics, model)


def _propensities(arguments: argparse.Namespace, metrics: Sequence[Metric], model: OpenModel) -> FloatArray | None:
    """Return the propensities of labels by the model's training data, if a metric needs them."""
    needing = [metric.name for metric in metrics if needs_propensities(metric)]
    if not needing:
        return None
    data = model.card.data
    if data.label_counts is None or data.rows is None:
        raise ValueError(
            f"{arguments.model} must contain the number of training samples of each label, for {needing[0]}, got a card"
            " without label_counts. Hint: save_model(..., data=data), or fit again."
        )
    return propensities_of_counts(data.label_counts, data.rows)


def _rows(truth: Matrix, labels: Matrix, scores: FloatArray, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the metrics of each label, with its name."""
    table = label_table(truth, labels, scores) | {"label": np.array(names, dtype=object)}
    columns = [column.tolist() for column in table.values()]
    return [dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True)]


def _notes(skipped: Mapping[str, int]) -> list[str]:
    """Return notes on which means are not over all labels or rows."""
    of = {name: "rows" if "average=samples" in name else "labels" for name in skipped}
    why = ("that have one class", "without a known value")
    return [f"{name} leaves out {n} {of[name]} {why[is_mean_over_labels(name)]} here." for name, n in skipped.items()]
