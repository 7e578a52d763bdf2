"""Training and test parts of data sets, and digests that identify data sets, for all kinds of plans."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import joblib
import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from nearlabel import __version__
from nearlabel.datasets import Dataset, catalogue, duplicate_groups, fetch_dataset, load_dataset, load_multidigits
from nearlabel.experiments._preparing import Columns
from nearlabel.utils.targets import PartialLabels, partial_labels_and_names
from nearlabel.utils.types import BoolArray, IntArray, Matrix
from nearlabel.utils.validation import first_not_finite, numbers_of, without_missing

# A data set to split into folds, or its given training and test parts.
Problem: TypeAlias = Dataset | tuple[Dataset, Dataset]


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


def check_matrices(name: str, X: Matrix, Y: Matrix, *, impute: str | None = None) -> None:
    """Raise ValueError unless X is finite (apart from imputed missing values) and Y contains only 0, 1 and NaN."""
    X = numbers_of(X) if impute is None else without_missing(numbers_of(X))
    bad = np.count_nonzero(~np.isfinite(X.data if sparse.issparse(X) else X))
    first = first_not_finite(X) if bad else None
    if first is not None:
        raise ValueError(
            f"X of {name} must be finite, got {bad} missing or infinite values, the first in row {first.row}, column"
            f" {first.column}, counted from 0. Hint: impute missing values."
        )
    PartialLabels.of(Y, name=f"Y of {name}", dtype=None)


def stacked(upper: Matrix, lower: Matrix) -> Matrix:
    """Return both matrices stacked, as CSR if either is sparse."""
    either_sparse = sparse.issparse(upper) or sparse.issparse(lower)
    return sparse.vstack([upper, lower], format="csr") if either_sparse else np.vstack([upper, lower])


def problem_digest(problem: Problem) -> str:
    """Return a hash of samples and label sets, which identifies the data in the plan of a run.

    Parameters
    ----------
    problem : Dataset or (Dataset, Dataset)
        A data set, or its given training and test parts.

    Returns
    -------
    str
        Equal for equal values, but different for dense and sparse storage; names do not count.
    """
    parts = problem if isinstance(problem, tuple) else (problem,)
    groups = [part.groups for part in parts if part.groups is not None]
    return str(joblib.hash([*((_content(part.X), _content(part.Y)) for part in parts), *groups]))


def _content(matrix: Matrix) -> Any:
    """Return the contents of the matrix, without scipy's cached attributes, which change with use."""
    if not sparse.issparse(matrix):
        return np.ascontiguousarray(matrix)
    rows = sparse.csr_array(matrix, copy=True)
    rows.sum_duplicates()
    return rows.shape, rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data


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


# Exact copies of samples, which make metrics on held-out samples optimistic.

_MOST_LISTED = 2**24  # maximum of neighbours in all lists, and minimum per row, because of copies
_LEAST_OF_ROW = 30


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


def groups_of_copies(X: Matrix) -> IntArray:
    """Return group numbers, equal for equal samples; samples with only zeros form their own groups.

    Empty samples carry no information, so they do not count as copies; otherwise there may be too many copies for any
    evaluation.
    """
    groups = duplicate_groups(X)
    empty = np.flatnonzero(_empty_rows(X))
    groups[empty] = groups.max(initial=0) + 1 + np.arange(len(empty))
    numbers: IntArray = np.unique(groups, return_inverse=True)[1]
    return numbers


def _empty_rows(X: Matrix) -> BoolArray:
    if X.dtype.kind == "O":  # cells of several kinds
        return np.zeros(X.shape[0], dtype=bool)
    return np.asarray((X != 0).sum(axis=1) == 0 if sparse.issparse(X) else ~X.any(axis=1))


def have_copies(groups: IntArray, training: IntArray, rows: IntArray) -> BoolArray:
    """Return which samples equal a training sample."""
    return np.isin(groups[rows], groups[training])


def in_small_groups(groups: IntArray) -> tuple[IntArray, BoolArray]:
    """Return groups, with the largest ones split into single rows, and which rows are not in the largest ones.

    A row needs as many additional neighbours as its group has rows; this limits the size of all lists.
    """
    of_row = np.bincount(groups)[groups]
    small = of_row <= max(_LEAST_OF_ROW, _MOST_LISTED // len(groups))
    alone = groups.max() + 1 + np.arange(len(groups))
    numbers: IntArray = np.unique(np.where(small, groups, alone), return_inverse=True)[1]
    return numbers, small
