"""``nearlabel demo``: the main job on the embedded data set."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearlabel.cli import _comparison, _console
from nearlabel.datasets import load_multidigits
from nearlabel.experiments import NEIGHBOR_METHODS, Plan, run, summarise

_METHODS = (*NEIGHBOR_METHODS, "nldd:estimator=logistic")
_METRICS = ("hamming_loss", "jaccard_examples", "subset_accuracy", "micro_f1", "macro_f1", "average_precision")
_NOT_DRAWN = {"cmlknn"}  # out of its element: nearly every row has every feature; the others' lines would merge
_DRAWN = ("hamming_loss", "subset_accuracy", "micro_f1", "average_precision")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--out",
        dest="folder",
        metavar="OUT",
        type=Path,
        default=Path("nearlabel-demo"),
        help="folder for the figure; default: nearlabel-demo",
    )
    parser.add_argument("--format", choices=_console.FORMATS, default="table", help="default: table")


def main(arguments: argparse.Namespace) -> None:
    """Compare the lazy methods for k = 1..30, print the table and draw the figure."""
    digits = load_multidigits()
    plan = Plan(methods=_METHODS, n_neighbors=tuple(range(1, 31)), metrics=_METRICS)
    with _console.progress_bar("folds of multidigits") as progress:
        cells = summarise(run(plan, {"multidigits": digits}, progress=progress))
    _comparison.show(cells, arguments.format)
    panels = _comparison.panels([cell for cell in cells if cell.method not in _NOT_DRAWN], _DRAWN)
    title = "Lazy methods on multidigits, ten-fold cross-validation"
    figure = panels.write(arguments.folder / "multidigits.png", title=title)
    if arguments.format == "table":
        _console.print_text(f"Figure: {figure}")
