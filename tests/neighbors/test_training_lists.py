"""Lists of neighbours that follow the training rows: each is what a search among the present rows finds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from nearlabel.neighbors import ExactNeighbors
from nearlabel.neighbors.exact._segments import RESERVE, TrainingLists

STORES = {"dense": np.asarray, "csr": sparse.csr_array}


def first_lists(search, needed, *, reserve=RESERVE, keep_distances=True):
    """Return the lists of a fitted search."""
    width = min(needed + reserve, search.n_samples_fit_ - 1)
    distances, indices = search.kneighbors(None, width)
    lengths = np.full(len(indices), width)
    return TrainingLists(needed, indices.astype(np.int32), lengths, distances if keep_distances else None)


def assert_right(lists, search, rows, metric):
    """Compare each list, as far as it is known, with a search among the present rows."""
    n = rows.shape[0]
    distances, indices = ExactNeighbors(metric).fit(rows).kneighbors(None, n - 1)
    assert len(lists) == n
    assert (lists.lengths >= min(lists.needed, n - 1)).all()
    for row, length in enumerate(lists.lengths):
        np.testing.assert_array_equal(lists.indices[row, :length], indices[row, :length])
        np.testing.assert_array_equal(lists.indices[row, length:], -1)
        if lists.distances is not None:
            np.testing.assert_array_equal(lists.distances[row, :length], distances[row, :length])
    k = min(lists.needed, n - 1)
    np.testing.assert_array_equal(lists.distances_of(search, np.arange(n), k), distances[:, :k])


@pytest.mark.parametrize("keep_distances", [True, False])
@pytest.mark.parametrize("store", STORES.values(), ids=STORES)
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "heom", "chebyshev", "mahalanobis"])
def test_after_each_step_the_lists_are_right(metric, store, keep_distances):
    """Ties and duplicates everywhere; rows come and go, few or many at a time."""
    random = np.random.default_rng(8)

    def new_rows(n_rows):
        return random.integers(0, 4, size=(n_rows, 3)).astype(np.float64)

    rows = new_rows(30)
    search = ExactNeighbors(metric).fit(store(rows))
    lists = first_lists(search, 4, keep_distances=keep_distances)
    before = lists.indices.copy(), lists.lengths.copy()
    earlier = lists
    for step in range(16):
        if step % 2:
            gone = random.choice(len(rows), size=random.choice([1, 2, len(rows) // 2]), replace=False)
            rows = np.delete(rows, gone, axis=0)
            old = np.delete(lists.indices[:, :4], gone, axis=0)
            lists, changed = lists.without(search.remove(gone), gone)
            unchanged = np.setdiff1d(np.arange(len(rows)), changed)
            number = np.cumsum(~np.isin(np.arange(len(rows) + len(gone)), gone)) - 1
            np.testing.assert_array_equal(lists.indices[unchanged, :4], number[old[unchanged]])
        else:
            added = new_rows(random.choice([1, 3, 8, 40]))
            n_old, old = len(rows), lists.indices[:, :4]
            rows = np.vstack([rows, added])
            lists, changed = lists.with_added(search.add(store(added)))
            unchanged = np.setdiff1d(np.arange(n_old), changed)
            np.testing.assert_array_equal(lists.indices[unchanged, :4], old[unchanged])
            assert np.isin(np.arange(n_old, len(rows)), changed).all()
        assert_right(lists, search, store(rows), metric)
    np.testing.assert_array_equal(earlier.indices, before[0])
    np.testing.assert_array_equal(earlier.lengths, before[1])


def test_few_rows_grow_to_many():
    """Lists that have all other rows grow with them, up to the reserve."""
    random = np.random.default_rng(1)
    rows = random.integers(0, 3, size=(2, 2)).astype(np.float64)
    search = ExactNeighbors().fit(rows)
    lists = first_lists(search, 3)
    for _ in range(40):
        rows = np.vstack([rows, random.integers(0, 3, size=(1, 2))])
        lists, _ = lists.with_added(search.add(rows[-1:]))
        assert_right(lists, search, rows, "euclidean")
    assert lists.indices.shape == (42, 3 + RESERVE)


def test_a_function_of_two_rows_need_not_be_symmetric():
    """The row of the list comes first, as in the search."""

    def metric(a, b):
        return abs(a[0] - b[0]) + (0.5 if a[0] < b[0] else 0.0)

    random = np.random.default_rng(2)
    rows = random.normal(size=(20, 1))
    search = ExactNeighbors(metric).fit(rows)
    lists = first_lists(search, 3)
    rows = np.vstack([rows, random.normal(size=(2, 1))])
    lists, _ = lists.with_added(search.add(rows[-2:]))
    assert_right(lists, search, rows, metric)


class CountingSearch(ExactNeighbors):
    """Counts the rows that are searched for."""

    n_asked = 0

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
        """Add up queries."""
        self.n_asked += self.n_samples_fit_ if X is None else X.shape[0]
        return super().kneighbors(X, n_neighbors, return_distance)


def test_only_what_changed_is_searched_for():
    """A row that comes is one query; one that goes is none while the reserve lasts."""
    random = np.random.default_rng(3)
    rows = random.normal(size=(300, 2))
    search = CountingSearch().fit(rows)
    lists = first_lists(search, 4)
    search.n_asked = 0
    lists, _ = lists.with_added(search.add(random.normal(size=(2, 2))))
    assert search.n_asked == 2
    nearest = np.argsort((search.take(np.arange(302)) ** 2).sum(axis=1))
    for row in nearest[:RESERVE]:
        number = row - np.sum(nearest[: list(nearest).index(row)] < row)
        lists, _ = lists.without(search.remove([number]), [number])
    assert search.n_asked == 2
    assert_right(lists, search, search.take(np.arange(297)), "euclidean")
