"""``nearlabel describe``: summarise a data set."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel import labels
from nearlabel.cli import _console, _data
from nearlabel.datasets import Dataset


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    _data.add_data_options(parser)
    parser.add_argument("--format", choices=_console.FORMATS, default="table", help="default: table")


def main(arguments: argparse.Namespace) -> None:
    """Print statistics of a data set and of each label."""
    dataset = _data.open_data(arguments)
    figures = {"name": dataset.name, "features": int(dataset.X.shape[1])} | _of_features(dataset)
    figures |= labels.describe(dataset.Y)
    per_label = [
        {"label": name, "rows": int(rows), "imbalance_ratio": float(ratio)}
        for name, rows, ratio in zip(
            dataset.label_names, labels.frequencies(dataset.Y), labels.imbalance_ratios(dataset.Y), strict=True
        )
    ]
    if arguments.format == "json":
        _console.print_json(figures | {"per_label": per_label})
    elif arguments.format == "csv":
        _console.print_csv(per_label)
    else:
        _console.print_table(
            f"Data set {dataset.name}", ("statistic", "value"), [(k, _text(v)) for k, v in figures.items()]
        )
        _console.print_table(
            "Labels", ("label", "rows", "imbalance ratio"), [tuple(map(_text, row.values())) for row in per_label]
        )


def _of_features(dataset: Dataset) -> dict[str, Any]:
    X = dataset.X
    stored = X.data if sparse.issparse(X) else X
    nonzero = np.count_nonzero(stored)
    return {
        "storage": "sparse" if sparse.issparse(X) else "dense",
        "nonzero_share": nonzero / (X.shape[0] * X.shape[1]),
        "missing_values": int(np.isnan(stored).sum()),
        "infinite_values": int(np.isinf(stored).sum()),
    }


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
