"""Training and test parts of data sets, and digests that identify data sets, for all kinds of plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import joblib
import numpy as np
from scipy import sparse

from nearlabel import __version__
from nearlabel.datasets import Dataset
from nearlabel.experiments._preparing import Columns
from nearlabel.utils.partial_labels import PartialLabels
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
