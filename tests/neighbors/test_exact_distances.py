"""Sums over features are added one after the other, whatever the numbers of pairs and features."""

import numpy as np
import pytest
from scipy import sparse

from nearlabel.neighbors.exact._distances import SquaredEuclidean, sum_over_features


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


@pytest.mark.parametrize("n_features", [1, 6, 300])
def test_bounds_of_squares_leave_room_for_every_rounding(n_features):
    """Each rank lies within its bounds, which are as far apart as twice the error that the module derives.

    Rounding is seldom that bad, so ranks alone would not notice bounds that are too near.
    """
    X = np.random.default_rng(0).normal(size=(30, n_features))
    distance = SquaredEuclidean()
    distance.fit(X)
    rows = distance.prepare(X)
    tile = distance.tile(rows, rows)
    query, row = np.indices((30, 30)).reshape(2, -1)
    rank, least = tile.refine(query, row), tile.lower.ravel() + tile.base[query]
    assert np.all(least <= rank)
    assert np.all(rank <= least + tile.query_slack[query] + tile.row_slack[row])
    error = (6 * n_features + 48) * 2.0**-53
    assert np.all(tile.query_slack >= 2 * error * rows.norms)
    assert np.all(tile.row_slack >= 2 * error * rows.norms)
