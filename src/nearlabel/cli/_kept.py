"""--id and --show: columns of the training data that are saved with the model for display."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nearlabel.cli import _data
from nearlabel.datasets.tables import column_names_of, read_columns


def open_kept(arguments: argparse.Namespace) -> Mapping[str, Sequence[Any]]:
    """Return the columns of DATA to save with the model.

    Raises
    ------
    ValueError
        If DATA is no table, or a name is no column, or one of a label.
    """
    asked = _asked(arguments)
    if not asked:
        return {}
    _data.check_file(arguments.data)
    known = column_names_of(Path(arguments.data)) if _data.is_file(arguments.data) else None
    option = next(iter(asked.values()))
    if known is None:
        raise ValueError(
            f"{option} must go with a table (CSV, Excel, JSON lines or Parquet), got {arguments.data!r}, whose columns"
            " are features and labels only."
        )
    for name, option in asked.items():
        if _data.is_label(arguments, name):
            raise ValueError(f"{option} must name columns that are not labels, got {name!r}.")
    return read_columns(Path(arguments.data), asked, decimal=arguments.decimal or ".")


def kept_in(arguments: argparse.Namespace, names: Iterable[str]) -> dict[str, list[str]] | None:
    """Return the columns of DATA that have the names of a model's saved columns, as texts; None if there is none."""
    known = column_names_of(Path(arguments.data)) if _data.is_file(arguments.data) else None
    there = {name: "--show" for name in names if name in (known or ())}
    if not there:
        return None
    columns = read_columns(Path(arguments.data), there, decimal=arguments.decimal or ".")
    return {name: ["" if cell is None else str(cell) for cell in cells] for name, cells in columns.items()}


def without_kept(arguments: argparse.Namespace) -> argparse.Namespace:
    """Return arguments that ignore the columns to keep, which `open_kept` has found in DATA.

    Those that --categorical, --text or --date declare stay features.
    """
    asked = _asked(arguments)
    declared = {*(arguments.categorical or ()), *(arguments.text or ()), *(arguments.date or ())}
    ignored = tuple(dict.fromkeys([*(arguments.ignore or ()), *(name for name in asked if name not in declared)]))
    return argparse.Namespace(**vars(arguments) | {"ignore": ignored}) if asked else arguments


def _asked(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the columns to keep, each with the option that names it."""
    of_id = {} if arguments.id is None else {arguments.id: "--id"}
    return {**of_id, **{name: "--show" for name in arguments.show or () if name not in of_id}}
