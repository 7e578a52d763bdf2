"""The neighbour lists the other way round: which rows list a row, and in which place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.utils.types import IntArray


class Listing(NamedTuple):
    """The rows that have row i among their neighbours, ``rows[starts[i] : starts[i + 1]]``, by its place in each list.

    Those that have it among their first k are the first so many, ``n_listing(indices[:, :k])[i]``.
    """

    starts: IntArray
    rows: IntArray

    @classmethod
    def of(cls, indices: IntArray) -> Listing:
        """Turn neighbour lists (n_samples, k), nearest first."""
        n, k = indices.shape
        # One row for each place of each list, first places first: a column's entries come in this order.
        entries = np.ones(n * k, dtype=np.int8), indices.T.ravel(), np.arange(n * k + 1)
        by_row = sparse.csr_array(entries, shape=(n * k, n)).tocsc()
        return cls(by_row.indptr, by_row.indices % n)

    def pairs(self, i: IntArray, lengths: IntArray) -> tuple[IntArray, IntArray]:
        """Return pairs of a position in i and a row that lists row i[position], its first `lengths[position]` ones."""
        position = np.repeat(np.arange(len(i)), lengths)
        within = np.arange(len(position)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return position, self.rows[self.starts[i][position] + within]


def n_listing(indices: IntArray) -> IntArray:
    """Return how many rows have each row among their neighbours."""
    return np.bincount(indices.ravel(), minlength=len(indices))
