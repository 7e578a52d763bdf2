"""The base class of predictive clustering trees, single or in a forest: scikit-learn's trees on rescaled features."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nearlabel.models import WeightedClassifier, WithProbabilities
from nearlabel.utils.estimators import label_scores
from nearlabel.utils.naming import registered
from nearlabel.utils.types import FloatArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense, check_flag, check_integer


class ClusteringTrees(WeightedClassifier, WithProbabilities):
    """A classifier with scikit-learn's trees for a label matrix; a subclass defines and stores the trees."""

    _dense_in_fit = ("samples", "labels")

    _attribute: ClassVar[str]  # with the trees
    shift_: FloatArray
    scale_: FloatArray

    def _grown(self, model: Any, X: Matrix, labels: Matrix, sample_weight: FloatArray | None) -> Any:
        """Return scikit-learn's model, fitted to rescaled samples; store the scale."""
        self.shift_, self.scale_ = _shift_and_scale(X)
        target = as_dense(labels)
        return model.fit(self._rescaled(X), target[:, 0] if target.shape[1] == 1 else target, sample_weight)

    def _shares(self, model: Any, X: Matrix) -> FloatArray:
        """Return the mean label vectors of each row's leaves, for the labels of the model."""
        return np.asarray(label_scores(model, self._rescaled(X), len(self._varying), "predict_proba"))

    def _trees_and_rows(self, X: MatrixLike) -> tuple[Any, Matrix]:
        """Return scikit-learn's model, or None if no label has both classes, and samples in the form that it takes."""
        rows, trees = self._queries(X), getattr(self, self._attribute, None)
        return trees, rows if trees is None else self._rescaled(rows)

    def _rescaled(self, X: Matrix) -> Matrix:
        """Return rows scaled so that training samples are in [-1, 1]; others are clipped, since no split lies outside.

        scikit-learn's trees use single precision and ignore differences below 1e-7.
        """
        with np.errstate(over="ignore"):
            if not sparse.issparse(X):
                return np.clip((X - self.shift_) / self.scale_, -2.0, 2.0)
            shifts = sparse.csr_array(np.ones((X.shape[0], 1))) @ sparse.csr_array(self.shift_[np.newaxis])
            shifted = sparse.csr_array(X, dtype=np.float64) - shifts
            data = np.clip(shifted.data / self.scale_[shifted.indices], -2.0, 2.0)
        return sparse.csr_array((data, shifted.indices, shifted.indptr), shape=X.shape)


def _shift_and_scale(X: Matrix) -> tuple[FloatArray, FloatArray]:
    """Return the limit of each feature's range nearer to 0, or 0 if it contains 0, and the largest distance from it.

    So a sparse feature is shifted only if every row has it; sparse and dense data give the same result.
    """
    low, high = (as_dense(end).reshape(-1).astype(np.float64) for end in (X.min(axis=0), X.max(axis=0)))
    shift = np.maximum(low, 0.0) + np.minimum(high, 0.0)
    scale = np.maximum(high - shift, shift - low)
    return shift, np.where(scale > 0, scale, 1.0)


# The predictive clustering tree (Blockeel, De Raedt and Ramon 1998) for label sets.

_CUT = 0.5


@registered("method", "pct")
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
    nearlabel.rivals.RandomForestPCT : Many such trees; its Notes explain why Gini splits equal variance splits.

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
    >>> from nearlabel.rivals import PredictiveClusteringTree
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

    _attribute = "tree_"

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


# Random forest of predictive clustering trees (Kocev, Vens, Struyf and Džeroski 2007, 2013).


@registered("method", "rfpct")
class RandomForestPCT(ClusteringTrees):
    """Random forest of predictive clustering trees, which split on the variance of all labels at once.

    Each split reduces the variance, summed over the labels, as much as possible, among a few features drawn at each
    node. Trees grow until each leaf has one label set; a leaf predicts the mean label vector of its training samples.
    The score is the mean over the trees, each grown on a bootstrap sample.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Number of features drawn at each node, as in scikit-learn, where a float is a share. None: a tenth of the
        features, rounded down, plus 1, as in Madjarov et al. (2012).
    bootstrap : bool, default=True
        Whether each tree is grown on a bootstrap sample; otherwise on all samples.
    random_splits : bool, default=False
        Whether the threshold of each feature is drawn at random, as in extremely randomized trees (Geurts, Ernst and
        Wehenkel 2006), which is faster; otherwise the best is taken.
    random_state : int, RandomState or None, default=None
        Draws samples, features and thresholds.
    n_jobs : int, default=None
        Number of trees grown in parallel.

    Attributes
    ----------
    forest_ : RandomForestClassifier or ExtraTreesClassifier
        The forest of the labels that have both classes, fitted to features minus `shift_`, divided by `scale_`. These
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

    Notes
    -----
    The forest is scikit-learn's `RandomForestClassifier` with a label matrix. Its Gini impurity is the mean over labels
    of 1 - p² - (1 - p)² = 2 p (1 - p), where p is the share of positive samples, and p (1 - p) is the label's variance:
    the impurity is 2 / n_labels times the summed variance, so the same splits are best. Ties between splits are broken
    by the order in which features are drawn.

    scikit-learn's trees convert features to single precision and treat a feature with a range below 1e-7 as constant.
    So features are first scaled to [-1, 1] in double precision, which keeps the order of their values.

    `nearlabel.rivals.PredictiveClusteringTree` is a single such tree.

    CLUS, the authors' program, can weight the labels; here all labels have weight 1.

    y is converted to a dense array, and each node stores two counts per label: the method is suited to a few hundred
    labels.

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel. Extremely randomized trees. Machine Learning 63, 2006.
    D. Kocev, C. Vens, J. Struyf, S. Džeroski. Ensembles of multi-objective decision trees. ECML 2007.

    D. Kocev, C. Vens, J. Struyf, S. Džeroski. Tree ensembles for predicting structured outputs. Pattern Recognition
    46(3), 2013.

    G. Madjarov, D. Kocev, D. Gjorgjevikj, S. Džeroski. An extensive experimental comparison of methods for multi-label
    learning. Pattern Recognition 45(9), 2012.

    Examples
    --------
    >>> from nearlabel.rivals import RandomForestPCT
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> RandomForestPCT(random_state=0).fit(X, y).predict([[0.5], [4.5]])
    array([[1, 0],
           [0, 1]])
    """

    _attribute = "forest_"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_features: float | str | None = None,
        bootstrap: bool = True,
        random_splits: bool = False,
        random_state: int | RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.random_splits = random_splits
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_integer("n_estimators", self.n_estimators, low=1)
        check_flag("bootstrap", self.bootstrap)
        check_flag("random_splits", self.random_splits)
        check_random_state(self.random_state)

    def _learn(self, X: Matrix, labels: Matrix, sample_weight: FloatArray | None = None) -> None:
        kind = ExtraTreesClassifier if self.random_splits else RandomForestClassifier
        forest = kind(
            self.n_estimators,
            max_features=X.shape[1] // 10 + 1 if self.max_features is None else self.max_features,
            bootstrap=self.bootstrap,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        # A forest sums its trees in the order in which the threads finish; with one thread the sum is reproducible.
        self.forest_ = self._grown(forest, X, labels, sample_weight).set_params(n_jobs=None)

    def _score(self, X: Matrix) -> FloatArray:
        return self._shares(self.forest_, X)

    def _fit_out_of_bag(self, X: Matrix, y: Matrix) -> FloatArray:
        """Fit; return each sample's scores by the trees grown without it, its label's mean if there is none."""
        self.fit(X, y)
        labels = as_dense(y)
        scores = np.tile(labels.mean(axis=0), (len(labels), 1))
        if not hasattr(self, "forest_"):  # no label has both classes
            return scores
        rows = self._rescaled(X)
        total, n_trees = np.zeros((len(labels), len(self._varying))), np.zeros((len(labels), 1))
        for tree, drawn in zip(self.forest_.estimators_, self.forest_.estimators_samples_, strict=True):
            unseen = np.setdiff1d(np.arange(len(labels)), drawn)
            if len(unseen):
                total[unseen] += label_scores(tree, rows[unseen], len(self._varying), "predict_proba")
                n_trees[unseen] += 1
        scores[:, self._varying] = np.where(n_trees > 0, total / np.maximum(n_trees, 1), scores[:, self._varying])
        return scores
