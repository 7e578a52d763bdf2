"""The pairs of a label that applies to a row and one that does not: what methods that rank labels learn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse

from nearlabel._typing import CSR, BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class LabelPairs:
    """All pairs (j, l) in Y_i x Ȳ_i of all rows i; rows with no or with all labels have none."""

    differences: CSR  # (n_pairs, n_rows * n_labels): scores of all cells to s_ij - s_il
    weights: FloatArray  # (n_pairs,): 1 / (|Y_i| |Ȳ_i|)
    n_labels: int

    @classmethod
    def of(cls, labels: IntArray) -> Self:
        """List the pairs of an indicator matrix (n_rows, n_labels), by row, then j, then l."""
        n_labels = labels.shape[1]
        sizes = labels.sum(axis=1)
        relevant, irrelevant = np.flatnonzero(labels), np.flatnonzero(labels == 0)  # cells, by row
        partners = (n_labels - sizes)[relevant // n_labels]
        first_irrelevant = np.cumsum(n_labels - sizes) - (n_labels - sizes)
        start = np.repeat(first_irrelevant[relevant // n_labels], partners)
        within = np.arange(len(start)) - np.repeat(np.cumsum(partners) - partners, partners)
        j, l = np.repeat(relevant, partners), irrelevant[start + within]  # noqa: E741
        return cls(_differences(j, l, labels.size), 1.0 / (sizes * (n_labels - sizes))[j // n_labels], n_labels)

    def margins(self, scores: FloatArray) -> FloatArray:
        """Return s_ij - s_il of every pair, from scores (n_rows, n_labels)."""
        return np.asarray(self.differences @ scores.ravel())

    def spread(self, values: FloatArray) -> FloatArray:
        """Return the values of the pairs summed in their cells, + at j and - at l (n_rows, n_labels)."""
        return np.asarray(self.differences.T @ values).reshape(-1, self.n_labels)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.differences.shape[1]) // self.n_labels

    def count(self, chosen: BoolArray) -> FloatArray:
        """Return how many of the chosen pairs join two labels, a symmetric matrix (n_labels, n_labels)."""
        j, l = (self.differences.indices.reshape(-1, 2)[chosen] % self.n_labels).T  # noqa: E741
        counts = np.bincount(j * self.n_labels + l, minlength=self.n_labels**2).reshape(self.n_labels, -1)
        return (counts + counts.T).astype(np.float64)


def _differences(plus: IntArray, minus: IntArray, n_cells: int) -> CSR:
    """Return the matrix with a row for each pair that holds +1 and -1."""
    signs = np.tile([1.0, -1.0], len(plus))
    cells = np.column_stack([plus, minus]).ravel()
    return sparse.csr_array((signs, cells, np.arange(0, 2 * len(plus) + 1, 2)), shape=(len(plus), n_cells))
