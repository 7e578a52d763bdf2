"""`partial_fit` and `forget`: after each step everything equals a fit of the present rows in their order, to the bit."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from nearlabel.lazy import IBLR, NLDD, BRkNN, BRkNNa, BRkNNb, CMLkNN, DMLkNN, LPkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors
from nearlabel.utils.validation import as_dense

N_LABELS = 4
METHODS = {
    "BRkNN": BRkNN,
    "BRkNNa": BRkNNa,
    "BRkNNb": partial(BRkNNb, weights="distance"),
    "LPkNN": LPkNN,
    "MLkNN": MLkNN,
    "MLkNN by distance": partial(MLkNN, weights="distance"),
    "DMLkNN": partial(DMLkNN, delta=1),
    "CMLkNN": CMLkNN,
    "CMLkNN, given": partial(CMLkNN, similarity=np.eye(N_LABELS)),
}
PROBLEMS = {
    "whole": (np.asarray, np.asarray, "euclidean"),
    "sparse": (sparse.csr_array, sparse.csr_array, "euclidean"),
    "sparse labels": (np.asarray, sparse.csr_array, "manhattan"),
    "cosine": (sparse.csr_array, np.asarray, "cosine"),
}


class Drawn:
    """Rows with many ties and duplicates, and label sets that depend on them."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def rows(self, n_rows):
        """Return whole numbers."""
        return self.random.integers(0, 4, size=(n_rows, 3)).astype(np.float64)

    def labels(self, X, n_labels=N_LABELS):
        """Return label sets, the last label of few rows."""
        noise = self.random.random((len(X), n_labels))
        chance = np.stack([(X[:, label % 3] + 0.3) / (5 + 10 * (label == n_labels - 1)) for label in range(n_labels)])
        return (noise < chance.T).astype(np.int64)


def assert_like_a_fit(model, make, X, y, queries):
    """Compare all answers, and what was learnt, with those of a fit."""
    fitted = make().fit(X, y)
    assert model._n_samples == X.shape[0]
    for answer in ("predict_proba", "predict"):
        np.testing.assert_array_equal(
            as_dense(getattr(model, answer)(queries)), as_dense(getattr(fitted, answer)(queries))
        )
    for answer in ("loo_predict_proba", "loo_predict"):
        np.testing.assert_array_equal(as_dense(getattr(model, answer)()), as_dense(getattr(fitted, answer)()))
    for name, value in vars(fitted).items():
        if name.endswith("_") and isinstance(value, np.ndarray):
            np.testing.assert_array_equal(getattr(model, name), value, err_msg=name)
    if hasattr(fitted, "_counts"):
        np.testing.assert_array_equal(model._counts, fitted._counts)
        np.testing.assert_array_equal(model._training_distances, fitted._training_distances)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("method", METHODS)
def test_after_each_step_it_is_like_a_fit(method, problem):
    """Rows come and go, one or many at a time."""
    store_X, store_y, metric = PROBLEMS[problem]
    drawn = Drawn(seed=5)

    def make():
        return METHODS[method](3, search=ExactNeighbors(metric))

    X = drawn.rows(40)
    y = drawn.labels(X)
    model = make().fit(store_X(X), store_y(y))
    for step in range(8):
        if step % 2:
            gone = drawn.random.choice(len(X), size=drawn.random.choice([1, 2, len(X) // 3]), replace=False)
            X, y = np.delete(X, gone, axis=0), np.delete(y, gone, axis=0)
            result = model.forget(gone)
        else:
            more = drawn.rows(drawn.random.choice([1, 2, 5]))
            X, y = np.vstack([X, more]), np.vstack([y, drawn.labels(more)])
            result = model.partial_fit(store_X(more), store_y(y[-len(more) :]))
        assert result is model
        assert_like_a_fit(model, make, store_X(X), store_y(y), store_X(drawn.rows(10)))


@pytest.mark.long
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_two_hundred_steps(method, problem, seed):
    """As above, 200 times."""
    store_X, store_y, metric = PROBLEMS[problem]
    drawn = Drawn(seed)

    def make():
        return METHODS[method](3, search=ExactNeighbors(metric))

    X = drawn.rows(25)
    y = drawn.labels(X)
    model = make().fit(store_X(X), store_y(y))
    for _ in range(200):
        if len(X) > 8 and drawn.random.random() < 0.5:
            gone = drawn.random.choice(len(X), size=drawn.random.choice([1, 1, 3]), replace=False)
            X, y = np.delete(X, gone, axis=0), np.delete(y, gone, axis=0)
            model.forget(gone)
        else:
            more = drawn.rows(drawn.random.choice([1, 1, 3]))
            X, y = np.vstack([X, more]), np.vstack([y, drawn.labels(more)])
            model.partial_fit(store_X(more), store_y(y[-len(more) :]))
        assert_like_a_fit(model, make, store_X(X), store_y(y), store_X(drawn.rows(4)))


@pytest.mark.parametrize("method", METHODS)
def test_a_row_that_is_nobodys_neighbour(method):
    """It comes and goes, and no other row's list or votes change."""
    drawn = Drawn(seed=1)
    X = drawn.rows(40)
    y = drawn.labels(X)
    far = np.full((1, 3), 1e3)
    model = METHODS[method](3).fit(X, y).partial_fit(far, y[:1])
    make = partial(METHODS[method], 3)
    assert_like_a_fit(model, make, np.vstack([X, far]), np.vstack([y, y[:1]]), X[:5])
    assert_like_a_fit(model.forget([40]), make, X, y, X[:5])


@pytest.mark.parametrize("method", METHODS)
def test_new_labels_are_those_of_a_padded_fit(method):
    """A further column, and later labels that go again, though not from the names."""
    if method == "CMLkNN, given":
        pytest.skip("its similarity is of so many labels")
    drawn = Drawn(seed=2)
    X = drawn.rows(40)
    y = drawn.labels(X, 6)
    y[:30, 4:] = 0
    model = METHODS[method](3).fit(X[:30], y[:30, :4])
    model.partial_fit(X[30:35], y[30:35, :5]).partial_fit(X[35:], y[35:])
    assert model.changes_ == {"added": 10, "forgotten": 0, "new_labels": [4, 5]}
    assert_like_a_fit(model, lambda: METHODS[method](3), X, y, drawn.rows(10))
    model.forget(np.arange(30, 40))
    assert_like_a_fit(model, lambda: METHODS[method](3), X[:30], y[:30], drawn.rows(10))
