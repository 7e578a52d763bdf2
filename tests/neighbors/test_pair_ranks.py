"""Pairs of old and new rows within reach, and ranks of chosen pairs, beside the ranks of all pairs."""

import numpy as np
import pytest
from scipy import sparse

from nearlabel.neighbors import ExactNeighbors

STORES = {"dense": np.asarray, "csr": sparse.csr_array}


def ranks_of_all(search, X):
    """Return the ranks of all pairs, in the order of rows, as the search has them."""
    ranks, indices = search._search(X, search.n_samples_fit_)
    ordered = np.empty_like(ranks)
    np.put_along_axis(ordered, indices, ranks, axis=1)
    return ordered


@pytest.mark.parametrize("n_new", [1, 5, 40])  # summed to; searched in; many within one reach
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "chebyshev"])
@pytest.mark.parametrize("store", STORES.values(), ids=STORES)
def test_pairs_within_are_those_of_all(n_new, metric, store):
    """With ties, duplicates, removed rows, several segments, and reaches from none to all."""
    random = np.random.default_rng(n_new)
    rows = random.integers(0, 4, size=(400, 3)).astype(np.float64)
    search = ExactNeighbors(metric).fit(store(rows)).add(store(rows[:20])).remove([3, 100, 410])
    left = np.delete(np.vstack([rows, rows[:20]]), [3, 100, 410], axis=0)
    new = np.vstack([left[7], random.integers(0, 4, size=(n_new - 1, 3))])
    search.add(store(new))
    n_old = len(left)
    ranks = ranks_of_all(search, store(np.vstack([left, new])))
    reach = np.append(random.permutation(ranks[:n_old, :n_old].ravel())[: n_old - 2], [np.inf, -np.inf])
    found = search.pairs_within(n_old, np.append(reach, np.zeros(n_new)))
    wanted = np.argwhere(ranks[:n_old, n_old:] < reach[:, np.newaxis])
    order = np.lexsort((found.other, found.row))
    np.testing.assert_array_equal(found.row, np.sort(found.row))
    np.testing.assert_array_equal(found.row[order], wanted[:, 0])
    np.testing.assert_array_equal(found.other[order], n_old + wanted[:, 1])
    np.testing.assert_array_equal(found.rank, ranks[found.row, found.other])
    chosen = np.sort(random.integers(0, len(ranks), 200)), random.integers(0, len(ranks), 200)
    np.testing.assert_array_equal(search.ranks(*chosen), ranks[chosen])


def test_no_rows_are_rows_too():
    """Of none there is a matrix of that width, and there are no ranks."""
    search = ExactNeighbors().fit(np.eye(3))
    assert search.take([]).shape == (0, 3)
    assert search.ranks(np.empty(0, dtype=int), np.empty(0, dtype=int)).shape == (0,)
