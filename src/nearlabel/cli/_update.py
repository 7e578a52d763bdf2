"""``nearlabel update``: add training samples to the model in a file."""

from __future__ import annotations

import argparse
from typing import Any

from scipy import sparse
from sklearn.pipeline import Pipeline

from nearlabel.cli import _changes, _console, _kept, _model
from nearlabel.cli._matched_data import open_with_new_labels
from nearlabel.models import updates
from nearlabel.persistence import ModelCard, update_model
from nearlabel.utils.types import Matrix


def main(arguments: argparse.Namespace) -> None:
    """Find the features and labels of the model in DATA, add the samples, and print the changes."""
    if arguments.data is None and not arguments.retune:
        raise ValueError("DATA or --retune must be given, got neither.")
    with _console.progress_bar("model"):
        opened = _changes.open_updatable(arguments)
    card = _added(arguments, opened) if arguments.data is not None else _retuned(arguments)
    _changes.print_changes(card, opened.card, arguments.model)


def _retuned(arguments: argparse.Namespace) -> ModelCard:
    with _console.progress_bar("thresholds"):
        return update_model(arguments.model, retune=True, trusted=arguments.trusted)


def _added(arguments: argparse.Namespace, opened: _model.OpenModel) -> ModelCard:
    """Add the samples of DATA to the model in its file."""
    data, label_names = open_with_new_labels(arguments, opened.card.data, opened.feature_kinds)
    keep = _kept.kept_in(arguments, opened.card.kept) or {}
    missing = [name for name in opened.card.kept if name not in keep]
    blank = "which the model saves: it is blank for the added samples."
    _console.print_notes([f"DATA has no column {name!r}, {blank}" for name in missing])
    with _console.progress_bar(f"rows of {data.name}"), _model.asking(opened, arguments.data, data.X, first=0):
        notes = _of_steps_that_stay(opened.model, data.X)
        card = update_model(
            arguments.model,
            data.X,
            data.Y,
            label_names=label_names,
            keep=keep,
            retune=arguments.retune,
            trusted=arguments.trusted,
            expected=opened.card,
        )
    _console.print_notes(notes)
    return card


def _of_steps_that_stay(model: Any, X: Matrix) -> list[str]:
    """Return a note that steps before the method are not fitted again, and how many samples exceed the known ranges."""
    if not isinstance(model, Pipeline) or len(model) == 1:
        return []
    search = updates.lazy_part(model).search_
    known, new = search.take(range(search.n_samples_fit_)), model[:-1].transform(X)
    told = f"Steps before the method are not fitted again: {', '.join(type(step).__name__ for step in model[:-1])}."
    if sparse.issparse(known) or sparse.issparse(new):
        return [told]
    beyond = ((new < known.min(axis=0)) | (new > known.max(axis=0))).any(axis=1)
    return [f"{told} {beyond.sum()} of {len(beyond)} added samples have a value outside the range of all others."]
