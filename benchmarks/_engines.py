"""The searches that are compared, each imported in its own process only, and the matrix product alone.

An engine is a function of rows, number of neighbours, metric and threads that returns an object with ``fit()`` and
``query(queries)``; queries None are the rows themselves, each without itself.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from nearlabel.neighbors import ExactNeighbors, kernel_level, kernel_levels

OURS, BRUTE, KD_TREE = "nearlabel", "scikit-learn brute", "scikit-learn kd_tree"
LEVELS = {"bf16": "AMX", "int16": "AVX512-VNNI", "float32": "AVX-512, AVX2 or NEON", "off": "any"}  # and what they need
OURS_BY_LEVEL = {level: f"{OURS} {level}" for level in LEVELS}
PRODUCT, PRODUCT_IN_TILES = "the product alone", "the product in tiles"
FAISS, INTELEX, TORCH = "faiss IndexFlatL2", "scikit-learn-intelex brute", "torch addmm + topk"
_TILE_ROWS, _TILE_QUERIES, _SPARSE_QUERIES, _TORCH_QUERIES = 4096, 1024, 1000, 512
_LARGEST_TREE = 16


class Nearest:
    """A search with ``fit`` and ``kneighbors`` as scikit-learn's."""

    def __init__(self, search: Any, X: Any, k: int) -> None:
        self.search, self.X, self.k = search, X, k

    def fit(self) -> None:
        """Fit."""
        self.search.fit(self.X)

    def query(self, queries: Any) -> NDArray[Any]:
        """Return the indices; the distances are computed as well."""
        return np.asarray(self.search.kneighbors(queries, self.k)[1])


class Ours(Nearest):
    """Our search at a level of the kernels."""

    def __init__(self, level: str, X: Any, k: int, metric: str, threads: int) -> None:
        super().__init__(ExactNeighbors(metric, n_jobs=threads), X, k)
        self.level = level

    def fit(self) -> None:
        """Fit."""
        with kernel_level(self.level):
            super().fit()

    def query(self, queries: Any) -> NDArray[Any]:
        """Return the indices."""
        with kernel_level(self.level):
            return super().query(queries)


def brute(X: Any, k: int, metric: str, threads: int) -> Nearest:
    """Return scikit-learn's brute force."""
    return Nearest(NearestNeighbors(algorithm="brute", metric=metric, n_jobs=threads), X, k)


def kd_tree(X: Any, k: int, metric: str, threads: int) -> Nearest:
    """Return scikit-learn's tree."""
    return Nearest(NearestNeighbors(algorithm="kd_tree", metric=metric, n_jobs=threads), X, k)


def intelex(X: Any, k: int, metric: str, threads: int) -> Nearest:
    """Return the brute force of scikit-learn-intelex, from its own module: nothing of scikit-learn is patched."""
    from sklearnex.neighbors import NearestNeighbors as Accelerated

    return Nearest(Accelerated(algorithm="brute", metric=metric, n_jobs=threads), X, k)


class Faiss:
    """faiss's exhaustive index."""

    def __init__(self, X: NDArray[np.float32], k: int, metric: str, threads: int) -> None:
        import faiss

        faiss.omp_set_num_threads(threads)
        self.make, self.X, self.k = faiss.IndexFlatL2, X, k

    def fit(self) -> None:
        """Copy the rows into the index."""
        self.index = self.make(self.X.shape[1])
        self.index.add(self.X)

    def query(self, queries: Any) -> NDArray[Any]:
        """Return the indices."""
        if queries is None:
            return _without_own(self.index.search(self.X, self.k + 1)[1])
        return np.asarray(self.index.search(queries, self.k)[1])


class Torch:
    """Squared distances by one product a block of queries, and `topk`."""

    def __init__(self, X: NDArray[Any], k: int, metric: str, threads: int) -> None:
        import torch

        torch.set_num_threads(threads)
        self.torch, self.X, self.k = torch, X, k

    def fit(self) -> None:
        """Square the norms."""
        self.rows = self.torch.from_numpy(self.X)
        self.norms = (self.rows * self.rows).sum(dim=1)

    def query(self, queries: Any) -> NDArray[Any]:
        """Return the indices."""
        own = queries is None
        blocks = (self.rows if own else self.torch.from_numpy(queries)).split(_TORCH_QUERIES)
        found = np.vstack([self._nearest(block, self.k + own) for block in blocks])
        return _without_own(found) if own else found

    def _nearest(self, block: Any, k: int) -> NDArray[Any]:
        ranks = self.torch.addmm(self.norms, block, self.rows.T, alpha=-2)  # the query's own norm changes no order
        return self.torch.topk(ranks, k, dim=1, largest=False).indices.numpy()


def _without_own(indices: NDArray[Any]) -> NDArray[Any]:
    """Return the indices without each row's own, or without the last where it is not among them."""
    own = indices == np.arange(len(indices))[:, np.newaxis]
    own[~own.any(axis=1), -1] = True
    return indices[~own].reshape(len(indices), -1)


class ProductInTiles:
    """The single-precision product of rows and queries in tiles that stay in cache: as many multiplications."""

    def __init__(self, X: NDArray[Any], k: int, metric: str, threads: int) -> None:
        rng = np.random.default_rng(0)
        self.n, d = X.shape
        self.rows = rng.standard_normal((_TILE_ROWS, d), dtype=np.float32)
        self.queries = rng.standard_normal((d, _TILE_QUERIES), dtype=np.float32)
        self.products = np.empty((_TILE_ROWS, _TILE_QUERIES), dtype=np.float32)

    def fit(self) -> None:
        """Nothing is to be done."""

    def query(self, queries: Any) -> None:
        """Multiply a tile again and again; smaller ones at the ends."""
        n_queries = self.n if queries is None else len(queries)
        for start in range(0, n_queries, _TILE_QUERIES):
            width = min(_TILE_QUERIES, n_queries - start)
            for first in range(0, self.n, _TILE_ROWS):
                height = min(_TILE_ROWS, self.n - first)
                np.matmul(self.rows[:height], self.queries[:, :width], out=self.products[:height, :width])


class DenseProduct:
    """The single-precision product of rows and queries in one call, into memory that is ready: the same shape."""

    def __init__(self, X: NDArray[Any], k: int, metric: str, threads: int) -> None:
        self.rows = X.astype(np.float32)

    def make_room(self, queries: Any) -> None:
        """Write the memory for the products, so that the system need not clear it while clocks run."""
        n_queries = len(self.rows) if queries is None else len(queries)
        self.products = np.ones((len(self.rows), n_queries), dtype=np.float32)

    def fit(self) -> None:
        """Nothing is to be done."""

    def query(self, queries: Any) -> None:
        """Multiply."""
        right = (self.rows if queries is None else queries).astype(np.float32).T  # a copy: its own transpose is slow
        np.matmul(self.rows, right, out=self.products)


class SparseProduct:
    """scipy's ``queries @ X.T``, a thousand queries at a time."""

    def __init__(self, X: Any, k: int, metric: str, threads: int) -> None:
        self.X = X

    def fit(self) -> None:
        """Nothing is to be done."""

    def query(self, queries: Any) -> None:
        """Multiply."""
        left = self.X if queries is None else queries
        for start in range(0, left.shape[0], _SPARSE_QUERIES):
            left[start : start + _SPARSE_QUERIES] @ self.X.T


def product(X: Any, k: int, metric: str, threads: int) -> DenseProduct | SparseProduct:
    """Return the product alone."""
    return (SparseProduct if sparse.issparse(X) else DenseProduct)(X, k, metric, threads)


class Engine(NamedTuple):
    """How to make a search, the module it needs and where that comes from, which problems it takes, and its level."""

    make: Callable[[Any, int, str, int], Any]
    module: str
    pip: str
    takes: Callable[[Any, str], bool]
    level: str | None = None

    @property
    def is_installed(self) -> bool:
        """Whether its module is there, which is not imported, and the processor runs its level."""
        return importlib.util.find_spec(self.module) is not None and self.level in (None, *kernel_levels())

    @property
    def remedy(self) -> str:
        """What would make it run."""
        return f"pip install {self.pip}" if self.level is None else f"needs a processor with {LEVELS[self.level]}"


def _dense_euclidean(X: Any, metric: str) -> bool:
    return not sparse.issparse(X) and metric == "euclidean"


ENGINES: Mapping[str, Engine] = {
    PRODUCT: Engine(product, "numpy", "numpy", lambda X, metric: True),
    PRODUCT_IN_TILES: Engine(ProductInTiles, "numpy", "numpy", lambda X, metric: not sparse.issparse(X)),
    OURS: Engine(partial(Ours, "auto"), "nearlabel", "nearlabel", lambda X, metric: True),
    **{
        name: Engine(partial(Ours, level), "nearlabel", "nearlabel", lambda X, metric: True, level)
        for level, name in OURS_BY_LEVEL.items()
    },
    BRUTE: Engine(brute, "sklearn", "scikit-learn", lambda X, metric: True),
    KD_TREE: Engine(
        kd_tree,
        "sklearn",
        "scikit-learn",
        lambda X, metric: _dense_euclidean(X, metric) and X.shape[1] <= _LARGEST_TREE,
    ),
    FAISS: Engine(Faiss, "faiss", "faiss-cpu", lambda X, metric: _dense_euclidean(X, metric) and X.dtype == np.float32),
    INTELEX: Engine(intelex, "sklearnex", "scikit-learn-intelex", _dense_euclidean),
    TORCH: Engine(Torch, "torch", "torch", _dense_euclidean),
}


def stages_of(engine: str, X: Any, queries: Any, k: int, metric: str, threads: int) -> Mapping[str, Callable[[], Any]]:
    """Return fit and query of an engine, warmed up, all libraries held to some threads; the answer is the indices."""
    search = ENGINES[engine].make(X, k, metric, threads)
    _make_room(search, queries)
    threadpool_limits(threads)  # before the first product: threads that have worked spin on for a while
    _few(engine, X, metric, threads)
    return {"fit": search.fit, "query": lambda: search.query(queries)}


def _few(engine: str, X: Any, metric: str, threads: int) -> None:
    search = ENGINES[engine].make(X[:300], 5, metric, threads)
    _make_room(search, X[:20])
    search.fit()
    search.query(X[:20])


def _make_room(search: Any, queries: Any) -> None:
    if isinstance(search, DenseProduct):
        search.make_room(queries)
