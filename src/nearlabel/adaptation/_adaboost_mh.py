"""AdaBoost.MH with confidence-rated stumps, known as BoosTexter (Schapire and Singer 1999, 2000)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nearlabel.adaptation._stumps import StumpSearch
from nearlabel.adaptation._weights import Weights
from nearlabel.base import WeightedClassifier, WithDecisions
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense, check_integer


class AdaBoostMH(WeightedClassifier, WithDecisions):
    """Boost decision stumps that score all labels at once: AdaBoost.MH, the algorithm of BoosTexter.

    A distribution D over pairs of a sample and a label starts uniform, or in proportion to `sample_weight`. With y = ±1
    for a label that a sample carries or lacks, each round selects the stump, feature <= threshold, and its output for
    each side and label, by ::

        least Z = 2 Σ_labels Σ_sides √(W₊ W₋)

        h = ½ ln((W₊ + ε) / (W₋ + ε))        D ← D exp(-y h) / Σ D exp(-y h)

    where W₊ and W₋ are the weights, on that side, of the samples with and without the label. A label is predicted if
    its sum of outputs is at least 0.

    Parameters
    ----------
    n_estimators : int, default=500
        Number of rounds; each adds one stump.

    Attributes
    ----------
    features_ : ndarray of shape (n_rounds,)
        Feature of each stump.
    thresholds_ : ndarray of shape (n_rounds,)
        Threshold of each stump, the midpoint between two neighbouring values in the training samples.
    outputs_ : ndarray of shape (n_rounds, 2, n_varying_labels)
        Output of each stump for samples whose value is at most the threshold, and for the others, for each label that
        has both classes.
    z_ : ndarray of shape (n_rounds,)
        Σ D exp(-y h) of each round. The product over the rounds bounds the Hamming loss on the training samples.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame Y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    ADTBoostMH : Grows a tree of such rules.

    Notes
    -----
    ε = 1 / (n_samples · n_labels), as in the paper of 1999; with sample weights, n_samples is their sum. Features are
    numbers: BoosTexter's rules test whether a word is present; here such a rule is a threshold between 0 and the
    smallest count, or on counts made binary. BoosTexter's stumps that abstain if a word is missing are not implemented.

    A sample whose value equals the threshold goes left. If several stumps have equal Z, up to a relative difference of
    10⁻¹⁰, the lowest feature is taken, then the lowest threshold; the papers do not define ties. Weights are rounded to
    multiples of 2⁻⁵² of their total, which makes their sums exact, so the result depends neither on the order of the
    samples nor on the storage of X. If no feature varies, stumps contain no more information than the frequencies of
    the labels: there is one round, with the threshold ∞ and so one output.

    For sparse data the cost depends on the stored values only. All thresholds of all features are candidates in every
    round; for features with more than a few thresholds, a bound on Z excludes most of them without changing the result.
    Labels that all or no training samples carry are ignored.

    References
    ----------
    R. E. Schapire, Y. Singer. Improved boosting algorithms using confidence-rated predictions. Machine Learning 37,
    1999.

    R. E. Schapire, Y. Singer. BoosTexter: a boosting-based system for text categorization. Machine Learning 39, 2000.

    Examples
    --------
    >>> from nearlabel.adaptation import AdaBoostMH
    >>> X, Y = [[0.0], [1.0], [4.0], [5.0]], [[1, 0], [1, 0], [0, 0], [0, 1]]
    >>> boosted = AdaBoostMH(n_estimators=20).fit(X, Y)
    >>> boosted.predict([[0.5], [4.2], [6.0]])
    array([[1, 0],
           [0, 0],
           [0, 1]])
    >>> boosted.thresholds_[:2]
    array([2.5, 4.5])
    """

    def __init__(self, n_estimators: int = 500) -> None:
        self.n_estimators = n_estimators

    def _check_parameters(self) -> None:
        check_integer("n_estimators", self.n_estimators, low=1)

    def _learn(self, X: Matrix, labels: Matrix, sample_weight: FloatArray | None = None) -> None:
        weights, search, rules = Weights(labels, sample_weight), StumpSearch(X, labels.shape[1]), []
        for _ in range(self.n_estimators if search.has_thresholds else 0):
            stump = search.best(weights.by_sign())
            left = search.goes_left(stump.feature, stump.threshold)
            rules.append((stump.feature, stump.threshold, *weights.put_rule(np.where(left, 0, 1))))
        if not rules:
            rules = [(0, np.inf, *weights.put_rule(np.zeros(X.shape[0], dtype=np.intp)))]
        features, thresholds, outputs, z = zip(*rules, strict=True)
        self.features_, self.thresholds_ = np.array(features), np.array(thresholds)
        self.outputs_, self.z_ = np.array(outputs), np.array(z)
        self._tables = _tables(self.features_, self.thresholds_, self.outputs_)

    def _score(self, X: Matrix) -> FloatArray:
        used = [table.feature for table in self._tables]
        scores = np.zeros((X.shape[0], self.outputs_.shape[2]))
        for rows in row_blocks(X.shape[0], 8 * len(used)):
            values = as_dense(X[rows][:, used])
            for column, table in enumerate(self._tables):
                scores[rows] += table(values[:, column])
        return scores


class _Table(NamedTuple):
    """All stumps of one feature: the sum of their outputs between neighbouring thresholds."""

    feature: int
    thresholds: FloatArray
    sums: FloatArray

    def __call__(self, values: FloatArray) -> FloatArray:
        """Return the sum of outputs (n_queries, n_labels)."""
        return self.sums[np.searchsorted(self.thresholds, np.asarray(values, dtype=np.float64), side="left")]


def _tables(features: IntArray, thresholds: FloatArray, outputs: FloatArray) -> list[_Table]:
    tables = []
    for feature in np.unique(features):
        rounds = np.flatnonzero(features == feature)
        rounds = rounds[np.argsort(thresholds[rounds], kind="stable")]
        left, right = outputs[rounds, 0], outputs[rounds, 1]
        sums = np.cumsum(np.vstack([left.sum(axis=0), right - left]), axis=0)
        tables.append(_Table(int(feature), thresholds[rounds], sums))
    return tables
