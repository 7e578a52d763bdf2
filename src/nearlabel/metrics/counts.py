"""True and predicted label sets, compared once: every metric of predictions is a ratio of these counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.metrics.inputs import check_predicted, is_sparse
from nearlabel.metrics.truth import Truth, blank_predictions, known_weight
from nearlabel.utils.types import Matrix, MatrixLike


class Counts(NamedTuple):
    """Counts of labels in groups, arrays of shape (n_groups,).

    A group is a sample, a label, or the whole matrix: the metrics differ in the grouping, not in the ratio. With
    weights, the counts of labels and of the matrix are sums of weights.
    """

    hits: NDArray[Any]  # true and predicted
    predicted: NDArray[Any]
    true: NDArray[Any]
    size: Any  # known cells of each group: one number if all groups have the same number, else an array


@dataclass(frozen=True)
class Comparison:
    """Two indicator matrices (n_samples, n_labels), both dense or both CSR, the weights of the rows, and the counts.

    The matrices may have a byte type; the counts are int64, or sums of weights. Both matrices are 0 in unknown cells.
    """

    true: Matrix
    predicted: Matrix
    weights: NDArray[Any] | None = None  # (n_samples,); None: 1 each
    unknown: Matrix | None = None  # mask (n_samples, n_labels); None: all cells are known

    @classmethod
    def of(
        cls, true: Matrix, predicted: Matrix, weights: NDArray[Any] | None = None, unknown: Matrix | None = None
    ) -> Self:
        """Compare checked matrices; if one is sparse, the other is made sparse too, and nothing is made dense."""
        if is_sparse(true) or is_sparse(predicted):
            true, predicted = sparse.csr_array(true), sparse.csr_array(predicted)
            unknown = None if unknown is None else sparse.csr_array(unknown)
        return cls(true, blank_predictions(predicted, unknown), weights, unknown)

    @cached_property
    def per_example(self) -> Counts:
        """Return the counts of each row, unweighted: the weights are applied in the mean over rows."""
        return self._plain_counts(axis=1)

    @cached_property
    def per_label(self) -> Counts:
        """Return the counts of each column."""
        if self.weights is None:
            return self._plain_counts(axis=0)
        hits, predicted, true = (
            self.weights @ matrix for matrix in (self.true * self.predicted, self.predicted, self.true)
        )
        return Counts(hits, predicted, true, size=known_weight(self.weights, self.unknown))

    @cached_property
    def in_total(self) -> Counts:
        """Return the counts of the whole matrix as one group."""
        groups = self.per_example if self.weights is None else self.per_label
        hits, predicted, true = (np.sum(count, keepdims=True) for count in groups[:3])
        size = groups.size * len(groups.true) if self.unknown is None else groups.size.sum()
        return Counts(hits, predicted, true, size)

    def _plain_counts(self, axis: int) -> Counts:
        if is_sparse(self.true):
            hits = (self.true * self.predicted).sum(axis=axis)
        else:  # einsum makes no temporary of the matrix's size
            hits = np.einsum("ij,ij->i" if axis == 1 else "ij,ij->j", self.true, self.predicted, dtype=np.int64)
        size = self.true.shape[axis]
        if self.unknown is not None:
            size = size - self.unknown.sum(axis=axis)
        return Counts(hits, self.predicted.sum(axis=axis), self.true.sum(axis=axis), size)


def compare(y_true: MatrixLike, y_pred: MatrixLike, sample_weight: Any = None) -> Comparison:
    """Check the user's label sets and predictions, and return their comparison."""
    truth = Truth.of(y_true, sample_weight, dtype=None)
    return compare_checked(truth, check_predicted(y_pred, truth.shape, dtype=None))


def compare_checked(truth: Truth, predicted: Matrix) -> Comparison:
    """Return the comparison with checked predictions for all given rows."""
    return Comparison.of(truth.labels, truth.left(predicted), truth.weights, truth.unknown)
