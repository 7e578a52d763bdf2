"""Training and test parts of data sets, and digests that identify data sets, for all kinds of plans."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from nearlabel import __version__
from nearlabel.datasets import Dataset
from nearlabel.selection.data import Columns, Problem, as_dataset, groups_of_copies, have_copies, problem_digest
from nearlabel.utils.types import BoolArray, IntArray, Matrix


class Fold(NamedTuple):
    """A training and a test part of a data set."""

    dataset: str
    seed: int | None  # None: given split
    number: int
    X: Matrix
    Y: Matrix
    training: IntArray
    test: IntArray
    groups: IntArray | None = None  # groups of the training samples
    columns: Columns = Columns((), ())  # of X
    copied: BoolArray | None = None  # which test samples equal a training sample, for metrics without copies
    label_names: Sequence[str] = ()

    def label(self) -> dict[str, Any]:
        """Return the fields of a record that identify its fold."""
        return {"dataset": self.dataset, "seed": self.seed, "fold": self.number}


def given_fold(name: str, training: Dataset, test: Dataset) -> Fold:
    """Return the given split as a fold; raise ValueError if the parts do not match."""
    for what in ("feature_names", "label_names", "feature_kinds"):
        if getattr(training, what) != getattr(test, what):
            raise ValueError(f"training and test part of {name} must have the same {what}, in the same order.")
    n, m = training.X.shape[0], test.X.shape[0]
    X, Y = stacked(training.X, test.X), stacked(training.Y, test.Y)
    rows, test_rows = np.arange(n), np.arange(n, n + m)
    columns, names = Columns.of(training), training.label_names
    return Fold(name, None, 0, X, Y, rows, test_rows, training.groups, columns, label_names=names)


def shuffled_fold(name: str, problem: Dataset, seed: int, number: int, training: IntArray, test: IntArray) -> Fold:
    """Return a fold of a data set, of the rows with some numbers."""
    groups = None if problem.groups is None else problem.groups[training]
    columns, names = Columns.of(problem), problem.label_names
    return Fold(name, seed, number, problem.X, problem.Y, training, test, groups, columns, label_names=names)


def stacked(upper: Matrix, lower: Matrix) -> Matrix:
    """Return both matrices stacked, as CSR if either is sparse."""
    either_sparse = sparse.issparse(upper) or sparse.issparse(lower)
    return sparse.vstack([upper, lower], format="csr") if either_sparse else np.vstack([upper, lower])


def description(
    settings: Mapping[str, Any], problems: Mapping[str, Problem], objects: Mapping[str, Mapping[str, str]]
) -> dict[str, Any]:
    """Return the inputs that determine a plan's records: settings, the library's version and a digest of each problem.

    `objects` are descriptions of the objects behind names, by setting. Cells are compared by the kinds of their
    columns, which digests do not include, so the kinds are described too. Both are left out if empty.
    """
    described: dict[str, Any] = {"objects": dict(objects)} if any(objects.values()) else {}
    kinds = {name: of_columns for name, problem in problems.items() if (of_columns := _kinds_of_cells(problem))}
    described |= {"kinds": kinds} if kinds else {}
    digests = {name: problem_digest(problem) for name, problem in problems.items()}
    return {**settings, **described, "version": __version__, "problems": digests}


def _kinds_of_cells(problem: Problem) -> dict[str, str]:
    """Return the kinds of the non-numeric columns; empty if X is an array of numbers."""
    data = problem[0] if isinstance(problem, tuple) else problem
    named = zip(data.feature_names, data.feature_kinds, strict=True) if data.X.dtype.kind == "O" else ()
    return {name: kind for name, kind in named if kind != "number"}


# Data for experiments: data sets by name, by path, as pairs of arrays, or as objects.


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


# Exact copies of samples, which make metrics on held-out samples optimistic.


def share_of_copies(problem: Problem) -> float:
    """Return the share of samples that equal an earlier sample; empty samples do not count.

    Parameters
    ----------
    problem : Dataset or (Dataset, Dataset)
        A data set, or its given training and test parts, whose samples are combined.

    Returns
    -------
    float
        From 0 to below 1; 0.5 if every sample occurs twice.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.experiments import share_of_copies
    >>> round(share_of_copies(load_multidigits()), 3)
    0.021
    """
    X = stacked(problem[0].X, problem[1].X) if isinstance(problem, tuple) else problem.X
    return 1.0 - len(np.unique(groups_of_copies(X))) / max(int(X.shape[0]), 1)


def copied_rows(training: Dataset, test: Dataset) -> BoolArray:
    """Return which test samples equal a training sample; empty samples do not count.

    Parameters
    ----------
    training, test : Dataset
        Data sets with the same features.

    Returns
    -------
    ndarray of bool of shape (n_test_samples,)
        True if an equal training sample exists.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.experiments import copied_rows
    >>> digits = load_multidigits()
    >>> bool(copied_rows(digits, digits).all())
    True
    """
    n, m = training.X.shape[0], test.X.shape[0]
    return have_copies(groups_of_copies(stacked(training.X, test.X)), np.arange(n), np.arange(n, n + m))
