"""What ``nearlabel predict --score`` prints: the metrics of the predictions, of all labels and of each."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nearlabel.cli import _comparison, _console
from nearlabel.cli._method_table import MethodTable, print_method_tables
from nearlabel.experiments import make_metric
from nearlabel.metrics import CATALOGUE, Metric, label_table, score_all
from nearlabel.metrics.evaluation import skipped_lines
from nearlabel.utils.types import FloatArray, Matrix

_HEADERS = {  # of the columns of the table of labels, the most telling first: the last ones may have no room
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add --score and the options that go with it."""
    parser.add_argument(
        "--score",
        action="store_true",
        help="compare with the labels of DATA and print metrics; reads DATA into memory. Without --out the"
        " predictions are not printed",
    )
    parser.add_argument(
        "--metrics",
        type=_comparison.some_names,
        default=None,
        help="of --score: comma-separated, of the catalogue, with options behind a colon (precision_at_k:k=3,"
        " roc_auc:average=micro), or package.module:function; default: all of the catalogue without options",
    )
    parser.add_argument(
        "--per-label",
        action="store_true",
        help="of --score: print the metrics of each label, too; JSON has them always",
    )
    parser.add_argument(
        "--format",
        choices=_console.FORMATS,
        default=None,
        help="of --score; CSV has the metrics, or with --per-label the labels, as rows; default: table",
    )


def read_metrics(arguments: argparse.Namespace) -> list[Metric]:
    """Return the metrics to compute, none without --score; refuse what does not go together before any work."""
    if not arguments.score:
        for option in ("metrics", "per_label", "format"):
            if getattr(arguments, option):
                raise ValueError(f"--{option.replace('_', '-')} must go with --score.")
        return []
    _console.check_format(arguments.format or "table")
    return [*CATALOGUE.values()] if arguments.metrics is None else [make_metric(name) for name in arguments.metrics]


def print_scored(
    arguments: argparse.Namespace,
    metrics: Sequence[Metric],
    truth: Matrix,
    labels: Matrix,
    scores: FloatArray,
    names: Sequence[str],
) -> None:
    """Print the metrics of predictions for rows whose label sets are known, in the format of the arguments."""
    values = score_all(truth, labels, scores, metrics)
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
    lines = [(title[name], _text(value)) for name, value in values.items()]
    _console.print_table(f"Metrics on {len(labels)} rows", ("metric", "value"), lines)
    if arguments.per_label:
        _print_labels(_rows(truth, labels, scores, names))


def _rows(truth: Matrix, labels: Matrix, scores: FloatArray, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the metrics of each label, with its name."""
    table = label_table(truth, labels, scores) | {"label": np.array(names, dtype=object)}
    columns = [column.tolist() for column in table.values()]
    return [dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True)]


def _notes(skipped: Mapping[str, int]) -> list[str]:
    """Say which means are not over all labels or rows."""
    of = {name: "rows" if "average=samples" in name else "labels" for name in skipped}
    return [f"{name} leaves out {n} {of[name]} that have one class here." for name, n in skipped.items()]


def _print_labels(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a table of labels, with as many columns as there is room for."""
    cells = {row["label"]: [_text(row[column]) for column in _HEADERS] for row in rows}
    n_left_out = print_method_tables([MethodTable("Labels", cells, "label")], [*_HEADERS.values()], every=False)
    if n_left_out:
        _console.print_text(f"{n_left_out} more columns: in a wider terminal, or by --format csv.")


def _text(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    return "–" if np.isnan(value) else f"{value:.4f}"
