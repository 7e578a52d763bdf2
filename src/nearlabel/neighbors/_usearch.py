"""A search by usearch: a hierarchical graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from nearlabel.neighbors._approximate import ApproximateNeighbors
from nearlabel.utils.optional import import_optional
from nearlabel.utils.types import IntArray
from nearlabel.utils.validation import check_flag, check_integer


class UsearchNeighbors(ApproximateNeighbors):
    """Find neighbours by walking over usearch's hierarchical graph (HNSW); some may be missed.

    Slow to build, fast to search: suited to many queries after one `fit`. Needs usearch (``pip install
    'nearlabel[ann]'``).

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
        Whether the same samples give the same graph, which one thread then builds (the library takes no seed and draws
        the same levels each time). False: `n_jobs` threads build it, and the missed neighbours may differ from run to
        run.
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
    FaissHNSWNeighbors, FaissIVFNeighbors : The same by another library.
    ExactNeighbors : Misses no neighbour.

    Examples
    --------
    >>> from nearlabel.neighbors import UsearchNeighbors
    >>> search = UsearchNeighbors(ef_search=100)
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
        n_jobs: int | None = None,
    ) -> None:
        self.ef_search = ef_search
        self.n_links = n_links
        self.ef_construction = ef_construction
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.reproducible = reproducible
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        for name, low in (("ef_search", 1), ("n_links", 2), ("ef_construction", 1)):
            check_integer(name, getattr(self, name), low=low)
        check_flag("reproducible", self.reproducible)
        super()._check_parameters()

    def _library(self) -> Any:
        return import_optional("usearch.index", extra="ann", purpose=type(self).__name__)

    def _build(self, rows: NDArray[np.float32]) -> Any:
        index = self._library().Index(
            ndim=rows.shape[1],
            metric="l2sq",
            dtype="f32",
            connectivity=self.n_links,
            expansion_add=self.ef_construction,
            expansion_search=self.ef_search,
        )
        index.add(np.arange(len(rows)), rows, threads=1 if self.reproducible else effective_n_jobs(self.n_jobs))
        return index

    def _find(self, queries: NDArray[np.float32], n: int) -> IntArray:
        self._index.expansion_search = self.ef_search  # as for faiss, set_params takes effect after fit
        pair = (
            queries if len(queries) > 1 else np.vstack([queries, queries])
        )  # for one query usearch returns another type
        matches = self._index.search(pair, n, threads=effective_n_jobs(self.n_jobs))
        found = np.asarray(matches.keys).astype(np.intp)
        found[np.arange(n) >= np.asarray(matches.counts)[:, np.newaxis]] = -1
        return found[: len(queries)]

    def __getstate__(self) -> dict[str, Any]:
        """Return a state that can be pickled: the index as bytes."""
        state: dict[str, Any] = super().__getstate__()
        return state if "_index" not in state else state | {"_index": bytes(self._index.save())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the index."""
        super().__setstate__(state)
        if "_index" in state:
            self._index = self._library().Index.restore(state["_index"])
