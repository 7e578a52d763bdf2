"""Missing features: imputed by training data, or refused with the line and the column."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy import sparse

from nearlabel.cli import _data, _unknown
from nearlabel.cli.arguments.data import NOT_IMPUTED
from nearlabel.datasets import Dataset
from nearlabel.datasets.tables import locate_row
from nearlabel.utils.types import Matrix
from nearlabel.utils.validation import first_not_finite, numbers_of, without_missing


def imputation(arguments: argparse.Namespace) -> str | None:
    """Return the imputation of missing features; None if there is none."""
    return None if arguments.impute == NOT_IMPUTED else str(arguments.impute)


def open_training_data(arguments: argparse.Namespace) -> Dataset:
    """Return the data set of the arguments, to which a model can be fitted."""
    data = _data.open_data(arguments)
    check_finite(arguments.data, data, imputes=imputation(arguments) is not None)
    _unknown.tell(data)
    return data


def check_finite(name: str, data: Dataset, *, imputes: bool) -> None:
    """Raise ValueError, with their number, for infinite features, or missing ones that are not imputed."""
    cells = numbers_of(data.X)
    X = without_missing(cells) if imputes else cells
    problem = not_finite(name, X, data.feature_names)
    if problem is None:
        return
    values = X.data if sparse.issparse(X) else X
    n_cells, n_missing = np.count_nonzero(~np.isfinite(values)), np.count_nonzero(np.isnan(values))
    count = f"; of such cells there are {n_cells}" if n_cells > 1 else ""
    hint = " Hint: --impute median replaces missing ones." if n_missing else ""
    raise ValueError(f"{problem}{count}.{hint}")


def not_finite(data: str, X: Matrix, feature_names: Sequence[str], *, first: int = 0) -> str | None:
    """Return an error message for the first value that is not finite; None if all are finite.

    `first` is the number of the first row of X in DATA.
    """
    place = first_not_finite(numbers_of(X))
    if place is None:
        return None
    where = f"{data}, {_location(data, first + place.row)}: column {feature_names[place.column]!r}"
    return f"{where} must contain numbers that are finite, got {place.got}"


def _location(data: str, row: int) -> str:
    return locate_row(Path(data), row) if _data.is_file(data) else f"row {row}"
