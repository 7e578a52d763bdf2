"""The contract of a search, and the neighbours that it finds: their votes, whether they are useful, and the recall.

A user's own search is asked by its public methods, and its results are checked.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_array, check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from nearlabel.neighbors._kernel_weights import GaussianWeights, SimilarityWeights
from nearlabel.neighbors._precomputed import PrecomputedNeighbors, TransformerNeighbors
from nearlabel.neighbors.exact._candidates import drop_self
from nearlabel.neighbors.exact._search import ExactNeighbors
from nearlabel.utils.containers import checked_container, checked_samples, require_dense
from nearlabel.utils.messages import AdviceWarning
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import check_choice, check_flag, check_integer, check_n_neighbors

Weights: TypeAlias = str | Callable[[FloatArray], FloatArray]  # of votes, by the distances of the neighbours


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
        if hasattr(search, "transform"):
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


def fitted_search(search: Any, X: Matrix) -> Any:
    """Return a copy of a user's search, or the default one for None, fitted to checked samples."""
    fitted = clone_search(search)
    (checked_method(fitted, "fit") or fitted.fit)(X)
    return fitted


def ask_search(search: Any, X: Matrix | None, n_neighbors: int, n_samples: int, n_reserved: int = 0) -> Neighbors:
    """Query any search for the neighbours of checked queries, or of its `n_samples` training samples.

    The result of a search that may be a user's own is checked. There is a warning if the neighbours of the training
    samples distinguish nothing, at the last `n_reserved` of which it does not look.
    """
    trusted = checked_method(search, "kneighbors")
    distances, indices = (trusted or search.kneighbors)(X, n_neighbors)
    if trusted is None:
        n_queries = n_samples if X is None else X.shape[0]
        if np.shape(indices) != (n_queries, n_neighbors) or np.shape(distances) != np.shape(indices):
            raise ValueError(
                f"search must return arrays of shape {(n_queries, n_neighbors)},"
                f" got {np.shape(distances)} and {np.shape(indices)} from {search!r}."
            )
        check_neighbor_indices(indices, n_samples)
    found = Neighbors(distances, indices)
    if X is None:
        warn_of_useless(found, n_neighbors - n_reserved)
    return found


def takes_missing_values(part: Any) -> bool:
    """Return whether a search, a transformer or a classifier declares to scikit-learn that X may contain NaN."""
    has_tags = not isinstance(part, type) and hasattr(part, "__sklearn_tags__")
    return has_tags and bool(get_tags(part).input_tags.allow_nan)


@dataclass(frozen=True)
class Neighbors:
    """Neighbours of some queries, nearest first; and the queries themselves, if a rule of votes needs them.

    Parameters
    ----------
    distances : ndarray of shape (n_queries, n_neighbors)
        Distances to the neighbours.
    indices : ndarray of int of shape (n_queries, n_neighbors)
        Numbers of training samples.
    rows : ndarray or CSR of shape (n_queries, n_features), default=None
        The queries.
    """

    distances: FloatArray
    indices: IntArray
    rows: Matrix = None

    def __getitem__(self, block: slice | IntArray) -> Neighbors:
        return Neighbors(self.distances[block], self.indices[block], None if self.rows is None else self.rows[block])

    def nearest(self, n_neighbors: int) -> Neighbors:
        """Return the nearest `n_neighbors` neighbours of each query."""
        return Neighbors(self.distances[:, :n_neighbors], self.indices[:, :n_neighbors], self.rows)

    def at(self, places: IntArray) -> Neighbors:
        """Return some neighbours of each query, by their places (n_queries, n_neighbors)."""
        distances = np.take_along_axis(self.distances, places, axis=1)
        return Neighbors(distances, np.take_along_axis(self.indices, places, axis=1), self.rows)

    def mean_distances(self) -> FloatArray:
        """Return the mean distance (n_queries,) of each query to its neighbours, added nearest first.

        The order of the additions does not depend on how the array is stored: equal distances give equal means.
        """
        total: FloatArray = np.zeros(len(self.distances))
        for of_neighbor in self.distances.T:
            total += of_neighbor
        return np.asarray(total / self.distances.shape[1])


# Votes of neighbours for labels.


def label_votes(indices: IntArray, y: Matrix, weights: FloatArray | None = None) -> Matrix:
    """Count, for each query and label, the neighbours that carry the label: one sparse product.

    Parameters
    ----------
    indices : ndarray of int of shape (n_queries, n_neighbors)
        Numbers of the training samples that are neighbours.
    y : ndarray or CSR array of shape (n_samples, n_labels)
        Label sets of the training samples, an indicator matrix.
    weights : ndarray of shape (n_queries, n_neighbors), default=None
        Weight of each neighbour's vote; None: one each.

    Returns
    -------
    votes : ndarray or CSR array of shape (n_queries, n_labels)
        Counts, float64 with weights; stored as y is. Counts are int64 or, if y has bytes, of the smallest signed type
        that can store n_neighbors. Weighted votes are added nearest first.

    Raises
    ------
    ValueError
        If indices is not (n_queries, n_neighbors), or contains a number that is no row of y.

    Examples
    --------
    >>> import numpy as np
    >>> label_votes(np.array([[0, 2], [2, 1]]), np.array([[1, 0], [1, 1], [0, 1]]))
    array([[1, 1],
           [1, 2]])
    """
    require_dense("indices", indices)
    require_dense("weights", weights)
    return counted_votes(indices, checked_container("y", y), weights)


def counted_votes(indices: IntArray, y: Matrix, weights: FloatArray | None = None) -> Matrix:
    """Return the votes of `label_votes` for checked label sets."""
    check_neighbor_indices(indices, y.shape[0])
    n_queries, n_neighbors = indices.shape
    count = np.min_scalar_type(-n_neighbors - 1) if y.dtype.itemsize == 1 else np.int64
    votes_of = np.ones(indices.size, dtype=count) if weights is None else weights.ravel()
    row_ends = np.arange(0, indices.size + 1, n_neighbors)
    neighbor_graph = sparse.csr_array((votes_of, indices.ravel(), row_ends), shape=(n_queries, y.shape[0]))
    return neighbor_graph @ y


def check_neighbor_indices(indices: IntArray, n_samples: int) -> None:
    """Raise ValueError unless indices (n_queries, n_neighbors) name training samples only.

    A search of another library may return -1 for "none found"; a sparse product would read outside its arrays.
    """
    if getattr(indices, "ndim", 0) != 2 or indices.shape[1] == 0 or indices.dtype.kind not in "iu":
        raise ValueError(f"indices must be whole numbers of shape (n_queries, n_neighbors), got {indices!r}.")
    if indices.size and (indices.min() < 0 or indices.max() >= n_samples):
        wrong = indices[(indices < 0) | (indices >= n_samples)]
        raise ValueError(f"indices must name training samples 0 to {n_samples - 1}, got {wrong[0]}.")


def vote_weights(distances: FloatArray, weights: Weights) -> FloatArray:
    """Return the weight of each neighbour's vote (n_queries, n_neighbors).

    "distance" weighs by the inverse distance, as a share of the nearest one's, which cannot overflow.
    """
    if callable(weights):
        weighed = np.asarray(weights(distances), dtype=np.float64)
        if weighed.shape != distances.shape or not (weighed >= 0).all() or not np.isfinite(weighed).all():
            raise ValueError(
                f"weights must return finite numbers >= 0 of shape {distances.shape}, got shape {weighed.shape}."
            )
        return weighed
    if weights == "uniform":
        return np.ones(distances.shape)
    at_zero = distances == 0
    nearest = distances.min(axis=1, keepdims=True)
    inverse: FloatArray = np.isinf(nearest) * np.ones_like(distances)  # all equally far: rows that lack all features
    np.divide(nearest, distances, out=inverse, where=~at_zero & np.isfinite(nearest))
    return np.where(at_zero.any(axis=1, keepdims=True), at_zero.astype(np.float64), inverse)


def check_weights(weights: Weights) -> None:
    """Raise ValueError or TypeError unless weights are a function, a kernel with valid parameters, or a known word."""
    if isinstance(weights, SimilarityWeights | GaussianWeights):
        weights.check()
    elif not callable(weights):
        check_choice("weights", weights, {"uniform", "distance"})


# Whether neighbours distinguish samples: the doctor reports it, and classifiers warn of it.

MOST_OF_ALL = 0.5  # of all places, to the most used hundredth of the rows: 50 times its part
LEAST_ROWS = 100  # of fewer, the most used row is more than a hundredth


class UselessNeighborsWarning(AdviceWarning):
    """All neighbours of all training samples are equally far, or a few samples are neighbours of nearly all others."""


def occurrences(indices: IntArray, n_rows: int) -> IntArray:
    """Return how often each row is a neighbour: k-occurrence (Radovanovic et al., 2010)."""
    return np.bincount(indices.ravel(), minlength=n_rows)


def share_of_most_used(occurs: IntArray) -> float:
    """Return the share of all places that the most used hundredth of the rows take."""
    n_top = -(-len(occurs) // 100)
    return float(np.partition(occurs, -n_top)[-n_top:].sum() / occurs.sum())


def skewness(occurs: IntArray) -> float:
    """Return the skewness of how often rows are neighbours; 0 if all are equally often."""
    deviations = occurs - occurs.mean()
    variance = float((deviations**2).mean())
    return float((deviations**3).mean()) / variance**1.5 if variance > 0 else 0.0


def all_tied(distances: FloatArray) -> BoolArray:
    """Return which rows have all their neighbours at the same distance."""
    return np.asarray(distances[:, 0] == distances[:, -1])


def warn_of_useless(found: Neighbors, n_neighbors: int) -> None:
    """Warn if the first neighbours of the training samples, each without itself, cannot be useful.

    That is, if all neighbours of all samples are at one distance, or if more than half of all places go to 1 % of the
    samples.
    """
    distances, indices, n_rows = found.distances[:, :n_neighbors], found.indices[:, :n_neighbors], len(found.indices)
    same = float(distances[0, 0]) if (distances == distances[0, 0]).all() else None
    warn_if_useless(n_neighbors, n_rows, same, lambda: share_of_most_used(occurrences(indices, n_rows)))


def warn_if_useless(n_neighbors: int, n_rows: int, same: float | None, share: Callable[[], float]) -> None:
    """Warn as `warn_of_useless` does, given the distance of all neighbours if it is one, and the share."""
    if same is not None and 1 < n_neighbors < n_rows - 1:
        warnings.warn(
            f"All neighbours of each training sample are at the distance {same:g}, so the order of the"
            " samples decides which are its neighbours. Use features or a metric that distinguish samples.",
            UselessNeighborsWarning,
            stacklevel=3,
        )
    elif n_rows >= LEAST_ROWS and share() > MOST_OF_ALL:
        warnings.warn(
            "1 % of the training samples take more than half of all places among the neighbours, so a few samples"
            " decide nearly everything. Scale the features, or use the metric 'cosine' for texts;"
            " nearlabel.datasets.examine reports more.",
            UselessNeighborsWarning,
            stacklevel=3,
        )


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
    rows = check_array(checked_samples("X", X), accept_sparse="csr")
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


class ReportsRecall(ABC):
    """A fitted search that may miss neighbours, and reports how many it finds."""

    @abstractmethod
    def _all_rows(self) -> NDArray[Any]:
        """Return the training samples."""

    def recall(self, n_queries: int = 1000, n_neighbors: int = 10, *, random_state: Any = 0) -> float:
        """Return the mean share of the true nearest neighbours found for drawn samples, each without itself.

        It takes a fit of `ExactNeighbors` and a search for the drawn samples; the search itself is not fitted again.

        Parameters
        ----------
        n_queries : int, default=1000
            Number of training samples drawn.
        n_neighbors : int, default=10
            Number of neighbours.
        random_state : int, RandomState or None, default=0
            Seed of the draw.

        Returns
        -------
        float
            From 0 to 1, by `nearlabel.neighbors.recall`.

        Raises
        ------
        TableChangedError
            If a table of a database no longer has one of the training samples.
        """
        check_is_fitted(self)
        of_fitted = FrozenEstimator(self)
        return float(recall(of_fitted, self._all_rows(), n_queries, n_neighbors, random_state=random_state))


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
