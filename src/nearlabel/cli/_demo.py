"""``nearlabel demo``: the main job on the embedded data set."""

from __future__ import annotations

import argparse
from pathlib import Path

import nearlabel
from nearlabel.cli import _comparison, _console
from nearlabel.utils.names import NEIGHBOR_METHODS

SUMMARY = "compare the neighbour methods on the embedded data set"
EXAMPLES = ("nearlabel demo --out demo-output",)
LOADS = ("datasets", "experiments", "plots")


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
    _console.add_format_option(parser)


_METHODS = (*NEIGHBOR_METHODS, "nldd")
_METRICS = ("hamming_loss", "subset_accuracy", "micro_f1", "average_precision", "jaccard_examples", "macro_f1")
_NOT_DRAWN = {"cmlknn"}  # the others' lines would merge
_NOTE = "cmlknn is made for sparse features; these are dense."
_DRAWN = _METRICS[:4]


def main(arguments: argparse.Namespace) -> None:
    """Compare the lazy methods for k = 1..30, draw the figure and print the table."""
    figure = arguments.folder / "multidigits.png"
    figure.parent.mkdir(parents=True, exist_ok=True)
    nearlabel.plots.check_figure_file(figure, name="--out")
    digits = nearlabel.datasets.load_multidigits()
    plan = nearlabel.experiments.Plan(methods=_METHODS, n_neighbors=tuple(range(1, 31)), metrics=_METRICS)
    with _console.progress_bar("folds of multidigits") as progress:
        cells = nearlabel.experiments.summarise(
            nearlabel.experiments.run(plan, {"multidigits": digits}, progress=progress)
        )
    panels = _comparison.panels([cell for cell in cells if cell.method not in _NOT_DRAWN], _DRAWN)
    title = "Lazy methods on multidigits, ten-fold cross-validation"
    panels.write(figure, title=title)
    _comparison.show(cells, arguments.format)
    if arguments.format == "table":
        _console.print_text(f"Note: {_NOTE}")
        _console.print_text(f"Figure: {figure}")
