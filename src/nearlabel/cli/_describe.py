"""``nearlabel describe``: summarise a data set."""

from __future__ import annotations

import argparse
from typing import Any

import nearlabel
from nearlabel.cli import _console, _data, _understood

SUMMARY = "summarise a data set"
EXAMPLES = ("nearlabel describe yeast", "nearlabel describe songs.csv --labels-prefix mood_ --ignore id,title")
LOADS = ("datasets", "labels")
_IN_WORDS = (  # figures that the paragraph has
    "name", "features", "columns", "instances", "labels", "unknown_cells", "unknown_share",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    _data.add_data_options(parser)
    _data.add_kind_options(parser)
    _console.add_format_option(parser)


def main(arguments: argparse.Namespace) -> None:
    """Print statistics of a data set, of each label, and of each column of cells of several kinds."""
    dataset = _data.open_data(arguments, weighted=True)
    figures = {"name": dataset.name, "features": int(dataset.X.shape[1])} | _of_features(dataset)
    figures |= nearlabel.labels.describe(dataset.Y)
    if dataset.sample_weight is not None:
        figures["sum_of_weights"] = float(dataset.sample_weight.sum())
    columns = nearlabel.datasets.describe_columns(dataset) if dataset.X.dtype.kind == "O" else []
    per_label = _of_labels(dataset)
    if arguments.format == "json":
        per_column = {"per_column": columns} if columns else {}
        understood = _understood.facts_of(arguments, dataset)
        _console.print_json(understood | figures | per_column | {"per_label": per_label})
    elif arguments.format == "csv":
        _console.print_csv(per_label)
    else:
        _understood.print_understood(arguments, dataset)
        others = [(name, _text(value)) for name, value in figures.items() if name not in _IN_WORDS]
        _console.print_table("Statistics", ("statistic", "value"), others)
        if columns:
            rows = [tuple(map(_text, column.values())) for column in columns]
            _console.print_table("Columns", tuple(columns[0]), rows, left=2)
        names = tuple(name.replace("_", " ") for name in per_label[0])
        _console.print_table("Labels", names, [tuple(map(_text, row.values())) for row in per_label])


def _of_labels(dataset: nearlabel.datasets.Dataset) -> list[dict[str, Any]]:
    """Return the statistics of each label, with the number of rows that know it if some do not."""
    Y = dataset.Y
    columns: dict[str, Any] = {"label": dataset.label_names, "rows": nearlabel.labels.frequencies(Y).tolist()}
    known = nearlabel.labels.known_counts(Y)
    if (known < Y.shape[0]).any():
        columns["known_rows"] = known.tolist()
    columns["imbalance_ratio"] = nearlabel.labels.imbalance_ratios(Y).tolist()
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _of_features(dataset: nearlabel.datasets.Dataset) -> dict[str, Any]:
    import numpy as np
    from scipy import sparse

    from nearlabel.utils.validation import numbers_of

    X = dataset.X
    stored = X.data if sparse.issparse(X) else X
    if X.dtype.kind == "O":  # cells of several kinds, of which a missing number or date is NaN, another one None
        numbers = numbers_of(stored)
        n_missing = int(np.isnan(numbers).sum()) + sum(cell is None for cell in stored.flat)
        of_storage = {"storage": "cells", "columns": _data.counted(dataset.feature_kinds)}
    else:
        numbers, n_missing = stored, int(np.isnan(stored).sum())
        share = np.count_nonzero(stored) / (X.shape[0] * X.shape[1])
        of_storage = {"storage": "sparse" if sparse.issparse(X) else "dense", "nonzero_share": share}
    return {**of_storage, "missing_values": n_missing, "infinite_values": int(np.isinf(numbers).sum())}


def _text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
