"""Common code of update and forget: open a model that can be updated, and print the changes."""

from __future__ import annotations

import argparse

from nearlabel.cli import _console, _model
from nearlabel.cli._card import changes_in_words
from nearlabel.models import updates
from nearlabel.persistence import ModelCard


def open_updatable(arguments: argparse.Namespace) -> _model.OpenModel:
    """Load the model of the arguments.

    Raises
    ------
    ValueError
        If samples cannot be added to it or removed from it.
    """
    opened = _model.open_model(arguments)
    if not updates.can_be_updated(opened.model):
        raise ValueError(
            f"MODEL must be a method by votes of neighbours to be updated, got {opened.card.method}."
            " Hint: nearlabel fit --method mlknn."
        )
    return opened


def print_changes(card: ModelCard, before: ModelCard, file: str) -> None:
    """Print the numbers of rows and labels before and after, and the changes since the fit."""
    now, then = card.data, before.data
    sizes = [(what, f"{_number(getattr(then, what))} -> {_number(getattr(now, what))}") for what in ("rows", "labels")]
    _console.print_table(f"Changed: {card.method}", ("property", "value"), [*sizes, *changes_in_words(card)], left=2)
    if card.changes is not None and (card.changes.thresholds_stale or card.changes.n_neighbors_stale):
        _console.print_notes(["Thresholds and k tuned on all rows are stale. Hint: --retune tunes them again."])
    _console.print_text(f"Model: {file}")


def _number(value: int | None) -> str:
    return "?" if value is None else str(value)
