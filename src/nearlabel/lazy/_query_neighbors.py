"""What a search answers for some queries."""

from __future__ import annotations

from typing import NamedTuple

from numpy.random import RandomState

from nearlabel.utils.types import FloatArray, IntArray, Matrix


class Neighbors(NamedTuple):
    """Neighbours of some queries, two arrays (n_queries, n_neighbors), nearest first; and what draws where it must.

    `rows` are the queries themselves (n_queries, n_features); None where they are the training rows.
    """

    distances: FloatArray
    indices: IntArray
    random: RandomState
    rows: Matrix | None = None


def some_of(neighbors: Neighbors, block: slice) -> Neighbors:
    """Return the neighbours of a block of queries."""
    distances, indices, random, rows = neighbors
    return Neighbors(distances[block], indices[block], random, None if rows is None else rows[block])
