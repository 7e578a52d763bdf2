"""One map of all labels' scores to probabilities: its likelihood, its order, and scores that have no log-odds."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss

from nearlabel.solvers import score_maps
from nearlabel.solvers.score_maps import fit_joint_map
from nearlabel.utils.targets import PartialLabels


def drawn(n=400, n_labels=5, slope=0.4, seed=0):
    """Scores, and label sets whose log-odds are linear in those of the scores."""
    rng = np.random.default_rng(seed)
    positions = 3 * rng.normal(size=(n, n_labels))
    y = (rng.random((n, n_labels)) < expit(slope * positions - 1)).astype(int)
    return expit(positions), y


def mapped_from(scores, y, *, unknown=None, weights=None, are_probabilities=True):
    """Return the map of label sets."""
    return fit_joint_map(scores, PartialLabels(y, unknown), weights, are_probabilities=are_probabilities)


def loss_of(curve, positions, y, weights=1.0):
    """Return the log loss of a curve, a slope and an intercept."""
    linear = curve[0] * positions + curve[1]
    n1, n0 = (weights * y).sum(), (weights * (1 - y)).sum()
    targets = np.where(y == 1, (n1 + 1) / (n1 + 2), 1 / (n0 + 2))
    return (weights * (np.logaddexp(0, linear) - targets * linear)).sum()


@pytest.mark.parametrize("weighted", [False, True])
def test_the_common_curve_has_the_lowest_log_loss(weighted):
    """Slope and intercept are those of a logistic regression on the log-odds of all cells, with Platt's targets."""
    scores, y = drawn()
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float) if weighted else np.ones(len(y))
    found = mapped_from(scores, y, weights=weights if weighted else None)
    best = minimize(loss_of, [1.0, 0.0], (logit(scores), y, weights[:, np.newaxis]), tol=1e-10).x
    np.testing.assert_allclose([found.slope, found.intercept], best, rtol=2e-3)
    curve = expit(found.slope * logit(scores) + found.intercept)
    np.testing.assert_allclose(
        found.predict(scores), found.weight * curve + (1 - found.weight) * found.steps.predict(logit(scores)), rtol=1e-9
    )
    assert found.weight == pytest.approx(30 / (30 + y.sum()), rel=0.1) or weighted


def test_unknown_cells_and_rows_without_weight_do_not_count():
    """The map is that of the other cells."""
    scores, y = drawn()
    unknown = np.random.default_rng(1).random(y.shape) < 0.3
    hidden = mapped_from(np.where(unknown, 0.5, scores), np.where(unknown, 0, y), unknown=unknown)
    best = minimize(loss_of, [1.0, 0.0], (logit(scores), y, ~unknown), tol=1e-10).x
    np.testing.assert_allclose([hidden.slope, hidden.intercept], best, rtol=2e-3)
    twice = np.vstack([scores, scores[:9]]), np.vstack([y, 1 - y[:9]])
    kept = mapped_from(*twice, weights=np.repeat([1.0, 0.0], [len(y), 9]))
    assert kept.slope == mapped_from(scores, y).slope


def test_the_other_part_is_an_isotonic_regression():
    """Of means in bins, so that the map follows scores that no curve fits."""
    scores, y = drawn(n=2_000)
    found = mapped_from(scores, y)
    isotonic = IsotonicRegression().fit(logit(scores).ravel(), y.ravel())
    np.testing.assert_allclose(
        found.steps.predict(logit(scores)).ravel(), isotonic.predict(logit(scores).ravel()), atol=0.06
    )
    ends = np.where(np.abs(logit(scores)) > 3, scores, 0.5)
    bent = mapped_from(ends, y).predict(ends)
    assert abs(log_loss(y.ravel(), bent.ravel()) - log_loss(y.ravel(), isotonic.predict(logit(ends).ravel()))) < 0.02


@pytest.mark.parametrize("slope", [0.4, -0.4])
@pytest.mark.parametrize("are_probabilities", [True, False])
def test_the_order_stays(slope, are_probabilities):
    """Higher scores get higher probabilities, equal ones equal ones, even where scores predict the contrary."""
    scores, y = drawn(slope=slope)
    given = scores if are_probabilities else 1e6 * logit(scores)
    found = mapped_from(given, y, are_probabilities=are_probabilities)
    assert found.slope > 0
    ends = [0, 1e-300, 1e-97, 1e-40, 0.5, 1 - 1e-16, 1] if are_probabilities else [-1e300, -1e9, 0, 1e9, 1e300]
    values = np.unique(np.concatenate([given.ravel(), ends]))
    mapped = found.predict(np.repeat(values[:, np.newaxis], 5, axis=1))
    assert ((mapped > 0) & (mapped < 1)).all() or not are_probabilities
    assert (np.diff(mapped, axis=0) >= 0).all()
    shuffled = np.random.default_rng(0).permutation(given.ravel()).reshape(-1, 5)
    assert len(np.unique(found.predict(shuffled))) == len(np.unique(shuffled))


def test_infinite_scores_stay_certain():
    """They do not count, and become 0 and 1."""
    scores, y = drawn()
    decisions = logit(scores)
    found = mapped_from(decisions, y, are_probabilities=False)
    known = np.vstack([decisions, np.full((2, 5), [[-np.inf], [np.inf]])])
    same = mapped_from(known, np.vstack([y, np.ones((2, 5), dtype=int)]), are_probabilities=False)
    np.testing.assert_allclose(same.slope, found.slope, rtol=1e-2)
    assert same.predict(known)[-2:].tolist() == [[0] * 5, [1] * 5]


@pytest.mark.parametrize(
    ("scores", "y"),
    [
        ([[0.3]], [[1]]),
        ([[0.0], [1.0]], [[0], [1]]),
        ([[0.5, 0.5], [0.5, 0.5]], [[0, 1], [1, 0]]),
        ([[0.0, 1.0]], [[0, 0]]),
        ([[np.inf, -np.inf]], [[0, 1]]),
    ],
)
@pytest.mark.parametrize("are_probabilities", [True, False])
def test_few_samples_are_never_certain(scores, y, are_probabilities):
    """One sample, separable and equal scores: probabilities between 0 and 1."""
    scores = np.nan_to_num(scores, posinf=1, neginf=0) if are_probabilities else np.array(scores)
    found = mapped_from(scores, np.array(y), are_probabilities=are_probabilities)
    for value in (0.0, 0.3, 1.0):
        mapped = found.predict(np.full((1, scores.shape[1]), value))
        assert ((mapped > 0.005) & (mapped < 0.995)).all()


def test_without_a_known_cell():
    """All probabilities are about one half."""
    found = mapped_from(np.array([[0.2, 0.9]]), np.zeros((1, 2), int), unknown=np.ones((1, 2), bool))
    np.testing.assert_allclose(found.predict(np.array([[0.1, 0.9]])), 0.5, atol=0.01)


def test_a_sample_of_the_rows_is_enough(monkeypatch):
    """Beyond 20 million cells; here beyond 1,000."""
    scores, y = drawn(n=4_000, n_labels=1)
    whole = mapped_from(scores, y)
    monkeypatch.setattr(score_maps, "_MOST_CELLS", 1_000)
    some = mapped_from(scores, y)
    assert 0 < abs(some.slope - whole.slope) < 0.1


def test_samples_and_labels_may_have_any_order():
    """The map is the same to the bit, as after updates."""
    scores, y = drawn()
    found = mapped_from(scores, y)
    rows, columns = np.random.default_rng(0).permutation(len(y)), [3, 0, 4, 2, 1]
    permuted = mapped_from(scores[rows][:, columns], y[rows][:, columns])
    assert permuted[:6] == found[:6]
    assert permuted.steps.probabilities.tolist() == found.steps.probabilities.tolist()
