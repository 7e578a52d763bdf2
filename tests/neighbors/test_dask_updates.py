"""`DaskNeighbors.add` and `remove`: the bits of a fit of the present rows, whatever the shards are made of."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from nearlabel.datasets import append_to_store, open_store, remove_from_store, write_store
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.neighbors import DaskNeighbors, ExactNeighbors
from nearlabel.utils.validation import as_dense

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

STORES = {"dense": np.asarray, "csr": sparse.csr_array}


@pytest.fixture(scope="module")
def client():
    """Workers that are threads start at once; `test_dask.py` has processes."""
    plain = {"dashboard_address": ":0", "silence_logs": "CRITICAL"}
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, **plain)
    with distributed.Client(cluster, set_as_default=False) as client, cluster:
        yield client


def search_on(client, **parameters):
    """Return a search with small shards and tiles."""
    return DaskNeighbors(**{"shard_rows": 25, "query_rows": 30, "client": client} | parameters)


def drawn(random, n_rows):
    """Return whole numbers, of which many rows and distances are equal."""
    return random.integers(0, 4, size=(n_rows, 3)).astype(np.float64)


def assert_like_a_fit(search, rows, queries):
    """Compare rows, neighbours of queries and of the rows themselves with those of a fit, to the bit."""
    fitted = ExactNeighbors(search.metric).fit(rows)
    assert search.n_samples_fit_ == fitted.n_samples_fit_
    np.testing.assert_array_equal(as_dense(search.take(np.arange(search.n_samples_fit_))), as_dense(rows))
    for X in (queries, None):
        for got, expected in zip(search.kneighbors(X, 5), fitted.kneighbors(X, 5), strict=True):
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("store", STORES.values(), ids=STORES)
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "chebyshev"])
@pytest.mark.parametrize("given", ["memory", "store", "dask"])
def test_after_each_step_it_is_like_a_fit(client, tmp_path, given, metric, store):
    """Rows come one by one or many at a time, in memory, in files and in blocks, and leave at random."""

    def form(rows, name):
        if given == "memory" or (given == "dask" and store is sparse.csr_array):
            return store(rows)
        return da.from_array(rows, (7, 3)) if given == "dask" else write_store(tmp_path / name, store(rows))

    random = np.random.default_rng(4)
    rows = drawn(random, 60)
    with search_on(client, metric=metric).fit(form(rows, "fit")) as search:
        for step, n_rows in enumerate((1, 3, 40, 2)):
            new = drawn(random, n_rows)
            rows, result = np.vstack([rows, new]), search.add(form(new, f"step {step}"))
            assert result is search
            gone = random.choice(len(rows), size=(1, 20, 4, 30)[step], replace=False)
            rows, result = np.delete(rows, gone, axis=0), search.remove(gone)
            assert result is search
            assert all(len(shard.rows) <= 25 for shard in search._shards)
        assert_like_a_fit(search, store(rows), store(drawn(random, 5)))


@pytest.mark.long
@pytest.mark.parametrize("store", STORES.values(), ids=STORES)
def test_classifiers_follow_the_rows(client, store):
    """Scores, leave-one-out scores and counts are those of a fit in one process."""
    random = np.random.default_rng(1)
    X = drawn(random, 150)
    y = (X[:, [0, 1, 2]] + random.normal(size=(150, 3)) > 2).astype(int)
    found = MLkNN(4, search=search_on(client, shard_rows=40)).fit(store(X[:100]), y[:100])
    known = np.arange(100)
    for new, gone in ((np.arange(100, 101), [3]), (np.arange(101, 108), [0, 99, 40, 104]), (np.arange(108, 150), [50])):
        known = np.delete(np.append(known, new), gone)
        found.partial_fit(store(X[new]), y[new]).forget(gone)
        expected = MLkNN(4).fit(store(X[known]), y[known])
        assert found.posterior_.tobytes() == expected.posterior_.tobytes()
        for answer in (lambda model: model.predict_proba(store(X[:9])), lambda model: model.loo_predict_proba()):
            assert answer(found).tobytes() == answer(expected).tobytes()
    found.search_.close()


def test_lists_of_neighbours_are_updated_not_searched_again(client, monkeypatch):
    """One row costs a search of that row, and a look at each shard."""
    random = np.random.default_rng(1)
    X = drawn(random, 100)
    y = (X > 1).astype(int)
    model = MLkNN(4, search=search_on(client)).fit(X[:99], y[:99])
    asked = []
    kneighbors = DaskNeighbors.kneighbors

    def counted(self, X=None, n_neighbors=None, return_distance=True):
        asked.append("all" if X is None else X.shape[0])
        return kneighbors(self, X, n_neighbors, return_distance)

    monkeypatch.setattr(DaskNeighbors, "kneighbors", counted)
    model.partial_fit(X[99:], y[99:]).forget([7])
    assert asked == [1]
    model.search_.close()


@pytest.mark.long
def test_few_shards_are_made_of_rows_that_come_one_by_one(client, tmp_path):
    """They are joined, and files that nobody needs any more are removed; a store of the user's stays as it is."""
    random = np.random.default_rng(2)
    rows = random.normal(size=(60, 2))
    path = write_store(tmp_path / "rows", rows[:10])
    search = search_on(client, folder=tmp_path / "written", shard_rows=1000).fit(path)
    for row in rows[10:]:
        search.add([row])
    assert len(search._shards) <= 4
    [folder] = (tmp_path / "written").iterdir()
    assert len(list(folder.iterdir())) == len(search._shards) - 1
    assert_like_a_fit(search, rows, rows[:3] + 0.1)
    search.close()
    np.testing.assert_array_equal(open_store(path), rows[:10])


def test_rows_of_another_type_and_container(client):
    """Float32, whole numbers, lists and sparse rows are the numbers that they are."""
    search = search_on(client, query_rows=2).fit(np.float32([[0.1], [0.7], [0.2]]))
    search.add([[1]]).add(sparse.csr_array([[2.0], [3.0]])).add(np.array([[0.1]]))
    rows = np.vstack([np.float32([[0.1], [0.7], [0.2]]), [[1.0], [2.0], [3.0], [0.1]]])
    assert_like_a_fit(search, rows, [[0.1], [np.float32(0.1)]])
    search.close()


@pytest.mark.long
def test_a_shard_that_loses_many_rows_is_fitted_to_the_others(client):
    """Until then they are left out of its answers."""
    rows = np.linspace(0, 1, 100)[:, np.newaxis] ** 2
    with search_on(client, shard_rows=1000).fit(rows) as search:
        search.remove(np.arange(10))
        exact = search._shards[0].search.result().exact
        assert exact._segments[0].n_rows == 100
        assert_like_a_fit(search, rows[10:], [[0.0], [0.5]])
        search.remove(np.arange(10))
        exact = search._shards[0].search.result().exact
        assert exact._segments[0].n_rows == 80
        assert_like_a_fit(search, rows[20:], [[0.0], [0.5]])


def test_what_was_removed_belongs_to_the_recipe(client):
    """A shard that another worker makes again has the same rows."""
    rows = drawn(np.random.default_rng(0), 40)
    with search_on(client, shard_rows=1000).fit(rows) as search:
        search.remove([0, 7, 39])
        shard = search._shards[0].search.result()
        again = pickle.loads(pickle.dumps(shard))
        assert again is not shard
        np.testing.assert_array_equal(again.exact.take(np.arange(37)), np.delete(rows, [0, 7, 39], axis=0))


@pytest.mark.long
def test_pickles_forget_removed_rows(client, tmp_path):
    """Of rows in memory; of a store they hold the path, and which rows are left out."""
    rows = np.random.default_rng(0).normal(size=(60, 3))
    path = write_store(tmp_path / "rows", rows)
    expected = np.delete(rows, [7, 30], axis=0)
    for given in (rows, path):
        search = search_on(client).fit(given).add(rows[:2]).remove([7, 30, 61])
        text = pickle.dumps(search)
        assert rows[7].tobytes() not in text
        assert (rows[8].tobytes() in text) == (given is rows)
        search.close()
        with client.as_current():
            again = pickle.loads(text)
            assert_like_a_fit(again, np.vstack([expected, rows[:1]]), rows[:4] + 0.1)
            again.remove([58])
            assert_like_a_fit(pickle.loads(pickle.dumps(again)).add(rows[:1]).remove([58]), expected, rows[:4] + 0.1)


def test_the_store_itself_may_grow_meanwhile(client, tmp_path):
    """Rows are appended to the store and added to the search; only removing from the store is noticed."""
    rows = np.random.default_rng(0).normal(size=(60, 3))
    path = write_store(tmp_path / "rows", rows[:50])
    with search_on(client).fit(path) as search:
        append_to_store(path, rows[50:])
        search.add(rows[50:])
        assert_like_a_fit(search, rows, rows[:4] + 0.1)
        remove_from_store(path, [5])
        with pytest.raises(FileNotFoundError, match="from which rows were removed"):
            search.take([0])


@pytest.mark.long
def test_wrong_input_changes_nothing(client):
    """With the messages of the exact search; also a row that only a worker sees is wrong."""
    rows = drawn(np.random.default_rng(0), 40)
    with search_on(client).fit(rows) as search:
        for numbers, message in (
            ([40], "rows must be numbers from 0 to 39, got 40"),
            ([1, 1], "rows must name each row once"),
            (np.arange(40), "rows must leave a training sample, got all 40 of them"),
        ):
            with pytest.raises(ValueError, match=message):
                search.remove(numbers)
        for new in ([[1.0, 2.0]], [[np.nan] * 3], da.from_array(np.full((3, 3), np.nan), (2, 3))):
            with pytest.raises(ValueError, match=r"contains NaN|expecting 3 features"):
                search.add(new)
        assert_like_a_fit(search.remove([]), rows, rows[:3] + 0.5)


def test_a_failed_update_of_a_classifier_changes_nothing(client):
    """The copy that it was made on goes, with what was written for it."""
    X = drawn(np.random.default_rng(0), 40)
    y = (X > 1).astype(int)
    model = BRkNN(3, search=search_on(client)).fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="feature"):
        model.partial_fit([[1.0]], y[:1])
    with pytest.raises(ValueError, match="n_neighbors"):
        model.forget(np.arange(39))
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert model.search_.n_samples_fit_ == 40
    model.search_.close()
