import math
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from nearlabel.solvers import binomial
from nearlabel.solvers.binomial import fit_binomial

X = np.arange(12.0) - 5.0
SEPARABLE = (X > 0).astype(float)
MIXED = np.array([0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0], dtype=float)
ONE = np.ones(12)


def reference(design, successes, trials, C=np.inf):
    """Coefficients by scikit-learn: each row twice, weighted by its successes and by its failures."""
    size = np.sqrt(np.mean(design**2, axis=0)) if math.isinf(C) else np.ones(design.shape[1])
    fitted = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-14, max_iter=1000)
    y, weights = np.repeat([1, 0], len(design)), np.concatenate([successes, trials - successes])
    fitted.fit(np.vstack([design / size] * 2), y, sample_weight=weights)
    return np.append(fitted.intercept_, fitted.coef_[0] / size)


def random_problem(seed, trials, exponents=(-6, 6)):
    """Columns of very different scale, some far from zero, up to 20, and successes that depend on them."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(80, 200)), int(rng.integers(1, 21))
    offset = rng.choice([0.0, 0.0, 1.0, -3.0], p)
    spread = rng.normal(size=(n, p))
    share = expit(spread @ rng.normal(size=p) / math.sqrt(2 * p))
    if trials == "one":
        of = np.ones(n)
        successes = rng.binomial(1, share).astype(float)
    elif trials == "many":
        of = rng.integers(0, 30, n).astype(float)
        successes = rng.binomial(of.astype(int), share).astype(float)
    else:
        of = 5 * rng.random(n)
        successes = of * rng.random(n)
    return (spread + offset) * 10.0 ** rng.integers(exponents[0], exponents[1] + 1, p), successes, of


def gradient(design, successes, trials, ridge, coef):
    """Return each partial derivative of the penalised likelihood, relative to the size of what it sums: exact sums."""
    slopes, relative = coef[1:].tolist(), []
    errors = []
    for x, s, t in zip(design.tolist(), successes.tolist(), trials.tolist(), strict=True):
        linear = math.fsum([float(coef[0]), *(a * b for a, b in zip(slopes, x, strict=True))])
        yes, no = float(expit(linear)), float(expit(-linear))
        errors.append(((t - s) * yes, -s * no))
    for j in range(-1, len(slopes)):
        terms = [
            e * (1.0 if j < 0 else row[j]) for row, pair in zip(design.tolist(), errors, strict=True) for e in pair
        ]
        if j >= 0:
            terms.append(2 * ridge * (float(np.var(design[:, j])) or 1.0) * slopes[j])
        relative.append(math.fsum(terms) / max(math.fsum(abs(term) for term in terms), 1e-300))
    return relative


@pytest.mark.parametrize("trials", ["one", "many", "fractions"])
@pytest.mark.parametrize("seed", range(8))
def test_equals_another_glm(seed, trials):
    """Coefficients agree with scikit-learn's to 1e-8, whatever the scale of the columns and the trials."""
    design, successes, of = random_problem(seed, trials)
    fit = fit_binomial(design, successes, of)
    size = np.append(1.0, np.sqrt(np.mean(design**2, axis=0)))
    assert fit.converged
    assert fit.coef.shape == (1 + design.shape[1],)
    np.testing.assert_allclose(fit.coef * size, reference(design, successes, of) * size, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("ridge", [1e-8, 1e-3, 0.5, 20.0])
@pytest.mark.parametrize("trials", ["one", "many", "fractions"])
@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_with_a_ridge_is_zero(seed, trials, ridge):
    """The penalised likelihood is flat where the fit ends; the ridge is on standardised columns, not the intercept."""
    design, successes, of = random_problem(seed, trials, (-3, 3))
    fit = fit_binomial(design, successes, of, ridge)
    assert fit.converged
    np.testing.assert_allclose(gradient(design, successes, of, ridge, fit.coef), 0, atol=1e-8)


@pytest.mark.parametrize("ridge", [1e-2, 1.0])
def test_ridge_equals_other_solvers(ridge):
    """scikit-learn's penalty is 1 / 2C; no general optimiser finds a smaller loss."""
    design, successes, of = random_problem(5, "many", (0, 1))
    fit = fit_binomial(design, successes, of, ridge)
    deviation = design.std(axis=0)
    expected = reference(design / deviation, successes, of, 1 / (2 * ridge)) / np.append(1.0, deviation)
    np.testing.assert_allclose(fit.coef, expected, rtol=1e-8, atol=1e-8)

    def loss(coef):
        linear = coef[0] + design @ coef[1:]
        return (of * np.logaddexp(0, linear) - successes * linear).sum() + ridge * ((deviation * coef[1:]) ** 2).sum()

    found = minimize(loss, fit.coef + 0.01, method="BFGS").fun
    assert loss(fit.coef) <= found + 1e-9
    assert loss(fit.coef) < loss(reference(design, successes, of)), "the ridge must cost something"


@pytest.mark.parametrize("factor", [1e-9, 1e-5, 3.0, 1e5, 1e9])
def test_the_scale_of_a_column_does_not_matter(factor):
    """A column times c has the coefficient divided by c, with a ridge as without."""
    design = np.column_stack([X, np.sin(X)])
    for ridge in (0.0, 0.3):
        fit, scaled = (fit_binomial(design * [c, 1.0], MIXED, ONE, ridge) for c in (1.0, factor))
        np.testing.assert_allclose(scaled.coef * [1, factor, 1], fit.coef, rtol=1e-9)


@pytest.mark.parametrize("offset", [1e2, 1e4, 1e6, 1e7])
def test_columns_far_from_zero(offset):
    """Shifting a column shifts the intercept and nothing else, to the digits that the shifted column has."""
    design = np.column_stack([X, X**2])
    near, far = (fit_binomial(design + shift, MIXED, ONE) for shift in (0.0, offset))
    assert far.converged
    np.testing.assert_allclose(far.coef[1:], near.coef[1:], rtol=1e-9)
    np.testing.assert_allclose(far.coef[0] + offset * far.coef[1:].sum(), near.coef[0], atol=1e-8 * offset)


@pytest.mark.parametrize("shares", [(0.3, 0.9), (0.5, 0.5), (1e-9, 0.2), (1e-9, 1 - 1e-9), (0.999999, 0.99)])
def test_two_groups_by_hand(shares):
    """Two groups have their own shares: the intercept is one logit, the slope the difference."""
    trials = np.array([2e9, 5e9])
    fit = fit_binomial(np.array([[0.0], [1.0]]), trials * shares, trials)
    low, high = logit(shares)
    assert fit.converged
    np.testing.assert_allclose(fit.coef, [low, high - low], rtol=1e-6, atol=1e-6)


def test_symmetries():
    """Successes and failures change the signs; splitting rows, rows of no trial and halving all trials, nothing."""
    design, successes, of = random_problem(3, "many", (-1, 1))
    coef = fit_binomial(design, successes, of).coef
    np.testing.assert_allclose(fit_binomial(design, of - successes, of).coef, -coef, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(fit_binomial(design, successes / 2, of / 2).coef, coef, rtol=1e-9, atol=1e-9)
    twice = fit_binomial(np.vstack([design] * 2), np.append(successes, successes), np.append(of, of))
    np.testing.assert_allclose(twice.coef, coef, rtol=1e-9, atol=1e-9)
    padded = fit_binomial(np.vstack([design, design[:3] + 5]), np.append(successes, [0] * 3), np.append(of, [0] * 3))
    np.testing.assert_allclose(padded.coef, coef, rtol=1e-9, atol=1e-9)
    order = np.arange(design.shape[1])[::-1]
    permuted = fit_binomial(design[:, order], successes, of)
    np.testing.assert_allclose(permuted.coef[1:], coef[1:][order], rtol=1e-9, atol=1e-9)


def test_steps_that_must_be_shortened(monkeypatch):
    """Where full Newton steps go too far they are halved, and the gradient is 0 in the end."""
    halved = []

    def counted(*args):
        step = original(*args)
        halved.append(not np.array_equal(step, args[2]))
        return step

    original = binomial._shortened
    monkeypatch.setattr(binomial, "_shortened", counted)
    for seed in (1, 16, 19, 28, 29, 35):
        rng = np.random.default_rng(seed)
        design = rng.standard_cauchy((60, 2)) ** 3
        successes = (rng.random(60) < expit(design[:, 0])).astype(float)
        fit = fit_binomial(design, successes, np.ones(60), 1e-6)
        assert fit.converged
        np.testing.assert_allclose(gradient(design, successes, np.ones(60), 1e-6, fit.coef), 0, atol=1e-8)
    assert sum(halved) > 0


NO_MAXIMUM = {
    "separable": (X[:, np.newaxis], SEPARABLE),
    "separable the other way": (X[:, np.newaxis], 1 - SEPARABLE),
    "separable, tiny and far": (1e-6 * X[:, np.newaxis] + 1, SEPARABLE),
    "separable but for a tie": (np.minimum(X, 0)[:, np.newaxis], (X > -1) * MIXED),
    "separable beside noise": (np.column_stack([X, np.sin(X), np.cos(3 * X)]), SEPARABLE),
    "as many columns as rows": (np.eye(12), MIXED),
    "constant column": (np.column_stack([X, np.full(12, 0.1)]), MIXED),
    "column of zeros": (np.column_stack([X, np.zeros(12)]), MIXED),
    "equal columns": (np.column_stack([X, X]), MIXED),
    "proportional columns": (np.column_stack([X, X / 3]), MIXED),
    "column that is a sum": (np.column_stack([X, np.sin(X), X + np.sin(X)]), MIXED),
    "columns that add up to 1": (np.column_stack([np.abs(X) / 7, 1 - np.abs(X) / 7]), MIXED),
}
NEVER = {
    "no success": (X[:, np.newaxis], np.zeros(12)),
    "only successes": (X[:, np.newaxis], np.ones(12)),
    "no rows": (np.empty((0, 2)), np.empty(0)),
    "no columns, no success": (np.empty((12, 0)), np.zeros(12)),
}


@pytest.mark.parametrize("name", [*NO_MAXIMUM, *NEVER])
def test_without_a_maximum(name):
    """Without a finite or a single maximum it says so, without a warning, and the coefficients are finite."""
    design, successes = (NO_MAXIMUM | NEVER)[name]
    fit = fit_binomial(design, successes, np.ones(len(design)))
    assert not fit.converged
    assert fit.coef.shape == (1 + design.shape[1],)
    assert np.isfinite(fit.coef).all()


def test_dependent_columns_have_no_maximum():
    """Rounding lets the factorisation of a singular matrix through now and then; its pivots tell."""
    for seed in range(150):
        rng = np.random.default_rng(seed)
        design = rng.normal(size=(40, int(rng.integers(1, 5))))
        design = np.column_stack([design, design @ rng.choice([0.1, 1 / 3, 1, 2], design.shape[1])])
        fit = fit_binomial(design, (rng.random(40) < 0.5).astype(float), np.ones(40))
        assert not fit.converged
        assert np.isfinite(fit.coef).all()


@pytest.mark.parametrize("ridge", [1e-8, 1e-2])
@pytest.mark.parametrize("name", [*NO_MAXIMUM])
def test_a_ridge_makes_a_maximum(name, ridge):
    """With a ridge, however small, the same problems have one maximum, and it is found."""
    design, successes = NO_MAXIMUM[name]
    fit = fit_binomial(design, successes, ONE, ridge)
    assert fit.converged
    np.testing.assert_allclose(gradient(design, successes, ONE, ridge, fit.coef), 0, atol=1e-8)


@pytest.mark.parametrize("name", NEVER)
def test_a_ridge_leaves_the_intercept_free(name):
    """Where all rows succeed, or none, the intercept has no finite best value, ridge or not."""
    design, successes = NEVER[name]
    fit = fit_binomial(design, successes, np.ones(len(design)), 1.0)
    assert not fit.converged
    assert np.isfinite(fit.coef).all()


def test_a_ridge_shares_and_spares():
    """Equal columns share the slope; a constant one has none, as the intercept costs nothing."""
    shared = fit_binomial(np.column_stack([X, X]), MIXED, ONE, 1e-3).coef
    assert shared[1] == pytest.approx(shared[2], rel=1e-9)
    spared = fit_binomial(np.column_stack([X, np.full(12, 0.1)]), MIXED, ONE, 1e-3).coef
    alone = fit_binomial(X[:, np.newaxis], MIXED, ONE, 1e-3).coef
    np.testing.assert_allclose(spared, [*alone, 0.0], rtol=1e-9, atol=1e-12)


def test_many_small_problems_with_a_tiny_ridge_converge():
    """Shares of neighbours as columns: few values, dependent, nearly separable."""
    for seed in range(150):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(1, 11))
        design = rng.binomial(k, rng.random(5), (40, 5)) / k
        design[:, 3], design[:, 4] = 1 - design[:, 0], 1.0
        successes = (rng.random(40) < rng.choice([0.03, 0.2, 0.5])).astype(float)
        if 0 < successes.sum() < 40:
            fit = fit_binomial(design, successes, np.ones(40), 1e-8)
            assert fit.converged, seed
            assert np.isfinite(fit.coef).all()


def test_no_warnings_on_extreme_columns():
    """Huge and tiny columns beside each other overflow nothing."""
    design = np.column_stack([1e100 * X, 1e-100 * np.sin(X)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = fit_binomial(design, MIXED, ONE)
    plain = fit_binomial(np.column_stack([X, np.sin(X)]), MIXED, ONE)
    np.testing.assert_allclose(fit.coef * [1, 1e100, 1e-100], plain.coef, rtol=1e-9)
