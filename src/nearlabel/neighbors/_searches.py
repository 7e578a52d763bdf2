"""Searches of any kind: transformers as searches, what a parameter `search` may be, and the recall of a search."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags, check_array, check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from nearlabel.neighbors._precomputed import PrecomputedNeighbors, read_graph
from nearlabel.neighbors.exact._candidates import drop_self
from nearlabel.neighbors.exact._search import ExactNeighbors
from nearlabel.neighbors.votes import check_neighbor_indices
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import check_flag, check_integer, check_n_neighbors


class TransformerNeighbors(BaseEstimator):
    """Take neighbours from the sparse graph that a transformer gives, as scikit-learn's `KNeighborsTransformer` does.

    For the transformers of sklearn-ann, pynndescent and similar libraries, and for a pipeline that ends in one. The
    lazy classifiers wrap such a transformer by themselves: ``MLkNN(search=transformer)``.

    Equal distances of a sample are ordered by training index. If more samples are at an equal distance than the graph
    contains, the transformer decides which are in it.

    Parameters
    ----------
    transformer : object with `fit` and `transform`
        Its `transform` gives a sparse graph of shape (n_queries, n_samples) whose entries are distances, explicit zeros
        included. Each training sample may be among its own neighbours, in any place: it is left out by its number. So a
        transformer with ``n_neighbors=n`` whose graph contains n + 1 entries per row, with the sample itself, knows n
        neighbours of a training sample and n + 1 of a query.

    Attributes
    ----------
    transformer_ : object
        The fitted copy of the transformer.
    n_samples_fit_ : int
        Number of training samples.

    See Also
    --------
    PrecomputedNeighbors.from_graph : The same from existing graphs.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsTransformer
    >>> from nearlabel.neighbors import TransformerNeighbors
    >>> search = TransformerNeighbors(KNeighborsTransformer(n_neighbors=2)).fit([[0.0], [1.0], [1.0], [3.0]])
    >>> search.kneighbors(n_neighbors=1)[1].ravel()
    array([1, 2, 1, 1])
    """

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def fit(self, X: MatrixLike, y: None = None) -> Self:
        """Fit a copy of the transformer.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training samples, as the transformer takes them; they are stored, not copied.
        y : None
            Ignored.

        Returns
        -------
        self
            The fitted search.

        Raises
        ------
        TypeError
            If the transformer lacks `fit` or `transform`.
        ValueError
            If its graph contains neighbours but no distances.
        """
        if isinstance(self.transformer, type) or not _gives_graphs(self.transformer):
            raise TypeError(
                f"transformer must be an object with the methods fit and transform, got {self.transformer!r}."
            )
        if getattr(self.transformer, "mode", "distance") != "distance":
            raise ValueError(f"transformer must have mode='distance', got {self.transformer!r}.")
        self.transformer_ = clone(self.transformer, safe=False).fit(X)
        self._X = X
        self.__dict__.pop("_training_lists", None)
        self.n_samples_fit_ = int(X.shape[0] if hasattr(X, "shape") else len(X))
        return self

    def kneighbors(
        self, X: MatrixLike | None = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Return the nearest training samples that the transformer finds, nearest first.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features), default=None
            The queries. None: the training samples, each without itself (its duplicates stay).
        n_neighbors : int, default=None
            Number of neighbours. None: as many as the transformer gives for every sample.
        return_distance : bool, default=True
            Whether to return the distances too.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors), float64
            Only if `return_distance`.
        indices : ndarray of shape (n_queries, n_neighbors)
            Numbers of training samples, ordered by (distance, index).

        Raises
        ------
        ValueError
            If the transformer gives fewer neighbours, or no graph of distances.
        TypeError
            If its result is not sparse.
        """
        check_is_fitted(self)
        distances, indices = self._training_lists if X is None else self._lists(X)
        known = indices.shape[1]
        k = known if n_neighbors is None else check_integer("n_neighbors", n_neighbors, low=1)
        if k > known:
            raise ValueError(
                f"n_neighbors must be at most the {known} that {self._graph_name} has of every sample, got {k}."
                " Hint: a larger n_neighbors of the transformer; a training sample is not its own neighbour."
            )
        return (distances[:, :k], indices[:, :k]) if return_distance else indices[:, :k]

    @property
    def n_neighbors_known(self) -> int:
        """Number of known neighbours of each training sample."""
        return int(self._training_lists[1].shape[1])

    @cached_property
    def _training_lists(self) -> tuple[FloatArray, IntArray]:
        """All known neighbours of the training samples, without themselves; several methods use them."""
        return self._lists(self._X, without_self=True)

    def _lists(self, X: MatrixLike, *, without_self: bool = False) -> tuple[FloatArray, IntArray]:
        graph = self.transformer_.transform(X)
        return read_graph(graph, self.n_samples_fit_, name=self._graph_name, without_self=without_self)

    @property
    def _graph_name(self) -> str:
        return f"the graph of {type(self.transformer).__name__}"

    def __sklearn_tags__(self) -> Tags:
        """Declare to scikit-learn that X may be sparse or contain NaN where the transformer takes that."""
        tags = super().__sklearn_tags__()
        if isinstance(self.transformer, BaseEstimator):
            tags.input_tags = get_tags(self.transformer).input_tags
        return tags


def as_search(search: Any) -> Any:
    """Return an unfitted copy of a search, or of a transformer that gives graphs as a search.

    Raises
    ------
    TypeError
        If it is neither.
    """
    if not isinstance(search, type) and hasattr(search, "fit"):
        if hasattr(search, "kneighbors"):
            return clone(search, safe=False)
        if _gives_graphs(search):
            return TransformerNeighbors(search)
    raise TypeError(
        f"search must be an object with the methods fit and kneighbors, got {search!r}."
        " Hint: ExactNeighbors(metric=...), scikit-learn's NearestNeighbors() or KNeighborsTransformer()."
    )


def clone_search(search: Any) -> Any:
    """Return an unfitted copy of a user's search, or the default one for None."""
    return ExactNeighbors() if search is None else as_search(search)


def checked_method(search: Any, name: str) -> Any:
    """Return `_fit` or `_kneighbors` of a search, given "fit" or "kneighbors"; None if there is only the public method.

    None, too, if a subclass or the object itself has its own public method, which must be called then.
    """
    for owner in (search, *type(search).__mro__):
        if f"_{name}" in getattr(owner, "__dict__", ()):
            return getattr(search, f"_{name}")
        if name in getattr(owner, "__dict__", ()):
            return None
    return None


def ask_search(search: Any, X: Matrix | None, n_neighbors: int, n_samples: int) -> tuple[FloatArray, IntArray]:
    """Query any search for the neighbours of checked queries, or of its `n_samples` training samples.

    The result of a search that may be a user's own is checked.
    """
    trusted = checked_method(search, "kneighbors")
    if trusted is not None:
        known: tuple[FloatArray, IntArray] = trusted(X, n_neighbors)
        return known
    distances, indices = search.kneighbors(X, n_neighbors)
    n_queries = n_samples if X is None else X.shape[0]
    if np.shape(indices) != (n_queries, n_neighbors) or np.shape(distances) != np.shape(indices):
        raise ValueError(
            f"search must return arrays of shape {(n_queries, n_neighbors)},"
            f" got {np.shape(distances)} and {np.shape(indices)} from {search!r}."
        )
    check_neighbor_indices(indices, n_samples)
    return distances, indices


def takes_missing_values(part: Any) -> bool:
    """Return whether a search, a transformer or a classifier declares to scikit-learn that X may contain NaN."""
    has_tags = not isinstance(part, type) and hasattr(part, "__sklearn_tags__")
    return has_tags and bool(get_tags(part).input_tags.allow_nan)


def _gives_graphs(transformer: Any) -> bool:
    """Return whether a transformer gives graphs, as far as this is known before a fit."""
    return hasattr(transformer, "fit") and hasattr(transformer, "transform")


# The recall of a search: how many of the true nearest neighbours it finds.

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
