"""A fitted search with a cache of the neighbours of its training rows."""

from __future__ import annotations

from typing import Any

from nearlabel.neighbors._precomputed import NeighborGraph
from nearlabel.utils.types import MatrixLike


class CachedNeighbors:
    """Answers for the training rows from a graph, for all others by the search: one search, many `n_neighbors`."""

    def __init__(self, search: Any, training: NeighborGraph) -> None:
        self.search = search
        self.training = training

    @property
    def n_neighbors_known(self) -> int:
        """Number of neighbours known of each training row."""
        return int(self.training.indices.shape[1])

    def kneighbors(self, X: MatrixLike | None = None, n_neighbors: int | None = None) -> Any:
        """Return distances and indices of the nearest training rows."""
        return self.training.nearest(n_neighbors) if X is None else self.search.kneighbors(X, n_neighbors)
