"""Checks of y, and of X with y: label sets of any container as an indicator matrix, unknown cells, names, and back."""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length

from nearlabel.utils.characters import check_whole
from nearlabel.utils.codes import refusal_of_numbers, refusal_of_objects
from nearlabel.utils.containers import checked_container, gathered, is_frame, missing, of_numpy, without_sparse_frame
from nearlabel.utils.tags import (
    UNKNOWN_HINT,
    among_unknown,
    as_column,
    classes_of,
    column_name,
    objects_of,
    other_than_tag,
    rows_mask,
    tag_matrix,
    tags_of,
)
from nearlabel.utils.types import CSR, FloatArray, IntArray, LabelSets, LabelType, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense, check_rows


class UnknownCellsError(ValueError):
    """Label sets have unknown cells, but all cells must be known."""

    def __init__(self, name: str, n_cells: int) -> None:
        super().__init__(f"{name} must contain 0 and 1 only, got NaN or not a number in {n_cells} cells.")
        self.n_cells = n_cells


def as_label_matrix(y: MatrixLike, *, name: str = "y", dtype: LabelType | None = np.int64) -> Matrix:
    """Return label sets as an indicator matrix: a dense array of a type or, for sparse input, a canonical CSR array.

    A dense array of that type is returned without a copy, and a byte array as a view if int8 is possible: copy the
    result before storing it. Sums of int8 must be computed in int64, as numpy's `sum` does; products do not.

    Parameters
    ----------
    y : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Contains 0 and 1 (or False and True) only. A data frame with sparse columns is sparse input.
    name : str, default="y"
        Name in messages.
    dtype : type, default=np.int64
        np.int64; np.int8, for one byte per cell; or None: int8 for bytes and booleans, otherwise int64.

    Raises
    ------
    ValueError
        If y is not two-dimensional, has no labels, or contains anything but 0 and 1.
    """
    plain = _plain(without_sparse_frame(y), name)
    if sparse.issparse(plain):
        return _as_sparse_labels(plain, name).astype(dtype or np.int64)
    labels = _as_dense_labels(plain, name, y)
    if labels.dtype.itemsize == 1 and dtype is not np.int64:
        return labels.view(np.int8)
    return labels.astype(dtype or np.int64, copy=False)


def _plain(y: MatrixLike, name: str) -> MatrixLike:
    """Return y as `checked_container` does; structs of polars become dictionaries."""
    return y.to_list() if type(getattr(y, "dtype", None)).__name__ == "Struct" else checked_container(name, y)


def _as_sparse_labels(y: Any, name: str) -> CSR:
    labels = sparse.csr_array(y, copy=True)
    labels.sum_duplicates()
    labels.eliminate_zeros()
    _check_label_shape(labels.shape, name)
    if labels.dtype.kind == "f" and np.isnan(labels.data).any():
        raise UnknownCellsError(name, int(np.isnan(labels.data).sum()))
    if not _are_zero_one(labels.data):
        values = labels.data if labels.nnz == np.prod(labels.shape) else np.append(labels.data, 0)
        raise refusal_of_numbers(y, values, name)
    return labels


def _as_dense_labels(y: Any, name: str, given: Any) -> Matrix:
    """Return checked label sets; `given` is y as the user passed it, for the remedy in a message."""
    try:
        labels = np.asarray(y)
    except ValueError as error:
        raise ValueError(
            f"{name} must be an indicator matrix (n_samples, n_labels), got rows of unequal length.{other_than_tag(y)}"
        ) from error
    if labels.ndim == 1 and labels.dtype.kind == "f" and (labels != np.round(labels)).any():
        raise ValueError(f"{name} must be an indicator matrix of 0 and 1, got a continuous target.")
    _check_label_shape(labels.shape, name, other_than_tag(y) if labels.dtype.kind == "O" else "")
    if labels.dtype.kind in "OU":  # data frames with several types or nullable types; text
        labels = _as_numbers(labels, name, given)
    if labels.dtype.kind not in "buif":
        raise ValueError(f"{name} must contain 0 and 1 only, got values of type {labels.dtype}.")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise UnknownCellsError(name, int(np.isnan(labels).sum()))
    if not _are_zero_one(labels):
        raise refusal_of_numbers(given, labels.ravel(), name)
    return labels


def _as_numbers(cells: NDArray[Any], name: str, given: Any) -> FloatArray:
    """Return cells (n_samples, n_labels) as floats with NaN for missing ones; raise ValueError for anything else."""
    objects = cells.astype(object)
    unknown = missing(objects.ravel()).reshape(objects.shape)
    known = objects[~unknown]
    if not all(isinstance(value, numbers.Real | np.bool_) for value in known):
        raise refusal_of_objects(given, known, name, has_unknown=bool(unknown.any()))
    return np.where(unknown, np.nan, objects).astype(np.float64)


def _check_label_shape(shape: tuple[int, ...], name: str, hint: str = "") -> None:
    if len(shape) != 2:
        hint = hint or " Hint: a single label is one column, y.reshape(-1, 1)."
        raise ValueError(f"{name} must be an indicator matrix of shape (n_samples, n_labels), got shape {shape}.{hint}")
    if shape[1] == 0:
        raise ValueError(f"{name} must have at least one label, got shape {shape}.")


def _are_zero_one(values: Any) -> bool:
    if values.dtype.kind in "bui" and values.size and values.min() >= 0 and values.max() <= 1:
        return True  # half the time of the general case, and no copy
    return not ((values != 0) & (values != 1)).any()


@dataclass(frozen=True, eq=False)
class LabelContainer:
    """The form of y, to return predictions and scores in the same form."""

    kind: type | None  # csr_array or csr_matrix; None for dense
    dtype: np.dtype[Any]
    classes: NDArray[Any] | None = None  # classes of a one-dimensional y, sorted: one or two

    @classmethod
    def of(cls, y: MatrixLike) -> LabelContainer:
        """Return the form of an indicator matrix: dense (arrays, lists, data frames), sparse array or sparse matrix."""
        if sparse.issparse(y):
            kind = sparse.csr_array if isinstance(y, sparse.sparray) else sparse.csr_matrix
            return cls(kind, y.dtype)
        dtype = np.asarray(y).dtype
        return cls(None, dtype if dtype.kind in "buif" else np.dtype(np.int64))

    def wrap(self, labels: Matrix) -> LabelSets:
        """Return label sets (n_samples, n_labels) in the container and dtype of y, or as the classes of a 1-D y."""
        if self.classes is not None:
            # A y with one class has no second class to predict.
            return self.classes.take(as_dense(labels)[:, 0], mode="clip")
        if self.kind is None:
            return as_dense(labels).astype(self.dtype, copy=False)
        return self.kind(labels, dtype=self.dtype)

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Return scores (n_samples, n_labels) as a result of `predict_proba`: one column for each class of a 1-D y."""
        if self.classes is None:
            return scores
        if len(self.classes) == 1:
            return np.ones_like(scores)
        return np.hstack([1 - scores, scores])

    def decisions(self, scores: FloatArray) -> FloatArray:
        """Return scores (n_samples, n_labels) as a result of `decision_function`: (n_samples,) for a 1-D y."""
        return scores if self.classes is None else scores[:, 0]


class Target(NamedTuple):
    """A checked y: its label sets, its form, and the names of its labels."""

    labels: Matrix  # (n_samples, n_labels), dense or CSR
    container: LabelContainer
    names: NDArray[Any]  # (n_labels,)


class CountedLabels(NamedTuple):
    """A y that was checked elsewhere, and the number of samples that have each label."""

    target: Target
    frequencies: IntArray


def check_target(estimator: object, y: MatrixLike, *, dtype: LabelType = np.int64) -> Target:
    """Return the checked target: an indicator matrix, tags, or a 1-D y of two classes as one label.

    The label sets have a type that `as_label_matrix` returns.

    Raises
    ------
    ValueError
        If y is missing or none of these.
    """
    require_labels(estimator, y)
    y = of_numpy("y", gathered(y))
    tags = tags_of(y)
    if tags is not None:
        labels, names = tag_matrix(tags, dtype)
        kind = sparse.csr_array if sparse.issparse(labels) else None
        return Target(labels, LabelContainer(kind, np.dtype(np.int64)), names)
    matrix = without_sparse_frame(checked_container("y", y))
    column = as_column(matrix)
    if column is None:
        try:
            labels = as_label_matrix(matrix, dtype=dtype)
        except UnknownCellsError as error:
            raise refusal_of_unknown(estimator, error.n_cells) from error
        return Target(labels, LabelContainer.of(matrix), label_names_of(y, labels.shape[1]))
    classes = classes_of(column)
    # The label is the second class; with only one class, no sample has the label.
    labels = (column == classes[-1]).astype(dtype) if len(classes) == 2 else np.zeros(len(column), dtype=dtype)
    return Target(labels.reshape(-1, 1), LabelContainer(None, column.dtype, classes), column_name(y))


def refusal_of_unknown(estimator: object, n_cells: int) -> ValueError:
    """Return the error of a classifier that cannot learn from label sets with unknown cells."""
    return ValueError(f"y must have no unknown cells for {type(estimator).__name__}, got {n_cells}.{UNKNOWN_HINT}")


def labels_and_names(y: MatrixLike, *, name: str = "y") -> tuple[Matrix, NDArray[Any]]:
    """Return label sets as an indicator matrix, and the label names: tags, columns of a data frame, or numbers.

    Raises
    ------
    ValueError
        If y is neither an indicator matrix nor tags.
    """
    tags = tags_of(y)
    if tags is not None:
        return tag_matrix(tags)
    labels = as_label_matrix(y, name=name)
    return labels, label_names_of(y, labels.shape[1])


def remember_target(estimator: Any, target: Target) -> None:
    """Set the fitted attributes of every classifier that depend on y: its form, the classes and the label names.

    Raises ValueError if a name has half a character, which no file of the model can contain.

    `classes_` of an indicator matrix are the column numbers. They are Python integers in an array of objects because
    scikit-learn would take a one-dimensional array of two integers, or of one, for the classes of a single label.
    """
    check_whole("y", target.names if target.container.classes is None else target.container.classes)
    estimator._container = target.container
    classes, n_labels = target.container.classes, target.labels.shape[1]
    estimator.classes_ = np.arange(n_labels).astype(object) if classes is None else classes
    estimator.label_names_ = target.names


def require_labels(estimator: object, y: MatrixLike | None) -> None:
    """Raise ValueError, in scikit-learn's words, if there are no label sets."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")


def with_multilabel_target(tags: Tags) -> Tags:
    """Return tags for a target that is an indicator matrix, or one column of two classes."""
    tags.target_tags.multi_output = True
    tags.classifier_tags.multi_label = True
    tags.classifier_tags.multi_class = False
    return tags


def label_names_of(y: MatrixLike, n_labels: int) -> NDArray[Any]:
    """Return the column names of a data frame or table, else 0 .. n_labels - 1.

    Raises
    ------
    ValueError
        If two names are equal, or equal as text, which is how files store them.
    """
    # pyarrow calls the names `column_names`; its `columns` are the data.
    columns = getattr(y, "column_names", getattr(y, "columns", None))
    if columns is None:
        return np.arange(n_labels)
    name, count = Counter(map(str, columns)).most_common(1)[0]
    if count > 1:
        raise ValueError(f"y must have distinct column names, got {name!r} twice.")
    return np.asarray(columns)


# Label sets with unknown cells, split into label sets and a mask.
#
# A cell is unknown if y contains NaN, None, a missing value of pandas or polars, a masked value of numpy, or, in a
# sparse y, a stored NaN. Unknown does not mean negative: functions that accept such a y use the known cells only.


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
        values = _as_floats(y, name)
        if values is None:
            return cls(as_label_matrix(y, name=name, dtype=dtype), None)
        data = values.data if sparse.issparse(values) else values
        hidden = np.isnan(data)
        if values.ndim == 2 and not _are_zero_one(data[~hidden]):
            zero = [0.0] * int(values.nnz < np.prod(values.shape)) if sparse.issparse(values) else []
            raise refusal_of_numbers(y, np.append(data[~hidden], zero), name, has_unknown=True)
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


def _as_floats(y: MatrixLike, name: str) -> Any:
    """Return y as float64 with NaN in unknown cells, dense or canonical CSR; None if all cells are known."""
    y = _plain(y, name)
    if sparse.issparse(y):
        return _sparse_floats(y)
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


# Checked training data: samples, and label sets with possibly unknown cells.


def check_problem(
    estimator: Any,
    X: MatrixLike,
    y: MatrixLike,
    *,
    takes_unknown: bool = False,
    takes_dask: bool = False,
    label_dtype: LabelType = np.int64,
) -> tuple[Matrix, Matrix, Matrix | None]:
    """Return X, label sets, dense or CSR, and the mask of unknown cells or None; set the classifier's attributes of y.

    A dask array y is gathered, and `CountedLabels` stay unchanged; X is converted by `check_rows`, and y by
    `as_label_matrix`.

    Raises
    ------
    ValueError
        If X or y is malformed, their lengths differ, or cells of y are unknown unless `takes_unknown`.
    """
    require_labels(estimator, y)
    X = check_rows(estimator, X, takes_dask=takes_dask)
    if isinstance(y, CountedLabels):
        target, unknown = y.target, None
    else:
        target, unknown = check_partial_target(estimator, y, dtype=label_dtype)
    if unknown is not None and not takes_unknown:
        raise refusal_of_unknown(estimator, int(unknown.sum()))
    check_consistent_length(X, target.labels)
    remember_target(estimator, target)
    return X, target.labels, unknown


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
    if type(y) is np.ndarray and y.ndim == 2 and y.dtype.kind in "bui":  # the usual y: nothing to look for
        names = np.arange(y.shape[1])
        return Target(as_label_matrix(y, dtype=dtype), LabelContainer(None, y.dtype), names), None
    y = of_numpy("y", gathered(y))
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
    labels = among_unknown(known.labels, unknown)
    names = known.names if known.container.classes is None else column_name(y)
    return Target(labels, known.container, names), rows_mask(unknown, labels)


def _matrix_target(y: MatrixLike, dtype: LabelType, *, may_know_nothing: bool) -> tuple[Target, Matrix | None]:
    matrix = without_sparse_frame(y)
    labels, unknown = PartialLabels.of(matrix, dtype=dtype)
    if unknown is not None and not may_know_nothing and unknown.sum() == np.prod(labels.shape):
        raise _nothing_known(labels)
    return Target(labels, LabelContainer.of(matrix), label_names_of(y, labels.shape[1])), unknown


def _nothing_known(y: Matrix) -> ValueError:
    return ValueError(f"y must have a known cell, got none in shape {y.shape}.")
