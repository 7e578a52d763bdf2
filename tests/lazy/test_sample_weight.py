"""Weights of training rows in the methods that count votes."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from nearlabel.lazy import BRkNN, BRkNNa, BRkNNb, LPkNN
from nearlabel.utils.validation import as_dense

METHODS = [BRkNN, BRkNNa, BRkNNb, LPkNN, partial(LPkNN, ties="frequent")]


def make(seed=0, n=40):
    """Rows with ties, label sets, queries and weights, some of them 0."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, 3)).astype(float)
    return X, rng.integers(0, 2, (n, 4)), rng.integers(0, 4, (9, 3)) + 0.25, rng.integers(0, 4, n).astype(float)


@pytest.mark.parametrize("method", METHODS)
def test_weights_of_one_change_no_bit(method):
    """They are as no weights."""
    X, Y, queries, _ = make()
    plain, weighted = method(5).fit(X, Y), method(5).fit(X, Y, sample_weight=np.ones(len(X)))
    np.testing.assert_array_equal(weighted.predict_proba(queries), plain.predict_proba(queries))
    np.testing.assert_array_equal(weighted.predict(queries), plain.predict(queries))
    np.testing.assert_array_equal(weighted.loo_predict_proba(), plain.loo_predict_proba())


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_scores_are_weighted_shares(weights, container):
    """A score is the weight of the neighbours that carry the label over that of all; rows of weight 0 are none."""
    X, Y, queries, w = make(1)
    model = BRkNN(5, weights=weights).fit(X, container(Y), sample_weight=w)
    X, Y, w = X[w > 0], Y[w > 0], w[w > 0]
    for query, scores in zip(queries, model.predict_proba(queries), strict=True):
        distances = np.sqrt(((X - query) ** 2).sum(axis=1))
        nearest = np.lexsort((np.arange(len(X)), distances))[:5]
        votes = w[nearest] * (1 / distances[nearest] if weights == "distance" else 1)
        np.testing.assert_allclose(scores, votes @ Y[nearest] / votes.sum(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_leaving_one_out_equals_refits(method):
    """Each row's answer is that of a fit of the others, with their weights."""
    X, Y, _, w = make(2)
    X, Y, w = X[w > 0], Y[w > 0], w[w > 0]
    model = method(4).fit(X, Y, sample_weight=w)
    rows = np.arange(len(X))
    refits = [method(4).fit(X[rows != i], Y[rows != i], sample_weight=w[rows != i]) for i in rows]
    scores = np.vstack([refit.predict_proba(X[[i]]) for i, refit in zip(rows, refits, strict=True)])
    np.testing.assert_array_equal(model.loo_predict_proba(), scores)
    labels = np.vstack([refit.predict(X[[i]]) for i, refit in zip(rows, refits, strict=True)])
    np.testing.assert_array_equal(model.loo_predict(), labels)


def test_an_explanation_shows_the_weights():
    """The score is the summed weight over the total weight."""
    X, Y, queries, w = make(3)
    (one,) = BRkNN(5).fit(X, Y, sample_weight=w + 1).explain(queries[:1])
    np.testing.assert_array_equal(one.labels["score"], one.labels["weight"] / one.settings["total_weight"])
    np.testing.assert_array_equal(one.neighbors["weight"], (w + 1)[one.neighbors["row"]])


def test_in_a_pipeline_and_bad_weights():
    """Pipelines pass them on; malformed ones are refused."""
    X, Y, queries, w = make(4)
    model = make_pipeline(MinMaxScaler(), BRkNN(3)).fit(X, Y, brknn__sample_weight=w)
    assert model.predict(queries).shape == (9, 4)
    for bad in (-w, w[:-1], w * np.nan):
        with pytest.raises(ValueError, match=r"sample_weight|inconsistent"):
            BRkNN(3).fit(X, Y, sample_weight=bad)


def test_label_sets_by_weight():
    """Of LPkNN the label set of most weight is predicted; ties go by the weight of all samples, if so asked."""
    X, y = [[0.0], [1.0], [2.0], [3.0], [50.0]], [[1, 0], [1, 0], [0, 1], [1, 1], [1, 1]]
    assert LPkNN(4).fit(X, y).predict([[1.4]]).tolist() == [[1, 0]]
    assert LPkNN(4).fit(X, y, sample_weight=[1, 1, 2.5, 1, 1]).predict([[1.4]]).tolist() == [[0, 1]]
    tie = [1, 1, 1.5, 2, 0.25]
    assert LPkNN(4).fit(X, y, sample_weight=tie).predict([[1.4]]).tolist() == [[1, 0]]
    frequent = LPkNN(4, ties="frequent").fit(X, y, sample_weight=tie)
    assert frequent.predict([[1.4]]).tolist() == [[1, 1]]
    (one,) = frequent.explain([[1.4]])
    assert one.labelsets["votes"].tolist() == [2, 2, 1.5]
    assert one.labelsets["frequency"].tolist() == [2.25, 2, 1.5]
    assert "the label set of most weight (2 tie with 2 votes each; ties='frequent' decides)" in " ".join(
        str(one).split()
    )
    assert one.labels["score"].tolist() == [4 / 5.5, 3.5 / 5.5]


@pytest.mark.parametrize("ties", ["nearest", "frequent"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_updates_of_label_sets(ties, container):
    """Votes and frequencies follow the weights of added and removed samples."""
    X, Y, queries, w = make(5)
    w = w / 4 + 0.3
    updated = LPkNN(4, ties=ties).fit(X[:20], container(Y[:20]))
    updated.partial_fit(X[20:], container(Y[20:]), sample_weight=w[20:]).forget([0, 25])
    w[:20] = 1
    kept = np.delete(np.arange(40), [0, 25])
    fitted = LPkNN(4, ties=ties).fit(X[kept], container(Y[kept]), sample_weight=w[kept])
    np.testing.assert_array_equal(updated.predict_proba(queries), fitted.predict_proba(queries))
    for answer in (lambda m: m.predict(queries), lambda m: m.loo_predict()):
        np.testing.assert_array_equal(as_dense(answer(updated)), as_dense(answer(fitted)))
