"""Label sets with unknown cells, split into label sets and a mask.

A cell is unknown if y contains NaN, None, a missing value of pandas or polars, a masked value of numpy, or, in a sparse
y, a stored NaN. Unknown does not mean negative: functions that accept such a y use the known cells only.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import bdtr, bdtrc

from nearlabel.utils.containers import missing, without_sparse_frame
from nearlabel.utils.messages import AdviceWarning
from nearlabel.utils.targets import NEGATIVE_HINT, as_label_matrix, label_names_of, labels_and_names, tags_of
from nearlabel.utils.types import FloatArray, IntArray, LabelType, Matrix, MatrixLike


class PartialLabels(NamedTuple):
    """Label sets (n_samples, n_labels) with 0 where a cell is unknown, and the mask of unknown cells.

    `unknown` is a boolean array, or canonical CSR of True if the label sets are sparse; None if all cells are known.
    """

    labels: Matrix
    unknown: Matrix | None

    @classmethod
    def of(cls, y: MatrixLike, *, name: str = "y", dtype: LabelType | None = np.int64) -> PartialLabels:
        """Split label sets; without unknown cells they are as `as_label_matrix` returns them.

        Parameters
        ----------
        y : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Contains 0, 1 and missing values for unknown cells.
        name : str, default="y"
            Name in messages.
        dtype : type, default=np.int64
            As in `as_label_matrix`.

        Raises
        ------
        ValueError
            If y is not two-dimensional, has no labels, or contains anything else.
        """
        y = without_sparse_frame(y)
        values = _as_floats(y)
        if values is None:
            return cls(as_label_matrix(y, name=name, dtype=dtype), None)
        data = values.data if sparse.issparse(values) else values
        hidden = np.isnan(data)
        if (data[~hidden] < 0).any():
            raise ValueError(f"{name} must contain 0, 1 and NaN only, got {data[~hidden].min():g}.{NEGATIVE_HINT}")
        if not sparse.issparse(values):
            return cls(as_label_matrix(np.where(hidden, 0.0, values), name=name, dtype=dtype), hidden)
        known = sparse.csr_array((np.where(hidden, 0.0, data), values.indices, values.indptr), shape=values.shape)
        labels = as_label_matrix(known, name=name, dtype=dtype)
        unknown = sparse.csr_array((hidden, values.indices, values.indptr), shape=values.shape)
        unknown.eliminate_zeros()  # in place: the last use of `values`
        return cls(labels, unknown)

    def rows(self, some: Any) -> PartialLabels:
        """Return some rows; their mask is None only if the whole mask is None."""
        return PartialLabels(self.labels[some], None if self.unknown is None else self.unknown[some])

    def with_nan(self) -> Matrix:
        """Return the label sets as float64 with NaN in unknown cells; unchanged if all cells are known."""
        if self.unknown is None:
            return self.labels
        if not sparse.issparse(self.labels):
            return np.where(self.unknown, np.nan, self.labels)
        unknown = self.unknown.astype(np.float64)
        unknown.data[:] = np.nan
        return sparse.csr_array(self.labels.astype(np.float64) + unknown)


def has_unknown(Y: Matrix) -> bool:
    """Return whether label sets, an array or CSR array, have unknown cells."""
    return n_unknown(Y) > 0


def n_unknown(Y: Matrix) -> int:
    """Return the number of unknown cells."""
    values = Y.data if sparse.issparse(Y) else Y
    return int(np.isnan(values).sum()) if values.dtype.kind == "f" else 0


def groups_of_labels(unknown: Matrix) -> list[tuple[IntArray, IntArray]]:
    """Return the labels that are unknown in the same rows, and those rows, by the first label of each group."""
    columns = sparse.csc_array(unknown)
    columns.sort_indices()
    groups: dict[bytes, list[int]] = {}
    hidden = np.split(columns.indices, columns.indptr[1:-1])
    for label, rows in enumerate(hidden):
        groups.setdefault(rows.tobytes(), []).append(label)
    return [(np.array(labels), hidden[labels[0]]) for labels in groups.values()]


def partial_labels_and_names(y: MatrixLike, *, name: str = "y") -> tuple[PartialLabels, NDArray[Any]]:
    """Return label sets, possibly with unknown cells, and the names of the labels, as `labels_and_names` does.

    Raises
    ------
    ValueError
        If y is neither tags nor accepted by `PartialLabels.of`.
    """
    if tags_of(y) is not None:
        labels, names = labels_and_names(y, name=name)
        return PartialLabels(labels, None), names
    parts = PartialLabels.of(y, name=name)
    return parts, label_names_of(y, parts.labels.shape[1])


def _as_floats(y: MatrixLike) -> Any:
    """Return y as float64 with NaN in unknown cells, dense or canonical CSR; None if all cells are known."""
    if sparse.issparse(y):
        return _sparse_floats(y)
    if np.ma.is_masked(y):
        y = np.ma.filled(y.astype(np.float64), np.nan)
    try:
        values: Any = np.asarray(y)
    except ValueError:  # rows of unequal length: `as_label_matrix` explains
        return None
    if values.ndim == 2 and values.dtype.kind == "O":
        values = _object_floats(values)
    return values if values is not None and values.dtype.kind == "f" and np.isnan(values).any() else None


def _sparse_floats(y: Any) -> Any:
    values = sparse.csr_array(y)
    if values.dtype.kind != "f" or not np.isnan(values.data).any():
        return None
    values = values.astype(np.float64, copy=True)
    values.sum_duplicates()
    return values


def _object_floats(values: Any) -> FloatArray | None:
    """Return cells that are numbers or missing as floats; None if there are others."""
    unknown = missing(values.ravel()).reshape(values.shape)
    if not all(isinstance(value, numbers.Real | np.bool_) for value in values[~unknown]):
        return None
    return np.where(unknown, np.nan, values).astype(np.float64)


# Advice where folds of consecutive rows differ in their labels as ordered rows do.

_MOST_FOLDS = 100  # more folds are too small for the test
_CHANCE = 1e-6  # of a warning about rows in a random order


def advise_if_ordered(y: MatrixLike, folds: Sequence[IntArray]) -> None:
    """Warn if a fold has less than half or more than twice its share of a label, which chance hardly makes.

    Parameters
    ----------
    y : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Label sets.
    folds : sequence of ndarrays
        The validation rows of each fold.
    """
    if len(folds) > _MOST_FOLDS:
        return
    labels = PartialLabels.of(y).labels
    counts = np.vstack([np.asarray(labels[rows].sum(axis=0)).ravel() for rows in folds])
    n_rows = np.array([len(rows) for rows in folds])[:, np.newaxis]
    share, total = n_rows / n_rows.sum(), counts.sum(axis=0)
    few, many = counts < share * total / 2, counts > share * total * 2
    chances = np.where(few, bdtr(counts, total, share), np.where(many, bdtrc(counts - 1, total, share), 1.0))
    fold, label = np.unravel_index(chances.argmin(), chances.shape)
    if chances[fold, label] * chances.size < _CHANCE:
        n, n_here, n_all = int(n_rows[fold, 0]), int(counts[fold, label]), int(total[label])
        warnings.warn(
            f"The samples seem to be ordered: label {label} is in {n_here} of the {n} samples of a fold, and in"
            f" {n_all - n_here} of the other {n_rows.sum() - n}. Folds of consecutive samples then differ from each"
            " other. Hint: random_state=0 shuffles, as does cv=KFold(5, shuffle=True, random_state=0).",
            AdviceWarning,
            stacklevel=2,
        )
