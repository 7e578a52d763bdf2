"""``nearlabel resample``: write the training data that a sampler makes."""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

import nearlabel
from nearlabel.cli import _console, _data, _imports
from nearlabel.files.atomic_file import whole_file
from nearlabel.utils.names import SAMPLERS

SUMMARY = "resample training data for rare labels"
EXAMPLES = (
    "nearlabel resample songs.csv --labels-prefix mood_ --ignore id,title --sampler mlsmote --out resampled.csv",
)
LOADS = ("datasets", "experiments", "labels")


SEED = "seed"  # the column with the row that a row was made from


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    _data.add_data_options(parser)
    parser.add_argument(
        "--sampler",
        required=True,
        metavar="NAME",
        help=f"one of {', '.join(SAMPLERS)}, with options after colons (mlsmote:n_neighbors=3, mchen:share=0.1), or"
        " package.module:Class or ./file.py:Class, which runs the code of that module",
    )
    parser.add_argument(
        "--out",
        dest="file",
        metavar="FILE.csv",
        type=Path,
        required=True,
        help=f"CSV file of the resampled rows, overwritten if it exists; its column {SEED} is the number, from 0, of"
        " the row of DATA that each is or was made from (-1: several)",
    )
    _console.add_format_option(parser)
    parser.set_defaults(check=_check)


def _check(arguments: argparse.Namespace) -> None:
    """Refuse a file of another format."""
    if arguments.file.suffix.lower() != ".csv":
        raise ValueError(f"--out must end in .csv, got {arguments.file}.")


def main(arguments: argparse.Namespace) -> None:
    """Resample a data set, write it, and print what has changed."""
    _data.check_output(arguments.file, "--out")
    sampler = nearlabel.experiments.make_sampler(_imports.sampler(arguments.sampler))
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


def _write(file: Path, dataset: nearlabel.datasets.Dataset, X: Any, Y: Any, seeds: Any) -> None:
    from nearlabel.utils.validation import as_dense, row_blocks

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


def _print_changes(arguments: argparse.Namespace, dataset: nearlabel.datasets.Dataset, Y: Any) -> None:
    """Print figures of the label sets before and after."""
    before, after = _figures(dataset.Y), _figures(Y)
    if arguments.format == "json":
        _console.print_json({"before": before, "after": after})
    elif arguments.format == "csv":
        _console.print_csv([{"figure": name, "before": before[name], "after": after[name]} for name in before])
    else:
        rows = [(name, f"{before[name]:,.6g}", f"{after[name]:,.6g}") for name in before]
        _console.print_table(f"{dataset.name} in {arguments.file}", ("figure", "before", "after"), rows)


def _figures(Y: Any) -> dict[str, Any]:
    return {
        "rows": int(Y.shape[0]),
        "minority_labels": len(nearlabel.labels.minority_labels(Y)),
        "mean_imbalance_ratio": nearlabel.labels.mean_imbalance_ratio(Y),
        "scumble": nearlabel.labels.scumble(Y),
    }
