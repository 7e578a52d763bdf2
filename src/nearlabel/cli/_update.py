"""``nearlabel update``: add training samples to the model in a file."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import nearlabel
from nearlabel.cli import _console, _data, _model

SUMMARY = "add training samples to a model"
EXAMPLES = ("nearlabel update songs.skops new.csv --retune",)
LOADS = ("models", "persistence")

_NEW_WORDS = "Words that no earlier text had count nothing until you fit again."
_UNNOTICED = "rows that the model has are noticed only if an update added the same ones, all together."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    _model.add_model_argument(parser)
    _data.add_data_options(parser, optional=True)
    known = parser.add_mutually_exclusive_group()
    known.add_argument(
        "--skip-existing",
        action="store_true",
        help="add only the rows that the model does not have, so that a repeated command changes nothing; default:"
        " refuse rows that it has, by the ids in the column that fit --id named; rows without ids are refused if an"
        " earlier update added the same ones, all together",
    )
    known.add_argument(
        "--replace",
        action="store_true",
        help="replace the model's rows that have the ids of rows in DATA",
    )
    known.add_argument(
        "--force",
        action="store_true",
        help="add rows without ids although an earlier update added the same ones",
    )
    add_retune_option(parser)


def add_retune_option(parser: argparse.ArgumentParser) -> None:
    """Add --retune."""
    parser.add_argument(
        "--retune",
        action="store_true",
        help="select thresholds and a number of neighbours, or a power, again; default: leave them unchanged; the card"
        " then marks them as stale",
    )


def main(arguments: argparse.Namespace) -> None:
    """Find the features and labels of the model in DATA, add the samples, and print the changes."""
    if arguments.data is None and not arguments.retune:
        raise ValueError("DATA or --retune must be given, got neither.")
    if arguments.data is None and _existing(arguments) != "raise":
        raise ValueError("--skip-existing, --replace and --force must go with DATA.")
    with _console.progress_bar("model"):
        opened = _model.open_updatable(arguments)
    if arguments.data is None:
        card, this_run = _retuned(arguments), "tuned again"
    else:
        card, this_run = _added(arguments, opened)
    _model.print_changes(card, opened.card, arguments.model, this_run)


def _retuned(arguments: argparse.Namespace) -> nearlabel.persistence.ModelCard:
    with _console.progress_bar("thresholds"):
        return nearlabel.persistence.update_model(arguments.model, retune=True, trusted=arguments.trusted)


def _added(arguments: argparse.Namespace, opened: _model.OpenModel) -> tuple[nearlabel.persistence.ModelCard, str]:
    """Add the samples of DATA to the model in its file; return the new card, and what was done in words."""
    data, label_names = opened.matching.open_with_new_labels(arguments)
    keep = _model.kept_in(arguments, opened.card.kept) or {}
    missing = [name for name in opened.card.kept if name not in keep]
    blank = "which the model saves: it is blank for the added samples."
    _console.print_notes([f"DATA has no column {name!r}, {blank}" for name in missing])
    _console.print_notes(_of_ids(opened.card, keep))
    saved = nearlabel.persistence.read_kept(arguments.model) if arguments.replace else {}
    with _console.progress_bar(f"rows of {data.name}"), _model.asking(opened, arguments.data, data.X, first=0):
        notes = _of_steps_that_stay(opened, data.X)
        card = nearlabel.persistence.update_model(
            arguments.model,
            data.X,
            data.Y,
            label_names=label_names,
            keep=keep,
            existing=_existing(arguments),
            retune=arguments.retune,
            trusted=arguments.trusted,
            expected=opened.card,
        )
    _console.print_notes(notes)
    n_known = data.X.shape[0] - ((card.data.rows or 0) - (opened.card.data.rows or 0))  # skipped, or replaced
    n_new = data.X.shape[0] - n_known
    if not arguments.replace:
        return card, f"{n_new} new, {n_known} skipped" if arguments.skip_existing else f"{n_new} new"
    column = opened.card.id_column
    return card, f"{n_new + _n_more(keep.get(column, ()), saved.get(column, ()))} new, {n_known} replaced"


def _n_more(ids: Sequence[str], known: Sequence[str]) -> int:
    """Return by how many the replaced rows are more than those that take their place: an id may be in several."""
    shared = {text for text in ids if text}.intersection(known)
    return sum(text in shared for text in known) - len(shared)


def _existing(arguments: argparse.Namespace) -> str:
    """Return what happens to rows that the model has."""
    named = {"skip": arguments.skip_existing, "replace": arguments.replace, "add": arguments.force}
    return next((what for what, is_named in named.items() if is_named), "raise")


def _of_ids(card: nearlabel.persistence.ModelCard, keep: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a note if rows have no ids: of rows that were added before, only all of them together are found."""
    if not card.id_column:
        return [f"The model has no ids, so {_UNNOTICED} Hint: fit with --id."]
    if card.id_column not in keep:
        return [f"DATA has no ids, so {_UNNOTICED}"]
    n_blank = sum(not text for text in keep[card.id_column])
    if not n_blank:
        return []
    rows = "1 row has" if n_blank == 1 else f"{n_blank} rows have"
    return [f"{rows} no {card.id_column!r}, so {_UNNOTICED}"]


def _of_steps_that_stay(opened: _model.OpenModel, X: Any) -> list[str]:
    """Return notes on steps before the method that are not fitted again, and on samples outside the known ranges."""
    steps = [step for step in _data.steps_of(opened.model)[:-1] if not getattr(step, "follows_samples", False)]
    if not steps:  # a range without a scaling grows with the samples
        return []
    outside = _model.OutsideRange(opened, "added samples")
    outside.see(X)
    told = f"Steps before the method are not fitted again: {', '.join(type(step).__name__ for step in steps)}."
    words = [_NEW_WORDS] if "text" in _data.kinds_of_model(opened.model) else []
    return [told, *words, *outside.notes()]
