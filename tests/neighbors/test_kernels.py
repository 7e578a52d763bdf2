"""The compiled kernels: at every level the bits of the search without them."""

import ctypes
import importlib.util
import pickle
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from nearlabel.datasets import open_store, write_store
from nearlabel.neighbors import ExactNeighbors
from nearlabel.neighbors.exact import _gemm_search, _kernel_search, _panel_search, _panels
from nearlabel.neighbors.exact import kernels as _kernels
from nearlabel.neighbors.exact._distances import sum_over_features
from nearlabel.neighbors.exact._kernel_points import PackedPoints, RowSource
from nearlabel.neighbors.exact._kernel_search import KernelLists, KernelSearch, Room, _spread
from nearlabel.neighbors.exact.kernels import kernel_in_use, kernel_level, kernel_levels, level_numbers, sum_pairs

ROOT = Path(__file__).parents[2]
LEVELS = [*level_numbers(), *([] if level_numbers() else [pytest.param("", marks=pytest.mark.skip("not built here"))])]
every_level = pytest.mark.parametrize("level", LEVELS)
built = pytest.mark.skipif(not level_numbers(), reason="not built here")


def builder():
    """The module that builds the kernels; not where the package is tested without its sources."""
    spec = importlib.util.spec_from_file_location("build_kernels", ROOT / "build_kernels.py")
    if spec is None or not (ROOT / "kernels").is_dir():
        pytest.skip("no sources of the kernels here")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows_of(kind, rng, n=220, d=9):
    """Rows that bounds confuse."""
    X = rng.normal(size=(n, d))
    return {
        "normal": lambda: X,
        "single precision": lambda: X.astype(np.float32),
        "whole numbers": lambda: rng.integers(-2, 3, (n, d)).astype(float),
        "duplicates": lambda: X[rng.integers(0, n // 3, n)],
        "all equal": lambda: np.tile(X[:1], (n, 1)),
        "offset": lambda: 1e4 + 1e-3 * X,
        "clusters far apart": lambda: 1e-3 * X + rng.choice([-1e4, 0, 1e4], (n, 1)),
        "columns of many scales": lambda: X * 10.0 ** rng.uniform(-8, 8, (1, d)),
        "rows of many scales": lambda: X * 10.0 ** rng.uniform(-6, 6, (n, 1)),
        "an outlier": lambda: X * np.where(np.arange(n)[:, np.newaxis] == n // 2, 1e30, 1),
        "mostly zeros": lambda: X * (rng.random((n, d)) < 0.2),
        "large": lambda: X * 1e150,
        "small": lambda: X * 1e-135,
        "denormal": lambda: X * np.where(np.arange(n)[:, np.newaxis] % 40 == 0, 1, 1e-310),  # all would be refused
    }[kind]()


KINDS = (
    "normal", "single precision", "whole numbers", "duplicates", "all equal", "offset", "clusters far apart",
    "columns of many scales", "rows of many scales", "an outlier", "mostly zeros", "large", "small", "denormal",
)  # fmt: skip


def answers(X, queries, metric, k, **options):
    """Neighbours of queries, and of the rows."""
    search = ExactNeighbors(metric, algorithm="brute", **options).fit(X)
    return (*search.kneighbors(queries, k), *search.kneighbors(None, k))


@pytest.fixture
def small_panels(monkeypatch):
    """Several panels and tiles of few rows."""
    monkeypatch.setattr(_panels, "PANEL_ROWS", 64)
    monkeypatch.setattr(_panel_search, "QUERIES_PER_TILE", 37)
    monkeypatch.setattr(_kernel_search, "_FEW_QUERIES", 20)  # those of the last tile


@every_level
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_the_same_bits(level, kind, metric, small_panels):
    """Whatever the level, the metric and the rows: distances and indices of the search without kernels."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = rows_of(kind, rng, d=[2, 17][seed])
        queries = X[rng.integers(0, len(X), 50)]
        queries = (queries * rng.choice([1, 1.001, 2], (50, 1))).astype(X.dtype)
        for k in (1, 12):
            with kernel_level("off"):
                expected = answers(X, queries, metric, k)
            with kernel_level(level):
                found = answers(X, queries, metric, k, n_jobs=1 + seed % 2)
            for ours, true in zip(found, expected, strict=True):
                np.testing.assert_array_equal(ours, true, f"{seed} {k}")


@built
@pytest.mark.parametrize("number", [0, 1, 4], ids=["AVX2", "AVX-512", "NEON"])
def test_every_float32(number, monkeypatch, small_panels):
    """Not only the best one for this processor."""
    if not _kernels.library().nearlabel_levels() >> number & 1:
        pytest.skip("not a level of this processor")
    monkeypatch.setattr(_kernel_search.kernels, "level_numbers", lambda: {"float32": number})
    for kind in ("normal", "whole numbers", "rows of many scales"):
        X = rows_of(kind, np.random.default_rng(0))
        with kernel_level("off"):
            expected = answers(X, X[:50] * 1.01, "euclidean", 7)
        with kernel_level("float32"):
            found = answers(X, X[:50] * 1.01, "euclidean", 7)
        for ours, true in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, true, kind)


@pytest.mark.parametrize("level", [level for level in LEVELS if level != "hostile"])  # which is slow
def test_many_rows(level):
    """Panels and tiles of the usual size."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6_000, 21)).astype(np.float32)
    with kernel_level("off"):
        expected = answers(X, X[:1100] + 0.1, "euclidean", 5)
    with kernel_level(level):
        found = answers(X, X[:1100] + 0.1, "euclidean", 5)
    for ours, true in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, true)


@built
def test_a_hostile_level_needs_the_whole_slack(monkeypatch, small_panels):
    """With half of what rounding drops neighbours are missed: it is able to show a bound that is too small."""
    rng = np.random.default_rng(0)
    X = 1 + 1e-3 * rng.normal(size=(300, 40))
    X[::2] += 3 * rng.normal(size=(150, 1))
    with kernel_level("off"):
        expected = answers(X, X, "euclidean", 5)
    of = PackedPoints.of

    def of_half(level, source, *, as_rows):
        points = of(level, source, as_rows=as_rows)
        points.rests[:] /= 2
        return points

    monkeypatch.setattr(PackedPoints, "of", of_half)
    with kernel_level("hostile"):
        found = answers(X, X, "euclidean", 5)
    assert any((ours != true).any() for ours, true in zip(found, expected, strict=True))


@built
def test_what_a_level_cannot_resolve_is_searched_for_in_float32(monkeypatch):
    """Four bits of a coordinate cannot order so many rows in a plane; float32 can."""
    levels = []
    search = KernelSearch._search_in_tiles

    def watched(self, X, numbers, result, n_jobs, **options):
        levels.append((self._panels.level, len(numbers)))
        return search(self, X, numbers, result, n_jobs, **options)

    monkeypatch.setattr(KernelSearch, "_search_in_tiles", watched)
    X = np.random.default_rng(0).normal(size=(6000, 2))
    with kernel_level("off"):
        expected = ExactNeighbors(algorithm="brute").fit(X).kneighbors(X[:500], 3)
    with kernel_level("hostile"):
        found = ExactNeighbors(algorithm="brute").fit(X).kneighbors(X[:500], 3)
    np.testing.assert_array_equal(found, expected)
    assert [level for level, _ in levels] == ["hostile", "float32"]
    assert levels[1][1] > 0


def test_levels(monkeypatch):
    """A block, else the environment, else the best; what is not there is refused."""
    assert kernel_levels()[-1] == "off"
    monkeypatch.delenv("NEARLABEL_KERNELS", raising=False)
    assert kernel_in_use() == kernel_levels()[0]
    monkeypatch.setenv("NEARLABEL_KERNELS", "")
    assert kernel_in_use() == kernel_levels()[0]
    monkeypatch.setenv("NEARLABEL_KERNELS", "off")
    assert kernel_in_use() == "off"
    monkeypatch.setenv("NEARLABEL_KERNELS", "auto")
    assert kernel_in_use() == kernel_levels()[0]
    with kernel_level("off"):
        assert kernel_in_use() == "off"
    with pytest.raises(ValueError, match=r"level must be one of .*off here, got 'int3'"), kernel_level("int3"):
        pass
    monkeypatch.setenv("NEARLABEL_KERNELS", "int3")
    with pytest.raises(ValueError, match=r"NEARLABEL_KERNELS must be one of .*off here, got 'int3'"):
        kernel_in_use()


@built
def test_a_search_is_made_anew_where_it_is_loaded():
    """Another processor may have other levels, or none."""
    X = np.random.default_rng(0).normal(size=(200, 4))
    with kernel_level("float32"):
        search = ExactNeighbors(algorithm="brute").fit(X)
    assert type(search._segments[0].engine) is KernelSearch
    with kernel_level("off"):
        loaded = pickle.loads(pickle.dumps(search))
    assert type(loaded._segments[0].engine) is _gemm_search.GemmSearch
    np.testing.assert_array_equal(loaded.kneighbors(X, 3), search.kneighbors(X, 3))


@built
def test_a_library_without_float32_is_not_used(monkeypatch):
    """Whole numbers, and what the others cannot resolve, fall to it."""
    monkeypatch.setitem(_kernels._NUMBERS, "float32", ())
    level_numbers.cache_clear()
    try:
        assert kernel_levels() == ("off",)
    finally:
        monkeypatch.undo()
        level_numbers.cache_clear()


@built
def test_a_library_of_another_version_is_not_called(monkeypatch):
    """It is as if there were none."""
    monkeypatch.setattr(_kernels, "INTERFACE", 0)
    _kernels.library.cache_clear()
    try:
        assert _kernels.library() is None
    finally:
        _kernels.library.cache_clear()


@every_level
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [2, 16, 21])
def test_sums_of_pairs(level, dtype, n_features):
    """The bits of numpy's sums, feature after feature; what the kernel does not take it leaves to numpy."""
    rng = np.random.default_rng(0)
    left, right = (rng.normal(size=(n, n_features)).astype(dtype) for n in (30, 17))
    pairs = rng.integers(0, 30, 101), rng.integers(0, 17, 101)
    for kind, (combine, term) in enumerate([(np.subtract, np.square), (np.multiply, np.positive)]):
        with kernel_level("off"):
            assert sum_pairs(kind, left, right, pairs) is None
            expected = sum_over_features(left, right, pairs, combine, term)
        with kernel_level(level):
            np.testing.assert_array_equal(sum_pairs(kind, left, right, pairs), expected)
            assert sum_pairs(kind, left, right[:, ::-1], pairs) is None
            assert sum_pairs(kind, np.asfortranarray(left), right, pairs) is None
            assert sum_pairs(kind, left, right, (pairs[0] - 5, pairs[1])) is None
            assert sum_pairs(kind, left, right, (pairs[0], pairs[1] + 1)) is None
            assert sum_pairs(kind, left, right.astype(np.float16), pairs) is None
            assert sum_pairs(kind, left, right, (pairs[0], pairs[1][:9])) is None
            assert sum_pairs(kind, left, right, (pairs[0][:, np.newaxis], pairs[1][:, np.newaxis])) is None
            empty = np.empty(0, dtype=np.intp)
            assert sum_pairs(kind, left, right, (empty, empty)).shape == (0,)


@every_level
def test_malformed_calls_are_refused(level):
    """Before anything is read or written that is not theirs."""

    def points(n, n_features=6, *, as_rows=False):
        return PackedPoints.of(level, source_of(np.ones((n, n_features))), as_rows=as_rows)

    lists = KernelLists(10, 3, 20, exact=False, absolute=0.0)
    good = {
        "rows": points(40, as_rows=True),
        "numbers": np.arange(40, dtype=np.int32),
        "queries": points(10),
        "places": np.arange(10, dtype=np.int32),
        "own": np.arange(10, dtype=np.int32),
    }
    for name, wrong in (
        ("numbers", np.arange(39, dtype=np.int32)),
        ("places", np.arange(11, dtype=np.int32)),
        ("own", np.arange(9, dtype=np.int32)),
        ("queries", points(11)),
        ("queries", points(10, as_rows=True)),
        ("rows", points(40)),
        ("of_rows", lists),
    ):
        with pytest.raises(ValueError, match="must be for each other and match"):
            lists.offer(**{**good, name: wrong})
    for name in ("numbers", "own", "places"):
        for wrong in (good[name].astype(np.int64), np.repeat(good[name], 2)[::2]):
            with pytest.raises(ValueError, match="must be contiguous int32"):
                lists.offer(**{**good, name: wrong})
    for wrong in (
        {"queries": points(10, 70)},
        {"own": None, "of_rows": KernelLists(40, 3, 20, exact=False, absolute=0.0)},
        {"of_rows": KernelLists(40, 3, 2, exact=False, absolute=0.0)},
    ):
        with pytest.raises(RuntimeError, match="The kernels refused a call"):
            lists.offer(**{**good, **wrong})
    for n_neighbors, most in ((3, 2), (3, 7), (9, 8)):
        with pytest.raises(RuntimeError, match="The kernels refused a call"):
            KernelLists(10, n_neighbors, most, exact=False, absolute=0.0).offer(**good)
    for wrong in (-2, 10):
        with pytest.raises(ValueError, match="places must be below 10"):
            lists.offer(**{**good, "places": np.full(10, wrong, dtype=np.int32)})
    lists.offer(**{**good, "places": np.full(10, -1, dtype=np.int32)})
    assert len(lists.candidates().query) == 0


def source_of(X, rows=None, centre=None, exponent=0, *, unit_length=False):
    """What makes points of rows."""
    rows = np.arange(len(X)) if rows is None else rows
    return RowSource(X, rows, np.zeros(X.shape[1]) if centre is None else centre, exponent, unit_length=unit_length)


@every_level
def test_sources_that_do_not_fit_are_refused(level):
    """Before anything is read that is not theirs."""
    X = np.ones((10, 6))
    for rows in ([-1], [10]):
        with pytest.raises(ValueError, match="rows must be numbers of the 10 rows"):
            source_of(X, np.array(rows))
    for wrong, centre in ((X, np.zeros(5)), (X[0], np.zeros(6)), (X.astype(int), np.zeros(6)), (X.astype(">f8"), None)):
        with pytest.raises(ValueError, match="X must be a matrix of floats"):
            RowSource(wrong, np.arange(1), np.zeros(6) if centre is None else centre, 0, unit_length=False)
    assert len(PackedPoints.of(level, source_of(X, np.empty(0, int)), as_rows=True).norms) == 0


@built
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("unit_length", [False, True])
def test_points_of_rows(dtype, unit_length):
    """Centred, scaled, of length one: in any layout of memory, and for numbers that are very large or small."""
    X = np.random.default_rng(0).normal(size=(20, 11)).astype(dtype)
    X[3] = 0
    rows, centre = np.array([4, 3, 3, 19, 0]), np.linspace(0, 1, 11)
    largest = np.finfo(dtype).max / 100
    bytes_of = np.zeros(X.nbytes + 1, dtype=np.uint8)
    unaligned = bytes_of[1:].view(dtype).reshape(X.shape)
    unaligned[:] = X
    every_other = np.repeat(X, 2, axis=1)[:, ::2]
    for of in (X, np.asfortranarray(X), X[::-1].copy()[::-1], every_other, unaligned):
        points = X[rows].astype(float)
        if unit_length:
            lengths = np.linalg.norm(points, axis=1, keepdims=True)
            points = np.divide(points, lengths, out=np.zeros_like(points), where=lengths > 0)
        expected = np.sum(((points - centre) * 2.0**3) ** 2, axis=1)
        source = source_of(of, rows, centre, 3, unit_length=unit_length)
        without_power = source.squares(np.array([centre, 2 * centre]))
        np.testing.assert_allclose(without_power[0] * 2.0**6, expected, rtol=1e-14)
        np.testing.assert_allclose(without_power[1], np.sum((points - 2 * centre) ** 2, axis=1), rtol=1e-14)
        packed = PackedPoints.of("float32", source, as_rows=True)
        np.testing.assert_allclose(packed.squares, expected, rtol=1e-14)
        assert (packed.norms >= np.sqrt(expected)).all()
    for scale in (largest, 1 / largest):
        squares = source_of((X * scale).astype(dtype), unit_length=True).squares(np.zeros((1, 11)))
        np.testing.assert_allclose(squares, [np.arange(20) != 3], rtol=1e-6)


@every_level
@pytest.mark.parametrize("kind", KINDS)
def test_what_rounding_drops_is_known(level, kind):
    """Of stored points, for the bounds: the rest is no more than the norm, and little for most levels."""
    X = rows_of(kind, np.random.default_rng(0))
    X = X / max(np.abs(X).max(), 1e-300)
    points = PackedPoints.of(level, source_of(X), as_rows=False)
    relative = {"bf16": 2.0**-8, "int16": 11**0.5 / 2**15, "float32": 2.0**-23, "hostile": 2.0**-4}[level]
    assert (points.rests <= relative * points.norms + 2.0**-90).all()  # far below the absolute error that is allowed
    np.testing.assert_allclose(points.norms, np.linalg.norm(X, axis=1), rtol=1e-6)


@every_level
def test_both_directions_at_once(level):
    """Queries that are offered to rows as well: the candidates of two comparisons."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 7))
    one, other = np.arange(0, 170, dtype=np.int32), np.arange(170, 300, dtype=np.int32)

    def new_lists(n):
        return KernelLists(n, 4, 60, exact=False, absolute=0.0)

    def packed(rows, *, as_rows):
        return PackedPoints.of(level, source_of(X, rows), as_rows=as_rows)

    both = new_lists(len(other)), new_lists(len(one))
    places = [np.arange(len(of), dtype=np.int32) for of in (one, other)]
    both[0].offer(packed(one, as_rows=True), one, packed(other, as_rows=False), places[1], other, both[1])
    each = new_lists(len(other)), new_lists(len(one))
    each[0].offer(packed(one, as_rows=True), one, packed(other, as_rows=False), places[1], other)
    each[1].offer(packed(other, as_rows=True), other, packed(one, as_rows=False), places[0], one)
    squares = ((X[one][:, np.newaxis] - X[other]) ** 2).sum(axis=2)
    for found, expected, nearest in zip(both, each, (squares.T, squares), strict=True):
        wanted = np.argsort(nearest, axis=1)[:, :4]
        for lists, numbers in ((found, [one, other][nearest is squares]), (expected, [one, other][nearest is squares])):
            candidates = lists.candidates()
            pairs = set(zip(candidates.query.tolist(), candidates.row.tolist(), strict=True))
            answered = np.flatnonzero(~lists.unresolved)
            assert level == "hostile" or len(answered) == len(nearest)
            assert {(query, int(numbers[row])) for query in answered.tolist() for row in wanted[query]} <= pairs


@every_level
def test_an_unresolved_query_is_still_offered_to_the_rows(level):
    """What has too many candidates itself may be among the nearest of others."""
    X = np.random.default_rng(0).normal(size=(40, 7))
    numbers = np.arange(20, dtype=np.int32)
    rows, queries = (PackedPoints.of(level, source_of(X, numbers + at), as_rows=at == 0) for at in (0, 20))
    of_queries, of_rows = (KernelLists(20, 4, 60, exact=False, absolute=0.0) for _ in range(2))
    of_queries.unresolved[:] = True
    of_queries.offer(rows, numbers, queries, numbers, numbers + np.int32(20), of_rows)
    assert len(of_queries.candidates().query) == 0
    assert (np.bincount(of_rows.candidates().query, minlength=20) >= 4).all()


@every_level
def test_rows_that_a_level_cannot_resolve_are_neighbours_of_others(level, monkeypatch, small_panels):
    """Leave-one-out of tight clusters among other rows, with room for few candidates."""
    monkeypatch.setattr("nearlabel.neighbors.exact._kernel_search.most_candidates", lambda k: 12)
    for seed in range(2):
        rng = np.random.default_rng(seed)
        clusters = rng.normal(size=(5, 1, 4)) + 1e-5 * rng.normal(size=(5, 40, 4))
        X = rng.permutation(np.concatenate([rng.normal(size=(300, 4)), clusters.reshape(-1, 4)]))
        with kernel_level("off"):
            expected = ExactNeighbors(algorithm="brute").fit(X).kneighbors(None, 5)
        with kernel_level(level):
            found = ExactNeighbors(algorithm="brute").fit(X).kneighbors(None, 5)
        for ours, true in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, true)


@every_level
@pytest.mark.parametrize("spare", [0, 500, 2**20])
def test_lists_grow(level, spare, monkeypatch, small_panels):
    """From place for few candidates; where there is no room for more, queries are searched for again."""
    rooms = []

    def new_room(self, n_panels, n_neighbors):
        rooms.append(Room(n_panels * 64 * 8 + spare, 8))
        return rooms[-1]

    monkeypatch.setattr(KernelSearch, "_new_room", new_room)
    rng = np.random.default_rng(0)
    for X in (rows_of("normal", rng), 0.3 * rng.integers(0, 3, (220, 6))):  # the latter has many equal distances
        with kernel_level("off"):
            expected = ExactNeighbors(algorithm="brute").fit(X).kneighbors(None, 5)
        with kernel_level(level):
            found = ExactNeighbors(algorithm="brute", n_jobs=2).fit(X).kneighbors(None, 5)
        for ours, true in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, true)
    assert any(room.is_exhausted for room in rooms) == (spare < 2**20)


@built
@pytest.mark.parametrize("seed", [*range(15), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(15, 300))])
def test_random_problems(seed, tmp_path, monkeypatch):
    """Any rows, metric, level, container, number of queries, size of panels and tiles, and memory: the same bits."""
    rng = np.random.default_rng(seed)
    X = rows_of(rng.choice(KINDS), rng, n=int(rng.integers(30, 600)), d=int(rng.integers(1, 60)))
    if rng.random() < 0.25:
        X = sparse.csr_array(np.where(rng.random(X.shape) < 0.3, X, 0))
    rows = int(rng.choice([32, 64, 256]))
    for module, name, values in (
        (_panels, "PANEL_ROWS", [rows]),
        (_kernel_search, "PANEL_ROWS", [rows]),
        (_panel_search, "QUERIES_PER_TILE", [7, 37, 1000]),
        (_kernel_search, "_FEW_QUERIES", [0, 5, 64]),
        (_kernel_search, "_CANDIDATES_OF_GROUP", [2_000, 20_000, 2**25]),
        (_kernel_search, "_MOST_OF_MEMORY", [0.0, 0.25]),
    ):
        monkeypatch.setattr(module, name, rng.choice(values).item())
    queries = X[rng.integers(0, X.shape[0], int(rng.choice([1, 2, 5, 13, 70])))] * rng.choice([1, 1.001, 2])
    problem = rng.choice(["euclidean", "cosine"]), int(rng.integers(1, 25))
    with kernel_level("off"), np.errstate(all="ignore"):
        expected = answers(X, queries, *problem)
    mapped = open_store(write_store(tmp_path / "X", X)) if rng.random() < 0.5 else X
    with kernel_level(rng.choice([*level_numbers()]).item()):
        found = answers(mapped, queries, *problem, n_jobs=int(rng.integers(1, 3)))
    for ours, true in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, true)


@built
def test_lists_begin_with_what_most_rows_need(monkeypatch):
    """A sample shows it where memory may be short: in tight clusters of 60 rows all of a cluster are candidates."""
    monkeypatch.setattr(_kernel_search, "_CANDIDATES_OF_GROUP", 2**20)
    rng = np.random.default_rng(0)
    for X, first in (
        (rng.normal(size=(6000, 20)), 33),
        (rng.normal(size=(100, 1, 20)) + 1e-7 * rng.normal(size=(100, 60, 20)), 132),
    ):
        with kernel_level("float32"):
            engine = ExactNeighbors(algorithm="brute").fit(X.reshape(-1, 20).astype(np.float32))._segments[0].engine
        assert engine._first_places(11) == first
        assert engine._panels_per_group(11) == max(2, int(2 / 3 * 2**20) // (4096 * first))


@built
def test_a_room_that_is_too_small():
    """No list begins outside of it."""
    room = Room(100, 24)
    KernelLists(4, 3, 60, exact=False, absolute=0.0, room=room)
    with pytest.raises(ValueError, match="room must have place for 1 lists of 24"):
        KernelLists(1, 3, 60, exact=False, absolute=0.0, room=room)


@every_level
@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("kind", ["normal", "whole numbers", "clusters far apart", "sparse"])
def test_rows_mapped_from_a_file(level, kept, kind, tmp_path, monkeypatch, small_panels):
    """The kernels search them, too: panels are kept where they fit into a part of the memory, else packed on demand."""
    monkeypatch.setattr(_kernel_search, "free_bytes", lambda: 2**40 if kept else 0)
    rng = np.random.default_rng(0)
    X = rows_of("mostly zeros" if kind == "sparse" else kind, rng).astype(np.float32)
    X = sparse.csr_array(np.where(rng.random(X.shape) < 0.5, X, 0)) if kind == "sparse" else X
    queries = X[:70]
    with kernel_level("off"):
        expected = answers(X, queries, "euclidean", 5)
    with kernel_level(level):
        mapped = open_store(write_store(tmp_path / "X", X))
        engine = ExactNeighbors(algorithm="brute").fit(mapped)._segments[0].engine
        assert type(engine) is KernelSearch
        assert (engine._panels._panels is not None) == kept
        found = answers(mapped, queries, "euclidean", 5)
    for ours, true in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, true)


@built
def test_a_far_row_does_not_cost_the_others_their_bits():
    """At the level of whole numbers each point has a unit of its own: all queries are resolved."""
    if "int16" not in level_numbers():
        pytest.skip("not a level of this processor")
    X = np.random.default_rng(0).normal(size=(5_000, 20))
    X[7] *= 1e6
    with kernel_level("int16"):
        search = ExactNeighbors(algorithm="brute").fit(X)
        search.kneighbors(X[:300] + 0.1, 5)
        search.kneighbors(None, 5)
    assert "_in_float32" not in vars(search._segments[0].engine)


@built
@pytest.mark.parametrize("n", [2, 3, 8, 9])
def test_pairs_of_panels(n):
    """All pairs once; as many as possible in turn without a common panel."""
    pairs = list(KernelSearch._pairs(None, range(n)))
    assert len(pairs) == n * (n - 1) // 2
    assert len({frozenset(pair) for pair in pairs}) == len(pairs)
    for first in range(0, len(pairs), n // 2):
        members = [member for pair in pairs[first : first + n // 2] for member in pair]
        assert len(set(members)) == len(members)


@pytest.mark.long
@pytest.mark.skipif(shutil.which("nm") is None, reason="no nm")
def test_files_of_levels_share_no_code(tmp_path):
    """What the linker takes from one level for another would end the program on an older processor."""
    module = builder()
    if module.find_compiler() is None or platform.machine().lower() not in module.LEVELS:
        pytest.skip("no C++ compiler, or an unknown machine")
    for name, (_, own) in module.LEVELS[platform.machine().lower()].items():
        target = tmp_path / f"{name}.o"
        source = module.SOURCES / f"{name}.cpp"
        subprocess.run([*module.find_compiler(), *module.COMMON, *own, "-c", source, "-o", target], check=True)
        listed = subprocess.check_output(["nm", target], text=True).split("\n")
        shared = [line for line in listed if line[17:18] in ("W", "V", "u")]
        assert not shared, name


def test_they_are_built_where_there_is_a_compiler():
    """A machine with a compiler that silently has no kernels would be slow for no reason that anybody sees."""
    module = builder()
    if module.find_compiler() is None or platform.machine().lower() not in module.LEVELS:
        pytest.skip("no C++ compiler, or an unknown machine")
    if not _kernels.LIBRARY.exists() and not (ROOT / ".git").exists():
        pytest.skip("not an installed checkout")
    assert _kernels.LIBRARY.exists(), "Hint: make, or python build_kernels.py src/nearlabel/neighbors"
    assert level_numbers()


def test_no_compiler_no_kernels(monkeypatch, tmp_path, capsys):
    """The build says so, and leaves nothing behind."""
    module = builder()
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert module.build(tmp_path / "lib") is None
    assert "no C++ compiler" in capsys.readouterr().out
    assert not (tmp_path / "lib").exists()


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="built for Linux here")
def test_tiles_by_an_emulation(tmp_path):
    """The level bf16 on processors without tiles: the same order of numbers and the same sums, in plain C++."""
    module = builder()
    if module.find_compiler() is None:
        pytest.skip("no C++ compiler")
    library = module.build(tmp_path, emulate_tiles=True)
    assert ctypes.CDLL(str(library)).nearlabel_levels() >> 3 & 1
    code = (
        "import sys; from pathlib import Path; from nearlabel.neighbors.exact import kernels as _kernels;"
        f"_kernels.LIBRARY = Path({str(library)!r}); import pytest;"
        "options = ['-q', '-p', 'no:cacheprovider', '--each-value', '-k', 'bf16 and not emulation'];"
        f"sys.exit(pytest.main([*options, {__file__!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout


@pytest.mark.parametrize("n", [0, 31, 32, 63, 64, 100, 32 * 10, 32 * 21 + 5])
def test_rows_are_spread(n):
    """All rows once; blocks stay together, and neighbouring blocks come from far apart."""
    rows = _spread(np.arange(n))
    np.testing.assert_array_equal(np.sort(rows), np.arange(n))
    blocks = rows[: n // 32 * 32].reshape(-1, 32)
    np.testing.assert_array_equal(blocks, blocks[:, :1] + np.arange(32))
    jumps = np.abs(np.diff(blocks[:, 0] // 32))
    assert len(jumps) < 3 or jumps.min() >= len(blocks) // 3


@built
def test_norms_within_a_panel_jump():
    """Rows that come ever nearer to a query would all be candidates; whole numbers keep their order for ties."""
    X = np.random.default_rng(0).normal(size=(3_000, 5))
    with kernel_level("float32"):
        panel = ExactNeighbors(algorithm="brute").fit(X)._segments[0].engine._panels.panel(0)
        of_whole = ExactNeighbors(algorithm="brute").fit(np.rint(3 * X))._segments[0].engine._panels.panel(0)
    of_blocks = panel.points.norms[: 3_000 // 32 * 32].reshape(-1, 32).mean(axis=1)
    rising = np.diff(of_blocks) > 0
    assert 0.3 < rising.mean() < 0.7
    np.testing.assert_array_equal(of_whole.rows, np.sort(of_whole.rows))
