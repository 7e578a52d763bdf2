"""Neighbours from sparse graphs, and neighbours found once for many classifiers and every smaller number of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import joblib
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import InputTags, Tags, TargetTags, check_array, get_tags
from sklearn.utils.validation import check_is_fitted

from nearlabel.utils.containers import checked_container, checked_samples
from nearlabel.utils.one_step import all_or_nothing
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, MatrixLike, NeighborSearch
from nearlabel.utils.validation import check_integer


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """Neighbours of some rows among the training samples, nearest first.

    Parameters
    ----------
    distances : ndarray of shape (n_rows, n_neighbors)
        Distances, ascending along each row.
    indices : ndarray of int of shape (n_rows, n_neighbors)
        Training sample numbers.
    digest : str, default=None
        Hash of the rows with these neighbours, from `digest_of`; None: any set of n_rows rows is accepted unchecked.

    Raises
    ------
    ValueError
        If the two arrays do not fit each other.
    """

    distances: FloatArray
    indices: IntArray
    digest: str | None = None

    def __post_init__(self) -> None:
        arrays = isinstance(self.distances, np.ndarray) and isinstance(self.indices, np.ndarray)
        shapes = np.shape(self.distances), np.shape(self.indices)
        if not arrays or shapes[0] != shapes[1] or len(shapes[0]) != 2 or self.indices.dtype.kind not in "iu":
            raise ValueError(
                "distances and indices must be arrays of one shape (n_rows, n_neighbors), the indices whole numbers,"
                f" got shapes {shapes[0]} and {shapes[1]}."
            )
        if self.digest is not None and not isinstance(self.digest, str):
            raise TypeError(f"digest must be a result of digest_of or None, got {type(self.digest).__name__}.")

    def is_of(self, X: MatrixLike) -> bool:
        """Return whether these are the neighbours of the rows of X."""
        if self.digest is None:
            return len(self.indices) == (X.shape[0] if hasattr(X, "shape") else len(X))
        return self.digest == digest_of(X)

    def nearest(self, n_neighbors: int | None) -> tuple[FloatArray, IntArray]:
        """Return distances and indices of the nearest `n_neighbors`; None: all known ones."""
        known = self.indices.shape[1]
        k = known if n_neighbors is None else check_integer("n_neighbors", n_neighbors, low=1)
        if k > known:
            raise ValueError(f"n_neighbors must be at most the {known} that were precomputed, got {k}.")
        return self.distances[:, :k], self.indices[:, :k]


@dataclass(frozen=True, eq=False)
class PrecomputedNeighbors:
    """Return neighbours found before; the result for any smaller `n_neighbors` is a prefix.

    It never changes, so `clone` returns the same object and a thousand classifiers share one search.

    Parameters
    ----------
    training : NeighborGraph
        Neighbours of the training samples, each without itself.
    queries : tuple of NeighborGraph, default=()
        Neighbours of any number of sets of queries.

    Examples
    --------
    >>> from nearlabel.lazy import BRkNN
    >>> from nearlabel.neighbors import ExactNeighbors, PrecomputedNeighbors
    >>> X, Y, query = [[0.0], [1.0], [2.0], [4.0]], [[1, 0], [1, 0], [1, 1], [0, 1]], [[0.4]]
    >>> neighbors = PrecomputedNeighbors.from_search(ExactNeighbors(), X, query, n_neighbors=3)
    >>> [BRkNN(k, search=neighbors).fit(X, Y).predict_proba(query).round(2).tolist() for k in (1, 2, 3)]
    [[[1.0, 0.0]], [[1.0, 0.0]], [[1.0, 0.33]]]
    """

    training: NeighborGraph
    queries: tuple[NeighborGraph, ...] = ()

    @property
    def n_neighbors_known(self) -> int:
        """Number of known neighbours of each training sample.

        `MLkNN` needs one more than its `n_neighbors` for leave-one-out scores, and no extra one otherwise.
        """
        return int(self.training.indices.shape[1])

    @classmethod
    def from_search(
        cls,
        search: NeighborSearch,
        X: MatrixLike,
        *queries: MatrixLike,
        n_neighbors: int,
        check_rows: bool = True,
    ) -> PrecomputedNeighbors:
        """Fit a search to X; query it once for the training samples and once for each set of queries.

        Parameters
        ----------
        search : object with `fit` and `kneighbors`
            Is fitted here.
        X : array-like of shape (n_samples, n_features)
            Training samples.
        *queries : array-like of shape (n_queries, n_features)
            Sets of queries.
        n_neighbors : int
            The largest number of neighbours that will be needed, below n_samples.
        check_rows : bool, default=True
            Whether to reject samples other than these later. False distinguishes sets of samples by their number of
            samples alone, which saves reading them each time: for callers that pass the samples on themselves.

        Returns
        -------
        PrecomputedNeighbors
            The neighbours.
        """
        digest = digest_of if check_rows else lambda rows: None
        X, queries = checked_samples("X", X), tuple(checked_samples("queries", Q) for Q in queries)
        search.fit(X)
        training = NeighborGraph(*search.kneighbors(n_neighbors=n_neighbors), digest(X))
        return cls(training, tuple(NeighborGraph(*search.kneighbors(Q, n_neighbors), digest(Q)) for Q in queries))

    @classmethod
    def from_graph(
        cls, training_graph: MatrixLike, *query_graphs: MatrixLike, rows: Sequence[MatrixLike] | None = None
    ) -> PrecomputedNeighbors:
        """Take neighbours from sparse graphs of distances, as scikit-learn's `KNeighborsTransformer` gives them.

        Entry (i, j) is the distance of sample i to training sample j; all stored entries count, explicit zeros too.
        Entries may be in any order: they are sorted by (distance, index). Rows may have different numbers of
        neighbours: the smallest number is used for all.

        Parameters
        ----------
        training_graph : sparse container of shape (n_samples, n_samples)
            Neighbours of the training samples. A row may contain its own sample, in any place, as scikit-learn's graphs
            of n_neighbors + 1 entries do, or not: entries (i, i) are left out.
        *query_graphs : sparse container of shape (n_queries, n_samples)
            Neighbours of sets of queries.
        rows : sequence of array-like, default=None
            The training samples and each set of queries, in the order of their graphs, to reject other samples later.
            None: sets of samples are not checked, and distinguished by their number of samples alone.

        Returns
        -------
        PrecomputedNeighbors
            The neighbours.

        Raises
        ------
        ValueError
            If a graph has another shape, an entry is negative, NaN or infinite, a row has no neighbour or one twice,
            two sets of queries cannot be distinguished, or `rows` do not match the graphs.
        TypeError
            If a graph is not sparse.

        Examples
        --------
        >>> from sklearn.neighbors import KNeighborsTransformer
        >>> from nearlabel.neighbors import PrecomputedNeighbors
        >>> X, queries = [[0.0], [1.0], [1.0], [3.0]], [[2.0]]
        >>> transformer = KNeighborsTransformer(n_neighbors=2)
        >>> graphs = transformer.fit_transform(X), transformer.transform(queries)
        >>> known = PrecomputedNeighbors.from_graph(*graphs)
        >>> known.kneighbors(return_distance=False).tolist()
        [[1, 2], [2, 0], [1, 0], [1, 2]]
        >>> known.kneighbors(queries, return_distance=False).tolist()
        [[1, 2, 3]]
        """
        n_samples = np.shape(training_graph)[0] if np.ndim(training_graph) else 0
        read = [read_graph(training_graph, n_samples, name="training_graph", without_self=True)]
        for number, graph in enumerate(query_graphs, start=1):
            read.append(read_graph(graph, n_samples, name=f"query graph {number}"))
        digests = _digests(rows, [len(indices) for _, indices in read])
        training, *queries = (NeighborGraph(*lists, digest) for lists, digest in zip(read, digests, strict=True))
        return cls(training, tuple(queries))

    def fit(self, X: MatrixLike, y: None = None) -> Self:
        """Check that X are the training samples whose neighbours were found.

        Raises
        ------
        ValueError
            If they are not.
        """
        if not self.training.is_of(X):
            raise ValueError("X must be the training samples whose neighbours were precomputed, got other samples.")
        return self

    def kneighbors(
        self, X: MatrixLike | None = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Return neighbours found before.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            One of the sets of queries; None: the training samples.
        n_neighbors : int, default=None
            At most the precomputed number; None: all.
        return_distance : bool, default=True
            Whether to return the distances too.

        Returns
        -------
        distances, indices : ndarray of shape (n_queries, n_neighbors)
            As from the search itself.

        Raises
        ------
        ValueError
            If X is none of the known sets of queries, or `n_neighbors` is too large.
        """
        distances, indices = self._graph_of(X).nearest(n_neighbors)
        return (distances, indices) if return_distance else indices

    def _graph_of(self, X: MatrixLike | None) -> NeighborGraph:
        if X is None:
            return self.training
        for graph in self.queries:
            if graph.is_of(X):
                return graph
        raise ValueError(
            f"X must be one of the {len(self.queries)} sets of queries whose neighbours were precomputed,"
            " got other samples."
        )

    def __sklearn_tags__(self) -> Tags:
        """Declare that X may be sparse and contain NaN: its rows are recognised, nothing is computed from them."""
        input_tags = InputTags(sparse=True, allow_nan=True)
        return Tags(estimator_type=None, target_tags=TargetTags(required=False), input_tags=input_tags)

    def __sklearn_clone__(self) -> Self:
        """Return the same object: no fit changes it."""
        return self


def _digests(rows: Sequence[MatrixLike] | None, n_rows: list[int]) -> list[str] | list[None]:
    """Return hashes that identify the sets of rows of graphs, if there are rows; n_rows are those of the graphs."""
    if rows is None:
        if len(set(n_rows[1:])) < len(n_rows[1:]):
            raise ValueError(
                f"query graphs must have different numbers of rows, got {n_rows[1:]}."
                " Hint: rows=(X, queries, ...) distinguishes sets of queries of one size."
            )
        return [None] * len(n_rows)
    got = [X.shape[0] if hasattr(X, "shape") else len(X) for X in rows]
    if got != n_rows:
        raise ValueError(f"rows must be the rows of the graphs, {n_rows} of them, got {got}.")
    return [digest_of(X, "rows") for X in rows]


def digest_of(X: MatrixLike, name: str = "X") -> str:
    """Return a hash of the rows of X, the same for every numeric type and memory layout."""
    X = checked_samples(name, X)
    rows = check_array(X, accept_sparse="csr", dtype=np.float64, order="C", ensure_all_finite="allow-nan")
    if not sparse.issparse(rows):
        rows = np.where(np.isnan(rows), np.nan, rows + 0.0)  # -0.0 is 0.0, and NaN has one pattern of bits
        return str(joblib.hash(np.ascontiguousarray(rows)))
    rows = sparse.csr_array(rows, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return str(joblib.hash([rows.shape, rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data]))


# Neighbours from a sparse graph of distances.


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

    @all_or_nothing
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
        if isinstance(self.transformer, type) or not (
            hasattr(self.transformer, "fit") and hasattr(self.transformer, "transform")
        ):
            raise TypeError(
                f"transformer must be an object with the methods fit and transform, got {self.transformer!r}."
            )
        if getattr(self.transformer, "mode", "distance") != "distance":
            raise ValueError(f"transformer must have mode='distance', got {self.transformer!r}.")
        self._X = checked_container("X", X)
        self.transformer_ = clone(self.transformer, safe=False).fit(self._X)
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
        distances, indices = self._training_lists if X is None else self._lists(checked_container("X", X))
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


def read_graph(graph: Any, n_samples: int, *, name: str, without_self: bool = False) -> tuple[FloatArray, IntArray]:
    """Return distances and indices (n_rows, n_neighbors), ordered by (distance, index).

    Entries may be in any order within their row, and explicit zeros are distances. Rows may have different numbers of
    neighbours: the smallest number is used for all.

    Parameters
    ----------
    graph : sparse container of shape (n_rows, n_samples)
        Entry (i, j) is the distance of row i to training sample j.
    n_samples : int
        Number of training samples.
    name : str
        Name of the graph in errors.
    without_self : bool, default=False
        Whether the rows are the training samples: row i loses its entry i, if it has one.

    Raises
    ------
    TypeError
        If the graph is not sparse.
    ValueError
        If its shape is wrong, an entry is no valid distance, a neighbour comes twice or a row has none.
    """
    rows, indices, distances = _entries(graph, n_samples, name)
    if without_self:
        others = rows != indices
        rows, indices, distances = rows[others], indices[others], distances[others]
    counts = np.bincount(rows, minlength=graph.shape[0])
    if counts.min() == 0:
        raise ValueError(f"{name} must have a neighbour of every row, got none of row {counts.argmin()}.")
    if not _in_order(rows, distances, indices):
        order = np.lexsort((indices, distances, rows))
        indices, distances = indices[order], distances[order]
    nearest = (np.cumsum(counts) - counts)[:, np.newaxis] + np.arange(counts.min())
    distances, indices = distances[nearest], indices[nearest]
    if (np.diff(np.sort(indices, axis=1), axis=1) == 0).any():
        raise ValueError(f"{name} must have each neighbour of a row once, got one twice.")
    return distances, indices


def _entries(graph: Any, n_samples: int, name: str) -> tuple[IntArray, IntArray, FloatArray]:
    """Return row, column and value of every stored entry, row by row."""
    if not sparse.issparse(graph):
        raise TypeError(f"{name} must be a sparse graph of distances, got {type(graph).__name__}.")
    graph = checked_container(name, graph)
    if graph.ndim != 2 or graph.shape[0] == 0 or graph.shape[1] != n_samples:
        raise ValueError(f"{name} must be of shape (n_rows, n_samples={n_samples}), got shape {graph.shape}.")
    if graph.dtype.kind not in "iuf":
        raise ValueError(f"{name} must contain distances, got values of type {graph.dtype}.")
    if graph.format == "coo":  # made into CSR, entries given twice would be added
        order = np.argsort(graph.coords[0], kind="stable")
        rows, columns, values = graph.coords[0][order], graph.coords[1][order], graph.data[order]
    else:
        stored = sparse.csr_array(graph)
        rows = np.repeat(np.arange(graph.shape[0]), np.diff(stored.indptr))
        columns, values = stored.indices, stored.data
    distances = values.astype(np.float64)
    wrong = distances[~((distances >= 0) & (distances < np.inf))]
    if len(wrong):
        raise ValueError(f"{name} must contain finite distances of at least 0, got {wrong[0]}.")
    return rows, columns.astype(np.intp), distances


def _in_order(rows: IntArray, distances: FloatArray, indices: IntArray) -> bool:
    """Return whether entries, row by row, are ordered by (distance, index) already, as most libraries give them."""
    further: BoolArray = distances[1:] > distances[:-1]
    tied = (distances[1:] == distances[:-1]) & (indices[1:] > indices[:-1])
    return bool((further | tied | (rows[1:] != rows[:-1])).all())
