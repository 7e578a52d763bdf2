import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from _pairs import every_pair
from _reference import double_distances as double_distances_of
from _reference import nldd, nldd_pairs
from conftest import CHECKS, CONTAINERS, ROWS
from nearlabel.datasets import fetch_dataset
from nearlabel.lazy import NLDD
from nearlabel.lazy.double_distances import SearchedPairs, double_distances
from nearlabel.neighbors import ExactNeighbors
from nearlabel.solvers.feature_scaling import FeatureScaling

TREE = DecisionTreeClassifier(max_depth=2, random_state=0)  # few different probabilities: many ties in the label space
RESIDUE = "The binomial regression has no finite solution"


class PlainSearch(BaseEstimator):
    """An exact search of another class."""

    def fit(self, X):
        """Index the rows."""
        self.search_ = ExactNeighbors().fit(X)
        return self

    def kneighbors(self, X=None, n_neighbors=None):
        """Answer as the exact search does."""
        return self.search_.kneighbors(X, n_neighbors)


@pytest.mark.parametrize("check", CHECKS)
def test_contract(check):
    """NLDD keeps our own contract, here with a quick estimator."""
    check(NLDD(LogisticRegression(solver="liblinear"), random_state=0))


def halves(n, seed):
    """T1 and T2 as the classifier draws them; T1 has the odd row."""
    order = np.random.RandomState(seed).permutation(n)
    return order[: -(-n // 2)], order[-(-n // 2) :]


def probabilities(estimator, X, Y, queries):
    """Probabilities label by label, constants for labels with one class."""
    columns = []
    for y in np.asarray(Y).T:
        if len(set(y)) == 1:
            columns.append(np.full(len(queries), float(y[0])))
        else:
            columns.append(estimator.fit(X, y).predict_proba(queries)[:, 1])
    return np.column_stack(columns)


def deviations(X, scale):
    """Return what the library divides features by; another test compares it with numpy."""
    return FeatureScaling.by_deviation(X).divisors if scale == "standard" else np.ones(X.shape[1])


def reference_glm(rows, n_labels):
    """β by scikit-learn's logistic regression: each pair as so many wrong and so many right labels."""
    rows = np.array(rows)
    size = np.maximum(rows[:, :2].max(axis=0), 1e-300)
    design = np.vstack([rows[:, :2] / size] * 2)
    y = np.repeat([1, 0], len(rows))
    weights = np.concatenate([rows[:, 2], n_labels - rows[:, 2]])
    fitted = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-14, max_iter=1000)
    fitted.fit(design, y, sample_weight=weights)
    return np.append(fitted.intercept_, fitted.coef_[0] / size)


@pytest.mark.parametrize("container", ["dense", "csr_array"])
def test_deviations(problem, container):
    """Features are divided by their standard deviation (n - 1), constant ones are left; whole numbers to the bit."""
    X, _, _ = problem
    X = np.column_stack([X, np.full(40, 0.1), np.arange(40) % 3, np.arange(40)[::-1] % 3, np.zeros(40)])
    divisors = FeatureScaling.by_deviation(CONTAINERS[container](X)).divisors
    expected = np.where(X.max(axis=0) > X.min(axis=0), X.std(axis=0, ddof=1), 1.0)
    np.testing.assert_allclose(divisors, expected, rtol=1e-8)
    np.testing.assert_array_equal(FeatureScaling.by_deviation(X[::-1][:, -3:-1]).divisors, divisors[-3:-1])
    assert FeatureScaling.by_deviation(X[:1]).divisors.tolist() == [1.0] * X.shape[1]


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.int64, np.bool_, np.float16, np.float32])
def test_any_type_of_number(dtype):
    """Whole numbers of a small type neither wrap around nor are refused, and entries stored in parts are added."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2 if dtype == np.bool_ else 120, (60, 4)).astype(dtype)
    Y = (rng.random((60, 3)) < 0.5).astype(int)
    expected = X.astype(np.float64).std(axis=0, ddof=1)
    for rows in (X,) if dtype == np.float16 else (X, sparse.csr_array(X)):  # scipy has no sparse float16
        np.testing.assert_allclose(FeatureScaling.by_deviation(rows).divisors, expected, rtol=1e-9)
    model = NLDD(TREE, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, NLDD(TREE, random_state=0).fit(X.astype(np.float64), Y).coef_)
    parts = np.repeat(X.astype(np.float64) / 2, 2, axis=1).ravel(), np.tile(np.repeat(np.arange(4), 2), 60)
    halves_stored = sparse.csr_array((*parts, np.arange(0, 481, 8)), shape=(60, 4))
    np.testing.assert_allclose(FeatureScaling.by_deviation(halves_stored).divisors, expected, rtol=1e-9)


@pytest.mark.pairs
@pytest.mark.parametrize(
    ("problem", "estimator", "scale", "container", "n"),
    every_pair(ROWS, [TREE, LogisticRegression()], ["standard", "none"], ["dense", "csr_array"], [39, 40]),
    indirect=["problem"],
    ids=str,
)
def test_equals_loops(problem, estimator, scale, container, n):
    """β agrees with a reference regression on the loops' pairs to 1e-8, label sets and losses with loops: ties."""
    X, Y, queries = (array[:n] for array in problem)
    model = NLDD(estimator, scale=scale, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(CONTAINERS[container](X), CONTAINERS[container](Y))
    T1, T2 = halves(n, 0)
    inner = deviations(CONTAINERS[container](X[T1]), scale)
    pairs = nldd_pairs(X[T1] / inner, Y[T1], X[T2] / inner, Y[T2], probabilities(estimator, X[T1], Y[T1], X[T2]))
    np.testing.assert_allclose(sorted(model.pairs_.tolist()), sorted(pairs), rtol=0, atol=1e-10)
    if not caught:
        np.testing.assert_allclose(model.coef_, reference_glm(pairs, 5), rtol=1e-8, atol=1e-8)
    P = probabilities(estimator, X, Y, queries)
    np.testing.assert_allclose(model.predict_proba(queries), P, rtol=0, atol=1e-12)
    outer = deviations(CONTAINERS[container](X), scale)
    chosen, shares = nldd(X / outer, Y, queries / outer, model.predict_proba(queries), model.coef_)
    predicted = model.predict(queries)
    np.testing.assert_array_equal(predicted.toarray() if sparse.issparse(predicted) else predicted, Y[chosen])
    np.testing.assert_allclose(model.predict_loss(queries), 5 * np.array(shares), rtol=1e-10)


@pytest.mark.parametrize(
    "weights", [(1.0, 0.0), (0.0, 1.0), (0.3, 2.0), (-0.4, 1.0), (0.5, -1.0), (-1.0, -0.1), (0, 0)]
)
def test_pairs_are_those_of_a_loop(problem, weights, monkeypatch):
    """The row of least (sum, Dy, Dx, number), whatever the signs, the tiles, the storage and the kind of search."""
    X, Y, queries = problem
    rng = np.random.default_rng(0)
    P = np.round(rng.random((len(queries), 5)), 1)
    chosen, _ = nldd(X, Y, queries, P, (0.0, *weights))
    for store in (np.asarray, sparse.csr_array):
        for search in (ExactNeighbors(), PlainSearch()):
            pairs = double_distances(search, store(X), store(Y)).nearest(store(queries), P, weights)
            assert pairs.row.tolist() == chosen
    with monkeypatch.context() as patch:
        patch.setattr("nearlabel.utils.validation.row_blocks.__defaults__", (30_000,))
        patch.setattr("nearlabel.lazy.double_distances._QUERIES_PER_TILE", 3)
        blocked = double_distances(ExactNeighbors(n_jobs=2), X, Y, 2).nearest(queries, P, weights)
    np.testing.assert_array_equal(blocked, double_distances(ExactNeighbors(), X, Y).nearest(queries, P, weights))


@pytest.mark.filterwarnings(f"ignore:{RESIDUE}")  # rows that are all equal
@pytest.mark.parametrize("search", [ExactNeighbors(), PlainSearch()], ids=["exact", "other"])
def test_distances_to_rows(problem, search):
    """Those of plain loops, in the order of the training rows; the least weighted sum is what is predicted."""
    X, Y, queries = problem
    model = NLDD(TREE, scale="none", random_state=0, search=search).fit(X, Y)
    dx, dy, labelset = model.distances_to_rows(queries)
    P = model.predict_proba(queries)
    expected = np.array([double_distances_of(X, Y, x, p) for x, p in zip(queries, P, strict=True)])
    np.testing.assert_allclose(np.stack([dx, dy], axis=2), expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(model.labelsets_[labelset], Y)
    np.testing.assert_array_equal(model.expected_loss(dx, dy).min(axis=1), model.predict_loss(queries))


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "chebyshev"])
def test_any_metric(problem, metric):
    """The distance of the search is Dx; sparse rows give the same rows as dense."""
    X, Y, queries = problem
    P = np.random.default_rng(0).random((len(queries), 5))
    search = ExactNeighbors(metric)
    dense = double_distances(search, X, Y).nearest(queries, P, (1.0, 0.7))
    stored = double_distances(search, sparse.csr_array(X), Y).nearest(sparse.csr_array(queries), P, (1.0, 0.7))
    searched = SearchedPairs(search, X, Y).nearest(queries, P, (1.0, 0.7))
    np.testing.assert_array_equal(dense.row, stored.row)
    np.testing.assert_array_equal(dense.row, searched.row)


def test_other_searches():
    """scikit-learn's search finds the same label sets."""
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(80, 3)), rng.normal(size=(30, 3))
    Y = (X + rng.normal(size=(80, 3)) > 0).astype(int)
    ours = NLDD(GaussianNB(), random_state=0).fit(X, Y)
    theirs = NLDD(GaussianNB(), random_state=0, search=NearestNeighbors()).fit(X, Y)
    np.testing.assert_allclose(theirs.coef_, ours.coef_, rtol=1e-9)
    np.testing.assert_array_equal(theirs.predict(queries), ours.predict(queries))


def test_label_sets_occur_in_training():
    """Every predicted label set is one of the training data."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    Y = (X @ rng.normal(size=(4, 6)) + rng.normal(size=(120, 6)) > 0.5).astype(int)
    predicted = NLDD(LogisticRegression(), random_state=0).fit(X, Y).predict(rng.normal(size=(300, 4)))
    assert {tuple(row) for row in predicted.tolist()} <= {tuple(row) for row in Y.tolist()}


def test_trials_of_the_authors():
    """Their regression counts n_labels right labels beside the wrong ones: it models the odds, here by reference."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(101, 3))
    Y = (X @ rng.normal(size=(3, 4)) + rng.normal(size=(101, 4)) > 0).astype(int)
    model = NLDD(GaussianNB(), trials="authors", random_state=3).fit(X, Y)
    T1, T2 = halves(101, 3)
    inner = deviations(X[T1], "standard")
    rows = nldd_pairs(X[T1] / inner, Y[T1], X[T2] / inner, Y[T2], probabilities(GaussianNB(), X[T1], Y[T1], X[T2]))
    wrong = np.array(rows)[:, 2]
    np.testing.assert_allclose(model.coef_, reference_glm(rows, 4 + wrong), rtol=1e-8)
    outer = deviations(X, "standard")
    _, shares = nldd(X / outer, Y, X / outer, model.predict_proba(X), model.coef_)
    odds = np.array(shares) / (1 - np.array(shares))
    np.testing.assert_allclose(model.predict_loss(X), 4 * np.minimum(odds, 1), rtol=1e-10)


def test_loss_is_that_of_the_fitted_model():
    """A parameter that is changed after the fit changes nothing."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(50, 3)), rng.integers(0, 2, (50, 3))
    model = NLDD(GaussianNB(), random_state=0).fit(X, Y)
    loss = model.predict_loss(X)
    np.testing.assert_array_equal(model.set_params(trials="authors", scale="none").predict_loss(X), loss)


def test_duplicates():
    """Equal pairs count once if asked for, which changes β."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 3)).astype(float)
    Y = (rng.random((60, 3)) < [0.5, 0.3, 0.6]).astype(int)
    models = [NLDD(TREE, drop_duplicates=drop, random_state=0).fit(X, Y) for drop in (False, True)]
    T1, T2 = halves(60, 0)
    inner = deviations(X[T1], "standard")
    rows = nldd_pairs(X[T1] / inner, Y[T1], X[T2] / inner, Y[T2], probabilities(TREE, X[T1], Y[T1], X[T2]))
    unique = np.unique(np.array(rows).round(12), axis=0)
    assert len(unique) < len(rows)
    np.testing.assert_allclose(models[0].coef_, reference_glm(rows, 3), rtol=1e-8)
    np.testing.assert_allclose(models[1].coef_, reference_glm(unique, 3), rtol=1e-8)


@pytest.mark.parametrize(
    ("X", "Y", "used"),
    [
        (np.arange(20.0)[:, np.newaxis], np.ones((20, 2)), r"with 0 wrong labels; coef_ is set to \(0, 1, 1\)"),
        (np.ones((20, 2)), np.random.default_rng(0).integers(0, 2, (20, 3)), "a ridge of 1e-06"),
        (np.ones((1, 2)), [[1, 0]], r"on 0 pairs .* coef_ is set to \(0, 1, 1\)"),
    ],
    ids=["no loss", "constant distance", "one row"],
)
def test_regressions_without_a_solution(X, Y, used):
    """They are stood in for, with a warning, and predictions are training label sets all the same."""
    with pytest.warns(ConvergenceWarning, match=f"{RESIDUE} .*{used}") as caught:
        model = NLDD(TREE, random_state=0).fit(X, Y)
    assert caught[0].filename == __file__, "the warning points at the line that called fit"
    assert np.isfinite(model.coef_).all()
    assert {tuple(row) for row in model.predict(X).tolist()} <= {tuple(row) for row in np.asarray(Y).tolist()}
    assert np.isfinite(model.predict_loss(X)).all()


@pytest.mark.long
@pytest.mark.filterwarnings(f"ignore:{RESIDUE}")
def test_estimators_without_probabilities_and_pipelines():
    """Decision values are calibrated, also of labels of one row; pipelines serve; a single label too."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    Y = np.column_stack([X[:, 0] > 0, np.arange(50) == 7, X[:, 1] > 0.5]).astype(int)
    for estimator in (RidgeClassifier(), make_pipeline(StandardScaler(), RidgeClassifier()), None):
        model = NLDD(estimator, random_state=0).fit(X, Y)
        P = model.predict_proba(X)
        assert P.min() >= 0
        assert P.max() <= 1
        assert ((P[:, 0] > 0.5) == Y[:, 0]).mean() > 0.9
        assert (model.predict(X)[:, 0] == Y[:, 0]).mean() > 0.9
        assert NLDD(estimator, random_state=0).fit(X, Y[:, :1]).predict(X).shape == (50, 1)


def test_the_seed_decides():
    """One seed, one answer; estimators that draw get it too; another seed splits otherwise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    Y = (X[:, :3] + rng.normal(size=(60, 3)) > 0).astype(int)
    estimator = DecisionTreeClassifier(max_features=1, max_depth=3)
    one, two, other = (NLDD(estimator, random_state=seed).fit(X, Y) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert (one.coef_ != other.coef_).any()
    jobs = NLDD(estimator, random_state=1, n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(one.coef_, jobs.coef_)
    np.testing.assert_array_equal(one.predict(X), jobs.predict(X))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"scale": "minmax"}, ValueError, "scale must be one of"),
        ({"trials": "all"}, ValueError, "trials must be one of"),
        ({"drop_duplicates": "no"}, TypeError, "drop_duplicates must be True or False, got 'no' of type str"),
        ({"search": 3}, TypeError, "search must be an object with the methods fit and kneighbors, got 3"),
        ({"random_state": "a"}, ValueError, "cannot be used to seed"),
        ({"estimator": StandardScaler()}, ValueError, "estimator must have predict_proba or decision_function"),
    ],
)
def test_bad_parameters(options, error, message):
    """A parameter out of range is named."""
    with pytest.raises(error, match=message):
        NLDD(**options).fit(np.eye(8), np.eye(8, dtype=int))


def test_unfitted():
    """Nothing can be asked before a fit."""
    for method in ("predict", "predict_proba", "predict_loss"):
        with pytest.raises(NotFittedError):
            getattr(NLDD(), method)(np.eye(2))


def test_pickles(problem):
    """A fitted classifier survives pickling."""
    X, Y, queries = problem
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = NLDD(TREE, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_loss(queries), model.predict_loss(queries))


@pytest.mark.parametrize("name", ["emotions", pytest.param("medical", marks=pytest.mark.long)])
def test_equals_loops_on_real_data(data_folder, name):
    """On real rows, dense and sparse, label sets and expected losses are those of all pairs computed plainly."""
    training, test = (fetch_dataset(name, subset=part) for part in ("train", "test"))
    X, Y = training.X[:150], training.Y[:150]
    queries = test.X[:80]
    model = NLDD(LogisticRegression(solver="liblinear"), random_state=0).fit(X, Y)
    X, Y, queries = (M.toarray() if sparse.issparse(M) else M for M in (X, Y, queries))
    outer = deviations(X, "standard")
    chosen, shares = nldd(X / outer, Y, queries / outer, model.predict_proba(queries), model.coef_)
    predicted = model.predict(queries)
    np.testing.assert_array_equal(predicted.toarray() if sparse.issparse(predicted) else predicted, Y[chosen])
    np.testing.assert_allclose(model.predict_loss(queries), Y.shape[1] * np.array(shares), rtol=1e-10)
