"""Data sets of a selection: by name, path or arrays, their checks, digests and copies; and their preparation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import joblib
import numpy as np
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler, normalize
from sklearn.utils import check_array
from sklearn.utils.sparsefuncs import min_max_axis

from nearlabel.datasets import Dataset, catalogue, duplicate_groups, fetch_dataset, load_dataset, load_multidigits
from nearlabel.datasets.tables import check_unweighted
from nearlabel.preprocessing import (
    CLIP,
    KEEP,
    FeatureScaler,
    MixedFeaturesEncoder,
    OutOfRange,
    are_categories,
    check_scale,
    has_range,
)
from nearlabel.utils.containers import check_row_names, checked_samples
from nearlabel.utils.targets import PartialLabels, partial_labels_and_names
from nearlabel.utils.types import BoolArray, IntArray, Matrix
from nearlabel.utils.validation import check_choice, first_not_finite, numbers_of, without_missing

# A data set to split into folds, or its given training and test parts.
Problem: TypeAlias = Dataset | tuple[Dataset, Dataset]

_EMBEDDED = "multidigits"


def as_dataset(name: str, data: Any) -> Dataset:
    """Return a data set from a `Dataset`, a name, a path, or a pair (X, y) of arrays, frames or sparse matrices.

    Raises ValueError if it has weights of rows, which selections and comparisons do not count.
    """
    if isinstance(data, tuple) and len(data) == 2:
        return _from_arrays(name, *data)
    found = _found(name, data)
    check_unweighted(found)
    return found


def _found(name: str, data: Any) -> Dataset:
    if isinstance(data, Dataset):
        return data.with_arrays()
    if isinstance(data, str) and data == _EMBEDDED:
        return load_multidigits()
    if isinstance(data, str) and data in catalogue():
        return fetch_dataset(data)
    if isinstance(data, str | os.PathLike):
        return load_dataset(Path(data))
    raise TypeError(f"{name} must be a Dataset, a name, a path or a pair (X, y), got {type(data).__name__}.")


def _from_arrays(name: str, X: Any, y: Any) -> Dataset:
    check_row_names(X=X, y=y)
    of = f"X of {name}"
    plain = checked_samples(of, X)
    rows = check_array(plain, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, input_name=of)
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


# The preparation of features for a method: imputation and scaling, or encoding, fitted to the training samples.


class Columns(NamedTuple):
    """The names and kinds of the columns of X; `hold_cells`: whether they must be encoded; `have_range`: as numbers."""

    names: Sequence[str]
    kinds: Sequence[str]
    hold_cells: bool = False
    have_range: bool = False

    @classmethod
    def of(cls, data: Dataset) -> Columns:
        """Return the columns of a data set."""
        return cls(data.feature_names, data.feature_kinds, data.X.dtype.kind == "O", has_range(data.X))


def preparation(columns: Columns, impute: str | None, scale: str, out_of_range: OutOfRange) -> list[Any]:
    """Return the unfitted steps of a pipeline before the method.

    Parameters
    ----------
    columns : Columns
        Columns of the training samples.
    impute : {None, "mean", "median", "most_frequent"}
        Replacement of missing numbers and dates; None: they stay missing, so that the method raises an error.
    scale : {"none", "minmax", "standard", "tfidf"}
        Scaling of numbers and dates. "tfidf": where columns are texts, these alone are compared.
    out_of_range : {"clip", "keep"} or float
        What happens to numbers and dates outside the range of the training samples.

    Returns
    -------
    list of transformers
        A `MixedFeaturesEncoder` if columns contain cells; otherwise an imputer if requested, and a `FeatureScaler` if
        features are scaled or have a range.

    Raises
    ------
    ValueError
        If `scale` is "tfidf", which weights words, and a column is a category or date, and none is a text.
    """
    check_scale(scale, columns.kinds)
    if columns.hold_cells:
        return [_encoder(columns, impute, scale, out_of_range)]
    steps: list[Any] = [] if impute is None else [make_imputer(impute)]
    if scale != "none" or columns.have_range:  # with "keep" the step still counts the values outside
        steps.append(FeatureScaler(scale, columns.kinds if "category" in columns.kinds else (), out_of_range))
    return steps


def make_preparation(
    data: Dataset, *, impute: str | None = None, scale: str = "none", out_of_range: OutOfRange = CLIP
) -> Pipeline | None:
    """Return the transformer that `Candidate.fit` applies to the features of a data set before the method.

    Parameters
    ----------
    data : Dataset
        The data set; its columns are prepared by their kinds.
    impute : {None, "mean", "median", "most_frequent"}, default=None
        Replacement of missing numbers and dates.
    scale : {"none", "minmax", "standard", "tfidf"}, default="none"
        Scaling of numbers and dates; categories are not scaled. "tfidf": where columns are texts, these alone are
        compared.
    out_of_range : {"clip", "keep"} or float, default="clip"
        What happens to numbers and dates outside the range of the training samples, as in `Candidate`.

    Returns
    -------
    Pipeline or None
        An unfitted `nearlabel.preprocessing.MixedFeaturesEncoder` if X contains cells; otherwise an imputer if
        requested, and a `FeatureScaler` if features are scaled or have a range. None: features are unchanged.

    Raises
    ------
    ValueError
        If `scale` is "tfidf", which weights words, and a column is a category or date, and none is a text.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.experiments import make_preparation
    >>> make_preparation(load_multidigits(), scale="minmax")
    Pipeline(steps=[('featurescaler',
                     FeatureScaler(out_of_range='clip', scale='minmax'))])
    """
    steps = preparation(Columns.of(data), impute, scale, out_of_range)
    return make_pipeline(*steps) if steps else None


def prepared(columns: Columns, impute: str | None, scale: str, training: Matrix, test: Matrix) -> list[Matrix]:
    """Return training and test samples prepared as by `preparation`, with the same parameters.

    Numbers are rounded as by scikit-learn's scalers, and kept where they are outside the training range, so that
    records of plans stay bit-identical.
    """
    if columns.hold_cells:
        return prepared_by(preparation(columns, impute, scale, KEEP), training, test)
    rows, test_rows = imputed(impute, training, test)
    return list(scale_features(scale, rows, test_rows, columns.kinds))


def prepared_by(steps: list[Any], training: Matrix, *others: Matrix) -> list[Matrix]:
    """Return training and other samples, prepared by steps fitted to the training samples."""
    rows = [training, *others]
    for step in steps:
        rows = [step.fit_transform(rows[0]), *map(step.transform, rows[1:])]
    return [sparse.csr_array(part) if sparse.issparse(part) else part for part in rows]


def _encoder(columns: Columns, impute: str | None, scale: str, out_of_range: OutOfRange) -> MixedFeaturesEncoder:
    """Return the encoder of cells; by "tfidf" the texts alone are compared, and the other columns weigh nothing."""
    categories, texts, dates = (
        [place for place, of_column in enumerate(columns.kinds) if of_column == kind]
        for kind in ("category", "text", "date")
    )
    return MixedFeaturesEncoder(
        categorical=categories,
        text=texts,
        dates=dates,
        scale="none" if scale == "tfidf" else scale,
        out_of_range=out_of_range,
        missing_numbers=impute or ("median" if scale == "tfidf" else "distance"),
        weights={"numbers": 0, "dates": 0, "categories": 0} if scale == "tfidf" else None,
        feature_names=columns.names,
    )


# Scaling of features by statistics of the training samples.


def scale_features(
    scale: str, training: Matrix, test: Matrix, feature_kinds: Sequence[str] = ()
) -> tuple[Matrix, Matrix]:
    """Scale training and test samples by the statistics of the training samples.

    Parameters
    ----------
    scale : {"none", "minmax", "standard", "tfidf"}
        "minmax" scales to [0, 1] on the training samples; test values may be outside. "standard" scales to mean 0 and
        deviation 1. A constant feature is only shifted. Sparse data are divided but not shifted, which would make them
        dense: distances that depend on differences, such as Euclidean and Manhattan, are the same; the positions of
        zeros, which CML-kNN and feature selection use, are not. "tfidf" multiplies counts of terms by log(D / D_t),
        where D_t of the D training samples have term t, and divides each sample by its Euclidean norm; a term that no
        training sample has gets weight 0, and the result is sparse.
    training, test : ndarray or CSR array of shape (n_rows, n_features)
        Samples.
    feature_kinds : sequence of str of length n_features, default=()
        As in `Dataset.feature_kinds`; categories are unchanged. Empty: all features are numbers.

    Returns
    -------
    training, test : ndarray or CSR array
        The rows, scaled.
    """
    check_scale(scale, feature_kinds)
    if scale == "none":
        return training, test
    if "category" in feature_kinds:
        return _scaled_beside_categories(scale, training, test, are_categories(feature_kinds))
    if scale == "minmax" and sparse.issparse(training):
        low, high = min_max_axis(training, axis=0)
        width = high - low
        width[width < 10 * np.finfo(np.float64).eps] = 1.0  # as MinMaxScaler does for dense data
        inverse = sparse.diags_array(1.0 / width)
        return (training @ inverse).tocsr(), (test @ inverse).tocsr()
    if scale == "tfidf":
        return _tfidf(training, test)
    scaler = MinMaxScaler() if scale == "minmax" else StandardScaler(with_mean=not sparse.issparse(training))
    scaler.fit(training)
    return scaler.transform(training), scaler.transform(test)


def _scaled_beside_categories(
    scale: str, training: Matrix, test: Matrix, is_category: BoolArray
) -> tuple[Matrix, Matrix]:
    """Scale all features except categories."""
    numbers, categories = np.flatnonzero(~is_category), np.flatnonzero(is_category)
    if not len(numbers):
        return training, test
    scaled = scale_features(scale, training[:, numbers], test[:, numbers])
    order = np.argsort(np.concatenate([numbers, categories]))
    parts = zip(scaled, (training, test), strict=True)
    first, second = (_merged(part, rows[:, categories], order) for part, rows in parts)
    return first, second


def _merged(numbers: Matrix, categories: Matrix, order: IntArray) -> Matrix:
    if not sparse.issparse(numbers):
        return np.hstack([numbers, categories])[:, order]
    rows = sparse.hstack([numbers, categories], format="csr")[:, order]
    rows.sort_indices()
    return rows


def _tfidf(training: Matrix, test: Matrix) -> tuple[Matrix, Matrix]:
    training, test = sparse.csr_array(training), sparse.csr_array(test)
    n_with = np.asarray((training != 0).sum(axis=0)).reshape(-1)
    weight = np.where(n_with > 0, np.log(training.shape[0] / np.maximum(n_with, 1)), 0.0)
    weights = sparse.diags_array(weight)
    return normalize((training @ weights).tocsr()), normalize((test @ weights).tocsr())


# Imputation of missing features by statistics of the training samples.

IMPUTATIONS = ("mean", "median", "most_frequent")


def check_impute(impute: str | None) -> None:
    """Raise ValueError unless `impute` is None or the name of a statistic."""
    if impute is not None:
        check_choice("impute", impute, IMPUTATIONS)


def make_imputer(impute: str) -> SimpleImputer:
    """Return scikit-learn's imputer; a feature without training values becomes 0 instead of being removed."""
    return SimpleImputer(strategy=impute, keep_empty_features=True)


def imputed(impute: str | None, training: Matrix, *others: Matrix) -> list[Matrix]:
    """Return training and other samples with missing values replaced by a statistic of the training samples.

    Parameters
    ----------
    impute : {None, "mean", "median", "most_frequent"}
        The statistic; None: no imputation. In sparse data a value that is not stored is 0, not missing.
    training, *others : ndarray or CSR array of shape (n_rows, n_features)
        Samples; NaN is a missing value.

    Returns
    -------
    list of ndarray or CSR array
        The samples, in the same storage.
    """
    if impute is None:
        return [training, *others]
    imputer = make_imputer(impute).fit(training)
    filled = (imputer.transform(rows) for rows in (training, *others))
    return [sparse.csr_array(rows) if sparse.issparse(rows) else rows for rows in filled]
