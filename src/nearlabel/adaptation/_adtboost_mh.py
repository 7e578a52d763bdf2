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
    """Grow an alternating decision tree that rates every label at once: ADTBoost.MH.

    The tree is a set of rules. The root rates all rows; each round adds the rule ::

        if c₁: if c₂: outputs, else: other outputs; else: 0

    whose precondition c₁, "the row reaches this prediction node", is one of those in the tree, and whose condition c₂
    is feature <= threshold. Both, and h, the outputs, are chosen by the rule of AdaBoost.MH, with W₊ and W₋ the weights
    of the rows with and without a label::

        least Z = 2 Σ_labels [√(W₊(c₁ ∧ c₂) W₋(c₁ ∧ c₂)) + √(W₊(c₁ ∧ ¬c₂) W₋(c₁ ∧ ¬c₂))] + W(¬c₁)

        h = ½ ln((W₊ + ε) / (W₋ + ε))        D ← D exp(-y h) / Σ D exp(-y h)

    A label is predicted where its sum of outputs, over all prediction nodes that a row reaches, is at least 0.

    Parameters
    ----------
    n_estimators : int, default=50
        Number of rounds, each of a decision node with two prediction nodes.

    Attributes
    ----------
    root_ : ndarray of shape (n_varying_labels,)
        Outputs of prediction node 0, for each label that has both classes.
    preconditions_ : ndarray of shape (n_rounds,)
        Prediction node that the decision node of each round hangs on. Round t, from 0, adds the nodes 2t + 1, for rows
        whose value is at most the threshold, and 2t + 2.
    features_ : ndarray of shape (n_rounds,)
        Feature of each round.
    thresholds_ : ndarray of shape (n_rounds,)
        Threshold of each round, the middle between two neighbouring values of the training samples.
    outputs_ : ndarray of shape (n_rounds, 2, n_varying_labels)
        Outputs of the two prediction nodes of each round.
    z_ : ndarray of shape (n_rounds + 1,)
        Σ D exp(-y h) of the root and of each round. Their product bounds the Hamming loss on the training samples.
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
    Weights are normalised after each round, also those of rows that the rule abstains on, so ε = 1 / (n_samples ·
    n_labels) has the meaning it has in `AdaBoostMH`. Conditions are thresholds between values of all training samples,
    not only of those that reach the precondition. Of equal Z, to a part in 10¹⁰, the earliest precondition is taken,
    then the lowest feature, then the lowest threshold; the paper does not say. If no feature varies the tree is its
    root.

    The cost of a round grows with the tree: every prediction node is a place where the next rule may hang, so the time
    of a fit grows faster than the number of rounds.

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
        """Return the scores of queries for which conditions hold (n_queries, n_rounds)."""
        reached = [np.ones(len(holds), dtype=np.bool_)]
        scores = np.tile(self.root_, (len(holds), 1))
        for precondition, condition, outputs in zip(self.preconditions_, holds.T, self.outputs_, strict=True):
            for side, output in zip((condition, ~condition), outputs, strict=True):
                reached.append(reached[precondition] & side)
                scores[reached[-1]] += output
        return scores


class _BestConditions:
    """The best condition of each precondition, searched for only where the last rule may have changed it.

    Parameters
    ----------
    search : StumpSearch
        Of all training samples.
    """

    def __init__(self, search: StumpSearch) -> None:
        self._search = search
        self.reached: list[BoolArray] = []  # the rows of each precondition
        self._z: list[float | None] = []  # of the best condition; None: to be searched for

    def add(self, reached: BoolArray) -> None:
        """Add the precondition that these rows reach."""
        self.reached.append(reached)
        self._z.append(None)

    def best(self, weights: FloatArray) -> tuple[int, Stump]:
        """Return the precondition and the condition of least Z, of equal ones the first."""
        known = [
            self._search.least_z(weights, reached) if z is None else z
            for reached, z in zip(self.reached, self._z, strict=True)
        ]
        self._z = [*known]
        z = np.array(known) + ~np.array(self.reached) @ weights.sum(axis=1)
        node = int(np.flatnonzero(z <= z.min() * TIED)[0])
        return node, self._search.best(weights * self.reached[node][:, np.newaxis])

    def weights_changed(self, part: IntArray, z: float) -> None:
        """Keep what still holds after a rule with these parts of rows, its weights divided by z.

        Of a precondition whose rows are all in one part, W₊ of a label has changed by the factor exp(-h) / z and W₋ by
        exp(h) / z: the product that Z is made of is the same for every condition, but for 1 / z².
        """
        for node, (reached, known) in enumerate(zip(self.reached, self._z, strict=True)):
            mixed = len(np.unique(part[reached])) > 1
            self._z[node] = None if known is None or mixed else known / z
