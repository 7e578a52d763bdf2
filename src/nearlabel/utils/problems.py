"""Checked training data: samples, and label sets with possibly unknown cells."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length

from nearlabel.utils.containers import is_frame, missing, without_sparse_frame
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.targets import (
    LabelContainer,
    Target,
    check_target,
    label_names_of,
    name_of_column,
    refusal_of_unknown,
    remember_target,
    require_labels,
    tags_of,
)
from nearlabel.utils.types import BoolArray, LabelSets, LabelType, Matrix, MatrixLike
from nearlabel.utils.validation import check_rows, check_sample_weight, is_dask_array


class Problem(NamedTuple):
    """Samples (n_samples, n_features), label sets (n_samples, n_labels) and the mask of unknown cells or None."""

    X: Matrix
    labels: Matrix
    unknown: Matrix | None


def check_problem(
    estimator: Any,
    X: MatrixLike,
    y: MatrixLike,
    *,
    takes_unknown: bool = False,
    takes_dask: bool = False,
    label_dtype: LabelType = np.int64,
) -> Problem:
    """Return training samples and label sets, dense or CSR, and set the classifier's attributes of y.

    A dask array y is gathered; X is converted by `check_rows`, and y by `as_label_matrix`.

    Raises
    ------
    ValueError
        If X or y is malformed, their lengths differ, or cells of y are unknown unless `takes_unknown`.
    """
    require_labels(estimator, y)
    X = check_rows(estimator, X, takes_dask=takes_dask)
    target, unknown = check_partial_target(estimator, y, dtype=label_dtype)
    if unknown is not None and not takes_unknown:
        raise refusal_of_unknown(estimator, int(unknown.sum()))
    check_consistent_length(X, target.labels)
    remember_target(estimator, target)
    return Problem(X, target.labels, unknown)


def check_partial_target(
    estimator: object, y: MatrixLike, *, dtype: LabelType = np.int64, may_know_nothing: bool = False
) -> tuple[Target, Matrix | None]:
    """Return the result of `check_target`, with 0 in unknown cells, and their mask; None if all cells are known.

    In a list of tags, None is a sample without known labels. With `may_know_nothing`, for samples that are added later,
    all cells of a matrix may be unknown.

    Raises
    ------
    ValueError
        If y is malformed, or all cells are unknown.
    """
    if is_dask_array(y):
        y = y.compute()
    if hasattr(y, "__array__") and not isinstance(y, Iterable) and not is_frame(y):
        y = np.asarray(y)
    values = objects_of(y)
    if values is None:
        return _matrix_target(y, dtype, may_know_nothing=may_know_nothing)
    unknown = missing(values)
    if not unknown.any():
        return check_target(estimator, y, dtype=dtype), None
    if unknown.all():
        raise _nothing_known(unknown)
    known = check_target(estimator, values[~unknown].tolist(), dtype=dtype)
    labels = np.zeros((len(values), known.labels.shape[1]), dtype=dtype)
    labels[~unknown] = known.labels
    names = known.names if known.container.classes is None else name_of_column(y)
    return Target(labels, known.container, names), np.repeat(unknown[:, np.newaxis], labels.shape[1], axis=1)


def objects_of(y: MatrixLike) -> NDArray[Any] | None:
    """Return the values or tags of a one-dimensional y, with None for masked ones; None if y is a matrix."""
    if sparse.issparse(y) or isinstance(y, str | dict) or not isinstance(y, Iterable):
        return None
    if len(getattr(y, "shape", (0,))) != 1 or hasattr(y, "column_names"):
        return None
    if isinstance(y, np.ndarray) and y.dtype.kind != "O" and not np.ma.isMaskedArray(y):
        return y
    as_list = getattr(y, "to_pylist", getattr(y, "to_list", getattr(y, "tolist", None)))  # None where masked
    values = list(y) if as_list is None else as_list()
    rows = [value for value in values if isinstance(value, Collection) and not isinstance(value, str | bytes)]
    if rows and tags_of(rows) is None:
        return None
    return np.fromiter(values, dtype=object, count=len(values))


def _matrix_target(y: MatrixLike, dtype: LabelType, *, may_know_nothing: bool) -> tuple[Target, Matrix | None]:
    matrix = without_sparse_frame(y)
    labels, unknown = PartialLabels.of(matrix, dtype=dtype)
    if unknown is not None and not may_know_nothing and unknown.sum() == np.prod(labels.shape):
        raise _nothing_known(labels)
    return Target(labels, LabelContainer.of(matrix), label_names_of(y, labels.shape[1])), unknown


def _nothing_known(y: Matrix) -> ValueError:
    return ValueError(f"y must have a known cell, got none in shape {y.shape}.")


# The method `score` of every classifier: the share of samples whose label set is predicted exactly.


def score(self: Any, X: MatrixLike, y: MatrixLike, sample_weight: ArrayLike | None = None) -> float:
    """Return the share of samples whose label set is predicted exactly (exact match).

    Parameters
    ----------
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Samples.
    y : array-like, data frame or sparse container of shape (n_samples, n_labels) or (n_samples,)
        Their label sets, or their tags. A label set with a tag that the classifier does not know is never an exact
        match. If cells of a matrix are unknown (NaN), only the known ones are compared; a sample without known cells is
        left out, and so is a sample with None instead of tags or a class.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    ValueError
        If X or y is malformed, all cells are unknown, or their lengths differ.
    """
    values = objects_of(y)
    known = np.zeros(0, dtype=np.bool_) if values is None else ~missing(values)
    if values is not None and known.any() and not known.all():
        check_consistent_length(X, values)
        some = np.flatnonzero(known)
        weights = None if sample_weight is None else check_sample_weight(sample_weight, len(known))[some]
        return float(self.score(_safe_indexing(X, some), values[some].tolist(), weights))
    tags = tags_of(y)
    if tags is not None:
        predicted = self.predict_labels(X)
        check_consistent_length(tags, predicted)
        return _mean([set(true) == set(names) for true, names in zip(tags, predicted, strict=True)], sample_weight)
    y = without_sparse_frame(y)
    truth = PartialLabels.of(y) if self._container.classes is None else None
    if truth is None or truth.unknown is None:
        return float(ClassifierMixin.score(self, X, y, sample_weight))
    check_consistent_length(X, truth.labels)
    known = np.asarray(truth.unknown.sum(axis=1) < truth.unknown.shape[1])
    return _mean(_are_right(truth, self.predict(X)), sample_weight, known)


def _are_right(truth: PartialLabels, predicted: LabelSets) -> BoolArray:
    """Return which samples (n_samples,) are predicted correctly in all known cells."""
    labels, predicted, unknown = (
        sparse.csr_array(matrix, dtype=np.int64) for matrix in (*truth[:1], predicted, truth[1])
    )
    wrong = abs(labels - predicted)
    return np.asarray((wrong - wrong * unknown).sum(axis=1) == 0)


def _mean(hits: Any, sample_weight: ArrayLike | None, counted: BoolArray | None = None) -> float:
    """Return the weighted mean of hits (n_samples,) over the samples that count."""
    weights = np.ones(len(hits)) if sample_weight is None else check_sample_weight(sample_weight, len(hits))
    weights = weights if counted is None else weights * counted
    if not weights.any():
        raise ValueError("y must have a known cell in a sample with a weight above 0, got none.")
    return float(np.average(np.asarray(hits, dtype=np.float64), weights=weights))
