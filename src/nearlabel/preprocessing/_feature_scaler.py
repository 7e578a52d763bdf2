"""Scaling of features, dense and sparse, fitted to the training samples."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.preprocessing import MinMaxScaler, StandardScaler, normalize
from sklearn.utils import Tags
from sklearn.utils.sparsefuncs import min_max_axis
from sklearn.utils.validation import check_is_fitted

from nearlabel.preprocessing._training_range import KEEP, OutOfRange, TrainingRange, check_out_of_range, has_range
from nearlabel.utils.one_step import all_or_nothing
from nearlabel.utils.types import CSR, BoolArray, FloatArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense, check_choice, check_rows, largest_size

SCALES = ("none", "minmax", "standard", "tfidf")
_LARGEST = 1e150  # squares of larger features do not add up in float64
_NO_COUNTS = {"category", "date"}


def check_scale(scale: str, feature_kinds: Sequence[str]) -> None:
    """Raise ValueError unless there is such a scaling, for features of these kinds."""
    check_choice("scale", scale, SCALES)
    if scale == "tfidf" and "text" not in feature_kinds and (found := sorted(_NO_COUNTS.intersection(feature_kinds))):
        raise ValueError(
            f"scale must be one of none, minmax, standard with features of kind {found[0]}, got 'tfidf', which weights"
            " counts of words or texts."
        )


def are_categories(feature_kinds: Sequence[str]) -> BoolArray:
    """Return which features are coordinates of categories: their distances must not be scaled."""
    return np.array([kind == "category" for kind in feature_kinds], dtype=bool)


class FeatureScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Scale features as fitted to the training samples, like `Plan` and ``nearlabel evaluate --scale``.

    Each feature is shifted and multiplied. scikit-learn's scalers do that for dense samples; this one does the same for
    sparse samples, accepts a container other than that of `fit`, and does not change categories.

    Parameters
    ----------
    scale : {"none", "minmax", "standard", "tfidf"}, default="none"
        "minmax": to [0, 1] on the training samples, other samples may be outside; "standard": mean 0, deviation 1.
        Sparse training samples are multiplied but not shifted, which would fill them. "tfidf": counts of terms times
        log(D / D_t), where D_t of the D training samples have term t; then samples are scaled to Euclidean length 1. A
        term that no training sample has gets weight 0.
    feature_kinds : sequence of str of length n_features, default=()
        As `nearlabel.datasets.Dataset.feature_kinds`. Features of kind "category" are not changed: the distances of
        their coordinates are overlap distances. Flags are scaled as the numbers 0 and 1. Empty: all are numbers.
    out_of_range : {"clip", "keep"} or float, default="keep"
        What happens to values outside the range of the training samples: "clip": they are moved to its nearest end;
        "keep": nothing; a number c: they are moved to the end of a range that is wider by c times its width on each
        side. The fitted models of ``nearlabel fit`` and `NeighborsClassifierCV` clip. Sparse training samples, words
        (no value below 0, three in four are 0) and categories have no range: they are never moved.

    Attributes
    ----------
    offset_ : ndarray of shape (n_features,)
        Numbers that are subtracted first.
    factor_ : ndarray of shape (n_features,)
        Numbers that the differences are multiplied by.
    range_ : TrainingRange or None
        Has ``low_`` and ``high_``, the least and the largest value of each feature; None if there are no ranges.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    nearlabel.experiments.Plan : Scales by the training part of each fold.

    Notes
    -----
    "tfidf" always gives CSR. scikit-learn's `TfidfTransformer` adds 1 to the logarithm.

    Examples
    --------
    >>> from nearlabel.preprocessing import FeatureScaler
    >>> FeatureScaler("minmax").fit([[0.0, 5.0], [4.0, 5.0]]).transform([[1.0, 6.0]])
    array([[0.25, 1.  ]])

    A category has two columns with 1/2 each, so that two categories differ by 1. This does not change.

    >>> X = [[20.0, 0.5, 0.5], [60.0, 0.0, 0.0]]
    >>> FeatureScaler("minmax", feature_kinds=("number", "category", "category")).fit_transform(X)
    array([[0. , 0.5, 0.5],
           [1. , 0. , 0. ]])

    The values of next month may be far from those of the training samples.

    >>> scaler = FeatureScaler("minmax", out_of_range="clip").fit([[0.0, 5.0], [4.0, 5.5]])
    >>> scaler.transform([[9.0, 5.0]])
    array([[1., 0.]])
    >>> scaler.is_out_of_range([[9.0, 5.0], [7.0, 5.0]]).sum(axis=0)
    array([2, 0])
    """

    # Of scalers that were saved before there were ranges.
    range_: TrainingRange | None = None
    out_of_range: OutOfRange = KEEP

    def __init__(self, scale: str = "none", feature_kinds: Sequence[str] = (), out_of_range: OutOfRange = KEEP) -> None:
        self.scale = scale
        self.feature_kinds = feature_kinds
        self.out_of_range = out_of_range

    @all_or_nothing
    def fit(self, X: MatrixLike, y: object = None) -> Self:
        """Learn offsets and factors.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training samples.
        y : None
            Not used.

        Returns
        -------
        self
            The fitted scaler.

        Raises
        ------
        ValueError
            If X is malformed, `scale` or `out_of_range` is unknown, or `scale` is "tfidf" with categories, or the
            number of `feature_kinds` is not that of features.
        """
        check_scale(self.scale, self.feature_kinds)
        check_out_of_range(self.out_of_range)
        rows = check_rows(self, X)
        if self.scale in ("minmax", "standard") and largest_size(rows) > _LARGEST:
            raise ValueError(
                f"X must have features of at most {_LARGEST:g}, whose squares add up in float64, got"
                f" {largest_size(rows):.3g}. Hint: multiply them by a small number first."
            )
        self.offset_, self.factor_ = _STATISTICS[self.scale](rows)
        is_ranged = self.scale != "tfidf" and has_range(rows)
        self.range_ = TrainingRange(self.out_of_range).fit(rows) if is_ranged else None
        self._spare_categories()
        return self

    def _spare_categories(self) -> None:
        n_kinds, n_features = len(self.feature_kinds), len(self.factor_)
        if n_kinds not in (0, n_features):
            raise ValueError(f"feature_kinds must contain {n_features} kinds, one for each feature, got {n_kinds}.")
        if "category" in self.feature_kinds:
            spared = are_categories(self.feature_kinds)
            self.offset_ = np.where(spared, 0.0, self.offset_)
            self.factor_ = np.where(spared, 1.0, self.factor_)
            if self.range_ is not None:
                self.range_.low_[spared], self.range_.high_[spared] = -np.inf, np.inf

    def transform(self, X: MatrixLike) -> Matrix:
        """Scale samples.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_rows, n_features)
            Samples.

        Returns
        -------
        ndarray or CSR array of shape (n_rows, n_features)
            Sparse samples stay sparse unless they must be shifted.
        """
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False)
        if self.scale == "tfidf":
            return normalize(_multiplied(sparse.csr_array(rows), self.factor_))
        if self.range_ is not None and self.out_of_range != KEEP:
            rows = self.range_.transform(as_dense(rows))
            if self.scale == "none":  # without a copy
                return rows
        if sparse.issparse(rows) and not self.offset_.any():
            return _multiplied(rows, self.factor_)
        dense = rows.toarray() if sparse.issparse(rows) else rows
        return (dense - self.offset_) * self.factor_

    def is_out_of_range(self, X: MatrixLike) -> BoolArray:
        """Return which values are outside the range of the training samples.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_rows, n_features)
            Samples.

        Returns
        -------
        outside : ndarray of bool of shape (n_rows, n_features)
            The sum over the rows counts them by feature. All False if features have no ranges.
        """
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False)
        if self.range_ is None:
            return np.broadcast_to(np.False_, rows.shape)  # takes no memory: there may be many words
        return self.range_.is_outside(as_dense(rows))

    @property
    def follows_samples(self) -> bool:
        """Whether only the range depends on the training samples, so that it can change with them (`with_range_of`)."""
        return self.scale == "none" and self.range_ is not None

    def with_range_of(self, X: MatrixLike, *, widen: bool) -> Self:
        """Return a copy with the range of changed training samples: equal to a fit to them if ``scale="none"``.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_rows, n_features)
            The training samples, or with `widen` those that are added.
        widen : bool
            Whether the range includes the present one.

        Returns
        -------
        FeatureScaler
            The copy; without a range if this scaler has none.
        """
        check_is_fitted(self)
        other, rows = copy(self), as_dense(check_rows(self, X, reset=False))
        if self.range_ is not None:
            other.range_ = self.range_.widened(rows) if widen else clone(self.range_).fit(rows)
            other._spare_categories()
        return other

    def __sklearn_tags__(self) -> Tags:
        """Declare to scikit-learn that X may be sparse."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _multiplied(rows: CSR, factor: FloatArray) -> CSR:
    return sparse.csr_array(rows @ sparse.diags_array(factor))


def _as_they_are(rows: Matrix) -> tuple[FloatArray, FloatArray]:
    return np.zeros(rows.shape[1]), np.ones(rows.shape[1])


def _minmax(rows: Matrix) -> tuple[FloatArray, FloatArray]:
    if not sparse.issparse(rows):
        scaler = MinMaxScaler().fit(rows)
        return scaler.data_min_, scaler.scale_
    low, high = min_max_axis(rows, axis=0)
    width = high - low
    width[width < 10 * np.finfo(np.float64).eps] = 1.0  # as MinMaxScaler does for dense rows
    return np.zeros(rows.shape[1]), 1.0 / width


def _standard(rows: Matrix) -> tuple[FloatArray, FloatArray]:
    scaler = StandardScaler(with_mean=not sparse.issparse(rows)).fit(rows)
    return np.zeros(rows.shape[1]) if sparse.issparse(rows) else scaler.mean_, 1.0 / scaler.scale_


def _tfidf(rows: Matrix) -> tuple[FloatArray, FloatArray]:
    n_with = np.asarray((sparse.csr_array(rows) != 0).sum(axis=0)).reshape(-1)
    return np.zeros(rows.shape[1]), np.where(n_with > 0, np.log(rows.shape[0] / np.maximum(n_with, 1)), 0.0)


_STATISTICS = {"none": _as_they_are, "minmax": _minmax, "standard": _standard, "tfidf": _tfidf}
