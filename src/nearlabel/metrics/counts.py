"""True and predicted label sets, compared once: the counts that every measure of predictions is a ratio of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.metrics.inputs import check_predicted, check_true, is_sparse
from nearlabel.utils.types import Matrix, MatrixLike


class Counts(NamedTuple):
    """Labels counted in groups, arrays of shape (n_groups,).

    A group is an example, a label, or the whole matrix: the measures differ in the grouping, not in the ratio.
    """

    hits: NDArray[Any]  # true and predicted
    predicted: NDArray[Any]
    true: NDArray[Any]
    size: int  # cells of a group


@dataclass(frozen=True)
class Comparison:
    """Two indicator matrices (n_samples, n_labels), both dense or both CSR, and their counts."""

    true: Matrix
    predicted: Matrix

    @classmethod
    def of(cls, true: Matrix, predicted: Matrix) -> Self:
        """Compare checked matrices; if one is sparse the other one becomes so, nothing is ever made dense."""
        if is_sparse(true) or is_sparse(predicted):
            return cls(sparse.csr_array(true), sparse.csr_array(predicted))
        return cls(true, predicted)

    @cached_property
    def per_example(self) -> Counts:
        """Return the counts of each row."""
        return self._counts(axis=1)

    @cached_property
    def per_label(self) -> Counts:
        """Return the counts of each column."""
        return self._counts(axis=0)

    @cached_property
    def in_total(self) -> Counts:
        """Return the counts of the whole matrix as one group."""
        hits, predicted, true = (np.sum(count, keepdims=True) for count in self.per_example[:3])
        return Counts(hits, predicted, true, size=self.true.shape[0] * self.true.shape[1])

    def _counts(self, axis: int) -> Counts:
        if is_sparse(self.true):
            hits = (self.true * self.predicted).sum(axis=axis)
        else:  # einsum makes no temporary of the matrix's size
            hits = np.einsum("ij,ij->i" if axis == 1 else "ij,ij->j", self.true, self.predicted)
        return Counts(hits, self.predicted.sum(axis=axis), self.true.sum(axis=axis), size=self.true.shape[axis])


def compare(y_true: MatrixLike, y_pred: MatrixLike) -> Comparison:
    """Return the comparison of what the user passed."""
    true = check_true(y_true)
    return Comparison.of(true, check_predicted(y_pred, true.shape))
