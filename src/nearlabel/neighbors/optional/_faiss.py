"""Searches by faiss: inverted lists, and a hierarchical graph."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from nearlabel.neighbors.optional._approximate import ApproximateNeighbors, GraphNeighbors
from nearlabel.utils.naming import import_optional, registered
from nearlabel.utils.types import IntArray
from nearlabel.utils.validation import check_integer

_ROWS_PER_LIST = 39  # at least, on average: faiss needs as many to find the centres of its lists


class FaissNeighbors(ApproximateNeighbors):
    """An index of faiss that uses `n_jobs` threads; a subclass defines `_new_index` and `_search_parameters`."""

    random_state: Any

    def _library(self) -> Any:
        return import_optional("faiss", extra="ann", purpose=type(self).__name__)

    def _build(self, rows: NDArray[np.float32]) -> Any:
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        index = self._new_index(self._library(), len(rows), rows.shape[1], seed)
        with self._threads(self._n_threads_of_fit()):
            index.train(rows)
            index.add(rows)
        return index

    def _find(self, queries: NDArray[np.float32], n: int) -> IntArray:
        with self._threads(effective_n_jobs(self.n_jobs)):
            found = self._index.search(queries, n, params=self._search_parameters(self._library()))[1]
        return np.asarray(found, dtype=np.intp)

    def _n_threads_of_fit(self) -> int:
        return int(effective_n_jobs(self.n_jobs))

    @contextmanager
    def _threads(self, n_threads: int) -> Iterator[None]:
        """Limit the threads of faiss inside the block; the number is global, so it is restored."""
        faiss = self._library()
        before = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(n_threads)
        try:
            yield
        finally:
            faiss.omp_set_num_threads(before)

    @abstractmethod
    def _new_index(self, faiss: Any, n_samples: int, n_features: int, seed: int) -> Any:
        """Return an empty index."""

    @abstractmethod
    def _search_parameters(self, faiss: Any) -> Any:
        """Return the parameters of a search of the index."""


@registered("search", "faiss-ivf")
class FaissIVFNeighbors(FaissNeighbors):
    """Find neighbours in those lists of faiss' IVF index that are nearest to the query; some may be missed.

    The training samples are split into lists, each with a centre (k-means), and a query is compared with the `n_probe`
    lists of the nearest centres. Fast to build; best where the samples form clusters. Needs faiss (``pip install
    'nearlabel[ann]'``); importing faiss makes scikit-learn's own neighbour search use one thread in the same process.

    The index stores float32 copies of the centred samples. Distances and their order are exact, in float64: the result
    differs from that of `ExactNeighbors` only by missing neighbours; :func:`recall` counts them. The same
    `random_state` gives the same result. Sparse samples raise an error.

    Parameters
    ----------
    n_probe : int, default=16
        Number of lists that are searched for a query: more are slower and miss fewer neighbours.
    n_lists : int, default=None
        Number of lists, at most n_samples. None: 2 √n_samples, but few enough for an average of 39 samples per list.
    metric : {"euclidean", "cosine"}, default="euclidean"
        The distance.
    n_neighbors : int, default=5
        Number of neighbours if `kneighbors` gets none.
    random_state : int, RandomState or None, default=0
        Seed of the k-means.
    n_jobs : int, default=None
        Number of threads, as in joblib. None: one.

    Attributes
    ----------
    n_features_in_ : int
        Number of features seen in `fit`.
    n_samples_fit_ : int
        Number of training samples.

    See Also
    --------
    FaissHNSWNeighbors : A graph instead of lists.
    ExactNeighbors : Misses no neighbour.

    Examples
    --------
    >>> from nearlabel.neighbors import FaissIVFNeighbors
    >>> search = FaissIVFNeighbors(n_probe=32)
    >>> search.fit(X).kneighbors(queries, n_neighbors=10)  # doctest: +SKIP
    """

    def __init__(
        self,
        n_probe: int = 16,
        *,
        n_lists: int | None = None,
        metric: str = "euclidean",
        n_neighbors: int = 5,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_probe = n_probe
        self.n_lists = n_lists
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_integer("n_probe", self.n_probe, low=1)
        if self.n_lists is not None:
            check_integer("n_lists", self.n_lists, low=1)
        super()._check_parameters()

    def _new_index(self, faiss: Any, n_samples: int, n_features: int, seed: int) -> Any:
        n_lists = self.n_lists
        if n_lists is None:
            n_lists = max(1, min(round(2 * n_samples**0.5), n_samples // _ROWS_PER_LIST))
        if n_lists > n_samples:
            raise ValueError(f"n_lists must be at most n_samples={n_samples}, got {n_lists}.")
        centres = faiss.IndexFlatL2(n_features)
        index = faiss.IndexIVFFlat(centres, n_features, n_lists, faiss.METRIC_L2)
        index.cp.seed = seed
        index.cp.min_points_per_centroid = 1  # no warning on standard error where lists are short
        return index

    def _search_parameters(self, faiss: Any) -> Any:
        return faiss.SearchParametersIVF(nprobe=self.n_probe)


@registered("search", "faiss-hnsw")
class FaissHNSWNeighbors(FaissNeighbors, GraphNeighbors):
    """Find neighbours by walking over faiss' hierarchical graph (HNSW); some may be missed.

    Slow to build, fast to search: suited to many queries after one `fit`. Needs faiss (``pip install
    'nearlabel[ann]'``); importing faiss makes scikit-learn's own neighbour search use one thread in the same process.

    The index stores float32 copies of the centred samples. Distances and their order are exact, in float64: the result
    differs from that of `ExactNeighbors` only by missing neighbours; :func:`recall` counts them. Sparse samples raise
    an error.

    Parameters
    ----------
    ef_search : int, default=64
        Number of candidates that a walk keeps: more are slower and miss fewer neighbours.
    n_links : int, default=16
        Links of a sample (HNSW's M).
    ef_construction : int, default=100
        Number of candidates while the graph is built.
    metric : {"euclidean", "cosine"}, default="euclidean"
        The distance.
    n_neighbors : int, default=5
        Number of neighbours if `kneighbors` gets none.
    reproducible : bool, default=True
        Whether the same samples and `random_state` give the same graph, which one thread then builds. False: `n_jobs`
        threads build it, and the missed neighbours may differ from run to run.
    random_state : int, RandomState or None, default=0
        Seed of the levels of the graph.
    n_jobs : int, default=None
        Number of threads, as in joblib. None: one.

    Attributes
    ----------
    n_features_in_ : int
        Number of features seen in `fit`.
    n_samples_fit_ : int
        Number of training samples.

    See Also
    --------
    UsearchNeighbors : The same kind of graph from another library.
    ExactNeighbors : Misses no neighbour.

    Examples
    --------
    >>> from nearlabel.neighbors import FaissHNSWNeighbors
    >>> search = FaissHNSWNeighbors(ef_search=100)
    >>> search.fit(X).kneighbors(queries, n_neighbors=10)  # doctest: +SKIP
    """

    def __init__(
        self,
        ef_search: int = 64,
        *,
        n_links: int = 16,
        ef_construction: int = 100,
        metric: str = "euclidean",
        n_neighbors: int = 5,
        reproducible: bool = True,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.ef_search = ef_search
        self.n_links = n_links
        self.ef_construction = ef_construction
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.reproducible = reproducible
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _n_threads_of_fit(self) -> int:
        return 1 if self.reproducible else int(effective_n_jobs(self.n_jobs))

    def _new_index(self, faiss: Any, n_samples: int, n_features: int, seed: int) -> Any:
        index = faiss.IndexHNSWFlat(n_features, self.n_links)
        index.hnsw.rng = faiss.RandomGenerator(seed)
        index.hnsw.efConstruction = self.ef_construction
        return index

    def _search_parameters(self, faiss: Any) -> Any:
        return faiss.SearchParametersHNSW(efSearch=self.ef_search)
