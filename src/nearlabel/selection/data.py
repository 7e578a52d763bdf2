"""Data sets of a selection: by name, path or arrays, their checks and digests, and exact copies of samples."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeAlias

import joblib
import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from nearlabel.datasets import Dataset, catalogue, duplicate_groups, fetch_dataset, load_dataset, load_multidigits
from nearlabel.utils.targets import PartialLabels, partial_labels_and_names
from nearlabel.utils.types import BoolArray, IntArray, Matrix
from nearlabel.utils.validation import first_not_finite, numbers_of, without_missing

# A data set to split into folds, or its given training and test parts.
Problem: TypeAlias = Dataset | tuple[Dataset, Dataset]

_EMBEDDED = "multidigits"


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


# Exact copies of samples, which make metrics on held-out samples optimistic.

_MOST_LISTED = 2**24  # maximum of neighbours in all lists, and minimum per row, because of copies
_LEAST_OF_ROW = 30


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
