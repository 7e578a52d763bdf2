"""``nearlabel explain``: why a model chose the labels of a row."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import nearlabel
from nearlabel.cli import _arguments, _console, _data, _model

SUMMARY = "explain a prediction"
EXAMPLES = ("nearlabel explain model.skops multidigits --row 17",)
LOADS = ("datasets", "lazy", "models", "persistence", "plots")


_FORMATS = ("text", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    _model.add_model_argument(parser)
    _data.add_data_options(parser)
    which = parser.add_mutually_exclusive_group(required=True)
    number = _arguments.whole_number(0, "a number of a row, from 0")
    which.add_argument("--row", type=number, metavar="N", help="number of the row, from 0")
    which.add_argument(
        "--id", type=_column_and_value, metavar="COLUMN=VALUE", help="the row of DATA with this value in a column"
    )
    parser.add_argument(
        "--figure",
        type=Path,
        metavar="FILE",
        help="also draw the explanation: .png, .svg, .pdf or another format of matplotlib",
    )
    parser.add_argument("--format", choices=_FORMATS, default="text", help="default: text")


def _column_and_value(text: str) -> tuple[str, str]:
    column, equals, value = text.partition("=")
    if not column or not equals:
        raise argparse.ArgumentTypeError(f"must be COLUMN=VALUE, got {text!r}")
    return column, value


def main(arguments: argparse.Namespace) -> None:
    """Find the row, explain it, draw, print."""
    if arguments.figure is not None:
        nearlabel.plots.check_figure_file(arguments.figure, name="--figure")
    with _console.progress_bar("explanation"):
        model = _model.open_model(arguments.model, arguments.trusted)
        found = _find(arguments, model)
        with _model.asking(model, arguments.data, found.X, first=found.row):
            explanation = _explained(model, found.X).with_kept(nearlabel.persistence.read_kept(arguments.model))
    if arguments.figure is not None:
        nearlabel.plots.ExplanationDisplay(explanation).write(arguments.figure)
    if arguments.format == "json":
        _console.print_json({"row": found.row, "id": found.id} | explanation.to_dict())
    else:
        column, value = arguments.id or ("", "")
        named = f", whose {column} is {value}" if column else ""
        _console.print_text(f"Row {found.row} of {Path(arguments.data).name}{named}")
        _console.print_lines(*str(explanation).split("\n"))
        if arguments.figure is not None:
            _console.print_text(f"Figure: {arguments.figure}")


class _Found(NamedTuple):
    """A row: its number, its id if it was found by that, and X (1, n_features)."""

    row: int
    id: str | None
    X: Any


def _find(arguments: argparse.Namespace, model: _model.OpenModel) -> _Found:
    """Read DATA as far as the row that is asked for."""
    if arguments.id is None:
        return _by_number(arguments.data, _model.open_blocks(arguments, model), arguments.row)
    column, value = arguments.id
    return _by_id(arguments.data, _model.open_blocks(arguments, model, id_column=column), column, value)


def _by_number(data: str, blocks: Iterable[nearlabel.datasets.RowBlock], row: int) -> _Found:
    first = 0
    for block in blocks:
        if row < first + block.X.shape[0]:
            return _Found(row, None, block.X[row - first : row - first + 1])
        first += block.X.shape[0]
    raise ValueError(f"--row must be at most {first - 1}, the last row of {data}, got {row}. The first row is 0.")


def _by_id(data: str, blocks: Iterable[nearlabel.datasets.RowBlock], column: str, value: str) -> _Found:
    """Find a row by its id; read all rows, as an id may occur twice."""
    found: list[_Found] = []
    first = 0
    for block in blocks:
        ids = [] if block.ids is None else [str(one) for one in block.ids]
        places = [place for place, one in enumerate(ids) if one == value]
        found += [_Found(first + place, value, block.X[place : place + 1]) for place in places[:2]]
        first += block.X.shape[0]
    if len(found) != 1:
        rows = ", ".join(str(one.row) for one in found[:2])
        got = f"rows {rows} of it. Hint: --row" if found else "none"
        raise ValueError(f"--id must name one row of {data} by {column}={value}, got {got}.")
    return found[0]


def _explained(model: _model.OpenModel, X: Any) -> nearlabel.lazy.Explanation:
    """Explain one row."""
    if not nearlabel.models.explains(model.model):
        raise ValueError(
            f"MODEL must be a method by neighbours to be explained, got {type(_model.last_step(model.model)).__name__}."
            " Hint: nearlabel fit --method mlknn."
        )
    return nearlabel.models.explain(model.model, X, label_names=model.label_names)[0]
