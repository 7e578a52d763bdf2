"""Labels so rare that votes are counted by their non-zeros alone: leaving one out still equals refitting."""

import numpy as np
import pytest
from scipy import sparse

from nearlabel.lazy import MLkNN

N_SAMPLES, N_LABELS = 30, 80


@pytest.mark.parametrize("n_neighbors", [1, 4])
@pytest.mark.parametrize("smoothing", [1.0, 0.01])
def test_rare_labels_equal_refits(n_neighbors, smoothing):
    """Scores and label sets of each sample are those of a fit to all others, to the last bit."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (N_SAMPLES, 2)).astype(float)
    y = np.zeros((N_SAMPLES, N_LABELS), dtype=int)
    # Samples near each other share a label, so that there are votes; a third of them has another one too.
    y[np.arange(N_SAMPLES), (4 * X[:, 0] + X[:, 1]).astype(int) % 7] = 1
    y[np.arange(0, N_SAMPLES, 3), rng.integers(7, N_LABELS, N_SAMPLES // 3)] = 1
    assert y.size >= 40 * y.sum()
    model = MLkNN(n_neighbors, smoothing=smoothing).fit(X, sparse.csr_array(y))
    scores, label_sets = model.loo_predict_proba(), model.loo_predict().toarray()
    for left_out in range(N_SAMPLES):
        others = np.arange(N_SAMPLES) != left_out
        refitted = MLkNN(n_neighbors, smoothing=smoothing).fit(X[others], sparse.csr_array(y[others]))
        np.testing.assert_array_equal(scores[left_out], refitted.predict_proba(X[[left_out]])[0])
        np.testing.assert_array_equal(label_sets[left_out], refitted.predict(X[[left_out]]).toarray()[0])
