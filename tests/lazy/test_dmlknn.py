"""DML-kNN: against loops in fractions, against ML-kNN, and the choice of delta against refits."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from _pairs import every_pair
from _reference import dmlknn
from conftest import CONTAINERS, ROWS
from nearlabel.datasets import fetch_dataset
from nearlabel.lazy import DMLkNN, MLkNN
from nearlabel.lazy._counts import Units
from nearlabel.lazy._dmlknn import VoteVectors
from nearlabel.metrics import micro_f1
from nearlabel.neighbors import ExactNeighbors, PrecomputedNeighbors
from nearlabel.utils.validation import as_dense

SETTINGS = [(1, 0, 1), (4, 1, 0.1), (7, 2, 2.5), (10, 4, 1), (39, 6, 1)]  # neighbours, delta, smoothing


@pytest.mark.parametrize(
    ("problem", "settings", "cells", "container"),
    every_pair(ROWS, SETTINGS, ["counts", "labels"], ["dense", "csr_array", "csc_array"]),
    indirect=["problem"],
    ids=str,
)
def test_equals_loops(problem, settings, cells, container):
    """Posteriors agree with fractions to 1e-12 and label sets in every cell, labels with one class included."""
    X, Y, queries = problem
    k, delta, smoothing = settings
    store = CONTAINERS[container]
    model = DMLkNN(k, delta=delta, smoothing=smoothing, cells=cells).fit(store(X), store(Y))
    posteriors, labels = dmlknn(X, Y, queries, k, delta, smoothing, cells=cells)
    np.testing.assert_allclose(model.predict_proba(queries), posteriors, rtol=0, atol=1e-12)
    assert as_dense(model.predict(queries)).tolist() == labels


@pytest.mark.parametrize("container", ["dense", "csr_array"])
@pytest.mark.parametrize(("k", "delta"), [(1, 1), (6, 6), (6, 99), (38, 38)])
def test_a_box_of_all_rows_is_mlknn(problem, k, delta, container):
    """Every score is that of ML-kNN, bit for bit, also without each row and without each group."""
    X, Y, queries = problem
    Y, groups = CONTAINERS[container](Y), np.arange(40) // 2
    ours, theirs = DMLkNN(k, delta=delta, smoothing=0.3).fit(X, Y), MLkNN(k, smoothing=0.3).fit(X, Y)
    np.testing.assert_array_equal(ours.predict_proba(queries), theirs.predict_proba(queries))
    np.testing.assert_array_equal(ours.prior_, theirs.prior_)
    np.testing.assert_array_equal(ours.loo_predict_proba(), theirs.loo_predict_proba())
    if k < 38:
        np.testing.assert_array_equal(ours.loo_predict_proba(groups), theirs.loo_predict_proba(groups))


def test_by_hand():
    """Five points on a line, k = 1, delta = 0: a row counts only if its neighbour has the query's label set."""
    X, Y = [[0.0], [1.0], [10.0], [11.0], [30.0]], [[1, 0], [1, 0], [1, 1], [0, 1], [0, 0]]
    # The neighbours of the rows are 1, 0, 3, 2, 3: their votes are 10, 10, 01, 11, 01. At 0.2 the votes are 10:
    # rows 0 and 1 are in the box, and both carry label 0 (of 3 that do), none label 1 (of 2).
    scores = DMLkNN(1, delta=0).fit(X, Y).predict_proba([[0.2]])
    yes, no = [4 / 7 * 3 / 5, 3 / 7 * 1 / 4], [3 / 7 * 1 / 4, 4 / 7 * 3 / 5]
    np.testing.assert_allclose(scores, [[y / (y + n) for y, n in zip(yes, no, strict=True)]], rtol=0, atol=1e-15)
    # ML-kNN counts row 3, too, for label 0: it has the vote, but not the other label's.
    assert MLkNN(1).fit(X, Y).predict_proba([[0.2]])[0, 0] < scores[0, 0]


@pytest.mark.parametrize("delta", [0, 1, 4])
@pytest.mark.parametrize("n_labels", [1, 3, 40])
def test_counts_in_boxes(delta, n_labels, monkeypatch):
    """Dense and CSR votes, few and many labels, equal vectors: the rows in each box are those that a loop counts."""
    rng = np.random.default_rng(n_labels)
    chances = rng.choice([0.02, 0.3, 0.9], n_labels)
    votes = rng.binomial(5, chances, (80, n_labels)).astype(np.int8)
    labels = (rng.random((80, n_labels)) < chances).astype(np.int8)
    asked = np.vstack([votes[:20], rng.binomial(5, chances, (20, n_labels))])
    expected = np.zeros((2, *asked.shape), dtype=int)
    for query, at in enumerate(asked):
        for of_row, carried in zip(votes, labels, strict=True):
            if np.abs(of_row.astype(int) - at).max() <= delta:
                np.add.at(expected, (carried, query, np.arange(n_labels)), of_row == at)
    for store in (np.asarray, sparse.csr_array):
        vectors = VoteVectors.of(store(votes), Units(store(labels)))
        assert len(vectors.n_rows) == len(np.unique(votes, axis=0))
        np.testing.assert_array_equal(vectors.counts_at(asked, delta), expected)
        monkeypatch.setattr("nearlabel.lazy._dmlknn.N_VECTORS", 7)
        np.testing.assert_array_equal(vectors.counts_at(asked, delta), expected)


@pytest.mark.parametrize("k", [127, 128, 255, 256])
def test_more_votes_than_a_byte_holds(k):
    """Differences of votes at and beyond the largest number of each small type are right."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(300, 2)), (rng.random((300, 3)) < [0.99, 0.5, 0.01]).astype(int)
    ours, theirs = DMLkNN(k, delta=k).fit(X, Y), MLkNN(k).fit(X, Y)
    np.testing.assert_array_equal(ours.loo_predict_proba(), theirs.loo_predict_proba())
    near = DMLkNN(k, delta=3).fit(X, Y)
    others = np.arange(300) != 7
    refit = clone(near).fit(X[others], Y[others])
    np.testing.assert_array_equal(near.loo_predict_proba()[7], refit.predict_proba(X[[7]])[0])


@pytest.mark.long
@pytest.mark.parametrize("container", ["dense", "csr_array"])
def test_delta_of_the_best_leave_one_out(container):
    """`delta_scores_` are the micro F1 of refits without each row; the best, of equals the largest delta, is taken."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 2))
    Y = (np.column_stack([X > 0, X.sum(axis=1) > 0.5]) ^ (rng.random((30, 3)) < 0.15)).astype(int)
    store = CONTAINERS[container]
    model = DMLkNN(4, delta="auto").fit(X, store(Y))
    for delta in range(5):
        predicted = []
        for i in range(30):
            others = np.arange(30) != i
            predicted.append(DMLkNN(4, delta=delta).fit(X[others], Y[others]).predict(X[[i]])[0])
        assert model.delta_scores_[delta] == micro_f1(Y, np.array(predicted))
    assert model.delta_ == np.flatnonzero(model.delta_scores_ == model.delta_scores_.max())[-1]
    fixed = DMLkNN(4, delta=model.delta_).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), fixed.predict_proba(X))
    np.testing.assert_array_equal(model.loo_predict_proba(), fixed.loo_predict_proba())


def test_both_numbers_are_chosen_together():
    """Each number of neighbours is judged with the best delta for it, from one search."""
    rng = np.random.default_rng(4)
    X, Y = rng.normal(size=(11, 2)), rng.integers(0, 2, (11, 3))
    model = DMLkNN("auto", delta="auto").fit(X, Y)
    single = [DMLkNN(k, delta="auto").fit(X, Y) for k in model.cv_results_["n_neighbors"]]
    assert model.cv_results_["micro_f1"].tolist() == [one.delta_scores_.max() for one in single]
    chosen = single[np.argmax(model.cv_results_["micro_f1"])]
    assert (model.n_neighbors_, model.delta_) == (chosen.n_neighbors_, chosen.delta_)
    np.testing.assert_array_equal(model.predict_proba(X), chosen.predict_proba(X))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"delta": -1}, ValueError, "delta must be at least 0, got -1"),
        ({"delta": 2.5}, TypeError, "delta must be an integer, got 2.5"),
        ({"delta": "all"}, ValueError, "delta must be an integer or 'auto', got 'all'"),
        ({"cells": "pairs"}, ValueError, r"cells must be one of \['counts', 'labels'\], got 'pairs'"),
        ({"smoothing": 0}, ValueError, "smoothing must be"),
        ({"delta": "auto", "n_neighbors": 7}, ValueError, "n_neighbors must be at most 6 if delta .*, got 7. Hint"),
    ],
)
def test_bad_parameters(options, error, message):
    """A parameter out of range is named."""
    with pytest.raises(error, match=message):
        DMLkNN(**{"n_neighbors": 2, **options}).fit(np.eye(8), np.eye(8, dtype=int))


def test_a_search_that_knows_too_few():
    """To choose delta, the search must know one neighbour more, as to leave rows out."""
    X, Y = np.random.default_rng(0).normal(size=(9, 2)), np.eye(9, dtype=int)
    known = PrecomputedNeighbors.from_search(ExactNeighbors(), X, n_neighbors=3)
    assert DMLkNN(3, delta=1, search=known).fit(X, Y).delta_ == 1
    with pytest.raises(ValueError, match="n_neighbors must be at most 2 if delta is selected by leave-one-out, got"):
        DMLkNN(3, delta="auto", search=known).fit(X, Y)


def test_explanation():
    """Rows in the box, prior and likelihoods give the score; a change in votes is tried with the others as they are."""
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(40, 2)), rng.integers(0, 2, (40, 3))
    model = DMLkNN(4, delta=1).fit(X, Y)
    for one in model.explain(X[:8] + 0.1):
        assert one.settings["delta"] == 1
        for row in one.to_dict()["labels"]:
            n1, column = Y[:, row["label"]].sum(), Y[:, row["label"]]
            assert row["likelihood"] == (1 + row["with_in_box"]) / (5 + n1)
            assert row["likelihood_without"] == (1 + row["without_in_box"]) / (5 + 40 - n1)
            assert row["prior"] == (1 + column.sum()) / 42
            yes, no = row["prior"] * row["likelihood"], row["prior_without"] * row["likelihood_without"]
            assert row["score"] == pytest.approx(yes / (yes + no), abs=1e-15)
            changed = np.tile(one.labels["votes"], (5, 1))
            changed[:, row["label"]] = np.arange(5)
            np.testing.assert_array_equal(
                row["score_at"],
                model._score_counts(model._vectors.counts_at(changed, 1), model._totals)[:, row["label"]],
            )


def test_many_labels():
    """A sparse y of 3,000 labels, of which a row has few."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(400, 2)), sparse.random_array((400, 3000), density=0.001, random_state=rng, format="csr")
    Y.data[:] = 1
    common = sparse.csr_array((rng.random((400, 3)) < [0.9, 0.5, 0.3]).astype(float))
    Y = sparse.hstack([common, Y], format="csr").astype(int)
    model = DMLkNN(5, delta=2).fit(X, Y)
    labels, scores = model.predict(X[:20] + 0.01), model.predict_proba(X[:20] + 0.01)
    assert sparse.issparse(labels)
    np.testing.assert_array_equal(labels.toarray(), scores >= 0.5)
    dense = DMLkNN(5, delta=2).fit(X, Y.toarray())
    np.testing.assert_array_equal(dense.predict_proba(X[:20] + 0.01), scores)
    best = model.predict_topk(X[:20] + 0.01, 3)[0]
    np.testing.assert_array_equal(best, -np.sort(-scores, axis=1)[:, :3])


@pytest.mark.long
@pytest.mark.parametrize(("name", "delta"), [("emotions", 3), ("yeast", 4), ("enron", 4)])
def test_equals_loops_on_real_data(data_folder, name, delta):
    """Posteriors of real rows agree with fractions to 1e-12, label sets exactly."""
    data = fetch_dataset(name)
    X, Y = as_dense(data.X[:160])[:, :60].astype(float), as_dense(data.Y[:160])[:, :6].astype(int)
    model = DMLkNN(10, delta=delta).fit(X[:140], Y[:140])
    posteriors, labels = dmlknn(X[:140].tolist(), Y[:140].tolist(), X[140:].tolist(), 10, delta)
    np.testing.assert_allclose(model.predict_proba(X[140:]), posteriors, rtol=0, atol=1e-12)
    assert model.predict(X[140:]).tolist() == labels
