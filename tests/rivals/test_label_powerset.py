import pickle

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from conftest import CHECKS, CONTAINERS
from nearlabel.datasets import fetch_dataset
from nearlabel.rivals import BinaryRelevance, LabelPowerset
from nearlabel.solvers.label_probabilities import HeldOut, Temperature, deal_out, most_likely_slope

TREE = DecisionTreeClassifier(max_depth=2, random_state=0)
MANY_CLASSES = "ignore:The number of unique classes is greater than 50%"


def held_out(decisions, column):
    """Return decision values of rows that weigh 1."""
    return HeldOut(decisions, column, np.ones(len(column)))


def dense(labels):
    """Return label sets as an array."""
    return labels.toarray() if sparse.issparse(labels) else np.asarray(labels)


def numbered(Y):
    """Number the label sets of rows by a loop: more frequent first, then the one seen first."""
    rows = [tuple(int(v) for v in row) for row in Y]
    seen = {labelset: rows.count(labelset) for labelset in rows}
    labelsets = sorted(seen, key=lambda labelset: -seen[labelset])  # a stable sort
    return labelsets, [labelsets.index(row) for row in rows]


def powerset_by_loop(estimator, X, Y, queries):
    """Label sets and marginals of a label powerset, by dictionaries and explicit sums."""
    labelsets, classes = numbered(Y)
    fitted = clone(estimator).fit(X, classes)
    predicted = [list(labelsets[c]) for c in fitted.predict(queries)]
    marginals = np.zeros((queries.shape[0], Y.shape[1]))
    for i, row in enumerate(fitted.predict_proba(queries)):
        for c, probability in zip(fitted.classes_, row, strict=True):
            for label in range(Y.shape[1]):
                if labelsets[c][label]:
                    marginals[i, label] += probability
    return predicted, marginals


def log_likelihood(slope, parts):
    """What the slope maximises, cell by cell: the log-likelihood, and that of one row of every class alike."""
    n, total = sum(len(column) for _, column, *_ in parts), 0.0
    for decisions, column, *_ in parts:
        for row, c in zip(decisions, column, strict=True):
            values = [slope * float(d) for d in row]
            highest = max(values)
            norm = highest + np.log(sum(np.exp(v - highest) for v in values))
            total += values[c] - norm + sum(v - norm for v in values) / len(values) / n
    return total


def random_parts(seed, noise=1.0, size=1.0):
    """Decision values of three folds, one of them with fewer classes, that tell something of the classes."""
    rng = np.random.default_rng(seed)
    parts = []
    for n_classes in (4, 4, 3):
        column = rng.integers(0, n_classes, 15)
        parts.append(held_out(size * (np.eye(n_classes)[column] + noise * rng.normal(size=(15, n_classes))), column))
    return parts


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(
    "method",
    [
        LabelPowerset(random_state=0),
        LabelPowerset(DecisionTreeClassifier(max_features=1), random_state=0),
    ],
    ids=str,
)
def test_contract(method, check):
    """Label powerset keeps our own contract, calibrated or not."""
    check(clone(method))


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("estimator", [TREE, BernoulliNB(), KNeighborsClassifier(3)], ids=lambda e: type(e).__name__)
def test_equals_a_loop(problem, estimator, container):
    """Label sets and marginals are those of a loop over dictionaries of tuples."""
    X, Y, queries = problem
    model = LabelPowerset(estimator).fit(X, CONTAINERS[container](Y))
    predicted, marginals = powerset_by_loop(estimator, X, Y, queries)
    assert sparse.issparse(model.predict(queries)) == sparse.issparse(model.labelsets_) == (container != "dense")
    assert dense(model.predict(queries)).tolist() == predicted
    np.testing.assert_allclose(model.predict_proba(queries), marginals, rtol=0, atol=1e-12)
    assert (model.predict_proba(queries)[:, 3:] == [0, 1]).all()
    assert [tuple(row) for row in dense(model.labelsets_).tolist()] == numbered(Y)[0]


def test_default_decides_as_its_estimator(problem):
    """The default predicts as scikit-learn's linear support vector machine on the classes does."""
    X, Y, queries = problem
    labelsets, classes = numbered(Y)
    expected = [list(labelsets[c]) for c in LinearSVC(dual=False).fit(X, classes).predict(queries)]
    assert LabelPowerset(random_state=0).fit(X, Y).predict(queries).tolist() == expected
    assert LabelPowerset(probability=False).fit(X, Y).predict(queries).tolist() == expected


def test_by_hand():
    """Three neighbours, of label sets {0, 1}, {0, 1} and {1}: the first set, and marginals 2/3 and 1."""
    X, Y = [[0.0], [1.0], [2.0], [9.0]], [[1, 1], [1, 1], [0, 1], [0, 0]]
    model = LabelPowerset(KNeighborsClassifier(3)).fit(X, Y)
    assert model.labelsets_.tolist() == [[1, 1], [0, 1], [0, 0]]
    assert model.predict([[1.0]]).tolist() == [[1, 1]]
    np.testing.assert_allclose(model.predict_proba([[1.0]]), [[2 / 3, 1]])
    # The likeliest set is {0}, of half the weight, but label 1 or 2 is in sets of the other half.
    Y = [[1, 0, 0], [1, 0, 0], [0, 1, 1], [0, 1, 0]]
    model = LabelPowerset(KNeighborsClassifier(4)).fit(X, Y)
    assert model.predict([[0.0]]).tolist() == [[1, 0, 0]]
    np.testing.assert_allclose(model.predict_proba([[0.0]]), [[1 / 2, 1 / 2, 1 / 4]])


def test_order_of_labels_changes_nothing():
    """Reordered labels pose the very same problem to the classifier, also to one that draws at random."""
    rng = np.random.default_rng(0)
    X, order = rng.normal(size=(60, 4)), np.array([2, 0, 3, 1])
    Y = (X @ rng.normal(size=(4, 4)) + rng.normal(size=(60, 4)) > 0).astype(int)
    for estimator in (None, DecisionTreeClassifier(max_features=1, max_depth=4)):
        model, other = (LabelPowerset(estimator, random_state=0).fit(X, y) for y in (Y, Y[:, order]))
        np.testing.assert_array_equal(other.predict(X), model.predict(X)[:, order])
        np.testing.assert_allclose(other.predict_proba(X), model.predict_proba(X)[:, order], rtol=0, atol=1e-15)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e6])
@pytest.mark.parametrize("seed", range(4))
def test_slope_is_most_likely(seed, size):
    """No slope of a fine grid around it, nor of a coarse one, is likelier."""
    parts = random_parts(seed, noise=0.3 + 0.4 * seed, size=size)
    slope = most_likely_slope(parts)
    best = log_likelihood(slope, parts)
    grid = np.concatenate([slope * np.linspace(0.99, 1.01, 41), np.geomspace(1e-3, 1e3, 61) / size, [0.0]])
    assert slope > 0
    assert max(log_likelihood(s, parts) for s in grid) <= best + 1e-10
    assert log_likelihood(slope * 1.01, parts) < best > log_likelihood(slope * 0.99, parts)


def test_slope_by_hand():
    """Of n rows of margin 2, r right: softmax(2 s) = (r + 1/2) / (n + 1), as the row added is half of each class."""
    decisions, column = np.tile([-1.0, 1.0], (10, 1)), np.array([1] * 8 + [0] * 2)
    assert most_likely_slope([held_out(decisions, column)]) == pytest.approx(np.log(8.5 / 2.5) / 2, rel=1e-9)
    two = [held_out(decisions[:3], column[:3]), held_out(decisions[3:], column[3:])]
    assert most_likely_slope(two) == pytest.approx(np.log(8.5 / 2.5) / 2, rel=1e-9)
    all_right = held_out(decisions, np.ones(10, dtype=int))
    assert most_likely_slope([all_right]) == pytest.approx(np.log(10.5 / 0.5) / 2, rel=1e-9)
    assert most_likely_slope([held_out(decisions, np.zeros(10, dtype=int))]) == 0


def test_slope_where_nothing_is_known():
    """Without rows, or with decision values that are all the same, it is 1; a row's own shift does not matter."""
    assert most_likely_slope([]) == 1
    assert most_likely_slope([held_out(np.full((4, 3), 0.1), np.array([0, 1, 2, 0]))]) == 1
    parts = random_parts(5)
    shifted = [held_out(d + np.arange(len(d))[:, np.newaxis], c) for d, c, _ in parts]
    assert most_likely_slope(shifted) == pytest.approx(most_likely_slope(parts), rel=1e-9)


@pytest.mark.filterwarnings(MANY_CLASSES)
def test_temperature_against_a_grid(problem):
    """On five folds by hand, the rows of a class of one row left out, no slope is likelier."""
    X, Y, queries = problem
    model = LabelPowerset(random_state=3).fit(X, Y[:, :3])
    classes = np.array(numbered(Y[:, :3])[1])
    fold = deal_out(classes, np.random.RandomState(model.estimator_.random_state))
    parts = []
    for number in range(5):
        outside = np.flatnonzero(fold != number)
        fitted = LinearSVC(dual=False).fit(X[outside], classes[outside])
        rows = [i for i in np.flatnonzero(fold == number) if classes[i] in fitted.classes_]
        columns = [fitted.classes_.tolist().index(classes[i]) for i in rows]
        parts.append((fitted.decision_function(X[rows]), columns))
    left_out = len(X) - sum(len(columns) for _, columns in parts)
    assert left_out == sum((classes == c).sum() == 1 for c in classes)
    slope = model.estimator_.slope_
    around = slope * np.linspace(0.95, 1.05, 41) if slope else np.geomspace(1e-3, 10, 41)
    best = log_likelihood(slope, parts)
    assert max(log_likelihood(s, parts) for s in around) <= best + 1e-9
    decisions = LinearSVC(dual=False).fit(X, classes).decision_function(queries)
    scores = np.exp(slope * decisions)
    expected = scores @ model.labelsets_ / scores.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(queries), expected, rtol=0, atol=1e-9)


def test_two_classes_have_one_column():
    """One decision value speaks for one class as much as against the other."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    Y = (X[:, :1] + rng.normal(size=(80, 1)) > 0.3).astype(int)
    model = LabelPowerset(random_state=0).fit(X, Y)
    decision = LinearSVC(dual=False).fit(X, Y[:, 0]).decision_function(X)
    expected = 1 / (1 + np.exp(-2 * model.estimator_.slope_ * decision))
    np.testing.assert_allclose(model.predict_proba(X)[:, 0], expected, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), BinaryRelevance(random_state=0).fit(X, Y).predict(X))
    brier = ((model.predict_proba(X) - Y) ** 2).mean()
    assert brier < 0.8 * Y.var()


@pytest.mark.long
def test_calibrated_better_than_decisions_as_they_are():
    """Probabilities of unseen rows are likelier than those of the softmax of decision values as they are."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 4))
    y = np.argmax(X[:, :3] + rng.normal(size=(600, 3)), axis=1)
    for size in (0.01, 100.0):  # features that make decision values of any size
        svm = make_pipeline(StandardScaler(), _Scaled(size))
        calibrated = Temperature(svm, 0).fit(X[:300], y[:300])
        raw = [held_out(calibrated.estimator_.decision_function(X[300:]), y[300:])]
        slopes = np.geomspace(1e-4, 1e4, 161)
        best = slopes[np.argmax([log_likelihood(s, raw) for s in slopes])]
        assert 0.7 < calibrated.slope_ / best < 1.4


class _Scaled(ClassifierMixin, BaseEstimator):
    """A linear support vector machine, its decision values multiplied."""

    def __init__(self, size):
        self.size = size

    def fit(self, X, y):
        self.inner_ = LinearSVC(dual=False).fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X):
        return self.inner_.predict(X)

    def decision_function(self, X):
        return self.size * self.inner_.decision_function(X)


def test_one_column_for_each_class():
    """Decision values of pairs of classes are refused, with a hint."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 3)), np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (10, 1))
    with pytest.raises(ValueError, match=r"column for each of 4 classes, got shape .*6.*decision_function_shape='ovr'"):
        LabelPowerset(SVC(decision_function_shape="ovo")).fit(X, Y)
    scores = LabelPowerset(SVC(), random_state=0).fit(X, Y).predict_proba(X)
    assert ((scores > 0) & (scores < 1)).all()


def test_without_probability():
    """`probability=False` fits the estimator alone, which needs no scores; then there is no `predict_proba`."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    Y = (X > 0).astype(int)
    model = LabelPowerset(probability=False).fit(X, Y)
    assert isinstance(model.estimator_, LinearSVC)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError) as error:
        model.predict_proba(X)
    assert "probability=True" in str(error.value.__cause__)
    calibrated = LabelPowerset().fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), calibrated.predict(X))
    assert not hasattr(model.set_params(probability=True), "predict_proba")  # it counts from the next fit on
    assert hasattr(calibrated.set_params(probability=False), "predict_proba")

    class Decides(ClassifierMixin, BaseEstimator):
        """A classifier without scores."""

        def fit(self, X, y):
            self.centroids_ = NearestCentroid().fit(X, y)
            return self

        def predict(self, X):
            return self.centroids_.predict(X)

    assert (LabelPowerset(Decides(), probability=False).fit(X, Y).predict(X) == Y).mean() > 0.7
    with pytest.raises(ValueError, match="estimator must have predict_proba or decision_function, got Decides"):
        LabelPowerset(Decides()).fit(X, Y)


@pytest.mark.parametrize("container", ["dense", "csr_array"])
@pytest.mark.parametrize("labelset", [[0, 0, 0], [1, 1, 1], [0, 1, 0], [1], [0]], ids=str)
def test_one_label_set(labelset, container):
    """Where all rows, or the only one, have one label set, it is predicted with certainty."""
    for n in (1, 7):
        X, Y = np.arange(2.0 * n).reshape(n, 2), np.tile(labelset, (n, 1))
        model = LabelPowerset().fit(X, CONTAINERS[container](Y))
        assert isinstance(model.estimator_, DummyClassifier)
        np.testing.assert_array_equal(dense(model.predict(X)), Y)
        np.testing.assert_array_equal(model.predict_proba(X), Y)


def test_few_rows():
    """Two rows of two label sets, all rows of different sets, constant features: finite scores, no warning."""
    for n in (2, 3, 8, 30):
        Y = np.array([[i >> bit & 1 for bit in range(5)] for i in range(n)])
        for X in (np.arange(2.0 * n).reshape(n, 2), np.ones((n, 2)), np.arange(2 * n, dtype=np.float32).reshape(n, 2)):
            model = LabelPowerset(random_state=0).fit(X, Y)
            assert model.estimator_.slope_ == 1  # no class has a second row
            scores = model.predict_proba(X)
            assert ((scores >= 0) & (scores <= 1)).all()
            assert model.labelsets_.tolist() == Y.tolist()


@pytest.mark.parametrize("container", ["dense", "csr_array"])
def test_blocks_change_nothing(problem, container, monkeypatch):
    """Scores do not depend on how many queries fit the memory budget."""
    X, Y, queries = problem
    model = LabelPowerset(random_state=0).fit(X, CONTAINERS[container](Y))
    scores = model.predict_proba(queries)
    monkeypatch.setattr("nearlabel.utils.validation.row_blocks.__defaults__", (500,))
    np.testing.assert_allclose(model.predict_proba(queries), scores, rtol=0, atol=1e-12)


def test_many_labels_stay_sparse():
    """With 20,000 labels, most of them constant, label sets are sparse and those on the labels that occur."""
    rng = np.random.default_rng(0)
    X, few = rng.normal(size=(40, 3)), np.tile([[1, 0, 1], [0, 1, 1], [0, 0, 0], [1, 1, 0]], (10, 1))
    columns = np.sort(rng.choice(20_000, 3, replace=False))
    row, label = np.nonzero(few)
    many = sparse.csr_array((np.ones(len(row), dtype=int), (row, columns[label])), shape=(40, 20_000))
    model, small = LabelPowerset(TREE).fit(X, many), LabelPowerset(TREE).fit(X, few)
    assert model.labelsets_.nnz == 6
    assert sparse.issparse(model.predict(X))
    np.testing.assert_array_equal(model.predict(X)[:, columns].toarray(), small.predict(X))
    np.testing.assert_allclose(model.predict_proba(X)[:, columns], small.predict_proba(X), rtol=0, atol=1e-12)


def test_seeds_and_jobs():
    """One seed, one answer; estimators that draw get it too; jobs change nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    Y = (X[:, :3] + rng.normal(size=(60, 3)) > 0).astype(int)
    for estimator in (None, DecisionTreeClassifier(max_features=1, max_depth=3)):
        one, two, other = (LabelPowerset(estimator, random_state=s).fit(X, Y).predict_proba(X) for s in (1, 1, 2))
        np.testing.assert_array_equal(one, two)
        assert (one != other).any()
    with parallel_config("threading"):
        jobs = LabelPowerset(random_state=1, n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(jobs.predict_proba(X), LabelPowerset(random_state=1).fit(X, Y).predict_proba(X))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"random_state": "a"}, ValueError, "cannot be used to seed"),
        ({"probability": "yes"}, TypeError, "probability must be True or False, got 'yes'"),
        ({"estimator": StandardScaler()}, ValueError, "estimator must have predict_proba or decision_function"),
        (
            {"estimator": StandardScaler(), "probability": False},
            ValueError,
            "estimator must have predict, got Standard",
        ),
        (
            {"estimator": LinearRegression(), "probability": False},
            ValueError,
            r"estimator must be a classifier, got LinearRegression\(\)",
        ),
    ],
)
def test_bad_parameters(options, error, message):
    """A parameter out of range is named."""
    with pytest.raises(error, match=message):
        LabelPowerset(**options).fit(np.eye(8), np.eye(8, dtype=int))


def test_unfitted():
    """Nothing can be asked before a fit."""
    for method in ("predict", "predict_proba"):
        with pytest.raises(NotFittedError):
            getattr(LabelPowerset(), method)(np.eye(2))


def test_pickles(problem):
    """A fitted classifier survives pickling."""
    X, Y, queries = problem
    model = LabelPowerset(random_state=0).fit(X, Y)
    thawed = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(thawed.predict_proba(queries), model.predict_proba(queries))
    np.testing.assert_array_equal(thawed.predict(queries), model.predict(queries))


@pytest.mark.parametrize("name", ["emotions", pytest.param("medical", marks=pytest.mark.long)])
@pytest.mark.filterwarnings(MANY_CLASSES)
def test_real_data(data_folder, name):
    """Dense and sparse, it equals the loop, hits more whole label sets than binary relevance, and is calibrated."""
    training, test = (fetch_dataset(name, subset=part) for part in ("train", "test"))
    scale = MaxAbsScaler().fit(training.X)
    X, queries = scale.transform(training.X), scale.transform(test.X)
    Y, truth = dense(training.Y), dense(test.Y)
    bayes = BernoulliNB(binarize=0.3)
    some = queries[:100]
    by_loop, marginals = powerset_by_loop(bayes, X, Y, some)
    model = LabelPowerset(bayes).fit(X, training.Y)
    assert dense(model.predict(some)).tolist() == by_loop
    np.testing.assert_allclose(model.predict_proba(some), marginals, rtol=0, atol=1e-9)
    default = LabelPowerset(random_state=0).fit(X, training.Y)
    relevance = BinaryRelevance(random_state=0).fit(X, training.Y)
    hits, theirs = ((dense(m.predict(queries)) == truth).all(axis=1).mean() for m in (default, relevance))
    assert hits > theirs
    brier = ((default.predict_proba(queries) - truth) ** 2).mean()
    assert brier < 0.8 * ((Y.mean(axis=0) - truth) ** 2).mean()
