"""Selection of features by information gain, symmetrical uncertainty or document frequency."""

from __future__ import annotations

import numbers
from math import fsum
from typing import Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, check_array, check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from nearlabel.preprocessing import _information_gain as gains
from nearlabel.utils.containers import check_row_names, checked_container
from nearlabel.utils.naming import registered
from nearlabel.utils.one_step import all_or_nothing
from nearlabel.utils.targets import labels_and_names, require_labels
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import check_flag, check_integer, check_positive, check_rows


def document_frequency(X: MatrixLike, y: object = None) -> IntArray:
    """Return in how many samples each feature is not 0: the score of scikit-learn's selectors that ignores labels.

    Zhang and Zhou (2007) keep the 2 % of the words with the highest document frequency:
    ``SelectPercentile(document_frequency, percentile=2)``.

    Parameters
    ----------
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Counts of words, or other features that are 0 where they are absent.
    y : None
        Not used.

    Returns
    -------
    frequencies : ndarray of int64, shape (n_features,)
        Numbers of samples.

    Raises
    ------
    ValueError
        If X is malformed.

    See Also
    --------
    information_gain : A score that uses the labels.

    References
    ----------
    M.-L. Zhang, Z.-H. Zhou: ML-KNN: A Lazy Learning Approach to Multi-Label Learning. Pattern Recognition 40(7), 2007.
    Section 5.3.

    Examples
    --------
    >>> from sklearn.feature_selection import SelectPercentile
    >>> from nearlabel.preprocessing import document_frequency
    >>> X = [[1, 0, 3], [0, 0, 1], [0, 2, 1]]
    >>> document_frequency(X).tolist()
    [1, 1, 3]
    >>> SelectPercentile(document_frequency, percentile=40).fit_transform(X).tolist()
    [[3], [1], [1]]
    """
    X = check_array(checked_container("X", X), accept_sparse="csr")
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()  # a comparison sums duplicate entries in place
    return np.asarray((X != 0).sum(axis=0), dtype=np.int64).ravel()


@registered("selection", "igs")
@registered("selection", "ig", symmetric=False)
class InformationGainSelector(SelectorMixin, BaseEstimator):
    """Select the features whose score reaches a threshold, by default the mean score (Chaudhari and Sane 2016).

    A feature is selected if IGS(f, L) ≥ T, where T is the mean of the scores (equation 15). The paper does not define
    the case of a score equal to T; here the feature is selected, so that with equal scores all features are selected
    rather than none. Scores that differ by less than a part in 10⁹ are equal.

    Parameters
    ----------
    threshold : {"mean", "median"} or float, default="mean"
        T: the mean or the median of the scores, each times `factor`, or the number itself, at least 0.
    factor : float, default=1.0
        Factor of the mean or the median; must be 1 if `threshold` is a number.
    labels : {"joint", "sum", "mean"}, default="joint"
        Definition of L for several labels, as in `symmetrical_uncertainty`. Not used with `n_subsets`.
    n_subsets : int, default=0
        0: as defined by `labels`. Otherwise the score of a feature is the mean, over this many random subsets of the
        labels, of the "joint" score with the labels of the subset. No subset is drawn twice; if there are no more than
        `n_subsets` subsets, each is used once. RAkEL would use ``2 * n_labels``.
    subset_size : int, default=3
        Number of labels in a subset; all labels if there are fewer.
    symmetric : bool, default=True
        Whether scores are those of `symmetrical_uncertainty` or, if False, of `information_gain`.
    n_bins : int, default=10
        The values of a feature with more than this many distinct values other than 0 are discretised into this many
        bins of equal frequency; equal values share a bin. The selected features themselves are not changed. With 1, all
        values other than 0 are the same.
    n_features : int, default=None
        Number of features to select: those with the largest scores; of equal scores the first columns. `threshold` and
        `factor` are then not used. None: select the features that reach the threshold.
    random_state : int, RandomState or None, default=None
        Draws the subsets.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Score of every feature.
    threshold_ : float
        T; with `n_features` the smallest score of a selected feature.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names of X, if it was a data frame.

    See Also
    --------
    symmetrical_uncertainty, information_gain : The scores, also for scikit-learn's `SelectKBest`.

    Notes
    -----
    The paper's first step is "for each subset calculate information gain", following an ensemble method (Li, Zhang and
    Duan 2014) of which we had only the abstract; `n_subsets` is our interpretation. The formulas of the paper need no
    subsets, hence the default.

    References
    ----------
    P. Chaudhari, S. S. Sane: Multilabel Classification Exploiting Coupled Label Similarity with Feature Selection.
    2016. Section 3.5.

    S. Li, Z. Zhang, J. Duan: An Ensemble Multi-Label Feature Selection Algorithm Based on Information Entropy.
    International Arab Journal of Information Technology 11(4), 2014.

    Examples
    --------
    >>> from nearlabel.preprocessing import InformationGainSelector
    >>> X, y = [[1, 5, 2], [1, 0, 2], [0, 5, 2], [0, 0, 2]], [[1, 0], [1, 1], [0, 0], [0, 0]]
    >>> selector = InformationGainSelector(factor=0.5).fit(X, y)
    >>> selector.scores_.round(3).tolist(), round(selector.threshold_, 3)
    ([0.8, 0.4, 0.0], 0.2)
    >>> selector.transform(X).tolist()
    [[1, 5], [1, 0], [0, 5], [0, 0]]
    """

    def __init__(
        self,
        threshold: str | float = "mean",
        *,
        factor: float = 1.0,
        labels: str = "joint",
        n_subsets: int = 0,
        subset_size: int = 3,
        symmetric: bool = True,
        n_bins: int = 10,
        n_features: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.threshold = threshold
        self.factor = factor
        self.labels = labels
        self.n_subsets = n_subsets
        self.subset_size = subset_size
        self.symmetric = symmetric
        self.n_bins = n_bins
        self.n_features = n_features
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: MatrixLike, y: MatrixLike) -> Self:
        """Score the features and learn the threshold.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training samples.
        y : indicator matrix of shape (n_samples, n_labels)
            Their label sets; or the tags of each sample, a list, tuple or set of str.

        Returns
        -------
        self : object
            The fitted selector.

        Raises
        ------
        ValueError
            If X or y is malformed, their lengths differ, a parameter is out of range, or no feature is selected.
        TypeError
            If a parameter is of the wrong type.
        """
        self._check_parameters()
        require_labels(self, y)
        check_row_names(X=X, y=y)
        X, (y, _) = check_rows(self, X), labels_and_names(y)
        X = sparse.csc_array(X) if sparse.issparse(X) else X
        check_consistent_length(X, y)
        scores = self._score(X, y)
        threshold = self._threshold_of(scores)
        if scores.max() < threshold:
            raise ValueError(
                f"threshold must be at most the largest score, got {threshold:.6g}: it selects no feature."
                f" Hint: the largest score is {float(scores.max())!r}; lower threshold, or factor."
            )
        self.scores_, self.threshold_ = scores, threshold
        return self

    def transform(self, X: MatrixLike) -> Matrix:
        """Return the selected features.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)

        Returns
        -------
        ndarray or sparse container of shape (n_samples, n_selected)
        """
        return super().transform(checked_container("X", X))

    def inverse_transform(self, X: MatrixLike) -> Matrix:
        """Return samples with their selected features in place, and 0 for the others.

        Parameters
        ----------
        X : array-like or sparse container of shape (n_samples, n_selected)

        Returns
        -------
        ndarray or sparse container of shape (n_samples, n_features)
        """
        return super().inverse_transform(checked_container("X", X))

    def _check_parameters(self) -> None:
        _check_threshold(self.threshold)
        if check_positive("factor", self.factor) != 1 and not isinstance(self.threshold, str):
            raise ValueError(f"factor must be 1 if threshold is a number, got {self.factor}.")
        gains.check_options(self.labels, self.n_bins)
        check_integer("n_subsets", self.n_subsets, low=0)
        check_flag("symmetric", self.symmetric)
        check_integer("subset_size", self.subset_size, low=1)
        if self.n_features is not None:
            check_integer("n_features", self.n_features, low=1)
        check_random_state(self.random_state)

    def _score(self, X: Matrix, y: Matrix) -> FloatArray:
        """Return the scores (n_features,) of all features, by subsets of labels or by all."""
        if not self.n_subsets:
            return gains.feature_scores(X, y, self.labels, self.n_bins, symmetric=self.symmetric)
        random = check_random_state(self.random_state)
        subsets = gains.label_subsets(y.shape[1], self.n_subsets, self.subset_size, random)
        return gains.joint_scores(
            X, [gains.classes_of(y[:, subset]) for subset in subsets], self.n_bins, symmetric=self.symmetric
        )

    def _threshold_of(self, scores: FloatArray) -> float:
        """Return T. The mean of equal scores depends neither on rounding nor on the order of the features."""
        if self.n_features is not None:
            if self.n_features > len(scores):
                raise ValueError(f"n_features must be at most the {len(scores)} features of X, got {self.n_features}.")
            return float(np.sort(scores)[-self.n_features])
        if self.threshold == "mean":
            return float(self.factor * min(fsum(scores) / len(scores), scores.max()))
        return float(self.factor * np.median(scores) if self.threshold == "median" else self.threshold)

    def _get_support_mask(self) -> BoolArray:
        """Return which features (n_features,) are selected."""
        check_is_fitted(self, "scores_")
        rounding = gains.ROUNDING * self.threshold_
        if getattr(self, "n_features", None) is None:  # models saved before it existed do not have it
            return np.asarray(self.scores_ >= self.threshold_ - rounding)
        kept = np.asarray(self.scores_ > self.threshold_ + rounding)
        equal = np.flatnonzero(np.abs(self.scores_ - self.threshold_) <= rounding)
        kept[equal[: self.n_features - kept.sum()]] = True
        return kept

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags


def _check_threshold(threshold: object) -> None:
    """Raise TypeError or ValueError unless `threshold` is "mean", "median" or a finite number of at least 0."""
    expected = "threshold must be 'mean', 'median' or a finite number of at least 0"
    if isinstance(threshold, (bool, np.bool_)) or not isinstance(threshold, (str, numbers.Real)):
        raise TypeError(f"{expected}, got {threshold!r} of type {type(threshold).__name__}.")
    if threshold not in ("mean", "median") if isinstance(threshold, str) else not 0 <= float(threshold) < np.inf:
        raise ValueError(f"{expected}, got {threshold!r}.")
