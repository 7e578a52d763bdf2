"""DATA on the command line: a name or a file, and for tables which columns are labels."""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nearlabel.cli import _console, _standard_input
from nearlabel.cli.arguments.data import DUPLICATES, EMBEDDED
from nearlabel.datasets import Dataset, catalogue, duplicate_groups, fetch_dataset, load_dataset, load_multidigits
from nearlabel.datasets.tables import SEPARATOR, feature_names_of, guess_separator_of, read_columns

_SAME = (
    "labels", "labels_prefix", "labels_column", "labels_separator", "unknown", "ignore", "decimal", "categorical",
    "text",
)  # fmt: skip
_PARAMETERS = {name: name for name in _SAME} | {"dates": "date"}  # of load_dataset, and the options for them


def open_data(arguments: argparse.Namespace, *, subset: str = "all") -> Dataset:
    """Return the data set of the arguments; the only subset of a file is "all"."""
    with _console.progress_bar(f"reading {arguments.data}"):
        return _read(arguments, subset)


def _read(arguments: argparse.Namespace, subset: str) -> Dataset:
    data: str = arguments.data
    given = {name: getattr(arguments, option, None) for name, option in _PARAMETERS.items()}
    options = {name: value for name, value in given.items() if value is not None}
    groups = getattr(arguments, "groups", None)
    if groups is None:
        return _found(data, options, subset)
    if groups == DUPLICATES:
        found = _found(data, options, subset)
        return replace(found, groups=duplicate_groups(found.X))
    numbers = _groups_by_column(data, groups)
    options["ignore"] = tuple(dict.fromkeys([*options.get("ignore", ()), groups]))
    return replace(_found(data, options, subset), groups=numbers)


def _groups_by_column(data: str, column: str) -> Any:
    """Return the number of each row's group: rows with equal cells in a column; a row with an empty cell is alone."""
    check_file(data)
    if not is_file(data):
        raise ValueError(f"--groups must be {DUPLICATES} for a data set of the catalogue, {data!r}, got {column!r}.")
    cells = read_columns(Path(data), {column: "--groups"})[column]
    names = [f"= {cell}" if cell not in (None, "") else f"row {row}" for row, cell in enumerate(cells)]
    return np.unique(names, return_inverse=True)[1]


def _found(data: str, options: dict[str, Any], subset: str) -> Dataset:
    check_file(data)
    is_path = data != EMBEDDED and is_file(data)
    if subset != "all" and (is_path or data == EMBEDDED):
        raise ValueError(f"{data} must be a name of the catalogue to have a given split. Hint: --cv 10.")
    if is_path:
        options = _with_separator(data, options)
        with warnings.catch_warnings():  # the separator is guessed or given
            warnings.filterwarnings("ignore", message="Each cell of .* is one tag")
            return load_dataset(data, **options)
    if options:
        option = _PARAMETERS[next(iter(options))].replace("_", "-")
        raise ValueError(f"--{option} must go with a file, got the data set {data!r}. Hint: its labels are known.")
    return load_multidigits() if data == EMBEDDED else fetch_dataset(data, subset=subset)


def _with_separator(data: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with a guess of the separator of tags if it is not given; the user is informed of it."""
    if "labels_column" not in options or "labels_separator" in options:
        return options
    guess = guess_separator_of(Path(data), options["labels_column"])
    if guess is None:
        return options
    _console.print_notes(
        [f"{guess!r} is used as the separator between tags, as most cells contain it. Hint: --labels-separator."]
    )
    return options | {"labels_separator": guess}


def separator_of(arguments: argparse.Namespace) -> str:
    """Return the separator of the tags in a column of a table, given or guessed."""
    guess = arguments.labels_separator or guess_separator_of(Path(arguments.data), arguments.labels_column)
    return guess or SEPARATOR


def feature_names(arguments: argparse.Namespace, id_column: str | None) -> tuple[str, ...] | None:
    """Return the names of the features of a file; None for svmlight, whose rows name features by number."""
    others = [*(arguments.labels or ()), *(arguments.ignore or ()), arguments.labels_column, id_column]
    return feature_names_of(
        Path(arguments.data),
        labels_prefix=arguments.labels_prefix,
        others=[name for name in others if name is not None],
    )


def has_tags(arguments: argparse.Namespace) -> bool:
    """Return whether labels are tags in one column, which does not name labels that no row has."""
    return arguments.labels_column is not None


def is_label(arguments: argparse.Namespace, name: str) -> bool:
    """Return whether the options name a column as a label, or as the tags."""
    prefixed = bool(arguments.labels_prefix) and name.startswith(arguments.labels_prefix)
    return prefixed or name == arguments.labels_column or name in (arguments.labels or ())


def check_file(data: str) -> None:
    """Refuse a folder, and a pipe, which can be read only once."""
    if data not in catalogue() and Path(data).is_dir():
        raise ValueError(f"{data} must be a file or a name of the catalogue, got a folder.")
    if Path(data).is_fifo():
        hint = f"Hint: {_standard_input.NAME} reads standard input."
        raise ValueError(f"{data} must be a file that can be read twice, got a pipe. {hint}")


def check_other_file(file: Path, others: Iterable[Path | None], option: str, names: str) -> None:
    """Refuse to write a file where another one of the command is, or will be."""
    for other in filter(None, others):
        is_same = os.path.realpath(file) == os.path.realpath(other)
        if is_same or (file.exists() and other.exists() and file.samefile(other)):
            raise ValueError(f"{option} must be another file than {names}, got {file}.")


def is_file(data: str) -> bool:
    """Return whether DATA is a file rather than a name."""
    return data not in catalogue() and (Path(data).is_file() or "/" in data or "\\" in data or "." in data)
