"""Exact nearest neighbours whose order is decided by (distance, training index) alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from nearlabel._blocks import BLOCK_BYTES, row_blocks
from nearlabel._typing import FloatArray, IntArray, Matrix, MatrixLike
from nearlabel._validation import check_n_neighbors
from nearlabel.neighbors._distances import Distance, Rows, Tile, distance_named

_QUERIES_PER_TILE = 256
_LARGEST_TILE = BLOCK_BYTES
_BYTES_PER_PAIR = 8 * 2  # a bound, run minima and a comparison
_LARGEST = float(np.finfo(np.float64).max)


class ExactNeighbors(BaseEstimator):
    """Find the exact nearest neighbours; equal distances are ordered by training index.

    The answer does not depend on the number of threads, the size of blocks, dense or sparse storage, or the linear
    algebra library: a fast product only *nominates* neighbours, within proven error bounds, and a float64 sum over the
    features in their order *decides*. For ``"euclidean"`` the squared distance decides, so two neighbours may show the
    same root. Beside the training rows, kept as float64 (twice where dense), memory is bounded by blocks, whatever the
    number of rows and queries.

    Parameters
    ----------
    metric : str or callable, default="euclidean"
        "euclidean", "sqeuclidean", "manhattan" or "cosine" (an empty row is at distance 1 from all); or, slower, any
        name known to `scipy.spatial.distance.cdist` or a function of two dense rows.
    n_neighbors : int, default=5
        Number of neighbours where `kneighbors` is not told.
    metric_params : dict, default=None
        Further arguments of the metric. Without them "seuclidean" and "mahalanobis" take theirs from the training rows.
    n_jobs : int, default=None
        Threads, as in joblib. None is one.

    Attributes
    ----------
    n_features_in_ : int
        Number of features seen in `fit`.
    n_samples_fit_ : int
        Number of training rows.

    See Also
    --------
    PrecomputedNeighbors : One search for many classifiers and every smaller number of neighbours.
    sklearn.neighbors.NearestNeighbors : The same methods; orders equal distances arbitrarily.

    Examples
    --------
    >>> from nearlabel.neighbors import ExactNeighbors
    >>> search = ExactNeighbors().fit([[0.0], [1.0], [1.0], [3.0]])
    >>> distances, indices = search.kneighbors([[2.0]], n_neighbors=3)
    >>> indices
    array([[1, 2, 3]])
    >>> search.kneighbors(n_neighbors=1)[1].ravel()
    array([1, 2, 1, 1])
    """

    def __init__(
        self,
        metric: str | Callable[..., float] = "euclidean",
        *,
        n_neighbors: int = 5,
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def fit(self, X: MatrixLike, y: None = None) -> Self:
        """Keep the training rows.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Finite numbers.
        y : None
            Ignored.

        Returns
        -------
        self
            The fitted search.

        Raises
        ------
        ValueError
            If X is not two-dimensional, has NaN or infinite values, or if the metric is unknown.
        """
        rows = as_float_rows(validate_data(self, X, accept_sparse="csr"))
        distance = distance_named(self.metric, self.metric_params)
        distance.fit(rows)
        self._distance = distance
        self._rows = distance.prepare(rows)
        self.n_samples_fit_ = len(self._rows)
        return self

    def kneighbors(
        self, X: MatrixLike | None = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Return the nearest training rows, nearest first.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features), default=None
            The queries. None: the training rows, each without itself (its duplicates stay).
        n_neighbors : int, default=None
            Number of neighbours; None: as given to the constructor.
        return_distance : bool, default=True
            Whether the distances come too.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors), float64
            Only if `return_distance`.
        indices : ndarray of shape (n_queries, n_neighbors)
            Training row numbers, ordered by (distance, index).

        Raises
        ------
        ValueError
            If there are fewer training rows than neighbours asked for.
        """
        check_is_fitted(self)
        wanted = self.n_neighbors if n_neighbors is None else n_neighbors
        k = check_n_neighbors(wanted, self.n_samples_fit_, leave_one_out=X is None)
        queries = None if X is None else validate_data(self, X, accept_sparse="csr", reset=False)
        ranks, indices = self._search(queries, k)
        return (self._distance.to_distance(ranks), indices) if return_distance else indices

    def _search(self, queries: Matrix | None, k: int) -> tuple[FloatArray, IntArray]:
        """Answer the queries tile by tile; each tile is answered by itself, so tiles may run in any thread."""
        n_queries = self.n_samples_fit_ if queries is None else queries.shape[0]
        most = _LARGEST_TILE // self._filled_bytes_per_row()
        tiles = list(row_blocks(n_queries, 1, budget=max(1, min(_QUERIES_PER_TILE, most))))
        answers = Parallel(n_jobs=self.n_jobs, require="sharedmem")(
            delayed(self._search_tile)(queries, tile, k) for tile in tiles
        )
        return np.vstack([ranks for ranks, _ in answers]), np.vstack([indices for _, indices in answers])

    def _filled_bytes_per_row(self) -> int:
        """Return what a sparse row takes where the distance makes it dense, else 1."""
        filled = self._distance.fills_rows and sparse.issparse(self._rows.values)
        return 8 * self.n_features_in_ if filled else 1

    def _search_tile(self, queries: Matrix | None, tile: slice, k: int) -> tuple[FloatArray, IntArray]:
        if queries is None:
            return self._nearest(self._rows[tile], k, own_index=tile.start)
        like = sparse.issparse(self._rows.values)
        rows = as_float_rows(stored_alike(queries[tile], as_sparse=like))
        return self._nearest(self._distance.prepare(rows), k)

    def _nearest(self, queries: Rows, k: int, own_index: int | None = None) -> tuple[FloatArray, IntArray]:
        bytes_per_row = len(queries) * _BYTES_PER_PAIR + self._filled_bytes_per_row()
        panels = row_blocks(self.n_samples_fit_, bytes_per_row, _LARGEST_TILE)
        return nearest_rows(queries, self._rows, k, self._distance, panels, own_index=own_index)

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that sparse input is welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def nearest_rows(
    queries: Rows,
    rows: Rows,
    k: int,
    distance: Distance,
    panels: Iterable[slice],
    *,
    own_index: int | None = None,
) -> tuple[FloatArray, IntArray]:
    """Return rank and index (n_queries, k) of the k rows of least (rank, index) for each query.

    Panel by panel: a pair whose lower bound exceeds the k-th least upper bound, or the k-th rank so far, is no
    neighbour; the others are refined, and the k best are kept. With `own_index`, query i is row own_index + i and is
    left out of its own list.
    """
    n_queries = len(queries)
    ranks = np.full((n_queries, k), np.inf)
    indices = np.full((n_queries, k), len(rows))
    for panel in panels:
        tile = distance.tile(queries, rows[panel])
        if own_index is not None:
            _leave_out_own(tile, own_index - panel.start)
        limit = np.minimum(_bound_on_kth(tile, k), _above(ranks[:, -1] - tile.base))
        query, row = np.divmod(np.flatnonzero(tile.lower <= limit[:, np.newaxis]), tile.lower.shape[1])
        ranks, indices = _keep_best(ranks, indices, query, tile.refine(query, row), row + panel.start)
    return ranks, indices


def _leave_out_own(tile: Tile, first: int) -> None:
    """Put the pairs (i, first + i) above every limit."""
    own = first + np.arange(tile.lower.shape[0])
    inside = np.flatnonzero((own >= 0) & (own < tile.lower.shape[1]))
    tile.lower[inside, own[inside]] = np.inf


def _bound_on_kth(tile: Tile, k: int) -> FloatArray:
    """Return, for each query, a finite number that at least k rows, if there are as many, do not exceed (less `base`).

    The k least minima of disjoint runs belong to k different rows; minima of strided runs cost far less than a
    partition of all pairs. Each run takes the largest slack of its own rows.
    """
    n_queries, n_rows = tile.lower.shape
    if n_rows < k:
        return np.full(n_queries, _LARGEST)
    run = max(1, min(32, n_rows // (2 * k)))
    n_runs = n_rows // run
    least = tile.lower[:, : n_runs * run].reshape(n_queries, run, n_runs).min(axis=1)
    least += tile.row_slack[: n_runs * run].reshape(run, n_runs).max(axis=0)
    return _above(np.partition(least, k - 1, axis=1)[:, k - 1] + tile.query_slack)


def _above(limit: FloatArray) -> FloatArray:
    """Return finite numbers that rounding, in the sum that gave `limit`, cannot have made too small."""
    return np.minimum(limit + 4 * np.finfo(np.float64).eps * np.abs(limit), _LARGEST)


def _keep_best(
    ranks: FloatArray, indices: IntArray, query: IntArray, new_ranks: FloatArray, new_indices: IntArray
) -> tuple[FloatArray, IntArray]:
    """Merge newly refined pairs into the k best so far of each query, ordered by (rank, index)."""
    n_queries, k = ranks.shape
    all_queries = np.concatenate([np.repeat(np.arange(n_queries), k), query])
    all_ranks = np.concatenate([ranks.ravel(), new_ranks])
    all_indices = np.concatenate([indices.ravel(), new_indices])
    order = np.lexsort((all_indices, all_ranks, all_queries))
    first = np.searchsorted(all_queries[order], np.arange(n_queries))
    best = order[first[:, np.newaxis] + np.arange(k)]
    return all_ranks[best], all_indices[best]


def stored_alike(X: Matrix, *, as_sparse: bool) -> Matrix:
    if sparse.issparse(X) == as_sparse:
        return X
    return sparse.csr_array(X) if as_sparse else X.toarray()


def as_float_rows(X: Matrix) -> Matrix:
    """Return float64 rows; sparse ones as a canonical CSR array of our own."""
    if not sparse.issparse(X):
        return np.asarray(X, dtype=np.float64)
    rows = sparse.csr_array(X, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    if max(rows.nnz, rows.shape[1]) <= np.iinfo(np.int32).max:  # scikit-learn's sparse Manhattan takes no other index
        rows.indptr, rows.indices = rows.indptr.astype(np.int32), rows.indices.astype(np.int32)
    return rows
