import numpy as np
import pytest
from scipy import sparse

from nearlabel.neighbors import label_votes

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("weights", [None, RNG.random((6, 4))], ids=["uniform", "weighted"])
def test_equals_loops(weights):
    """Votes are the sums of the neighbours' label vectors, dense and sparse alike."""
    indices, Y = RNG.integers(0, 20, (6, 4)), RNG.integers(0, 2, (20, 7))
    weighed = np.ones((6, 4)) if weights is None else weights
    expected = [
        [sum(w * Y[i, label] for i, w in zip(r, ws, strict=True)) for label in range(7)]
        for r, ws in zip(indices, weighed, strict=True)
    ]
    dense, stored = label_votes(indices, Y, weights), label_votes(indices, sparse.csr_array(Y), weights)
    np.testing.assert_allclose(dense, expected, rtol=1e-15)
    assert sparse.issparse(stored)
    assert (stored.toarray() == dense).all()


def test_a_hundred_thousand_labels():
    """Many labels cost what their non-zeros cost."""
    row, label = np.repeat(np.arange(500), 5), np.random.default_rng(1).integers(0, 100_000, 2500)
    Y = sparse.csr_array((np.ones(2500, dtype=np.int64), (row, label)), shape=(500, 100_000))
    votes = label_votes(RNG.integers(0, 500, (200, 10)), Y)
    assert votes.shape == (200, 100_000)
    assert votes.nnz <= 200 * 10 * np.diff(Y.indptr).max()


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([[0, -1]], "training samples 0 to 2, got -1"),
        ([[0, 10**9]], "training samples 0 to 2, got 1000000000"),
        ([[0, 7], [-3, 9]], "training samples 0 to 2, got 7"),
        ([0, 1], r"of shape \(n_queries, n_neighbors\)"),
        (np.zeros((2, 0), dtype=int), r"of shape \(n_queries, n_neighbors\)"),
        ([[0.5]], "whole numbers"),
    ],
)
def test_indices_that_name_no_row_are_refused(indices, message):
    """Nothing beside the label matrix is ever read."""
    with pytest.raises(ValueError, match=message):
        label_votes(np.asarray(indices), np.eye(3, dtype=int))


@pytest.mark.parametrize("n_neighbors", [127, 128, 40_000])
def test_votes_of_label_sets_in_bytes_do_not_overflow(n_neighbors):
    """All neighbours carry the label, dense and sparse: the count is their number."""
    indices, y = np.zeros((2, n_neighbors), dtype=np.intp), np.ones((1, 1), dtype=np.int8)
    assert label_votes(indices, y).tolist() == [[n_neighbors]] * 2
    assert label_votes(indices, sparse.csr_array(y)).toarray().tolist() == [[n_neighbors]] * 2
