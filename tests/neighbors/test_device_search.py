"""The search by an accelerator: on any device, the bits of the search without one."""

import copy
import os
import pickle
import signal
import threading
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from nearlabel.neighbors import ExactNeighbors
from nearlabel.neighbors.exact._candidates import in_threads
from nearlabel.neighbors.exact._panel_search import PanelSearch
from nearlabel.neighbors.exact._search import distance_named
from nearlabel.neighbors.optional import _device, _device_lists
from nearlabel.neighbors.optional._device import (
    DevicePanels,
    DeviceSearch,
    eight_bits,
    eight_bits_up,
    growth,
)
from nearlabel.neighbors.optional._device_lists import slack_of, squares_of
from nearlabel.persistence._searches import SavedSearch
from neighbors._devices import CountingDevice, HostileDevice, NumpyDevice, TruncatingDevice, keep_points
from neighbors.test_kernels import KINDS, rows_of


@pytest.fixture
def use(monkeypatch):
    """Let a name of a device stand for this one."""

    def use(device):
        monkeypatch.setattr(_device, "device_named", lambda name: device)
        return device

    return use


def answers(X, queries, k, metric="euclidean", **options):
    """Neighbours of queries, and of the rows."""
    search = ExactNeighbors(metric, algorithm="brute", **options).fit(X)
    return (*search.kneighbors(queries, k), *search.kneighbors(None, k))


def assert_same_bits(X, queries, k, metric="euclidean", device="cpu", **options):
    """With the device as without."""
    found = answers(X, queries, k, metric, device=device, **options)
    for ours, true in zip(found, answers(X, queries, k, metric), strict=True):
        np.testing.assert_array_equal(ours, true)


def queries_near(X, rng, n=50):
    """Rows, some of them moved."""
    return (X[rng.integers(0, len(X), n)] * rng.choice([1, 1.001, 2, 100], (n, 1))).astype(X.dtype)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_the_same_bits(kind, metric, use):
    """Whatever the metric and the rows: distances and indices of the search without a device."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = rows_of(kind, rng, d=[2, 17][seed])
        use(NumpyDevice(panel_rows=[64, 256][seed]))
        assert_same_bits(X, queries_near(X, rng, 30), [12, 1][seed], metric, n_jobs=1 + seed)


def test_queries_out_of_bounds(use):
    """Some of a tile, for which numbers would overflow on a device."""
    use(NumpyDevice())
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    queries = X[:80] * np.where(np.arange(80) % 3, 1.001, 10.0 ** rng.integers(10, 140, 80))[:, np.newaxis]
    assert_same_bits(X, queries, 3)


@pytest.mark.parametrize("k", [40, 255, 256, 257, 599])
def test_many_neighbors(k, use):
    """Also more than a panel has rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    use(NumpyDevice())
    assert_same_bits(X, X[:20] + 0.1, k)


@pytest.mark.parametrize("block", [1, 4, 16])
def test_sums_that_are_cut_off(block, use):
    """A matrix unit that truncates errs by less than the bound allows, and the answers keep their bits."""
    device = use(TruncatingDevice())
    device.block = block
    rng = np.random.default_rng(0)
    left, right = (eight_bits(rng.lognormal(sigma=2, size=(n, 96)).astype(np.float32)) for n in (20, 10))
    for signs in (np.ones(96), rng.choice([-1, 1], 96)):
        exact = (left * signs).astype(np.float64) @ right.T
        bound = growth(96) * (left.astype(np.float64) @ right.T)
        errors = np.abs(device.product(left * signs, right) - exact)
        assert (errors <= bound).all()
        assert errors.max() > 0
    X = 10 + rng.normal(size=(100, 9))
    assert_same_bits(X, X[:20] + 0.1, 3)


@pytest.mark.parametrize("n_pieces", [1, 2])
@pytest.mark.parametrize("d", [1, 3, 40])
def test_the_bound_where_it_is_tight(n_pieces, d):
    """All coordinates are rounded in one direction, as far as can be: the slack still has what sums may cost."""
    rng = np.random.default_rng(0)
    dropped = (1 + 120.4999 * 2.0**-7) / 4  # of the last of eight bits, and of the last of the next eight 0.4999
    values = 1 + (rng.integers(0, 128, (2, 30, 1)) + dropped) * 2.0**-7
    rows, queries = np.repeat(np.ldexp(values, rng.integers(-3, 4, (2, 30, 1))), d, axis=2)
    rows = np.concatenate([rows, -rows])  # so that the centre is 0
    build, distance = partial(in_threads, 1), distance_named("euclidean", None)
    panels = DevicePanels(rows, distance, np.arange(60), build, NumpyDevice(), n_pieces)
    panel, asked = panels.panel(0), panels.operand(queries, np.zeros(d))
    assert not panel.centre.any()
    left, right = panel.factor[:60].astype(np.float64), asked.factor.astype(np.float64)
    row, query = (which.ravel() for which in np.indices((60, 30)))
    scores = (left @ right.T).ravel()
    true = np.square(rows[panel.rows[row]] - queries[query]).sum(axis=1)
    of_sums = len(left.T) * 2.0**-22 * (np.abs(left) @ np.abs(right).T).ravel()
    assert (scores - (np.square(queries[query]).sum(axis=1) - true) / 2 >= of_sums).all()
    slack, shift = slack_of(panel.terms[row], asked.terms[query]), asked.shift[query, 0]
    squares, errors = squares_of(scores.astype(np.float32), slack, shift)
    assert (np.abs(squares - true) <= errors).all()


def test_a_device_of_short_sums_is_refused(use):
    """Before it can miss a neighbour: here one that rounds sums as it rounds factors."""

    class Short(NumpyDevice):
        def product(self, left, right):
            return eight_bits(super().product(left, right))

    use(Short("cuda"))
    with pytest.raises(ValueError, match="device must sum products in float32, got 'cuda', whose sums are off by more"):
        ExactNeighbors(device="cuda").fit(np.eye(3))


def hostile(kind, share, use, monkeypatch):
    """Use a device that errs by a share of the bound; return rows, queries and a number of neighbours."""
    rng = np.random.default_rng(1)
    X = rows_of(kind, rng, d=12)
    use(HostileDevice(X.shape[1], share=share))
    monkeypatch.setattr(_device, "check_sums", lambda device: None)
    monkeypatch.setattr(_device, "parts", keep_points)
    return X, queries_near(X, rng), 5


@pytest.mark.parametrize("kind", KINDS)
def test_errors_as_large_as_the_bound(kind, use, monkeypatch):
    """Errors of the full size of the bound, with random signs, change no answer."""
    assert_same_bits(*hostile(kind, 0.99, use, monkeypatch))


def test_errors_larger_than_the_bound(use, monkeypatch):
    """Neighbours are missed: such a device is able to show a bound that is too small."""
    with pytest.raises(AssertionError, match="not equal"):
        assert_same_bits(*hostile("normal", 1.5, use, monkeypatch))


@pytest.fixture
def left(monkeypatch):
    """Numbers of queries that eight bits do not resolve."""
    left, resolve = [], DeviceSearch._resolve

    def watched(self, X, numbers, *others, **options):
        left.append(len(numbers))
        resolve(self, X, numbers, *others, **options)

    monkeypatch.setattr(DeviceSearch, "_resolve", watched)
    return left


def test_the_device_answers(use, left):
    """Of usual rows hardly any query is left to the search without a device."""
    device = use(NumpyDevice(panel_rows=1024, tile_queries=128))
    X = np.random.default_rng(0).normal(size=(3000, 24)).astype(np.float32)
    assert_same_bits(X, X[:300] + 0.1, 10)
    assert sum(left) <= 3
    assert device.put_bytes


def test_the_device_answers_queries_far_from_all_rows(use, left):
    """Their squared norms, a million times those of the rows, are not among what the device sums in float32."""
    use(NumpyDevice(panel_rows=1024))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 24))
    assert_same_bits(X, 1000 * rng.normal(size=(100, 24)), 10)
    assert sum(left) <= 3


@pytest.mark.long
@pytest.mark.parametrize(("spread", "last"), [(0.03, DeviceSearch), (1e-6, PanelSearch)])
def test_what_eight_bits_cannot_order(spread, last, use):
    """Is searched for with sixteen, and what they cannot order falls to the search without a device."""
    use(NumpyDevice(panel_rows=2048))
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(4, 4)), 450, axis=0) + spread * rng.normal(size=(1800, 4))
    assert_same_bits(X, X[:100], 3)
    engine = ExactNeighbors(algorithm="brute", device="cpu").fit(X)._segments[0].engine
    engine.nearest(X[:100], 3, None)
    assert type(engine._next) is DeviceSearch
    assert ("_next" in vars(engine._next)) == (last is PanelSearch)


def test_panels_that_do_not_fit(use):
    """Are put on the device whenever they are needed, and stay in memory."""
    X = np.random.default_rng(0).normal(size=(1000, 5))
    device = use(NumpyDevice(room=2 * 256 * 16 * 4))  # two panels of 256 rows and 16 columns
    assert_same_bits(X, X[:30] + 0.1, 3)
    panels = ExactNeighbors(device="cpu").fit(X)._segments[0].engine._panels._panels
    kept = [isinstance(panel.factor, np.ndarray) for panel in panels]
    assert kept == [True, True, False, False]
    assert len(device.put_bytes) > 10


def rows_of_many_panels():
    """Twelve panels of 1,024 rows, and a search by a device that counts."""
    return np.random.default_rng(0).normal(size=(12 * 1024, 24)).astype(np.float32)


def test_the_processor_seldom_waits(use):
    """Once for each product, for how many runs are within the limits; candidates and limits leave the device seldom."""
    X, device = rows_of_many_panels(), use(CountingDevice(panel_rows=1024, tile_queries=256))
    search = ExactNeighbors(algorithm="brute", device="cpu").fit(X)
    n_panels = search._segments[0].engine._panels.n_panels
    search.kneighbors(X[:1024] + np.float32(0.1), 10)
    assert device.n_products >= 4 * n_panels
    assert device.n_waits <= 1.6 * device.n_products
    n_waits, n_products, n_pairs = device.n_waits, device.n_products, n_panels * (n_panels - 1) // 2
    search.kneighbors(n_neighbors=10)
    assert device.n_products - n_products <= 4 * (n_panels + n_pairs)
    for_limits = 7 * n_panels
    assert device.n_waits - n_waits <= 2 * (device.n_products - n_products) + 8 * n_pairs + for_limits


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_products_serve_the_rows_of_both_panels(n_jobs, use):
    """Little more than half of all pairs are multiplied, and the neighbours are the same."""
    X, device = rows_of_many_panels(), use(CountingDevice(panel_rows=1024, tile_queries=512))
    found = ExactNeighbors(algorithm="brute", device="cpu", n_jobs=n_jobs).fit(X).kneighbors(n_neighbors=5)
    assert 0.5 <= device.n_pairs / len(X) ** 2 <= 0.55
    np.testing.assert_array_equal(found, ExactNeighbors(algorithm="brute").fit(X).kneighbors(n_neighbors=5))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("erring", [False, True])
def test_random_problems(seed, erring, use, monkeypatch):
    """Ties, duplicates, clusters with centres of their own, little room on the device, small groups, full lists."""
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(300, 900)), int(rng.choice([5, 9, 20])), int(rng.choice([1, 4, 60]))
    X = rows_of(KINDS[rng.integers(len(KINDS))], rng, n, d)
    X[rng.integers(0, n, n // 8)] = X[rng.integers(0, n, n // 8)]
    X += rng.choice([0, 1000 * np.abs(X).max()], (n, 1))
    device = HostileDevice(d, **sizes(rng)) if erring else NumpyDevice(**sizes(rng))
    use(device)
    monkeypatch.setattr(_device_lists, "_OPENED_AT_MOST", [0, 2**20][seed % 2])
    monkeypatch.setattr(_device, "_CANDIDATES_OF_GROUP", [0, 2**25][seed // 3])
    if erring:
        monkeypatch.setattr(_device, "check_sums", lambda device: None)
        monkeypatch.setattr(_device, "parts", keep_points)
    assert_same_bits(X, queries_near(X, rng), k, ["euclidean", "cosine"][seed % 2], n_jobs=2)


def sizes(rng):
    """Of panels, tiles and memory."""
    return {
        "panel_rows": int(rng.choice([64, 256])),
        "tile_queries": int(rng.choice([37, 300])),
        "room": int(rng.choice([0, 2**14, 2**40])),
    }


def test_mapped_rows(use, tmp_path):
    """Are read like others."""
    use(NumpyDevice())
    X = np.random.default_rng(0).normal(size=(600, 6)).astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    found = ExactNeighbors(device="cpu").fit(mapped).kneighbors(X[:20], 3)
    np.testing.assert_array_equal(found, ExactNeighbors().fit(X).kneighbors(X[:20], 3))


def test_rounding():
    """To the nearest of eight bits, ties to even; up; and three pieces hold a number of float32."""
    values = np.array([1 + 2.0**-8, 1 + 3 * 2.0**-8, -1 - 2.0**-7, 0.1, 0, 3e38, 1e-40], dtype=np.float32)
    rounded = eight_bits(values)
    np.testing.assert_array_equal(rounded[:3], [1, 1 + 2.0**-6, -1 - 2.0**-7])
    assert (np.abs(rounded - values)[:6] <= 2.0**-8 * np.abs(values[:6])).all()
    rng = np.random.default_rng(0)
    positive = 10.0 ** rng.uniform(-25, 35, 1000)
    up = eight_bits_up(positive)
    np.testing.assert_array_equal(eight_bits(up), up)
    assert (up >= positive).all()
    assert (up <= positive * (1 + 2.0**-6)).all()
    singles = (positive * rng.choice([-1, 1], 1000)).astype(np.float32)
    pieces = np.array(_device._pieces(singles, 3))
    np.testing.assert_array_equal(eight_bits(pieces), pieces)
    np.testing.assert_array_equal(pieces.astype(np.float64).sum(axis=0), singles)


def test_it_is_a_parameter(use):
    """Of scikit-learn's kind, and nothing of it is in the default search."""
    use(NumpyDevice())
    search = clone(ExactNeighbors(device="cpu"))
    assert search.get_params()["device"] == "cpu"
    X = np.random.default_rng(0).normal(size=(300, 4))
    assert type(search.fit(X)._segments[0].engine) is DeviceSearch
    assert type(search.set_params(device=None).fit(X)._segments[0].engine) is not DeviceSearch


def test_a_search_is_made_anew_where_it_is_loaded(use, monkeypatch):
    """With the device that is there or, with a warning, without one."""
    X = np.random.default_rng(0).normal(size=(300, 4))
    use(NumpyDevice("cpu"))
    search = ExactNeighbors(device="cpu").fit(X)
    assert type(copy.deepcopy(search)._segments[0].engine) is DeviceSearch
    assert len(pickle.dumps(search)) < 2 * X.nbytes
    monkeypatch.undo()
    monkeypatch.setattr(_device, "device_named", lambda name: missing())
    with pytest.warns(UserWarning, match="uses no device, and finds the same neighbours, because: no torch"):
        loaded = pickle.loads(pickle.dumps(search))
    assert type(loaded._segments[0].engine) is not DeviceSearch
    np.testing.assert_array_equal(loaded.kneighbors(X[:9], 3), search.kneighbors(X[:9], 3))


def test_a_saved_search_has_no_device():
    """It belongs to a machine, and a file is read on another."""
    assert SavedSearch.of(ExactNeighbors("cosine", device="cuda")).rebuilt().get_params()["device"] is None


def missing():
    """There is no torch."""
    raise ImportError("no torch")


@pytest.mark.parametrize("device", ["gpu", "cuda:x", "mps", 0, ""])
def test_names(device):
    """Others than these are refused."""
    with pytest.raises(ValueError, match=r"device must be None, 'cpu', 'cuda', or 'cuda:0' .*, got "):
        ExactNeighbors(device=device).fit([[0.0], [1.0]])


@pytest.mark.parametrize(
    ("options", "X", "message"),
    [
        ({}, sparse.csr_array(np.eye(3)), "device must be None for sparse rows, got 'cpu'"),
        ({"metric": "manhattan"}, np.eye(3), r"device must be None for other metrics .* metric='manhattan'"),
        ({"metric": "jaccard"}, np.eye(3), "device must be None for other metrics"),
        ({"algorithm": "kd_tree"}, np.eye(3), "device must be None for a tree, got 'cpu' with algorithm='kd_tree'"),
        ({"algorithm": "tree"}, np.eye(3), "algorithm must be one of"),
    ],
)
def test_what_a_device_does_not_take(options, X, message):
    """Is refused before torch is looked for."""
    with pytest.raises(ValueError, match=message):
        ExactNeighbors(device="cpu", **options).fit(X)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forking beside threads, from Python 3.12 on
def test_a_forked_child_searches_while_a_thread_of_its_parent_does(use):
    """The lock of the device's memory is that of a thread which the child does not have."""
    computing, leave = threading.Event(), threading.Event()

    class SlowDevice(NumpyDevice):
        def product(self, left, right):
            if threading.current_thread() is not threading.main_thread():
                computing.set()
                leave.wait(30)
            return super().product(left, right)

    use(SlowDevice())
    X = np.random.default_rng(0).normal(size=(300, 5))
    search = ExactNeighbors(algorithm="brute", device="cpu").fit(X)
    thread = threading.Thread(target=search.kneighbors, args=(X, 3))
    thread.start()
    assert computing.wait(30)
    child = os.fork()
    if child == 0:
        leave.set()  # threads of its own need not wait
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(20)
        found = search.kneighbors(X, 3)
        os._exit(0 if np.array_equal(found, ExactNeighbors().fit(X).kneighbors(X, 3)) else 1)
    leave.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
