"""Leave-one-out answers in blocks with the neighbours behind them, and with other label sets: equal to refits."""

import numpy as np
import pytest
from scipy import sparse

from nearlabel.lazy import BRkNN, BRkNNa, BRkNNb, CMLkNN, DMLkNN, LPkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors, PrecomputedNeighbors
from nearlabel.utils.validation import as_dense

METHODS = [
    BRkNN(3), BRkNNa(3, weights="distance"), BRkNNb(3), LPkNN(3), MLkNN(3), MLkNN(3, weights="distance"), DMLkNN(3),
    CMLkNN(3),
]  # fmt: skip


def problem(seed=0):
    """Rows with many ties and copies, and label sets."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 3, (30, 3)).astype(float), (rng.random((30, 4)) < 0.4).astype(int)


def joined(answers):
    """The rows, label sets and scores of all blocks."""
    rows, labels, scores = zip(*answers, strict=True)
    return np.concatenate(rows), np.vstack([as_dense(part) for part in labels]), np.vstack(scores)


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_blocks_are_the_leave_one_out_answers(method, store, monkeypatch):
    """All blocks together are `loo_predict` and `loo_predict_proba`, also the second time, and however small."""
    X, y = problem()
    fitted = method.fit(X, store(y))
    for function in ("row_blocks", "uneven_blocks"):
        monkeypatch.setattr(f"nearlabel.utils.validation.{function}.__defaults__", (1000,))
    left_out = fitted.loo_with_neighbors()
    for _ in range(2):
        rows, labels, scores = joined(left_out.answers())
        np.testing.assert_array_equal(rows, np.arange(30))
        np.testing.assert_array_equal(labels, as_dense(fitted.loo_predict()))
        np.testing.assert_array_equal(scores, fitted.loo_predict_proba())


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_the_neighbours_are_those_of_the_search(method):
    """Distances and indices are those that a search finds, whether or not `fit` has kept them."""
    X, y = problem()
    left_out = method.fit(X, y).loo_with_neighbors()
    distances, indices = ExactNeighbors().fit(X).kneighbors(None, 3)
    np.testing.assert_array_equal(left_out.indices, indices)
    np.testing.assert_array_equal(left_out.distances, distances)


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_other_label_sets_are_answered_as_by_a_refit(method, store):
    """`relabelled` gives what a fit to the other label sets gives, and leaves the classifier as it is."""
    X, y = problem()
    other = y.copy()
    other[[2, 5, 9], [0, 3, 3]] = 1 - other[[2, 5, 9], [0, 3, 3]]
    fitted = method.fit(X, store(y))
    before = fitted.loo_predict_proba()
    _, labels, scores = joined(fitted.loo_with_neighbors().relabelled(store(other)).answers())
    np.testing.assert_array_equal(fitted.loo_predict_proba(), before)
    refitted = method.fit(X, store(other))
    np.testing.assert_array_equal(labels, as_dense(refitted.loo_predict()))
    np.testing.assert_array_equal(scores, refitted.loo_predict_proba())


@pytest.mark.parametrize("method", [BRkNN(3), MLkNN(3), BRkNN(3, weights="distance")], ids=str)
def test_some_labels_are_answered_as_among_all(method):
    """Where labels are decided by their own votes, answers for some columns are those columns of all answers."""
    X, y = problem()
    left_out = method.fit(X, y).loo_with_neighbors()
    _, labels, scores = joined(left_out.relabelled(y[:, [3, 1]]).answers())
    np.testing.assert_array_equal(labels, method.loo_predict()[:, [3, 1]])
    np.testing.assert_array_equal(scores, method.loo_predict_proba()[:, [3, 1]])


def test_weights_of_rows_count_after_relabelling():
    """A fit with sample weights stays one."""
    X, y = problem()
    weight = np.arange(1, 31) % 3 + 1.0
    other = 1 - y
    fitted = BRkNN(3).fit(X, y, sample_weight=weight)
    _, _, scores = joined(fitted.loo_with_neighbors().relabelled(other).answers())
    np.testing.assert_array_equal(scores, BRkNN(3).fit(X, other, sample_weight=weight).loo_predict_proba())


@pytest.mark.parametrize("method", [BRkNN(3), MLkNN(3)], ids=str)
def test_unknown_cells_are_answered_but_not_relabelled(method):
    """With unknown cells the answers are the known ones; other label sets would need other neighbours."""
    X, y = problem()
    holes = np.where(np.random.default_rng(1).random(y.shape) < 0.2, np.nan, y)
    fitted = method.fit(X, holes)
    left_out = fitted.loo_with_neighbors()
    rows, labels, scores = joined(left_out.answers())
    np.testing.assert_array_equal(rows, np.arange(30))
    np.testing.assert_array_equal(labels, fitted.loo_predict())
    np.testing.assert_array_equal(scores, fitted.loo_predict_proba())
    with pytest.raises(ValueError, match="y must have no unknown cells to try other label sets"):
        left_out.relabelled(y)


@pytest.mark.parametrize("method", [BRkNN(3), MLkNN(3)], ids=str)
def test_neighbours_found_before_serve(method):
    """A search without rows of its own, which knows the neighbours, is enough."""
    X, y = problem()
    known = PrecomputedNeighbors.from_search(ExactNeighbors(), X, n_neighbors=4)
    left_out = method.set_params(search=known).fit(X, y).loo_with_neighbors()
    _, _, scores = joined(left_out.answers())
    np.testing.assert_array_equal(scores, method.set_params(search=None).fit(X, y).loo_predict_proba())


def test_after_updates_the_answers_are_those_of_the_present_rows():
    """Rows that came and went leave lists that are as a fit's."""
    X, y = problem()
    updated = MLkNN(3).fit(X[:25], y[:25]).partial_fit(X[25:], y[25:]).forget([0, 7])
    left = np.setdiff1d(np.arange(30), [0, 7])
    _, _, scores = joined(updated.loo_with_neighbors().answers())
    fitted = MLkNN(3).fit(X[left], y[left])
    np.testing.assert_array_equal(scores, fitted.loo_predict_proba())
    np.testing.assert_array_equal(updated.loo_with_neighbors().indices, fitted.loo_with_neighbors().indices)
