"""Tables of labels: what ``predict --score --per-label`` and ``evaluate --per-label`` print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nearlabel.cli import _console
from nearlabel.cli._method_table import MethodTable, print_method_tables

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
    if isinstance(value, int):
        return str(value)
    return "–" if np.isnan(value) else f"{value:.4f}"
