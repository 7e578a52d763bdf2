import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone

from nearlabel.datasets import open_store, write_store
from nearlabel.lazy import IBLR, BRkNN, BRkNNb, CMLkNN, DMLkNN, LPkNN, MLkNN
from nearlabel.neighbors import DaskNeighbors, ExactNeighbors

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")


PLAIN = {"threads_per_worker": 1, "memory_limit": None, "dashboard_address": ":0", "silence_logs": "CRITICAL"}


def new_client():
    """Start two worker processes; each has a nanny, which replaces it if it dies."""
    return distributed.Client(distributed.LocalCluster(n_workers=2, **PLAIN), set_as_default=False)


def wait_for_both(client):
    """Wait until nannies run both workers: one that dies while its nanny still starts it is not replaced."""
    client.wait_for_workers(2, timeout=60)
    end = time.monotonic() + 60
    while any(nanny.status != distributed.core.Status.running for nanny in client.cluster.workers.values()):
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module")
def client():
    """One cluster for all tests but the slow one."""
    with new_client() as client, client.cluster:
        yield client


def search_on(client, **parameters):
    """Return a search with shards and tiles so small that every answer is merged of several."""
    return DaskNeighbors(**{"shard_rows": 31, "query_rows": 35, "client": client} | parameters)


def rows(name):
    """Return 80 rows with ties: whole numbers, far from zero, or mostly zeros."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (80, 4)).astype(np.float64)
    if name == "far":
        X = 1e4 + 1e-3 * X
    if name == "float32":
        X = rng.normal(size=(80, 4)).astype(np.float32)
    if name == "csr":
        return sparse.csr_array(rng.poisson(0.3, (80, 12)).astype(np.float64))
    X[40] = X[3]
    return X


def assert_same_answers(search, expected, queries, k):
    """Both give the same bits."""
    found, wanted = search.kneighbors(queries, k), expected.kneighbors(queries, k)
    assert_array_equal(found[1], wanted[1])
    assert found[0].dtype == np.float64
    assert found[0].tobytes() == wanted[0].tobytes()


@pytest.mark.long
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "sqeuclidean", "manhattan", "chebyshev"])
@pytest.mark.parametrize("name", ["grid", "far", "float32", "csr"])
def test_the_bits_are_those_of_one_process(client, name, metric):
    """Queries and leave-one-out, with more neighbours than a shard has rows, too."""
    X = rows(name)
    expected = ExactNeighbors(metric).fit(X)
    with search_on(client, metric=metric).fit(X) as search:
        assert_same_answers(search, expected, X[:21], 5)
        assert_same_answers(search, expected, None, 5)
        assert_same_answers(search, expected, None, 79)


@pytest.mark.long
@pytest.mark.parametrize("shard_rows", [1, 7, 1000])  # 1: 40 shards are merged in two steps
@pytest.mark.parametrize("query_rows", [15, 100])
def test_sizes_of_shards_and_tiles_change_nothing(client, shard_rows, query_rows):
    """From one row a shard to one shard, many equal rows."""
    X = np.repeat(rows("grid")[:5], 8, axis=0)
    expected = ExactNeighbors().fit(X)
    with search_on(client, shard_rows=shard_rows, query_rows=query_rows).fit(X) as search:
        assert_same_answers(search, expected, None, 6)
        assert_same_answers(search, expected, X[::-1] + 0.5, 6)


@pytest.mark.long
@pytest.mark.parametrize("name", ["float32", "csr"])
def test_rows_of_a_store_are_read_where_they_are(client, tmp_path, name):
    """By path, as memory map, and a slice of it; nothing is written, and worker files are the user's."""
    X = rows(name)
    path = write_store(tmp_path / "rows", X)
    folder = tmp_path / "written"
    for given, same in ((path, X), (str(path), X), (open_store(path), X), (open_store(path)[10:70], X[10:70])):
        sliced_copy = sparse.issparse(X) and given is not path and given.__class__ is not str and same.shape[0] == 60
        with search_on(client, folder=folder).fit(given) as search:
            assert (folder.exists() and any(folder.iterdir())) == sliced_copy
            assert_same_answers(search, ExactNeighbors().fit(same), None, 4)
            assert_array_equal(search.kneighbors(path, 3)[1], ExactNeighbors().fit(same).kneighbors(X, 3)[1])


def test_what_was_written_is_removed(client, tmp_path):
    """The rows with the search, the queries with the answer."""
    X = rows("grid")
    search = search_on(client, folder=tmp_path).fit(X)
    assert len(list(tmp_path.iterdir())) == 1
    search.kneighbors(X, 2)
    assert len(list(tmp_path.iterdir())) == 1
    search.close()
    assert list(tmp_path.iterdir()) == []
    search.close()
    with pytest.raises(ValueError, match="not fitted"):
        search.kneighbors(X, 2)
    search.fit(X)
    del search
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize(
    "method",
    [
        BRkNN(4),
        BRkNNb(4, weights="distance"),
        LPkNN(4),
        MLkNN(4),
        DMLkNN(4, delta=1),
        IBLR(4, ridge=0.1),
        CMLkNN(4, similarity=np.eye(3)),
    ],
    ids=lambda method: type(method).__name__,
)
def test_classifiers_take_dask_arrays(client, method, storage):
    """X, Y and queries as dask arrays, in blocks of rows and of columns; the bits are those of one process."""
    X = rows("grid")
    Y = (X[:, :3] > [0, 1, 1]).astype(np.uint8)
    dask_X, dask_Y, dask_Q = da.from_array(X, (19, 2)), da.from_array(Y, (30, 3)), da.from_array(X[::3], (11, 4))
    if storage == "csr":
        dask_X = da.from_array(X, (19, 4)).map_blocks(sparse.csr_array, dtype=X.dtype)
        dask_Q = dask_X
    queries = X if storage == "csr" else X[::3]
    expected = clone(method).fit(X, Y)
    found = clone(method).set_params(search=search_on(client)).fit(dask_X, dask_Y)
    for answer in ("predict", "predict_proba"):
        got, want = getattr(found, answer)(dask_Q).compute(), getattr(expected, answer)(queries)
        assert got.dtype == want.dtype
        assert got.tobytes() == want.tobytes()
    if hasattr(method, "loo_predict_proba"):
        assert found.loo_predict_proba().tobytes() == expected.loo_predict_proba().tobytes()


def test_blocks_are_made_by_the_workers(client):
    """Rows of a dask array do not pass through this process."""
    here = os.getpid()

    def elsewhere(block):
        assert os.getpid() != here
        return block + 1.0

    X = rows("grid")
    with search_on(client).fit(da.from_array(X, (20, 4)).map_blocks(elsewhere, dtype=X.dtype)) as search:
        assert_same_answers(search, ExactNeighbors().fit(X + 1), X, 3)


def test_dask_arrays_can_be_written_to_a_store(tmp_path):
    """Block by block."""
    X = rows("float32")
    assert_array_equal(open_store(write_store(tmp_path / "rows", da.from_array(X, (19, 2)))), X)


def test_dask_arrays_are_not_gathered_unasked(client):
    """Searches of one process, and methods that need the rows, refuse them with a hint."""
    X = rows("grid")
    Y, dask_X = X[:, :3] > 0, da.from_array(X, (19, 4))
    for method in (MLkNN(4), IBLR(4, plus=True, search=search_on(client)), CMLkNN(4, search=search_on(client))):
        with pytest.raises(TypeError, match=r"X must be an array for .* got a dask array\. Hint: search=Dask"):
            method.fit(dask_X, Y)
    with pytest.raises(TypeError, match="got a dask array"):
        MLkNN(4).fit(X, Y).predict(dask_X)


def test_bad_input_is_refused(client):
    """With the messages of the exact search, or better ones."""
    X = rows("grid")
    wrong = X.copy()
    wrong[70, 2] = np.nan
    for given in (wrong, da.from_array(wrong, (30, 4))):
        with pytest.raises(ValueError, match="contains NaN"):
            search_on(client).fit(given)
    with pytest.raises(ValueError, match="n_neighbors must be smaller than n_samples=80, got 80"):
        search_on(client).fit(X).kneighbors(None, 80)
    with pytest.raises(ValueError, match="metric_params must contain 'V' for the metric 'seuclidean'"):
        search_on(client, metric="seuclidean").fit(X)
    with pytest.raises(ValueError, match="metric must be 'euclidean'"):
        search_on(client, metric="nonsense").fit(X)
    with pytest.raises(ValueError, match="query_rows must be at least 1"):
        search_on(client, query_rows=0).fit(X)
    with pytest.raises(ValueError, match="4 features"):
        search_on(client).fit(X).kneighbors(da.from_array(X[:, :3], (30, 3)), 2)
    unknown = da.from_array(X, (30, 4))
    with pytest.raises(ValueError, match=r"knows its shape, got .* Hint: X.compute_chunk_sizes"):
        search_on(client).fit(unknown[unknown[:, 0] > 0])
    with pytest.raises(FileNotFoundError, match="must be the folder of a store"):
        search_on(client).fit("nowhere")


def test_a_shard_of_tiny_numbers_is_one_of_many(client):
    """All rows together decide whether numbers are too small, as in one process."""
    X = rows("grid")
    X[:40] *= 1e-200
    with search_on(client).fit(X) as search:
        assert_same_answers(search, ExactNeighbors().fit(X), None, 3)
    with pytest.raises(ValueError, match=r"X must have a value of at least .*, got 2e-200 as the largest"):
        search_on(client).fit(X[:40])


def test_metrics_with_what_they_need_are_welcome(client):
    """The metric "seuclidean" with its variances is one metric for all shards."""
    X = rows("float32")
    params = {"V": X.var(axis=0)}
    with search_on(client, metric="seuclidean", metric_params=params).fit(X) as search:
        assert_same_answers(search, ExactNeighbors("seuclidean", metric_params=params).fit(X), None, 3)


@pytest.mark.long
def test_files_that_change_are_noticed(client, tmp_path):
    """A store that was replaced after `fit` gives an error, no neighbours of other rows."""
    X = rows("float32")
    path = write_store(tmp_path / "rows", X)
    search = search_on(client).fit(path)
    write_store(path, X[::-1], overwrite=True)
    with pytest.raises(FileNotFoundError, match="that was replaced, must be opened again"):
        search.kneighbors(None, 2)


@pytest.mark.long
def test_copies_share_the_client_and_pickles_find_their_rows(client, tmp_path):
    """Clones are unfitted; a fitted search survives pickling with rows of memory and with a path."""
    X = rows("float32")
    expected = ExactNeighbors().fit(X)
    path = write_store(tmp_path / "rows", X)
    for given in (X, path):
        search = search_on(client).fit(given)
        copied = clone(search)
        assert copied.client is client
        with pytest.raises(ValueError, match="not fitted"):
            copied.kneighbors(X, 2)
        text = pickle.dumps(search)
        assert (X.tobytes() in text) == (given is X)
        search.close()
        assert_same_answers(copied.fit(given), expected, None, 3)
        with client.as_current():
            again = pickle.loads(text)
            assert again.client is None
            assert_same_answers(again, expected, None, 3)
            assert_same_answers(copy.deepcopy(again), expected, X[:9], 3)


@pytest.mark.long
def test_without_a_client_processes_are_started_and_ended(tmp_path):
    """A program of its own: one cluster for two classifiers; files, processes and output are clean afterwards."""
    program = """
import os, sys
import numpy as np
from nearlabel.lazy import MLkNN
from nearlabel.neighbors import DaskNeighbors

if __name__ == "__main__":
    X = np.random.default_rng(0).integers(0, 3, (60, 4)).astype(float)
    Y = (X > 1).astype(int)
    search = DaskNeighbors(shard_rows=25, folder=sys.argv[1])
    models = [MLkNN(4, search=search).fit(X, Y) for _ in range(2)]
    assert models[0].search_._session.client is models[1].search_._session.client
    expected = MLkNN(4).fit(X, Y).predict_proba(X)
    assert all(model.predict_proba(X).tobytes() == expected.tobytes() for model in models)
    print(*models[0].search_._session.client.run(os.getpid).values())
"""
    script, folder = tmp_path / "program.py", tmp_path / "folder"
    script.write_text(program)
    command = [sys.executable, str(script), str(folder)]
    run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    assert list(folder.iterdir()) == []
    for pid in map(int, run.stdout.split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.long
def test_a_worker_killed_in_fit_and_in_predict_changes_nothing(client, tmp_path):
    """The metric itself sends SIGKILL to its process, once in the middle of fit and once in that of predict."""
    X = rows("grid")
    Y, queries = (X[:, :3] > 0).astype(int), X[::2] + 0.25
    armed, deaths = tmp_path / "armed", tmp_path / "deaths"
    deaths.mkdir()

    def city_block(a, b):
        return float(np.abs(a - b).sum())

    def deadly(a, b):
        try:
            armed.unlink()
        except FileNotFoundError:
            pass
        else:
            (deaths / str(os.getpid())).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return city_block(a, b)

    expected = MLkNN(4, search=ExactNeighbors(city_block)).fit(X, Y)
    wait_for_both(client)
    armed.touch()
    found = MLkNN(4, search=search_on(client, metric=deadly)).fit(X, Y)
    assert len(list(deaths.iterdir())) == 1
    assert found.posterior_.tobytes() == expected.posterior_.tobytes()
    wait_for_both(client)
    armed.touch()
    assert found.predict_proba(queries).tobytes() == expected.predict_proba(queries).tobytes()
    assert len(list(deaths.iterdir())) == 2
    found.search_.close()


@pytest.mark.long
def test_workers_killed_after_an_update_change_nothing(client):
    """Both workers: their shards are made again, with the rows that came and without those that went."""
    X = rows("float32")
    expected = ExactNeighbors().fit(np.delete(X, [0, 40, 69], axis=0))
    wait_for_both(client)  # the test before has killed some
    search = search_on(client).fit(X[:70]).add(X[70:]).remove([0, 40, 69])
    for pid in client.run(os.getpid).values():
        os.kill(pid, signal.SIGKILL)
    assert_same_answers(search, expected, None, 5)
    search.close()


@pytest.mark.slow
def test_workers_killed_under_load_change_nothing():
    """40,000 rows, one of two workers killed from outside in fit, in leave-one-out and in queries; a dask array."""
    dask_X = da.random.default_rng(0).integers(0, 4, (40_000, 64), chunks=(5_000, 64)).astype(np.float32)
    X = dask_X.compute()
    expected = ExactNeighbors(n_jobs=2).fit(X)
    with new_client() as client, client.cluster:

        def kill_one_after(seconds):
            wait_for_both(client)
            pids = list(client.run(os.getpid).values())
            timer = threading.Timer(seconds, os.kill, (pids[0], signal.SIGKILL))
            timer.start()
            return timer

        search = DaskNeighbors(shard_rows=10_000, query_rows=1_000, client=client)
        timer = kill_one_after(0.05)
        search.fit(dask_X)
        timer.join()
        for queries in (X[:20_000] + np.float32(0.5), None):
            start = time.perf_counter()
            timer = kill_one_after(0.5)
            answer = search.kneighbors(queries, 10)
            assert time.perf_counter() - start > 0.5, "the worker died in the middle"
            timer.join()
            wanted = expected.kneighbors(queries, 10)
            assert answer[0].tobytes() == wanted[0].tobytes()
            assert_array_equal(answer[1], wanted[1])
        search.close()
