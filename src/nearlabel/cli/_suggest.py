"""``nearlabel suggest``: which rows to label next, or whose predictions to check."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.audit import DoubtfulRow, Suggestion, review, suggest
from nearlabel.cli import _console, _model
from nearlabel.cli.arguments.suggest import LABELS
from nearlabel.models._unwrapped import unwrapped
from nearlabel.utils.types import Matrix
from nearlabel.utils.validation import check_integer


class _Pool(NamedTuple):
    """All rows of DATA, and their ids where a column is named."""

    X: Matrix
    ids: Sequence[Any] | None


def main(arguments: argparse.Namespace) -> None:
    """Read the rows, rank them, print."""
    check_integer("--n", arguments.n, low=1)
    with _console.progress_bar("rows"):
        model = _model.open_model(arguments)
        pool = _read(arguments, model)
        if arguments.n > pool.X.shape[0]:
            raise ValueError(f"--n must be at most the {pool.X.shape[0]} rows of {arguments.data}, got {arguments.n}.")
        with _model.asking(model, arguments.data, pool.X, first=0):
            found = _ranked(arguments, model, pool.X)
    records = [_named(one, pool.ids) for one in found]
    if arguments.format == "json":
        _console.print_json(records)
    elif arguments.format == "csv":
        _console.print_csv([_flat(record) for record in records])
    else:
        _print_table(arguments, records)


def _read(arguments: argparse.Namespace, model: _model.OpenModel) -> _Pool:
    blocks = list(_model.open_blocks(arguments, model, id_column=arguments.id))
    if not blocks:
        raise ValueError(f"DATA must have rows, got none in {arguments.data}.")
    parts = [block.X for block in blocks]
    X = sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
    ids = [str(one) for block in blocks if block.ids is not None for one in block.ids.tolist()]
    return _Pool(X, ids or None)


def _labelled(arguments: argparse.Namespace, model: _model.OpenModel, *, required: bool) -> Matrix | None:
    """Return the rows that are labelled; None: those that the model's search knows."""
    if arguments.labelled is None:
        inner = unwrapped(model.model).classifier
        if required and not hasattr(inner, "search_"):
            raise ValueError(
                "--labelled must name the labelled data, as MODEL has no search for neighbours, got a"
                f" {type(inner).__name__}. Hint: name the data that it was fitted to, or nearlabel fit --method mlknn."
            )
        return None
    return _read(argparse.Namespace(**vars(arguments) | {"data": arguments.labelled, "id": None}), model).X


def _ranked(
    arguments: argparse.Namespace, model: _model.OpenModel, X: Matrix
) -> Sequence[Suggestion] | Sequence[DoubtfulRow]:
    names = model.label_names
    if arguments.purpose == LABELS:
        strategy, seed = arguments.strategy or "representative", arguments.seed or 0
        labelled = _labelled(arguments, model, required=strategy != "random")
        return suggest(
            model.model, X, arguments.n, X_labelled=labelled, strategy=strategy, random_state=seed, label_names=names
        )
    return review(model.model, X, arguments.n, loss=arguments.loss or "labels", label_names=names)


def _named(found: Suggestion | DoubtfulRow, ids: Sequence[Any] | None) -> dict[str, Any]:
    """Return a record of a row, with its id if there is one."""
    record = found.to_dict()
    return record if ids is None else {"row": record.pop("row"), "id": ids[found.row]} | record


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
    key = "row" if arguments.id is None else "id"
    head = [key, *(["predicted"] if "predicted" in records[0] else []), "reason", value.replace("_", " ")]
    lines = [_line(record, key, value) for record in records]
    _console.print_table(title, ["row" if key == "row" else arguments.id, *head[1:]], lines, left=len(head) - 1)


def _line(record: dict[str, Any], key: str, value: str) -> list[str]:
    predicted = [", ".join(map(str, record["predicted"]))] if "predicted" in record else []
    number = "" if record[value] is None else f"{record[value]:.3g}"
    return [str(record[key]), *predicted, record["reason"], number]
