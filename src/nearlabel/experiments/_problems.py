"""Data for experiments: data sets by name, by path, as pairs of arrays, or as objects."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_array

from nearlabel.datasets import Dataset, catalogue, fetch_dataset, load_dataset, load_multidigits
from nearlabel.experiments._folds import Problem
from nearlabel.utils.partial_labels import partial_labels_and_names

_EMBEDDED = "multidigits"


def as_problems(problems: Mapping[str, Any] | Iterable[Any]) -> dict[str, Problem]:
    """Return data sets with their names, as `run` accepts them.

    Raises
    ------
    TypeError
        If they are neither a mapping nor a list, or an item is not a data set.
    ValueError
        If a name occurs twice, or data are malformed.
    """
    if isinstance(problems, Mapping):
        return {name: as_problem(name, problem) for name, problem in problems.items()}
    if isinstance(problems, str | Dataset) or not isinstance(problems, Iterable):
        raise TypeError(f"problems must be a mapping or a list of data sets, got {problems!r}.")
    named: dict[str, Problem] = {}
    for problem in problems:
        if not isinstance(problem, str | os.PathLike | Dataset):
            raise TypeError(f"problems must be a mapping if data have no names, got {type(problem).__name__}.")
        dataset = as_dataset("", problem)
        if dataset.name in named:
            raise ValueError(f"problems must have distinct names, got {dataset.name!r} twice. Hint: a mapping.")
        named[dataset.name] = dataset
    return named


def as_problem(name: str, problem: Any) -> Problem:
    """Return a data set, or a given split: a pair of data sets of any kind except bare arrays."""
    if isinstance(problem, tuple) and len(problem) == 2 and all(map(_is_whole, problem)):
        training, test = (as_dataset(name, part) for part in problem)
        return training, test
    return as_dataset(name, problem)


def _is_whole(part: Any) -> bool:
    """Return whether an item of a pair is a data set, and not the X or the y of one."""
    return isinstance(part, Dataset | str | os.PathLike | tuple)


def as_dataset(name: str, data: Any) -> Dataset:
    """Return a data set from a `Dataset`, a name, a path, or a pair (X, y) of arrays, frames or sparse matrices."""
    if isinstance(data, Dataset):
        return data.with_arrays()
    if isinstance(data, str) and data == _EMBEDDED:
        return load_multidigits()
    if isinstance(data, str) and data in catalogue():
        return fetch_dataset(data)
    if isinstance(data, str | os.PathLike):
        return load_dataset(Path(data))
    if not isinstance(data, tuple) or len(data) != 2:
        raise TypeError(f"{name} must be a Dataset, a name, a path or a pair (X, y), got {type(data).__name__}.")
    return _from_arrays(name, *data)


def _from_arrays(name: str, X: Any, y: Any) -> Dataset:
    rows = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, input_name=f"X of {name}")
    parts, names = partial_labels_and_names(y, name=f"y of {name}")
    columns = getattr(X, "columns", None)
    feature_names = [f"x{column}" for column in range(rows.shape[1])] if columns is None else map(str, columns)
    return Dataset(rows, parts.with_nan(), tuple(feature_names), tuple(map(str, names)), name)
