"""The answer to some queries, written piece by piece, by any thread."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from nearlabel.utils.types import FloatArray, IntArray


class Answer(NamedTuple):
    """Ranks and indices (n_queries, n_neighbors) of the nearest rows, nearest first."""

    ranks: FloatArray
    indices: IntArray

    @classmethod
    def empty(cls, n_queries: int, n_neighbors: int) -> Self:
        """Return memory for an answer."""
        shape = n_queries, n_neighbors
        return cls(np.empty(shape), np.empty(shape, dtype=np.intp))
