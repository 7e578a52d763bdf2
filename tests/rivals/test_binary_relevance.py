import pickle

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from conftest import CHECKS, CONTAINERS
from nearlabel.datasets import fetch_dataset
from nearlabel.lazy import IBLR, NLDD
from nearlabel.rivals import SMBR, BinaryRelevance, ConditionalBernoulliMixture

LOGISTIC = LogisticRegression(solver="newton-cholesky")
STUMP = DecisionTreeClassifier(max_depth=1, random_state=0)  # decides many sets that never occur
METHODS = [method(LogisticRegression(solver="liblinear"), random_state=0) for method in (BinaryRelevance, SMBR)]


def dense(labels):
    """Return label sets as an array."""
    return labels.toarray() if sparse.issparse(labels) else np.asarray(labels)


def nearest_sets(Y, decided):
    """Move each decision to the training label set of least Hamming distance; then more frequent; then first seen."""
    rows = [tuple(int(v) for v in row) for row in Y]
    seen = {labelset: rows.count(labelset) for labelset in rows}
    answers, ties = [], 0
    for decision in decided:
        distances = [sum(int(a) != b for a, b in zip(decision, labelset, strict=True)) for labelset in seen]
        places = zip(distances, seen.items(), strict=True)
        answers.append(
            list(min((d, -count, place, labelset) for place, (d, (labelset, count)) in enumerate(places))[-1])
        )
        ties += distances.count(min(distances)) > 1
    return answers, ties


def random_sets(seed, n, n_labels, n_sets):
    """Rows drawn from a few label sets, with equal frequencies among them."""
    rng = np.random.default_rng(seed)
    sets = (rng.random((n_sets, n_labels)) < 0.4).astype(int)
    return sets[rng.integers(0, n_sets, n)]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_contract(method, check):
    """Binary relevance and subset mapping keep our own contract."""
    check(clone(method))


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(
    "estimator", [LogisticRegression(solver="liblinear"), GaussianNB(), STUMP], ids=lambda e: type(e).__name__
)
@pytest.mark.filterwarnings("ignore:Label (not )?[0-9]+ is present in all training examples")
def test_equals_one_vs_rest(problem, estimator, container):
    """Scores and label sets are those of scikit-learn's OneVsRestClassifier, cell by cell."""
    X, Y, queries = problem
    theirs = OneVsRestClassifier(estimator).fit(X, Y)
    ours = BinaryRelevance(estimator).fit(X, CONTAINERS[container](Y))
    np.testing.assert_allclose(ours.predict_proba(queries), theirs.predict_proba(queries), rtol=0, atol=1e-12)
    predicted = ours.predict(queries)
    assert sparse.issparse(predicted) == (container != "dense")
    np.testing.assert_array_equal(dense(predicted), dense(theirs.predict(queries)))


def test_default_equals_one_vs_rest(problem):
    """The default decides as scikit-learn's linear support vector machine of each label does."""
    X, Y, queries = problem
    Y = Y[:, :2]
    model = BinaryRelevance(random_state=0).fit(X, Y)
    theirs = OneVsRestClassifier(LinearSVC(dual=False)).fit(X, Y)
    np.testing.assert_array_equal(model.predict(queries), theirs.predict(queries))
    scores = model.predict_proba(queries)
    assert ((scores > 0) & (scores < 1)).all()
    assert [type(c).__name__ for c in model.estimators_] == ["Platt"] * 2


def test_constant_labels_have_their_value():
    """A label of one class is a float among the classifiers, without a warning."""
    X = np.arange(8.0).reshape(8, 1)
    Y = np.column_stack([X[:, 0] > 3, np.zeros(8), np.ones(8)]).astype(int)
    for method in (BinaryRelevance, SMBR):
        model = method(LOGISTIC).fit(X, Y)
        assert model.estimators_[1:] == [0.0, 1.0]
        assert model.predict_proba(X)[:, 1:].tolist() == [[0.0, 1.0]] * 8
        np.testing.assert_array_equal(model.predict(X), Y)


@pytest.mark.parametrize("container", ["dense", "csr_array", "csr_matrix", "csc_array"])
@pytest.mark.parametrize("estimator", [STUMP, GaussianNB(), None], ids=lambda e: type(e).__name__)
def test_subset_mapping_equals_a_loop(problem, estimator, container):
    """SMBR is binary relevance, its label sets moved to those of the training data by a loop."""
    X, Y, queries = problem
    stored = CONTAINERS[container](Y)
    relevance = BinaryRelevance(estimator, random_state=0).fit(X, stored)
    model = SMBR(estimator, random_state=0).fit(X, stored)
    expected, _ = nearest_sets(Y, dense(relevance.predict(queries)))
    assert dense(model.predict(queries)).tolist() == expected
    np.testing.assert_array_equal(model.predict_proba(queries), relevance.predict_proba(queries))


@pytest.mark.parametrize("container", ["dense", "csr_array"])
@pytest.mark.parametrize("seed", range(6))
def test_ties_equal_a_loop(seed, container):
    """Of label sets equally near the more frequent is taken, then the one seen first: any decision, many ties."""
    rng = np.random.default_rng(seed)
    n_labels = int(rng.integers(1, 9))
    Y = random_sets(seed, 30, n_labels, int(rng.integers(1, 12)))
    decided = (rng.random((120, n_labels)) < 0.5).astype(int)
    model = SMBR(DummyClassifier()).fit(np.zeros((30, 1)), CONTAINERS[container](Y))
    expected, ties = nearest_sets(Y, decided)
    assert dense(model._nearest_labelsets(decided)).tolist() == expected
    occurring = [row in Y.tolist() for row in decided.tolist()]
    np.testing.assert_array_equal(dense(model._nearest_labelsets(decided))[occurring], decided[occurring])
    assert ties > 20 or len(np.unique(Y, axis=0)) < 4


def test_ties_by_hand():
    """The empty decision is one label away from three sets: two rows beat one, and then the first row wins."""
    X, decided = np.zeros((5, 1)), np.zeros((1, 3), dtype=int)
    sets = {"a": [1, 0, 0], "b": [0, 1, 0], "c": [0, 0, 1]}
    for rows, winner in (("abcbc", "b"), ("cabbc", "c"), ("abccc", "c"), ("bacab", "b"), ("cabba", "a")):
        model = SMBR(DummyClassifier()).fit(X, [sets[row] for row in rows])
        assert model._nearest_labelsets(decided).tolist() == [sets[winner]], rows


@pytest.mark.parametrize("container", ["dense", "csr_array"])
def test_label_sets_most_frequent_first(container):
    """`labelsets_` are the distinct training label sets, by frequency, then by their first row."""
    Y = np.array([[0, 1], [1, 1], [1, 0], [1, 1], [0, 1], [0, 0]])
    model = SMBR(STUMP).fit(np.arange(6.0).reshape(6, 1), CONTAINERS[container](Y))
    assert sparse.issparse(model.labelsets_) == (container != "dense")
    assert dense(model.labelsets_).tolist() == [[0, 1], [1, 1], [1, 0], [0, 0]]


@pytest.mark.parametrize("container", ["dense", "csr_array"])
def test_label_sets_occur_and_those_that_occur_are_kept(container):
    """Every predicted label set is one of the training data, and a decision that is one stays as it is."""
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(120, 4)), rng.normal(size=(300, 4))
    Y = (X @ rng.normal(size=(4, 6)) + 2 * rng.normal(size=(120, 6)) > 1.5).astype(int)
    relevance = BinaryRelevance(LOGISTIC).fit(X, Y).predict(queries)
    predicted = dense(SMBR(LOGISTIC).fit(X, CONTAINERS[container](Y)).predict(queries))
    occurring = {tuple(row) for row in Y.tolist()}
    assert {tuple(row) for row in predicted.tolist()} <= occurring
    kept = np.array([tuple(row) in occurring for row in relevance.tolist()])
    np.testing.assert_array_equal(predicted[kept], relevance[kept])
    assert (predicted[~kept] != relevance[~kept]).any(axis=1).all()
    assert 0 < kept.sum() < 300


@pytest.mark.parametrize("container", ["dense", "csr_array"])
def test_blocks_change_nothing(problem, container, monkeypatch):
    """Predictions do not depend on how many queries fit the memory budget."""
    X, Y, queries = problem
    model = SMBR(STUMP).fit(X, CONTAINERS[container](Y))
    labels = dense(model.predict(queries))
    monkeypatch.setattr("nearlabel.utils.validation.row_blocks.__defaults__", (500,))
    np.testing.assert_array_equal(dense(model.predict(queries)), labels)


@pytest.mark.long
def test_many_labels_stay_sparse():
    """With 20,000 labels, most of them constant, predictions are sparse and those on the labels that occur."""
    rng = np.random.default_rng(0)
    X, few = rng.normal(size=(40, 3)), random_sets(0, 40, 6, 9)
    columns = np.sort(rng.choice(20_000, 6, replace=False))
    row, label = np.nonzero(few)
    many = sparse.csr_array((np.ones(len(row), dtype=int), (row, columns[label])), shape=(40, 20_000))
    model = SMBR(STUMP).fit(X, many)
    predicted, expected = model.predict(X[:5]), SMBR(STUMP).fit(X, few).predict(X[:5])
    assert sparse.issparse(predicted)
    np.testing.assert_array_equal(predicted[:, columns].toarray(), expected)
    assert predicted.nnz == expected.sum()


def test_seeds_and_jobs():
    """One seed, one answer; estimators that draw get it too; jobs change nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    Y = (X[:, :3] + rng.normal(size=(60, 3)) > 0).astype(int)
    for estimator in (None, DecisionTreeClassifier(max_features=1, max_depth=3)):
        one, two, other = (BinaryRelevance(estimator, random_state=s).fit(X, Y).predict_proba(X) for s in (1, 1, 2))
        np.testing.assert_array_equal(one, two)
        assert (one != other).any()
        with parallel_config("threading"):
            jobs = BinaryRelevance(estimator, random_state=1, n_jobs=2).fit(X, Y)
        np.testing.assert_array_equal(jobs.predict_proba(X), one)


@pytest.mark.parametrize("method", [BinaryRelevance, SMBR], ids=lambda m: m.__name__)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"random_state": "a"}, "cannot be used to seed"),
        ({"estimator": StandardScaler()}, "estimator must have predict_proba or decision_function, got StandardScaler"),
        ({"estimator": LinearRegression()}, r"estimator must be a classifier, got LinearRegression\(\)"),
        ({"estimator": "svm"}, "estimator must be a classifier, got 'svm'"),
    ],
)
def test_bad_parameters(method, options, message):
    """A parameter out of range is named."""
    with pytest.raises(ValueError, match=message):
        method(**options).fit(np.eye(8), np.eye(8, dtype=int))


def test_unfitted():
    """Nothing can be asked before a fit."""
    for model in (BinaryRelevance(), SMBR()):
        for method in ("predict", "predict_proba"):
            with pytest.raises(NotFittedError):
                getattr(model, method)(np.eye(2))


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_pickles(problem, method):
    """A fitted classifier survives pickling."""
    X, Y, queries = problem
    model = clone(method).fit(X, Y)
    thawed = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(thawed.predict_proba(queries), model.predict_proba(queries))
    np.testing.assert_array_equal(thawed.predict(queries), model.predict(queries))


@pytest.mark.long
@pytest.mark.parametrize("name", ["emotions", "medical"])
@pytest.mark.filterwarnings("ignore:Label (not )?[0-9]+ is present in all training examples")
def test_real_data(data_folder, name):
    """On real data, dense and sparse, both equal scikit-learn and the loop, and err less than predicting nothing."""
    training, test = (fetch_dataset(name, subset=part) for part in ("train", "test"))
    scale = MaxAbsScaler().fit(training.X)
    X, queries = scale.transform(training.X), scale.transform(test.X)
    estimator = LogisticRegression(C=10, solver="liblinear")
    relevance = BinaryRelevance(estimator).fit(X, training.Y)
    theirs = OneVsRestClassifier(estimator).fit(X, training.Y)
    predicted, truth = dense(relevance.predict(queries)), dense(test.Y)
    np.testing.assert_array_equal(predicted, dense(theirs.predict(queries)))
    np.testing.assert_allclose(relevance.predict_proba(queries), theirs.predict_proba(queries), rtol=0, atol=1e-12)
    mapped = dense(SMBR(estimator).fit(X, training.Y).predict(queries))
    assert mapped.tolist() == nearest_sets(dense(training.Y), predicted)[0]
    assert (predicted != truth).mean() < 0.8 * truth.mean()
    assert (mapped != truth).mean() < 0.8 * truth.mean()


def test_features_whose_squares_overflow_or_vanish_are_refused():
    """Liblinear would not end: named are the method, the largest size and the feature, whichever solver is chosen."""
    X, y = np.random.default_rng(0).normal(size=(60, 4)), np.random.default_rng(1).integers(0, 2, (60, 3))
    X[:, 2] = np.sign(X[:, 2]) * 2e200
    for rows in (X, sparse.csr_array(X)):
        with pytest.raises(
            ValueError, match=r"at most 1e\+30 for LinearSVC, got 2e\+200 in feature 2, counted from 0\. Hint: scale"
        ):
            BinaryRelevance().fit(rows, y)
    X[:, 2] = 0
    for rows in (X * 1e-120, sparse.csr_array(X * 1e-120)):
        with pytest.raises(ValueError, match=r"at least 1e-100 for LogisticRegression, got .*e-120 as the largest"):
            BinaryRelevance(LogisticRegression(solver="liblinear")).fit(rows, y)
    assert BinaryRelevance().fit(X * 1e10, y).predict(X).shape == y.shape


def with_a_tiny_feature(size):
    """Return features of which one is tiny, and labels of as many 0 as 1, where liblinear might not end."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 4)), (np.arange(60)[:, np.newaxis] // [1, 2, 3]) % 2
    X[:, 2] = size * random.integers(0, 2, 60)
    return X, y


@pytest.mark.parametrize("estimator", [LinearSVC(), LogisticRegression(solver="liblinear")], ids=["svc", "logistic"])
def test_a_tiny_feature_beside_others_counts_as_0(estimator):
    """As that of a probability which is never far from 0, down to where liblinear might not end."""
    X, y = with_a_tiny_feature(1e-149)
    expected = dense(BinaryRelevance(estimator).fit(X * [1, 1, 0, 1], y).predict(X))
    np.testing.assert_array_equal(dense(BinaryRelevance(estimator).fit(X, y).predict(X)), expected)
    crossed = np.tile([[1, 1, 1, 0], [1, -1, 0, 0], [-1, 1, 0, 1], [-1, -1, 1, 1]], (10, 1))
    told_apart = crossed * [1, 1, 1e-149, 0]
    y = (crossed[:, :1] * crossed[:, 1:2] > 0).repeat(2, axis=1)
    assert BinaryRelevance(estimator).fit(told_apart, y).predict(crossed).shape == y.shape
    with pytest.raises(ValueError, match=r"is 0 or at least 1e-150 for L.*, got 1e-170 in feature 2, counted from 0\."):
        BinaryRelevance(estimator).fit(crossed * [1, 1, 1e-170, 0], y)


@pytest.mark.parametrize("method", [NLDD(random_state=0), IBLR(plus=True), ConditionalBernoulliMixture(random_state=0)])
@pytest.mark.parametrize("size", [1e-120, 1e-200, 5e-324])
def test_methods_that_scale_features_take_a_tiny_one(method, size):
    """It has a scale of its own, so that it may say as much as the others."""
    X, y = with_a_tiny_feature(size)
    assert np.isfinite(clone(method).fit(X, y).predict_proba(X)).all()
