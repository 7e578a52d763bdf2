"""``nearlabel demo``: the main job on the embedded data set."""

from __future__ import annotations

import argparse

from nearlabel.cli import _comparison, _console
from nearlabel.cli.arguments.registered import NEIGHBOR_METHODS
from nearlabel.datasets import load_multidigits
from nearlabel.experiments import Plan, run, summarise
from nearlabel.plots import check_figure_file

_METHODS = (*NEIGHBOR_METHODS, "nldd")
_METRICS = ("hamming_loss", "subset_accuracy", "micro_f1", "average_precision", "jaccard_examples", "macro_f1")
_NOT_DRAWN = {"cmlknn"}  # the others' lines would merge
_NOTE = "cmlknn is made for sparse features; these are dense."
_DRAWN = _METRICS[:4]


def main(arguments: argparse.Namespace) -> None:
    """Compare the lazy methods for k = 1..30, draw the figure and print the table."""
    figure = arguments.folder / "multidigits.png"
    figure.parent.mkdir(parents=True, exist_ok=True)
    check_figure_file(figure, name="--out")
    digits = load_multidigits()
    plan = Plan(methods=_METHODS, n_neighbors=tuple(range(1, 31)), metrics=_METRICS)
    with _console.progress_bar("folds of multidigits") as progress:
        cells = summarise(run(plan, {"multidigits": digits}, progress=progress))
    panels = _comparison.panels([cell for cell in cells if cell.method not in _NOT_DRAWN], _DRAWN)
    title = "Lazy methods on multidigits, ten-fold cross-validation"
    panels.write(figure, title=title)
    _comparison.show(cells, arguments.format)
    if arguments.format == "table":
        _console.print_text(f"Note: {_NOTE}")
        _console.print_text(f"Figure: {figure}")
