"""Feature selection by information gain, symmetrical uncertainty and document frequency.

Counts of values and labels are sparse products, computed in blocks of features. Absent values (0) of features and
labels are not counted; their number is the number of rows minus the present ones. Entropies are in nats, computed from
g(x) = x log x of integer counts. The entropy of a constant is exactly 0, and gains are limited to the range from 0 to
the smaller entropy, so that rounding never makes a constant feature informative.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from scipy import sparse
from scipy.special import xlogy
from sklearn.utils import check_array
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import check_consistent_length

from nearlabel.labels import distinct_labelsets
from nearlabel.labels.feature_values import FeatureValues, feature_values
from nearlabel.utils.containers import check_row_names, checked_samples
from nearlabel.utils.targets import as_label_matrix
from nearlabel.utils.types import CSR, FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import check_choice, check_integer

ROUNDING = 1e-9  # relative difference of scores that counts as none


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
    >>> from nearlabel.preprocessing import information_gain
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
    >>> from nearlabel.preprocessing import symmetrical_uncertainty
    >>> symmetrical_uncertainty([[1, 5], [1, 0], [0, 5], [0, 0]], [[1], [1], [0], [0]]).round(3).tolist()
    [1.0, 0.0]

    >>> from sklearn.feature_selection import SelectKBest
    >>> SelectKBest(symmetrical_uncertainty, k=1).fit_transform([[1, 5], [1, 0], [0, 5]], [[1], [1], [0]]).tolist()
    [[1], [1], [0]]
    """
    return _scores(X, y, labels, n_bins, symmetric=True)


def check_options(labels: object, n_bins: object) -> None:
    """Raise TypeError or ValueError if an option that all scores share is out of range."""
    check_choice("labels", labels, {"joint", "sum", "mean"})
    check_integer("n_bins", n_bins, low=1)


def _scores(X: MatrixLike, y: MatrixLike, labels: str, n_bins: int, *, symmetric: bool) -> FloatArray:
    """Check the user's arguments, and return the scores (n_features,)."""
    check_options(labels, n_bins)
    check_row_names(X=X, y=y)
    X, y = check_array(checked_samples("X", X), accept_sparse="csc"), as_label_matrix(y)
    check_consistent_length(X, y)
    return feature_scores(X, y, labels, n_bins, symmetric=symmetric)


def feature_scores(X: Matrix, y: Matrix, labels: str, n_bins: int, *, symmetric: bool) -> FloatArray:
    """Return the scores (n_features,) with all labels."""
    if labels == "joint":
        return joint_scores(X, [classes_of(y)], n_bins, symmetric=symmetric)
    y = sparse.csr_array(y)
    block_bytes = 8 * y.shape[1] * min(n_bins + 1, X.shape[0])  # bytes of a feature's counts of values and labels
    blocks = feature_values(X, n_bins, block_bytes)
    return np.concatenate([_label_scores(block, y, labels, symmetric=symmetric) for block in blocks])


def joint_scores(X: Matrix, partitions: list[IntArray], n_bins: int, *, symmetric: bool) -> FloatArray:
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


def classes_of(y: Matrix) -> IntArray:
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


def label_subsets(n_labels: int, n_subsets: int, size: int, random: np.random.RandomState) -> list[list[int]]:
    """Return distinct random subsets of the labels, or all subsets if there are no more."""
    size = min(size, n_labels)
    if comb(n_labels, size) <= n_subsets:
        return [list(subset) for subset in combinations(range(n_labels), size)]
    drawn: dict[tuple[int, ...], None] = {}  # in the order drawn
    while len(drawn) < n_subsets:
        drawn[tuple(sorted(sample_without_replacement(n_labels, size, random_state=random).tolist()))] = None
    return [list(subset) for subset in drawn]
