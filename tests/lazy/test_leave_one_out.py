import pickle
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import NearestNeighbors

from _pairs import every_pair
from conftest import CONTAINERS, ROWS
from nearlabel.lazy import BRkNN, BRkNNa, BRkNNb, CMLkNN, DMLkNN, LPkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors, GaussianWeights, NeighborGraph, PrecomputedNeighbors
from nearlabel.utils.validation import as_dense

MAIN = [BRkNN(), MLkNN()]
MODELS = [
    BRkNN(weights="distance"),
    BRkNN(weights=GaussianWeights(unit=1.0)),
    BRkNNa(),
    BRkNNb(weights="distance"),
    LPkNN(ties="random", random_state=0),
    MLkNN(smoothing=0.5),
    MLkNN(weights="distance"),
    MLkNN(weights=GaussianWeights(unit=1.0)),
    DMLkNN(delta=1),
    DMLkNN(delta=2, cells="labels", weights="distance"),
]
CASES = [(1, "dense"), (4, "csr_array"), (38, "dense")]  # numbers of neighbours, containers of Y
METHODS = [BRkNN, BRkNNa, BRkNNb, LPkNN, MLkNN, DMLkNN, CMLkNN]


def name_of(thing):
    """Return a readable test id."""
    return getattr(thing, "__name__", repr(thing))


def refits(model, X, Y, step=1, response="predict_proba"):
    """Return the scores, or label sets, of each row, or of every step-th, by a fit of all others."""
    answers = []
    for i in range(0, len(X), step):
        others = np.arange(len(X)) != i
        answers.append(as_dense(getattr(clone(model).fit(X[others], Y[others]), response)(X[[i]]))[0])
    return np.array(answers)


@pytest.mark.pairs
@pytest.mark.parametrize(
    ("problem", "model", "case"),
    [*product(ROWS, MAIN, CASES), *every_pair(ROWS, MODELS, CASES)],
    indirect=["problem"],
    ids=name_of,
)
def test_equals_refits(problem, model, case):
    """Every score is, to the last bit, that of a fit without the row: ties, duplicates, constant labels, k = n - 2."""
    X, Y, _ = problem
    k, container = case
    Y = CONTAINERS[container](Y)
    model = clone(model).set_params(n_neighbors=k).fit(X, Y)
    np.testing.assert_array_equal(model.loo_predict_proba(), refits(model, X, Y))


DECIDING = [
    BRkNN(majority="half"),
    BRkNNa(),
    BRkNNb(rounding="half_up"),
    BRkNNb(weights="distance"),
    *(LPkNN(ties=ties) for ties in ("nearest", "first", "frequent")),
    MLkNN(smoothing=0.5),
    MLkNN(weights="distance"),
    DMLkNN(delta=1),
]


@pytest.mark.pairs
@pytest.mark.parametrize(
    ("problem", "model", "case"),
    [*product(ROWS, MAIN[1:], CASES), *every_pair(ROWS, DECIDING, CASES)],
    indirect=["problem"],
    ids=name_of,
)
def test_label_sets_are_those_of_refits(problem, model, case):
    """Every label set is that which a fit without the row predicts, in Y's container and type."""
    X, Y, _ = problem
    k, container = case
    Y = CONTAINERS[container](Y).astype(np.uint8)
    model = clone(model).set_params(n_neighbors=k).fit(X, Y)
    labels = model.loo_predict()
    assert sparse.issparse(labels) == sparse.issparse(Y)
    assert labels.dtype == Y.dtype
    np.testing.assert_array_equal(as_dense(labels), refits(model, X, Y, response="predict"))


def test_the_left_out_row_does_not_count_in_frequencies():
    """Two label sets tie among the neighbours of row 0; its own is the more frequent one only with itself."""
    X = [[0.0], [1.0], [-1.0], [50.0], [52.0]]
    Y = np.array([[1, 0], [1, 0], [0, 1], [0, 0], [0, 1]])
    model = LPkNN(2, ties="frequent").fit(X, Y)
    assert model.loo_predict()[0].tolist() == [0, 1]
    assert model.predict([[0.4]]).tolist() == [[1, 0]]


def test_cmlknn_keeps_its_similarity(problem):
    """Its label sets left out are those of refits with the similarity that was learnt from all rows."""
    X, Y, _ = problem
    model = CMLkNN(4).fit(X, Y)
    known = CMLkNN(4, similarity=model.similarity_)
    np.testing.assert_array_equal(model.loo_predict(), refits(known, X, Y, response="predict"))


@pytest.mark.pairs
@pytest.mark.parametrize(
    ("problem", "method", "metric"),
    every_pair(ROWS, [BRkNN, MLkNN], ["sqeuclidean", "manhattan", "cosine", "chebyshev"]),
    indirect=["problem"],
    ids=name_of,
)
def test_equals_refits_by_any_metric(problem, method, metric):
    """The metric does not matter, nor that the rows are sparse."""
    X, Y, _ = problem
    model = method(3, search=ExactNeighbors(metric)).fit(sparse.csr_array(X), Y)
    np.testing.assert_array_equal(model.loo_predict_proba(), refits(model, X, Y))


def test_mlknn_by_hand():
    """Four points on a line, k = 1, s = 1: the second left out, worked out on paper."""
    X, Y = [[0.0], [1.0], [3.0], [7.0]], [[1], [0], [1], [0]]
    # Rows 0, 2 and 3 remain: the neighbour of row 0 is row 2 (with), of row 2 row 0 (with), of row 3 row 2 (with).
    # n1 = 2 of n = 3; c = [0, 2], c' = [0, 1]. Row 1's neighbour is row 0 (with): j = 1.
    yes, no = 3 / 5 * 3 / 4, 2 / 5 * 2 / 3
    scores = MLkNN(1).fit(X, Y).loo_predict_proba()
    assert scores[1, 0] == pytest.approx(yes / (yes + no), abs=1e-15)


def test_mlknn_settles_halves_as_a_refit_does():
    """Where both products of a refit are equal as fractions the score is exactly one half, whatever floats say."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(17, 1)), rng.integers(0, 2, (17, 2000))
    model = MLkNN(4, smoothing=2.0).fit(X, Y)
    scores = model.loo_predict_proba()
    np.testing.assert_array_equal(scores, refits(model, X, Y))
    assert (scores == 0.5).sum() == 1064  # about a hundred fewer if floats decided


class _Counting(BaseEstimator):
    """An exact search that counts how often it is asked."""

    def fit(self, X):
        self.search_, self.asked_ = ExactNeighbors().fit(X), []
        return self

    def kneighbors(self, X=None, n_neighbors=None):
        self.asked_.append((X is None, n_neighbors))
        return self.search_.kneighbors(X, n_neighbors)


def test_mlknn_searches_once(problem):
    """`fit` asks for one neighbour more, as far as there are any, and leaving out asks nothing."""
    X, Y, _ = problem
    for k, asked in ((3, 4), (38, 39)):
        model = MLkNN(k, search=_Counting()).fit(X, Y)
        model.loo_predict_proba()
        assert model.search_.asked_ == [(True, asked)]
    assert MLkNN(39, search=_Counting()).fit(X, Y).search_.asked_ == [(True, 39)]


@pytest.mark.pairs
@pytest.mark.parametrize(
    ("problem", "method", "budget", "container"),
    every_pair(ROWS, METHODS, [1, 1000, 5000], ["dense", "csr_array"]),
    indirect=["problem"],
    ids=name_of,
)
def test_blocks_change_nothing(problem, method, budget, container, monkeypatch):
    """Scores and label sets do not depend on how many rows, or pairs of rows, fit the memory budget."""
    X, Y, _ = problem
    model = method(6).fit(X, CONTAINERS[container](Y))
    scores, labels = model.loo_predict_proba(), as_dense(model.loo_predict())
    for blocks in ("row_blocks", "uneven_blocks"):
        monkeypatch.setattr(f"nearlabel.utils.validation.{blocks}.__defaults__", (budget,))
    np.testing.assert_array_equal(model.loo_predict_proba(), scores)
    np.testing.assert_array_equal(as_dense(model.loo_predict()), labels)


def test_many_neighbors_and_a_hub():
    """More votes than an int8 holds, and a row that is a neighbour of all others."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(180, 40)), (rng.random((180, 3)) < [0.9, 0.5, 1.0]).astype(int)
    X[0] = 0.0
    for k in (5, 127, 128, 178):
        model = MLkNN(k).fit(X, Y)
        np.testing.assert_array_equal(model.loo_predict_proba()[::18], refits(model, X, Y, step=18))


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_too_many_neighbors(method):
    """Where a refit would lack neighbours, the largest possible number is named."""
    X, Y = np.arange(6.0).reshape(6, 1), np.eye(6, dtype=int)
    most = 4 if method.counts_rows else 5
    model = method(most).fit(X, Y)
    assert model.loo_predict_proba().shape == model.loo_predict().shape == (6, 6)
    message = f"n_neighbors must be at most {most} to leave out one of n_samples=6, got {most + 1}"
    model = method(most + 1).fit(X, Y)
    for leave_out in (model.loo_predict_proba, model.loo_predict):
        with pytest.raises(ValueError, match=message):
            leave_out()


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_precomputed_neighbors(problem, method):
    """Known neighbours serve; ML-kNN fits with k of them and needs k + 1 to leave a row out."""
    X, Y, _ = problem
    known = PrecomputedNeighbors.from_search(ExactNeighbors(), X, n_neighbors=5)
    for k in (2, 4, 5):
        model, single = method(k, search=known).fit(X, Y), method(k).fit(X, Y)
        if method.counts_rows and k == 5:
            with pytest.raises(ValueError, match=r"search must know 6 neighbours .* got 5. Hint: precompute 6"):
                model.loo_predict_proba()
        else:
            np.testing.assert_array_equal(model.loo_predict_proba(), single.loo_predict_proba())
    with pytest.raises(ValueError, match="n_neighbors must be at most the 5 that were precomputed, got 6"):
        method(6, search=known).fit(X, Y).loo_predict_proba()


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_any_search_is_accepted(method):
    """scikit-learn's own search serves; without ties the scores are the same."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 3)), rng.integers(0, 2, (60, 4))
    theirs = method(5, search=NearestNeighbors(algorithm="kd_tree")).fit(X, Y)
    np.testing.assert_array_equal(theirs.loo_predict_proba(), method(5).fit(X, Y).loo_predict_proba())


def test_answers_of_a_search_are_checked():
    """A search that finds no neighbour of a training row (-1) is an error."""
    known = PrecomputedNeighbors(NeighborGraph(np.ones((3, 1)), np.array([[1], [-1], [0]])))
    with pytest.raises(ValueError, match="indices must name training samples 0 to 2, got -1"):
        BRkNN(1, search=known).fit(np.eye(3), np.eye(3, dtype=int)).loo_predict_proba()


@pytest.mark.pairs
@pytest.mark.parametrize(
    ("problem", "method", "container"),
    every_pair(ROWS, METHODS, ["dense", "csr_array"]),
    indirect=["problem"],
    ids=name_of,
)
def test_nothing_is_stored(problem, method, container):
    """The fitted model is the same before and after, byte for byte, and so are later answers."""
    X, Y, queries = problem
    model = method(4).fit(X, CONTAINERS[container](Y))
    before, scores = pickle.dumps(model), model.loo_predict_proba()
    assert pickle.dumps(model) == before
    np.testing.assert_array_equal(pickle.loads(before).loo_predict_proba(), scores)
    np.testing.assert_array_equal(model.predict_proba(queries), pickle.loads(before).predict_proba(queries))


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_unfitted(method):
    """Without a fit there are no training rows to leave out."""
    for leave_out in (method(3).loo_predict_proba, method(3).loo_predict):
        with pytest.raises(NotFittedError):
            leave_out()


def test_smoothing_is_that_of_the_fit():
    """As `predict_proba` does, leaving out keeps to the smoothing that was fitted."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 2)), rng.integers(0, 2, (20, 3))
    model = MLkNN(3, smoothing=0.5).fit(X, Y)
    scores = model.loo_predict_proba()
    np.testing.assert_array_equal(model.set_params(smoothing=2.0).loo_predict_proba(), scores)
