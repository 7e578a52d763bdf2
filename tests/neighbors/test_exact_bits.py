"""The exact search equals plain float64 loops bit for bit, on rows made to mislead single precision."""

import numpy as np
import pytest
from scipy import sparse

from nearlabel.neighbors import ExactNeighbors, kernel_level
from nearlabel.neighbors.exact import _bounds_search, _panel_search, _panels, _search

N_CASES = 200


def squares(a, b):
    """Squared distances (n, m), added feature by feature."""
    total = np.zeros((len(a), len(b)))
    for left, right in zip(a.T, b.T, strict=True):
        total += (left[:, np.newaxis] - right) ** 2
    return total


def absolutes(a, b):
    """City-block distances (n, m), added feature by feature."""
    total = np.zeros((len(a), len(b)))
    for left, right in zip(a.T, b.T, strict=True):
        total += np.abs(left[:, np.newaxis] - right)
    return total


def minus_cosines(a, b):
    """Minus the cosines (n, m): the root of (a·b)² / (a·a b·b), of rows scaled by powers of two; 1 to an empty row."""
    a, b = (np.ldexp(rows, -np.frexp(np.abs(rows).max(axis=1, keepdims=True))[1]) for rows in (a, b))
    dot = np.zeros((len(a), len(b)))
    for left, right in zip(a.T, b.T, strict=True):
        dot += left[:, np.newaxis] * right
    lengths = [np.add.accumulate(rows * rows, axis=1)[:, -1] for rows in (a, b)]
    product = lengths[0][:, np.newaxis] * lengths[1]
    ratio = np.divide(dot * dot, product, out=np.zeros_like(dot), where=product > 0)
    ranks = -np.copysign(np.sqrt(np.minimum(ratio, 1.0)), dot)
    empty = [~rows.any(axis=1) for rows in (a, b)]
    ranks[empty[0]] = 1
    ranks[:, empty[1]] = 1
    ranks[np.ix_(*empty)] = -1
    return ranks


METRICS = {
    "euclidean": (squares, np.sqrt),
    "sqeuclidean": (squares, lambda rank: rank),
    "manhattan": (absolutes, lambda rank: rank),
    "cosine": (minus_cosines, lambda rank: 1.0 + rank),
}


def nearest(ranks, to_distance, k):
    """Distances and indices of the k least ranks of each row, ties by index."""
    order = np.argsort(ranks, axis=1, kind="stable")[:, :k]
    return to_distance(np.take_along_axis(ranks, order, axis=1)), order


def adversarial_rows(rng):
    """Rows that single precision confuses: several of these changes, as a coin decides, one after the other."""
    n, d = int(rng.integers(3, 260)), int(rng.choice([1, 2, 3, 5, 8, 9, 17, 40]))
    X = rng.normal(size=(n, d))
    changes = [
        lambda X: rng.integers(-2, 3, (n, d)).astype(float),  # a grid
        lambda X: X[rng.integers(0, n, n)],  # duplicates
        lambda X: np.tile(X[:1], (n, 1)),  # all equal
        lambda X: 1e4 + X * 1e-3,
        lambda X: X * 1e-3 + rng.choice([-1e4, 0, 1e4], (n, 1)),  # tight clusters far apart
        lambda X: X * 10.0 ** rng.uniform(-8, 8, (1, d)),  # mixed scales
        lambda X: X * 10.0 ** rng.uniform(-6, 6, (n, 1)),
        lambda X: X * np.where(np.arange(n)[:, np.newaxis] == n // 2, 1e30, 1),  # an outlier
        lambda X: X * (rng.random((n, d)) < 0.2),  # mostly zeros, empty rows
        lambda X: X * np.where(np.arange(d) == 0, 1e4, 1),  # one column of huge scale
    ]
    some = rng.random(len(changes)) < [0.25, 0.3, 0.04, 0.15, 0.15, 0.2, 0.2, 0.2, 0.3, 0.15]
    for change in np.array(changes)[some]:
        X = change(X)
    return X


def scaled_to_the_edge(X, rng):
    """The same rows so small that squared differences nearly vanish, or so large that squared norms nearly overflow."""
    largest = np.abs(X).max()
    to = rng.choice([1e-135, 1e-100, 1e-22, 1e17, 1e151])
    return X / largest * to if largest > 0 else X


def stored(X, rng, folder):
    """The rows in a storage drawn at random: float32 or float64, order of memory, read-only, mapped or sparse."""
    kind = rng.choice(["c", "f", "read-only", "mapped", "strided", "csr"])
    if kind == "f":
        return np.asfortranarray(X)
    if kind == "strided":
        return np.repeat(X, 2, axis=0)[::2]
    if kind == "mapped":
        file = folder / f"{rng.integers(2**40)}.npy"
        np.save(file, X)
        return np.load(file, mmap_mode="r")
    if kind == "csr":
        return sparse.csr_array(X)
    X = X.copy()
    X.setflags(write=kind == "c")
    return X


BLOCKS = [(1000, 4096, 32), (64, 64, 2), (20, 32, 1)]


@pytest.mark.parametrize("block", BLOCKS, ids=["large", "middle", "small"])
@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.long) for part in (1, 2, 3))])
def test_bits(part, block, monkeypatch, tmp_path):
    """50 of 200 cases, one and two threads: distances and indices are those of the loops.

    The first 50 cases are searched in blocks of each of three sizes, the others in blocks of one of them.
    """
    queries_per_tile, panel_rows, group = block
    for module in (_panel_search, _panel_search):
        monkeypatch.setattr(module, "QUERIES_PER_TILE", queries_per_tile)
    for module in (_bounds_search, _bounds_search):
        monkeypatch.setattr(module, "_QUERIES_PER_TILE", queries_per_tile)
    monkeypatch.setattr(_search, "_TREE_ROWS", 1)
    monkeypatch.setattr(_panels, "PANEL_ROWS", panel_rows)
    monkeypatch.setattr(_panel_search, "_PANELS_PER_GROUP", group)
    monkeypatch.setattr(_panel_search, "_FEW_PAIRS", 0)
    for seed in range(part, N_CASES, 4):
        if part and BLOCKS[seed % 3] != block:
            continue
        rng = np.random.default_rng(seed)
        X = adversarial_rows(rng)
        if rng.random() < 0.2:
            X = scaled_to_the_edge(X, rng)
        if rng.random() < 0.3 and np.abs(X).max() < 1e30:
            X = X.astype(np.float32)
        metric = str(rng.choice(list(METRICS), p=[0.5, 0.1, 0.15, 0.25]))
        rank, to_distance = METRICS[metric]
        queries = X[rng.integers(0, len(X), 40)]
        queries = queries + (rng.random((40, 1)) < 0.5) * np.abs(X).mean().astype(X.dtype) * rng.normal(size=(40, 1))
        queries = queries.astype(X.dtype)
        k = int(rng.integers(1, len(X))) if rng.random() < 0.3 else int(rng.integers(1, min(12, len(X))))
        values = [rows.astype(np.float64) for rows in (queries, X)]
        of_queries = nearest(rank(*values), to_distance, k)
        ranks = rank(values[1], values[1])
        np.fill_diagonal(ranks, np.inf)
        of_rows = nearest(ranks, to_distance, k)
        for n_jobs in (1, 2):
            algorithm = "brute" if rng.random() < 0.5 else "auto"
            search = ExactNeighbors(metric, algorithm=algorithm, n_jobs=n_jobs).fit(stored(X, rng, tmp_path))
            found = search.kneighbors(stored(queries, rng, tmp_path), k), search.kneighbors(None, k)
            for ours, expected in zip(found, (of_queries, of_rows), strict=True):
                for values, true_values in zip(ours, expected, strict=True):
                    np.testing.assert_array_equal(values, true_values, f"{seed} {metric} {algorithm} {n_jobs}")


@pytest.mark.parametrize("metric", [metric for metric in METRICS if metric != "manhattan"])
def test_bits_of_few_pairs(metric, tmp_path):
    """Where all pairs are ranked the bits are the same, dense and sparse, with empty rows."""
    rank, to_distance = METRICS[metric]
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = adversarial_rows(rng)[:25]
        X[rng.random(len(X)) < 0.1] = 0
        queries, k = X[rng.integers(0, len(X), 20)] + 0.0, int(rng.integers(1, len(X)))
        assert len(queries) * len(X) <= _panel_search._FEW_PAIRS
        ranks = rank(X, X)
        of_queries = nearest(rank(queries, X), to_distance, k)
        np.fill_diagonal(ranks, np.inf)
        for kind in (np.asarray, sparse.csr_array):
            search = ExactNeighbors(metric, algorithm="brute").fit(kind(X))
            for found, expected in (
                (search.kneighbors(kind(queries), k), of_queries),
                (search.kneighbors(None, k), nearest(ranks, to_distance, k)),
            ):
                for values, true_values in zip(found, expected, strict=True):
                    np.testing.assert_array_equal(values, true_values, f"{seed} {metric}")


def hostile(squares, rng):
    """Make a product as wrong as a float32 sum of n_features + 2 products can be: the full bound, random signs."""

    def product(self, panel, operand, memory):
        found = squares(self, panel, operand, memory)
        if self.whole:  # sums of small whole numbers have no error in any order
            return found
        blocks = zip(
            *(part if isinstance(part, tuple) else (part,) for part in (panel.block, operand.block)), strict=True
        )
        exact = np.zeros(found.shape)
        for left, right in blocks:
            part = left.astype(float) @ right.astype(float)
            exact[: part.shape[0]] += part.toarray() if sparse.issparse(part) else part
        error = (self.n_terms + 2) * 2.0**-24
        weight = np.add.outer(panel.norms.astype(float), operand.norms.astype(float)) ** 2
        found[:] = exact + rng.choice([-1.0, 1.0], found.shape) * error / (1 - error) * weight
        return found

    return product


def searched_by_hostile_product(X, queries, metric, k, monkeypatch):
    """Neighbours of queries and of the rows, from a product with the largest errors."""
    rng = np.random.default_rng(0)
    with monkeypatch.context() as patch:
        for kind in (_panels.DensePanels, _panels.SparsePanels):
            patch.setattr(kind, "squares", hostile(kind.squares, rng))
        with kernel_level("off"):  # which have a hostile level of their own
            search = ExactNeighbors(metric, algorithm="brute", n_jobs=1).fit(X)
            return search.kneighbors(queries, k), search.kneighbors(None, k)


@pytest.mark.long
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_bits_from_a_hostile_product(metric, store, monkeypatch):
    """Errors of the full size of the bound, with random signs, change no bit of the answer."""
    monkeypatch.setattr(_panels, "PANEL_ROWS", 64)
    monkeypatch.setattr(_panel_search, "_FEW_PAIRS", 0)
    rank, to_distance = METRICS[metric]
    for seed in range(25):
        rng = np.random.default_rng(seed)
        X = adversarial_rows(rng)
        queries, k = X[rng.integers(0, len(X), 20)] * 1.01, int(rng.integers(1, min(12, len(X))))
        ranks = rank(X, X)
        np.fill_diagonal(ranks, np.inf)
        expected = nearest(rank(queries, X), to_distance, k), nearest(ranks, to_distance, k)
        found = searched_by_hostile_product(store(X), store(queries), metric, k, monkeypatch)
        for ours, true in zip(found, expected, strict=True):
            for values, true_values in zip(ours, true, strict=True):
                np.testing.assert_array_equal(values, true_values, f"{seed} {metric}")


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_hostile_product_needs_the_whole_bound(store, monkeypatch):
    """With half of the bound neighbours are missed: the hostile product is able to show a bound that is too small."""
    monkeypatch.setattr(_panels, "PANEL_ROWS", 64)
    bound = _panels.rounding
    rng = np.random.default_rng(0)
    X = 1 + 1e-3 * rng.normal(size=(300, 40))
    X[::2] += 3 * rng.normal(size=(150, 1))
    expected = searched_by_hostile_product(store(X), store(X), "euclidean", 5, monkeypatch)
    monkeypatch.setattr(_panels, "rounding", lambda n_features: bound(n_features) / 2)
    found = searched_by_hostile_product(store(X), store(X), "euclidean", 5, monkeypatch)
    assert any((ours[1] != true[1]).any() for ours, true in zip(found, expected, strict=True))
