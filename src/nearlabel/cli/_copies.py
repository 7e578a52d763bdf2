"""Figures without exact copies, beside those that were asked for, where copies are more than a few."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from nearlabel.cli import _console
from nearlabel.experiments import Cell, Problem, share_of_copies
from nearlabel.metrics.evaluation import WITHOUT_COPIES

_LEAST_SHARE = 0.01  # more than this; the doctor warns from there on
_LEAST_ROWS = 50  # shares of fewer rows say little
OF_TEST_ROWS = "only test rows that equal no training row"
OF_ROWS = "no row is judged by a model that has seen a row equal to it"


def has_copies(problem: Problem) -> bool:
    """Return whether figures without copies are to be told: many rows repeat others, and no groups hold them out."""
    training = problem[0] if isinstance(problem, tuple) else problem
    if training.groups is not None or training.X.shape[0] < _LEAST_ROWS:
        return False
    return share_of_copies(problem) > _LEAST_SHARE


def are_told(metrics: Iterable[str]) -> bool:
    """Return whether some metrics are without copies, and the command is not quiet."""
    return not _console.is_quiet() and any(metric.endswith(WITHOUT_COPIES) for metric in metrics)


def print_share(problem: Problem, how: str) -> None:
    """Print how many rows repeat others, and how the figures without copies came about."""
    _console.print_text(f"{100 * share_of_copies(problem):.1f} % of the rows repeat others. Without copies: {how}.")


def split_copies(cells: Iterable[Cell]) -> tuple[list[Cell], list[Cell]]:
    """Return the figures that were asked for, and those without copies, named as such by their data set."""
    cells = list(cells)
    asked = [cell for cell in cells if not cell.metric.endswith(WITHOUT_COPIES)]
    return asked, [
        replace(cell, dataset=f"{cell.dataset}, without copies", metric=cell.metric.removesuffix(WITHOUT_COPIES))
        for cell in cells
        if cell.metric.endswith(WITHOUT_COPIES)
    ]
