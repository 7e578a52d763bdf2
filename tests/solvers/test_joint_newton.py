import warnings

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from nearlabel.solvers import joint_newton
from nearlabel.solvers.joint_newton import (
    Columns,
    Problem,
    best_together,
    fit_support_vectors,
    logistic,
    minimise,
    squared_hinge,
)
from nearlabel.solvers.label_probabilities import LabelProbabilities, Platt, deal_out

KINDS = ["plain", "separable", "duplicates", "constant column", "scales", "far from zero", "wide", "one row a class"]


def make(kind, seed=0):
    """Return columns (n, d), the last of ones, signs (m, n) of 6 labels, and a weight for all rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 50) if kind == "wide" else (120, 6))
    scores = X @ rng.normal(size=(X.shape[1], 6)) + rng.normal(size=(len(X), 6)) * (kind != "separable")
    if kind == "duplicates":
        X, scores = np.repeat(X[:40], 3, axis=0), scores[:120]
    elif kind == "constant column":
        X[:, 2] = 3.0
    elif kind == "scales":
        X *= [1e-3, 1.0, 1e3, 1.0, 1e3, 1.0]
    elif kind == "far from zero":
        X += 100.0
    cuts = np.diagonal(np.quantile(scores, [0.1, 0.3, 0.5, 0.7, 0.9, 0.97], axis=0))
    signs = np.where(scores > cuts, 1.0, -1.0)
    if kind == "one row a class":
        signs = np.where(np.arange(len(X))[:, np.newaxis] == np.arange(6), 1.0, -1.0)
    return np.column_stack([X, np.ones(len(X))]), np.ascontiguousarray(signs.T), 1e4 if kind == "separable" else 1.0


def gradient(X, signs, weights, loss, penalty, coef):
    """Return the gradient of each label, written down as it is defined."""
    rows = []
    for s, c, w in zip(signs, weights, coef, strict=True):
        _, slope, _ = loss(s * (X @ w))
        rows.append(X.T @ (c * s * slope) + 2 * penalty * w)
    return np.array(rows)


def objective(X, s, c, loss, penalty, w):
    """Return f of one label."""
    return c @ loss(s * (X @ w))[0] + penalty @ w**2


@pytest.mark.parametrize("loss", [squared_hinge, logistic])
@pytest.mark.parametrize("kind", KINDS)
def test_the_minimum_is_certified(kind, loss):
    """The objective bends by 1 at least, so |w - w*| <= |gradient|, which bounds the error of every decision."""
    for seed in range(3):
        X, signs, C = make(kind, seed)
        columns = Columns(X)
        weights = np.full(signs.shape, C) * np.random.default_rng(seed).choice([0.5, 1.0, 2.0], signs.shape[1])
        penalty = np.full(columns.shape[1], 0.5)
        found = minimise(Problem(columns, signs, loss, penalty, weights))
        assert found.converged.all()
        coef = columns.as_given(found.coef)
        rest = np.linalg.norm(gradient(X, signs, weights, loss, np.full(X.shape[1], 0.5), coef), axis=1)
        wrong = rest[:, np.newaxis] * np.linalg.norm(X, axis=1)
        size = np.maximum(1.0, np.abs(coef @ X.T).max())
        assert wrong.max() <= (1e-5 if kind in ("scales", "separable", "far from zero") else 1e-8) * size


@pytest.mark.parametrize("kind", KINDS)
def test_equals_the_support_vector_machine_of_scikit_learn(kind):
    """Decisions are those of LinearSVC at its tightest; where they differ, ours has the smaller f."""
    X, signs, C = make(kind)
    columns, penalty = Columns(X), np.full(X.shape[1], 0.5)
    weights = np.full(signs.shape, C)
    ours = minimise(Problem(columns, signs, squared_hinge, penalty[: columns.shape[1]], weights))
    for s, c, coef in zip(signs, weights, columns.as_given(ours.coef), strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            theirs = LinearSVC(dual=False, C=C, tol=1e-14, max_iter=1000).fit(X[:, :-1], s)
        w = np.append(theirs.coef_[0], theirs.intercept_)
        reached, best = (objective(X, s, c, squared_hinge, penalty, each) for each in (w, coef))
        assert best <= reached * (1 + 1e-12)
        # f bends by 1 at least: so far from the minimum may scikit-learn's answer be that gains as little.
        close = np.linalg.norm(gradient(X, [s], [c], squared_hinge, penalty, [w]))
        tolerance = 1e-8 + close * np.linalg.norm(X, axis=1).max()
        np.testing.assert_allclose(X @ coef, X @ w, rtol=1e-8, atol=tolerance)


@pytest.mark.parametrize("kind", ["plain", "duplicates", "constant column", "wide", "one row a class"])
def test_equals_the_logistic_regression_of_scikit_learn(kind):
    """Probabilities of an unpenalised intercept and penalised slopes, to 1e-8."""
    X, signs, _ = make(kind)
    X = np.column_stack([X[:, -1], X[:, :-1] - X[:, :-1].mean(axis=0)])
    columns = Columns(X, n_fixed=1)
    penalty = np.append(0.0, np.full(columns.shape[1] - 1, 0.5))
    found = minimise(Problem(columns, signs, logistic, penalty))
    assert found.converged.all()
    for s, coef in zip(signs, columns.as_given(found.coef), strict=True):
        theirs = LogisticRegression(solver="newton-cholesky", tol=1e-14, max_iter=1000).fit(X[:, 1:], s)
        np.testing.assert_allclose(X @ coef, theirs.decision_function(X[:, 1:]), rtol=0, atol=1e-8)


def test_labels_do_not_depend_on_each_other():
    """A label alone, or among others, has the same minimum up to rounding."""
    X, signs, _ = make("plain")
    columns = Columns(X)
    penalty = np.full(X.shape[1], 0.5)
    all_of_them = minimise(Problem(columns, signs, squared_hinge, penalty)).coef
    for label in range(6):
        alone = minimise(Problem(columns, signs[[label]], squared_hinge, penalty)).coef
        np.testing.assert_allclose(alone[0], all_of_them[label], rtol=0, atol=1e-12)


def test_a_start_near_by_changes_nothing(monkeypatch):
    """From the minimum and the Hessians of all rows, that of some rows is found: in fewer steps, to rounding."""
    X, signs, _ = make("plain")
    columns, penalty = Columns(X), np.full(X.shape[1], 0.5)
    problem = Problem(columns, signs, squared_hinge, penalty)
    near = minimise(problem, hessians=True)
    assert all(hessian is not None for hessian in near.hessians)
    some = problem._replace(weights=np.random.default_rng(0).integers(0, 2, signs.shape).astype(float))
    steps = []
    plain = joint_newton._Fits.newton_step
    monkeypatch.setattr(joint_newton._Fits, "newton_step", lambda fits: (steps.append(1), plain(fits))[1])
    far, n_far = minimise(some), len(steps)
    warm = minimise(some, near)
    np.testing.assert_allclose(warm.coef, far.coef, rtol=0, atol=1e-11)
    assert len(steps) - n_far < n_far


def test_no_step_is_taken_at_the_minimum():
    """A gradient of 0 is no division by 0: signs that cancel out have coefficients 0."""
    X = np.ones((4, 1))
    found = minimise(Problem(Columns(X), np.array([[1.0, -1.0, 1.0, -1.0]]), logistic, np.array([0.5])))
    assert found.converged.all()
    assert found.coef.tolist() == [[0.0]]


def test_platt_of_all_labels_equals_one_by_one():
    """Probabilities are those of a tight LinearSVC with its sigmoid, also of rare labels and with weights."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 4))
    Y = (X @ rng.normal(size=(4, 5)) + rng.normal(size=(90, 5)) > [0, 1, 2, -1, 9]).astype(int)
    Y[:2, 4] = 1
    Y = np.column_stack([Y, np.zeros(90, dtype=int), np.ones(90, dtype=int), np.arange(90) == 7])
    for params in ({}, {"sample_weight": rng.uniform(0.5, 2, 90)}):
        together = LabelProbabilities.fit(None, X, Y, np.random.RandomState(0), **params)
        assert together.classifiers[5:7] == [0.0, 1.0]
        for label in (0, 1, 2, 3, 4, 7):
            ours = together.classifiers[label]
            alone = Platt(LinearSVC(dual=False, tol=1e-12, max_iter=10_000), ours.random_state)
            alone.fit(X, Y[:, label], **params)
            np.testing.assert_allclose(ours.predict_proba(X), alone.predict_proba(X), rtol=0, atol=1e-7)
            np.testing.assert_array_equal(ours.predict(X), alone.predict(X))
            np.testing.assert_allclose(ours.slope_, alone.slope_, rtol=1e-5, atol=1e-9)


def test_without_probabilities_there_are_machines():
    """Only decisions asked for, there is no sigmoid and no fold."""
    X, signs, _ = make("plain")
    Y = (signs.T > 0).astype(int)
    model = LabelProbabilities.fit(None, X, Y, np.random.RandomState(0), probability=False)
    assert all(type(machine) is LinearSVC for machine in model.classifiers)
    assert (model.decide(X) == Y).mean() > 0.8


@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_fewer_rows_than_folds(n):
    """Two rows are enough: where a training part has one class the decision on the fold is plus or minus 1."""
    X, y = np.random.default_rng(0).normal(size=(n, 2)), np.arange(n)[np.newaxis] % 2
    folds = deal_out(y[0], np.random.RandomState(0))[np.newaxis]
    decisions = fit_support_vectors(X, y, folds, None, None).decisions
    assert np.isfinite(decisions).all()
    if n == 2:
        np.testing.assert_array_equal(decisions, [[1.0, -1.0]])


def test_jobs_and_blocks_change_nothing(monkeypatch):
    """Labels in blocks of one, two at a time, have the coefficients of one block up to rounding."""
    X, signs, _ = make("plain")
    y = (signs > 0).astype(int)
    folds = np.array([deal_out(each, np.random.RandomState(0)) for each in y])
    whole = fit_support_vectors(X, y, folds, None, None)
    monkeypatch.setattr(joint_newton, "_BLOCK_CELLS", 1)
    for n_jobs in (None, 2):
        with parallel_config("threading"):
            parts = fit_support_vectors(X, y, folds, None, n_jobs)
        for one, other in zip(whole, parts, strict=True):
            np.testing.assert_allclose(other, one, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("shape", "density", "together"), [((50, 100), 1, True), ((50, 100), 0.02, False), ((9, 1600), 1, False)]
)
def test_wide_and_empty_rows_are_left_to_liblinear(shape, density, together):
    """Which of the two is sooner depends on the values only, not on how they are stored."""
    X = np.where(np.random.default_rng(0).random(shape) < density, 1.0, 0.0)
    assert best_together(X) is best_together(sparse.csr_array(X)) is together


def test_no_convergence_is_warned_of(monkeypatch):
    """Steps that do not suffice are named, with what helps."""
    monkeypatch.setattr(joint_newton, "_MOST_STEPS", 1)
    X, signs, _ = make("plain")
    with pytest.warns(ConvergenceWarning, match="label that 108 of 120 rows have did not converge. Hint: scale"):
        joint_newton.fit_support_vectors(X, (signs[:1] > 0).astype(int), None, None, None)
