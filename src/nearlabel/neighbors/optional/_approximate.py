"""The common part of searches by approximate indexes: float32 finds candidates, float64 ranks them.

The index of another library gives candidates, among which some true neighbours may be missing; nothing else is
approximate. The distances of candidates are computed in float64, as in `ExactNeighbors`, and ordered by (distance,
training index). So the distances and their order are exact.

The libraries store float32 and compute squared distances in it. These have no correct digit where the rows are far from
the origin, compared with the distances between them. A shift changes no distance, so the rows are centred in float64
before they are rounded, and scaled by a power of two so that squares neither overflow nor vanish. The cosine distance
is searched for as a Euclidean distance between rows divided by their lengths: for these |a - b|² = 2 (1 - cos), and the
same shift helps.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from nearlabel.neighbors.exact._candidates import drop_self
from nearlabel.neighbors.exact._distances import Cosine, Rows, minus_cosine, sum_over_features
from nearlabel.neighbors.exact._search import ExactNeighbors
from nearlabel.neighbors.votes import ReportsRecall
from nearlabel.utils.containers import checked_samples
from nearlabel.utils.naming import import_optional, registered
from nearlabel.utils.one_step import all_or_nothing
from nearlabel.utils.types import FloatArray, IntArray, MatrixLike
from nearlabel.utils.validation import asked_n_neighbors, check_choice, check_flag, check_integer, row_blocks

_LARGEST = 1e150  # squares of larger numbers overflow
_PLACE_OF_EMPTY_ROWS = 4.0  # farther from all rows of length 1 than these are from each other
_LARGEST_IN_FLOAT32 = 1e15  # of the scaled coordinates, which are about 1; its square leaves room for a sum


class ApproximateNeighbors(ReportsRecall, BaseEstimator):
    """A search whose candidates come from an index of another library.

    A subclass defines `_library` (which imports it), `_build`, `_find` and its own parameters.
    """

    metric: str
    n_neighbors: int
    n_jobs: int | None

    @all_or_nothing
    def fit(self, X: MatrixLike, y: None = None) -> Self:
        """Build the index of the training samples.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Finite numbers; stored as float32 or float64, and once more as float32 in the index.
        y : None
            Ignored.

        Returns
        -------
        self
            The fitted search.

        Raises
        ------
        ImportError
            If the library is not installed.
        TypeError
            If X is sparse.
        ValueError
            If X is malformed or a parameter is out of range.
        """
        self._check_parameters()
        rows = self._rows_of(X, reset=True)
        self._points = self._prepare(rows.copy())
        self._centre, self._exponent = _centre_and_exponent(self._points.operands)
        self.n_samples_fit_ = len(rows)
        self._index = self._build(self._as_float32(self._points.operands))
        return self

    def kneighbors(
        self, X: MatrixLike | None = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Return the nearest of the candidates that the index gives, nearest first.

        The index is queried for twice as many candidates. Where it gives fewer than `n_neighbors`, which happens with
        few samples, lists or links, `ExactNeighbors` searches for the query.

        Parameters
        ----------
        X : array-like or data frame of shape (n_queries, n_features), default=None
            The queries. None: the training samples, each without itself (its duplicates stay).
        n_neighbors : int, default=None
            Number of neighbours. None: the parameter of the constructor.
        return_distance : bool, default=True
            Whether to return the distances too.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors), float64
            Only if `return_distance`; exact.
        indices : ndarray of shape (n_queries, n_neighbors)
            Numbers of training samples, ordered by (distance, index).

        Raises
        ------
        ValueError
            If `n_neighbors` exceeds the number of (other) training samples.
        TypeError
            If X is sparse.
        """
        k = asked_n_neighbors(self, X, n_neighbors)
        queries = self._points.values if X is None else self._rows_of(X, reset=False)
        answers = [
            self._search_block(queries[block], k, np.arange(block.start, block.stop) if X is None else None)
            for block in _blocks(len(queries), queries.shape[1] + 8 * k)
        ]
        distances, indices = (np.vstack(parts) for parts in zip(*answers, strict=True))
        return (distances, indices) if return_distance else indices

    def _all_rows(self) -> NDArray[Any]:
        rows: NDArray[Any] = self._points.values
        return rows

    def _search_block(self, rows: NDArray[Any], k: int, own: IntArray | None) -> tuple[FloatArray, IntArray]:
        """Search for a block of queries; `own` are their indices if they are training samples."""
        queries = self._prepare(rows)
        candidates = self._find(self._as_float32(queries.operands), min(2 * k + 1, self.n_samples_fit_))
        ranks = self._ranks(queries, candidates)
        ranks[candidates < 0] = np.inf
        if own is not None:
            ranks[candidates == own[:, np.newaxis]] = np.inf
        order = np.lexsort((candidates, ranks))[:, :k]
        ranks, indices = np.take_along_axis(ranks, order, axis=1), np.take_along_axis(candidates, order, axis=1)
        distances: FloatArray = 1.0 + ranks if self.metric == "cosine" else np.sqrt(ranks)
        short = np.flatnonzero(np.isinf(ranks[:, -1]))
        if len(short):
            distances[short], indices[short] = self._search_exactly(rows[short], k, None if own is None else own[short])
        return distances, indices

    def _ranks(self, queries: Rows, candidates: IntArray) -> FloatArray:
        """Return the rank of each candidate of each query, as `ExactNeighbors` computes it."""
        pairs = np.repeat(np.arange(len(candidates)), candidates.shape[1]), candidates.ravel()
        left, right = queries.values, self._points.values
        if self.metric == "euclidean":
            return sum_over_features(left, right, pairs, np.subtract, np.square).reshape(candidates.shape)
        dot = sum_over_features(left, right, pairs, np.multiply, np.positive)
        squares = queries.norms[pairs[0]], self._points.norms[pairs[1]]
        return minus_cosine(dot, *squares).reshape(candidates.shape)

    def _search_exactly(self, rows: NDArray[Any], k: int, own: IntArray | None) -> tuple[FloatArray, IntArray]:
        search = ExactNeighbors(self.metric, n_jobs=self.n_jobs).fit(self._points.values)
        distances, indices = search.kneighbors(rows, k + (own is not None))
        return (distances, indices) if own is None else drop_self(distances, indices, own)

    def _rows_of(self, X: MatrixLike, *, reset: bool) -> NDArray[Any]:
        if sparse.issparse(X):
            raise TypeError(
                f"X must be dense for {type(self).__name__}, got sparse rows. Hint: ExactNeighbors takes sparse rows;"
                " sklearn.decomposition.TruncatedSVD makes dense rows of them."
            )
        rows: NDArray[Any] = validate_data(
            self, checked_samples("X", X), dtype=(np.float64, np.float32), order="C", reset=reset
        )
        if not max(abs(float(rows.max())), abs(float(rows.min()))) < _LARGEST:
            raise ValueError(f"X must have values below {_LARGEST:.0e}, got a larger one. Hint: scale them.")
        return rows

    def _prepare(self, rows: NDArray[Any]) -> Rows:
        """Return rows whose `operands`, for cosines scaled to length 1, go into the index."""
        if self.metric == "euclidean":
            return Rows(rows, rows, np.zeros(len(rows)))
        prepared = Cosine().prepare(rows)
        prepared.operands[prepared.norms == 0, :1] = _PLACE_OF_EMPTY_ROWS
        return prepared

    def _as_float32(self, directions: NDArray[Any]) -> NDArray[np.float32]:
        """Centre and scale rows in float64, and round them to float32, block by block."""
        rounded = np.empty(directions.shape, dtype=np.float32)
        for block in _blocks(*directions.shape):
            with np.errstate(over="ignore"):  # clipped below
                scaled = np.ldexp(directions[block] - self._centre, -self._exponent)
            rounded[block] = np.clip(scaled, -_LARGEST_IN_FLOAT32, _LARGEST_IN_FLOAT32)
        return rounded

    def _check_parameters(self) -> None:
        """Raise unless the parameters are valid and the library is installed."""
        check_choice("metric", self.metric, ("euclidean", "cosine"))
        self._library()

    @abstractmethod
    def _library(self) -> Any:
        """Import the library."""

    @abstractmethod
    def _build(self, rows: NDArray[np.float32]) -> Any:
        """Return the index of the rows, by Euclidean distance."""

    @abstractmethod
    def _find(self, queries: NDArray[np.float32], n: int) -> IntArray:
        """Return up to n candidates for each query (n_queries, n), padded with -1."""


def _centre_and_exponent(rows: NDArray[Any]) -> tuple[FloatArray, int]:
    """Return a point near most rows, and the exponent of the median size of their coordinates relative to it.

    Both are medians of about a thousand rows, so that outliers affect neither.
    """
    some = rows[:: max(1, len(rows) // 1024)].astype(np.float64)
    centre = np.median(some, axis=0)
    sizes = np.abs(some - centre)
    return centre, int(np.frexp(np.median(sizes[sizes > 0]))[1]) if sizes.any() else 0


def _blocks(n_rows: int, n_columns: int) -> list[slice]:
    return list(row_blocks(n_rows, 16 * n_columns))


# Searches by a hierarchical graph (HNSW): that of usearch.


class GraphNeighbors(ApproximateNeighbors):
    """A search that walks over a graph, with the parameters of one."""

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


@registered("search", "usearch")
class UsearchNeighbors(GraphNeighbors):
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
        # For one query usearch returns another type.
        pair = queries if len(queries) > 1 else np.vstack([queries, queries])
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
