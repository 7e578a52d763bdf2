"""ADTBoost.MH: an alternating decision tree for label sets (De Comité, Gilleron and Tommasi 2003)."""

from __future__ import annotations

import numpy as np

from nearlabel.adaptation._stumps import TIED, Stump, StumpSearch
from nearlabel.adaptation._weights import Weights
from nearlabel.base import WeightedClassifier, WithDecisions
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense, check_integer


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
    >>> from nearlabel.adaptation import ADTBoostMH
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
            node, stump = conditions.best(weights.by_sign())
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
        scores = np.empty((X.shape[0], len(self.root_)))
        for rows in row_blocks(X.shape[0], 8 * (len(self.features_) + 1)):
            values = np.asarray(as_dense(X[rows][:, self.features_]), dtype=np.float64)
            scores[rows] = self._sum_of_outputs(values <= self.thresholds_)
        return scores

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
