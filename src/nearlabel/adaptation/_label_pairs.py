"""Pairs of a label that a sample carries and one that it lacks: the training data of methods that rank labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from nearlabel.utils.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class LabelPairs:
    """All pairs (j, l) in Y_i x Ȳ_i of all rows i, by row, then j, then l; rows with no or with all labels have none.

    A cell is a label of a row; cells are numbered row by row.
    """

    relevant: IntArray  # the cells of all j in any pair
    partners: IntArray  # number of pairs of each
    minus: IntArray  # (n_pairs,): the cell of l
    weights: FloatArray  # (n_pairs,): 1 / (|Y_i| |Ȳ_i|)
    n_rows: int
    n_labels: int

    @classmethod
    def of(cls, labels: IntArray) -> Self:
        """List the pairs of an indicator matrix (n_rows, n_labels)."""
        n_rows, n_labels = labels.shape
        sizes = labels.sum(axis=1)
        lacking = n_labels - sizes
        relevant, irrelevant = np.flatnonzero(labels * (lacking > 0)[:, np.newaxis]), np.flatnonzero(labels == 0)
        rows = relevant // n_labels
        partners = lacking[rows]
        n_pairs = int(partners.sum())
        small = np.int32 if max(labels.size, n_pairs) <= np.iinfo(np.int32).max else np.int64
        shift = (np.cumsum(lacking) - lacking)[rows] - (np.cumsum(partners) - partners)
        minus = irrelevant.astype(small)[np.repeat(shift.astype(small), partners) + np.arange(n_pairs, dtype=small)]
        return cls(relevant, partners, minus, np.repeat(1.0 / (sizes[rows] * partners), partners), n_rows, n_labels)

    @property
    def plus(self) -> IntArray:
        """The cell of j (n_pairs,)."""
        return np.repeat(self.relevant, self.partners)

    def of_rows(self, values: FloatArray) -> FloatArray:
        """Return the value of each pair's row, from one value per row."""
        return np.repeat(values[self.relevant // self.n_labels], self.partners)

    def margins(self, scores: FloatArray) -> FloatArray:
        """Return s_ij - s_il of every pair, from scores (n_rows, n_labels)."""
        flat = scores.ravel()
        return np.asarray(np.repeat(flat[self.relevant], self.partners) - flat.take(self.minus))

    def spread(self, values: FloatArray) -> FloatArray:
        """Return the values of the pairs summed in their cells, + at j and - at l (n_rows, n_labels)."""
        sums = -np.bincount(self.minus, values, self.n_rows * self.n_labels).astype(np.float64, copy=False)
        sums[self.relevant] += np.add.reduceat(values, np.cumsum(self.partners) - self.partners)
        return np.asarray(sums.reshape(self.n_rows, self.n_labels))

    def count(self, chosen: BoolArray) -> FloatArray:
        """Return how many of the selected pairs consist of two labels, a symmetric matrix (n_labels, n_labels)."""
        j, l = self.plus[chosen] % self.n_labels, self.minus[chosen] % self.n_labels  # noqa: E741
        counts = np.bincount(j * self.n_labels + l, minlength=self.n_labels**2).reshape(self.n_labels, -1)
        return (counts + counts.T).astype(np.float64)
