"""Exact nearest neighbours, ordered by (distance, training index) alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from nearlabel.neighbors.exact import _distances, _segments
from nearlabel.neighbors.exact._bounds_search import BoundsSearch, TreeSearch
from nearlabel.neighbors.exact._candidates import find_duplicates
from nearlabel.neighbors.exact._kernel_search import point_search
from nearlabel.neighbors.exact._metrics import TAKEN_FROM_ROWS, AnyMetric, Heom, NanEuclidean
from nearlabel.neighbors.exact._panel_search import Parts
from nearlabel.neighbors.exact._panels import MOST_FEATURES
from nearlabel.neighbors.optional._device import MOST_FEATURES_OF_DEVICE, device_search
from nearlabel.utils.containers import checked_samples, require_dense
from nearlabel.utils.messages import room_for, sized
from nearlabel.utils.naming import registered
from nearlabel.utils.one_step import all_or_nothing
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import (
    asked_n_neighbors,
    check_choice,
    check_integer,
    check_row_numbers,
    check_width,
    is_mapped,
    largest_size,
    stacked,
)

_TREE_FEATURES, _TREE_ROWS = 8, 1000  # with at most this many features and at least this many rows, a tree is faster
_SOME = 256  # rows, near whose centre others must be
_JOINED_UP_TO = 8  # times as many rows as are added, or were removed: then a segment is built again


@registered("search", "exact")
class ExactNeighbors(BaseEstimator):
    """Find the exact nearest neighbours; equal distances are ordered by training index.

    The result does not depend on the number of threads, the size of blocks, dense or sparse storage, float32 or
    float64, or the linear algebra library: a fast product or a tree only finds *candidates*, within proven error
    bounds, and a float64 sum over the features in their order ranks them. For ``"euclidean"`` the rank is the squared
    distance, so two different ranks may have the same root.

    Training samples of float32 or float64, CSR ones with sorted indices, are not copied unless many are equal: do not
    change them while the search is in use. The search stores a float32 copy of them for "euclidean", "sqeuclidean" and
    "cosine" (columns of sparse samples with at least 4 % of non-zeros are dense in it), except of samples mapped from a
    file (`numpy.memmap`, `nearlabel.datasets.open_store`). All other memory except the result is bounded by blocks,
    whatever the number of samples and queries; without queries, there are also candidates, several times as large as
    the result, of at most 131,072 samples at a time. Up to four blocks, 16 MiB each (32 for sparse samples), are reused
    by the next search.

    Parameters
    ----------
    metric : str or callable, default="euclidean"
        "euclidean", "sqeuclidean", "manhattan" or "cosine"; or, slower, any name known to
        `scipy.spatial.distance.cdist` or a function of two dense rows. A sample without features (all of them 0) has no
        direction: by "cosine" it is at distance 2, the largest possible, from all others, and at distance 0 from
        samples without features. So a text without a known word is a neighbour of others only if no others are left.
        Two metrics take missing values, which are NaN (explicitly stored in sparse samples). "heom" is Euclidean, and a
        feature that is missing in one or both samples counts as a difference of 1. "nan_euclidean", as in scikit-learn,
        is Euclidean over the n features that both samples have, with squares multiplied by n_features / n; it is
        infinite if n is 0.
    n_neighbors : int, default=5
        Number of neighbours if `kneighbors` gets none.
    algorithm : str, default="auto"
        "brute" bounds the distances to all samples, "kd_tree" uses scipy's tree (dense samples, Euclidean and
        Manhattan), "auto" uses the tree for up to 8 features, where it is faster. The result is the same.
    metric_params : dict, default=None
        Further arguments of the metric. Without them "seuclidean" and "mahalanobis" compute theirs from the training
        samples.
    n_jobs : int, default=None
        Number of threads, as in joblib; the linear algebra library uses one thread in each. None: as many as that
        library would use.
    device : str, default=None
        The device that finds candidates. None: the processor; "cuda", or "cuda:1" and so on: a GPU, by torch (``pip
        install 'nearlabel[gpu]'``); "cpu": the processor by torch, slower than None, for trying it out. For dense
        samples and the metrics "euclidean", "sqeuclidean" and "cosine". The result is identical, to the bit. The device
        stores a copy of 2 bytes per number, also of samples mapped from a file; the part that does not fit stays in
        memory.

    Attributes
    ----------
    n_features_in_ : int
        Number of features seen in `fit`.
    n_samples_fit_ : int
        Number of training samples.

    Notes
    -----
    Float32 products give candidates; ``nearlabel/neighbors/exact/_panels.py`` proves a bound on their errors. For
    queries that float32 cannot resolve (samples too close for their norms), float64 products give the candidates.

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
        algorithm: str = "auto",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.algorithm = algorithm
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.device = device

    @all_or_nothing
    def fit(self, X: MatrixLike, y: None = None) -> Self:
        """Store the training samples.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Finite numbers, and NaN if the metric takes missing values.
        y : None
            Ignored.

        Returns
        -------
        self
            The fitted search.

        Raises
        ------
        ValueError
            If X is not two-dimensional, has infinite values, NaN without a metric for it, samples whose squared norm
            overflows, an integer that float64 would round, or only values so small that squared differences might
            vanish, or if the metric, the algorithm or the device is unknown or they cannot be combined.
        ImportError
            If a device is given and torch cannot be imported.
        """
        return self._fit(self._checked(X))

    def fit_to_part(self, X: Matrix) -> Self:
        """Store some of the training samples, which may all be so small that `fit` would reject them alone."""
        return self._fit(self._checked(X), is_part=True)

    def _fit(self, X: Matrix, *, is_part: bool = False) -> Self:
        """Store checked samples: an array or CSR of finite numbers, with NaN if the metric takes missing values."""
        rows = _segments.as_rows(X)
        self._distance = distance_named(self.metric, self.metric_params)
        if not is_part:
            _distances.check_not_too_small([rows], self._distance)
        self._as_sparse = sparse.issparse(rows)
        self._segments = [self._segment_of(rows)]
        self.n_samples_fit_, self.n_features_in_ = rows.shape
        return self

    def add(self, X: MatrixLike) -> Self:
        """Append training samples. Later results equal, bit for bit, those of a fit to all samples.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_added, n_features)
            Their numbers are ``n_samples_fit_``, ``n_samples_fit_ + 1``, ...

        Returns
        -------
        self
            The search with these samples.

        Raises
        ------
        ValueError
            As `fit`; or if X has another number of features. Then nothing has changed.

        Notes
        -----
        The samples are searched separately until they are an eighth of the earlier ones; then both are joined. So
        adding a sample costs little more than searching for it. Where the metric computes its parameters from the
        training samples ("seuclidean", "mahalanobis"), adding is a fit to all samples.

        Examples
        --------
        >>> from nearlabel.neighbors import ExactNeighbors
        >>> search = ExactNeighbors().fit([[0.0], [1.0], [3.0]]).add([[2.2]])
        >>> search.kneighbors([[2.0]], n_neighbors=2)[1]
        array([[3, 1]])
        >>> search.remove([1]).kneighbors([[2.0]], n_neighbors=2)[1]
        array([[2, 1]])
        """
        check_is_fitted(self)
        rows = _segments.stored_alike(_segments.as_rows(self._checked(X, reset=False)), as_sparse=self._as_sparse)
        segments = self._segments[:]
        if self.takes_metric_from_rows:
            segments, rows = [], stacked([self._all_rows(), rows])
        else:
            self._check_beside(rows)
        while segments and len(segments[-1]) <= _JOINED_UP_TO * rows.shape[0] and not is_mapped(segments[-1].rows):
            rows = stacked([segments.pop().all_rows(), rows])
        if len(segments) == len(self._segments) and not is_mapped(rows):
            rows = rows.copy()  # otherwise they are a copy already; code that reads a stream may reuse its array
        self._set_segments([*segments, self._segment_of(rows)])
        return self

    def remove(self, rows: ArrayLike) -> Self:
        """Remove training samples. Later results equal, bit for bit, those of a fit to the other samples.

        Parameters
        ----------
        rows : array-like of int of shape (n_removed,)
            Numbers of samples, each once. The others keep their order and are renumbered from 0.

        Returns
        -------
        self
            The search without these samples.

        Raises
        ------
        ValueError
            If a number is unknown, comes twice, or no sample would be left. Then nothing has changed.

        Notes
        -----
        Removed samples stay in memory, and are left out of all results, until they are a ninth of the samples that they
        were fitted with. They are in no copy, pickle or file of the search.
        """
        check_is_fitted(self)
        gone = np.zeros(self.n_samples_fit_, dtype=bool)
        gone[check_row_numbers("rows", rows, self.n_samples_fit_)] = True
        if gone.all():
            raise ValueError(f"rows must leave a training sample, got all {len(gone)} of them.")
        left = _segments.without_some(self._segments, gone)
        if self.takes_metric_from_rows:
            left = [self._segment_of(stacked([segment.all_rows() for segment in left]))]
        self._set_segments([self._made_anew(segment) if _is_worth_it(segment) else segment for segment in left])
        return self

    def take(self, rows: ArrayLike) -> Matrix:
        """Return training samples by their numbers.

        Parameters
        ----------
        rows : array-like of int of shape (n_rows,)
            Numbers of training samples, in any order; a number may come several times.

        Returns
        -------
        rows : ndarray or csr_array of shape (n_rows, n_features)
            A copy, float32 or float64.

        Raises
        ------
        ValueError
            If a number is unknown.
        """
        check_is_fitted(self)
        return _segments.take_of_all(
            self._segments, check_row_numbers("rows", rows, self.n_samples_fit_, distinct=False)
        )

    def ranks(self, rows: IntArray, others: IntArray) -> FloatArray:
        """Return the rank of each training sample of `others` as a neighbour of that of `rows`, which are sorted."""
        require_dense("rows", rows)
        require_dense("others", others)
        return _segments.ranks_of(self._segments, self.distance, rows, others)

    def pairs_within(self, n_old: int, reach: FloatArray) -> _segments.RankedPairs:
        """Return the pairs of an old row and a row from `n_old` on whose rank is below the reach of the old row."""
        require_dense("reach", reach)
        near = self.pairs_with(self.take(np.arange(n_old, self.n_samples_fit_)), reach[:n_old])
        return near._replace(other=near.other + n_old)

    def pairs_with(self, X: Matrix, reach: FloatArray) -> _segments.RankedPairs:
        """Return the pairs of one of the first training samples, as many as have a reach, and a row of X within it."""
        require_dense("reach", reach)
        rows = _segments.stored_alike(_segments.as_rows(checked_samples("X", X)), as_sparse=self._as_sparse)
        return _segments.pairs_within(self._segments, self.distance, rows, lambda: self._search_in(rows), reach)

    def _search_in(self, rows: Matrix) -> _segments.Search:
        return partial(self._segment_of(rows).nearest, n_jobs=self.n_jobs)

    @property
    def distance(self) -> _distances.Distance:
        """The distance of the metric: its ranks order the neighbours. Fitted only if it depends on the samples."""
        distance = distance_named(self.metric, self.metric_params)
        if self.takes_metric_from_rows:
            distance.fit(self._all_rows())
        return distance

    @property
    def takes_metric_from_rows(self) -> bool:
        """Whether the metric itself changes with the training samples."""
        return self.metric in TAKEN_FROM_ROWS and TAKEN_FROM_ROWS[self.metric] not in (self.metric_params or {})

    needs_all_rows = takes_metric_from_rows  # a search of some of the samples would compute other distances

    def _check_beside(self, rows: Matrix) -> None:
        """Raise ValueError if new samples are so far from the earlier ones that no distance to both can be computed."""
        distance = distance_named(self.metric, self.metric_params)
        distance.fit(self.take(np.arange(min(self.n_samples_fit_, _SOME))))
        _distances.check_all(rows, distance)

    def _set_segments(self, segments: list[_segments.Segment]) -> None:
        self._segments = segments
        self.n_samples_fit_ = sum(map(len, segments))

    def _segment_of(self, rows: Matrix) -> _segments.Segment:
        """Return rows with the engine that searches in them."""
        distance = distance_named(self.metric, self.metric_params)
        distance.fit(rows)
        # Finding equal rows is too slow where each may be read from a disk, or by a slow metric.
        quick = isinstance(distance, _distances.PointDistance | _distances.TreeDistance) and not is_mapped(rows)
        duplicates = find_duplicates(rows) if quick else None
        rows = rows if duplicates is None else rows[duplicates.first]
        return _segments.Segment(rows, duplicates, engine=self._engine_of(rows, distance))

    def _all_rows(self) -> Matrix:
        """Return the training samples: the array itself where possible."""
        return stacked([segment.all_rows() for segment in self._segments])

    def _made_anew(self, segment: _segments.Segment) -> _segments.Segment:
        return segment if segment.kept is None else self._segment_of(segment.all_rows())

    def _joined(self) -> _segments.Segment:
        """Return all remaining rows as one segment, and search in it from now on."""
        if len(self._segments) > 1 or self._segments[0].kept is not None:
            self._segments = [self._segment_of(self._all_rows())]
        return self._segments[0]

    def _checked(self, X: MatrixLike, *, reset: bool = True) -> Matrix:
        finite = "allow-nan" if takes_missing_values(self.metric) else True
        rows = validate_data(self, checked_samples("X", X), accept_sparse="csr", ensure_all_finite=finite, reset=reset)
        check_width(rows)
        return rows

    def _engine_of(self, rows: Matrix, distance: _distances.Distance) -> _segments.Engine:
        check_choice("algorithm", self.algorithm, ("auto", "brute", "kd_tree"))
        if self.n_jobs is not None:
            check_integer("n_jobs", self.n_jobs, low=-(2**31))
        if self.device is not None:
            return self._device_search_of(rows, distance)
        if isinstance(distance, _distances.TreeDistance) and self._takes_tree(rows):
            return TreeSearch(rows, distance)
        if self.algorithm == "kd_tree":
            raise ValueError(
                "algorithm must be 'auto' or 'brute' for sparse rows, and for other metrics than Euclidean and"
                f" Manhattan, got 'kd_tree' with metric={self.metric!r}."
            )
        if isinstance(distance, _distances.PointDistance) and rows.shape[1] <= MOST_FEATURES:
            return point_search(Parts(rows, distance, BoundsSearch(rows, distance).write, self.n_jobs))
        return BoundsSearch(rows, distance)

    def _device_search_of(self, rows: Matrix, distance: _distances.Distance) -> _segments.Engine:
        given = f"got {self.device!r} with"
        if self._as_sparse:
            raise ValueError(f"device must be None for sparse rows, got {self.device!r}.")
        if not isinstance(distance, _distances.PointDistance) or rows.shape[1] > MOST_FEATURES_OF_DEVICE:
            raise ValueError(
                "device must be None for other metrics than 'euclidean', 'sqeuclidean' and 'cosine', and for more than"
                f" {MOST_FEATURES_OF_DEVICE} features, {given} metric={self.metric!r} and {rows.shape[1]} features."
            )
        if self.algorithm == "kd_tree":
            raise ValueError(f"device must be None for a tree, {given} algorithm='kd_tree'.")
        parts = Parts(rows, distance, BoundsSearch(rows, distance).write, self.n_jobs)
        return device_search(parts, point_search, self.device)

    def _takes_tree(self, rows: Matrix) -> bool:
        """Return whether to use a tree: dense rows, and `algorithm` demands it or there are few features."""
        few = rows.shape[1] <= _TREE_FEATURES and rows.shape[0] >= _TREE_ROWS and not is_mapped(rows)
        return not self._as_sparse and (self.algorithm == "kd_tree" or (self.algorithm == "auto" and few))

    @overload
    def kneighbors(
        self, X: MatrixLike | None = None, n_neighbors: int | None = None, return_distance: Literal[True] = True
    ) -> tuple[FloatArray, IntArray]: ...

    @overload
    def kneighbors(
        self, X: MatrixLike | None = None, n_neighbors: int | None = None, *, return_distance: Literal[False]
    ) -> IntArray: ...

    def kneighbors(
        self, X: MatrixLike | None = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> tuple[FloatArray, IntArray] | IntArray:
        """Return the nearest training samples, nearest first.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features), default=None
            The queries. None: the training samples, each without itself (its duplicates stay).
        n_neighbors : int, default=None
            Number of neighbours. None: the parameter of the constructor.
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
            If `n_neighbors` exceeds the number of (other) training samples, or the squared norm of a query overflows.
        """
        k = asked_n_neighbors(self, X, n_neighbors)
        queries = None if X is None else self._checked(X, reset=False)
        n_queries = self.n_samples_fit_ if queries is None else queries.shape[0]
        with room_for(
            lambda: f"distances and indices of {sized((n_queries, 2 * k), 'queries', 'numbers')}",
            "search blocks of queries, or fewer neighbours",
        ):
            distances, indices = self._kneighbors(queries, k)
        return (distances, indices) if return_distance else indices

    def _kneighbors(self, queries: Matrix | None, k: int) -> tuple[FloatArray, IntArray]:
        """Return distances and indices (n_queries, k) for checked queries and k, as `kneighbors` does."""
        ranks, indices = self._search(queries, k)
        return self._distance.to_distance(ranks), indices

    def _search(self, queries: Matrix | None, k: int) -> tuple[FloatArray, IntArray]:
        """Return ranks and indices (n_queries, k); queries None are the training samples, each without itself."""
        if queries is None:
            return self._joined().leave_one_out(k, self.n_jobs, self.distance)
        queries = _segments.stored_alike(_segments.as_rows(queries), as_sparse=self._as_sparse)
        distance, of_sums = self._distance, _distances.SquaredEuclidean | _distances.Manhattan
        if isinstance(distance, of_sums) and not distance.fits(2 * largest_size(queries), queries.shape[1]):
            self._check_beside(queries)
        return _segments.nearest_of_all(self._segments, queries, k, self.n_jobs)

    def __getstate__(self) -> dict[str, Any]:
        """Leave removed rows out of copies, pickles and files."""
        state = dict(super().__getstate__())
        if "_segments" in state:
            state["_segments"] = [self._made_anew(segment) for segment in self._segments]
        return state

    def __sklearn_tags__(self) -> Tags:
        """Declare to scikit-learn that X may be sparse, and whether it may contain NaN."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = takes_missing_values(self.metric)
        return tags


def _is_worth_it(segment: _segments.Segment) -> bool:
    """Return whether enough rows were removed from a segment to build it again from the others."""
    removed = segment.n_rows - len(segment)
    return removed * _JOINED_UP_TO > len(segment) and not is_mapped(segment.rows)


# The distances of the metrics' names.

_ALIASES = {"l2": "euclidean", "l1": "cityblock", "manhattan": "cityblock"}
_WITH_MISSING: dict[Any, Callable[[], _distances.Distance]] = {"heom": Heom, "nan_euclidean": NanEuclidean}
_DISTANCES: dict[Any, Callable[[], _distances.Distance]] = {
    "euclidean": _distances.Euclidean,
    "sqeuclidean": _distances.SquaredEuclidean,
    "cityblock": _distances.Manhattan,
    "cosine": _distances.Cosine,
    **_WITH_MISSING,
}


def distance_named(metric: str | Callable[..., float], params: dict[str, Any] | None) -> _distances.Distance:
    """Return the distance of a metric, given by name or as a function of two rows."""
    if not isinstance(metric, str) and not callable(metric):
        raise TypeError(f"metric must be a name or a function of two rows, got {metric!r}.")
    name = _ALIASES.get(metric, metric) if isinstance(metric, str) else metric
    return AnyMetric(name, params or {}) if params or name not in _DISTANCES else _DISTANCES[name]()


def takes_missing_values(metric: object) -> bool:
    """Return whether NaN is a missing value to a metric; to all others it is an error."""
    return isinstance(metric, str) and metric in _WITH_MISSING
