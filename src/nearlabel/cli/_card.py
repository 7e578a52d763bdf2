"""``nearlabel card``: the model card of a file."""

from __future__ import annotations

import argparse
import json
import shlex

import nearlabel
from nearlabel.cli import _console
from nearlabel.cli._arguments import OF_TABLES
from nearlabel.utils.naming import names_an_import

SUMMARY = "show a model card"
EXAMPLES = ("nearlabel card model.skops",)
LOADS = ("persistence",)


_FORMATS = ("table", "json", "markdown")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL", help="file that save_model wrote")
    parser.add_argument("--format", choices=_FORMATS, default="table", help="default: table")


_SHOWN_NAMES = 20


def main(arguments: argparse.Namespace) -> None:
    """Print the card of a model; the model is not built."""
    card = nearlabel.persistence.read_card(arguments.model)
    if arguments.format == "json":
        _console.print_json(json.loads(card.to_json()))
    else:
        _print_page(_console.PAGES[arguments.format], card)


def _print_page(page: _console.Page, card: nearlabel.persistence.ModelCard) -> None:
    page.print_table(card.method, ("property", "value"), _of_model(card), left=2)
    page.print_table("Training data", ("figure", "value"), _of_data(card.data), left=2)
    if card.changes is not None:
        page.print_table("Changes since the fit", ("what", "value"), changes_in_words(card), left=2)
    page.print_table("Parameters", ("parameter", "value"), list(card.parameters.items()), left=2)
    if card.scores:
        title = "Scores" + (f" ({card.measured})" if card.measured else "")
        page.print_table(title, ("metric", "value"), [(name, f"{value:.4f}") for name, value in card.scores.items()])
    if card.thresholds is not None:
        page.print_table("Thresholds", ("label", "threshold"), _thresholds(card))
    if card.guarantee:
        page.print_text(f"Guarantee: {card.guarantee}")
    if card.notes:
        for line in card.notes.split("\n"):
            page.print_text(line)


def changes_in_words(card: nearlabel.persistence.ModelCard) -> list[tuple[str, str]]:
    """Return what has changed since the model was fitted, for a table."""
    changes = card.changes
    if changes is None:
        return []
    rows = [("rows added since the fit", str(changes.added)), ("rows forgotten since the fit", str(changes.forgotten))]
    if changes.new_labels:
        rows.append(("labels added since the fit", ", ".join(_new_names(card))))
    if card.thresholds is not None:
        rows.append(("thresholds", "stale: tuned before the change" if changes.thresholds_stale else "fresh"))
    elif changes.thresholds_stale:  # the method's own one
        rows.append(("threshold", "stale: selected before the change"))
    if changes.power_stale:
        rows.append(("power", "stale: selected before the change"))
    if changes.n_neighbors_stale:
        rows.append(("number of neighbours", "stale: chosen before the change"))
    return rows


def _new_names(card: nearlabel.persistence.ModelCard) -> tuple[str, ...]:
    """Return the names of new labels, which come last; a model that was fitted to an array knows their numbers."""
    new = card.changes.new_labels if card.changes is not None else ()
    names = card.data.label_names
    return new if names is None else names[len(names) - len(new) :]


def _of_model(card: nearlabel.persistence.ModelCard) -> list[tuple[str, str]]:
    trust = [("types to trust in load_model", ", ".join(card.foreign_types))] if card.foreign_types else []
    options = fit_options(card)
    facts = {
        "saved": card.created,
        **card.versions,
        "format": str(card.format),
        "can be updated": card.updatable,
        "saved columns": ", ".join(card.kept),
        "column of ids": card.id_column,
        "column of tags": ", ".join(card.labels_column),
        "made by": f"nearlabel fit DATA {options}" if options else "",
    }
    return [*((name, value) for name, value in facts.items() if value), *trust]


FIT_OPTIONS = ("--method", "--k", "--scale", "--search", "--impute")  # of the method, that a card may have
_OTHERS = (*OF_TABLES, "date", "groups", "split_by", "id", "show", "out_of_range", "guarantee", "confidence")
OTHER_OPTIONS = tuple(f"--{name.replace('_', '-')}" for name in _OTHERS)  # of DATA, and what else makes the model


def fit_options(card: nearlabel.persistence.ModelCard) -> str:
    """Return the options of ``nearlabel fit`` on a card, quoted for a shell whatever the file has.

    Empty if they are invalid, others than `fit` writes, or name code to import: a user may copy them from the card of
    somebody else.
    """
    try:
        words = shlex.split(card.fit_options)
    except ValueError:
        return ""
    known = len(words) % 2 == 0 and set(words[::2]) <= {*FIT_OPTIONS, *OTHER_OPTIONS}
    return shlex.join(words) if known and not any(map(names_an_import, words)) else ""


def _of_data(data: nearlabel.persistence.DataSummary) -> list[tuple[str, str]]:
    return [(name.replace("_", " "), _text(value)) for name, value in vars(data).items() if value is not None]


def _thresholds(card: nearlabel.persistence.ModelCard) -> list[tuple[str, str]]:
    names = card.data.label_names
    thresholds = card.thresholds or ()
    if names is None or len(names) != len(thresholds):
        names = tuple(map(str, range(len(thresholds))))
    return [(name, f"{threshold:.4g}") for name, threshold in zip(names, thresholds, strict=True)]


def _text(value: object) -> str:
    if isinstance(value, tuple):
        more = len(value) - _SHOWN_NAMES
        return ", ".join(map(str, value[:_SHOWN_NAMES])) + (f" and {more} more" if more > 0 else "")
    return f"{value:.4g}" if isinstance(value, float) else str(value)
