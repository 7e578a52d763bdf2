import pickle
from itertools import cycle, pairwise, product

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog, minimize
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import CONTAINERS
from nearlabel import testing
from nearlabel.datasets import fetch_dataset
from nearlabel.metrics import average_precision, hamming_loss
from nearlabel.rivals import RankSVM
from nearlabel.rivals._label_ranking import (
    LabelPairs,
    RidgeSmoother,
    above_threshold,
    balanced,
    best_thresholds,
    fit_size_predictor,
)

KERNELS = {
    "linear": (RankSVM(kernel="linear"), lambda x, z: x @ z),
    "poly": (RankSVM(kernel="poly", degree=3, gamma=0.5, coef0=1), lambda x, z: (0.5 * (x @ z) + 1) ** 3),
    "poly8": (RankSVM(gamma=0.3, C=0.1), lambda x, z: (0.3 * (x @ z) + 1) ** 8),
    "rbf": (RankSVM(kernel="rbf", gamma=0.7, C=10), lambda x, z: np.exp(-0.7 * ((x - z) @ (x - z)))),
}
# This check asks for predict_proba; the scores are decision values, see test_scikit_learn_tools.
CHECKS = [check for check in testing.MULTILABEL_CHECKS if check is not testing.check_scikit_learn_tools]
OF_KERNELS = [
    testing.check_scores_are_one_array,
    testing.check_sparse_equals_dense,
    testing.check_labels_permute_with_columns,
    testing.check_each_query_is_answered_by_itself,
    testing.check_fit_forgets,
]


def small_problem(seed, n_labels):
    """Draw rows with features that tell the labels, but not exactly; the first two have no and all labels."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 14))
    X = rng.normal(size=(n, 3))
    Y = (X @ rng.normal(size=(3, n_labels)) + rng.normal(size=(n, n_labels)) > 0).astype(int)
    Y[0], Y[1] = 0, 1
    Y[2:4] = np.eye(n_labels, dtype=int)[[0, -1]]
    return X - X.mean(axis=0), Y


def paper_program(X, Y, C, kernel):
    """Transcribe the dual: the pairs with their caps, the quadratic form, and the constraints of equality."""
    n_labels = Y.shape[1]
    pairs = []
    for i, row in enumerate(Y):
        relevant, irrelevant = np.flatnonzero(row == 1), np.flatnonzero(row == 0)
        pairs += [(i, j, m, C / (len(relevant) * len(irrelevant))) for j in relevant for m in irrelevant]
    caps = np.array([pair[3] for pair in pairs])
    Q = np.zeros((len(pairs), len(pairs)))
    for (a, (i, j, m, _)), (b, (h, p, q, _)) in product(enumerate(pairs), repeat=2):
        Q[a, b] = (int(j == p) - int(j == q) - int(m == p) + int(m == q)) * kernel(X[i], X[h])
    A = np.array([[int(k == j) - int(k == m) for _, j, m, _ in pairs] for k in range(n_labels)], dtype=float)
    return pairs, caps, Q, A


def solve_by_scipy(caps, Q, A):
    """Maximise the dual by a general solver."""
    answer = minimize(
        lambda a: a @ Q @ a / 2 - a.sum(),
        np.zeros(len(caps)),
        jac=lambda a: Q @ a - 1,
        method="SLSQP",
        bounds=[(0, cap) for cap in caps],
        constraints=[{"type": "eq", "fun": lambda a: A[:-1] @ a, "jac": lambda a: A[:-1]}],
        options={"ftol": 1e-13, "maxiter": 2000},
    )
    assert np.abs(A @ answer.x).max() < 1e-7
    return answer.x


def primal_of(model, X, Y, C, kernel):
    """Compute the primal objective from the fitted attributes, by loops."""
    beta, b = np.zeros(Y.shape), model.intercept_
    beta[model.support_] = model.dual_coef_
    gram = np.array([[kernel(x, z) for z in X] for x in X])
    scores = gram @ beta + b
    total = np.trace(beta.T @ gram @ beta) / 2
    for i, row in enumerate(Y):
        relevant, irrelevant = np.flatnonzero(row == 1), np.flatnonzero(row == 0)
        for j, m in product(relevant, irrelevant):
            total += C * max(0, 1 - scores[i, j] + scores[i, m]) / (len(relevant) * len(irrelevant))
    return total, scores


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")  # of scipy 1.13, about its own steps
@pytest.mark.parametrize(
    ("name", "n_labels"), [*((name, 3) for name in KERNELS), *zip(KERNELS, cycle([2, 4]), strict=False)]
)
def test_equals_a_general_solver(name, n_labels):
    """The objective is that of the paper's dual by SLSQP, and so are the differences of scores within a row."""
    method, kernel = KERNELS[name]
    X, Y = small_problem(n_labels, n_labels)
    model = clone(method).set_params(tol=1e-7, max_iter=200_000).fit(X, Y)
    pairs, caps, Q, A = paper_program(X, Y, model.C, kernel)
    alpha = solve_by_scipy(caps, Q, A)
    bound = alpha.sum() - alpha @ Q @ alpha / 2
    objective, scores = primal_of(model, X, Y, model.C, kernel)
    assert model.objective_ == pytest.approx(objective, rel=1e-9)
    assert objective == pytest.approx(bound, rel=1e-5)
    beta = np.zeros(Y.shape)
    for (i, j, m, _), value in zip(pairs, alpha, strict=True):
        beta[i, j] += value
        beta[i, m] -= value
    weights = np.zeros(Y.shape)
    weights[model.support_] = model.dual_coef_
    gram = np.array([[kernel(x, z) for z in X] for x in X])
    # By strong convexity half the squared distance of the weights is at most the gap.
    assert np.trace((weights - beta).T @ gram @ (weights - beta)) / 2 <= 3e-5 * bound
    np.testing.assert_allclose(weights.sum(axis=0), 0, atol=1e-9 * np.abs(weights).max())
    np.testing.assert_allclose(model.decision_function(X), above_threshold(scores, model.size_coef_), atol=1e-8)


@pytest.mark.parametrize("name", KERNELS)
def test_default_tolerance_holds(name):
    """By default the objective is within 1e-3 of the minimum, and the gap does not claim more than is true."""
    method, kernel = KERNELS[name]
    for seed in range(2):
        X, Y = small_problem(seed, 3)
        model = clone(method).fit(X, Y)
        _, caps, Q, A = paper_program(X, Y, model.C, kernel)
        alpha = solve_by_scipy(caps, Q, A)
        minimum = alpha.sum() - alpha @ Q @ alpha / 2
        assert minimum * (1 - 1e-6) <= model.objective_ <= minimum / (1 - model.duality_gap_) * (1 + 1e-6)
        assert model.duality_gap_ <= 1e-3


def test_by_hand():
    """Rows -1 and 1 with one label each: w = ±1/2 for the labels, the margin is 1, the objective 1/4."""
    X, Y = np.array([[-1.0], [1.0]]), np.array([[1, 0], [0, 1]])
    model = RankSVM(kernel="linear", tol=1e-9).fit(X, Y)
    np.testing.assert_allclose(model.dual_coef_, [[0.25, -0.25], [-0.25, 0.25]], atol=1e-4)
    np.testing.assert_allclose(model.intercept_, 0, atol=1e-6)
    assert model.objective_ == pytest.approx(0.25, rel=1e-6)
    np.testing.assert_array_equal(model.predict(X), Y)
    soft = RankSVM(C=0.1, kernel="linear", tol=1e-9).fit(X, Y)  # both α at the cap of 0.1, margins 0.4
    np.testing.assert_allclose(soft.dual_coef_, [[0.1, -0.1], [-0.1, 0.1]], atol=1e-5)
    assert soft.objective_ == pytest.approx(0.04 + 0.1 * 2 * 0.6, rel=1e-6)


def test_pairs_are_those_of_loops():
    """Pairs, their weights, margins and spread values are those of three loops."""
    rng = np.random.default_rng(0)
    Y = (rng.random((9, 4)) < 0.5).astype(int)
    Y[3], Y[5] = 0, 1
    listed = [(i, j, m) for i in range(9) for j in range(4) for m in range(4) if Y[i, j] > Y[i, m]]
    pairs, scores = LabelPairs.of(Y), rng.normal(size=Y.shape)
    np.testing.assert_array_equal(pairs.margins(scores), [scores[i, j] - scores[i, m] for i, j, m in listed])
    np.testing.assert_array_equal(pairs.weights, [1 / (Y[i].sum() * (4 - Y[i].sum())) for i, _, _ in listed])
    values, spread, counts = rng.normal(size=len(listed)), np.zeros(Y.shape), np.zeros((4, 4))
    for (i, j, m), value in zip(listed, values, strict=True):
        spread[i, [j, m]] += value, -value
        counts[[j, m], [m, j]] += value > 0
    np.testing.assert_allclose(pairs.spread(values), spread, atol=1e-12)
    np.testing.assert_array_equal(pairs.count(values > 0), counts)


@pytest.mark.parametrize("seed", range(6))
def test_balanced_is_the_projection(seed):
    """The balanced point is feasible and the nearest such, by scipy's general solver."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((7, 3)) < 0.5).astype(int)
    pairs = LabelPairs.of(Y)
    alpha, caps = rng.normal(size=len(pairs.weights)), rng.random(len(pairs.weights)) + 0.1
    nearest = balanced(alpha, pairs, caps)
    assert (nearest >= 0).all()
    assert (nearest <= caps).all()
    np.testing.assert_allclose(pairs.spread(nearest).sum(axis=0), 0, atol=1e-10)
    # The nearest point of a convex set: no feasible point lies further in the direction to α.
    sums = np.array([pairs.spread(unit).sum(axis=0) for unit in np.eye(len(caps))]).T
    furthest = linprog(-(alpha - nearest), A_eq=sums, b_eq=np.zeros(3), bounds=list(zip(0 * caps, caps, strict=True)))
    assert -furthest.fun <= (alpha - nearest) @ nearest + 1e-9


def test_smoother_is_a_ridge_regression():
    """The smoother solves the normal equations of weighted kernel ridge regression with a constant."""
    rng = np.random.default_rng(0)
    X, target, weights = rng.normal(size=(12, 3)), rng.normal(size=(12, 2)), 10.0 ** rng.uniform(-2, 0, 12)
    for kernel in (X @ X.T + 100, (X @ X.T + 1) ** 2):
        for ridge in (1e-2, 1.0, 100.0):
            system = np.block(
                [[kernel + ridge * np.diag(1 / weights), np.ones((12, 1))], [np.ones((1, 12)), np.zeros((1, 1))]]
            )
            solution = np.linalg.solve(system, np.vstack([target, np.zeros((1, 2))]))
            fitted = RidgeSmoother(kernel, weights)(target, ridge)
            np.testing.assert_allclose(fitted, kernel @ solution[:-1] + solution[-1], atol=1e-8)


def exhaustive_threshold(scores, labels):
    """Try every candidate cut of a row, from below, and count the wrong labels by the scores alone."""
    rising = sorted(scores)
    cuts = [
        rising[0] - 0.1,
        *((a + b) / 2 for a, b in pairwise(rising) if a < b),
        rising[-1] + 0.1,
    ]
    errors = [sum(int(s >= t) != y for s, y in zip(scores, labels, strict=True)) for t in cuts]
    return cuts[errors.index(min(errors))]


@pytest.mark.parametrize("n_labels", [1, 2, 5])
def test_thresholds_equal_a_loop(n_labels):
    """The best threshold of each row is that of an exhaustive search, with ties among scores and among thresholds."""
    rng = np.random.default_rng(n_labels)
    labels = (rng.random((200, n_labels)) < 0.5).astype(int)
    for scores in (rng.normal(size=labels.shape), rng.integers(0, 4, labels.shape) / 2):
        expected = [exhaustive_threshold(*row) for row in zip(scores.tolist(), labels.tolist(), strict=True)]
        np.testing.assert_allclose(best_thresholds(scores, labels), expected, atol=1e-15)


def test_size_predictor_is_least_squares():
    """The coefficients solve the normal equations; scores of constant sum get finite, small ones."""
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(60, 4)), (rng.random((60, 4)) < 0.4).astype(int)
    coef = fit_size_predictor(scores, labels)
    residual = best_thresholds(scores, labels) - scores @ coef[:-1] - coef[-1]
    np.testing.assert_allclose(np.column_stack([scores, np.ones(60)]).T @ residual, 0, atol=1e-9)
    np.testing.assert_allclose(above_threshold(scores, coef)[3], scores[3] - scores[3] @ coef[:-1] - coef[-1])
    summed = scores - scores.mean(axis=1, keepdims=True) + 1e-13 * rng.normal(size=scores.shape)
    assert np.abs(fit_size_predictor(summed, labels)).max() < 10


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__)
def test_contract(check):
    """Rank-SVM keeps our own contract."""
    check(RankSVM(kernel="linear"))


@pytest.mark.parametrize("check", OF_KERNELS, ids=lambda c: c.__name__)
@pytest.mark.parametrize("kernel", ["poly", "rbf"])
def test_contract_of_kernels(kernel, check):
    """The other kernels keep the parts of the contract that a kernel could break."""
    check(RankSVM(kernel=kernel))


def test_scikit_learn_tools():
    """Pipelines, cross-validated scores and a grid search work."""
    X, Y = make_multilabel_classification(60, 6, n_classes=3, random_state=0)
    model = make_pipeline(StandardScaler(), RankSVM(kernel="rbf"))
    assert cross_val_predict(model, X, Y, cv=KFold(3), method="decision_function").shape == Y.shape
    grid = {"ranksvm__C": [1e-4, 1.0]}
    search = GridSearchCV(model, grid, scoring="f1_micro", cv=KFold(3), error_score="raise").fit(X, Y)
    assert search.best_params_ == {"ranksvm__C": 1.0}


@pytest.mark.parametrize("container", CONTAINERS)
def test_rows_of_every_kind(problem, container):
    """Duplicates, constant rows, rows without labels: finite scores, the same for sparse input, labels by the sign."""
    X, Y, queries = problem
    model = RankSVM(kernel="rbf").fit(X, Y)
    scores = model.decision_function(queries)
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(model.predict(queries), scores >= 0)
    stored = RankSVM(kernel="rbf").fit(CONTAINERS[container](X), CONTAINERS[container](Y))
    np.testing.assert_allclose(stored.decision_function(CONTAINERS[container](queries)), scores, atol=1e-9)


def test_rows_without_pairs():
    """Rows with no or all labels are no support, and change the threshold only."""
    X, Y = small_problem(5, 3)
    model = RankSVM(kernel="rbf", tol=1e-6).fit(X, Y)
    inner = RankSVM(kernel="rbf", tol=1e-6, gamma=1 / (3 * X.var())).fit(X[2:], Y[2:])
    assert model.support_.min() >= 2
    np.testing.assert_allclose(model.dual_coef_, inner.dual_coef_, atol=1e-9)
    assert not np.allclose(model.size_coef_, inner.size_coef_)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_one_label_is_a_binary_machine(kernel):
    """A lone label, or labels that rows carry together, are learnt against those that carry none."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = (X @ [1.0, -2.0] > 0.3).astype(int)[:, np.newaxis]
    for Y in (y, np.hstack([y, y, y]), np.hstack([y, np.ones_like(y)])):
        model = RankSVM(C=1e3, kernel=kernel, degree=3).fit(X, Y)
        np.testing.assert_array_equal(model.predict(X), Y)
        assert model.decision_function(X).shape == Y.shape


def test_one_label_by_hand():
    """Rows -1 and 3 without and with the label: w = ±1/4, so that the decision value is (x - 1) / 2."""
    model = RankSVM(kernel="linear", tol=1e-9).fit([[-1.0], [3.0]], [[0], [1]])
    np.testing.assert_allclose(model.decision_function([[-1.0], [1.0], [5.0]]), [[-1], [0], [2]], atol=1e-4)


def test_one_row():
    """One row: nothing varies."""
    assert RankSVM().fit([[1.0, 2.0]], [[1, 0]]).predict([[0.0, 0.0]]).tolist() == [[1, 0]]


@pytest.mark.parametrize("container", CONTAINERS)
def test_linear_kernel_is_shift_invariant(container):
    """Rows moved far away are ranked as before, however they are stored."""
    X, Y = small_problem(2, 3)
    X = X.round(3)
    near = RankSVM(kernel="linear").fit(X, Y)
    far = RankSVM(kernel="linear").fit(CONTAINERS[container](X + 1e6), Y)
    assert far.duality_gap_ <= 1e-3
    np.testing.assert_allclose(
        far.decision_function(CONTAINERS[container](X + 1e6)), near.decision_function(X), atol=1e-4
    )


@pytest.mark.long
def test_storage_changes_no_bit():
    """Dense rows of either order and sparse ones give the same bits with every kernel, also for gamma="scale"."""
    X, Y = np.abs(np.random.default_rng(0).normal(size=(30, 5))), np.eye(30, 5, dtype=int)[::-1]
    X[X < 0.5] = 0
    Y[:, 0] = X[:, 0] > 0
    for kernel in ("linear", "poly", "rbf"):
        scores = RankSVM(kernel=kernel).fit(X, Y).decision_function(X)
        for rows in (sparse.csr_array(X), sparse.csc_matrix(X), np.asfortranarray(X)):
            np.testing.assert_array_equal(RankSVM(kernel=kernel).fit(rows, Y).decision_function(rows), scores)


def test_parameters_changed_after_the_fit_wait_for_the_next():
    """What was fitted answers with the kernel that it was fitted with."""
    X, Y = small_problem(2, 3)
    model = RankSVM(degree=2).fit(X, Y)
    scores = model.decision_function(X)
    model.set_params(kernel="linear", degree=5, coef0=0.0, gamma=3.0)
    np.testing.assert_array_equal(model.decision_function(X), scores)
    assert not hasattr(model, "_used")


def test_infinite_kernels_are_refused():
    """Rows whose kernel overflows raise an error that names gamma only where it was given."""
    X, Y = small_problem(2, 3)
    for kernel in ("linear", "poly"):
        with pytest.raises(ValueError, match="X must be small enough for finite kernel values"):
            RankSVM(kernel=kernel).fit(X * 1e200, Y)


def test_kernels_that_are_too_large_for_the_solver_are_refused():
    """Values are finite here; the rounding error of a constant feature makes weights of rows infinite."""
    X = np.array([[1e6], [1e6 + 1e-9]] * 5)
    Y = np.array([[1, 0, 0, 1, 1, 0, 1, 1, 0, 1], [0, 0, 1, 0, 0, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 1, 1, 0, 0, 0]]).T
    with pytest.raises(ValueError, match="X must be small enough for finite kernel values"):
        RankSVM().fit(X, Y)


@pytest.mark.long
@pytest.mark.parametrize(("n_labels", "seed"), [(3, 0), (5, 0)])
def test_long_rows_do_not_hold_up_the_others(n_labels, seed):
    """One normal feature, to the eighth power, gives kernels of 10⁷; the minimum is reached in the steps allowed."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 1))
    Y = (X @ rng.normal(size=(1, n_labels)) + rng.normal(size=(50, n_labels)) > 0).astype(int)
    assert RankSVM().fit(X, Y).n_iter_ < 3000


def test_pairs_take_little_memory():
    """A pair takes 12 bytes: the cell of l and a weight."""
    pairs = LabelPairs.of((np.random.default_rng(0).random((200, 100)) < 0.1).astype(int))
    assert (pairs.minus.itemsize, len(pairs.minus)) == (4, len(pairs.weights))
    assert pairs.relevant.nbytes + pairs.partners.nbytes < len(pairs.weights)


def test_labels_ranked_by_the_bias_alone():
    """Where one order of the labels suits all rows, the minimum is 0 and no features are needed."""
    Y = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 0, 0]] * 2)
    model = RankSVM(kernel="linear").fit(np.random.default_rng(0).normal(size=(8, 2)), Y)
    assert model.objective_ < 1e-6
    assert (np.diff(model.intercept_) < -0.99).all()


def test_large_features_are_stable():
    """A kernel of degree 8 on features in the hundreds is solved; one that overflows is refused."""
    rng = np.random.default_rng(0)
    X = 200 * rng.normal(size=(30, 4))
    Y = (X[:, :3] + 50 * rng.normal(size=(30, 3)) > 0).astype(int)
    assert RankSVM().fit(X, Y).duality_gap_ <= 1e-3
    with pytest.raises(ValueError, match="gamma must be small enough for finite kernel values, got 1e\\+40"):
        RankSVM(gamma=1e40).fit(X, Y)


def test_float32_rows_are_computed_in_double():
    """float32 rows give what the same numbers in float64 give."""
    X, Y = small_problem(3, 3)
    X = X.astype(np.float32)
    one, two = (RankSVM(degree=2).fit(rows, Y).decision_function(rows) for rows in (X, X.astype(np.float64)))
    np.testing.assert_allclose(one, two, atol=1e-9)


def test_stopping_early_is_told():
    """Too few steps end in a warning that names the gap."""
    X, Y = small_problem(1, 3)
    with pytest.warns(ConvergenceWarning, match="RankSVM stopped after 2 steps at a duality gap of"):
        model = RankSVM(max_iter=2).fit(X, Y)
    assert model.n_iter_ == 2
    assert model.duality_gap_ > 1e-3


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"C": 0}, ValueError, "C must be a finite number above 0, got 0"),
        ({"kernel": "sigmoid"}, ValueError, "kernel must be one of"),
        ({"degree": 0}, ValueError, "degree must be at least 1, got 0"),
        ({"degree": 2.5}, TypeError, "degree must be an integer"),
        ({"gamma": "auto"}, ValueError, "gamma must be one of"),
        ({"gamma": -1}, ValueError, "gamma must be a finite number above 0"),
        ({"coef0": -1}, ValueError, "coef0 must be a finite number above 0"),
        ({"tol": 0}, ValueError, "tol must be a finite number above 0"),
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1"),
    ],
)
def test_bad_parameters(options, error, message):
    """A parameter out of range is named."""
    with pytest.raises(error, match=message):
        RankSVM(**options).fit(np.eye(4), np.eye(4, dtype=int))


def test_unfitted_and_pickled():
    """Nothing can be asked before a fit; a fitted model survives pickling."""
    X, Y = small_problem(0, 3)
    with pytest.raises(NotFittedError):
        RankSVM().predict(X)
    model = RankSVM(degree=2).fit(X, Y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(X), model.decision_function(X))


def test_real_data(data_folder):
    """On emotions the minimum is reached, scaled and unscaled, and test rows are ranked much better than by chance."""
    training, test = (fetch_dataset("emotions", subset=part) for part in ("train", "test"))
    scale = StandardScaler().fit(training.X)
    model = RankSVM(kernel="rbf").fit(scale.transform(training.X), training.Y)
    assert model.duality_gap_ <= 1e-3
    assert np.array_equal(training.Y.any(axis=1).nonzero()[0], model.support_)
    scores, labels = (f(scale.transform(test.X)) for f in (model.decision_function, model.predict))
    assert average_precision(test.Y, scores) > 0.78
    assert hamming_loss(test.Y, labels) < 0.22
    unscaled = RankSVM().fit(sparse.csr_array(training.X), training.Y)
    assert unscaled.duality_gap_ <= 1e-3
