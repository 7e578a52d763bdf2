import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import cosine_similarity

from _pairs import every_pair
from _reference import cmlknn, memberships
from conftest import CONTAINERS, ROWS
from nearlabel.datasets import fetch_dataset, load_multidigits
from nearlabel.lazy import CMLkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors, PrecomputedNeighbors

VARIANTS = [
    {},
    {"membership": "max"},
    {"membership": "mean"},
    {"membership": "hard"},
    {"values": "all"},
    {"values": "all", "membership": "mean", "n_bins": 2},
    {"adjusted": True},
    {"adjusted": True, "membership": "max", "values": "all"},
    {"feature_weights": "sum"},
    {"feature_weights": "sum", "membership": "hard", "values": "all"},
    {"feature_weights": "sum", "membership": "mean"},
]


@pytest.fixture
def small(problem):
    """A smaller problem: the loops work in fractions."""
    X, Y, queries = problem
    return X[:26], Y[:26], queries[::2]


def assert_equals_loops(model, X, Y, queries, options):
    """Compare posteriors to 1e-10 and label sets in every cell."""
    posteriors, labels = cmlknn(X, Y, queries, model.n_neighbors, model.smoothing, **options)
    np.testing.assert_allclose(model.predict_proba(queries), posteriors, rtol=0, atol=1e-10)
    predicted = model.predict(queries)
    assert (predicted.toarray() if sparse.issparse(predicted) else predicted).tolist() == labels


@pytest.mark.parametrize(
    ("problem", "options", "settings", "container"),
    every_pair(ROWS, VARIANTS, [(1, 1), (4, 0.1), (10, 2.5)], ["dense", "csr_array"]),
    indirect=["problem"],
    ids=str,
)
def test_equals_loops(small, options, settings, container):
    """Posteriors agree with fractions to 1e-10 and label sets in every cell, constant labels included."""
    X, Y, queries = small
    k, smoothing = settings
    store = CONTAINERS[container]
    model = CMLkNN(k, smoothing=smoothing, **options).fit(store(X), store(Y))
    assert_equals_loops(model, X, Y, queries, options)


def test_printed_formulas_equal_loops_and_predict_nothing(small):
    """The equations as they stand agree with their transcription; a warning says what to expect, and it is so."""
    X, Y, queries = small
    Y = Y * (np.arange(5) != 4)  # no label that everyone has: its mean support would be the only one above N / 2
    model = CMLkNN(4, formulas="printed")
    with pytest.warns(UserWarning, match="predicts almost no label"):
        model.fit(X, Y)
    assert_equals_loops(model, X, Y, queries, {"formulas": "printed"})
    assert model.predict(queries).sum() == 0
    assert model.posterior_.shape == (5, 4 * 5 + 1)


@pytest.mark.parametrize("container", ["dense", "csr_array"])
def test_saturated_memberships_are_warned_of(container):
    """Where all samples have all features, unadjusted similarities make absent labels present; adjusted ones do not."""
    rng = np.random.default_rng(0)
    X, Y = rng.random((150, 5)), (rng.random((150, 4)) < 0.4).astype(int)
    store = CONTAINERS[container]
    with pytest.warns(UserWarning, match=r"Far too many labels .* is 0\.\d+. Hint: adjusted=True") as caught:
        model = CMLkNN(5).fit(store(X), store(Y))
    degrees = np.array(memberships(Y, model.similarity_), dtype=float)
    assert f"{degrees[Y == 0].mean():.2f}" in str(caught[0].message)
    assert model.predict(store(X)).mean() > 0.9 > 2 * Y.mean()
    CMLkNN(5, adjusted=True).fit(store(X), store(Y))  # warnings are errors
    CMLkNN(5).fit(store(X[:50]), store(Y[:50]))
    CMLkNN(5, similarity=model.similarity_).fit(store(X), store(Y))


def test_no_label_lacks():
    """If every sample has every label, none is predicted too often: no warning."""
    CMLkNN(5).fit(np.random.default_rng(0).random((150, 3)), np.ones((150, 2), dtype=int))


@pytest.mark.parametrize("container", ["dense", "csr_array"])
@pytest.mark.parametrize("membership", ["clip", "max", "mean", "hard"])
def test_identity_is_mlknn(problem, membership, container):
    """If labels are similar to themselves only, every number is that of ML-kNN, bit for bit."""
    X, Y, queries = problem
    if membership == "mean":
        Y = Y * (np.arange(5) == 1)  # a membership of 1 / |L| is that of ML-kNN for one label a row
    Y = CONTAINERS[container](Y)
    for k, smoothing in ((1, 1.0), (6, 0.3), (39, 2.0)):
        ours = CMLkNN(k, smoothing=smoothing, membership=membership, similarity=np.eye(5)).fit(X, Y)
        theirs = MLkNN(k, smoothing=smoothing).fit(X, Y)
        np.testing.assert_array_equal(ours.predict_proba(queries), theirs.predict_proba(queries))
        np.testing.assert_array_equal(ours.posterior_, theirs.posterior_)
        np.testing.assert_array_equal(ours.likelihood_, theirs.likelihood_)
        np.testing.assert_array_equal(ours.prior_, theirs.prior_)
        if k < 39:
            np.testing.assert_array_equal(ours.loo_predict_proba(), theirs.loo_predict_proba())


def test_a_posterior_of_one_half_is_not_chosen():
    """Equation 12 asks for a ratio above 1; ML-kNN chooses a label at exactly one half."""
    X, Y = np.arange(4.0).reshape(4, 1), np.array([[1], [0], [1], [0]])
    models = CMLkNN(1, similarity=[[1.0]]).fit(X, Y), MLkNN(1).fit(X, Y)
    scores = [model.predict_proba(X) for model in models]
    assert (scores[0] == scores[1]).all()
    assert ([model.predict(X).tolist() for model in models]) == [
        (scores[0] > 0.5).tolist(),
        (scores[0] >= 0.5).tolist(),
    ]


def test_sums_of_exactly_one_half_round_up():
    """One third and one sixth are a half, though neither is a whole number of units."""
    X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])
    Y = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]])
    similarity = [[1, 0, 1 / 3], [0, 1, 1 / 6], [0, 0, 1]]
    model = CMLkNN(2, similarity=similarity).fit(X, Y)
    assert model.predict_proba([[0.05]])[0, 2] == model.posterior_[2, 1]


@pytest.mark.long
@pytest.mark.pairs
@pytest.mark.parametrize(
    ("problem", "membership", "k"),
    every_pair(ROWS, ["clip", "max", "mean", "hard"], [1, 5, 38]),
    indirect=["problem"],
)
def test_leave_one_out_equals_refits(problem, membership, k):
    """With the similarity kept, every leave-one-out score is that of a fit without the row, to the last bit."""
    X, Y, _ = problem
    similarity = CMLkNN(k, values="all").fit(X, Y).similarity_
    model = CMLkNN(k, membership=membership, similarity=similarity)
    expected = []
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        expected.append(clone(model).fit(X[others], Y[others]).predict_proba(X[[i]])[0])
    np.testing.assert_array_equal(model.fit(X, Y).loo_predict_proba(), expected)
    learnt = CMLkNN(k, membership=membership, values="all").fit(X, Y)
    np.testing.assert_array_equal(learnt.loo_predict_proba(), expected)


def test_blocks_and_order_change_nothing(problem, monkeypatch):
    """Scores depend neither on the memory budget nor on the order of labels, to the last bit."""
    X, Y, queries = problem
    model = CMLkNN(6, values="all").fit(X, Y)
    scores, left_out = model.predict_proba(queries), model.loo_predict_proba()
    order = np.array([2, 0, 4, 1, 3])
    permuted = CMLkNN(6, values="all").fit(X, Y[:, order])
    np.testing.assert_array_equal(permuted.predict_proba(queries), scores[:, order])
    monkeypatch.setattr("nearlabel.utils.validation.row_blocks.__defaults__", (3000,))
    monkeypatch.setattr("nearlabel.utils.validation.uneven_blocks.__defaults__", (3000,))
    blocked = CMLkNN(6, values="all").fit(X, Y)
    np.testing.assert_array_equal(blocked.predict_proba(queries), scores)
    np.testing.assert_array_equal(blocked.loo_predict_proba(), left_out)


def test_a_sweep_costs_one_search(problem):
    """Precomputed neighbours serve every k, and leave-one-out scores."""
    X, Y, queries = problem
    known = PrecomputedNeighbors.from_search(ExactNeighbors(), X, queries, n_neighbors=12)
    for k in (1, 5, 11):
        swept, single = CMLkNN(k, search=known).fit(X, Y), CMLkNN(k).fit(X, Y)
        np.testing.assert_array_equal(swept.predict(queries), single.predict(queries))
        np.testing.assert_array_equal(swept.predict_proba(queries), single.predict_proba(queries))
        np.testing.assert_array_equal(swept.loo_predict_proba(), single.loo_predict_proba())


def test_memberships_by_hand():
    """What a label set makes of its support, worked out on paper."""
    similarity = [[1, 0.3, 0.4], [0.3, 1, 0.5], [0.4, 0.5, 1]]
    X, Y = np.arange(3.0).reshape(3, 1), [[1, 1, 0], [0, 0, 1], [0, 0, 0]]
    expected = {
        "clip": [[1, 1, 0.9], [0.4, 0.5, 1], [0, 0, 0]],
        "max": [[1, 1, 0.5], [0.4, 0.5, 1], [0, 0, 0]],
        "mean": [[0.65, 0.65, 0.45], [0.4, 0.5, 1], [0, 0, 0]],
        "hard": [[1, 1, 1], [0, 1, 1], [0, 0, 0]],
    }
    for membership, degrees in expected.items():
        model = CMLkNN(1, membership=membership, similarity=similarity).fit(X, Y)
        prior = (1 + np.sum(degrees, axis=0)) / (2 + 3)
        np.testing.assert_allclose(model.prior_, prior, rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"membership": "min"}, ValueError, "membership must be one of"),
        ({"values": "some"}, ValueError, "values must be one of"),
        ({"feature_weights": "none"}, ValueError, "feature_weights must be one of"),
        ({"formulas": "mine"}, ValueError, "formulas must be one of"),
        ({"n_bins": 0}, ValueError, "n_bins must be at least 1, got 0"),
        ({"adjusted": "yes"}, TypeError, "adjusted must be True or False, got 'yes'"),
        (
            {"similarity": np.eye(3)},
            ValueError,
            r"similarity must be of shape \(8, 8\), each from 0 to 1, got shape \(3",
        ),
        ({"similarity": 2 * np.eye(8)}, ValueError, "got shape .* and 0.0 to 2.0"),
        ({"similarity": np.eye(8) * np.nan}, ValueError, "Input similarity contains NaN"),
        ({"similarity": sparse.eye_array(8)}, TypeError, "Sparse data was passed"),
    ],
)
def test_bad_parameters(options, error, message):
    """A parameter out of range is named."""
    with pytest.raises(error, match=message):
        CMLkNN(2, **options).fit(np.eye(8), np.eye(8, dtype=int))


def test_too_many_rows_for_the_printed_formulas():
    """Sums that would overflow are refused, not wrapped around."""
    n_labels = 3000
    Y = sparse.csr_array((3000, n_labels), dtype=int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="n_samples must be at most 2,796 here, got 3,000"):
            CMLkNN(1, formulas="printed", similarity=np.eye(n_labels)).fit(np.arange(3000.0)[:, np.newaxis], Y)


def test_pickles(problem):
    """A fitted classifier survives pickling."""
    X, Y, queries = problem
    model = CMLkNN(3).fit(X, Y)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(model)).predict_proba(queries), model.predict_proba(queries)
    )


def test_cosines_are_similarities():
    """The cosine of a label with itself may exceed 1 by rounding; it counts as 1."""
    digits = load_multidigits()
    similarity = cosine_similarity(digits.Y[:300].T)
    assert similarity.max() > 1
    model = CMLkNN(5, similarity=similarity).fit(digits.X[:300], digits.Y[:300])
    assert model.similarity_.max() == 1
    assert (model.similarity_ == np.minimum(similarity, 1)).all()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Far too many labels")  # of emotions, which it is not made for
@pytest.mark.parametrize("name", ["enron", "medical", "emotions"])
@pytest.mark.parametrize("membership", ["clip", "mean"])
def test_equals_loops_on_real_data(data_folder, name, membership):
    """Posteriors of real rows agree with the equations worked out by plain sums in float64 to 1e-10."""
    training, test = (fetch_dataset(name, subset=part) for part in ("train", "test"))
    X, Y = training.X[:200], np.asarray(training.Y[:200].toarray() if sparse.issparse(training.Y) else training.Y[:200])
    model = CMLkNN(10, membership=membership).fit(X, Y)
    mu = np.array(memberships(Y.tolist(), model.similarity_.tolist(), membership=membership), dtype=float)
    search = ExactNeighbors().fit(X)
    own, asked = search.kneighbors(n_neighbors=10)[1], search.kneighbors(test.X[:60], 10)[1]
    C, C_query = (np.floor(mu[indices].sum(axis=1) + 0.5 + 1e-9).astype(int) for indices in (own, asked))
    alpha, beta = np.zeros((2, Y.shape[1], 11))
    for i in range(200):
        for j in range(Y.shape[1]):
            alpha[j, C[i, j]] += mu[i, j]
            beta[j, C[i, j]] += 1 - mu[i, j]
    prior = (1 + mu.sum(axis=0)) / (2 + 200)
    each = np.arange(Y.shape[1])
    yes = prior * (1 + alpha[each, C_query]) / (11 + alpha.sum(axis=1))
    no = (1 - prior) * (1 + beta[each, C_query]) / (11 + beta.sum(axis=1))
    np.testing.assert_allclose(model.predict_proba(test.X[:60]), yes / (yes + no), rtol=0, atol=1e-10)
    np.testing.assert_array_equal(model.predict(test.X[:60]), yes > no)
