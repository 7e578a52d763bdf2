"""Sums over features are added one after the other, whatever the numbers of pairs and features."""

import numpy as np
import pytest
from scipy import sparse

from nearlabel.neighbors.exact._distances import sum_over_features


@pytest.mark.parametrize("n_features", [1, 2, 3, 7, 8, 9, 64, 127, 128, 129, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_order_of_the_features_is_kept(n_features, dtype):
    """Numbers of many sizes, whose sum depends on the order: plain loops, dense and sparse give the same bits."""
    rng = np.random.default_rng(n_features)
    X = (rng.normal(size=(40, n_features)) * 10.0 ** rng.integers(-6, 6, size=n_features)).astype(dtype)
    X[rng.random(X.shape) < 0.2] = 0
    for n_pairs in [*range(1, 20), 255, 257, 4099]:
        pairs = rng.integers(0, 40, n_pairs), rng.integers(0, 40, n_pairs)
        a, b = (X[which].astype(np.float64) for which in pairs)
        for combine, term in ((np.subtract, np.square), (np.subtract, np.abs), (np.multiply, np.positive)):
            expected = np.zeros(n_pairs)
            for feature in range(n_features):
                expected += term(combine(a[:, feature], b[:, feature]))
            np.testing.assert_array_equal(sum_over_features(X, X, pairs, combine, term), expected)
            stored = sparse.csr_array(X)
            np.testing.assert_array_equal(sum_over_features(stored, stored, pairs, combine, term), expected)
    assert n_features <= 8 or not np.array_equal(expected, combine(a, b).sum(axis=1))
