"""Feature selection by information gain, symmetrical uncertainty and document frequency.

Counts of values and labels are sparse products, computed in blocks of features. Absent values (0) of features and
labels are not counted; their number is the number of rows minus the present ones. Entropies are in nats, computed from
g(x) = x log x of integer counts. The entropy of a constant is exactly 0, and gains are limited to the range from 0 to
the smaller entropy, so that rounding never makes a constant feature informative.
"""

from __future__ import annotations

import numbers
from itertools import combinations
from math import comb, fsum
from typing import Self

import numpy as np
from numpy.random import RandomState
from scipy import sparse
from scipy.special import xlogy
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, check_array, check_random_state
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from nearlabel.labels import distinct_labelsets
from nearlabel.labels.feature_values import FeatureValues, feature_values
from nearlabel.utils.types import CSR, BoolArray, FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import (
    as_label_matrix,
    check_choice,
    check_flag,
    check_integer,
    check_positive,
    check_rows,
    labels_and_names,
    require_labels,
)

_ROUNDING = 1e-9  # relative difference of scores that counts as none

__all__ = ["InformationGainSelector", "document_frequency", "information_gain", "symmetrical_uncertainty"]


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
    >>> from nearlabel.feature_selection import document_frequency
    >>> X = [[1, 0, 3], [0, 0, 1], [0, 2, 1]]
    >>> document_frequency(X).tolist()
    [1, 1, 3]
    >>> SelectPercentile(document_frequency, percentile=40).fit_transform(X).tolist()
    [[3], [1], [1]]
    """
    X = check_array(X, accept_sparse="csr")
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()  # a comparison sums duplicate entries in place
    return np.asarray((X != 0).sum(axis=0), dtype=np.int64).ravel()


def information_gain(X: MatrixLike, y: MatrixLike, *, labels: str = "joint", n_bins: int = 10) -> FloatArray:
    """Return the information gain of each feature about the labels, in nats.

    IG(f, L) = H(f) + H(L) − H(f, L), the mutual information of feature f and labels L (Chaudhari and Sane 2016,
    equation 14; the plus sign that it prints before the joint entropy is an error, since that sum is largest for
    uninformative features).

    Parameters
    ----------
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Samples. 0 is a value like any other; see `n_bins` for features with many values.
    y : indicator matrix of shape (n_samples, n_labels)
        Label sets.
    labels : {"joint", "sum", "mean"}, default="joint"
        Definition of L. "joint": one variable whose values are the distinct label sets. "sum", "mean": each label
        separately, with the sum or mean of the gains. If nearly every sample has a different label set, all features
        seem informative with "joint".
    n_bins : int, default=10
        The values of a feature with more than this many distinct values other than 0 are discretised into this many
        bins of equal frequency; equal values share a bin.

    Returns
    -------
    gains : ndarray of float64, shape (n_features,)
        At least 0; exactly 0 for a constant feature.

    Raises
    ------
    ValueError
        If X or y is malformed, their lengths differ, or an option is out of range.
    TypeError
        If `n_bins` is not an integer.

    See Also
    --------
    symmetrical_uncertainty : The gain, normalised by the entropies.

    References
    ----------
    P. Chaudhari, S. S. Sane: Multilabel Classification Exploiting Coupled Label Similarity with Feature Selection.
    2016. Section 3.5.

    Examples
    --------
    >>> from nearlabel.feature_selection import information_gain
    >>> information_gain([[1, 5], [1, 0], [0, 5], [0, 0]], [[1], [1], [0], [0]]).round(3).tolist()
    [0.693, 0.0]
    """
    return _scores(X, y, labels, n_bins, symmetric=False)


def symmetrical_uncertainty(X: MatrixLike, y: MatrixLike, *, labels: str = "joint", n_bins: int = 10) -> FloatArray:
    """Return the information gain of each feature, divided by the mean of the two entropies.

    IGS(f, L) = 2 IG(f, L) / (H(f) + H(L)) (Chaudhari and Sane 2016, equation 13), and 0 if both entropies are 0. The
    normalisation reduces the bias towards features with many values, which have large gains by chance.

    Parameters
    ----------
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Samples. 0 is a value like any other; see `n_bins` for features with many values.
    y : indicator matrix of shape (n_samples, n_labels)
        Label sets.
    labels : {"joint", "sum", "mean"}, default="joint"
        "joint": L is one variable whose values are the distinct label sets. "mean": the mean over labels l of IGS(f,
        l). "sum": one ratio of sums over the labels, 2 Σ_l IG(f, l) / (H(f) + Σ_l H(l)), in which H(f) is counted once.
        The paper does not define which one it uses.
    n_bins : int, default=10
        The values of a feature with more than this many distinct values other than 0 are discretised into this many
        bins of equal frequency; equal values share a bin.

    Returns
    -------
    scores : ndarray of float64, shape (n_features,)
        From 0 to 1, with "sum" below 2 (the gains of many labels may sum to more than the feature's entropy); exactly 0
        for a constant feature.

    Raises
    ------
    ValueError
        If X or y is malformed, their lengths differ, or an option is out of range.
    TypeError
        If `n_bins` is not an integer.

    See Also
    --------
    information_gain : The gain itself.

    References
    ----------
    P. Chaudhari, S. S. Sane: Multilabel Classification Exploiting Coupled Label Similarity with Feature Selection.
    2016. Section 3.5.

    Examples
    --------
    >>> from nearlabel.feature_selection import symmetrical_uncertainty
    >>> symmetrical_uncertainty([[1, 5], [1, 0], [0, 5], [0, 0]], [[1], [1], [0], [0]]).round(3).tolist()
    [1.0, 0.0]

    >>> from sklearn.feature_selection import SelectKBest
    >>> SelectKBest(symmetrical_uncertainty, k=1).fit_transform([[1, 5], [1, 0], [0, 5]], [[1], [1], [0]]).tolist()
    [[1], [1], [0]]
    """
    return _scores(X, y, labels, n_bins, symmetric=True)


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
    >>> from nearlabel.feature_selection import InformationGainSelector
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
        random_state: int | RandomState | None = None,
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
        X, (y, _) = check_rows(self, X), labels_and_names(y)
        X = sparse.csc_array(X) if sparse.issparse(X) else X
        check_consistent_length(X, y)
        scores = self._score(X, y)
        threshold = self._threshold_of(scores)
        _check_keeps_a_feature(threshold, scores.max())
        self.scores_, self.threshold_ = scores, threshold
        return self

    def _check_parameters(self) -> None:
        _check_threshold(self.threshold)
        if check_positive("factor", self.factor) != 1 and not isinstance(self.threshold, str):
            raise ValueError(f"factor must be 1 if threshold is a number, got {self.factor}.")
        _check_options(self.labels, self.n_bins)
        check_integer("n_subsets", self.n_subsets, low=0)
        check_flag("symmetric", self.symmetric)
        check_integer("subset_size", self.subset_size, low=1)
        if self.n_features is not None:
            check_integer("n_features", self.n_features, low=1)
        check_random_state(self.random_state)

    def _score(self, X: Matrix, y: Matrix) -> FloatArray:
        """Return the scores (n_features,) of all features, by subsets of labels or by all."""
        if not self.n_subsets:
            return _feature_scores(X, y, self.labels, self.n_bins, symmetric=self.symmetric)
        random = check_random_state(self.random_state)
        subsets = _label_subsets(y.shape[1], self.n_subsets, self.subset_size, random)
        return _joint_scores(X, [_classes(y[:, subset]) for subset in subsets], self.n_bins, symmetric=self.symmetric)

    def _threshold_of(self, scores: FloatArray) -> float:
        """Return T. The mean of equal scores depends neither on rounding nor on the order of the features."""
        if self.n_features is not None:
            _check_n_features(self.n_features, len(scores))
            return float(np.sort(scores)[-self.n_features])
        if self.threshold == "mean":
            return float(self.factor * min(fsum(scores) / len(scores), scores.max()))
        return float(self.factor * np.median(scores) if self.threshold == "median" else self.threshold)

    def _get_support_mask(self) -> BoolArray:
        """Return which features (n_features,) are selected."""
        check_is_fitted(self, "scores_")
        rounding = _ROUNDING * self.threshold_
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


def _check_n_features(n_features: int, n_found: int) -> None:
    """Raise ValueError if more features are to be kept than there are."""
    if n_features > n_found:
        raise ValueError(f"n_features must be at most the {n_found} features of X, got {n_features}.")


def _check_keeps_a_feature(threshold: float, largest: float) -> None:
    """Raise ValueError if even the largest score is below the threshold."""
    if largest < threshold:
        raise ValueError(
            f"threshold must be at most the largest score, got {threshold:.6g}: it selects no feature."
            f" Hint: the largest score is {float(largest)!r}; lower threshold, or factor."
        )


def _check_options(labels: object, n_bins: object) -> None:
    """Raise TypeError or ValueError if an option that all scores share is out of range."""
    check_choice("labels", labels, {"joint", "sum", "mean"})
    check_integer("n_bins", n_bins, low=1)


def _scores(X: MatrixLike, y: MatrixLike, labels: str, n_bins: int, *, symmetric: bool) -> FloatArray:
    """Check the user's arguments, and return the scores (n_features,)."""
    _check_options(labels, n_bins)
    X, y = check_array(X, accept_sparse="csc"), as_label_matrix(y)
    check_consistent_length(X, y)
    return _feature_scores(X, y, labels, n_bins, symmetric=symmetric)


def _feature_scores(X: Matrix, y: Matrix, labels: str, n_bins: int, *, symmetric: bool) -> FloatArray:
    """Return the scores (n_features,) with all labels."""
    if labels == "joint":
        return _joint_scores(X, [_classes(y)], n_bins, symmetric=symmetric)
    y = sparse.csr_array(y)
    block_bytes = 8 * y.shape[1] * min(n_bins + 1, X.shape[0])  # bytes of a feature's counts of values and labels
    blocks = feature_values(X, n_bins, block_bytes)
    return np.concatenate([_label_scores(block, y, labels, symmetric=symmetric) for block in blocks])


def _joint_scores(X: Matrix, partitions: list[IntArray], n_bins: int, *, symmetric: bool) -> FloatArray:
    """Return the mean scores (n_features,) over partitions, each given by the classes of the rows (n_samples,)."""
    means = []
    for block in feature_values(X, n_bins):
        H_f = _feature_entropies(block)
        total = np.zeros(block.n_features)
        for classes in partitions:
            total += _joint_score(block, H_f, classes, symmetric=symmetric)
        means.append(total / len(partitions))
    return np.concatenate(means)


def _joint_score(block: FeatureValues, H_f: FloatArray, classes: IntArray, *, symmetric: bool) -> FloatArray:
    """Return the scores (n_features,) with one variable, the classes of the rows: equation 14, sign corrected."""
    H_L = _entropy(np.bincount(classes))
    gain = _possible(H_f + H_L - _joint_entropies(block, _one_hot(classes)), H_f, H_L)
    return _ratio(2 * gain, H_f + H_L) if symmetric else gain


def _label_scores(block: FeatureValues, y: CSR, labels: str, *, symmetric: bool) -> FloatArray:
    """Return the scores (n_features,) with each label separately, summed or averaged."""
    H_f, n_samples = _feature_entropies(block), y.shape[0]
    H_l = _split(y.sum(axis=0), n_samples) / n_samples
    gain = _possible(H_l - _label_entropies_given(block, y), H_f[:, np.newaxis], H_l)
    if labels == "sum":
        return _ratio(2 * gain.sum(axis=1), H_f + H_l.sum()) if symmetric else gain.sum(axis=1)
    scores = _ratio(2 * gain, H_f[:, np.newaxis] + H_l) if symmetric else gain
    return np.asarray(scores.mean(axis=1))


def _entropy(counts: IntArray) -> float:
    """Return H = (g(n) − Σ g(n_c)) / n of a variable whose values occur `counts` times."""
    return float((_g(counts.sum()) - _g(counts).sum()) / counts.sum())


def _feature_entropies(block: FeatureValues) -> FloatArray:
    """Return H(f) (n_features,)."""
    n_samples, sizes = block.indicators.shape[0], block.indicators.sum(axis=0)
    n_absent = n_samples - block.sum_by_feature(sizes)
    return np.asarray((_g(n_samples) - block.sum_by_feature(_g(sizes)) - _g(n_absent)) / n_samples)


def _joint_entropies(block: FeatureValues, classes: CSR) -> FloatArray:
    """Return H(f, L) (n_features,), L the classes of the rows, one-hot (n_samples, n_classes).

    Σ_c g(n_c − n_pc), the term of the absent value, equals Σ_c g(n_c) except for the classes in which feature p is
    present.
    """
    n_samples, sizes = classes.shape[0], classes.sum(axis=0)
    n_vc = block.indicators.T @ classes
    n_pc = block.sum_by_feature(n_vc)
    n_c = sizes[n_pc.indices]
    present = block.sum_by_feature(_with_data(n_vc, _g(n_vc.data)).sum(axis=1))
    absent = _g(sizes).sum() + _with_data(n_pc, _g(n_c - n_pc.data) - _g(n_c)).sum(axis=1)
    return np.asarray((_g(n_samples) - present - absent) / n_samples)


def _label_entropies_given(block: FeatureValues, y: CSR) -> FloatArray:
    """Return H(l | f) (n_features, n_labels), over all values of f, including the absent one."""
    n_samples, sizes = y.shape[0], block.indicators.sum(axis=0)
    n_vl = block.indicators.T @ y
    n_v = np.repeat(sizes, np.diff(n_vl.indptr))
    present = block.sum_by_feature(_with_data(n_vl, _split(n_vl.data, n_v))).toarray()
    n_absent = n_samples - block.sum_by_feature(sizes)
    absent = _split(y.sum(axis=0) - block.sum_by_feature(n_vl).toarray(), n_absent[:, np.newaxis])
    return np.asarray((present + absent) / n_samples)


def _split(k: IntArray, n: IntArray | int) -> FloatArray:
    """Return n times the entropy of a label that k of n rows have; exactly 0 for k = 0 and k = n."""
    return np.asarray(_g(n) - _g(k) - _g(n - k))


def _g(x: IntArray | int) -> FloatArray:
    """Return x log x, 0 for 0."""
    return np.asarray(xlogy(x, x))


def _possible(gain: FloatArray, H_f: FloatArray, H_L: FloatArray | float) -> FloatArray:
    """Return gains clipped to 0 ≤ IG(f, L) ≤ min(H(f), H(L)), which rounding may violate."""
    return np.clip(gain, 0, np.minimum(H_f, H_L))


def _ratio(gain: FloatArray, entropy: FloatArray) -> FloatArray:
    """Return gain / entropy, 0 if both are 0."""
    return np.divide(gain, entropy, out=np.zeros_like(gain), where=entropy > 0)


def _classes(y: Matrix) -> IntArray:
    """Return the index of each row's label set (n_samples,), in the smallest type: there may be many subsets."""
    labelsets, inverse, _ = distinct_labelsets(y)
    return inverse.astype(np.min_scalar_type(labelsets.shape[0]))


def _one_hot(classes: IntArray) -> CSR:
    """Return the indicators (n_samples, n_classes) of classes 0 .. n_classes − 1."""
    ones = np.ones(len(classes), dtype=np.int64)
    return sparse.csr_array((ones, classes.astype(np.int64), np.arange(len(classes) + 1)))


def _with_data(cells: CSR, data: FloatArray) -> CSR:
    """Return a matrix with the same stored cells and other values."""
    return sparse.csr_array((data, cells.indices, cells.indptr), shape=cells.shape)


def _label_subsets(n_labels: int, n_subsets: int, size: int, random: RandomState) -> list[list[int]]:
    """Return distinct random subsets of the labels, or all subsets if there are no more."""
    size = min(size, n_labels)
    if comb(n_labels, size) <= n_subsets:
        return [list(subset) for subset in combinations(range(n_labels), size)]
    drawn: dict[tuple[int, ...], None] = {}  # in the order drawn
    while len(drawn) < n_subsets:
        drawn[tuple(sorted(sample_without_replacement(n_labels, size, random_state=random).tolist()))] = None
    return [list(subset) for subset in drawn]
