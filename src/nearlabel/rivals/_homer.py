"""HOMER: a hierarchy of multi-label classifiers (Tsoumakas, Katakis and Vlahavas, ECML/PKDD workshop 2008)."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from nearlabel.models import WithOptionalProbabilities
from nearlabel.rivals._binary_relevance import AroundClassifier, BinaryRelevance
from nearlabel.solvers.label_probabilities import chosen_classifier, with_seed
from nearlabel.utils.estimators import label_scores, params_of_samples, requiring_multilabel, response_method_of
from nearlabel.utils.naming import registered
from nearlabel.utils.types import CSR, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense, check_integer


class HOMER(AroundClassifier, WithOptionalProbabilities):
    """Predict groups of labels first, then the labels within the predicted groups, along a tree.

    The leaves of the tree are the labels. Balanced k-means on the columns of y splits the labels of a node among its
    children, so that labels that occur together share a child. A sample carries a node's meta-label if it has any label
    below the node. Each inner node has a multi-label classifier for the meta-labels of its children, trained on the
    samples that carry its own meta-label (all samples for the root). A query descends to the predicted children.

    Parameters
    ----------
    estimator : multi-label classifier, default=None
        Cloned and fitted to each inner node; must have `predict_proba` unless `probability` is False. Wrap a binary
        classifier in ``BinaryRelevance(classifier)``. None: `BinaryRelevance()`.
    n_clusters : int, default=3
        Number of children of a node, at least 2. If it is not below the number of labels, the method is the same as the
        estimator alone.
    max_iter : int, default=20
        Maximum number of iterations of k-means.
    probability : bool, default=True
        Whether there is a `predict_proba`. False: any multi-label classifier with `predict` can be used.
    random_state : int, RandomState or None, default=None
        Draws the initial centres, and is passed to the estimator if it has none of its own.
    n_jobs : int, default=None
        Number of nodes fitted in parallel.

    Attributes
    ----------
    root_ : Node
        The tree: `labels` are the columns of y below a node, `children` its nodes in the order of their first label,
        none for a leaf, `model` the fitted classifier of an inner node, whose labels are the children's meta-labels.
        Labels with one class are in no node; the attribute is missing if no label has both classes.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    nearlabel.rivals.BinaryRelevance : The default classifier of a node.

    Notes
    -----
    The score of a label is the product of the probabilities of the meta-labels on its path, each conditional on the one
    above, as in training. The authors' method predicts label sets only. `predict` uses each node's own
    predictions, which may differ from a score above one half.

    A meta-label may have one class in the samples of a node. `BinaryRelevance` and most other methods support that; an
    estimator that does not cannot be used.

    An empty cluster, which is possible because the cluster size is rounded up, does not become a child.

    The default's binary classifier needs features centred near zero and of similar scale; pass
    ``BinaryRelevance(make_pipeline(StandardScaler(), LinearSVC(dual=False)))`` if they are not.

    References
    ----------
    G. Tsoumakas, I. Katakis, I. Vlahavas. Effective and efficient multilabel classification in domains with large
    number of labels. ECML/PKDD Workshop on Mining Multidimensional Data, 2008.

    Examples
    --------
    >>> from nearlabel.rivals import HOMER
    >>> X = [[0.0], [1.0], [4.0], [5.0], [8.0], [9.0]]
    >>> y = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    >>> homer = HOMER(n_clusters=2, random_state=0).fit(X, y)
    >>> [child.labels.tolist() for child in homer.root_.children]
    [[0, 1], [2, 3]]
    >>> homer.predict([[0.5], [8.5]])
    array([[1, 1, 0, 0],
           [0, 0, 1, 1]])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_clusters: int = 3,
        max_iter: int = 20,
        probability: bool = True,
        random_state: int | RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.probability = probability
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_integer("n_clusters", self.n_clusters, low=2)
        check_integer("max_iter", self.max_iter, low=1)
        super()._check_parameters()

    def _base_estimator(self) -> Any:
        return chosen_classifier(self.estimator, BinaryRelevance)

    def _learn(self, X: Matrix, labels: Matrix, **params: Any) -> None:
        super()._learn(X, labels)
        random = check_random_state(self.random_state)
        estimator, weights = self._base_estimator(), params.get("sample_weight", np.ones(X.shape[0]))
        response_method_of(estimator, ("predict_proba" if self.probability else "predict",))
        seeded = with_seed(estimator, int(random.randint(np.iinfo(np.int32).max)))
        columns = self._columns_of_all(labels)
        self.root_ = label_tree(self._varying, columns, weights, self.n_clusters, self.max_iter, random)
        container = sparse.csr_array if sparse.issparse(labels) else as_dense
        nodes = list(self.root_.inner_nodes())
        with requiring_multilabel(estimator):
            models = Parallel(n_jobs=self.n_jobs)(
                delayed(clone(seeded).fit)(X[rows], container(meta), **params_of_samples(params, rows, X.shape[0]))
                for rows, meta in (self._training_set(node, columns) for node in nodes)
            )
        for node, model in zip(nodes, models, strict=True):
            node.model = model

    def _columns_of_all(self, labels: Matrix) -> CSR:
        """Return the label matrix as CSC with every label of y; labels with one class are empty columns."""
        known = sparse.coo_array(labels)
        shape = (labels.shape[0], len(self.label_names_))
        return sparse.csc_array((known.data, (known.row, self._varying[known.col])), shape=shape)

    def _training_set(self, node: Node, columns: CSR) -> tuple[IntArray, CSR]:
        """Return the rows that carry the node's meta-label (the root's: all), and its children's meta-labels there."""
        meta = meta_labels(node.children, columns)
        carries_any = np.asarray(meta.sum(axis=1)) > 0
        rows = np.flatnonzero(carries_any | (node is self.root_))
        return rows, meta[rows]

    def _decide(self, X: Matrix) -> Matrix:
        reached = dict(_descend(self.root_, X, np.arange(X.shape[0])))
        columns = [reached.get(label, np.arange(0)) for label in self._varying.tolist()]
        rows, ends = np.concatenate(columns), np.cumsum([0, *map(len, columns)])
        ones = np.ones(len(rows), dtype=np.int64)
        return sparse.csc_array((ones, rows, ends), shape=(X.shape[0], len(columns))).tocsr()

    def _score(self, X: Matrix) -> FloatArray:
        products = dict(_along_paths(self.root_, X, np.ones(X.shape[0])))
        return np.column_stack([products[label] for label in self._varying.tolist()])


def _descend(node: Node, X: Matrix, rows: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Yield the label of each leaf that is reached, with the queries that reach it."""
    decided = as_dense(node.model.predict(X[rows])).reshape(len(rows), -1)
    for child, positive in zip(node.children, decided.T, strict=True):
        reached = rows[positive == 1]
        if not child.children:
            yield int(child.labels[0]), reached
        elif len(reached):
            yield from _descend(child, X, reached)


def _along_paths(node: Node, X: Matrix, above: FloatArray) -> Iterator[tuple[int, FloatArray]]:
    """Yield each label and the product of the probabilities on the path to it."""
    given = label_scores(node.model, X, len(node.children), "predict_proba")
    for child, probability in zip(node.children, above * given.T, strict=True):
        if child.children:
            yield from _along_paths(child, X, probability)
        else:
            yield int(child.labels[0]), probability


@registered("method", "homer")
def _of_single_label(
    *,
    estimator: Any = None,
    n_clusters: int = 3,
    max_iter: int = 20,
    probability: bool = True,
    random_state: Any = None,
) -> HOMER:
    """Return HOMER with binary relevance, so that `estimator` is a classifier of a single label here too."""
    nodes = BinaryRelevance(estimator, probability=probability, random_state=random_state)
    return HOMER(nodes, n_clusters=n_clusters, max_iter=max_iter, probability=probability, random_state=random_state)


# A tree with labels as leaves, and the meta-labels of its nodes.


@dataclass
class Node:
    """A set of labels; an inner node splits it among its children, a leaf has one label and no children."""

    labels: IntArray
    children: list[Node]
    model: Any = None  # fitted classifier of an inner node

    def inner_nodes(self) -> Iterator[Node]:
        """Yield the inner nodes from this one down, each before its children."""
        if self.children:
            yield self
        for child in self.children:
            yield from child.inner_nodes()


def label_tree(
    labels: IntArray, columns: CSR, weights: FloatArray, n_clusters: int, max_iter: int, random: RandomState
) -> Node:
    """Return the node of some labels; `columns` is the CSC label matrix of weighted samples (n_samples, n_labels)."""
    if len(labels) <= n_clusters:
        return Node(labels, [Node(label, []) for label in labels[:, np.newaxis]])
    clusters = balanced_clusters(*_points(columns[:, labels], weights), n_clusters, max_iter, random)
    groups = [labels[cluster] for cluster in clusters]
    children = [
        Node(group, []) if len(group) == 1 else label_tree(group, columns, weights, n_clusters, max_iter, random)
        for group in groups
    ]
    return Node(labels, children)


def meta_labels(children: list[Node], columns: CSR) -> CSR:
    """Return which samples carry any label below each child (n_samples, n_children)."""
    carried = [columns[:, child.labels].sum(axis=1) > 0 for child in children]
    return sparse.csr_array(np.column_stack(carried).astype(np.int64))


def _points(columns: CSR, weights: FloatArray) -> tuple[CSR, FloatArray]:
    """Return the labels as points (n_labels, n_rows) over the rows with any label, and the weights of these rows."""
    rows, place = np.unique(columns.indices, return_inverse=True)
    points = sparse.csr_array((columns.data, place, columns.indptr), shape=(columns.shape[1], len(rows)))
    return points, weights[rows]


# Balanced k-means: clusters of points with a limited size (Tsoumakas, Katakis and Vlahavas 2008).


def balanced_clusters(
    points: CSR, weights: FloatArray, n_clusters: int, max_iter: int, random: RandomState
) -> list[IntArray]:
    """Return clusters of at most ⌈n_points / n_clusters⌉ points each.

    Parameters
    ----------
    points : CSR array of shape (n_points, n_dimensions)
        Points.
    weights : ndarray of shape (n_dimensions,)
        Weight of each dimension in the squared Euclidean distance.
    n_clusters : int
        At most n_points; fewer clusters are returned if some stay empty.
    max_iter : int
        Maximum number of iterations; it stops earlier if nothing changes.
    random : RandomState
        Draws the points that are the first centres.

    Returns
    -------
    list of ndarray
        The points of each cluster, in ascending order; clusters in the order of their first point.
    """
    n_points = points.shape[0]
    capacity = -(-n_points // n_clusters)
    centres = points[random.permutation(n_points)[:n_clusters]].toarray().astype(np.float64)
    cluster: IntArray = np.full(n_points, -1)
    for _ in range(max_iter):
        before, cluster = cluster, balanced_assignment(_squared_distances(points, centres, weights), capacity)
        if (cluster == before).all():
            break
        centres = _means(points, cluster, centres)
    groups = [np.flatnonzero(cluster == number) for number in np.unique(cluster)]
    return sorted(groups, key=lambda group: int(group[0]))


def balanced_assignment(distances: FloatArray, capacity: int) -> IntArray:
    """Return the cluster of each point, from distances (n_points, n_clusters).

    Points go to the nearest cluster, one after the other. A cluster that exceeds its size then evicts its farthest
    point, which goes to the nearest cluster that has not evicted it. Ties: the lower cluster index counts as nearer,
    the higher point index as farther.
    """
    preferences = np.argsort(distances, axis=1, kind="stable")
    evictions = [0] * len(distances)
    members: list[list[tuple[float, int]]] = [[] for _ in range(distances.shape[1])]
    for newcomer in range(len(distances)):
        point = newcomer
        while True:
            nearest = preferences[point, evictions[point]]
            insort(members[nearest], (distances[point, nearest], point))
            if len(members[nearest]) <= capacity:
                break
            point = members[nearest].pop()[1]
            evictions[point] += 1
    return preferences[np.arange(len(distances)), evictions]


def _squared_distances(points: CSR, centres: FloatArray, weights: FloatArray) -> FloatArray:
    """Return |p|² - 2 p·c + |c|² (n_points, n_clusters), each dimension weighted."""
    sizes = np.asarray(points.multiply(points) @ weights, dtype=np.float64).reshape(-1, 1)
    return np.asarray(sizes - 2 * (points @ (weights * centres).T) + (weights * np.square(centres)).sum(axis=1))


def _means(points: CSR, cluster: IntArray, centres: FloatArray) -> FloatArray:
    """Return the mean of each cluster; an empty one keeps its centre."""
    sizes = np.bincount(cluster, minlength=len(centres))
    entries = (np.ones(len(cluster)), (cluster, np.arange(len(cluster))))
    sums = (sparse.csr_array(entries, shape=(len(centres), len(cluster))) @ points).toarray()
    return np.where(sizes[:, np.newaxis] > 0, sums / np.maximum(sizes, 1)[:, np.newaxis], centres)
