import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from conftest import CHECKS, CONTAINERS
from nearlabel.datasets import fetch_dataset
from nearlabel.metrics import hamming_loss
from nearlabel.rivals import PredictiveClusteringTree, RandomForestPCT


def noisy_problem(seed, n=60, d=4, n_labels=3):
    """Label sets that depend on the first features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, :n_labels] + rng.normal(size=(n, n_labels)) > 0.3).astype(int), rng.normal(size=(30, d))


@pytest.mark.parametrize("check", CHECKS)
def test_contract(check):
    """The tree keeps our own contract, the order of labels included."""
    check(PredictiveClusteringTree(2, random_state=0))


def left_over(Y, left):
    """Return the variance of the labels, summed and times rows, that a split leaves."""
    return sum(len(part) * part.var(axis=0).sum() for part in (Y[left], Y[~left]))


def cuts(X, Y, smallest):
    """Yield what each split of some rows leaves, with enough rows on either side."""
    for feature in range(X.shape[1]):
        for value in np.unique(X[:, feature])[:-1]:
            left = X[:, feature] <= value
            if min(left.sum(), (~left).sum()) >= smallest:
                yield left_over(Y, left)


@pytest.mark.parametrize("smallest", [1, 5])
def test_each_split_is_the_best_of_all(smallest):
    """By trying them all: no other split leaves less variance, and a leaf has one label set or no split."""
    X, Y, _ = noisy_problem(0)
    model = PredictiveClusteringTree(smallest, random_state=0).fit(X, Y)
    inside = model.tree_.decision_path(model._rescaled(X)).toarray().astype(bool)
    nodes, n_leaves = model.tree_.tree_, 0
    for node in range(nodes.node_count):
        rows, left = inside[:, node], nodes.children_left[node]
        possible = list(cuts(X[rows], Y[rows], smallest))
        if left >= 0:
            assert left_over(Y[rows], inside[rows, left]) == pytest.approx(min(possible), abs=1e-9)
        else:
            n_leaves += 1
            assert len(np.unique(Y[rows], axis=0)) == 1 or not possible
    assert n_leaves > 5


@pytest.mark.parametrize("container", CONTAINERS)
def test_scores_are_the_means_of_leaves(container):
    """A row that meets others in a leaf gets the mean of their label sets; half of them are enough."""
    X, Y, queries = noisy_problem(1)
    Y = np.column_stack([Y, np.zeros(60, int), np.ones(60, int)])
    model = PredictiveClusteringTree(random_state=0).fit(sparse.csr_array(X), CONTAINERS[container](Y))
    leaf_of, leaves = (model.tree_.apply(model._rescaled(rows)) for rows in (X, queries))
    expected = np.array([Y[leaf_of == leaf].mean(axis=0) for leaf in leaves])
    np.testing.assert_allclose(model.predict_proba(sparse.csr_array(queries)), expected, rtol=0, atol=1e-12)
    predicted = model.predict(queries)
    assert sparse.issparse(predicted) == (container != "dense")
    np.testing.assert_array_equal(predicted.toarray() if sparse.issparse(predicted) else predicted, expected >= 0.5)


def test_one_tree_of_a_forest():
    """A forest of one tree with all features and rows is this tree."""
    X, Y, queries = noisy_problem(2)
    forest = RandomForestPCT(1, max_features=1.0, bootstrap=False, random_state=0).fit(X, Y)
    seed = forest.forest_.estimators_[0].random_state
    tree = PredictiveClusteringTree(1, random_state=seed).fit(X, Y)
    np.testing.assert_array_equal(tree.predict_proba(queries), forest.predict_proba(queries))


def test_read_by_hand():
    """Questions in the units of X, labels with their shares, rows in brackets."""
    X = [[1e9 + 2, 0.0], [1e9 + 4, 0.0], [1e9 + 10, 1.0], [1e9 + 12, -1.0], [1e9 + 14, 0.5]]
    Y = [["sea"], ["sea", "beach"], ["wood"], [], ["wood"]]
    model = PredictiveClusteringTree(2, random_state=0).fit(X, Y)
    assert model.to_text(["year", "x"]).splitlines() == [
        "year <= 1000000007",
        "    beach 0.50, sea 1.00 (2 rows)",
        "year > 1000000007",
        "    wood 0.67 (3 rows)",
    ]
    small = PredictiveClusteringTree(2, random_state=0).fit(np.array(X) - [1e9, 0], Y)
    assert small.to_text().splitlines()[0] == "x0 <= 7"
    assert small.set_params(max_depth=1).fit(X, Y).to_text().count("rows)") == 2


def test_the_text_is_what_is_predicted():
    """Following the questions of the text gives the predicted labels of each row."""
    X, Y, queries = noisy_problem(3)
    model = PredictiveClusteringTree(random_state=0).fit(X, Y)
    for row, expected in zip(queries, model.predict_labels(queries), strict=True):
        assert labels_by(model.to_text().splitlines(), row) == [str(label) for label in expected]


def labels_by(lines, row):
    """Return the labels that a text gives for a row."""
    depth = 0
    for line in lines:
        indent, words = (len(line) - len(line.lstrip())) // 4, line.split()
        if indent != depth:
            continue
        if line.endswith("rows)"):
            return [word.split()[0] for word in line.partition(" (")[0].split(", ") if word.strip() != "no label"]
        value = row[int(words[0][1:])]
        depth += (value <= float(words[2])) == (words[1] == "<=")
    raise AssertionError("no leaf")


def test_nothing_to_divide():
    """One label set for all: there is no tree; a constant feature: one leaf."""
    same = PredictiveClusteringTree().fit([[1.0], [2.0]], [[1, 0], [1, 0]])
    assert same.predict([[5.0]]).tolist() == [[1, 0]]
    assert same.to_text() == "no label differs between samples"
    leaf = PredictiveClusteringTree(1, random_state=0).fit([[1.0], [1.0]], [[1, 0], [0, 0]])
    assert leaf.to_text() == "0 0.50 (2 rows)"


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (
            lambda: PredictiveClusteringTree(0).fit([[1]], [[1]]),
            ValueError,
            "min_samples_leaf must be at least 1, got 0",
        ),
        (lambda: PredictiveClusteringTree(0.5).fit([[1]], [[1]]), TypeError, "min_samples_leaf must be an integer"),
        (lambda: PredictiveClusteringTree(max_depth=0).fit([[1]], [[1]]), ValueError, "max_depth must be at least 1"),
        (
            lambda: PredictiveClusteringTree().fit([[1]], [[1]]).to_text(["a", "b"]),
            ValueError,
            "feature_names must be 1 names, got 2",
        ),
        (lambda: PredictiveClusteringTree().to_text(), NotFittedError, "not fitted"),
    ],
)
def test_refused(ask, error, message):
    """A parameter out of range is named."""
    with pytest.raises(error, match=message):
        ask()


def test_real_data(data_folder):
    """On emotions a tree errs more than the forest of such trees, and less when its leaves are not of single rows."""
    training, test = (fetch_dataset("emotions", subset=part) for part in ("train", "test"))
    models = (
        PredictiveClusteringTree(1, random_state=0),
        PredictiveClusteringTree(random_state=0),
        RandomForestPCT(random_state=0),
    )
    grown, tree, forest = (hamming_loss(test.Y, model.fit(training.X, training.Y).predict(test.X)) for model in models)
    assert forest < tree < grown
