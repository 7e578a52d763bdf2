"""The predictive clustering tree (Blockeel, De Raedt and Ramon 1998) of label sets."""

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
    """Divide the rows by a tree that splits on the variance of all labels at once: one tree, to be read.

    A node is split where the variance of the labels, summed over the labels, falls most, of all features and values,
    down to leaves of one label set or of few rows; a leaf gives the mean label vector of its rows, which are a cluster
    of similar label sets. `RandomForestPCT` predicts better by a hundred such trees, which nobody reads.

    Parameters
    ----------
    min_samples_leaf : int, default=5
        Least number of training samples in a leaf. 1 grows the tree until each leaf has one label set.
    max_depth : int, default=None
        Most questions from the root to a leaf. None: no limit.
    random_state : int, RandomState or None, default=None
        Breaks ties between equally good splits.

    Attributes
    ----------
    tree_ : DecisionTreeClassifier
        The tree of the labels that have both classes, fitted to features minus `shift_`, divided by `scale_`. These
        three attributes are missing if no label has both classes.
    shift_ : ndarray of shape (n_features,)
        The end of each feature's training range that is nearer to 0; 0 for a range that contains 0.
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
    nearlabel.ensemble.RandomForestPCT : Many such trees, whose Notes say why Gini splits are those of the variance.

    Notes
    -----
    CLUS, the authors' program, can also stop where an F-test finds the fall of the variance not significant, prune by
    other rules, and weight the labels; here the size of the leaves stops, and all labels weigh 1.

    y is made dense, and a node holds two counts for each label: the method is made for some hundred labels.

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
        """Write the tree down: questions in the units of X, and at each leaf the labels that it predicts.

        Parameters
        ----------
        feature_names : sequence of length n_features, default=None
            Names of the features. None: the columns of the data frame X, else x0, x1 and so on.

        Returns
        -------
        str
            A line for each answer and each leaf. Beside a label is its share of the training samples in the leaf, which
            are counted in brackets. Labels of all training samples are not told, nor those of none.

        Raises
        ------
        ValueError
            If the names are not one for each feature.
        sklearn.exceptions.NotFittedError
            If the tree is not fitted.
        """
        check_is_fitted(self)
        known = getattr(self, "feature_names_in_", [f"x{number}" for number in range(self.n_features_in_)])
        names = list(known if feature_names is None else feature_names)
        if len(names) != self.n_features_in_:
            raise ValueError(f"feature_names must be {self.n_features_in_} names, got {len(names)}.")
        return "\n".join(self._lines(0, 0, names)) if hasattr(self, "tree_") else "no label differs between rows"

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
        """Return a threshold in the units of X, with so many digits that it tells values of the feature apart."""
        shift, scale = self.shift_[feature], self.scale_[feature]
        common = max(0, int(math.log10(max(abs(shift), scale) / scale)))  # digits that all values share
        return f"{rescaled * scale + shift:.{6 + common}g}"

    def _leaf(self, node: int) -> str:
        """Return the labels of a leaf with their shares, and its number of rows."""
        counts = self.tree_.tree_.value[node]
        shares = counts[:, 1] / counts[:, :2].sum(axis=1)
        names = self.label_names_[self._varying]
        labels = [f"{name} {share:.2f}" for name, share in zip(names, shares, strict=True) if share >= _CUT]
        return f"{', '.join(labels) or 'no label'} ({self.tree_.tree_.n_node_samples[node]} rows)"
