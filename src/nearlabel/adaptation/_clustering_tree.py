"""The predictive clustering tree (Blockeel, De Raedt and Ramon 1998) for label sets."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from numpy.random import RandomState
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nearlabel.adaptation.clustering_trees import ClusteringTrees
from nearlabel.utils.types import FloatArray, Matrix
from nearlabel.utils.validation import check_integer

_CUT = 0.5


class PredictiveClusteringTree(ClusteringTrees):
    """Decision tree that splits on the variance of all labels at once: a single, readable tree.

    Each split reduces the variance, summed over the labels, as much as possible, among all features and thresholds.
    Leaves have one label set or few samples. A leaf predicts the mean label vector of its training samples, which form
    a cluster of similar label sets. `RandomForestPCT`, a forest of a hundred such trees, predicts better but is not
    readable.

    Parameters
    ----------
    min_samples_leaf : int, default=5
        Minimum number of training samples in a leaf. 1 grows the tree until each leaf has one label set.
    max_depth : int, default=None
        Maximum number of splits from the root to a leaf. None: no limit.
    random_state : int, RandomState or None, default=None
        Breaks ties between equally good splits.

    Attributes
    ----------
    tree_ : DecisionTreeClassifier
        The tree of the labels that have both classes, fitted to features minus `shift_`, divided by `scale_`. These
        three attributes are missing if no label has both classes.
    shift_ : ndarray of shape (n_features,)
        The limit of each feature's training range that is nearer to 0; 0 if the range contains 0.
    scale_ : ndarray of shape (n_features,)
        Largest distance of training values from `shift_`; 1 for a constant feature.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    nearlabel.ensemble.RandomForestPCT : Many such trees; its Notes explain why Gini splits equal variance splits.

    Notes
    -----
    CLUS, the authors' program, can also stop if an F-test finds the reduction in variance not significant, prune by
    other rules, and weight the labels. Here the minimum leaf size stops the growth, and all labels have weight 1.

    y is converted to a dense array, and each node stores two counts per label: the method is suited to a few hundred
    labels.

    References
    ----------
    H. Blockeel, L. De Raedt, J. Ramon. Top-down induction of clustering trees. ICML 1998.

    D. Kocev, C. Vens, J. Struyf, S. Džeroski. Tree ensembles for predicting structured outputs. Pattern Recognition
    46(3), 2013.

    Examples
    --------
    >>> from nearlabel.adaptation import PredictiveClusteringTree
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [["sea"], ["sea", "beach"], ["wood"], ["wood"]]
    >>> model = PredictiveClusteringTree(2, random_state=0).fit(X, y)
    >>> model.predict_labels([[0.5], [4.5]])
    [('beach', 'sea'), ('wood',)]
    >>> print(model.to_text(["height"]))
    height <= 2.5
        beach 0.50, sea 1.00 (2 rows)
    height > 2.5
        wood 1.00 (2 rows)
    """

    def __init__(
        self,
        min_samples_leaf: int = 5,
        *,
        max_depth: int | None = None,
        random_state: int | RandomState | None = None,
    ) -> None:
        self.min_samples_leaf = min_samples_leaf
        self.max_depth = max_depth
        self.random_state = random_state

    def to_text(self, feature_names: Sequence[Any] | None = None) -> str:
        """Return the tree as text: conditions in the units of X, and the labels predicted at each leaf.

        Parameters
        ----------
        feature_names : sequence of length n_features, default=None
            Names of the features. None: the columns of the data frame X, else x0, x1 and so on.

        Returns
        -------
        str
            One line for each branch and each leaf. After each label is its share of the training samples in the leaf;
            their number is in brackets. Labels that all or no training samples carry are not shown.

        Raises
        ------
        ValueError
            If the number of names is not the number of features.
        sklearn.exceptions.NotFittedError
            If the tree is not fitted.
        """
        check_is_fitted(self)
        known = getattr(self, "feature_names_in_", [f"x{number}" for number in range(self.n_features_in_)])
        names = list(known if feature_names is None else feature_names)
        if len(names) != self.n_features_in_:
            raise ValueError(f"feature_names must be {self.n_features_in_} names, got {len(names)}.")
        return "\n".join(self._lines(0, 0, names)) if hasattr(self, "tree_") else "no label differs between samples"

    def _check_parameters(self) -> None:
        check_integer("min_samples_leaf", self.min_samples_leaf, low=1)
        if self.max_depth is not None:
            check_integer("max_depth", self.max_depth, low=1)
        check_random_state(self.random_state)

    def _learn(self, X: Matrix, labels: Matrix, sample_weight: FloatArray | None = None) -> None:
        tree = DecisionTreeClassifier(
            min_samples_leaf=self.min_samples_leaf, max_depth=self.max_depth, random_state=self.random_state
        )
        self.tree_ = self._grown(tree, X, labels, sample_weight)

    def _score(self, X: Matrix) -> FloatArray:
        return self._shares(self.tree_, X)

    def _lines(self, node: int, depth: int, names: list[Any]) -> Iterator[str]:
        """Yield the lines of a node, indented by its depth."""
        nodes, indent = self.tree_.tree_, "    " * depth
        if nodes.children_left[node] < 0:
            yield indent + self._leaf(node)
            return
        feature = nodes.feature[node]
        value = self._threshold_of(feature, nodes.threshold[node])
        for sign, child in (("<=", nodes.children_left[node]), (">", nodes.children_right[node])):
            yield f"{indent}{names[feature]} {sign} {value}"
            yield from self._lines(child, depth + 1, names)

    def _threshold_of(self, feature: int, rescaled: float) -> str:
        """Return a threshold in the units of X, with enough digits to separate the feature's values."""
        shift, scale = self.shift_[feature], self.scale_[feature]
        common = max(0, int(math.log10(max(abs(shift), scale) / scale)))  # leading digits that all values share
        return f"{rescaled * scale + shift:.{6 + common}g}"

    def _leaf(self, node: int) -> str:
        """Return the labels of a leaf with their shares, and its number of samples."""
        counts = self.tree_.tree_.value[node]
        shares = counts[:, 1] / counts[:, :2].sum(axis=1)
        names = self.label_names_[self._varying]
        labels = [f"{name} {share:.2f}" for name, share in zip(names, shares, strict=True) if share >= _CUT]
        return f"{', '.join(labels) or 'no label'} ({self.tree_.tree_.n_node_samples[node]} rows)"
