"""Many labels: the best of them, sparse scores, memory and time that go with the votes and not with the labels."""

import re
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from _pairs import every_pair
from _reference import brknn, mlknn, nearest
from conftest import CONTAINERS, ROWS, long_after
from nearlabel.labels import coupled_similarity
from nearlabel.lazy import IBLR, MLMLM, NLDD, BRkNN, BRkNNa, BRkNNb, CMLkNN, DMLkNN, LPkNN, MLkNN, _counts
from nearlabel.lazy._counts import Units, count_rows
from nearlabel.lazy._engine import blocks
from nearlabel.neighbors import ExactNeighbors, NeighborGraph, PrecomputedNeighbors
from nearlabel.neighbors.votes import Neighbors
from nearlabel.rivals import (
    BPMLL,
    AdaBoostMH,
    ADTBoostMH,
    ClassifierChain,
    ConditionalBernoulliMixture,
    EnsembleOfBinaryRelevance,
    EnsembleOfClassifierChains,
    PredictiveClusteringTree,
    RandomForestPCT,
    RankSVM,
)
from nearlabel.thresholds import (
    FBR,
    FixedThresholdsClassifier,
    GlobalCut,
    MicroFOptimum,
    SCut,
    TunedThresholdsClassifierCV,
)
from nearlabel.utils import messages
from nearlabel.utils.messages import TooLargeError

BY_COUNTS = [BRkNN, BRkNNa, BRkNNb, LPkNN, MLkNN]
BY_VOTES = [*BY_COUNTS, CMLkNN]
RIVALS = [
    *(
        BPMLL(n_epochs=1),
        AdaBoostMH(1),
        ADTBoostMH(1),
        PredictiveClusteringTree(),
        RandomForestPCT(2),
        RankSVM(),
    ),
    *(ConditionalBernoulliMixture(2), ClassifierChain(), EnsembleOfClassifierChains(n_estimators=2)),
    EnsembleOfBinaryRelevance(n_estimators=2),
]
METHODS = [*BY_VOTES, DMLkNN, IBLR]
MODELS = [*(method(4) for method in BY_VOTES), BRkNN(4, weights="distance"), BRkNNb(4, weights="distance")]
N_ROWS, N_LABELS = 3_000, 100_000


def name_of(thing):
    """Return a readable test id."""
    return getattr(thing, "__name__", repr(thing))


def best_of_all(model, queries, n_labels):
    """Return what `predict_topk` must: the dense scores sorted by falling score, then by label number."""
    scores = model.predict_proba(queries)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :n_labels]
    return np.take_along_axis(scores, order, axis=1), order


def pairs_of_strangers(Y, queries, k=10):
    """Return a search by which each row's neighbours are rows of the other parity, and so are each query's."""
    rng = np.random.default_rng(0)
    n = Y.shape[0]
    known = [
        NeighborGraph(np.sort(rng.random((m, k + 1))), 2 * rng.integers(0, n // 2, (m, k + 1)) + odd[:, np.newaxis])
        for m, odd in ((n, 1 - np.arange(n) % 2), (len(queries), np.arange(len(queries)) % 2))
    ]
    return PrecomputedNeighbors(known[0], (known[1],))


@pytest.fixture(scope="module")
def many_labels():
    """X, sparse Y with 100,000 labels, the 300 that occur, queries and their neighbours.

    Label `columns[7]` is carried by the even rows, whose neighbours are odd: it is likely where it has no vote.
    """
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(N_ROWS, 2)), rng.normal(size=(2_000, 2))
    columns = np.sort(rng.choice(N_LABELS, 300, replace=False))
    row, label = np.repeat(np.arange(N_ROWS), 5), (300 * rng.random(5 * N_ROWS) ** 2).astype(int)
    few = np.zeros((N_ROWS, 300), dtype=np.int64)
    few[row, label] = 1
    few[:, 7] = 1 - np.arange(N_ROWS) % 2
    row, label = np.nonzero(few)
    Y = sparse.csr_array((np.ones(len(row), dtype=np.int8), (row, columns[label])), shape=(N_ROWS, N_LABELS))
    return X, Y, few, columns, queries, pairs_of_strangers(Y, queries)


@pytest.mark.parametrize("method", BY_COUNTS, ids=name_of)
def test_answers_are_those_of_the_labels_that_occur(many_labels, method):
    """With 100,000 labels, label sets and best labels are those of a dense fit on the 300 that occur."""
    X, Y, few, columns, queries, search = many_labels
    model, dense = method(10, search=search).fit(X, Y), method(10, search=search).fit(X, few)
    labels, expected = model.predict(queries), dense.predict(queries)
    assert sparse.issparse(labels)
    np.testing.assert_array_equal(labels[:, columns].toarray(), expected)
    assert labels.nnz == np.count_nonzero(expected)
    scores, best = model.predict_topk(queries, 4)
    expected_scores, expected_best = best_of_all(dense, queries, 4)
    np.testing.assert_array_equal(scores, expected_scores)
    voted = scores > 0
    np.testing.assert_array_equal(best[voted], columns[expected_best][voted])


@pytest.mark.parametrize("method", BY_COUNTS, ids=name_of)
def test_memory_goes_with_the_votes(many_labels, method):
    """Fit, label sets, best labels and sparse scores: 2,000 dense rows of scores would take 1,500 MiB."""
    X, Y, _, _, queries, search = many_labels
    tracemalloc.start()
    try:
        model = method(10, search=search).fit(X, Y)
        model.predict(queries)
        model.predict_topk(queries, 10)
        model.predict_proba_sparse(queries)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 150 * 2**20


def test_memory_of_leaving_out_does_not_grow_with_its_blocks(many_labels, monkeypatch):
    """The counts of 100,000 labels have 17 MiB, of 30 blocks of rows together 500 MiB."""
    X, Y, _, _, _, search = many_labels
    model = MLkNN(10, search=search).fit(X, Y)
    expected = model.loo_predict()
    monkeypatch.setattr(
        _counts, "_blocks", lambda units, n_rows, *_: [slice(at, at + 100) for at in range(0, n_rows, 100)]
    )
    tracemalloc.start()
    try:
        labels = model.loo_predict()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (labels != expected).nnz == 0
    assert peak < 150 * 2**20


@pytest.mark.parametrize("method", BY_COUNTS, ids=name_of)
def test_blocks_are_as_large_as_their_votes_allow(many_labels, method):
    """All queries fit one block, be there ever so many labels."""
    X, Y, _, _, queries, search = many_labels
    model = method(10, search=search).fit(X, Y)
    assert len(list(blocks(model, model._find_neighbors(queries)))) == 1


def test_labels_that_are_likely_without_a_vote(many_labels):
    """A label that no neighbour carries, and is therefore likely, is chosen and the best."""
    X, Y, _, columns, queries, search = many_labels
    model = MLkNN(10, search=search).fit(X, Y)
    even = np.arange(len(queries)) % 2 == 0  # their neighbours are even rows, which carry the label
    labels = model.predict(queries)[:, [columns[7]]].toarray().ravel()
    np.testing.assert_array_equal(labels, ~even)
    _, best = model.predict_topk(queries, 1)
    assert (best[~even, 0] == columns[7]).all()
    stored = model.predict_proba_sparse(queries)[:, [columns[7]]].toarray().ravel()
    np.testing.assert_array_equal(stored > 0, even)


@pytest.mark.pairs
@pytest.mark.parametrize(
    ("problem", "method", "container"),
    every_pair(ROWS, METHODS, ["dense", "csr_array", "csc_array"]),
    indirect=["problem"],
    ids=name_of,
)
def test_topk_equals_sorted_scores(problem, method, container):
    """Scores and labels are the first columns of the sorted dense scores, bit for bit, ties by label number."""
    X, Y, queries = problem
    model = method(4).fit(X, CONTAINERS[container](Y))
    for n_labels in (1, 3, 5):
        scores, labels = model.predict_topk(queries, n_labels)
        expected_scores, expected_labels = best_of_all(model, queries, n_labels)
        np.testing.assert_array_equal(scores, expected_scores)
        np.testing.assert_array_equal(labels, expected_labels)
        assert labels.dtype == np.intp


@pytest.mark.pairs
@pytest.mark.parametrize(
    ("method", "container", "budget"),
    every_pair(BY_COUNTS, ["dense", "csr_array"], [1, 5_000, 2**26]),
    ids=name_of,
)
def test_topk_of_many_ties(method, container, budget, monkeypatch):
    """With 80 labels of few distinct scores, in blocks of any size, sparse and dense agree with the sorted scores."""
    for function in ("row_blocks", "uneven_blocks"):
        monkeypatch.setattr(f"nearlabel.utils.validation.{function}.__defaults__", (budget,))
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 2)), (rng.random((60, 80)) < 0.05).astype(int)
    Y[:, 70] = rng.random(60) < 0.7
    model = method(5).fit(X, CONTAINERS[container](Y))
    for n_labels in (1, 7, 79, 80):
        scores, labels = model.predict_topk(X + 0.01, n_labels)
        expected_scores, expected_labels = best_of_all(model, X + 0.01, n_labels)
        np.testing.assert_array_equal(scores, expected_scores)
        np.testing.assert_array_equal(labels, expected_labels)


def test_topk_by_hand():
    """Shares 1/3, 1 and 1/3: the middle label, then the lower of the other two; a label without a vote is last."""
    X, Y = [[0.0], [1.0], [2.0]], [[1, 1, 0, 0], [0, 1, 1, 0], [0, 1, 0, 0]]
    for store in (np.asarray, sparse.csr_array):
        scores, labels = BRkNN(3).fit(X, store(Y)).predict_topk([[1.0]], 4)
        assert labels.tolist() == [[1, 0, 2, 3]]
        assert scores.tolist() == [[1.0, 1 / 3, 1 / 3, 0.0]]


@pytest.mark.parametrize(
    ("n_labels", "error", "message"),
    [
        (0, ValueError, "n_labels must be at least 1, got 0"),
        (4, ValueError, "n_labels must be at most the 3 labels of y, got 4"),
        (1.5, TypeError, "n_labels must be an integer, got 1.5 of type float"),
    ],
)
def test_topk_of_a_wrong_number(n_labels, error, message):
    """More labels than there are, or none, is an error."""
    model = MLkNN(2).fit(np.eye(4), [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])
    with pytest.raises(error, match=message):
        model.predict_topk(np.eye(4), n_labels)


def test_unfitted():
    """Without a fit there are no labels."""
    with pytest.raises(NotFittedError):
        MLkNN(3).predict_topk(np.eye(3), 1)
    with pytest.raises(NotFittedError):
        MLkNN(3).predict_proba_sparse(np.eye(3))


@pytest.mark.pairs
@pytest.mark.parametrize(
    ("problem", "model", "container"),
    every_pair(ROWS, MODELS, ["dense", "csr_array", "csc_array"]),
    indirect=["problem"],
    ids=name_of,
)
def test_sparse_scores_are_the_dense_ones(problem, model, container):
    """Stored are the dense scores of the labels with votes, bit for bit; the others are those without a vote."""
    X, Y, queries = problem
    model = clone(model).fit(X, CONTAINERS[container](Y))
    dense, stored = model.predict_proba(queries), model.predict_proba_sparse(queries)
    assert isinstance(stored, sparse.csr_array)
    assert stored.has_sorted_indices
    unvoted = model.posterior_[:, 0] if model.counts_rows else np.zeros(5)
    expected = np.tile(unvoted, (len(queries), 1))
    expected[stored.nonzero()] = stored.data
    np.testing.assert_array_equal(expected, dense)
    if type(model) is not CMLkNN:
        _, neighbors = model.search_.kneighbors(queries, 4)
        voted = Y[neighbors].any(axis=1)
        assert not stored.toarray()[~voted].any()
        assert getattr(model, "weights", "uniform") == "distance" or stored.toarray()[voted].all()


@pytest.mark.parametrize("container", ["dense", "csr_array"])
@pytest.mark.parametrize("k", long_after(2, [128, 256, 126, 127, 255]))
def test_more_votes_than_a_byte_holds(k, container):
    """Votes at and beyond the largest number of each small type are counted right."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(300, 2)), (rng.random((300, 3)) < [0.99, 0.5, 1.0]).astype(int)
    queries, store = rng.normal(size=(5, 2)), CONTAINERS[container]
    labels = BRkNN(k).fit(X, store(Y)).predict(store(queries))
    expected = [brknn(Y, nearest(X, query, k)) for query in queries]
    assert (labels.toarray() if sparse.issparse(labels) else labels).tolist() == expected
    posteriors, _ = mlknn(X, Y, queries, k, 1)
    np.testing.assert_allclose(MLkNN(k).fit(X, store(Y)).predict_proba(store(queries)), posteriors, rtol=0, atol=1e-12)


@pytest.mark.parametrize("budget", [1, 3_000, 2**26])
@pytest.mark.parametrize("share", [0.0, 0.005, 0.3, 1.0])
def test_counts_do_not_depend_on_storage(share, budget, monkeypatch):
    """Tables from few ones or many, sparse or dense, and in blocks of any size, equal a plain count."""
    monkeypatch.setattr("nearlabel.utils.validation.row_blocks.__defaults__", (budget,))
    rng = np.random.default_rng(0)
    Y, indices = (rng.random((50, 30)) < share).astype(np.int8), rng.integers(0, 50, (50, 3))
    expected = np.zeros((2, 30, 4), dtype=int)
    for row, neighbors in enumerate(indices):
        for label in range(30):
            expected[Y[row, label], label, Y[neighbors, label].sum()] += 1
    for store in (np.asarray, sparse.csr_array):
        np.testing.assert_array_equal(
            count_rows(Units(store(Y).astype(np.int8)), Neighbors(np.zeros(indices.shape), indices)), expected
        )


# What must be dense says so before it starts, where it is larger than the memory that is free.


@pytest.fixture
def no_memory(monkeypatch):
    """A machine on which a mebibyte is free, and a search that must not be asked."""
    monkeypatch.setattr(messages, "_WORTH_ASKING", 0)
    monkeypatch.setattr(messages, "free_bytes", lambda unknown: 2**20)

    class Refuses(ExactNeighbors):
        def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
            raise AssertionError("the search was asked")

    return Refuses()


def of_some(model, n_rows=300, n_labels=700):
    """Fit a model to label sets, sparse, of which a dense matrix of scores has 1.6 MiB."""
    rng = np.random.default_rng(0)
    Y = sparse.random_array((n_rows, n_labels), density=0.01, random_state=rng, dtype=np.float64)
    Y.data[:] = 1
    return model.fit(rng.normal(size=(n_rows, 3)), Y.astype(np.int64).tocsr())


@pytest.mark.parametrize("method", [BRkNN, MLkNN], ids=name_of)
def test_dense_scores_say_so_before_the_search(no_memory, method):
    """By queries and left out; the message has the size, what there is, and what else to do. Few queries pass."""
    model = of_some(method(3))
    before = model.search_
    model.search_ = no_memory
    wanted = "300 queries x 700 labels (1.6 MiB) must fit into memory, got 1 MiB that are free. Hint: predict blocks"
    with pytest.raises(TooLargeError, match=re.escape(f"scores of {wanted}")):
        model.predict_proba(np.zeros((300, 3)))
    wanted = "300 samples x 700 labels (1.6 MiB) must fit into memory, got 1 MiB that are free. Hint: loo_predict"
    with pytest.raises(TooLargeError, match=re.escape(f"leave-one-out scores of {wanted}")):
        model.loo_predict_proba()
    model.search_ = before
    assert model.predict_proba(np.zeros((20, 3))).shape == (20, 700)
    assert model.predict(np.zeros((300, 3))).shape == (300, 700)
    assert model.predict_topk(np.zeros((300, 3)), 5)[0].shape == (300, 5)


@pytest.mark.parametrize(
    ("model", "sides"),
    [
        (IBLR(3), "700 labels x 700 labels (3.74 MiB)"),
        (CMLkNN(3), "700 labels x 700 labels (3.74 MiB)"),
        (NLDD(), "300 samples x 700 labels (1.6 MiB)"),
        *((rival, "300 samples x 658 labels (1.51 MiB)") for rival in RIVALS),
    ],
    ids=name_of,
)
def test_fits_that_need_a_dense_matrix_say_so(no_memory, model, sides):
    """Before the search; of few labels they do not."""
    name = type(model).__name__
    with pytest.raises(TooLargeError, match=re.escape(f"a dense matrix in {name} of {sides} must fit into memory")):
        of_some(clone(model).set_params(search=no_memory) if name in ("IBLR", "CMLkNN") else model)
    assert of_some(clone(model), 60, 6).predict(np.zeros((2, 3))).shape == (2, 6)


def test_labels_that_no_sample_varies_in_need_no_room(no_memory):
    """A dense matrix is one of the labels that some samples have and others have not."""
    rng = np.random.default_rng(0)
    few = sparse.csr_array(rng.integers(0, 2, (300, 6)))
    Y = sparse.hstack([few, sparse.csr_array((300, 694), dtype=np.int64)], format="csr")
    assert AdaBoostMH(1).fit(rng.normal(size=(300, 3)), Y).predict(np.zeros((2, 3))).shape == (2, 700)


def test_ml_mlm_says_what_is_too_large(no_memory):
    """Its coefficients, before the equations; scores, before the first; label sets of many queries need no scores."""
    with pytest.raises(TooLargeError, match=r"coefficients of ML-MLM of 600 landmarks x \d+ label sets \(\S+ MiB\)"):
        of_some(MLMLM(), n_rows=600)
    model = of_some(MLMLM(n_landmarks=20))
    wanted = "leave-one-out scores of 300 samples x 700 labels (1.6 MiB) must fit into memory, got 1 MiB that are free"
    with pytest.raises(TooLargeError, match=re.escape(wanted)):
        model.loo_predict_proba()
    assert model.predict(np.zeros((300, 3))).shape == (300, 700)


def test_ml_mlm_decides_in_blocks():
    """Sparse label sets of many queries and labels take no matrix of all scores, and are those of the scores."""
    model = of_some(MLMLM(power=2.0), n_labels=2_000)
    queries = np.random.default_rng(1).normal(size=(4_000, 3))
    tracemalloc.start()
    predicted = model.predict(queries)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 4_000 * 2_000  # the scores
    some = slice(0, 40)
    np.testing.assert_array_equal(predicted[some].toarray(), model.predict_proba(queries[some]) > model.threshold_)


def test_similarities_of_labels_say_so(no_memory):
    """They are those of all pairs of labels."""
    wanted = "similarities of 700 labels x 700 labels (3.74 MiB) must fit into memory"
    with pytest.raises(TooLargeError, match=re.escape(wanted)):
        coupled_similarity(np.ones((3, 2)), sparse.csr_array((3, 700), dtype=np.int64))


@pytest.mark.parametrize(("strategy", "cv"), [(GlobalCut(), "loo"), (MicroFOptimum(), 3)])
def test_thresholds_that_need_dense_scores_say_so(no_memory, strategy, cv):
    """Before anything is fitted; those of the default strategy by leaving one out need none."""
    wanted = "held-out scores of 300 samples x 700 labels (1.6 MiB) must fit into memory"
    with pytest.raises(TooLargeError, match=re.escape(wanted)):
        of_some(TunedThresholdsClassifierCV(BRkNN(3, search=no_memory), strategy, cv=cv))
    assert hasattr(of_some(TunedThresholdsClassifierCV(BRkNN(3), cv="loo")), "thresholds_")


@pytest.mark.parametrize("method", [BRkNN, BRkNNb, LPkNN, MLkNN, DMLkNN], ids=name_of)
@pytest.mark.parametrize(
    "wrap", [lambda one: one, lambda one: make_pipeline(StandardScaler(), one)], ids=["", "scaled"]
)
@pytest.mark.parametrize("strategy", [MicroFOptimum(), SCut(), FBR(SCut())], ids=name_of)
def test_thresholds_decide_without_dense_scores(method, wrap, strategy, monkeypatch):
    """Label sets are those by dense scores, of which none are made."""
    tuned = of_some(TunedThresholdsClassifierCV(wrap(method(3)), strategy, cv="loo"))
    queries = np.random.default_rng(1).normal(size=(50, 3))
    expected = tuned.label_sets_of(tuned.predict_proba(queries))
    fixed = of_some(FixedThresholdsClassifier(wrap(method(3)), tuned.thresholds_))
    monkeypatch.setattr(messages, "_WORTH_ASKING", 0)
    monkeypatch.setattr(messages, "free_bytes", lambda unknown: 0)
    for model in (tuned, fixed):
        labels = model.predict(queries)
        assert sparse.issparse(labels)
        np.testing.assert_array_equal(labels.toarray(), expected)


def test_bounds_on_sizes_are_kept_with_sparse_labels():
    """Sizes need all scores of a row."""
    tuned = of_some(TunedThresholdsClassifierCV(BRkNN(3), cv="loo", at_least=2, at_most=3))
    sizes = tuned.predict(np.random.default_rng(1).normal(size=(50, 3))).sum(axis=1)
    assert sizes.min() >= 2
    assert sizes.max() <= 3
