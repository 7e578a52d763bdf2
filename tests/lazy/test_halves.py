"""Posteriors and shares of exactly one half, which floats may miss: chosen by ML-kNN, by no other method."""

import numpy as np
import pytest

from nearlabel.lazy import BRkNN, CMLkNN, MLkNN
from nearlabel.lazy._mlknn import bayes


def test_mlknn_chooses_every_half():
    """Bayes' rule in whole numbers decides 10,000 random labels alike, those included whose halves floats miss."""
    rng, k, n, n_labels = np.random.default_rng(0), 7, 20, 10_000
    X = rng.normal(size=(n, 2))
    y = (rng.random((n, n_labels)) < rng.choice([0.1, 0.2, 0.3, 0.4, 0.5], n_labels)).astype(int)
    distances = ((X[:, np.newaxis] - X) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    votes = y[np.argsort(distances, axis=1)[:, :k]].sum(axis=1)
    counts = np.zeros((2, n_labels, k + 1), dtype=np.int64)
    for sample in range(n):
        counts[y[sample], np.arange(n_labels), votes[sample]] += 1
    totals = counts.sum(axis=2, keepdims=True)
    # P(H) P(j | H) of both hypotheses, with smoothing 1, times (2 + n)(k + 1 + n0)(k + 1 + n1)
    without, carrying = (1 + totals) * (1 + counts) * (k + 1 + totals[::-1])
    joint = (1 + totals) / (2 + n) * ((1 + counts) / (k + 1 + totals))
    missed = (carrying == without) & (joint[1] / joint.sum(axis=0) < 0.5)

    posterior = MLkNN(k).fit(X, y).posterior_
    np.testing.assert_array_equal(posterior == 0.5, carrying == without)
    np.testing.assert_array_equal(posterior >= 0.5, carrying >= without)
    assert missed.any()  # else this test would not notice that nobody corrects floats


@pytest.mark.parametrize("n_neighbors", [3, 4])
def test_cmlknn_chooses_no_half(n_neighbors):
    """As its paper has it: of 60 random problems with hard memberships some have halves, and none is chosen."""
    n_halves = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(0, 2, (20, 4)), rng.integers(0, 2, (20, 3))
        model = CMLkNN(n_neighbors, membership="hard").fit(X, y)
        half = model.predict_proba(X) == 0.5
        n_halves += half.sum()
        assert not model.predict(X)[half].any()
    assert n_halves > 5


def test_half_of_the_weight_is_exactly_half():
    """One of every two samples at the same distance carries the label: whatever the order, half of the weight does."""
    rng = np.random.default_rng(0)
    for n_pairs in range(2, 30):
        distances = rng.random(n_pairs) + 0.1
        X = np.concatenate([distances, -distances])[:, np.newaxis]
        y = np.concatenate([carries := rng.random(n_pairs) < 0.5, ~carries]).astype(int)[:, np.newaxis]
        order = rng.permutation(2 * n_pairs)
        model = BRkNN(2 * n_pairs, weights="distance").fit(X[order], y[order])
        assert model.predict_proba([[0.0]]).tolist() == [[0.5]]
        assert model.predict([[0.0]]).tolist() == [[0]]


@pytest.mark.parametrize("lead", [-1, 0, 1])
def test_a_lead_of_one_in_a_thousand_million(lead):
    """Posteriors that differ from one half by less than floats can be trusted with are on the side of the counts."""
    counts = np.array([[10**9], [10**9 + lead]])
    posterior = bayes(counts, np.full((2, 1), 3 * 10**9), n_cells=11, s=1.0).posterior
    assert np.sign(posterior[0] - 0.5) == lead
