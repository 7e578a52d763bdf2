"""Weights of votes in ML-kNN and DML-kNN: rounded shares of the weight, in training rows and queries alike."""

import math

import numpy as np
import pytest
from scipy import sparse

from _pairs import every_pair
from conftest import CONTAINERS, ROWS
from nearlabel.lazy import DMLkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors
from nearlabel.utils.validation import as_dense


def inverse_square(distances):
    """A neighbour twice as far has a quarter of the weight."""
    return 1 / (distances + 0.1) ** 2


def loops(X, Y, queries, k, weigh, delta):
    """Posteriors by plain loops; `weigh` takes a list of distances."""
    search = ExactNeighbors().fit(X)

    def whole(distances, indices):
        weights = weigh([float(d) for d in distances])
        share = [math.fsum(w for w, i in zip(weights, indices, strict=True) if Y[i, label]) for label in range(5)]
        return [math.floor(k * part / math.fsum(weights) + 0.5 + 1e-12) for part in share]

    own = np.array([whole(*one) for one in zip(*search.kneighbors(n_neighbors=k), strict=True)])
    scores = []
    for one in zip(*search.kneighbors(queries, k), strict=True):
        votes = np.array(whole(*one))
        near = (abs(own - votes) <= delta).all(axis=1)[:, np.newaxis] & (own == votes)
        yes = (1 + Y.sum(axis=0)) / (2 + 40) * (1 + (near & (Y == 1)).sum(axis=0)) / (k + 1 + Y.sum(axis=0))
        no = (1 + (1 - Y).sum(axis=0)) / (2 + 40) * (1 + (near & (Y == 0)).sum(axis=0)) / (k + 1 + (1 - Y).sum(axis=0))
        scores.append(yes / (yes + no))
    return scores


def inverse(distances):
    """The weights of "distance"."""
    return [float(d == 0) for d in distances] if min(distances) == 0 else [min(distances) / d for d in distances]


@pytest.mark.pairs
@pytest.mark.parametrize(
    ("problem", "weights", "k", "delta", "container"),
    every_pair(ROWS, ["distance", "square"], [1, 4, 11, 39], [None, 1, 3], ["dense", "csr_array"]),
    indirect=["problem"],
)
def test_equals_loops(problem, weights, k, delta, container):
    """Scores agree to 1e-12: duplicates at distance 0, labels with one class, dense and sparse."""
    X, Y, queries = problem
    given, weigh = {
        "distance": ("distance", inverse),
        "square": (inverse_square, lambda d: [1 / (one + 0.1) ** 2 for one in d]),
    }[weights]
    model = MLkNN(k, weights=given) if delta is None else DMLkNN(k, delta=delta, weights=given)
    model.fit(X, CONTAINERS[container](Y))
    expected = loops(X, Y, queries, k, weigh, k if delta is None else delta)
    np.testing.assert_allclose(model.predict_proba(queries), expected, rtol=0, atol=1e-12)
    labels = as_dense(model.predict(queries))
    np.testing.assert_array_equal(labels, model.predict_proba(queries) >= 0.5)


@pytest.mark.parametrize("container", ["dense", "csr_array"])
def test_equal_weights_change_nothing(problem, container):
    """A function that gives every neighbour the same weight gives the bits of no weights, also left out."""
    X, Y, queries = problem
    Y, groups = CONTAINERS[container](Y), np.arange(40) // 3
    for method, options in ((MLkNN, {}), (DMLkNN, {"delta": 2})):
        plain = method(7, **options).fit(X, Y)
        weighted = method(7, weights=lambda distances: np.full(distances.shape, 0.3), **options).fit(X, Y)
        np.testing.assert_array_equal(weighted.predict_proba(queries), plain.predict_proba(queries))
        np.testing.assert_array_equal(weighted.loo_predict_proba(), plain.loo_predict_proba())
        np.testing.assert_array_equal(weighted.loo_predict_proba(groups), plain.loo_predict_proba(groups))


def test_by_hand():
    """Of two neighbours the nearer has two thirds of the weight: 4/3 of two votes are one, 2/3 are one, too."""
    X, Y = [[0.0], [3.0], [9.0], [10.0]], [[1, 0], [0, 1], [1, 1], [0, 0]]
    model = MLkNN(2, weights="distance").fit(X, Y)
    scores = model.predict_proba([[1.0]])
    assert scores.tolist() == [[model.posterior_[0, 1], model.posterior_[1, 1]]]
    # At 0 the neighbour at distance 0 has all the weight: two votes, and none.
    assert model.predict_proba([[0.0]]).tolist() == [[model.posterior_[0, 2], model.posterior_[1, 0]]]


def test_the_choice_of_k_is_by_weighted_votes():
    """`cv_results_` has the micro F1 of `loo_predict` for each number; what is fitted is the fit with the best."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(34, 2))
    Y = (np.column_stack([X > 0, X.sum(axis=1) > 0.5]) ^ (rng.random((34, 3)) < 0.15)).astype(int)
    for store in (np.asarray, sparse.csr_array):
        model = MLkNN("auto", weights="distance").fit(X, store(Y))
        single = MLkNN(model.n_neighbors_, weights="distance").fit(X, store(Y))
        np.testing.assert_array_equal(model.predict_proba(X + 0.1), single.predict_proba(X + 0.1))
        np.testing.assert_array_equal(model.loo_predict_proba(), single.loo_predict_proba())


def test_explanation():
    """The weights, their sum, and the score at the rounded votes."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 2)), rng.integers(0, 2, (40, 3))
    for one in MLkNN(6, weights=inverse_square).fit(X, Y).explain(X[:9] + 0.1):
        total = one.settings["total_weight"]
        assert total == one.neighbors["weight"].sum()
        for row in one.to_dict()["labels"]:
            votes = math.floor(6 * row["weight"] / total + 0.5)
            n1 = sum(row["with_at"])
            assert row["likelihood"] == (1 + row["with_at"][votes]) / (7 + n1)
            assert row["likelihood_without"] == (1 + row["without_at"][votes]) / (7 + 40 - n1)
        assert "k · weight / total_weight, rounded" in str(one)


@pytest.mark.parametrize("method", [MLkNN, DMLkNN])
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("square", r"weights must be one of \['distance', 'uniform'\], got 'square'"),
        (lambda distances: -distances, "weights must return finite numbers >= 0"),
        (lambda distances: distances[:, 0], r"weights must return finite numbers >= 0 of shape \(8, 2\)"),
    ],
)
def test_bad_weights(method, weights, message):
    """A word that is none, negative weights, another shape."""
    with pytest.raises(ValueError, match=message):
        method(2, weights=weights).fit(np.arange(8.0)[:, np.newaxis], np.eye(8, dtype=int))
