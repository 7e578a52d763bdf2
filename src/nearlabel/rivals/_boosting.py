"""AdaBoost.MH (Schapire and Singer 1999, 2000) and ADTBoost.MH (De Comité, Gilleron and Tommasi 2003)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nearlabel.models import WeightedClassifier, WithDecisions
from nearlabel.rivals._stumps import TIED, Stump, StumpSearch
from nearlabel.utils.naming import registered
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense, check_integer, row_blocks


@registered("method", "adaboostmh")
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
    >>> from nearlabel.rivals import AdaBoostMH
    >>> X, Y = [[0.0], [1.0], [4.0], [5.0]], [[1, 0], [1, 0], [0, 0], [0, 1]]
    >>> boosted = AdaBoostMH(n_estimators=20).fit(X, Y)
    >>> boosted.predict([[0.5], [4.2], [6.0]])
    array([[1, 0],
           [0, 0],
           [0, 1]])
    >>> boosted.thresholds_[:2]
    array([2.5, 4.5])
    """

    _dense_in_fit = ("samples", "labels")

    def __init__(self, n_estimators: int = 500) -> None:
        self.n_estimators = n_estimators

    def _check_parameters(self) -> None:
        check_integer("n_estimators", self.n_estimators, low=1)

    def _learn(self, X: Matrix, labels: Matrix, sample_weight: FloatArray | None = None) -> None:
        weights, search, rules = Weights(labels, sample_weight), StumpSearch(X, labels.shape[1]), []
        for _ in range(self.n_estimators if search.has_thresholds else 0):
            stump = search.best(weights.by_sign)
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


# ADTBoost.MH: an alternating decision tree for label sets (De Comité, Gilleron and Tommasi 2003).


@registered("method", "adtboostmh")
class ADTBoostMH(WeightedClassifier, WithDecisions):
    """Grow an alternating decision tree that scores all labels at once: ADTBoost.MH.

    The tree is a set of rules. The root scores all samples; each round adds the rule ::

        if c₁: if c₂: outputs, else: other outputs; else: 0

    whose precondition c₁, "the sample reaches this prediction node", is one of those in the tree, and whose condition
    c₂ is feature <= threshold. Both conditions, and the outputs h, are selected as in AdaBoost.MH, with W₊ and W₋ the
    weights of the samples with and without a label::

        least Z = 2 Σ_labels [√(W₊(c₁ ∧ c₂) W₋(c₁ ∧ c₂)) + √(W₊(c₁ ∧ ¬c₂) W₋(c₁ ∧ ¬c₂))] + W(¬c₁)

        h = ½ ln((W₊ + ε) / (W₋ + ε))        D ← D exp(-y h) / Σ D exp(-y h)

    A label is predicted if its sum of outputs, over all prediction nodes that the sample reaches, is at least 0.

    Parameters
    ----------
    n_estimators : int, default=50
        Number of rounds; each adds a decision node with two prediction nodes.

    Attributes
    ----------
    root_ : ndarray of shape (n_varying_labels,)
        Outputs of prediction node 0, for each label that has both classes.
    preconditions_ : ndarray of shape (n_rounds,)
        Prediction node to which the decision node of each round is attached. Round t, from 0, adds the prediction nodes
        2t + 1, for samples whose value is at most the threshold, and 2t + 2, for the others.
    features_ : ndarray of shape (n_rounds,)
        Feature of each round.
    thresholds_ : ndarray of shape (n_rounds,)
        Threshold of each round, the midpoint between two neighbouring values in the training samples.
    outputs_ : ndarray of shape (n_rounds, 2, n_varying_labels)
        Outputs of the two prediction nodes of each round.
    z_ : ndarray of shape (n_rounds + 1,)
        Σ D exp(-y h) of the root and of each round. The product bounds the Hamming loss on the training samples.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame Y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    AdaBoostMH : Rules without preconditions.

    Notes
    -----
    The weights of all samples are normalised after each round, including samples on which the rule abstains, so ε = 1 /
    (n_samples · n_labels) has the meaning it has in `AdaBoostMH`. Conditions are thresholds between values of all
    training samples, not only of those that reach the precondition. If several rules have equal Z, up to a relative
    difference of 10⁻¹⁰, the earliest precondition is taken, then the lowest feature, then the lowest threshold; the
    paper does not define ties. If no feature varies, the tree consists of its root.

    The cost of a round grows with the tree: the next rule may be attached to any prediction node, so the time of a fit
    grows faster than the number of rounds.

    References
    ----------
    F. De Comité, R. Gilleron, M. Tommasi. Learning multi-label alternating decision trees from texts and data. Machine
    Learning and Data Mining in Pattern Recognition, LNCS 2734, 2003.

    Y. Freund, L. Mason. The alternating decision tree learning algorithm. International Conference on Machine Learning,
    1999.

    Examples
    --------
    >>> from nearlabel.rivals import ADTBoostMH
    >>> X, Y = [[0, 0], [0, 1], [1, 0], [1, 1]], [[0, 0], [1, 0], [1, 1], [0, 1]]
    >>> tree = ADTBoostMH(n_estimators=8).fit(X, Y)
    >>> tree.predict(X)
    array([[0, 0],
           [1, 0],
           [1, 1],
           [0, 1]])
    >>> tree.preconditions_[:3]
    array([0, 1, 2])
    """

    _dense_in_fit = ("samples", "labels")

    def __init__(self, n_estimators: int = 50) -> None:
        self.n_estimators = n_estimators

    def _check_parameters(self) -> None:
        check_integer("n_estimators", self.n_estimators, low=1)

    def _learn(self, X: Matrix, labels: Matrix, sample_weight: FloatArray | None = None) -> None:
        weights, search = Weights(labels, sample_weight), StumpSearch(X, labels.shape[1])
        everywhere = np.ones(X.shape[0], dtype=np.bool_)
        outputs, z = weights.put_rule(np.zeros(X.shape[0], dtype=np.intp), n_parts=1)
        self.root_, rules, normalisers = outputs[0], [], [z]
        conditions = _BestConditions(search)
        conditions.add(everywhere)
        for _ in range(self.n_estimators if search.has_thresholds else 0):
            node, stump = conditions.best(weights.by_sign)
            reached, left = conditions.reached[node], search.goes_left(stump.feature, stump.threshold)
            part = np.where(reached, np.where(left, 0, 1), 2)
            outputs, z = weights.put_rule(part)
            conditions.weights_changed(part, z)
            conditions.add(reached & left)
            conditions.add(reached & ~left)
            rules.append((node, stump.feature, stump.threshold, outputs))
            normalisers.append(z)
        self.z_ = np.array(normalisers)
        self.preconditions_ = np.array([rule[0] for rule in rules], dtype=np.intp)
        self.features_ = np.array([rule[1] for rule in rules], dtype=np.intp)
        self.thresholds_ = np.array([rule[2] for rule in rules], dtype=np.float64)
        self.outputs_ = np.array([rule[3] for rule in rules]).reshape(-1, 2, labels.shape[1])

    def _score(self, X: Matrix) -> FloatArray:
        blocks = (
            as_dense(X[rows][:, self.features_]) for rows in row_blocks(X.shape[0], 8 * (len(self.features_) + 1))
        )
        return np.concatenate(
            [self._sum_of_outputs(values.astype(np.float64) <= self.thresholds_) for values in blocks]
        )

    def _sum_of_outputs(self, holds: BoolArray) -> FloatArray:
        """Return the scores of queries, given which conditions they satisfy (n_queries, n_rounds)."""
        reached = [np.ones(len(holds), dtype=np.bool_)]
        scores = np.tile(self.root_, (len(holds), 1))
        for precondition, condition, outputs in zip(self.preconditions_, holds.T, self.outputs_, strict=True):
            for side, output in zip((condition, ~condition), outputs, strict=True):
                reached.append(reached[precondition] & side)
                scores[reached[-1]] += output
        return scores


class _BestConditions:
    """The best condition of each precondition, searched again only if the last rule may have changed it.

    Parameters
    ----------
    search : StumpSearch
        The search over all training samples.
    """

    def __init__(self, search: StumpSearch) -> None:
        self._search = search
        self.reached: list[BoolArray] = []  # the samples of each precondition
        self._z: list[float | None] = []  # of the best condition; None: not yet searched

    def add(self, reached: BoolArray) -> None:
        """Add a precondition, given the samples that reach it."""
        self.reached.append(reached)
        self._z.append(None)

    def best(self, weights: FloatArray) -> tuple[int, Stump]:
        """Return the precondition and the condition with the smallest Z; ties go to the first."""
        known = [
            self._search.least_z(weights, reached) if z is None else z
            for reached, z in zip(self.reached, self._z, strict=True)
        ]
        self._z = [*known]
        z = np.array(known) + ~np.array(self.reached) @ weights.sum(axis=1)
        node = int(np.flatnonzero(z <= z.min() * TIED)[0])
        return node, self._search.best(weights * self.reached[node][:, np.newaxis])

    def weights_changed(self, part: IntArray, z: float) -> None:
        """Keep the conditions that are still best after a rule with these parts, its weights divided by z.

        For a precondition whose samples are all in one part, the rule multiplies W₊ of a label by exp(-h) / z and W₋ by
        exp(h) / z: the product in Z changes by the same factor 1 / z² for every condition.
        """
        for node, (reached, known) in enumerate(zip(self.reached, self._z, strict=True)):
            mixed = len(np.unique(part[reached])) > 1
            self._z[node] = None if known is None or mixed else known / z


# The weights of AdaBoost.MH on pairs of a sample and a label, and the outputs computed from them.

_PRECISION = 2.0**52


class Weights:
    """A distribution over pairs of a sample and a label, initially in proportion to the sample weights.

    Sums use weights rounded to multiples of 2⁻⁵². Such sums are exact, so they do not depend on the order.

    Parameters
    ----------
    labels : ndarray or CSR array of shape (n_samples, n_labels)
        Indicator matrix.
    sample_weight : ndarray of shape (n_samples,), default=None
        Sample weights. None: all weights are 1.
    """

    def __init__(self, labels: Matrix, sample_weight: FloatArray | None = None) -> None:
        self._carried = as_dense(labels).astype(np.float64)
        self._signs = 2 * self._carried - 1
        n_samples, n_labels = self._signs.shape
        counts = np.ones(n_samples) if sample_weight is None else sample_weight
        self._smoothing = 1 / (counts.sum() * n_labels)
        self._weights = np.repeat(counts[:, np.newaxis] * self._smoothing, n_labels, axis=1)
        self.by_sign = self._rounded()

    def _rounded(self) -> FloatArray:
        """Return (n_samples, 2 * n_labels): weights of the labels that samples carry, then of those that they lack."""
        rounded = np.rint(self._weights * _PRECISION) / _PRECISION
        carried = rounded * self._carried
        return np.hstack([carried, rounded - carried])

    def put_rule(self, part: IntArray, n_parts: int = 2) -> tuple[FloatArray, float]:
        """Compute the best outputs of the parts and update the weights; return outputs and Z.

        Parameters
        ----------
        part : ndarray of shape (n_samples,)
            Part of each sample; samples whose part is `n_parts` abstain.
        n_parts : int, default=2
            Number of parts with outputs.

        Returns
        -------
        outputs : ndarray of shape (n_parts, n_labels)
            ½ ln((W₊ + ε) / (W₋ + ε)) with ε = 1 / (n_samples · n_labels), where n_samples is the sum of the sample
            weights.
        z : float
            Sum of the weights before normalisation.
        """
        sums = np.stack([self.by_sign[part == number].sum(axis=0) for number in range(n_parts + 1)])
        carried, lacking = np.split(sums, 2, axis=1)
        outputs = np.log((carried + self._smoothing) / (lacking + self._smoothing)) / 2
        outputs[n_parts] = 0
        z = float((carried * np.exp(-outputs) + lacking * np.exp(outputs)).sum())
        self._weights *= np.exp(-self._signs * outputs[part]) / z
        self.by_sign = self._rounded()
        return outputs[:n_parts], z
