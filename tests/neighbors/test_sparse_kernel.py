"""The kernel for sparse rows: the bits of the search without it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from nearlabel.neighbors import ExactNeighbors
from nearlabel.neighbors.exact import _kernel_search, _panel_search, _panels
from nearlabel.neighbors.exact import kernels as _kernels
from nearlabel.neighbors.exact._distances import sum_over_features
from nearlabel.neighbors.exact._gemm_search import GemmSearch
from nearlabel.neighbors.exact._kernel_points import SparseColumns, SparseQueries
from nearlabel.neighbors.exact._kernel_search import KernelLists, KernelSearch
from nearlabel.neighbors.exact.kernels import kernel_level, level_numbers, sum_sparse_pairs

pytestmark = pytest.mark.skipif(not level_numbers(), reason="not built here")


def words(rng, n=300, d=120, n_words=8):
    """Rows of few words, some of which are much more frequent than others."""
    frequency = 1 / np.arange(1, d + 1)
    column = rng.choice(d, size=n * n_words, p=frequency / frequency.sum())
    counts = sparse.csr_array((np.ones(n * n_words), (np.repeat(np.arange(n), n_words), column)), shape=(n, d))
    counts.sum_duplicates()
    return counts


def with_values(X, values):
    """The same places."""
    return sparse.csr_array((values, X.indices, X.indptr), shape=X.shape)


def rows_of(kind, rng):
    """Sparse rows that bounds, ties or layouts confuse."""
    X = words(rng)
    weights = rng.normal(size=X.nnz)
    some = (rng.random(X.shape[0]) < 0.7).astype(float)[:, np.newaxis]
    far = np.where(np.arange(X.shape[0]) == 100, 1e30, 1.0)[:, np.newaxis]
    return {
        "counts": lambda: X,
        "binary": lambda: with_values(X, np.ones(X.nnz)),
        "weights": lambda: with_values(X, weights),
        "single precision": lambda: with_values(X, weights.astype(np.float32)),
        "duplicates": lambda: with_values(X, weights)[rng.integers(0, 60, X.shape[0])],
        "all equal": lambda: with_values(X, weights)[np.zeros(300, dtype=int)],
        "nearly equal": lambda: sparse.csr_array(X[:1].toarray() * (1 + 1e-9 * rng.normal(size=(300, 1)))),
        "empty rows": lambda: sparse.csr_array(with_values(X, weights).multiply(some)),
        "explicit zeros": lambda: with_values(X, weights * (rng.random(X.nnz) < 0.6)),
        "wide indices": lambda: wide(with_values(X, weights)),
        "rows of many scales": lambda: sparse.csr_array(X.multiply(10.0 ** rng.uniform(-6, 6, (X.shape[0], 1)))),
        "columns of many scales": lambda: sparse.csr_array(X.multiply(10.0 ** rng.uniform(-8, 8, (1, X.shape[1])))),
        "an outlier": lambda: sparse.csr_array(with_values(X, weights).multiply(far)),
        "every value stored": lambda: sparse.csr_array(rng.normal(size=(300, 20))),
        "nothing shared": lambda: sparse.csr_array(sparse.diags_array(1 + rng.random(300))),
        "large": lambda: with_values(X, weights * 1e150),
        "small": lambda: with_values(X, weights * 1e-135),
        "denormal": lambda: with_values(X, np.where(np.arange(X.nnz) % 400 == 0, 1, 1e-310) * weights),  # all: refused
    }[kind]()


KINDS = (
    "counts", "binary", "weights", "single precision", "duplicates", "all equal", "nearly equal", "empty rows",
    "explicit zeros", "wide indices", "rows of many scales", "columns of many scales", "an outlier",
    "every value stored", "nothing shared", "large", "small", "denormal",
)  # fmt: skip


def wide(X):
    """Numbers of columns and rows of 64 bits."""
    return sparse.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)


def answers(X, queries, metric, k, **options):
    """Neighbours of queries, and of the rows."""
    search = ExactNeighbors(metric, **options).fit(X)
    return (*search.kneighbors(queries, k), *search.kneighbors(None, k))


@pytest.fixture
def small_panels(monkeypatch):
    """Several panels and tiles of few rows, however many values they have."""
    monkeypatch.setattr(_kernel_search, "_SPARSE_UP_TO", 1.0)
    monkeypatch.setattr(_panels, "PANEL_ROWS", 130)
    monkeypatch.setattr(_panel_search, "QUERIES_PER_TILE", 37)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_the_same_bits(kind, metric, small_panels):
    """Distances and indices of the search without kernels."""
    rng = np.random.default_rng(0)
    X = rows_of(kind, rng)
    queries = X[rng.integers(0, X.shape[0], 50)]
    queries.data = (queries.data * rng.choice([1, 1.001, 2], queries.nnz)).astype(X.dtype)
    for k, n_jobs in ((1, 1), (12, 2)):
        with kernel_level("off"):
            expected = answers(X, queries, metric, k)
        with kernel_level("float32"):
            found = answers(X, queries, metric, k, n_jobs=n_jobs)
        for ours, true in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, true, str(k))


@pytest.mark.long
def test_panels_of_the_usual_size():
    """Two of them, and more queries than a tile has."""
    X = words(np.random.default_rng(0), n=5000, d=700, n_words=5)
    for rows in (X, with_values(X, np.random.default_rng(1).random(X.nnz))):
        with kernel_level("off"):
            expected = answers(rows, rows[:1100], "euclidean", 5)
        with kernel_level("float32"):
            found = answers(rows, rows[:1100], "euclidean", 5)
        for ours, true in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, true)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_queries_of_features_that_no_row_has(metric):
    """And one far beyond what single precision holds."""
    X = words(np.random.default_rng(0), d=200)
    X = sparse.csr_array(X.multiply(np.arange(200) % 3 > 0))
    queries = words(np.random.default_rng(1), n=100, d=200)
    queries.data[queries.indptr[3] : queries.indptr[4]] *= 1e60
    with kernel_level("off"):
        expected = answers(X, queries, metric, 4)
    with kernel_level("float32"):
        found = answers(X, queries, metric, 4)
    for ours, true in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, true)


def test_which_search():
    """The kernel's, unless kernels are off or there are many values in a row: a product is faster."""
    X = words(np.random.default_rng(0))
    full = sparse.csr_array(np.random.default_rng(0).normal(size=(300, 20)))
    for level, rows, kind in (("float32", X, KernelSearch), ("off", X, GemmSearch), ("float32", full, GemmSearch)):
        with kernel_level(level):
            assert type(ExactNeighbors().fit(rows)._segments[0].engine) is kind


@pytest.mark.parametrize("number", [0, 1, 4], ids=["AVX2", "AVX-512", "NEON"])
def test_every_float32(number, monkeypatch, small_panels):
    """Not only the best one for this processor."""
    if not _kernels.library().nearlabel_levels() >> number & 1:
        pytest.skip("not a level of this processor")
    monkeypatch.setattr(_kernel_search.kernels, "level_numbers", lambda: {"float32": number})
    X = rows_of("weights", np.random.default_rng(0))
    with kernel_level("off"):
        expected = answers(X, X[:50], "euclidean", 7)
    with kernel_level("float32"):
        found = answers(X, X[:50], "euclidean", 7)
    for ours, true in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, true)


@pytest.mark.parametrize("shift", [-1.0, 1.0])
def test_the_slack_covers_what_is_stored(shift, monkeypatch, small_panels):
    """Values off by all that the rests allow, away from or towards the queries, change no answer."""
    rng = np.random.default_rng(0)
    X = rows_of("weights", rng)
    with kernel_level("off"):
        expected = answers(X, X[:60], "euclidean", 5)
    of = SparseColumns.of.__func__

    def shifted(cls, points, squares, n_terms):
        made = of(cls, points, squares, n_terms)
        size = np.float32(2.0**-6)
        return replace(
            made,
            values=made.values * (1 + shift * size),
            dense=made.dense * (1 + shift * size),
            rests=made.rests + size * made.norms * np.float32(1.001),
        )

    monkeypatch.setattr(SparseColumns, "of", classmethod(shifted))
    with kernel_level("float32"):
        found = answers(X, X[:60], "euclidean", 5)
    for ours, true in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, true)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sums_of_pairs(dtype, index):
    """The bits of sums feature by feature; what the kernel does not take it leaves to scipy."""
    rng = np.random.default_rng(0)
    left, right = (with_values(X, rng.normal(size=X.nnz).astype(dtype)) for X in (words(rng), words(rng, n=90)))
    for X in (left, right):
        X.data[rng.random(X.nnz) < 0.1] = 0
        X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    pairs = rng.integers(0, 300, 500), rng.integers(0, 90, 500)
    for kind, (combine, term) in enumerate([(np.subtract, np.square), (np.multiply, np.positive)]):
        with kernel_level("off"):
            assert sum_sparse_pairs(kind, left, right, pairs) is None
            expected = sum_over_features(left, right, pairs, combine, term)
        with kernel_level("auto"):
            np.testing.assert_array_equal(sum_sparse_pairs(kind, left, right, pairs), expected)
            np.testing.assert_array_equal(sum_over_features(left, right, pairs, combine, term), expected)
            assert sum_sparse_pairs(kind, left, right, (pairs[0] - 5, pairs[1])) is None
            assert sum_sparse_pairs(kind, left, right, (pairs[0], pairs[1] + 1)) is None
            assert sum_sparse_pairs(kind, left, right.astype(np.complex128), pairs) is None
            broken = right.copy()
            broken.indptr[5] = 10**6
            assert sum_sparse_pairs(kind, left, broken, pairs) is None
            empty = np.empty(0, dtype=np.intp)
            assert sum_sparse_pairs(kind, left, right, (empty, empty)).shape == (0,)


def points_of(X):
    """Points and their squared norms."""
    return X, np.asarray(X.multiply(X).sum(axis=1)).ravel()


def test_an_unresolved_query_is_still_offered_to_the_rows():
    """What has too many candidates itself may be among the nearest of others."""
    X = words(np.random.default_rng(0), n=40)
    numbers = np.arange(20, dtype=np.int32)
    rows, queries = SparseColumns.of(*points_of(X[:20]), 8), SparseQueries.of(*points_of(X[20:]))
    of_queries, of_rows = (KernelLists(20, 4, 60, exact=False, absolute=0.0) for _ in range(2))
    of_queries.unresolved[:] = True
    of_queries.offer(rows, numbers, queries, numbers, numbers + np.int32(20), of_rows)
    assert len(of_queries.candidates().query) == 0
    assert (np.bincount(of_rows.candidates().query, minlength=20) >= 4).all()


def test_malformed_points_are_refused():
    """Before the kernel reads what is not theirs."""
    X = words(np.random.default_rng(0))

    def broken(**parts):
        bad = X.copy()
        for name, (place, value) in parts.items():
            getattr(bad, name)[place] = value
        return bad

    n_stored = X.nnz
    faults = (
        {"indices": (0, -1)}, {"indices": (0, 120)}, {"indptr": (-1, n_stored + 1)}, {"indptr": (0, -1)},
        {"indptr": (5, n_stored)},
    )  # fmt: skip
    for fault in faults:
        for make in (lambda *points: SparseColumns.of(*points, 8), SparseQueries.of):
            with pytest.raises(ValueError, match="points must be valid CSR rows with 120 features"):
                make(broken(**fault), np.ones(300))
    with pytest.raises(ValueError, match="points must be valid CSR rows"):
        SparseQueries.of(X, np.ones(299))


def test_malformed_calls_are_refused():
    """Lengths and numbers of features that do not match."""
    rows = SparseColumns.of(*points_of(words(np.random.default_rng(0), n=70)), 8)
    queries = SparseQueries.of(*points_of(words(np.random.default_rng(1), n=10)))
    numbers, places = (np.arange(n, dtype=np.int32) for n in (70, 10))
    good = {"rows": rows, "numbers": numbers, "queries": queries, "places": places, "own": None}
    lists = KernelLists(10, 3, 60, exact=False, absolute=0.0)
    narrow = SparseQueries.of(*points_of(words(np.random.default_rng(1), n=10, d=64)))
    for wrong in ({"numbers": numbers[1:]}, {"places": places[1:]}, {"queries": narrow}, {"own": numbers}):
        with pytest.raises(ValueError, match="match in length"):
            lists.offer(**{**good, **wrong})
    with pytest.raises(RuntimeError, match="The kernels refused a call"):
        KernelLists(10, 3, 2, exact=False, absolute=0.0).offer(**good)
    with pytest.raises(RuntimeError, match="The kernels refused a call"):
        lists.offer(**{**good, "rows": replace(rows, n_features=0), "queries": replace(queries, n_features=0)})
    lists.offer(**{**good, "places": np.full(10, -1, dtype=np.int32)})
    assert len(lists.candidates().query) == 0
    lists.offer(**good)
    assert (np.bincount(lists.candidates().query) >= 3).all()
