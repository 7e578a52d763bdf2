import pickle

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from conftest import CONTAINERS
from nearlabel.solvers.label_probabilities import (
    LabelProbabilities,
    Platt,
    _sigmoid,
    chosen_classifier,
    deal_out,
    default_estimator,
    with_seed,
)

LOGISTIC = LogisticRegression(solver="newton-cholesky")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
Y = np.column_stack(
    [
        X[:, 0] + 0.7 * RNG.normal(size=90) > 0,
        X[:, 1] + 0.7 * RNG.normal(size=90) > 0.8,
        np.zeros(90),
        np.ones(90),
        X[:, 2] > 1.2,
    ]
).astype(int)
QUERIES = RNG.normal(size=(40, 4))


def fitted(estimator, X=X, Y=Y, seed=0, **options):
    """Fit a classifier to each label with a seed."""
    return LabelProbabilities.fit(estimator, X, Y, np.random.RandomState(seed), **options)


class Fixed(ClassifierMixin, BaseEstimator):
    """Decides all rows alike."""

    def __init__(self, decision=0.0):
        self.decision = decision

    def fit(self, X, y):
        """Learn nothing."""
        self.classes_ = np.array([0, 1])
        return self

    def decision_function(self, X):
        """Return the same value for every row."""
        return np.full(X.shape[0], self.decision)

    def predict(self, X):
        """Return class 1."""
        return np.ones(X.shape[0], dtype=int)


def loop_decisions(estimator, X, y, fold):
    """Return the decision on each row by a classifier fitted to the rows of the other folds."""
    decisions = np.empty(len(y))
    for number in set(fold.tolist()):
        inside = [i for i in range(len(y)) if fold[i] == number]
        training = [i for i in range(len(y)) if fold[i] != number]
        classes = {int(y[i]) for i in training}
        if len(classes) == 2:
            decisions[inside] = clone(estimator).fit(X[training], y[training]).decision_function(X[inside])
        else:
            decisions[inside] = 1.0 if classes == {1} else -1.0
    return decisions


def loop_sigmoid(decisions, y):
    """Minimise the cross-entropy with Platt's targets by scipy's trust region, on standardised decisions."""
    positive, negative = int(sum(y)), int(len(y) - sum(y))
    t = np.array([(positive + 1) / (positive + 2) if v else 1 / (negative + 2) for v in y])
    mean, size = decisions.mean(), decisions.std()
    design = np.column_stack([(decisions - mean) / size, np.ones(len(y))])

    def loss(w):
        linear = design @ w
        return float((t * np.logaddexp(0, -linear) + (1 - t) * np.logaddexp(0, linear)).sum())

    def gradient(w):
        return design.T @ (expit(design @ w) - t)

    def hessian(w):
        share = expit(design @ w)
        return (design.T * (share * (1 - share))) @ design

    w = minimize(loss, np.zeros(2), jac=gradient, hess=hessian, method="trust-exact", options={"gtol": 1e-11}).x
    return w[0] / size, w[1] - w[0] * mean / size


@pytest.mark.parametrize("container", ["dense", "csr_array", "csr_matrix"])
@pytest.mark.parametrize(
    "estimator",
    [LOGISTIC, KNeighborsClassifier(7), DecisionTreeClassifier(max_depth=3, random_state=5)],
    ids=lambda e: type(e).__name__,
)
def test_equals_a_loop_over_labels(estimator, container):
    """Each label's probability and decision are those of scikit-learn's classifier of its own, dense and sparse."""
    store = CONTAINERS[container]
    ours = fitted(estimator, store(X), store(Y))
    probabilities, decisions = ours.predict(store(QUERIES)), ours.decide(store(QUERIES))
    assert probabilities.shape == decisions.shape == (40, 5)
    assert decisions.dtype == np.int64
    for label in (0, 1, 4):
        theirs = clone(estimator).fit(store(X), Y[:, label])
        np.testing.assert_allclose(probabilities[:, label], theirs.predict_proba(store(QUERIES))[:, 1], atol=1e-12)
        np.testing.assert_array_equal(decisions[:, label], theirs.predict(store(QUERIES)))


@pytest.mark.parametrize("estimator", [GaussianNB(), LinearSVC(dual=False)], ids=lambda e: type(e).__name__)
def test_constant_labels(estimator):
    """A label of one class has no classifier but its probability, 0 or 1, and is decided so."""
    model = fitted(estimator)
    assert model.classifiers[2:4] == [0.0, 1.0]
    assert [type(c) is float for c in model.classifiers] == [False, False, True, True, False]
    for answer in (model.predict(QUERIES), model.decide(QUERIES)):
        assert (answer[:, 2] == 0).all()
        assert (answer[:, 3] == 1).all()


def test_only_constant_labels():
    """A single row has constant labels only; nothing is fitted."""
    model = fitted(LOGISTIC, X[:1], Y[:1])
    assert model.classifiers == Y[0].astype(float).tolist()
    np.testing.assert_array_equal(model.predict(QUERIES), np.tile(Y[0], (40, 1)))


@pytest.mark.parametrize("container", ["dense", "csr_array"])
@pytest.mark.parametrize("estimator", [LinearSVC(dual=False), RidgeClassifier()], ids=lambda e: type(e).__name__)
def test_platt_equals_an_independent_sigmoid(estimator, container):
    """Decisions by a loop over folds, the sigmoid by a general optimiser: probabilities agree to 1e-8."""
    store = CONTAINERS[container]
    for label in (0, 1, 4):
        y = Y[:, label]
        platt = Platt(estimator, random_state=3).fit(store(X), y)
        fold = deal_out(y, np.random.RandomState(3))
        slope, intercept = loop_sigmoid(loop_decisions(estimator, store(X), y, fold), y)
        np.testing.assert_allclose([platt.slope_, platt.intercept_], [slope, intercept], rtol=1e-6)
        decisions = clone(estimator).fit(store(X), y).decision_function(store(QUERIES))
        probabilities = platt.predict_proba(store(QUERIES))
        np.testing.assert_allclose(probabilities[:, 1], expit(slope * decisions + intercept), rtol=0, atol=1e-8)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=0, atol=1e-15)
        np.testing.assert_array_equal(platt.predict(store(QUERIES)), decisions > 0)
        assert platt.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("positive", [1, 2, 4, 86, 88, 89])
def test_rare_classes_are_calibrated(positive):
    """Classes of fewer rows than folds, which scikit-learn's calibration refuses, get probabilities by the rule."""
    y = np.zeros(90, dtype=int)
    y[np.argsort(-X[:, 0])[:positive]] = 1
    with pytest.raises(ValueError, match="less than 5 examples for at least one class"):
        CalibratedClassifierCV(LinearSVC(dual=False), cv=5).fit(X, y)
    model = fitted(LinearSVC(dual=False), Y=y[:, np.newaxis])
    probabilities = model.predict(X)[:, 0]
    assert ((probabilities > 0) & (probabilities < 1)).all()
    platt = model.classifiers[0]
    fold = deal_out(y, np.random.RandomState(platt.random_state))
    slope, intercept = loop_sigmoid(loop_decisions(LinearSVC(dual=False), X, y, fold), y)
    np.testing.assert_allclose([platt.slope_, platt.intercept_], [slope, intercept], rtol=1e-6, atol=1e-9)
    if positive not in (1, 89):  # one row: no fold has it on both sides
        assert probabilities[y == 1].mean() > probabilities[y == 0].mean()


@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_fewer_rows_than_folds(n):
    """Two rows are enough: where a training part has one class the decision is plus or minus 1."""
    y = np.arange(n) % 2
    platt = Platt(LinearSVC(dual=False), random_state=0).fit(X[:n], y)
    probabilities = platt.predict_proba(X)
    assert np.isfinite([platt.slope_, platt.intercept_]).all()
    assert ((probabilities > 0) & (probabilities < 1)).all()


def test_equal_decisions_give_the_mean_target():
    """Decisions that tell nothing apart have slope 0 and the probability that Platt's targets have on average."""
    y = np.array([1, 1, 0, 0, 0, 0, 0, 0])
    for decision in (0.0, -3.7):
        platt = Platt(Fixed(decision), random_state=0).fit(X[:8], y)
        assert platt.slope_ == 0
        np.testing.assert_allclose(platt.predict_proba(X[:3])[:, 1], (2 * 3 / 4 + 6 * 1 / 8) / 8, rtol=1e-12)
        assert platt.predict(X[:3]).tolist() == [1, 1, 1]


def test_separable_decisions_have_a_finite_sigmoid():
    """Platt's targets are not 1 and 0, so a perfect classifier is not given probabilities of 1 and 0."""
    rows = np.array([[-4.0], [-3.0], [-2.0], [2.0], [3.0], [4.0]] * 5)
    platt = Platt(RidgeClassifier(), random_state=0).fit(rows, (rows[:, 0] > 0).astype(int))
    probabilities = platt.predict_proba(rows)[:, 1]
    assert platt.slope_ > 0
    assert 0 < probabilities.min() < 0.1
    assert 0.9 < probabilities.max() < 1


@pytest.mark.parametrize("n", [1, 2, 4, 5, 23, 50, 101])
def test_dealing_out_is_balanced(n):
    """Of each class, and of all rows, no fold has more than one row more than another; the seed decides which."""
    for seed in range(10):
        y = (np.random.default_rng(seed).random(n) < 0.3).astype(int)
        fold = deal_out(y, np.random.RandomState(seed))
        assert set(fold.tolist()) <= set(range(5))
        for rows in (y == 0, y == 1, np.ones(n, dtype=bool)):
            counts = np.bincount(fold[rows], minlength=5)
            assert counts.max() - counts.min() <= 1
        np.testing.assert_array_equal(fold, deal_out(y, np.random.RandomState(seed)))
        if n >= 23:
            assert (fold != deal_out(y, np.random.RandomState(seed + 1))).any()


@pytest.mark.parametrize(
    "estimator",
    [LinearSVC(dual=False), LOGISTIC, DecisionTreeClassifier(max_features=1)],
    ids=lambda e: type(e).__name__,
)
def test_order_and_number_of_labels_change_nothing(estimator):
    """A label has the same answer wherever it stands, alone too, also if random numbers are drawn."""
    order = np.array([4, 2, 0, 3, 1])
    scores, decisions = (getattr(fitted(estimator), method)(QUERIES) for method in ("predict", "decide"))
    permuted = fitted(estimator, Y=Y[:, order])
    np.testing.assert_array_equal(permuted.predict(QUERIES), scores[:, order])
    np.testing.assert_array_equal(permuted.decide(QUERIES), decisions[:, order])
    alone = fitted(estimator, Y=sparse.csr_array(Y[:, [1, 1]]))
    np.testing.assert_array_equal(alone.predict(QUERIES), scores[:, [1, 1]])


@pytest.mark.parametrize("container", ["csr_array", "csr_matrix"])
def test_sparse_rows_equal_dense(container):
    """The default classifier and its calibration give the same probabilities on sparse rows to 1e-8."""
    counts = RNG.poisson(0.5, (90, 6)).astype(float)
    labels = (counts[:, :3] + RNG.random((90, 3)) > 1.2).astype(int)
    dense, stored = (
        fitted(default_estimator(), store(counts), labels) for store in (np.asarray, CONTAINERS[container])
    )
    np.testing.assert_allclose(stored.predict(CONTAINERS[container](counts)), dense.predict(counts), atol=1e-8)
    np.testing.assert_array_equal(stored.decide(CONTAINERS[container](counts)), dense.decide(counts))


def test_with_seed():
    """Random states that are not set are, nested ones too; those that are set stay; the original is left alone."""
    tree = with_seed(DecisionTreeClassifier(max_depth=2), 7)
    assert (tree.random_state, tree.max_depth) == (7, 2)
    assert with_seed(DecisionTreeClassifier(random_state=0), 7).random_state == 0
    pipeline = make_pipeline(
        StandardScaler(), BaggingClassifier(DecisionTreeClassifier(random_state=3), n_estimators=2), memory=None
    )
    params = with_seed(pipeline, 7).get_params()
    assert params["baggingclassifier__random_state"] == 7
    assert params["baggingclassifier__estimator__random_state"] == 3
    assert pipeline.get_params()["baggingclassifier__random_state"] is None
    nested = with_seed(make_pipeline(LinearSVC()), 0).get_params()
    assert nested["linearsvc__random_state"] == 0
    without = GaussianNB()
    assert with_seed(without, 7) is not without
    assert with_seed(without, 7).get_params() == without.get_params()


def test_the_seed_decides():
    """Equal random states, equal answers; another one draws and deals out otherwise."""
    for estimator in (DecisionTreeClassifier(max_features=1, max_depth=3), LinearSVC(dual=False)):
        one, two, other = (fitted(estimator, seed=seed).predict(QUERIES) for seed in (1, 1, 2))
        np.testing.assert_array_equal(one, two)
        assert (one != other).any()


def test_each_label_takes_one_draw_for_all():
    """The random state moves on by one number however many labels there are."""
    states = [np.random.RandomState(0) for _ in range(3)]
    states[0].randint(np.iinfo(np.int32).max)
    LabelProbabilities.fit(GaussianNB(), X, Y, states[1])
    LabelProbabilities.fit(LinearSVC(dual=False), X, Y[:, :1], states[2])
    assert len({state.randint(2**31 - 1) for state in states}) == 1


@pytest.mark.parametrize(
    "estimator", [LinearSVC(dual=False), DecisionTreeClassifier(max_features=1)], ids=lambda e: type(e).__name__
)
def test_jobs_change_nothing(estimator):
    """Labels fitted two at a time have the same answers."""
    one = fitted(estimator)
    with parallel_config("threading"):
        two = fitted(estimator, n_jobs=2)
    np.testing.assert_array_equal(one.predict(QUERIES), two.predict(QUERIES))
    np.testing.assert_array_equal(one.decide(QUERIES), two.decide(QUERIES))


def test_decisions_are_the_classifiers_own():
    """A support vector machine decides by the sign of its decision, not by the calibrated probability."""
    labels = (X[:, [0]] + 2 * RNG.normal(size=(90, 1)) > 2.5).astype(int)
    machine = LinearSVC(dual=False, class_weight="balanced")
    model = fitted(machine, Y=labels)
    np.testing.assert_array_equal(model.decide(QUERIES)[:, 0], machine.fit(X, labels[:, 0]).predict(QUERIES))
    assert (model.decide(QUERIES) != (model.predict(QUERIES) >= 0.5)).any()


def test_platt_clones_and_pickles():
    """A clone has the parameters and is unfitted; a pickled one answers alike."""
    platt = Platt(SVC(kernel="linear", C=3.0), random_state=4)
    copy = clone(platt.fit(X, Y[:, 0]))
    assert copy.get_params() | {"estimator": None} == platt.get_params() | {"estimator": None}
    assert copy.estimator.C == 3.0
    assert not hasattr(copy, "slope_")
    np.testing.assert_array_equal(copy.fit(X, Y[:, 0]).predict_proba(QUERIES), platt.predict_proba(QUERIES))
    thawed = pickle.loads(pickle.dumps(platt))
    np.testing.assert_array_equal(thawed.predict_proba(QUERIES), platt.predict_proba(QUERIES))
    model = fitted(LinearSVC(dual=False))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(QUERIES), model.predict(QUERIES))


def test_pipelines_are_calibrated_or_asked():
    """A pipeline has the methods of its last step, and is calibrated where that has no probabilities."""
    for last, kind in ((RidgeClassifier(), Platt), (LOGISTIC, type(make_pipeline(GaussianNB())))):
        pipeline = make_pipeline(MaxAbsScaler(), last)
        model = fitted(pipeline)
        assert type(model.classifiers[0]) is kind
        np.testing.assert_array_equal(model.decide(QUERIES)[:, 0], clone(pipeline).fit(X, Y[:, 0]).predict(QUERIES))
        assert ((model.predict(X)[:, 0] >= 0.5) == Y[:, 0]).mean() > 0.75


def test_default_estimator():
    """It is calibrated, draws no random numbers, and fits features of very different scale without a warning."""
    assert type(fitted(default_estimator()).classifiers[0]) is Platt
    seeds = [default_estimator().set_params(random_state=seed).fit(X, Y[:, 0]) for seed in (0, 1)]
    np.testing.assert_array_equal(seeds[0].coef_, seeds[1].coef_)
    for scale in (1e-6, 1e6, 10.0 ** np.arange(-4, 4, 2)):
        assert np.isfinite(fitted(default_estimator(), X * scale).predict(QUERIES * scale)).all()


def test_an_estimator_without_scores_is_refused():
    """Neither probabilities nor decisions: nothing can be calibrated, and the message names the class."""
    with pytest.raises(ValueError, match="must have predict_proba or decision_function, got StandardScaler"):
        fitted(StandardScaler())


def test_what_is_no_classifier_is_refused():
    """Regressors, also at the end of a pipeline, clusterings, classes and names; duck types are taken."""
    for wrong in (LinearRegression(), make_pipeline(StandardScaler(), LinearRegression()), KMeans(2), LinearSVC, "svm"):
        with pytest.raises(ValueError, match="estimator must be a classifier, got "):
            chosen_classifier(wrong)
        with pytest.raises(ValueError, match="estimator must be a classifier, got "):
            fitted(wrong)

    class Duck:
        """Fits and predicts, and knows nothing of tags."""

        def fit(self, X, y):
            """Learn nothing."""

        def predict(self, X):
            """Say nothing."""

    class Untagged(Duck, BaseEstimator):
        """One whose tags do not say what it is."""

    for right in (Duck(), Untagged(), LinearSVC(), make_pipeline(StandardScaler(), LinearSVC())):
        assert chosen_classifier(right) is right
    assert isinstance(chosen_classifier(None), LinearSVC)


def test_one_far_decision_value_does_not_flatten_the_sigmoid():
    """The slope of the sigmoid hardly changes where one row lies far out on its own side."""
    rng = np.random.default_rng(0)
    y = (rng.random(2000) < 0.5).astype(int)
    decisions = 2 * y - 1 + rng.normal(size=2000)
    slope, intercept = _sigmoid(decisions, y, np.ones(len(y)))
    for far in (50.0, 300.0, 1000.0):
        moved = np.append(decisions[1:], far * (2 * y[0] - 1))
        labels = np.append(y[1:], y[0])
        np.testing.assert_allclose(_sigmoid(moved, labels, np.ones(len(y))), (slope, intercept), rtol=0.2, atol=0.05)
    assert _sigmoid(np.ones(10), np.arange(10) % 2, np.ones(10)) == (0.0, 0.0)
