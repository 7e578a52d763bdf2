import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import nan_euclidean_distances
from sklearn.utils.estimator_checks import parametrize_with_checks

from _reference import nearest
from nearlabel.lazy import IBLR, NLDD, BRkNN, BRkNNa, BRkNNb, CMLkNN, LPkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors, PrecomputedNeighbors
from nearlabel.neighbors.exact import _bounds_search
from nearlabel.selection import NeighborsPerLabel, tune_neighbors
from nearlabel.testing import check_search
from nearlabel.thresholds import TunedThresholdsClassifierCV


def heom(a, b):
    """The squared distance: 1 for a feature that one of the rows lacks."""
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += 1.0 if math.isnan(x) or math.isnan(y) else (x - y) ** 2
    return total


def nan_euclidean(a, b):
    """The squared distance over the known features, times d/n."""
    known = [(x - y) ** 2 for x, y in zip(a, b, strict=True) if not (math.isnan(x) or math.isnan(y))]
    total = 0.0
    for square in known:
        total += square
    return total / len(known) * len(a) if known else math.inf


REFERENCES = {"heom": heom, "nan_euclidean": nan_euclidean}
KINDS = {
    "ties": lambda rng, shape: rng.integers(0, 3, shape).astype(float),
    "spread": lambda rng, shape: rng.normal(size=shape),
    "far from zero": lambda rng, shape: 1e6 + 1e-3 * rng.integers(0, 4, shape),
}
METHODS = [
    BRkNN(5),
    BRkNN(5, weights="distance"),
    BRkNNa(5),
    BRkNNb(5),
    LPkNN(5),
    MLkNN(5),
    MLkNN("auto"),
    CMLkNN(5, similarity=np.eye(4)),
    IBLR(5),
]


def rows_with_gaps(kind, shape, seed=0):
    """Rows of which a fifth of the values is missing, two rows that are equal, and one without any value."""
    rng = np.random.default_rng(seed)
    X = KINDS[kind](rng, shape)
    X[rng.random(shape) < 0.2] = np.nan
    X[4], X[6] = X[3], np.nan
    return X


@pytest.fixture
def problem():
    """X, label sets and queries."""
    X = rows_with_gaps("ties", (60, 5))
    Y = (np.random.default_rng(1).random((60, 4)) < 0.4).astype(int)
    return X, Y, rows_with_gaps("ties", (12, 5), seed=2)


@pytest.mark.parametrize("metric", REFERENCES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_equals_loops(metric, kind, store, monkeypatch):
    """Neighbours and distances, of queries and training rows, are those of a loop to the bit, whatever the blocks."""
    distance = REFERENCES[metric]
    X, queries = rows_with_gaps(kind, (40, 6)), rows_with_gaps(kind, (9, 6), seed=1)
    for tile in (_bounds_search._LARGEST_TILE, 2000):
        monkeypatch.setattr(_bounds_search, "_USUAL_TILE", min(tile, _bounds_search._USUAL_TILE))
        monkeypatch.setattr(_bounds_search, "_LARGEST_TILE", tile)
        search = ExactNeighbors(metric).fit(store(X))
        distances, found = search.kneighbors(store(queries), 9)
        assert found.tolist() == [nearest(X, q, 9, distance=distance) for q in queries]
        expected = [[math.sqrt(distance(q, X[i])) for i in own] for q, own in zip(queries, found, strict=True)]
        assert distances.tolist() == expected
        own = search.kneighbors(n_neighbors=9, return_distance=False)
        assert own.tolist() == [nearest(X, row, 9, leave_out=i, distance=distance) for i, row in enumerate(X)]


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize("metric", REFERENCES)
def test_without_gaps_it_is_euclidean(metric, dtype):
    """Both rules are about missing values only."""
    X = np.random.default_rng(0).integers(0, 9, (50, 4)).astype(dtype)
    plain, other = ExactNeighbors().fit(X).kneighbors(n_neighbors=7), ExactNeighbors(metric).fit(X)
    assert all((a == b).all() for a, b in zip(plain, other.kneighbors(n_neighbors=7), strict=True))


def test_distance_to_itself():
    """By HEOM a row is as far from itself as it has gaps, yet leaves itself out by its number."""
    X = rows_with_gaps("ties", (30, 4))
    distances, indices = ExactNeighbors("heom").fit(X).kneighbors(X, 30)
    itself = np.take_along_axis(distances, np.argsort(indices, axis=1), axis=1).diagonal()
    np.testing.assert_allclose(itself**2, np.isnan(X).sum(axis=1), rtol=1e-15)
    left_out = ExactNeighbors("heom").fit(X).kneighbors(n_neighbors=29, return_distance=False)
    assert (left_out != np.arange(30)[:, np.newaxis]).all()


def test_nan_euclidean_is_that_of_scikit_learn():
    """Its distances, but for pairs without a common feature, which scikit-learn leaves undefined."""
    X = rows_with_gaps("spread", (40, 3))
    distances, indices = ExactNeighbors("nan_euclidean").fit(X).kneighbors(X, 40)
    expected = np.take_along_axis(nan_euclidean_distances(X), indices, axis=1)
    np.testing.assert_allclose(distances, np.where(np.isnan(expected), np.inf, expected), atol=1e-7)
    assert np.isinf(distances[6]).all()


@pytest.mark.parametrize("metric", REFERENCES)
def test_contract(metric):
    """The checks of any search pass."""
    check_search(ExactNeighbors(metric))


@parametrize_with_checks([ExactNeighbors(metric) for metric in REFERENCES])
def test_scikit_learn_checks(estimator, check):
    """scikit-learn's own checks pass, those of NaN included."""
    check(estimator)


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("metric", REFERENCES)
def test_methods_take_gaps(problem, method, metric):
    """Every vote method fits, predicts and explains; leaving one out equals refitting, to the bit."""
    X, Y, queries = problem
    model = clone(method).set_params(search=ExactNeighbors(metric)).fit(X, Y)
    assert np.isfinite(model.predict_proba(queries)).all()
    assert len(model.explain(queries[:2])) == 2
    if not hasattr(model, "loo_predict_proba") or method.n_neighbors == "auto":
        return
    scores = model.loo_predict_proba()
    for row in (0, 3, 6):
        others = np.arange(len(X)) != row
        refitted = clone(model).fit(X[others], Y[others])
        assert (refitted.predict_proba(X[[row]]) == scores[row]).all()


def test_what_holds_a_classifier_takes_gaps_as_it_does(problem):
    """Thresholds, numbers of neighbours, and neighbours that were found before."""
    X, Y, queries = problem
    model = MLkNN(5, search=ExactNeighbors("heom")).fit(X, Y)
    known = PrecomputedNeighbors.from_search(ExactNeighbors("heom"), X, queries, n_neighbors=7)
    assert (MLkNN(5, search=known).fit(X, Y).predict_proba(queries) == model.predict_proba(queries)).all()
    for holder in (TunedThresholdsClassifierCV(model), NeighborsPerLabel(model, n_neighbors=(3, 5, 3, 5))):
        assert holder.fit(X, Y).predict(queries).shape == (12, 4)
    assert tune_neighbors(clone(model), X, Y, n_neighbors=(3, 5)).n_neighbors_ in (3, 5)


@pytest.mark.parametrize(
    "model",
    [
        MLkNN(3),
        NLDD(search=ExactNeighbors("heom")),
        IBLR(3, plus=True, search=ExactNeighbors("heom")),
        CMLkNN(3, search=ExactNeighbors("heom")),
        NeighborsPerLabel(n_neighbors=(3, 5)),
    ],
    ids=repr,
)
def test_others_refuse_gaps(problem, model):
    """So does a search without such a metric, and a method that takes more from rows than neighbours."""
    X, Y, _ = problem
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.fit(X, Y)


@pytest.mark.parametrize("metric", REFERENCES)
def test_infinite_and_huge_values_are_refused(metric):
    """Infinity is not missing, and a square that overflows has no order."""
    X = rows_with_gaps("ties", (20, 4))
    search = ExactNeighbors(metric).fit(X)
    with pytest.raises(ValueError, match="infinity"):
        search.kneighbors(np.where(np.isnan(X), np.inf, X))
    with pytest.raises(ValueError, match="squared norm fits float64"):
        clone(search).fit(X * 1e155)
