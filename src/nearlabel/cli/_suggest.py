"""``nearlabel suggest``: which rows to label next, or whose predictions to check."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nearlabel
from nearlabel.cli import _console, _data, _model
from nearlabel.utils.names import LOSSES, STRATEGIES

SUMMARY = "suggest samples to label next, or predictions to check"
EXAMPLES = (
    "nearlabel suggest songs.skops new.csv --n 2 --id id",
    "nearlabel suggest model.skops multidigits --for review --n 20",
)
LOADS = ("audit", "models")


LABELS, REVIEW = "labels", "review"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    _model.add_model_argument(parser)
    _data.add_data_options(parser)
    parser.add_argument("--n", type=int, default=20, metavar="N", help="number of rows; default: 20")
    parser.add_argument(
        "--for",
        dest="purpose",
        choices=(LABELS, REVIEW),
        default=LABELS,
        help="rows to be labelled next, or rows whose predicted labels a person should check; default: labels",
    )
    parser.add_argument(
        "--strategy",
        choices=STRATEGIES,
        help="with --for labels: rows similar to many others, or a random sample; default: representative",
    )
    parser.add_argument(
        "--labelled",
        metavar="FILE",
        help="with --for labels: the labelled data, for a model that is not a method by nearest neighbours; default:"
        " the training data",
    )
    parser.add_argument(
        "--loss",
        choices=LOSSES,
        help="with --for review: rank by the expected number of wrong labels, by the probability that any label is"
        " wrong, or by the expected loss of F1; default: labels",
    )
    parser.add_argument(
        "--seed",
        type=int,
        help="with --for labels: random seed of --strategy random, and of the sample from a pool of more than 4,000"
        " rows; default: 0",
    )
    parser.add_argument(
        "--id", metavar="COLUMN", help="column of DATA to print instead of row numbers, whatever ids MODEL has"
    )
    _console.add_format_option(parser)
    parser.set_defaults(check=_check)


def _check(arguments: argparse.Namespace) -> None:
    """Refuse options of the other purpose."""
    others = ("loss",) if arguments.purpose == LABELS else ("strategy", "labelled", "seed")
    needed = REVIEW if arguments.purpose == LABELS else LABELS
    for option in others:
        if getattr(arguments, option) is not None:
            raise ValueError(f"--{option} must go with --for {needed}.")


def main(arguments: argparse.Namespace) -> None:
    """Read the rows, rank them, print."""
    _data.check_number("--n", arguments.n)
    with _console.progress_bar("rows"):
        model = _model.open_model(arguments.model, arguments.trusted)
        X, ids = _read(arguments, model)
        if arguments.n > X.shape[0]:
            raise ValueError(f"--n must be at most the {X.shape[0]} rows of {arguments.data}, got {arguments.n}.")
        with _model.asking(model, arguments.data, X, first=0):
            records = [one.to_dict() for one in _ranked(arguments, model, X)]
    if ids:
        records = [{"row": one["row"], "id": ids[one["row"]], **one} for one in records]
    if arguments.format == "json":
        _console.print_json(records)
    elif arguments.format == "csv":
        _console.print_csv([_flat(record) for record in records])
    else:
        _print_table(arguments, records)


def _read(arguments: argparse.Namespace, model: _model.OpenModel) -> tuple[Any, list[str]]:
    """Return all rows of DATA, and their ids if a column is named."""
    import numpy as np
    from scipy import sparse

    blocks = list(_model.open_blocks(arguments, model, id_column=arguments.id))
    if not blocks:
        raise ValueError(f"DATA must have rows, got none in {arguments.data}.")
    parts = [block.X for block in blocks]
    X = sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
    ids = [str(one) for block in blocks if block.ids is not None for one in block.ids.tolist()]
    return X, ids


def _labelled(arguments: argparse.Namespace, model: _model.OpenModel, *, required: bool) -> Any | None:
    """Return the rows that are labelled; None: those that the model's search knows."""
    if arguments.labelled is None:
        inner = nearlabel.models.unwrapped.unwrapped(model.model).classifier
        if required and not hasattr(inner, "search_"):
            raise ValueError(
                "--labelled must name the labelled data, as MODEL has no search for neighbours, got a"
                f" {type(inner).__name__}. Hint: name the data that it was fitted to, or nearlabel fit --method mlknn."
            )
        return None
    return _read(_data.changed(arguments, data=arguments.labelled, id=None), model)[0]


def _ranked(
    arguments: argparse.Namespace, model: _model.OpenModel, X: Any
) -> Sequence[nearlabel.audit.Suggestion] | Sequence[nearlabel.audit.DoubtfulRow]:
    names = model.label_names
    if arguments.purpose == LABELS:
        strategy, seed = arguments.strategy or "representative", arguments.seed or 0
        labelled = _labelled(arguments, model, required=strategy != "random")
        return nearlabel.audit.suggest(
            model.model, X, arguments.n, X_labelled=labelled, strategy=strategy, random_state=seed, label_names=names
        )
    return nearlabel.audit.review(model.model, X, arguments.n, loss=arguments.loss or "labels", label_names=names)


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    """Return the cells of a line of CSV, without lists other than the predicted labels: the reason has them."""
    return {
        name: ";".join(map(str, value)) if name == "predicted" else value
        for name, value in record.items()
        if name not in ("close_labels", "doubts")
    }


def _print_table(arguments: argparse.Namespace, records: Sequence[dict[str, Any]]) -> None:
    name = Path(arguments.data).name
    if arguments.purpose == LABELS:
        title, value = f"Rows of {name} to label next", "score"
    else:
        title, value = f"Predictions for {name} to check", "expected_loss"
    key, header = ("row", "row") if arguments.id is None else ("id", arguments.id)
    columns = [(header, [str(one[key]) for one in records])]
    if "predicted" in records[0]:
        columns.append(("predicted", [", ".join(map(str, one["predicted"])) for one in records]))
    columns.append(("reason", [one["reason"] for one in records]))
    columns.append((value.replace("_", " "), ["" if one[value] is None else f"{one[value]:.3g}" for one in records]))
    headers, cells = zip(*columns, strict=True)
    _console.print_table(title, headers, zip(*cells, strict=True), left=len(columns) - 1)
