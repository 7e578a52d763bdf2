"""The result of a search, which threads fill tile by tile."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from nearlabel.utils.types import FloatArray, IntArray


class Result(NamedTuple):
    """Ranks and indices (n_queries, n_neighbors) of the nearest rows, nearest first."""

    ranks: FloatArray
    indices: IntArray

    @classmethod
    def empty(cls, n_queries: int, n_neighbors: int) -> Self:
        """Return arrays to be filled."""
        shape = n_queries, n_neighbors
        return cls(np.empty(shape), np.empty(shape, dtype=np.intp))
