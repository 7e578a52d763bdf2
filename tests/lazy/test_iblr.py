import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from _pairs import every_pair
from _reference import confidences, nearest
from conftest import CHECKS, CONTAINERS, ROWS
from nearlabel.datasets import fetch_dataset
from nearlabel.lazy import IBLR
from nearlabel.neighbors import ExactNeighbors, PrecomputedNeighbors

METHODS = [IBLR(n_neighbors=3), IBLR(n_neighbors=3, plus=True)]
UNFINISHED = "The regression of a label that"


def dense(matrix):
    """Return an array of an array or a sparse container."""
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


def loop_shares(X, Y, queries, k):
    """Return the shares of the neighbours' labels by loops: of the training rows, each left out itself, and queries."""
    own = [[c / k for c in confidences(Y, nearest(X, X[i], k, leave_out=i))] for i in range(len(X))]
    asked = [[c / k for c in confidences(Y, nearest(X, query, k))] for query in queries]
    return np.array(own), np.array(asked)


def loop_designs(X, Y, queries, k, plus):
    """Return the columns of the regression; features are moved to a row, which changes only the intercept."""
    own, asked = loop_shares(X, Y, queries, k)
    return (np.hstack([own, X - X[0]]), np.hstack([asked, queries - X[0]])) if plus else (own, asked)


def probabilities(estimator, own, asked, Y):
    """Probabilities label by label, constants for labels with one class."""
    columns = []
    for y in np.asarray(Y).T:
        if len(set(y)) == 1:
            columns.append(np.full(len(asked), float(y[0])))
        else:
            columns.append(clone(estimator).fit(own, y).predict_proba(asked)[:, 1])
    return np.column_stack(columns)


def ridged(ridge):
    """scikit-learn's regression with the same penalty, on standardised columns."""
    regression = LogisticRegression(C=1 / (2 * ridge), solver="newton-cholesky", tol=1e-14, max_iter=1000)
    return make_pipeline(StandardScaler(), regression)


def assert_decided_by(scores, labels, expected):
    """Compare scores to 1e-8 and label sets in every cell but those of exactly one half, where rounding decides."""
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(dense(labels), scores >= 0.5)
    sure = np.abs(expected - 0.5) > 1e-12
    np.testing.assert_array_equal(dense(labels)[sure], (expected >= 0.5)[sure])
    assert sure.mean() > 0.5


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_contract(method, check):
    """IBLR keeps our own contract, with and without the features."""
    check(clone(method))


@pytest.mark.pairs
@pytest.mark.parametrize(
    ("problem", "design", "k", "container"),
    every_pair(ROWS, [(False, 1e-2), (False, 1.0), (True, 0.05)], [1, 5, 39], ["dense", "csr_array"]),
    indirect=["problem"],
)
def test_equals_loops(problem, design, k, container):
    """Probabilities agree with another solver on the loops' shares to 1e-8, and so do label sets."""
    X, Y, queries = problem
    plus, ridge = design
    store = CONTAINERS[container]
    model = IBLR(k, plus=plus, ridge=ridge).fit(store(X), store(Y))
    expected = probabilities(ridged(ridge), *loop_designs(X, Y, queries, k, plus), Y)
    assert_decided_by(model.predict_proba(store(queries)), model.predict(store(queries)), expected)


def test_by_hand():
    """One label, one neighbour: neighbours with the label are followed by 3 rows of 4 with it, others by 1 of 4."""
    X = np.array([0.0, 0.1, 10, 10.1, 20, 20.1, 30, 30.1])[:, np.newaxis]
    Y = np.array([1, 1, 0, 0, 1, 0, 0, 1])[:, np.newaxis]
    # Row by row: the neighbour's label 1 1 0 0 0 1 1 0, the own one 1 1 0 0 1 0 0 1: 2 of 4 both times.
    even = IBLR(1).fit(X, Y)
    np.testing.assert_allclose(even.predict_proba([[0.0], [10.0]]), [[0.5], [0.5]], rtol=0, atol=1e-7)
    Y[5] = 1  # now the neighbour's label is 1 in rows 0, 1, 4, 5, 6, and 4 of these 5 have it; of the others 1 of 3
    model = IBLR(1).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba([[0.0], [10.0]]), [[4 / 5], [1 / 3]], rtol=0, atol=1e-7)
    assert model.predict([[0.0], [10.0]]).tolist() == [[1], [0]]
    np.testing.assert_allclose(model.intercept_, [np.log(1 / 2)], rtol=1e-6)
    np.testing.assert_allclose(model.coef_, [[np.log(4) - np.log(1 / 2)]], rtol=1e-6)


@pytest.mark.parametrize("container", ["dense", "csr_array"])
@pytest.mark.parametrize("plus", [False, True])
def test_coefficients(problem, plus, container):
    """Intercept and coefficients, labels then features, give the scores; infinite where a label has one class."""
    X, Y, queries = problem
    model = IBLR(4, plus=plus, ridge=1e-3).fit(X, CONTAINERS[container](Y))
    assert model.coef_.shape == (5, 5 + plus * X.shape[1])
    assert model.intercept_.shape == (5,)
    for label in np.flatnonzero(Y.min(axis=0) == Y.max(axis=0)):
        assert model.intercept_[label] == (np.inf if Y[0, label] else -np.inf)
        assert (model.coef_[label] == 0).all()
        assert model.estimators_[label] == Y[0, label]
    _, shares = loop_shares(X, Y, queries, 4)
    design = np.hstack([shares, queries]) if plus else shares
    scores = expit(model.intercept_ + design @ model.coef_.T)
    np.testing.assert_allclose(model.predict_proba(queries), scores, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["one label", "all equal labels", "duplicated rows", "constant labels only"])
def test_odd_problems(kind):
    """A single label, labels that are copies, rows that are copies and constant labels agree with the loops too."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (36, 2)).astype(float)
    Y = (X @ rng.normal(size=(2, 4)) + rng.normal(size=(36, 4)) > 0.5).astype(int)
    if kind == "one label":
        Y = Y[:, :1]
    elif kind == "all equal labels":
        Y = Y[:, [1, 1, 1]]
    elif kind == "duplicated rows":
        X = np.repeat(X[:9], 4, axis=0)
    else:
        Y = np.tile([1, 0, 1], (36, 1))
    for k in (1, 5, 35):
        model = IBLR(k, ridge=1e-2).fit(X, Y)
        expected = probabilities(ridged(1e-2), *loop_shares(X, Y, X, k), Y)
        assert_decided_by(model.predict_proba(X), model.predict(X), expected)


def test_separable_labels_converge():
    """Labels that the shares tell apart without error have finite coefficients by default, without a warning."""
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0], [10.0], [20.0]], 15, axis=0) + rng.random((45, 1))
    Y = np.repeat([[1, 0, 0], [0, 1, 0], [0, 1, 1]], 15, axis=0)
    for k in (1, 5, 44):  # 44: a row's own label is what all the others lack
        for plus in (False, True):
            model = IBLR(k, plus=plus).fit(X, Y)
            assert np.isfinite(model.coef_).all()
            assert np.abs(model.coef_).max() > 4
    model = IBLR(5).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), Y)
    assert np.abs(model.predict_proba(X) - Y).max() < 1e-4


def test_the_default_ridge_converges(problem):
    """Constant, rare and disjoint labels, equal rows and features far from zero: no warning, finite coefficients."""
    X, Y, queries = problem
    for k in (1, 3, 10, 39):
        for plus in (False, True):
            model = IBLR(k, plus=plus).fit(X, Y)
            assert np.isfinite(model.coef_).all()
            assert np.isfinite(model.predict_proba(queries)).all()


def test_no_convergence_is_warned_of(monkeypatch):
    """Steps that do not suffice are named, with what helps."""
    X = np.arange(20.0)[:, np.newaxis]
    monkeypatch.setattr("nearlabel.solvers.joint_newton._MOST_STEPS", 3)
    with pytest.warns(ConvergenceWarning, match=f"{UNFINISHED} 10 of 20 rows have did not converge. Hint: more ridge"):
        model = IBLR(3).fit(X, (X > 9).astype(int))
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3, 1e6])
def test_features_that_depend_on_each_other(scale):
    """Sums and differences of features, on any scale: the tiny ridge settles them, without a warning."""
    rng = np.random.default_rng(0)
    B = rng.normal(size=(300, 4))
    X = np.column_stack([B, B.sum(axis=1), B[:, 0] - B[:, 1]]) * scale
    Y = (B[:, :2] + 0.5 * rng.normal(size=(300, 2)) > 0).astype(int)
    model = IBLR(10, plus=True).fit(X, Y)
    assert (model.predict(X) == Y).mean() > 0.8


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("labels", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("plus", [False, True])
def test_an_estimator_is_fitted_to_shares_and_features(store, labels, plus):
    """A classifier that is given takes the place of the Newton steps, whatever the storage."""
    rng = np.random.default_rng(0)
    X = rng.poisson(0.7, (60, 5)).astype(float)
    Y = (X @ rng.normal(size=(5, 3)) + rng.normal(size=(60, 3)) > 0).astype(int)
    estimator = LogisticRegression(solver="newton-cholesky", tol=1e-10)
    model = IBLR(6, plus=plus, estimator=estimator).fit(store(X), labels(Y))
    own, asked = loop_shares(X, Y, X[:20], 6)
    if plus:
        own, asked = np.hstack([own, X]), np.hstack([asked, X[:20]])
    expected = probabilities(estimator, own, asked, Y)
    np.testing.assert_allclose(model.predict_proba(store(X[:20])), expected, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(dense(model.predict(store(X[:20]))), expected >= 0.5)
    assert all(isinstance(c, LogisticRegression) for c in model.estimators_)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "intercept_")


def test_estimators_without_probabilities_are_calibrated():
    """Labels are decided by the calibrated probability; seeds reach the estimator."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    Y = np.column_stack([X[:, 0] > 0, np.arange(80) == 7, X[:, 1] > 0.5]).astype(int)
    model = IBLR(5, plus=True, estimator=RidgeClassifier(), random_state=0).fit(X, Y)
    scores = model.predict_proba(X)
    assert ((scores > 0) & (scores < 1)).all()
    np.testing.assert_array_equal(model.predict(X), scores >= 0.5)
    assert ((scores[:, 0] >= 0.5) == Y[:, 0]).mean() > 0.9
    tree = DecisionTreeClassifier(max_features=1, max_depth=3)
    one, two, other = (
        IBLR(5, plus=True, estimator=tree, random_state=seed).fit(X, Y).predict_proba(X) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


def test_a_fit_forgets_coefficients():
    """Coefficients of an earlier fit do not stay beside an estimator's."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 2)), rng.integers(0, 2, (30, 2))
    model = IBLR(3).fit(X, Y)
    assert model.coef_.shape == (2, 2)
    model.set_params(estimator=GaussianNB()).fit(X, Y)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "intercept_")
    assert model.set_params(estimator=None, plus=True).fit(X, Y).coef_.shape == (2, 4)


@pytest.mark.parametrize("plus", [False, True])
def test_sweep_equals_single_fits(problem, plus):
    """One precomputed search answers every k as a search of its own would."""
    X, Y, queries = problem
    known = PrecomputedNeighbors.from_search(ExactNeighbors(), X, queries, n_neighbors=12)
    for k in (1, 2, 5, 12):
        swept, single = IBLR(k, plus=plus, search=known).fit(X, Y), IBLR(k, plus=plus).fit(X, Y)
        np.testing.assert_array_equal(swept.predict(queries), single.predict(queries))
        np.testing.assert_array_equal(swept.predict_proba(queries), single.predict_proba(queries))
        np.testing.assert_array_equal(swept.coef_, single.coef_)


@pytest.mark.long
def test_jobs_change_nothing():
    """Labels fitted two at a time have the same coefficients."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(50, 3)), rng.integers(0, 2, (50, 4))
    one, two = (IBLR(4, n_jobs=n_jobs).fit(X, Y) for n_jobs in (None, 2))
    np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(two.intercept_, one.intercept_, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("plus", [False, True])
def test_blocks_and_neighbouring_queries_change_nothing(problem, plus, monkeypatch):
    """Scores depend neither on the memory budget nor on storage and company of the queries, to the last bit."""
    X, Y, queries = problem
    model = IBLR(6, plus=plus).fit(X, Y)
    scores, labels = model.predict_proba(queries), model.predict(queries)
    np.testing.assert_array_equal(model.predict_proba(queries[::-1]), scores[::-1])
    np.testing.assert_array_equal(model.predict_proba(queries[:1]), scores[:1])
    np.testing.assert_array_equal(model.predict_proba(sparse.csr_array(queries)), scores)
    for store, keep in ((sparse.csr_array, np.asarray), (np.asarray, sparse.csr_array)):
        np.testing.assert_array_equal(IBLR(6, plus=plus).fit(store(X), keep(Y)).predict_proba(queries), scores)
    monkeypatch.setattr("nearlabel.utils.validation.row_blocks.__defaults__", (1000,))
    np.testing.assert_array_equal(model.predict(queries), labels)
    np.testing.assert_array_equal(model.predict_proba(queries), scores)
    np.testing.assert_array_equal(IBLR(6, plus=plus).fit(X, Y).predict_proba(queries), scores)


def test_order_of_labels_changes_nothing(problem):
    """Reordering the labels reorders scores and coefficients."""
    X, Y, queries = problem
    order = np.array([3, 0, 4, 2, 1])
    model, permuted = IBLR(5, ridge=1e-3).fit(X, Y), IBLR(5, ridge=1e-3).fit(X, Y[:, order])
    np.testing.assert_allclose(
        permuted.predict_proba(queries), model.predict_proba(queries)[:, order], rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(permuted.coef_, model.coef_[order][:, order], rtol=0, atol=1e-6)


def test_no_leave_one_out_scores():
    """Every row left out would need regressions of its own, so there is no such method to be found."""
    assert not hasattr(IBLR(), "loo_predict_proba")
    assert not hasattr(IBLR(2).fit(np.eye(4), np.eye(4, dtype=int)), "loo_predict_proba")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_neighbors": 8}, ValueError, "n_neighbors must be smaller than n_samples=8, got 8. A sample is not"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors must be at least 1, got 0"),
        ({"ridge": 0}, ValueError, "ridge must be a finite number above 0, got 0"),
        ({"ridge": -1e-8}, ValueError, "ridge must be a finite number above 0"),
        ({"ridge": np.inf}, ValueError, "ridge must be a finite number above 0, got inf"),
        ({"ridge": "1"}, TypeError, "ridge must be a number, got '1' of type str"),
        ({"random_state": "a"}, ValueError, "cannot be used to seed"),
        ({"search": 3}, TypeError, "search must be an object with the methods fit and kneighbors, got 3"),
        ({"estimator": StandardScaler()}, ValueError, "estimator must have predict_proba or decision_function"),
    ],
)
def test_bad_parameters(options, error, message):
    """A parameter out of range is named."""
    with pytest.raises(error, match=message):
        IBLR(**({"n_neighbors": 2} | options)).fit(np.eye(8), np.eye(8, dtype=int))


@pytest.mark.parametrize("options", [{}, {"plus": True}, {"estimator": RidgeClassifier(), "random_state": 0}], ids=str)
def test_pickles(problem, options):
    """A fitted classifier survives pickling."""
    X, Y, queries = problem
    model = IBLR(3, **options).fit(X, Y)
    thawed = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(thawed.predict_proba(queries), model.predict_proba(queries))
    np.testing.assert_array_equal(thawed.predict(queries), model.predict(queries))


@pytest.mark.parametrize(("name", "ridge"), [("emotions", 1e-8), ("medical", 1e-2)])
def test_real_data(data_folder, name, ridge):
    """On real data sparse equals dense, probabilities are some, and predictions err less than predicting nothing."""
    training, test = (fetch_dataset(name, subset=part) for part in ("train", "test"))
    model = IBLR(10, ridge=ridge).fit(training.X, training.Y)
    scores, labels = model.predict_proba(test.X), model.predict(test.X)
    assert ((scores >= 0) & (scores <= 1)).all()
    other = IBLR(10, ridge=ridge).fit(
        *((dense(M) if sparse.issparse(M) else sparse.csr_array(M)) for M in (training.X, training.Y))
    )
    queries = sparse.csr_array(test.X) if not sparse.issparse(test.X) else test.X.toarray()
    np.testing.assert_allclose(other.predict_proba(queries), scores, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(dense(other.predict(queries)), dense(labels))
    truth = dense(test.Y)
    assert (dense(labels) != truth).mean() < 0.9 * truth.mean()


@pytest.mark.long
@pytest.mark.parametrize("name", ["emotions", "medical"])
def test_real_shares_equal_another_solver(data_folder, name):
    """On real rows probabilities agree with scikit-learn's regression on the search's shares to 1e-8."""
    training, test = (fetch_dataset(name, subset=part) for part in ("train", "test"))
    search, Y = ExactNeighbors().fit(training.X), dense(training.Y)
    own = Y[search.kneighbors(n_neighbors=10)[1]].mean(axis=1)
    asked = Y[search.kneighbors(test.X, 10)[1]].mean(axis=1)
    expected = probabilities(ridged(1e-2), own, asked, Y)
    model = IBLR(10, ridge=1e-2).fit(training.X, training.Y)
    assert_decided_by(model.predict_proba(test.X), model.predict(test.X), expected)


def test_default_ridge_fits_real_data_without_a_warning(data_folder):
    """Rare and separable labels of real data converge with the default ridge."""
    training = fetch_dataset("medical", subset="train")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = IBLR().fit(training.X, training.Y)
    assert np.isfinite(model.coef_).all()
