"""The bound on single precision holds, and on rows made to defeat it little is recomputed."""

from collections import defaultdict
from functools import partial
from threading import Lock, get_ident

import numpy as np
import pytest
from scipy import sparse

from nearlabel.neighbors import ExactNeighbors, kernel_level
from nearlabel.neighbors.exact import _bounds_search, _gemm_search, _panel_search, _panels
from nearlabel.neighbors.exact._candidates import CandidateLists, find_duplicates, in_threads
from nearlabel.neighbors.exact._panels import DensePanels, SparsePanels
from nearlabel.neighbors.exact._search import distance_named
from nearlabel.neighbors.exact._segments import as_rows

N = 12_000  # three panels


@pytest.fixture(autouse=True)
def _without_kernels():
    """These tests look into numpy's engine; tests/neighbors/test_kernels.py compares kernels with it."""
    with kernel_level("off"):
        yield


def rows_of(kind, rng):
    """Rows for which plain single precision, or a single bound for all rows, fails."""
    X = rng.normal(size=(N, 24))
    return {
        "normal": lambda: X,
        "offset": lambda: 1e4 + 1e-3 * X,
        "outlier": lambda: X * np.where(np.arange(N) == 7, 1e6, 1.0)[:, np.newaxis],
        "outliers": lambda: X * np.where(np.arange(N) % 100 == 7, 1e3, 1.0)[:, np.newaxis],
        "one column of huge scale": lambda: X * np.where(np.arange(24) == 3, 1e4, 1.0),
        "two clusters far apart": lambda: 1e-2 * X + np.where(np.arange(N) % 2, 1e3, -1e3)[:, np.newaxis],
        "a panel of two clusters": lambda: 1e-3 * X + np.where(np.arange(N) < N // 2 + 100, 1e4, -1e4)[:, np.newaxis],
        "duplicates": lambda: X[rng.integers(0, N // 20, N)],
        "half equal": lambda: np.where(np.arange(N)[:, np.newaxis] % 2, X[:1], X),
        "whole numbers": lambda: rng.integers(0, 3, (N, 24)).astype(float),
    }[kind]()


KINDS = ["normal", "offset", "outlier", "outliers", "one column of huge scale", "two clusters far apart", "duplicates"]
KINDS += ["a panel of two clusters", "half equal", "whole numbers"]


@pytest.fixture
def refined(monkeypatch):
    """Numbers of pairs whose rank was computed in float64, and of queries that single precision could not answer."""
    counts = {"pairs": 0, "unresolved": 0}
    ranks, bounds = _gemm_search.GemmSearch._ranks, _bounds_search.BoundsSearch.write

    def counting_ranks(self, rows, found):
        counts["pairs"] += len(found.query)
        return ranks(self, rows, found)

    def counting_bounds(self, X, numbers, *others, **named):
        counts["unresolved"] += len(numbers)
        return bounds(self, X, numbers, *others, **named)

    monkeypatch.setattr(_gemm_search.GemmSearch, "_ranks", counting_ranks)
    monkeypatch.setattr(_bounds_search.BoundsSearch, "write", counting_bounds)
    return counts


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_little_is_recomputed(kind, refined):
    """Of 12,000 rows at most some forty a query are recomputed; float64 bounds answer the outlier at most."""
    X = rows_of(kind, np.random.default_rng(0))
    search = ExactNeighbors(algorithm="brute", n_jobs=1).fit(X)
    search.kneighbors(X[:500], 10)
    search.kneighbors(n_neighbors=10)
    assert refined["pairs"] <= 40 * (500 + N)
    assert refined["unresolved"] <= 2


def test_queries_far_outside_are_given_up_early(refined):
    """Single precision cannot rank rows seen from so far away: float64 bounds do, after one panel."""
    rng = np.random.default_rng(0)
    X, queries = 1e-3 * rng.normal(size=(N, 24)), 1e4 * rng.normal(size=(50, 24))
    found = ExactNeighbors(n_jobs=1).fit(X).kneighbors(queries, 5)[1]
    assert refined == {"pairs": 0, "unresolved": 50}
    squares = np.zeros((50, N))
    for a, b in zip(queries.T, X.T, strict=True):
        squares += (a[:, np.newaxis] - b) ** 2
    np.testing.assert_array_equal(found, np.argsort(squares, axis=1, kind="stable")[:, :5])


def test_leave_one_out_takes_half_of_the_products(monkeypatch):
    """A product of two panels serves both: N²/2 squared distances and the panels' own, not N²."""
    made = []
    squares = DensePanels.squares

    def counting(self, panel, operand, memory):
        made.append(squares(self, panel, operand, memory).size)
        return squares(self, panel, operand, memory)

    monkeypatch.setattr(DensePanels, "squares", counting)
    monkeypatch.setattr(_panels, "PANEL_ROWS", 512)
    n = 16 * 512
    ExactNeighbors(algorithm="brute", n_jobs=1).fit(np.random.default_rng(0).normal(size=(n, 24))).kneighbors()
    assert sum(made) < 0.56 * n**2


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("seed", range(20))
def test_the_bound_holds(metric, seed, monkeypatch):
    """Every computed squared distance is within its bound of the rank that float64 sums give, dense and sparse."""
    monkeypatch.setattr(_panels, "PANEL_ROWS", 64)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, int(rng.choice([1, 3, 30, 200])))) * 10.0 ** rng.uniform(-3, 3)
    X = X * 10.0 ** rng.uniform(-4, 4, (300, 1)) if rng.random() < 0.5 else X + 10.0 ** rng.uniform(0, 5)
    X = X * (rng.random(X.shape) < rng.choice([0.2, 1.0]))
    X = X[np.abs(X).sum(axis=1) > 0]
    queries = X[::7] * 1.01
    distance = distance_named(metric, None)
    for stored in (np.asarray, sparse.csr_array):
        rows, asked = as_rows(stored(X)), as_rows(stored(queries))
        distance.fit(rows)
        kind = SparsePanels if sparse.issparse(rows) else DensePanels
        panels = kind(rows, distance, np.arange(len(X)), partial(in_threads, 1))
        for number in range(panels.n_panels):
            panel = panels.panel(number)
            operand = panels.operand(asked, panel.centre)
            memory = np.empty(2 * len(panel.rows) * len(queries), dtype=np.float32)
            squares = panels.squares(panel, operand, memory)[: panel.n_rows].astype(float)
            error = panels.error(panel.norms[: panel.n_rows, np.newaxis], operand.norms).astype(float)
            row, query = (index.ravel() for index in np.indices(squares.shape))
            ranks = distance.ranks(asked, rows, (query, panel.rows[row])).reshape(squares.shape)
            ranks = 2 * (1 + ranks) if metric == "cosine" else ranks
            assert (np.abs(squares - np.ldexp(ranks, 2 * panels._exponent)) <= error).all()


def test_balls_are_no_nearer_than_their_rows(monkeypatch):
    """The lower bound of a panel exceeds the rank of none of its rows, scaled alike."""
    monkeypatch.setattr(_panels, "PANEL_ROWS", 64)
    rng = np.random.default_rng(0)
    for scale in (1e-12, 1.0, 1e12):
        X = scale * (rng.normal(size=(500, 5)) + 20 * rng.integers(0, 5, (500, 1)))
        distance = distance_named("euclidean", None)
        distance.fit(X)
        panels = DensePanels(X, distance, np.arange(500), partial(in_threads, 1))
        lower = panels.lower_bounds(X, range(panels.n_panels))
        assert (lower > 0).mean() > 0.3
        for number in range(panels.n_panels):
            rows = panels.panel(number).rows[: panels.panel(number).n_rows]
            squares = ((X[:, np.newaxis] - X[rows]) ** 2).sum(axis=2).min(axis=1)
            assert (lower[:, number] <= np.ldexp(squares, 2 * panels._exponent)).all()


@pytest.mark.parametrize("scale", [1e4, 1e6, 1e8])
def test_balls_far_from_the_centre_are_no_nearer_than_their_rows(scale, monkeypatch):
    """Tiny balls far away: distances to their middles are mostly rounding, which the lower bound takes into account."""
    monkeypatch.setattr(_panels, "PANEL_ROWS", 64)
    rng = np.random.default_rng(0)
    X = scale * rng.normal(size=(5, 24))[np.arange(300) % 5] + 1e-3 * rng.normal(size=(300, 24))
    distance = distance_named("euclidean", None)
    distance.fit(X)
    panels = DensePanels(X, distance, np.arange(300), partial(in_threads, 1))
    lower = panels.lower_bounds(X, range(panels.n_panels))
    for number in range(panels.n_panels):
        rows = panels.panel(number).rows[: panels.panel(number).n_rows]
        squares = ((X[:, np.newaxis] - X[rows]) ** 2).sum(axis=2).min(axis=1)
        assert (lower[:, number] <= np.ldexp(squares, 2 * panels._exponent)).all()


def test_rows_of_equal_sums_are_compared():
    """Groups of equal rows are found by random sums of the features; rows that differ are told apart all the same."""
    _, b, c = np.random.default_rng(0).normal(size=3)  # the weights of the sums
    X = np.repeat([[1.0, c, 0.0], [1.0, 0.0, b]], 20, axis=0)  # both sums are those of the weights a + b c
    groups = find_duplicates(X)
    assert groups.first.tolist() == [0, 20]
    assert groups.group_of.tolist() == [0] * 20 + [1] * 20


def test_no_two_threads_write_to_one_list_of_candidates(monkeypatch):
    """Leave-one-out in groups of panels: a thread that compares or finishes a panel has its lists for itself."""
    writers, overlaps, lock = defaultdict(set), [], Lock()

    def watched(method):
        def call(lists, *arguments, **options):
            me = get_ident()
            with lock:
                outermost = me not in writers[id(lists)]
                writers[id(lists)].add(me)
                overlaps.append(len(writers[id(lists)]) > 1)
            try:
                return method(lists, *arguments, **options)
            finally:
                with lock:
                    if outermost:
                        writers[id(lists)].discard(me)

        return call

    for name in ("offer", "add", "panel_seen", "tighten", "candidates"):
        monkeypatch.setattr(CandidateLists, name, watched(getattr(CandidateLists, name)))
    monkeypatch.setattr(_panels, "PANEL_ROWS", 64)
    for group in (2, 3, 100):
        monkeypatch.setattr(_panel_search, "_PANELS_PER_GROUP", group)
        X = np.random.default_rng(group).normal(size=(448, 12))
        found = ExactNeighbors(algorithm="brute", n_jobs=4).fit(X).kneighbors(None, 20, return_distance=False)
        ranks = ((X[:, np.newaxis] - X) ** 2).sum(axis=2)
        np.fill_diagonal(ranks, np.inf)
        np.testing.assert_array_equal(found, np.argsort(ranks, axis=1)[:, :20])
    assert len(overlaps) > 500
    assert not any(overlaps)


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_rows_are_neither_copied_nor_changed(store):
    """The search refers to the rows it was given."""
    X = store(np.random.default_rng(0).normal(size=(40, 3)))
    before = X.copy()
    search = ExactNeighbors("cosine").fit(X)
    search.kneighbors(X, 3)
    rows = search._all_rows()
    values = (X.data, rows.data) if sparse.issparse(X) else (X, rows)
    assert np.shares_memory(*values)
    assert abs(X - before).max() == 0


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (ExactNeighbors(algorithm="ball_tree"), r"algorithm must be one of \['auto', 'brute', 'kd_tree'\]"),
        (ExactNeighbors("cosine", algorithm="kd_tree"), "algorithm must be 'auto' or 'brute' for sparse rows"),
    ],
)
def test_errors(search, message):
    """An algorithm that is unknown, or that the metric has not, is refused."""
    with pytest.raises(ValueError, match=message):
        search.fit(np.eye(4))


def test_short_lower_bounds():
    """Bounds in 16 bits are at most the given ones, near them, and not below 0."""
    rng = np.random.default_rng(0)
    lower = np.concatenate([rng.normal(size=1000) * 10.0 ** rng.uniform(-40, 38, 1000), [0.0, 1e300, np.inf, -np.inf]])
    short = _panel_search._lengthened(_panel_search._shortened(lower))
    assert (short <= np.maximum(lower, 0)).all()
    usual = (lower > 1e-30) & (lower < 1e30)
    assert (short[usual] >= lower[usual] * (1 - 2.0**-7)).all()
    assert (short[lower <= 0] == 0).all()
