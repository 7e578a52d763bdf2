import pickle
from math import ceil, comb

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import average_precision_score, f1_score
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from conftest import CHECKS, CONTAINERS
from nearlabel.datasets import fetch_dataset
from nearlabel.rivals import BinaryRelevance, LabelPowerset, RAkELd, RAkELo
from nearlabel.rivals._label_powerset import _covering_subsets

TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
LOGISTIC = LogisticRegression(solver="newton-cholesky")
METHODS = [RAkELo(BernoulliNB(), random_state=0), RAkELd(TREE, voting="soft", random_state=0)]
NOT_HELD = {"check_labels_permute_with_columns": "subsets of labels are drawn at random, by position"}


def dense(labels):
    """Return label sets as an array."""
    return labels.toarray() if sparse.issparse(labels) else np.asarray(labels)


def related_labels(n, n_labels, seed=0):
    """Rows and labels that depend on them and on each other."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    Y = (X @ rng.normal(size=(5, n_labels)) + rng.normal(size=(n, n_labels)) > 0.3).astype(int)
    return X, Y


def subsets_of(n_labels, **options):
    """Return the subsets that are drawn for labels of any kind, as tuples."""
    X, Y = np.zeros((2, 1)), np.zeros((2, n_labels), dtype=int)
    method = RAkELo if "n_estimators" in options else RAkELd
    return [tuple(subset.tolist()) for subset in method(**options).fit(X, Y).subsets_]


def votes_by_loop(model, queries, n_labels):
    """The share of votes, or the mean probability, of each label, by loops over the fitted models."""
    scores = np.zeros((len(queries), n_labels))
    for i, query in enumerate(queries):
        for label in range(n_labels):
            said = []
            for subset, powerset in zip(model.subsets_, model.estimators_, strict=True):
                if label in subset:
                    place = subset.tolist().index(label)
                    answer = powerset.predict_proba if model.voting == "soft" else powerset.predict
                    said.append(float(answer([query])[0, place]))
            scores[i, label] = sum(said) / len(said) if said else 0.0
    return scores


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_contract(method, check):
    """RAkEL keeps our own contract, but that its subsets follow from the order of the labels."""
    if check.__name__ in NOT_HELD:
        pytest.skip(NOT_HELD[check.__name__])
    check(clone(method))


@pytest.mark.parametrize("seed", range(30))
def test_subsets_are_distinct_and_cover(seed):
    """Any number of labels, size and number of subsets: distinct, of that size, and no label in none if possible."""
    rng = np.random.default_rng(seed)
    n_labels = int(rng.integers(1, 12))
    size = int(rng.integers(1, n_labels + 3))
    k = min(size, n_labels)
    wanted = int(rng.integers(ceil(n_labels / k), 2 * n_labels + 2))
    for n_estimators, expected in ((None, 2 * n_labels), (wanted, wanted)):
        subsets = subsets_of(n_labels, labelset_size=size, n_estimators=n_estimators, random_state=seed)
        assert len(subsets) == len(set(subsets)) == min(expected, comb(n_labels, k))
        assert all(len(subset) == k and list(subset) == sorted(set(subset)) for subset in subsets)
        assert {label for subset in subsets for label in subset} == set(range(n_labels))


def test_all_subsets():
    """Where as many are wanted as there are, or more, all are taken."""
    subsets = subsets_of(6, labelset_size=3, n_estimators=1000, random_state=0)
    assert len(set(subsets)) == 20


def test_huge_numbers_of_subsets_are_not_listed():
    """Of 10^600 subsets some are drawn."""
    subsets = subsets_of(2000, labelset_size=1000, n_estimators=3, random_state=0)
    assert len(set(subsets)) == 3
    assert len({label for subset in subsets for label in subset}) == 2000


def test_subsets_are_random():
    """Over many seeds each subset of 2 of 5 labels comes about as often, also the first, the last dealt and later."""
    drawn = [_covering_subsets(5, 2, 4, np.random.RandomState(seed)) for seed in range(600)]
    for place in range(4):
        counts = np.unique([subsets[place] for subsets in drawn], axis=0, return_counts=True)[1]
        assert len(counts) == 10
        assert counts.min() > 30  # 60 are expected, with a standard deviation of 7.3
        assert counts.max() < 90


def test_too_few_subsets():
    """Fewer subsets than can hold all labels: they are disjoint, and a warning names the labels left, never predicted.

    A label that all rows carry is still predicted.
    """
    pd = pytest.importorskip("pandas")
    X, Y = related_labels(40, 7)
    Y[:, 2] = 1
    names = list("abcdefg")
    with pytest.warns(UserWarning, match="2 subsets of labelset_size=3 cannot cover all 7 labels") as caught:
        model = RAkELo(TREE, n_estimators=2, random_state=0).fit(X, pd.DataFrame(Y, columns=names))
    assert caught[0].filename == __file__
    held = np.concatenate(model.subsets_)
    assert len(set(held.tolist())) == 6
    (left,) = set(range(7)) - set(held.tolist())
    assert f"['{names[left]}'] are in no subset" in str(caught[0].message)
    assert (model.predict_proba(X)[:, left] == (left == 2)).all()
    for seed in range(20):
        with pytest.warns(UserWarning, match="are in no subset"):
            model = RAkELo(TREE, labelset_size=1, n_estimators=1, random_state=seed).fit(X, Y)
        assert (model.predict(X)[:, 2] == 1).all()
        assert model.predict(X)[:, np.setdiff1d(np.arange(7), [2, model.subsets_[0][0]])].sum() == 0


@pytest.mark.parametrize(
    ("n_labels", "size", "lengths"),
    [(9, 3, [3, 3, 3]), (8, 3, [3, 3, 2]), (7, 3, [3, 4]), (5, 2, [2, 3]), (4, 1, [1] * 4), (2, 3, [2]), (1, 3, [1]),
     (1, 1, [1]), (4, 3, [4]), (3, 3, [3])],
)  # fmt: skip
def test_partition(n_labels, size, lengths):
    """Parts hold each label once, in ascending order; a single label left over joins the last part."""
    partitions = {tuple(subsets_of(n_labels, labelset_size=size, random_state=seed)) for seed in range(10)}
    for parts in partitions:
        assert [len(part) for part in parts] == lengths
        assert sorted(label for part in parts for label in part) == list(range(n_labels))
        assert all(list(part) == sorted(part) for part in parts)
    assert len(partitions) > 1 or len(lengths) == 1


@pytest.mark.parametrize(("voting", "container"), [("hard", "csc_array"), ("soft", "dense")])
@pytest.mark.parametrize("method", [RAkELo, RAkELd])
def test_votes_equal_a_loop(problem, method, voting, container):
    """Scores are the votes of the fitted models, counted by a loop, and labels those of at least half of them."""
    X, Y, queries = problem
    queries = queries[::4]
    model = method(BernoulliNB(), labelset_size=2, voting=voting, random_state=1).fit(X, CONTAINERS[container](Y))
    scores = votes_by_loop(model, queries, Y.shape[1])
    np.testing.assert_allclose(model.predict_proba(queries), scores, rtol=0, atol=1e-12)
    predicted = model.predict(queries)
    assert sparse.issparse(predicted) == (container != "dense")
    sure = abs(scores - 0.5) > 1e-9
    np.testing.assert_array_equal(dense(predicted)[sure], scores[sure] > 0.5)


def test_models_are_powersets_of_their_labels(problem):
    """Each model is a label powerset fitted to the columns of its subset."""
    X, Y, queries = problem
    for method in (RAkELo, RAkELd):
        model = method(TREE, voting="soft", random_state=0).fit(X, Y)
        for subset, fitted in zip(model.subsets_, model.estimators_, strict=True):
            alone = LabelPowerset(TREE).fit(X, Y[:, subset])
            np.testing.assert_array_equal(fitted.predict(queries), alone.predict(queries))
            np.testing.assert_array_equal(fitted.predict_proba(queries), alone.predict_proba(queries))


def test_votes_by_hand():
    """All three pairs of three labels, each decided by the nearest row: two votes a label, all for its labels."""
    X, Y = [[0.0], [1.0], [5.0]], [[1, 0, 1], [1, 1, 0], [0, 0, 0]]
    model = RAkELo(KNeighborsClassifier(1), labelset_size=2, random_state=0).fit(X, Y)
    assert sorted(map(tuple, np.array(model.subsets_).tolist())) == [(0, 1), (0, 2), (1, 2)]
    assert model.predict_proba([[0.1], [0.8], [7.0]]).tolist() == Y
    # Three neighbours of sets {0}, {0, 1}, {0, 1}: pairs (0, 1), (0, 2), (1, 2) decide {0, 1}, {0}, {1}.
    X, Y = [[0.0], [1.0], [2.0], [9.0]], [[1, 0, 0], [1, 1, 0], [1, 1, 0], [0, 0, 1]]
    hard, soft = (
        RAkELo(KNeighborsClassifier(3), labelset_size=2, voting=voting).fit(X, Y) for voting in ("hard", "soft")
    )
    assert hard.predict_proba([[1.0]]).tolist() == [[1, 1, 0]]
    np.testing.assert_allclose(soft.predict_proba([[1.0]]), [[1, 2 / 3, 0]])


def test_a_tie_speaks_for_the_label():
    """Of four rows two are {0} or {0, 2}, which the pair (0, 1) sees as {0}; the pair (0, 2) sees {} most often."""
    X, Y = [[0.0], [1.0], [2.0], [3.0]], [[1, 0, 0], [1, 0, 1], [0, 1, 0], [0, 0, 0]]
    model = RAkELo(KNeighborsClassifier(4), labelset_size=2, random_state=0).fit(X, Y)
    assert model.predict_proba([[0.0]]).tolist() == [[0.5, 0, 0]]
    assert model.predict([[0.0]]).tolist() == [[1, 0, 0]]


@pytest.mark.parametrize("estimator", [None, KNeighborsClassifier(3), TREE], ids=lambda e: type(e).__name__)
def test_all_labels_in_one_subset_is_label_powerset(problem, estimator):
    """One subset of all labels, by either method: label sets, and soft scores, of label powerset."""
    X, Y, queries = problem
    powerset = LabelPowerset(estimator, random_state=0).fit(X, Y)
    options = {"labelset_size": 5, "random_state": 0}
    for model in (RAkELo(estimator, n_estimators=1, **options), RAkELo(estimator, **options), RAkELd(estimator)):
        model.set_params(labelset_size=5).fit(X, Y)
        assert len(model.subsets_) == 1
        np.testing.assert_array_equal(model.predict(queries), powerset.predict(queries))
        np.testing.assert_array_equal(model.predict_proba(queries), powerset.predict(queries))
    if estimator is not None:
        soft = RAkELd(estimator, labelset_size=9, voting="soft").fit(X, Y)
        np.testing.assert_array_equal(soft.predict_proba(queries), powerset.predict_proba(queries))


@pytest.mark.parametrize("method", [RAkELo, RAkELd])
def test_one_label_a_subset_is_binary_relevance(method):
    """Subsets of one label: binary relevance."""
    X, Y = related_labels(80, 6)
    for estimator in (None, LOGISTIC):
        relevance = BinaryRelevance(estimator, random_state=0).fit(X, Y)
        model = method(estimator, labelset_size=1, random_state=0).fit(X, Y)
        assert len(model.estimators_) == 6
        np.testing.assert_array_equal(model.predict(X), relevance.predict(X))
    soft = method(LOGISTIC, labelset_size=1, voting="soft").fit(X, Y)
    np.testing.assert_allclose(soft.predict_proba(X), relevance.predict_proba(X), rtol=0, atol=1e-6)


@pytest.mark.parametrize("method", [RAkELo, RAkELd])
def test_edges(method):
    """One row, two rows, labels of one class only, one or two labels, constant and float32 features: no warning."""
    for Y in ([[1, 0, 1, 0]], [[0, 0, 1, 1], [1, 0, 1, 0]], np.ones((6, 4)), np.zeros((6, 1)), [[1], [0]], np.eye(2)):
        labels = np.array(Y, dtype=int)
        for X in (np.ones((len(labels), 2)), np.arange(2 * len(labels), dtype=np.float32).reshape(-1, 2)):
            for voting in ("hard", "soft"):
                model = method(labelset_size=2, voting=voting, random_state=0).fit(X, labels)
                scores = model.predict_proba(X)
                assert ((scores >= 0) & (scores <= 1)).all()
                constant = labels.min(axis=0) == labels.max(axis=0)
                np.testing.assert_array_equal(model.predict(X)[:, constant], labels[:, constant])
                np.testing.assert_array_equal(scores[:, constant], labels[:, constant])


@pytest.mark.parametrize("method", [RAkELo, RAkELd])
def test_without_votes_by_probability_nothing_is_calibrated(method):
    """Hard votes cost no cross-validation; soft ones do."""
    X, Y = related_labels(40, 6)
    assert {type(m.estimator_).__name__ for m in method().fit(X, Y).estimators_} == {"LinearSVC"}
    assert {type(m.estimator_).__name__ for m in method(voting="soft").fit(X, Y).estimators_} == {"Temperature"}


@pytest.mark.parametrize("method", [RAkELo, RAkELd])
def test_votes_are_those_that_were_fitted(method):
    """Another way to vote counts from the next fit on."""
    X, Y = related_labels(40, 6)
    hard, soft = (method(voting=voting, random_state=0).fit(X, Y) for voting in ("hard", "soft"))
    scores = hard.predict_proba(X), soft.predict_proba(X)
    np.testing.assert_array_equal(hard.set_params(voting="soft").predict_proba(X), scores[0])
    np.testing.assert_array_equal(soft.set_params(voting="hard").predict_proba(X), scores[1])
    np.testing.assert_array_equal(hard.fit(X, Y).predict_proba(X), scores[1])


@pytest.mark.long
@pytest.mark.parametrize("method", [RAkELo, RAkELd])
def test_seeds_and_jobs(method):
    """One seed, one answer, for subsets and for estimators that draw; jobs change nothing."""
    X, Y = related_labels(60, 6)
    for estimator in (None, DecisionTreeClassifier(max_features=1, max_depth=3)):
        one, two, other = (method(estimator, voting="soft", random_state=s).fit(X, Y) for s in (1, 1, 2))
        assert np.concatenate(one.subsets_).tolist() == np.concatenate(two.subsets_).tolist()
        assert np.concatenate(one.subsets_).tolist() != np.concatenate(other.subsets_).tolist()
        np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
        assert len({model.random_state for model in one.estimators_}) == len(one.estimators_)
    with parallel_config("threading"):
        jobs = method(estimator, voting="soft", random_state=1, n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(
        jobs.predict_proba(X), method(estimator, voting="soft", random_state=1).fit(X, Y).predict_proba(X)
    )


@pytest.mark.parametrize("method", [RAkELo, RAkELd])
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"random_state": "a"}, ValueError, "cannot be used to seed"),
        ({"labelset_size": 0}, ValueError, "labelset_size must be at least 1, got 0"),
        ({"labelset_size": 2.0}, TypeError, "labelset_size must be an integer, got 2.0"),
        ({"voting": "loud"}, ValueError, r"voting must be one of \['hard', 'soft'\], got 'loud'"),
        (
            {"estimator": StandardScaler(), "voting": "soft"},
            ValueError,
            "estimator must have predict_proba or decision_function, got StandardScaler",
        ),
        ({"estimator": LinearRegression()}, ValueError, r"estimator must be a classifier, got LinearRegression\(\)"),
        ({"n_estimators": 0}, ValueError, "n_estimators must be at least 1, got 0"),
        ({"n_estimators": "all"}, TypeError, "n_estimators must be an integer, got 'all'"),
    ],
)
def test_bad_parameters(method, options, error, message):
    """A parameter out of range is named."""
    if "n_estimators" in options and method is RAkELd:
        pytest.skip("a partition has as many parts as it has")
    with pytest.raises(error, match=message):
        method(**options).fit(np.eye(8), np.eye(8, dtype=int))


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_unfitted_and_pickles(problem, method):
    """Nothing can be asked before a fit; a fitted classifier survives pickling."""
    X, Y, queries = problem
    for name in ("predict", "predict_proba"):
        with pytest.raises(NotFittedError):
            getattr(clone(method), name)(queries)
    model = clone(method).fit(X, Y)
    thawed = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(thawed.predict_proba(queries), model.predict_proba(queries))
    np.testing.assert_array_equal(thawed.predict(queries), model.predict(queries))


@pytest.mark.long
def test_real_data(data_folder):
    """Votes of overlapping trees are better than a partition and than a tree a label, in F and in ranking."""
    training, test = (fetch_dataset("emotions", subset=part) for part in ("train", "test"))
    tree = DecisionTreeClassifier(min_samples_leaf=5)
    relevance, disjoint, votes, soft = (
        model.fit(training.X, training.Y)
        for model in (
            BinaryRelevance(tree, random_state=0),
            RAkELd(tree, random_state=0),
            RAkELo(tree, random_state=0),
            RAkELo(tree, voting="soft", random_state=0),
        )
    )
    assert len(votes.subsets_) == 12
    truth = dense(test.Y)
    f = {m: f1_score(truth, dense(m.predict(test.X)), average="micro") for m in (relevance, disjoint, votes, soft)}
    assert f[votes] > max(f[relevance], f[disjoint])
    assert f[soft] > max(f[relevance], f[disjoint])
    ranking = [
        average_precision_score(truth, m.predict_proba(test.X), average="macro") for m in (relevance, votes, soft)
    ]
    assert ranking == sorted(ranking)


@pytest.mark.long
def test_real_sparse_data(data_folder):
    """On text with 45 labels, some of one class, sparse and dense labels are predicted alike, and well."""
    training, test = (fetch_dataset("medical", subset=part) for part in ("train", "test"))
    scale = MaxAbsScaler().fit(training.X)
    X, queries = scale.transform(training.X), scale.transform(test.X)
    model = RAkELo(random_state=0).fit(X, sparse.csr_array(training.Y))
    predicted = model.predict(queries)
    assert sparse.issparse(predicted)
    assert len(model.subsets_) == 90
    np.testing.assert_array_equal(dense(predicted), RAkELo(random_state=0).fit(X, dense(training.Y)).predict(queries))
    assert f1_score(dense(test.Y), dense(predicted), average="micro") > 0.7
