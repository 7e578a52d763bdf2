import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeRegressor

from conftest import CHECKS, CONTAINERS
from nearlabel.datasets import fetch_dataset
from nearlabel.rivals import BinaryRelevance, RandomForestPCT

FOREST = RandomForestPCT(9, random_state=0)


def dense(labels):
    """Return label sets as an array."""
    return labels.toarray() if sparse.issparse(labels) else np.asarray(labels)


def noisy_problem(seed, n=80, d=12, n_labels=4):
    """Label sets that depend on the first features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    Y = (X[:, :n_labels] + rng.normal(size=(n, n_labels)) > 0.3).astype(int)
    return X, Y, rng.normal(size=(40, d)).astype(np.float32)


@pytest.mark.parametrize("check", CHECKS)
def test_contract(check):
    """The forest keeps our own contract, the order of labels included."""
    check(clone(FOREST))


def left_over(Y, left):
    """Return the summed variance, times rows, that a split leaves."""
    return sum(len(part) * part.var(axis=0).sum() for part in (Y[left], Y[~left]) if len(part))


def least_left_over(X, Y):
    """Return the least summed variance, times rows, that a split of some rows leaves, by trying them all."""
    cuts = ((feature, value) for feature in range(X.shape[1]) for value in np.unique(X[:, feature])[:-1])
    return min(left_over(Y, X[:, feature] <= value) for feature, value in cuts)


@pytest.mark.parametrize("seed", range(4))
def test_trees_are_those_of_the_summed_variance(seed):
    """Gini splits and leaf vectors are those of a multi-output regression tree of squared error, node by node.

    Small nodes have splits that are equally good, of which rounding picks one. From there on features are drawn
    otherwise, so the comparison of a tree ends with that node.
    """
    X, Y, _ = noisy_problem(seed)
    model, same, nodes = RandomForestPCT(20, bootstrap=False, random_state=seed).fit(X, Y), 0, 0
    X = ((X - model.shift_) / model.scale_).astype(np.float32)  # what the trees see
    for tree in model.forest_.estimators_:
        variance = DecisionTreeRegressor(max_features=tree.max_features_, random_state=tree.random_state).fit(X, Y)
        ours, theirs = tree.tree_, variance.tree_
        n = min(ours.node_count, theirs.node_count)
        differs = (ours.feature[:n] != theirs.feature[:n]) | (ours.threshold[:n] != theirs.threshold[:n])
        end = np.append(np.flatnonzero(differs), n)[0]
        shares = ours.value[:end, :, 1] / ours.value[:end].sum(axis=2)
        np.testing.assert_allclose(shares, theirs.value[:end, :, 0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(ours.impurity[:end], 2 * theirs.impurity[:end], rtol=0, atol=1e-9)
        same, nodes = same + end, nodes + n
        if end < n:
            rows = tree.decision_path(X).toarray()[:, end] == 1
            splits = [X[rows, t.feature[end]] <= t.threshold[end] for t in (ours, theirs)]
            assert left_over(Y[rows], splits[0]) == pytest.approx(left_over(Y[rows], splits[1]), abs=1e-9)
    assert same > 0.4 * nodes


def test_each_split_is_the_best_of_all():
    """With every feature at hand, no split of a node leaves less summed variance than the one that was made."""
    X, Y, _ = noisy_problem(0, n=40, d=5)
    model = RandomForestPCT(1, max_features=1.0, bootstrap=False, random_state=0).fit(X, Y)
    tree = model.forest_.estimators_[0]
    seen = ((X - model.shift_) / model.scale_).astype(np.float32)
    inside, nodes = tree.decision_path(seen).toarray().astype(bool), tree.tree_
    for node in np.flatnonzero(nodes.children_left >= 0):
        rows = inside[:, node]
        left = inside[rows, nodes.children_left[node]]
        assert left_over(Y[rows], left) == pytest.approx(least_left_over(X[rows], Y[rows]), abs=1e-9)
    for leaf in np.flatnonzero(nodes.children_left < 0):
        assert len(np.unique(Y[inside[:, leaf]], axis=0)) == 1  # unpruned


def test_votes_by_hand():
    """Two rows that no feature tells apart: every tree's leaf is their mean, one half, which is enough."""
    model = RandomForestPCT(5, bootstrap=False, random_state=0).fit([[1.0]] * 4, [[1, 0]] * 2 + [[0, 0]] * 2)
    assert model.predict_proba([[7.0]]).tolist() == [[0.5, 0.0]]
    assert model.predict([[7.0]]).tolist() == [[1, 0]]
    three = RandomForestPCT(5, bootstrap=False, random_state=0).fit([[0.0], [1.0], [1.0]], [[0, 1], [1, 1], [1, 0]])
    assert three.predict_proba([[0.2], [0.8]]).tolist() == [[0.0, 1.0], [1.0, 0.5]]


@pytest.mark.parametrize(("d", "expected"), [(1, 1), (9, 1), (10, 2), (19, 2), (72, 8), (300, 31)])
def test_a_tenth_of_the_features_and_one(d, expected):
    """By default each node draws floor(0.1 d) + 1 features."""
    model = RandomForestPCT(1, random_state=0).fit(np.eye(4, d), [[1, 0], [0, 1], [0, 0], [1, 1]])
    assert model.forest_.estimators_[0].max_features_ == expected


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("factor", "offset"), [(1e-8, 0), (1e-300, 0), (1e150, 0), (1.0, 1e9), (-1e-7, -1.0)])
def test_units_of_features_change_nothing(factor, offset, stored):
    """Features of tiny range, far from zero or huge: the trees see more than single precision, and learn the same."""
    X, Y, queries = (M.astype(np.float64) for M in noisy_problem(0))
    X[:, 1], queries[:, 1] = 3, 3  # a constant feature
    expected = clone(FOREST).fit(np.sign(factor) * X, Y).predict_proba(np.sign(factor) * queries)
    model = clone(FOREST).fit(stored(factor * X + offset), Y)
    np.testing.assert_allclose(model.predict_proba(stored(factor * queries + offset)), expected, rtol=0, atol=1e-12)
    assert model.forest_.estimators_[0].tree_.node_count > 9
    beyond = np.array([[1e305], [-1e305]]) * np.ones((1, X.shape[1]))
    assert np.isfinite(model.predict_proba(stored(beyond))).all()


def test_sparse_rows_are_rescaled_as_dense_ones():
    """Features that hold 0 are only divided, the others shifted as well, also rows that lack them."""
    X = np.array([[1.0, -3.0, 0.0, 7.0, -1.0], [3.0, -2.0, 4.0, 7.0, 2.0]])
    model = RandomForestPCT(1, random_state=0).fit(X, np.eye(2, dtype=int))
    assert model.shift_.tolist() == [1, -2, 0, 7, 0]
    assert model.scale_.tolist() == [2, 1, 4, 1, 2]
    for rows in (X, np.zeros((1, 5)), np.array([[9.0, 0.0, -1.0, 0.0, 0.5]])):
        expected = np.clip((rows - model.shift_) / model.scale_, -2, 2)
        np.testing.assert_array_equal(model._rescaled(rows), expected)
        np.testing.assert_array_equal(model._rescaled(sparse.csr_array(rows)).toarray(), expected)


@pytest.mark.parametrize("container", CONTAINERS)
def test_equals_the_forest_of_scikit_learn(problem, container):
    """One array of probabilities, those of scikit-learn's forest, in every container; half the votes are enough."""
    X, Y, queries = problem
    varying = np.flatnonzero(np.ptp(Y, axis=0))
    theirs = RandomForestClassifier(9, max_features=X.shape[1] // 10 + 1, random_state=0).fit(X, Y[:, varying])
    expected = np.column_stack([p[:, 1] for p in theirs.predict_proba(queries)])
    model = clone(FOREST).fit(sparse.csr_array(X), CONTAINERS[container](Y))
    scores = model.predict_proba(sparse.csr_array(queries))
    np.testing.assert_allclose(scores[:, varying], expected, rtol=0, atol=1e-12)
    assert scores[:, 3:].tolist() == [[0.0, 1.0]] * len(queries)
    predicted = model.predict(sparse.csr_array(queries))
    assert sparse.issparse(predicted) == (container != "dense")
    np.testing.assert_array_equal(dense(predicted), scores >= 0.5)


def test_one_label_one_row_and_constant_labels():
    """A single label is one column; one row, or labels of one class only, need no forest."""
    X, Y, queries = noisy_problem(1, n_labels=1)
    theirs = RandomForestClassifier(9, max_features=2, random_state=0).fit(X, Y[:, 0]).predict_proba(queries)
    np.testing.assert_allclose(clone(FOREST).fit(X, Y).predict_proba(queries)[:, 0], theirs[:, 1], rtol=0, atol=1e-12)
    assert clone(FOREST).fit([[1.0]], [[1, 0]]).predict([[3.0]]).tolist() == [[1, 0]]
    for value in (0, 1):
        assert (clone(FOREST).fit(np.eye(3), np.full((3, 2), value)).predict_proba(np.eye(3)) == value).all()


def test_seeds_and_jobs():
    """One seed, one answer to the last bit; threads change nothing."""
    X, Y, queries = noisy_problem(2)
    one, two, other = (RandomForestPCT(30, random_state=s).fit(X, Y).predict_proba(queries) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()
    with parallel_config("threading"):
        jobs = RandomForestPCT(30, random_state=1, n_jobs=2).fit(X, Y)
        np.testing.assert_array_equal(jobs.predict_proba(queries), one)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_estimators": 0}, ValueError, "n_estimators must be at least 1, got 0"),
        ({"n_estimators": "10"}, TypeError, "n_estimators must be an integer, got '10'"),
        ({"bootstrap": 1}, TypeError, "bootstrap must be True or False, got 1"),
        ({"max_features": 0}, ValueError, "'max_features' parameter of RandomForestClassifier must be"),
        ({"max_features": "all"}, ValueError, "'max_features' parameter of RandomForestClassifier must be"),
        ({"random_state": "a"}, ValueError, "cannot be used to seed"),
    ],
)
def test_bad_parameters(options, error, message):
    """A parameter out of range is named."""
    with pytest.raises(error, match=message):
        RandomForestPCT(**options).fit(np.eye(8), np.eye(8, dtype=int))


def test_real_data(data_folder):
    """On emotions the forest errs less than linear classifiers."""
    training, test = (fetch_dataset("emotions", subset=part) for part in ("train", "test"))
    loss = {}
    for model in (RandomForestPCT(random_state=0), BinaryRelevance()):
        predicted = model.fit(training.X, training.Y).predict(test.X)
        loss[type(model)] = (dense(predicted) != dense(test.Y)).mean()
    assert loss[RandomForestPCT] < loss[BinaryRelevance] - 0.01
