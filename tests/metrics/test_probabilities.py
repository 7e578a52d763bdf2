"""Log loss and Brier score: cell by cell, and scikit-learn's label by label."""

import math

import numpy as np
import pytest
import sklearn.metrics as theirs
from scipy import sparse

from nearlabel.metrics import brier_score, get_scorer, log_loss

RNG = np.random.default_rng(3)
TRUE = (RNG.random((25, 4)) < 0.4).astype(int)
PROB = RNG.random(TRUE.shape)
PROB[0], PROB[1] = 0, 1
WEIGHTS = RNG.integers(0, 3, 25)


def by_cells(true, prob, weights):
    """Return both losses as means over cells, in plain Python."""
    logs = squares = total = 0.0
    for row, given, weight in zip(true.tolist(), prob.tolist(), weights.tolist(), strict=True):
        for t, p in zip(row, given, strict=True):
            likelihood = p if t else 1 - p
            logs -= weight * math.log(min(max(likelihood, 1e-15), 1 - 1e-15))
            squares += weight * (p - t) ** 2
            total += weight
    return logs / total, squares / total


@pytest.mark.parametrize("weights", [np.ones(25), WEIGHTS, RNG.random(25)], ids=["none", "whole", "fractions"])
def test_mean_over_cells(weights):
    """Clipped to 1e-15 after the likelihood is taken, weighted by row."""
    got = log_loss(TRUE, PROB, sample_weight=weights), brier_score(TRUE, PROB, sample_weight=weights)
    assert got == pytest.approx(by_cells(TRUE, PROB, weights), abs=1e-12)


def test_a_wrong_certainty_costs_the_logarithm_of_the_bound():
    """34.54; a right one nearly nothing."""
    assert log_loss([[1], [0]], [[0.0], [0.0]]) == pytest.approx(-math.log(1e-15) / 2, abs=1e-12)
    assert 0 <= log_loss([[1], [0]], [[1.0], [0.0]]) < 1e-14
    assert brier_score([[1], [0]], [[0.0], [0.0]]) == 0.5


def test_scikit_learn_label_by_label():
    """Its functions take one label."""
    inside = PROB.clip(0.01, 0.99)
    expected = [theirs.log_loss(t, p, labels=[0, 1]) for t, p in zip(TRUE.T, inside.T, strict=True)]
    assert log_loss(TRUE, inside) == pytest.approx(np.mean(expected), abs=1e-12)
    expected = [theirs.brier_score_loss(t, p) for t, p in zip(TRUE.T, PROB.T, strict=True)]
    assert brier_score(TRUE, PROB) == pytest.approx(np.mean(expected), abs=1e-12)


@pytest.mark.parametrize("function", [log_loss, brier_score])
def test_sparse_weights_and_blocks(function, monkeypatch):
    """An absent probability is 0; whole weights are repeated rows; blocks change nothing, nor do float32 zeros."""
    thin = PROB * (PROB > 0.5)
    expected = function(TRUE, thin)
    assert function(sparse.csr_array(TRUE), sparse.coo_array(thin)) == pytest.approx(expected, abs=1e-14)
    assert function(TRUE, sparse.csc_matrix(thin)) == pytest.approx(expected, abs=1e-14)
    repeated = np.repeat(np.arange(25), WEIGHTS)
    again = function(TRUE[repeated], PROB[repeated])
    assert function(TRUE, PROB, sample_weight=WEIGHTS) == pytest.approx(again, abs=1e-12)
    binary = PROB > 0.5
    assert function(TRUE, binary.astype(np.float32)) == pytest.approx(function(TRUE, binary.astype(float)), abs=1e-14)
    monkeypatch.setattr("nearlabel.metrics.probabilities.BLOCK_BYTES", 3 * 8 * 4)
    assert function(TRUE, thin) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("function", [log_loss, brier_score])
@pytest.mark.parametrize("wrap", [np.array, sparse.csr_array])
@pytest.mark.parametrize(("wrong", "got"), [(1.5, "0 to 1.5"), (-0.5, "-0.5 to 0.5"), (np.inf, "0 to inf")])
def test_scores_that_are_no_probabilities(function, wrap, wrong, got):
    """They are refused, by the name of the parameter."""
    with pytest.raises(ValueError, match=rf"y_prob must be probabilities in \[0, 1\], got {got}\."):
        function([[1, 0], [0, 1]], wrap([[0.5, wrong], [0.0, 0.25]]))


@pytest.mark.parametrize("function", [log_loss, brier_score])
def test_sums_that_overshoot_by_rounding(function):
    """Shares of votes may add up to a little more than 1."""
    assert function([[1]], [[1 + 1e-12]]) == pytest.approx(0, abs=1e-14)


class _Both:
    """A fitted classifier with decision values and probabilities."""

    def decision_function(self, X):
        return np.full((len(X), 2), 7.0)

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


def test_scorers_ask_for_probabilities():
    """Also where there are decision values, which other metrics of scores prefer."""
    X, y = np.zeros((2, 1)), np.array([[1, 0], [0, 1]])
    assert get_scorer("brier_score")(_Both(), X, y) == -0.25
    assert get_scorer("log_loss")(_Both(), X, y) == pytest.approx(-math.log(2))
    assert get_scorer("precision_at_k:k=1:ties=average")(_Both(), X, y) == 0.5
    with pytest.raises(ValueError, match="estimator must have predict_proba, got object"):
        get_scorer("log_loss")(object(), X, y)
