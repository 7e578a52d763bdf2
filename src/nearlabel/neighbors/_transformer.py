"""Transformers that give a graph of neighbours, used as searches."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from nearlabel.neighbors._precomputed import read_graph
from nearlabel.neighbors.exact._search import ExactNeighbors
from nearlabel.utils.types import FloatArray, IntArray, MatrixLike
from nearlabel.utils.validation import check_integer


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


def takes_missing_values(part: Any) -> bool:
    """Return whether a search, a transformer or a classifier declares to scikit-learn that X may contain NaN."""
    has_tags = not isinstance(part, type) and hasattr(part, "__sklearn_tags__")
    return has_tags and bool(get_tags(part).input_tags.allow_nan)


def _gives_graphs(transformer: Any) -> bool:
    """Return whether a transformer gives graphs, as far as this is known before a fit."""
    return hasattr(transformer, "fit") and hasattr(transformer, "transform")
