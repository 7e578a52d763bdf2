import pickle

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from conftest import CHECKS, CONTAINERS
from nearlabel import testing
from nearlabel.datasets import fetch_dataset
from nearlabel.rivals import HOMER, BinaryRelevance, LabelPowerset
from nearlabel.rivals._homer import balanced_assignment, balanced_clusters

LOGISTIC = LogisticRegression(solver="newton-cholesky")
TREE = DecisionTreeClassifier(max_depth=4, random_state=0)
METHODS = [
    HOMER(BinaryRelevance(TREE), n_clusters=2, random_state=0),
    HOMER(BinaryRelevance(TREE), n_clusters=9, random_state=0),
]


class Witness(BinaryRelevance):
    """Binary relevance that remembers what it was fitted to."""

    def fit(self, X, Y):
        """Learn, and remember both."""
        super().fit(X, Y)
        self.rows_, self.meta_ = X[:, 0].astype(int), dense(Y)
        return self


def dense(labels):
    """Return label sets as an array."""
    return labels.toarray() if sparse.issparse(labels) else np.asarray(labels)


def grouped_problem(seed, n=90, n_labels=11):
    """Rows whose first feature numbers them, with labels that come in groups; some rows have none."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n)
    X = np.column_stack([np.arange(n), np.eye(3)[group] + 0.5 * rng.normal(size=(n, 3))])
    Y = (rng.random((n, n_labels)) < np.where(np.arange(n_labels) % 3 == group[:, np.newaxis], 0.5, 0.05)).astype(int)
    Y[::9] = 0
    return X, Y, np.column_stack([np.arange(30), rng.normal(size=(30, 3))])


def inner(node):
    """Return a node and the inner nodes below it."""
    return [node] + [below for child in node.children if child.children for below in inner(child)]


def descend(node, query):
    """Return the labels of one query: those of the leaves that are reached."""
    decided = dense(node.model.predict(query[np.newaxis]))[0]
    labels = []
    for child, positive in zip(node.children, decided, strict=True):
        if positive:
            labels += descend(child, query) if child.children else child.labels.tolist()
    return labels


def probabilities(node, query, above=1.0):
    """Return the score of each label of one query: the product along its path."""
    given = node.model.predict_proba(query[np.newaxis])[0]
    scores = {}
    for child, probability in zip(node.children, given, strict=True):
        product = above * probability
        scores |= probabilities(child, query, product) if child.children else {int(child.labels[0]): product}
    return scores


def naive_assignment(distances, capacity):
    """Transcribe the paper's loop: insert into the sorted list of the nearest cluster, evict the last, go on."""
    left = distances.copy()
    clusters = [[] for _ in range(distances.shape[1])]
    for label in range(len(distances)):
        wanderer, finished = label, False
        while not finished:
            j = int(np.argmin(left[wanderer]))
            clusters[j].append(wanderer)
            clusters[j].sort(key=lambda member: (distances[member, j], member))
            if len(clusters[j]) > capacity:
                wanderer = clusters[j].pop()
                left[wanderer, j] = np.inf
            else:
                finished = True
    return [sorted(cluster) for cluster in clusters]


def naive_clusters(points, k, max_iter, seed):
    """Transcribe balanced k-means with dense distances."""
    capacity = int(np.ceil(len(points) / k))
    centres = points[np.random.RandomState(seed).permutation(len(points))[:k]].astype(float)
    for _ in range(max_iter):
        distances = np.array([[((p - c) ** 2).sum() for c in centres] for p in points])
        clusters = naive_assignment(distances, capacity)
        centres = np.array([points[c].mean(axis=0) if c else old for c, old in zip(clusters, centres, strict=True)])
    return sorted(c for c in clusters if c)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_contract(method, check):
    """HOMER keeps our own contract; first centres, where there are any, are drawn by position."""
    if check is testing.check_labels_permute_with_columns and method.n_clusters < 5:
        pytest.skip("the first centres are drawn among the labels by position")
    check(clone(method))


@pytest.mark.parametrize("seed", range(20))
def test_assignment_equals_the_loop_of_the_paper(seed):
    """Evictions written with bisection give the clusters of the paper's loop, ties included."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 40)), int(rng.integers(2, 7))
    distances = rng.integers(0, 6, (n, k)).astype(float) if seed % 2 else rng.random((n, k))
    capacity = -(-n // k)
    cluster = balanced_assignment(distances, capacity)
    assert [np.flatnonzero(cluster == j).tolist() for j in range(k)] == naive_assignment(distances, capacity)
    assert np.bincount(cluster).max() <= capacity


def test_assignment_by_hand():
    """Two places in each cluster: the third to come near cluster 0 drives out the farthest, which goes to cluster 1."""
    distances = np.array([[1.0, 9.0], [3.0, 4.0], [2.0, 8.0], [5.0, 6.0]])
    assert balanced_assignment(distances, 2).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("seed", range(8))
def test_clusters_equal_a_naive_k_means(seed):
    """Sparse points and an early end give what dense loops give."""
    rng = np.random.default_rng(seed)
    points = (rng.random((int(rng.integers(5, 25)), 30)) < 0.3).astype(int)
    k = int(rng.integers(2, 5))
    clusters = balanced_clusters(sparse.csr_array(points), np.ones(30), k, 20, np.random.RandomState(seed))
    assert [cluster.tolist() for cluster in clusters] == naive_clusters(points, k, 20, seed)


def test_clusters_bring_equal_columns_together():
    """Labels that occur in the same rows come into one cluster, if one of each kind is a first centre."""
    points = sparse.csr_array(np.repeat(np.eye(2, dtype=int), 4, axis=1).T)
    apart = [seed for seed in range(20) if len({p // 4 for p in np.random.RandomState(seed).permutation(8)[:2]}) == 2]
    assert len(apart) > 5
    for seed in apart:
        clusters = balanced_clusters(points, np.ones(points.shape[1]), 2, 20, np.random.RandomState(seed))
        assert [cluster.tolist() for cluster in clusters] == [[0, 1, 2, 3], [4, 5, 6, 7]]


@pytest.mark.parametrize("container", ["dense", "csr_array"])
@pytest.mark.parametrize("n_clusters", [2, 3, 5])
@pytest.mark.parametrize("n_labels", [1, 2, 4, 11])
def test_the_tree(n_labels, n_clusters, container):
    """Children partition a node's labels evenly; models are trained on unions of labels and the rows that carry any."""
    X, Y, _ = grouped_problem(n_labels, n_labels=n_labels)
    model = HOMER(Witness(DummyClassifier()), n_clusters=n_clusters, random_state=0).fit(X, CONTAINERS[container](Y))
    assert model.root_.labels.tolist() == list(range(n_labels))
    for node in inner(model.root_):
        below = [child.labels.tolist() for child in node.children]
        assert sorted(label for labels in below for label in labels) == node.labels.tolist()
        assert 1 <= len(below) <= n_clusters
        assert max(map(len, below)) <= np.ceil(len(node.labels) / n_clusters)
        assert [bool(child.children) for child in node.children] == [len(labels) > 1 for labels in below]
        carriers = np.flatnonzero(Y[:, node.labels].any(axis=1)) if node is not model.root_ else np.arange(90)
        np.testing.assert_array_equal(node.model.rows_, carriers)
        unions = np.column_stack([Y[carriers][:, labels].any(axis=1) for labels in below])
        np.testing.assert_array_equal(node.model.meta_, unions)
    assert list(model.root_.inner_nodes()) == inner(model.root_)


@pytest.mark.parametrize(("n_clusters", "container"), [(2, "dense"), (3, "csr_matrix")])
@pytest.mark.parametrize("base", [GaussianNB(), LinearSVC(dual=False)], ids=lambda e: type(e).__name__)
def test_predictions_equal_a_recursive_loop(base, n_clusters, container):
    """Label sets and scores are those of one query after the other sent down the tree."""
    X, Y, queries = grouped_problem(7)
    Y[:, [2, 5]] = 0, 1  # these are in no node
    model = HOMER(BinaryRelevance(base), n_clusters=n_clusters, random_state=0).fit(X, CONTAINERS[container](Y))
    predicted, scores = model.predict(queries), model.predict_proba(queries)
    assert sparse.issparse(predicted) == (container != "dense")
    assert model.root_.labels.tolist() == [0, 1, 3, 4, 6, 7, 8, 9, 10]
    for query, labels, row in zip(queries, dense(predicted), scores, strict=True):
        assert sorted([*descend(model.root_, query), 5]) == np.flatnonzero(labels).tolist()
        expected = {2: 0.0, 5: 1.0} | probabilities(model.root_, query)
        np.testing.assert_allclose(row, [expected[label] for label in range(11)], rtol=0, atol=1e-12)
    assert 30 < dense(predicted).sum() < 300


@pytest.mark.parametrize("n_clusters", [11, 50])
def test_enough_clusters_make_it_the_estimator(n_clusters):
    """If the root has a child for each label, its classifier decides all."""
    X, Y, queries = grouped_problem(3)
    for estimator in (BinaryRelevance(LOGISTIC), DecisionTreeClassifier(random_state=0), None):
        model = HOMER(estimator, n_clusters=n_clusters, random_state=0).fit(X, Y)
        base = BinaryRelevance() if estimator is None else clone(estimator)
        np.testing.assert_array_equal(model.predict(queries), base.fit(X, Y).predict(queries))
    relevance = BinaryRelevance(LOGISTIC).fit(X, Y)
    model = HOMER(BinaryRelevance(LOGISTIC), n_clusters=n_clusters).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(queries), relevance.predict_proba(queries))


def test_scikit_learn_estimators_take_nodes():
    """A multi-label classifier that answers with lists is no obstacle."""
    X, Y, queries = grouped_problem(4)
    model = HOMER(TREE, n_clusters=2, random_state=0).fit(X, Y)
    assert len(inner(model.root_)) > 4
    for query, labels in zip(queries, model.predict(queries), strict=True):
        assert sorted(descend(model.root_, query)) == np.flatnonzero(labels).tolist()


def test_without_probability():
    """Label sets need only `predict`: a label powerset without probabilities serves; there is no `predict_proba`."""
    X, Y, queries = grouped_problem(4)
    powerset = LabelPowerset(TREE, probability=False)
    model = HOMER(powerset, n_clusters=2, probability=False, random_state=0).fit(X, Y)
    assert not hasattr(model, "predict_proba")
    for query, labels in zip(queries, model.predict(queries), strict=True):
        assert sorted(descend(model.root_, query)) == np.flatnonzero(labels).tolist()
    with pytest.raises(ValueError, match="estimator must have predict_proba, got LabelPowerset"):
        HOMER(powerset).fit(X, Y)
    assert not hasattr(model.set_params(probability=True), "predict_proba")  # it counts from the next fit on


def test_odd_rows(problem):
    """Grids, duplicates, constant features: sparse X and Y answer as dense ones do."""
    X, Y, queries = problem
    model = HOMER(BinaryRelevance(DecisionTreeClassifier(random_state=0)), n_clusters=2, random_state=0)
    labels = model.fit(X.astype(np.float32), Y).predict(queries.astype(np.float32))
    scores = model.predict_proba(queries.astype(np.float32))
    stored = model.fit(sparse.csr_array(X.astype(np.float32)), sparse.csr_array(Y))
    np.testing.assert_array_equal(dense(stored.predict(sparse.csr_array(queries.astype(np.float32)))), labels)
    np.testing.assert_array_equal(stored.predict_proba(sparse.csr_array(queries.astype(np.float32))), scores)


def test_few_rows_and_no_labels():
    """One row, no label at all, all labels, equal labels: constants and no error."""
    assert HOMER().fit([[1.0]], [[1, 0]]).predict([[2.0]]).tolist() == [[1, 0]]
    for value in (0, 1):
        assert (HOMER().fit(np.eye(5), np.full((5, 4), value)).predict(np.eye(5)) == value).all()
    twins = np.repeat([[1], [0], [1], [0]], 7, axis=1)
    model = HOMER(BinaryRelevance(GaussianNB()), n_clusters=2).fit([[1.0], [0.0], [1.1], [0.1]], twins)
    np.testing.assert_array_equal(model.predict([[1.0], [0.0]]), twins[:2])


@pytest.mark.long
def test_many_labels_stay_sparse():
    """500 sparse labels of 3,000 rows need no dense matrix of both, and every label has its leaf."""
    rng = np.random.default_rng(0)
    rows, labels = np.repeat(np.arange(3000), 2), rng.integers(0, 500, 6000)
    Y = sparse.csr_array((np.ones(6000), (rows, labels)), shape=(3000, 500)).astype(bool).astype(int)
    X = rng.normal(size=(3000, 2))
    model = HOMER(BinaryRelevance(DummyClassifier()), random_state=0).fit(X, Y)
    assert sparse.issparse(model.predict(X))
    leaves = [child.labels[0] for node in inner(model.root_) for child in node.children if not child.children]
    assert sorted(leaves) == list(range(500))
    depth = lambda node: 1 + max(map(depth, node.children), default=-1)  # noqa: E731
    assert depth(model.root_) == 6  # 3^5 < 500 <= 3^6


def test_seeds_and_jobs():
    """One seed, one answer; estimators that draw get it too; jobs change nothing."""
    X, Y, queries = grouped_problem(5)
    base = BinaryRelevance(DecisionTreeClassifier(max_features=1, max_depth=3))
    one, two, other = (HOMER(base, random_state=s).fit(X, Y).predict_proba(queries) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()
    with parallel_config("threading"):
        jobs = HOMER(base, random_state=1, n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(jobs.predict_proba(queries), one)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(jobs)).predict(queries), jobs.predict(queries))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_clusters": 1}, ValueError, "n_clusters must be at least 2, got 1"),
        ({"n_clusters": 2.5}, TypeError, "n_clusters must be an integer, got 2.5"),
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1, got 0"),
        ({"random_state": "a"}, ValueError, "cannot be used to seed"),
        ({"estimator": LinearSVC()}, ValueError, "estimator must have predict_proba, got LinearSVC"),
        ({"estimator": LinearRegression()}, ValueError, r"estimator must be a classifier, got LinearRegression\(\)"),
        ({"probability": 1}, TypeError, "probability must be True or False, got 1"),
    ],
)
def test_bad_parameters(options, error, message):
    """A parameter out of range is named."""
    with pytest.raises(error, match=message):
        HOMER(**options).fit(np.eye(8), np.eye(8, dtype=int))


def test_real_data(data_folder):
    """On emotions, scaled, the hierarchy finds more of the true labels than its base does alone."""
    training, test = (fetch_dataset("emotions", subset=part) for part in ("train", "test"))
    scale = MinMaxScaler().fit(training.X)
    X, queries, truth = scale.transform(training.X), scale.transform(test.X), dense(test.Y)
    homer, relevance = HOMER(random_state=0).fit(X, training.Y), BinaryRelevance().fit(X, training.Y)
    predicted, alone = dense(homer.predict(queries)), dense(relevance.predict(queries))
    assert (predicted * truth).sum() > 1.1 * (alone * truth).sum()
    assert (predicted != truth).mean() < 0.8 * truth.mean()
    for query, labels in zip(queries[:50], predicted, strict=False):
        assert sorted(descend(homer.root_, query)) == np.flatnonzero(labels).tolist()
