"""The base class of the samplers: checks of X and y, and results in the containers of X and y."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_consistent_length, validate_data

from nearlabel.models.out_of_sample import rows_of
from nearlabel.utils.containers import (
    check_row_names,
    checked_container,
    columns_of,
    is_dask_array,
    is_frame,
    is_sparse_frame,
)
from nearlabel.utils.one_step import all_or_nothing
from nearlabel.utils.tags import names_of_labels, tags_of
from nearlabel.utils.targets import Target, check_partial_target, refusal_of_unknown, require_labels
from nearlabel.utils.types import CSR, AnyArray, FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense, check_rows


class Resampled(NamedTuple):
    """The result of a sampler for n_samples rows: first rows taken from them, then synthetic ones.

    Parameters
    ----------
    source : ndarray of int of shape (n_taken,)
        The row that each is a copy of; a row may come several times.
    labels : ndarray or CSR of shape (n_taken + n_synthetic, n_labels), default=None
        Label sets. None: those of the sources.
    synthetic : ndarray or CSR of shape (n_synthetic, n_features), default=None
        Synthetic rows, stored as X. None: none.
    seeds : ndarray of int of shape (n_synthetic,), default=None
        The row that each synthetic one was made from, -1 if it was made of several.
    """

    source: IntArray
    labels: Matrix | None = None
    synthetic: Matrix | None = None
    seeds: IntArray | None = None


class Sampler(BaseEstimator, ABC):
    """Make other training samples from the given ones, like imbalanced-learn's samplers, for label matrices.

    A subclass stores its parameters, `random_state` among them if it draws, and defines `_resample`, which gets checked
    rows and label sets, each dense or CSR.
    """

    _reads_features: ClassVar[bool] = True  # else X may contain anything: texts, categories, missing values
    # Leave-one-out predictions, of groups too, are nearly those of refits: not if rows are deleted, as some of a
    # group may stay, nor where a row is made of several, because it is left out with its seed only.
    _stands_for_refits: ClassVar[bool] = True
    _names_seeds: ClassVar[bool] = True  # else rows are made of several, none of which can be left out

    random_state: int | np.random.RandomState | None = None
    sample_indices_: IntArray
    seed_indices_: IntArray
    label_names_: AnyArray
    n_features_in_: int

    @all_or_nothing
    def fit_resample(self, X: MatrixLike, y: MatrixLike) -> tuple[MatrixLike, MatrixLike]:
        """Return other samples and their label sets, made from the given ones.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training samples.
        y : array-like, data frame or sparse container of shape (n_samples, n_labels) or (n_samples,)
            Label sets as an indicator matrix of 0 and 1, one label of two classes, or the tags of each sample, a list,
            tuple or set of texts.

        Returns
        -------
        X_resampled : array, data frame or CSR of shape (n_resampled, n_features)
            In the container of X; sparse samples become CSR, lists an array. Samples taken from X come first, then
            synthetic ones. A data frame keeps its index if samples were only deleted, and is renumbered if some were
            added.
        y_resampled : array, data frame, CSR or list of shape (n_resampled, n_labels) or (n_resampled,)
            In the container and of the type of y; tags as lists, in alphabetical order.

        Raises
        ------
        ValueError
            If X or y is malformed, their lengths differ, cells of y are unknown, or a parameter is out of range.
        TypeError
            If a parameter is of a wrong type.
        """
        self._check_parameters()
        require_labels(self, y)
        check_row_names(X=X, y=y)
        rows = self._checked_rows(X)
        target, unknown = check_partial_target(self, y)
        if unknown is not None:
            raise refusal_of_unknown(self, int(unknown.sum()))
        check_consistent_length(rows, target.labels)
        made = self._resample(rows, target.labels, check_random_state(self.random_state))
        n_synthetic = 0 if made.synthetic is None else made.synthetic.shape[0]
        self.label_names_ = target.names
        self.sample_indices_ = np.append(made.source, np.full(n_synthetic, -1)).astype(np.intp)
        self.seed_indices_ = np.append(made.source, [] if made.seeds is None else made.seeds).astype(np.intp)
        labels = target.labels[made.source] if made.labels is None else made.labels
        resampled = rows_like(X, rows, made.source, made.synthetic)
        return resampled, labels_like(y, target, labels, self.sample_indices_)

    def fit(self, X: MatrixLike, y: MatrixLike) -> Self:
        """Resample and store only the origin of each row; use `fit_resample` to get the samples.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training samples.
        y : array-like, data frame or sparse container of shape (n_samples, n_labels) or (n_samples,)
            Their label sets, as for `fit_resample`.

        Returns
        -------
        self
            The sampler with `sample_indices_` and `seed_indices_`.

        Raises
        ------
        ValueError
            As `fit_resample`.
        TypeError
            As `fit_resample`.
        """
        self.fit_resample(X, y)
        return self

    @abstractmethod
    def _resample(self, X: Matrix, labels: Matrix, random: np.random.RandomState) -> Resampled:
        """Return which of the rows (n_samples, n_features) to take, and which to add."""

    def _check_parameters(self) -> None:
        """Raise unless the sampler's own parameters are valid."""

    def _checked_rows(self, X: MatrixLike) -> Matrix:
        """Return X as an array or CSR: of numbers if the sampler reads features, else of anything."""
        if self._reads_features or is_dask_array(X):  # which `check_rows` rejects
            return check_rows(self, X)
        return validate_data(self, checked_container("X", X), accept_sparse="csr", dtype=None, ensure_all_finite=False)

    def __sklearn_tags__(self) -> Tags:
        """Declare that y is needed and may be an indicator matrix, and that X may be sparse."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = not self._reads_features
        tags.input_tags.string = not self._reads_features
        return tags


# Samples and label sets of a resampled data set in the containers of the original.


def rows_like(X: MatrixLike, rows: Matrix, source: IntArray, synthetic: Matrix | None) -> MatrixLike:
    """Return rows of X by their numbers, then synthetic ones, in the container of X; `rows` are X after its checks.

    A column of whole numbers keeps its type unless a synthetic row has a fraction there.
    """
    if synthetic is None or synthetic.shape[0] == 0:
        return _with_index(rows_of(X, source), X, source) if is_frame(X) else rows[source]
    values = _joined(rows[source], synthetic)
    return _frame_like(X, values) if is_frame(X) else values


def labels_like(y: MatrixLike, target: Target, labels: Matrix, sample_indices: IntArray) -> MatrixLike:
    """Return label sets (n_resampled, n_labels) in the container of y."""
    if tags_of(y) is not None:
        made: Any = [list(names) for names in names_of_labels(labels, target.names)]
    elif is_frame(y) and target.container.classes is None:
        return _with_index(_frame_like(y, labels), y, sample_indices)
    else:
        made = target.container.wrap(labels)
    is_series = hasattr(y, "to_frame")  # of pandas or polars
    return _with_index(_series_like(y, made), y, sample_indices) if is_series else made


def stacked(parts: list[Matrix]) -> Matrix:
    """Return parts below each other, in the container of the first."""
    if not sparse.issparse(parts[0]):
        return np.concatenate(parts)
    return type(parts[0])(sparse.vstack(parts, format="csr"))


def _joined(taken: Matrix, synthetic: Matrix) -> Matrix:
    """Return one matrix in the container of the taken rows, of their type if it can represent the synthetic values."""
    values = synthetic.data if sparse.issparse(synthetic) else synthetic
    dtype = taken.dtype if taken.dtype.kind == "f" or _are_whole(values) else np.dtype(np.float64)
    return stacked([taken.astype(dtype, copy=False), synthetic.astype(dtype, copy=False)])


def _with_index(made: Any, frame: Any, sample_indices: IntArray) -> Any:
    """Return a frame or series of pandas with the index of its rows if some were only deleted, else renumbered."""
    if not hasattr(made, "iloc"):
        return made
    only_went = (sample_indices >= 0).all() and (np.diff(sample_indices) > 0).all()
    return made.set_axis(frame.index[sample_indices]) if only_went else made.reset_index(drop=True)


def _frame_like(frame: Any, values: Matrix) -> Any:
    """Return a data frame or Arrow table of numbers, with the names of columns and their types."""
    if is_sparse_frame(frame):
        return type(frame).sparse.from_spmatrix(sparse.csr_array(values), columns=frame.columns)
    columns = as_dense(values).T
    if hasattr(frame, "column_names"):
        made = type(frame).from_pydict(dict(zip(frame.column_names, columns, strict=True)))
        arrays = [
            new.cast(old.type) if _holds(old.type, new) else new
            for old, new in zip(frame.columns, made.columns, strict=True)
        ]
        return type(frame).from_arrays(arrays, names=frame.column_names)
    series = [_series_like(old, new) for old, new in zip(columns_of(frame), columns, strict=True)]
    if not hasattr(frame, "iloc"):
        return type(frame)(series)
    made = type(frame)(dict(enumerate(series)))
    made.columns = frame.columns  # which need not be distinct
    return made


def _series_like(series: Any, values: Any) -> Any:
    """Return a series of pandas or polars with other values, of its type if that can represent them."""
    if hasattr(series, "iloc"):
        made = type(series)(values, name=series.name)
        return made.astype(series.dtype) if _holds(series.dtype, values) else made
    made = type(series)(series.name, values)
    return made.cast(series.dtype) if _holds(series.dtype, values) else made


def _holds(dtype: object, values: Any) -> bool:
    """Return whether a type of pandas, polars or Arrow can represent values: only fractions need one of floats."""
    numbers = np.asarray(values) if not isinstance(values, list) else np.empty(0)
    if numbers.dtype.kind != "f" or any(name in str(dtype).lower() for name in ("float", "double")):
        return True
    return _are_whole(numbers)


def _are_whole(values: AnyArray) -> bool:
    return bool((values == np.round(values)).all())


# Prototypes of groups of rows: the features and labels of a group, and when a group need not be divided.


def have_a_label_in_common(labels: CSR, rows: IntArray) -> bool:
    """Return whether some label is one of all the rows: they are *homogeneous*."""
    return int(np.bincount(labels[rows].indices).max(initial=0)) == len(rows)


def numbered_by_first(groups: IntArray) -> IntArray:
    """Return groups (n_rows,) under the numbers 0, 1, ..., in the order of their first rows."""
    _, first, number = np.unique(groups, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number]


def group_of_each(parts: Sequence[IntArray]) -> IntArray:
    """Return the part (n_rows,) of each row; parts are numbered in the order of their first rows."""
    part = np.repeat(np.arange(len(parts)), [len(rows) for rows in parts])
    return numbered_by_first(part[np.argsort(np.concatenate(parts))])


def rows_of_each(group_of: IntArray) -> list[IntArray]:
    """Return the rows of groups 0, 1, ..., ascending."""
    sizes = np.bincount(group_of)
    return np.split(np.argsort(group_of, kind="stable"), np.cumsum(sizes)[:-1])


def majority_labels(labels: Matrix, group_of: IntArray) -> Matrix:
    """Return the labels on more than half of the rows of each group (n_groups, n_labels), stored as `labels`."""
    sizes = np.bincount(group_of)
    counts = sparse.csr_array(indicator(group_of) @ sparse.csr_array(labels, dtype=np.int64))
    counts.data = (2 * counts.data > np.repeat(sizes, np.diff(counts.indptr))).astype(np.int64)
    counts.eliminate_zeros()
    counts.sort_indices()
    return counts if sparse.issparse(labels) else as_dense(counts)


def indicator(group_of: IntArray) -> CSR:
    """Return the matrix (n_groups, n_rows) whose product with rows adds those of each group, in their order."""
    n_rows = len(group_of)
    entries = (np.ones(n_rows, dtype=np.int64), (group_of, np.arange(n_rows)))
    return sparse.csr_array(entries, shape=(int(group_of.max()) + 1, n_rows))


def medians(X: Matrix, groups: Sequence[IntArray]) -> Matrix:
    """Return the median of each feature in each group (n_groups, n_features) in float64, stored as `X`."""
    if sparse.issparse(X):
        return _sparse_medians(X, groups)
    middle: FloatArray = np.empty((len(groups), X.shape[1]))
    for number, rows in enumerate(groups):
        middle[number] = X[rows[0]] if len(rows) == 1 else np.median(X[rows].astype(np.float64, copy=False), axis=0)
    return middle


def _sparse_medians(X: CSR, groups: Sequence[IntArray]) -> CSR:
    parts = [_sparse_median(X, rows) for rows in groups]
    ends = np.cumsum([0, *(len(columns) for columns, _ in parts)])
    columns = np.concatenate([columns for columns, _ in parts])
    values = np.concatenate([values for _, values in parts])
    return sparse.csr_array((values, columns, ends), shape=(len(groups), X.shape[1]))


def _sparse_median(X: CSR, rows: IntArray) -> tuple[IntArray, FloatArray]:
    """Return where the medians of the features are not 0, and their values.

    A feature stored in less than half of the rows has the median 0. The other features are made dense together, so they
    take at most twice the memory of the stored values.
    """
    some = X[rows]
    columns, place, count = np.unique(some.indices, return_inverse=True, return_counts=True)
    kept = np.flatnonzero(2 * count >= len(rows))
    values = sparse.csr_array((some.data.astype(np.float64), place, some.indptr), shape=(len(rows), len(columns)))
    middle = np.median(values[:, kept].toarray(), axis=0)
    return columns[kept][middle != 0], middle[middle != 0]


# The base class of samplers that replace all samples by fewer ones, prototypes.


class Reduction(Sampler):
    """Replace each group of samples by one prototype: medians of the features, labels of the majority.

    A subclass stores its parameters and defines `_groups`. No prototype counts as an original sample, even if it equals
    one: `sample_indices_` and `seed_indices_` are -1, and `prototype_of_` is the prototype of each sample.
    """

    _names_seeds = False
    _stands_for_refits = False
    prototype_of_: IntArray

    @abstractmethod
    def _groups(self, X: Matrix, labels: CSR) -> IntArray:
        """Return the group (n_samples,) of each row, numbered 0, 1, ..., in the order of their first rows."""

    def _resample(self, X: Matrix, labels: Matrix, random: np.random.RandomState) -> Resampled:
        self.prototype_of_ = self._groups(X, sparse.csr_array(labels))
        prototypes = medians(X, rows_of_each(self.prototype_of_))
        return Resampled(
            source=np.empty(0, dtype=np.intp),
            labels=majority_labels(labels, self.prototype_of_),
            synthetic=prototypes,
            seeds=np.full(prototypes.shape[0], -1),
        )
