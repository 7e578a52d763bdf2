import pickle

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from conftest import CHECKS, CONTAINERS
from nearlabel import testing
from nearlabel.datasets import fetch_dataset
from nearlabel.rivals import BinaryRelevance, EnsembleOfBinaryRelevance, EnsembleOfClassifierChains

BOTH = [EnsembleOfClassifierChains, EnsembleOfBinaryRelevance]
LOGISTIC = LogisticRegression(solver="newton-cholesky")
METHODS = [
    EnsembleOfClassifierChains(
        LogisticRegression(solver="liblinear"), n_estimators=2, voting="soft", threshold="cardinality", random_state=0
    ),
    EnsembleOfBinaryRelevance(n_estimators=3, bootstrap=True, random_state=0),
]


class Witness(DecisionTreeClassifier):
    """A tree that remembers the rows it was fitted to."""

    def fit(self, X, y):
        """Remember the rows, and grow."""
        self.seen_ = np.array(X)
        return super().fit(X, y)


class FirstFeature(ClassifierMixin, BaseEstimator):
    """The probability of any label is the first feature."""

    def fit(self, X, y):
        """Learn nothing."""
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        """Return the first feature and what is left to 1."""
        return np.column_stack([1 - X[:, 0], X[:, 0]])

    def predict(self, X):
        """Return whether the first feature is at least one half."""
        return (X[:, 0] >= 0.5).astype(int)


def dense(labels):
    """Return label sets as an array."""
    return labels.toarray() if sparse.issparse(labels) else np.asarray(labels)


def noisy_problem(seed, n=50, n_labels=4, rare=0):
    """Rows whose first feature numbers them, label sets that depend on the others, the last label rare."""
    rng = np.random.default_rng(seed)
    X, queries = (np.column_stack([np.arange(m), rng.normal(size=(m, 4))]) for m in (n, 40))
    Y = (X[:, [1, 2, 3, 4]] + rng.normal(size=(n, 4)) > 0.3).astype(int)[:, :n_labels]
    if rare:
        Y[:, -1] = np.arange(n) < rare
    return X, Y, queries


def naive_chain(estimator, X, Y, queries, order, method):
    """Train on true labels as features, predict with predicted ones; return the answers of a method."""
    answers, passed_on = np.empty((len(queries), Y.shape[1])), []
    for place, label in enumerate(order):
        features = np.hstack([X, Y[:, order[:place]]])
        model = clone(estimator).fit(features, Y[:, label])
        seen = np.column_stack([queries, *passed_on])
        answers[:, label] = model.predict(seen) if method == "predict" else model.predict_proba(seen)[:, 1]
        passed_on.append(model.predict(seen))
    return answers


def naive_relevance(estimator, X, Y, queries, method):
    """Train a classifier for each label by itself: chains of one label."""
    columns = [naive_chain(estimator, X, Y[:, [label]], queries, [0], method) for label in range(Y.shape[1])]
    return np.hstack(columns)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_contract(method, check):
    """Both ensembles keep our own contract; chains depend on the order of labels, which is random."""
    if check is testing.check_labels_permute_with_columns and isinstance(method, EnsembleOfClassifierChains):
        pytest.skip("orders of the labels are drawn by position")
    check(clone(method))


@pytest.mark.parametrize(("voting", "rare"), [("hard", 3), ("soft", 0), ("soft", 3)])
@pytest.mark.parametrize(("max_samples", "bootstrap"), [(0.67, False), (1.0, False), (0.5, True)])
@pytest.mark.parametrize("method", BOTH, ids=lambda m: m.__name__)
def test_equals_a_naive_ensemble(method, max_samples, bootstrap, voting, rare):
    """Chains and single classifiers written down as loops give the same votes, on the rows that each was shown."""
    X, Y, queries = noisy_problem(rare, rare=rare)
    base = Witness(max_depth=2, random_state=0)
    options = {"max_samples": max_samples, "bootstrap": bootstrap, "voting": voting, "n_estimators": 6}
    model = method(base, random_state=1, **options).fit(X, Y)
    answer, votes, drawn = "predict" if voting == "hard" else "predict_proba", np.zeros((40, 4)), []
    for fitted in model.estimators_:
        classifiers = [classifier for classifier in fitted.estimators_ if not isinstance(classifier, float)]
        rows = classifiers[0].seen_[:, 0].astype(int)
        drawn.append(rows.tolist())
        varying = [label for label in range(4) if len(set(Y[rows, label])) == 2]
        inside = np.tile(Y[rows[0]].astype(float), (40, 1))
        known = Y[np.ix_(rows, varying)]
        if method is EnsembleOfClassifierChains:
            order = [varying.index(label) for label in fitted.order_]
            assert sorted(order) == list(range(len(varying)))
            inside[:, varying] = naive_chain(base, X[rows], known, queries, order, answer)
        else:
            inside[:, varying] = naive_relevance(base, X[rows], known, queries, answer)
        votes += inside
    np.testing.assert_allclose(model.predict_proba(queries), votes / 6, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(model.predict(queries), model.predict_proba(queries) >= 0.5)
    assert {len(rows) for rows in drawn} == {round(max_samples * 50)}
    assert all(len(set(rows)) == len(rows) for rows in drawn) != bootstrap
    assert len({tuple(rows) for rows in drawn}) == (1 if (max_samples, bootstrap) == (1.0, False) else 6)


def test_rare_labels_are_left_out_of_some_chains():
    """A label of three rows varies in some resamples only; where it does not, its class is the vote."""
    X, Y, queries = noisy_problem(0, rare=3)
    model = EnsembleOfClassifierChains(GaussianNB(), max_samples=0.2, n_estimators=30, random_state=0).fit(X, Y)
    sizes = [len(chain.estimators_) for chain in model.estimators_]
    assert set(sizes) == {3, 4}
    assert (model.predict_proba(queries)[:, 3] <= sizes.count(4) / 30).all()


def test_orders_are_random_and_each_chain_has_its_own():
    """Ten chains of four labels start with more than one label, and no seed gives the orders of another."""
    X, Y, _ = noisy_problem(0)
    orders = [
        [tuple(chain.order_) for chain in EnsembleOfClassifierChains(LOGISTIC, random_state=s).fit(X, Y).estimators_]
        for s in (0, 1)
    ]
    assert len(set(orders[0])) > 4
    assert len({order[0] for order in orders[0]}) > 1
    assert orders[0] != orders[1]


def test_one_model_on_all_rows_is_binary_relevance():
    """With one model on all rows, EBR decides as `BinaryRelevance`; its soft votes are the same probabilities."""
    X, Y, queries = noisy_problem(3)
    alone = {"n_estimators": 1, "max_samples": 1.0, "random_state": 0}
    for estimator in (None, LOGISTIC):
        relevance = BinaryRelevance(estimator).fit(X, Y)
        hard = EnsembleOfBinaryRelevance(estimator, **alone).fit(X, Y)
        np.testing.assert_array_equal(hard.predict(queries), relevance.predict(queries))
        np.testing.assert_array_equal(hard.predict_proba(queries), relevance.predict(queries))
    soft = EnsembleOfBinaryRelevance(LOGISTIC, voting="soft", **alone).fit(X, Y)
    np.testing.assert_allclose(soft.predict_proba(queries), relevance.predict_proba(queries), rtol=0, atol=1e-12)


def test_one_label_makes_chains_and_relevance_the_same():
    """A chain of one label is a classifier."""
    X, Y, queries = noisy_problem(4, n_labels=1)
    for voting in ("hard", "soft"):
        alone = {"n_estimators": 1, "max_samples": 1.0, "voting": voting}
        one, other = (m(LOGISTIC, **alone).fit(X, Y).predict_proba(queries) for m in BOTH)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def test_decision_values_are_calibrated_to_vote_softly():
    """A support vector machine votes softly by Platt's sigmoid; in the chain it passes on its own decisions."""
    X, Y, queries = noisy_problem(5)
    for method in BOTH:
        hard, soft = (method(voting=v, n_estimators=3, random_state=0).fit(X, Y) for v in ("hard", "soft"))
        kinds = [{type(c).__name__ for model in m.estimators_ for c in model.estimators_} for m in (hard, soft)]
        assert kinds == [{"LinearSVC"}, {"Platt"}]
        for one, other in zip(hard.estimators_, soft.estimators_, strict=True):
            np.testing.assert_array_equal(one.predict(queries), other.predict(queries))
        scores = soft.predict_proba(queries)
        assert ((scores > 0) & (scores < 1)).all()


@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", BOTH, ids=lambda m: m.__name__)
def test_cardinality_threshold_equals_exhaustive_search(method, seed, voting):
    """Of all thresholds none predicts, on the training rows, a number of labels nearer to the true one."""
    X, Y, queries = noisy_problem(seed)
    Y = Y * (np.random.default_rng(seed).random(Y.shape) < 0.2 + 0.3 * seed)
    base = DecisionTreeClassifier(max_depth=1 + seed % 2, random_state=0)
    model = method(base, voting=voting, threshold="cardinality", n_estimators=5, random_state=seed).fit(X, Y)
    scores = model.predict_proba(X)
    numbers = [0] + [(scores >= s).sum() for s in np.unique(scores)]
    distance, fewest = min((abs(int(number) - Y.sum()), number) for number in numbers)
    assert model.predict(X).sum() == fewest
    assert abs(model.predict(X).sum() - Y.sum()) == distance
    np.testing.assert_array_equal(model.predict(queries), model.predict_proba(queries) >= model.threshold_)


@pytest.mark.parametrize("method", BOTH, ids=lambda m: m.__name__)
def test_cardinality_threshold_by_hand(method):
    """Scores .9 .6 .3 .1 for both labels; of 8 cells 4 are true: a cut halfway between .6 and .3 chooses 4."""
    X = np.array([[0.9], [0.6], [0.3], [0.1]])
    options = {"voting": "soft", "max_samples": 1.0, "n_estimators": 2}
    model = method(FirstFeature(), threshold="cardinality", **options).fit(X, [[1, 0], [1, 0], [0, 1], [0, 1]])
    np.testing.assert_allclose(model.predict_proba(X), X[:, [0, 0]], rtol=0, atol=1e-12)
    assert model.threshold_ == pytest.approx(0.45)
    # 5 of 8: with 4 or 6 at hand, the smaller one. 7 of 8: 6, not 8.
    for Y, threshold in (([[1, 0], [1, 0], [1, 1], [0, 1]], 0.45), ([[1, 0], [1, 1], [1, 1], [0, 1]], 0.2)):
        model = method(FirstFeature(), threshold="cardinality", **options).fit(X, Y)
        assert model.threshold_ == pytest.approx(threshold)
    assert method(FirstFeature(), threshold=0.7, **options).fit(X, Y).predict(X).tolist() == [[1, 1]] + [[0, 0]] * 3


@pytest.mark.parametrize(("voting", "container"), [("hard", "csr_array"), ("soft", "csc_array")])
@pytest.mark.parametrize("method", BOTH, ids=lambda m: m.__name__)
def test_containers_and_odd_rows(problem, method, voting, container):
    """Grids, duplicates, constant features, labels of one class: sparse X and Y answer as dense ones do."""
    X, Y, queries = problem
    model = method(GaussianNB(), voting=voting, n_estimators=3, random_state=0)
    labels, scores = model.fit(X, Y).predict(queries), model.predict_proba(queries)
    assert (labels[:, 3] == 0).all()
    assert (labels[:, 4] == 1).all()
    np.testing.assert_array_equal(dense(model.fit(X, CONTAINERS[container](Y)).predict(queries)), labels)
    np.testing.assert_array_equal(model.predict_proba(queries), scores)
    tree = method(DecisionTreeClassifier(random_state=0), voting=voting, n_estimators=3, random_state=0)
    expected = tree.fit(X.astype(np.float32), Y).predict_proba(queries.astype(np.float32))
    stored = tree.fit(sparse.csr_array(X.astype(np.float32)), CONTAINERS[container](Y))
    np.testing.assert_array_equal(stored.predict_proba(sparse.csr_array(queries.astype(np.float32))), expected)


@pytest.mark.parametrize("threshold", [0.5, "cardinality"])
@pytest.mark.parametrize("method", BOTH, ids=lambda m: m.__name__)
def test_few_rows_and_no_labels(method, threshold):
    """One row, two rows, no label at all, all labels: constants and no error."""
    model = method(threshold=threshold, random_state=0)
    assert model.fit([[1.0]], [[1, 0]]).predict([[2.0], [0.0]]).tolist() == [[1, 0]] * 2
    for value in (0, 1):
        constant = np.full((5, 2), value)
        assert (model.fit(np.eye(5), constant).predict(np.eye(5)) == value).all()
    two = model.fit([[0.0], [1.0]], [[1, 0], [0, 0]])  # each resample has one row: no chain at all
    assert all(isinstance(c, float) for model in two.estimators_ for c in getattr(model, "estimators_", []))
    assert (two.predict([[0.0]])[:, 1] == 0).all()
    assert two.predict_proba([[0.0], [1.0]])[:, 0].tolist() == [two.predict_proba([[0.0]])[0, 0]] * 2


@pytest.mark.parametrize("method", BOTH, ids=lambda m: m.__name__)
def test_seeds_and_jobs(method):
    """One seed, one answer; estimators that draw get it too; jobs change nothing."""
    X, Y, _ = noisy_problem(0)
    base = DecisionTreeClassifier(max_features=1, max_depth=3)
    one, two, other = (method(base, random_state=s).fit(X, Y).predict_proba(X) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()
    with parallel_config("threading"):
        jobs = method(base, random_state=1, n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(jobs.predict_proba(X), one)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(jobs)).predict(X), jobs.predict(X))


@pytest.mark.parametrize("method", BOTH, ids=lambda m: m.__name__)
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_estimators": 0}, ValueError, "n_estimators must be at least 1, got 0"),
        ({"n_estimators": 2.0}, TypeError, "n_estimators must be an integer, got 2.0"),
        ({"max_samples": 0}, ValueError, "max_samples must be a finite number above 0, got 0"),
        ({"max_samples": 1.5}, ValueError, "max_samples must be a share of the samples, at most 1, got 1.5"),
        ({"bootstrap": 1}, TypeError, "bootstrap must be True or False, got 1"),
        ({"voting": "loud"}, ValueError, r"voting must be one of \['hard', 'soft'\], got 'loud'"),
        ({"threshold": "pcut"}, ValueError, r"threshold must be one of \['cardinality'\], got 'pcut'"),
        ({"threshold": 2}, ValueError, "threshold must be 'cardinality' or a number above 0, at most 1, got 2"),
        ({"threshold": None}, TypeError, "threshold must be a number, got None"),
        ({"random_state": "a"}, ValueError, "cannot be used to seed"),
        ({"estimator": StandardScaler()}, ValueError, "estimator must have predict, got StandardScaler"),
        ({"estimator": LinearRegression()}, ValueError, r"estimator must be a classifier, got LinearRegression\(\)"),
        ({"estimator": "svm"}, ValueError, "estimator must be a classifier, got 'svm'"),
        (
            {"estimator": StandardScaler(), "voting": "soft"},
            ValueError,
            "estimator must have predict_proba or decision_function, got StandardScaler",
        ),
    ],
)
def test_bad_parameters(method, options, error, message):
    """A parameter out of range is named."""
    with pytest.raises(error, match=message):
        method(**options).fit(np.eye(8), np.eye(8, dtype=int))


@pytest.mark.long
def test_real_data(data_folder):
    """On emotions chains beat single classifiers, and the cardinality of the training rows is met."""
    training, test = (fetch_dataset("emotions", subset=part) for part in ("train", "test"))
    scale = MinMaxScaler().fit(training.X)
    X, queries, truth = scale.transform(training.X), scale.transform(test.X), dense(test.Y)
    chains = EnsembleOfClassifierChains(random_state=0, threshold="cardinality").fit(X, training.Y)
    relevance = BinaryRelevance().fit(X, training.Y)
    exact = [(dense(m.predict(queries)) == truth).all(axis=1).mean() for m in (chains, relevance)]
    assert exact[0] > exact[1] + 0.03
    predicted, known = dense(chains.predict(X)), dense(training.Y)
    assert abs(predicted.sum() - known.sum()) < 0.05 * known.sum()
    bagged = EnsembleOfBinaryRelevance(random_state=0).fit(X, training.Y)
    assert (dense(bagged.predict(queries)) == dense(relevance.predict(queries))).mean() > 0.95
