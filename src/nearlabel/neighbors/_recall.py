"""The recall of a search: how many of the true nearest neighbours it finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_array, check_random_state

from nearlabel.neighbors._precomputed import PrecomputedNeighbors, TransformerNeighbors
from nearlabel.neighbors.exact._candidates import drop_self
from nearlabel.neighbors.exact._search import ExactNeighbors
from nearlabel.neighbors.votes import as_search
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import check_flag, check_integer, check_n_neighbors

_QUERIES_AT_ONCE = 32
_MINKOWSKI = {1: "manhattan", 2: "euclidean"}  # by p
_TAKE_FROM_TRAINING_ROWS = ("seuclidean", "mahalanobis")  # without metric_params


def recall(
    search: Any,
    X: MatrixLike,
    n_queries: int = 1000,
    n_neighbors: int = 10,
    *,
    metric: str | Callable[..., float] | None = None,
    random_state: Any = 0,
    per_query: bool = False,
) -> Any:
    """Return the mean share of the true nearest neighbours that a search finds, each sample without itself.

    Some samples of X are drawn, and the search, fitted to all samples, is queried for the nearest other samples of
    each. `ExactNeighbors` finds the true neighbours of the drawn samples, which costs little compared with a search for
    all. A neighbour that is exactly as far as the last true one counts as found, whatever its index.

    Parameters
    ----------
    search : object with `fit` and `kneighbors`, or transformer
        A search, as the parameter `search` of the lazy classifiers. A copy is fitted to X, whether the search is fitted
        already or not; the original does not change. To avoid the fit, pass ``sklearn.frozen.FrozenEstimator(search)``,
        if it was fitted to X. `PrecomputedNeighbors` use their known neighbours of the training samples.
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Training samples; the queries are drawn from them.
    n_queries : int, default=1000
        Number of samples drawn, without repetition; all if there are fewer.
    n_neighbors : int, default=10
        Number of neighbours, below n_samples.
    metric : str or callable, default=None
        The metric of the true neighbours, as in `ExactNeighbors`. None: the parameters `metric`, `p` and
        `metric_params` of the search, or of the transformer; "euclidean" if it has none.
    random_state : int, RandomState or None, default=0
        Seed of the draw.
    per_query : bool, default=False
        Whether to return the share of each query instead of the mean.

    Returns
    -------
    float, or ndarray of shape (n_queries,) if `per_query`
        From 0 to 1.

    Raises
    ------
    ValueError
        If there are too few samples, or the metric takes parameters from the training samples.

    See Also
    --------
    FaissIVFNeighbors, FaissHNSWNeighbors, UsearchNeighbors : Searches that may miss neighbours.

    Examples
    --------
    >>> from sklearn.neighbors import NearestNeighbors
    >>> from nearlabel.neighbors import recall
    >>> recall(NearestNeighbors(), [[0.0], [1.0], [1.0], [3.0]], n_neighbors=2)
    1.0
    """
    check_flag("per_query", per_query)
    rows = check_array(X, accept_sparse="csr")
    k = check_n_neighbors(n_neighbors, rows.shape[0], leave_one_out=True)
    n_drawn = min(check_integer("n_queries", n_queries, low=1), rows.shape[0])
    own = np.sort(check_random_state(random_state).choice(rows.shape[0], n_drawn, replace=False))
    exact = _exact_search(search, metric)
    distances, indices = exact.fit(rows).kneighbors(rows[own], k + 1)
    true = drop_self(distances, indices, own)
    fitted = search if isinstance(search, FrozenEstimator) else as_search(search).fit(rows)
    found = _answers(fitted, rows, own, k)
    shares = found_shares(true, (_exact_distances(exact, rows, own, found, true[1]), found))
    return shares if per_query else float(shares.mean())


def found_shares(true: tuple[FloatArray, IntArray], found: tuple[FloatArray, IntArray]) -> FloatArray:
    """Return the share of the true neighbours that is found of each query (n_queries,).

    Takes distances and indices (n_queries, n_neighbors) of both. A row counts as found, once, if it is at most as far
    as the last true neighbour.
    """
    limit, (distances, indices) = true[0][:, -1:], found
    hits = distances <= limit
    order = np.argsort(indices, axis=1, kind="stable")
    sorted_indices = np.take_along_axis(indices, order, axis=1)
    again = np.zeros_like(hits)
    again[:, 1:] = sorted_indices[:, 1:] == sorted_indices[:, :-1]
    counted = np.take_along_axis(hits, order, axis=1) & ~again
    return np.asarray(counted.sum(axis=1) / true[1].shape[1])


def _answers(search: Any, rows: Matrix, own: IntArray, k: int) -> IntArray:
    """Return the neighbours (n_drawn, k) that a fitted search finds of the rows drawn, without themselves."""
    search = search.estimator if isinstance(search, FrozenEstimator) else search
    if isinstance(search, PrecomputedNeighbors):  # knows its training samples only
        return np.asarray(search.kneighbors(None, k)[1])[own]
    indices = np.asarray(search.kneighbors(rows[own], k + 1)[1])
    return drop_self(np.zeros(indices.shape), indices, own)[1]


def _exact_distances(
    exact: ExactNeighbors, rows: Matrix, own: IntArray, found: IntArray, true: IntArray
) -> NDArray[np.float64]:
    """Return the distance of each query to the rows found (n_drawn, k); 0 where it is a true neighbour anyway.

    Infinite where nothing was found, for which some libraries write -1.
    A distance by `ExactNeighbors` depends on the two rows only: so a fit to a few rows gives the same bits.
    """
    distances = np.zeros(found.shape)
    missing = ~(found[:, :, np.newaxis] == true[:, np.newaxis, :]).any(axis=2)
    some = np.flatnonzero(missing.any(axis=1))
    for start in range(0, len(some), _QUERIES_AT_ONCE):
        block = some[start : start + _QUERIES_AT_ONCE]
        near, place = np.unique(np.maximum(found[block], 0), return_inverse=True)
        answer = ExactNeighbors(**exact.get_params()).fit(rows[near]).kneighbors(rows[own[block]], len(near))
        by_place = np.empty_like(answer[0])
        np.put_along_axis(by_place, answer[1], answer[0], axis=1)
        distances[block] = np.take_along_axis(by_place, place.reshape(len(block), -1), axis=1)
    return np.where(found < 0, np.inf, np.where(missing, distances, 0.0))


def _exact_search(search: Any, metric: Any) -> ExactNeighbors:
    """Return the exact search by the metric of another one."""
    inner = search.transformer if isinstance(search, TransformerNeighbors) else search
    params = getattr(inner, "metric_params", None) if metric is None else None
    metric = getattr(inner, "metric", "euclidean") if metric is None else metric
    if metric == "minkowski":
        params = {"p": getattr(inner, "p", 2)} | (params or {})
        if set(params) == {"p"} and params["p"] in _MINKOWSKI:
            metric, params = _MINKOWSKI[params["p"]], None
    if not params and metric in _TAKE_FROM_TRAINING_ROWS:
        raise ValueError(f"metric must have its metric_params, got {metric!r} without.")
    return ExactNeighbors(metric, metric_params=params, n_jobs=getattr(inner, "n_jobs", None))
