"""Metrics without exact copies, in addition to the requested ones, if there are more than a few copies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from nearlabel.cli import _console
from nearlabel.experiments import Cell, Problem, share_of_copies
from nearlabel.metrics.evaluation import WITHOUT_COPIES

_LEAST_SHARE = 0.01  # more than this; the doctor warns from there on
_LEAST_ROWS = 50  # shares of fewer rows are too noisy
OF_TEST_ROWS = "only test samples without a copy in the training data"
OF_ROWS = "no sample is scored by a model fitted to an identical sample"


def has_copies(problem: Problem) -> bool:
    """Return whether to print metrics without copies: if many samples are copies, and there are no groups."""
    training = problem[0] if isinstance(problem, tuple) else problem
    if training.groups is not None or training.X.shape[0] < _LEAST_ROWS:
        return False
    return share_of_copies(problem) > _LEAST_SHARE


def are_told(metrics: Iterable[str]) -> bool:
    """Return whether some metrics are without copies, and the command is not quiet."""
    return not _console.is_quiet() and any(metric.endswith(WITHOUT_COPIES) for metric in metrics)


def print_share(problem: Problem, how: str) -> None:
    """Print the share of rows that are copies, and how the metrics without copies were computed."""
    share = 100 * share_of_copies(problem)
    _console.print_text(f"{share:.1f} % of the rows are copies of others. Without copies: {how}.")


def split_copies(cells: Iterable[Cell]) -> tuple[list[Cell], list[Cell]]:
    """Return the figures that were asked for, and those without copies, named as such by their data set."""
    cells = list(cells)
    asked = [cell for cell in cells if not cell.metric.endswith(WITHOUT_COPIES)]
    return asked, [
        replace(cell, dataset=f"{cell.dataset}, without copies", metric=cell.metric.removesuffix(WITHOUT_COPIES))
        for cell in cells
        if cell.metric.endswith(WITHOUT_COPIES)
    ]
