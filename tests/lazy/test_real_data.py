"""Every method against the loops of `_reference`, on real data: ties, duplicates, empty rows as they occur."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from _reference import brknn, brknn_a, brknn_b, lpknn, mlknn_tables
from nearlabel.datasets import fetch_dataset
from nearlabel.lazy import BRkNN, BRkNNa, BRkNNb, LPkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors, PrecomputedNeighbors

K = 10
N_ROWS, N_QUERIES = 1200, 150  # the loops' distances take a pass a feature
QUICK = ["emotions", "medical"]  # dense; 0/1, many ties and empty rows
LONG = [pytest.param(name, marks=pytest.mark.long) for name in ("yeast", "yahoo-computers", "enron")]


@pytest.fixture(scope="module", params=[*QUICK, *LONG])
def real(request, data_folder):
    """Training part, a few queries and neighbours found without any search of ours."""
    training, test = (fetch_dataset(request.param, subset=part) for part in ("train", "test"))
    training = replace(training, X=training.X[:N_ROWS], Y=training.Y[:N_ROWS])
    X, queries = training.X, test.X[:N_QUERIES]
    dense, dense_queries = (M.toarray() if sparse.issparse(M) else M for M in (X, queries))
    Y = training.Y.toarray() if sparse.issparse(training.Y) else training.Y
    own = sums_of_squares(dense, dense)
    np.fill_diagonal(own, np.inf)
    order = np.argsort(own, axis=1, kind="stable")[:, :K]
    query_order = np.argsort(sums_of_squares(dense_queries, dense), axis=1, kind="stable")[:, :K]
    return X, training.Y, Y, queries, order, query_order


def sums_of_squares(A, B):
    """Squared distances (n, m), added feature by feature in float64."""
    total = np.zeros((len(A), len(B)))
    for a, b in zip(A.T, B.T, strict=True):
        if a.any() or b.any():
            total += (a[:, np.newaxis] - b) ** 2
    return total


def test_neighbours_are_those_of_the_loops(real):
    """The certified search finds the neighbours that a plain sum and a stable sort find, dense and sparse."""
    X, _, _, queries, order, query_order = real
    for store in (sparse.csr_array, lambda M: M.toarray() if sparse.issparse(M) else M):
        search = ExactNeighbors().fit(store(X))
        np.testing.assert_array_equal(search.kneighbors(n_neighbors=K)[1], order)
        np.testing.assert_array_equal(search.kneighbors(store(queries), K)[1], query_order)


@pytest.mark.parametrize(
    ("method", "reference"), [(BRkNN, brknn), (BRkNNa, brknn_a), (BRkNNb, brknn_b), (LPkNN, lpknn)]
)
def test_label_sets_are_those_of_the_loops(real, method, reference):
    """BRkNN, -a, -b and LPkNN agree in every cell."""
    X, Y, dense_Y, queries, _, query_order = real
    labels = method(K).fit(X, Y).predict(queries)
    expected = [reference(dense_Y, neighbors) for neighbors in query_order]
    assert (labels.toarray() if sparse.issparse(labels) else labels).tolist() == expected


def test_mlknn_is_that_of_the_loops(real):
    """Posteriors agree with the paper's tables worked out in a loop to 1e-12, label sets in every cell."""
    X, Y, dense_Y, queries, order, query_order = real
    model = MLkNN(K).fit(X, Y)
    votes = dense_Y[query_order].sum(axis=1)
    posteriors = np.empty(votes.shape)
    for label, (prior, with_label, without_label) in enumerate(mlknn_tables(dense_Y, order, K, 1)):
        for i, j in enumerate(votes[:, label]):
            yes, no = prior * with_label[j], (1 - prior) * without_label[j]
            posteriors[i, label] = yes / (yes + no)
    np.testing.assert_allclose(model.predict_proba(queries), posteriors, rtol=0, atol=1e-12)
    labels = model.predict(queries)
    np.testing.assert_array_equal(labels.toarray() if sparse.issparse(labels) else labels, posteriors >= 0.5)


def test_sparse_equals_dense_and_a_sweep_single_fits(real):
    """On real data too: storage changes nothing, and one search serves every k."""
    X, Y, dense_Y, queries, _, _ = real
    known = PrecomputedNeighbors.from_search(ExactNeighbors(), X, queries, n_neighbors=K)
    for method in (BRkNN, BRkNNa, BRkNNb, LPkNN, MLkNN):
        for k in (3, K):
            swept = method(k, search=known).fit(X, Y).predict(queries)
            single = method(k).fit(sparse.csr_array(X), dense_Y).predict(sparse.csr_array(queries))
            np.testing.assert_array_equal(swept.toarray() if sparse.issparse(swept) else swept, single)


def test_reference_distances_are_distances(data_folder):
    """The feature-by-feature sums that the other tests trust agree with scipy's."""
    X = fetch_dataset("emotions").X[:60]
    np.testing.assert_allclose(sums_of_squares(X, X), cdist(X, X, "sqeuclidean"), rtol=1e-10, atol=1e-9)
