"""Votes weighted by a kernel: they equal plain loops, and their unit is learnt once."""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from nearlabel.lazy import BRkNN, BRkNNb, MLkNN
from nearlabel.metrics import micro_f1
from nearlabel.neighbors import ExactNeighbors, GaussianWeights, PrecomputedNeighbors, SimilarityWeights
from nearlabel.thresholds import TunedThresholdsClassifierCV


@pytest.fixture
def problem():
    """Rows with copies, and one row of zeros; labels of which one has one class."""
    random = np.random.default_rng(3)
    X = np.abs(random.normal(size=(50, 4))).round(1)
    X[7], X[8] = X[3], 0.0
    Y = (random.random((50, 4)) < [0.4, 0.2, 0.7, 0.0]).astype(int)
    return X, Y, np.vstack([X[:5], np.abs(random.normal(size=(10, 4))), np.zeros((1, 4))])


def shares(weights, indices, Y):
    """Return the score of each label by plain loops."""
    total = math.fsum(weights)
    return [
        math.fsum(w * int(Y[i, label]) for w, i in zip(weights, indices, strict=True)) / total for label in range(4)
    ]


@pytest.mark.parametrize("power", [0.5, 1, 4, 16])
@pytest.mark.parametrize("k", [1, 10, 50])
def test_similarity(problem, power, k):
    """The weight is max(0, cos)^a, 1 between rows of zeros; if all are 0, every neighbour weighs 1."""
    X, Y, queries = problem
    model = BRkNN(k, weights=SimilarityWeights(power), search=ExactNeighbors("cosine")).fit(X, Y)
    near = model.search_.kneighbors(queries, k)[1]
    expected = []
    for query, indices in zip(queries, near, strict=True):
        lengths = [math.hypot(*query) * math.hypot(*X[i]) for i in indices]
        dots = [math.fsum(query * X[i]) for i in indices]
        alike = [float(not query.any() and not X[i].any()) for i in indices]  # rows of zeros
        cosines = [d / n if n else same for d, n, same in zip(dots, lengths, alike, strict=True)]
        weights = [max(0.0, cosine) ** power for cosine in cosines]
        expected.append(shares(weights if any(weights) else [1.0] * k, indices, Y))
    np.testing.assert_allclose(model.predict_proba(queries), expected, rtol=0, atol=1e-12)
    scored = model.fit(sparse.csr_array(X), sparse.csr_array(Y)).predict_proba(sparse.csr_array(queries))
    np.testing.assert_allclose(scored, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("sharpness", [0.5, 2, 16])
@pytest.mark.parametrize("k", [1, 10, 50])
def test_gaussian(problem, sharpness, k):
    """The weight is exp(-g d² / r²), with r² the median of the squared distance to the tenth other."""
    X, Y, queries = problem
    model = BRkNN(k, weights=GaussianWeights(sharpness)).fit(X, Y)
    squares = [[math.fsum((a - b) ** 2) for b in X] for a in X]
    tenth = [sorted(row[:i] + row[i + 1 :])[9] for i, row in enumerate(squares)]
    assert model.weights_.unit == pytest.approx(math.sqrt(np.median(tenth)), rel=1e-12)
    assert model.weights.unit is None  # the parameter is unchanged
    near = model.search_.kneighbors(queries, k)[1]
    expected = []
    for query, indices in zip(queries, near, strict=True):
        far = [math.fsum((query - X[i]) ** 2) / np.median(tenth) for i in indices]
        expected.append(shares([math.exp(-sharpness * (d - min(far))) for d in far], indices, Y))
    np.testing.assert_allclose(model.predict_proba(queries), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", [BRkNN, BRkNNb, MLkNN])
def test_the_unit_is_learnt_once(problem, method):
    """Leave-one-out and updates keep it: they equal fits with this unit, to the bit; a fit learns it again."""
    X, Y, queries = problem
    model = method(8, weights=GaussianWeights()).fit(X[:40], Y[:40])
    unit = model.weights_.unit
    fixed = method(8, weights=GaussianWeights(unit=unit))
    left_out = model.loo_predict_proba()
    for row in range(0, 40, 5):
        others = np.arange(40) != row
        without = clone(fixed).fit(X[:40][others], Y[:40][others])
        np.testing.assert_array_equal(left_out[[row]], without.predict_proba(X[[row]]))
    model.partial_fit(X[40:], Y[40:]).forget(np.arange(10))
    assert model.weights_.unit == unit
    np.testing.assert_array_equal(model.predict_proba(queries), fixed.fit(X[10:], Y[10:]).predict_proba(queries))
    assert model.fit(X[10:] * 2, Y[10:]).weights_.unit != unit


def test_units_of_few_known_or_equal_samples(problem):
    """The last known neighbour takes the place of the tenth; among copies only the nearest vote."""
    X, Y, queries = problem
    few = BRkNN(2, weights=GaussianWeights()).fit([[0.0], [3.0], [9.0]], [[1], [0], [1]])
    assert few.weights_.unit == 9  # 9, 6 and 9 to the farther of two
    assert BRkNN(1, weights=GaussianWeights()).fit([[0.0]], [[1]]).predict([[5.0]]).tolist() == [[1]]
    known = PrecomputedNeighbors.from_search(ExactNeighbors(), X, queries, n_neighbors=4)
    by_four = BRkNN(3, weights=GaussianWeights(), search=known).fit(X, Y)
    fourth = ExactNeighbors().fit(X).kneighbors(n_neighbors=4)[0][:, 3]
    assert by_four.weights_.unit == pytest.approx(math.sqrt(np.median(fourth**2)), rel=1e-12)
    copies = np.repeat([[0.0], [1.0]], 12, axis=0)
    votes = BRkNN(20, weights=GaussianWeights()).fit(copies, np.repeat([[1], [0]], 12, axis=0))
    assert votes.predict_proba([[0.4], [0.6], [-1000.0]]).tolist() == [[1.0], [0.0], [1.0]]


def test_with_unknown_labels(problem):
    """The unit is learnt from all samples, also where a label is known in some."""
    X, Y, queries = problem
    holes = Y.astype(float)
    holes[:20, 1] = np.nan
    model = BRkNN(6, weights=GaussianWeights()).fit(X, holes)
    known = BRkNN(6, weights=model.weights_).fit(X[20:], Y[20:])
    assert model.weights_.unit == BRkNN(6, weights=GaussianWeights()).fit(X, Y).weights_.unit
    np.testing.assert_array_equal(model.predict_proba(queries)[:, 1], known.predict_proba(queries)[:, 1])


@pytest.mark.parametrize("method", [BRkNN, MLkNN])
@pytest.mark.parametrize("weights", [SimilarityWeights(0), GaussianWeights(-1.0), GaussianWeights(unit=0.0)])
def test_bad_parameters(problem, method, weights):
    """`fit` raises an error that names the parameter; a type that is no number is a TypeError."""
    X, Y, _ = problem
    with pytest.raises(ValueError, match=r"(power|sharpness|unit) must be a finite number above 0, got"):
        method(3, weights=weights).fit(X, Y)
    with pytest.raises(TypeError, match="power must be a number, got '4' of type str"):
        method(3, weights=SimilarityWeights("4")).fit(X, Y)
    with pytest.raises(ValueError, match="unit must be learnt by the fit of a classifier, or given, got None"):
        GaussianWeights()(np.ones((1, 2)))


def test_thresholds_of_kernel_votes(problem):
    """Thresholds tuned on leave-one-out scores are better than one half."""
    X, Y, _ = problem
    votes = BRkNN("auto", weights=GaussianWeights()).fit(X, Y)
    scores = votes.loo_predict_proba()
    tuned = TunedThresholdsClassifierCV(votes, cv="loo").fit(X, Y)
    assert micro_f1(Y, scores >= tuned.thresholds_) > micro_f1(Y, votes.loo_predict())
