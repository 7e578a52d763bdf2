"""Labels so rare that votes are counted by their non-zeros alone: leaving one out still equals refitting."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from nearlabel.lazy import MLkNN

N_SAMPLES, N_LABELS = 30, 80


def rare_labels():
    """Return X and a y of which one cell in forty, or fewer, is 1."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (N_SAMPLES, 2)).astype(float)
    y = np.zeros((N_SAMPLES, N_LABELS), dtype=int)
    # Samples near each other share a label, so that there are votes; a third of them has another one too.
    y[np.arange(N_SAMPLES), (4 * X[:, 0] + X[:, 1]).astype(int) % 7] = 1
    y[np.arange(0, N_SAMPLES, 3), rng.integers(7, N_LABELS, N_SAMPLES // 3)] = 1
    assert y.size >= 40 * y.sum()
    return X, sparse.csr_array(y)


def check_equals_refits(model, groups=None):
    """Compare with a fit to the samples of all other groups, to the last bit."""
    X, y = rare_labels()
    scores, label_sets = model.fit(X, y).loo_predict_proba(groups), model.loo_predict(groups).toarray()
    group_of = np.arange(N_SAMPLES) if groups is None else groups
    for group in np.unique(group_of):
        left_out = group_of == group
        refitted = clone(model).fit(X[~left_out], y[~left_out])
        np.testing.assert_array_equal(scores[left_out], refitted.predict_proba(X[left_out]))
        np.testing.assert_array_equal(label_sets[left_out], refitted.predict(X[left_out]).toarray())


@pytest.mark.parametrize("n_neighbors", [1, 4])
@pytest.mark.parametrize("smoothing", [1.0, 0.01])
def test_rare_labels_equal_refits(n_neighbors, smoothing):
    """Scores and label sets of each sample are those of a fit to all others."""
    check_equals_refits(MLkNN(n_neighbors, smoothing=smoothing))


@pytest.mark.parametrize("n_neighbors", [1, 4])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("n_groups", [3, 12])
def test_rare_labels_of_a_group_equal_refits(n_neighbors, weights, n_groups):
    """The same where groups of several samples are left out."""
    groups = np.random.default_rng(1).integers(0, n_groups, N_SAMPLES)
    assert np.bincount(groups).max() > 2
    check_equals_refits(MLkNN(n_neighbors, weights=weights), groups)
