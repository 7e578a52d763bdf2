"""`ExactNeighbors.add` and `remove`: what is found is what a fit of the present rows in their order finds."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse

from nearlabel.neighbors import ExactNeighbors
from nearlabel.utils.validation import as_dense, is_mapped

STORES = {"dense": np.asarray, "csr": sparse.csr_array}


def tied_rows(random, n_rows, n_features=3):
    """Return whole numbers, of which many rows and distances are equal."""
    return random.integers(0, 4, size=(n_rows, n_features)).astype(np.float64)


def assert_like_a_fit(search, rows, queries):
    """Compare neighbours of queries and of the rows themselves with those of a fit, to the bit."""
    fitted = ExactNeighbors(**search.get_params()).fit(rows)
    assert search.n_samples_fit_ == len(as_dense(rows))
    np.testing.assert_array_equal(as_dense(search.take(np.arange(search.n_samples_fit_))), as_dense(rows))
    for X, most in ((queries, search.n_samples_fit_), (None, search.n_samples_fit_ - 1)):
        k = min(7, most)
        if k:
            for got, expected in zip(search.kneighbors(X, k), fitted.kneighbors(X, k), strict=True):
                np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("store", STORES.values(), ids=STORES)
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "heom", "chebyshev", "seuclidean"])
def test_after_each_step_it_is_like_a_fit(metric, store):
    """Rows come one by one or many at a time, some equal, and leave at random."""
    random = np.random.default_rng(3)
    rows = tied_rows(random, 40)
    search = ExactNeighbors(metric).fit(store(rows))
    for step in range(12):
        if step % 3 < 2:
            new = tied_rows(random, (1, 3, 60)[step % 2 + step // 9])
            new[0] = rows[0]
            rows, result = np.vstack([rows, new]), search.add(store(new))
        else:
            gone = random.choice(len(rows), size=len(rows) // 3, replace=False)
            rows, result = np.delete(rows, gone, axis=0), search.remove(gone)
        assert result is search
        queries = tied_rows(random, 5)
        # Leave-one-out answers make one segment of all: every other time, so that several stay too.
        if step % 2:
            assert_like_a_fit(search, store(rows), store(queries))
        else:
            expected = ExactNeighbors(metric).fit(store(rows)).kneighbors(store(queries), 5)
            for got, wanted in zip(search.kneighbors(store(queries), 5), expected, strict=True):
                np.testing.assert_array_equal(got, wanted)


def test_removed_rows_that_were_all_nearest():
    """So many are asked for in their place that the list is full again."""
    rows = np.linspace(0, 1, 500)[:, np.newaxis] ** 2
    search = ExactNeighbors().fit(rows).remove(np.arange(40))
    assert search.kneighbors([[0.0]], 3)[1].tolist() == [[0, 1, 2]]
    assert len(search._segments) == 1
    assert search._segments[0].kept is not None
    assert_like_a_fit(search, rows[40:], [[0.0], [0.5]])


def test_few_segments_are_made():
    """Rows that come one by one are joined, so that a query asks few segments."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(700, 2))
    search = ExactNeighbors().fit(rows[:500])
    for row in rows[500:]:
        search.add([row])
        assert len(search._segments) <= 5
    assert_like_a_fit(search, rows, rows[:3] + 0.1)


def test_rows_of_another_type_and_container():
    """Float32, whole numbers, lists and sparse rows are the numbers that they are."""
    search = ExactNeighbors().fit(np.float32([[0.1], [0.7]]))
    search.add([[1]]).add(sparse.csr_array([[2.0]])).add(np.array([[0.1]]))
    rows = np.vstack([np.float32([[0.1], [0.7]]), [[1.0], [2.0], [0.1]]])
    assert_like_a_fit(search, rows, [[0.1], [np.float32(0.1)]])


def test_rows_mapped_from_a_file_stay_there(tmp_path):
    """A store on disk is not copied into memory because rows are added or removed."""
    path = tmp_path / "rows.npy"
    rows = np.random.default_rng(0).normal(size=(50, 4))
    np.save(path, rows)
    search = ExactNeighbors().fit(np.load(path, mmap_mode="r")).add(rows[:20]).remove(np.arange(30))
    assert is_mapped(search._segments[0].rows)
    queries = rows[:2] + 0.01
    expected = ExactNeighbors().fit(np.vstack([rows[30:], rows[:20]])).kneighbors(queries, 9)
    for got, wanted in zip(search.kneighbors(queries, 9), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_a_removed_row_is_in_no_pickle():
    """Not even where the search itself still holds it."""
    rows = np.random.default_rng(0).normal(size=(200, 3))
    search = ExactNeighbors().fit(rows)
    assert rows[7].tobytes() in pickle.dumps(search)
    search.remove([7])
    assert rows[7].tobytes() not in pickle.dumps(search)
    again = pickle.loads(pickle.dumps(search))
    assert_like_a_fit(again, np.delete(rows, 7, axis=0), rows[:4])


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([4], ValueError, "rows must be numbers from 0 to 3, got 4"),
        ([-1], ValueError, "rows must be numbers from 0 to 3, got -1"),
        ([1, 1], ValueError, "rows must name each row once, got 1 2 times"),
        ([0, 1, 2, 3], ValueError, "rows must leave a training sample, got all 4 of them"),
        ([0.5], TypeError, "rows must be a list of row numbers, got an array of float64"),
        ([True, False, True, False], TypeError, "rows must be a list of row numbers, got an array of bool"),
    ],
)
def test_wrong_row_numbers_change_nothing(rows, error, message):
    """A mask is no list of numbers."""
    X = np.arange(4.0)[:, np.newaxis]
    search = ExactNeighbors().fit(X)
    with pytest.raises(error, match=message):
        search.remove(rows)
    assert_like_a_fit(search, X, [[1.2]])


@pytest.mark.parametrize("new", [[[1.0, 2.0]], [[np.nan]], [[1e300]], np.empty((0, 1))])
def test_wrong_rows_change_nothing(new):
    """Another number of features, a missing value, a square that overflows, no row."""
    X = np.arange(4.0)[:, np.newaxis]
    search = ExactNeighbors().fit(X)
    with pytest.raises(ValueError, match=r"X|sample"):
        search.add(new)
    assert_like_a_fit(search, X, [[1.2]])


@pytest.mark.parametrize("store", STORES.values(), ids=STORES)
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
def test_a_row_too_far_from_all_others_changes_nothing(metric, store):
    """By itself its norm is 0; a query between it and the others would have none that is finite."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    search = ExactNeighbors(metric).fit(store(X))
    with pytest.raises(ValueError, match="X must have rows whose squared norm fits float64"):
        search.add(store([[1e300, 0.0, 1e300]]))
    assert_like_a_fit(search, store(X), store(X[:3] + 0.1))


def test_nothing_to_remove():
    """An empty list is no error."""
    X = np.arange(4.0)[:, np.newaxis]
    assert_like_a_fit(ExactNeighbors().fit(X).remove([]), X, [[1.2]])
