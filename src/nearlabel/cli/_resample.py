"""``nearlabel resample``: write the training data that a sampler makes."""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

from nearlabel.cli import _console, _data
from nearlabel.cli.arguments.resample import SEED
from nearlabel.datasets import Dataset
from nearlabel.experiments import make_sampler
from nearlabel.files.atomic_file import check_can_be_written, whole_file
from nearlabel.labels import mean_imbalance_ratio, minority_labels, scumble
from nearlabel.utils.arrays import row_blocks
from nearlabel.utils.types import IntArray, Matrix
from nearlabel.utils.validation import as_dense


def main(arguments: argparse.Namespace) -> None:
    """Resample a data set, write it, and print what has changed."""
    check_can_be_written(arguments.file, name="--out")
    sampler = make_sampler(arguments.sampler)
    dataset = _data.open_data(arguments)
    if SEED in (*dataset.feature_names, *dataset.label_names):
        raise ValueError(f"DATA must have no column {SEED!r}, which --out adds. Hint: --ignore {SEED}.")
    X, Y = sampler.fit_resample(dataset.X, dataset.Y)
    with whole_file(arguments.file, name="--out") as partial:
        _write(partial, dataset, X, Y, sampler.seed_indices_)
    _print_changes(arguments, dataset, Y)
    seeds = sampler.seed_indices_[sampler.seed_indices_ >= 0]  # prototypes have none, and are not equal
    if len(set(seeds.tolist())) < len(seeds):
        _console.print_notes(
            [f"Rows of one {SEED} are similar. Hint: --groups {SEED} (evaluate, fit, tune) holds out all of them."]
        )


def _write(file: Path, dataset: Dataset, X: Matrix, Y: Matrix, seeds: IntArray) -> None:
    with file.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines)
        writer.writerow([SEED, *dataset.feature_names, *dataset.label_names])
        for block in row_blocks(X.shape[0], 64 * (X.shape[1] + Y.shape[1])):
            rows = zip(seeds[block].tolist(), as_dense(X[block]).tolist(), as_dense(Y[block]).tolist(), strict=True)
            writer.writerows([seed, *map(_text, features), *labels] for seed, features, labels in rows)


def _text(value: Any) -> Any:
    """Return a cell in the form in which it is read: integers without a fraction, empty for missing values."""
    if value is None or value != value:
        return ""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _print_changes(arguments: argparse.Namespace, dataset: Dataset, Y: Matrix) -> None:
    """Print figures of the label sets before and after."""
    before, after = _figures(dataset.Y), _figures(Y)
    if arguments.format == "json":
        _console.print_json({"before": before, "after": after})
    elif arguments.format == "csv":
        _console.print_csv([{"figure": name, "before": before[name], "after": after[name]} for name in before])
    else:
        rows = [(name, f"{before[name]:,.6g}", f"{after[name]:,.6g}") for name in before]
        _console.print_table(f"{dataset.name} in {arguments.file}", ("figure", "before", "after"), rows)


def _figures(Y: Matrix) -> dict[str, Any]:
    return {
        "rows": int(Y.shape[0]),
        "minority_labels": len(minority_labels(Y)),
        "mean_imbalance_ratio": mean_imbalance_ratio(Y),
        "scumble": scumble(Y),
    }
