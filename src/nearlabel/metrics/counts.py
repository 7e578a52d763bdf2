"""True and predicted label sets, compared once: every metric of predictions is a ratio of these counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.metrics.inputs import Truth, check_zero_division, is_sparse, known_weight, label_sets_of_both
from nearlabel.utils.types import FloatArray, Matrix, MatrixLike


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
        if unknown is not None:
            predicted = predicted - predicted * unknown if is_sparse(predicted) else np.where(unknown, 0, predicted)
        return cls(true, predicted, weights, unknown)

    @cached_property
    def per_example(self) -> Counts:
        """Return the counts of each row, unweighted: the weights are applied in the mean over rows."""
        return self._plain_counts(axis=1)

    @cached_property
    def per_label(self) -> Counts:
        """Return the counts of each column."""
        if self.weights is None:
            return self._plain_counts(axis=0)
        matrices = (self.true * self.predicted, self.predicted, self.true)
        hits, predicted, true = [self.weights @ matrix for matrix in matrices]
        return Counts(hits, predicted, true, size=known_weight(self.weights, self.unknown))

    @cached_property
    def in_total(self) -> Counts:
        """Return the counts of the whole matrix as one group."""
        groups = self.per_example if self.weights is None else self.per_label
        hits, predicted, true = [np.sum(count, keepdims=True) for count in groups[:3]]
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
    both = label_sets_of_both(y_true, y_pred, sample_weight)
    truth = Truth.of(both.y_true, sample_weight, dtype=None)
    return compare_checked(truth, truth.predicted(both.y_pred, dtype=None))


def compare_checked(truth: Truth, predicted: Matrix) -> Comparison:
    """Return the comparison with checked predictions for all given rows."""
    return Comparison.of(truth.labels, truth.left(predicted), truth.weights, truth.unknown)


# The metrics of predictions: ratios of counts, averaged over groups.

Ratio: TypeAlias = Callable[[Counts, float], FloatArray]
Grouping: TypeAlias = Literal["per_example", "per_label", "in_total"]


def ratio(numerator: Any, denominator: Any, zero_division: float) -> FloatArray:
    """Return the quotients (n_groups,); `zero_division` if the denominator is 0, since the numerator is then 0 too."""
    quotients: FloatArray = np.full(denominator.shape, zero_division)
    np.divide(numerator, denominator, out=quotients, where=denominator != 0)
    return quotients


def mean(values: Any, weights: Any = None) -> float:
    """Return the weighted mean; nan, without a warning, if there are no values or all weights are 0."""
    if weights is None:
        return float(values.mean()) if values.size else math.nan
    total = weights.sum()
    return float((values * weights).sum() / total) if total else math.nan


def differing(counts: Counts, zero_division: float) -> FloatArray:
    """Return the share of known cells in which truth and prediction differ; every group has a known cell."""
    different = counts.predicted + counts.true - 2 * counts.hits
    return np.asarray(np.maximum(different, 0) / counts.size)  # sums of fractional weights are rounded


def exact(counts: Counts, zero_division: float) -> FloatArray:
    """Return 1 where both label sets are equal, else 0."""
    same: Any = (counts.hits == counts.predicted) & (counts.hits == counts.true)
    return np.asarray(same, dtype=np.float64)


def jaccard(counts: Counts, zero_division: float) -> FloatArray:
    """Return intersection over union."""
    return ratio(counts.hits, counts.predicted + counts.true - counts.hits, zero_division)


def precision(counts: Counts, zero_division: float) -> FloatArray:
    """Return the share of predicted labels that are true."""
    return ratio(counts.hits, counts.predicted, zero_division)


def recall(counts: Counts, zero_division: float) -> FloatArray:
    """Return the share of true labels that are predicted."""
    return ratio(counts.hits, counts.true, zero_division)


def fbeta(beta: float) -> Ratio:
    """Return the weighted harmonic mean of precision and recall as a ratio of counts."""
    q, r = beta_terms(beta)

    def ratio_of(counts: Counts, zero_division: float) -> FloatArray:
        return ratio((q + r) * counts.hits, q * counts.true + r * counts.predicted, zero_division)

    return ratio_of


def beta_squared(beta: float) -> Fraction:
    """Return beta² as a fraction, a simple one if the float has a short decimal form: 0.1² is 1/100."""
    exactly = Fraction(beta * beta)
    simple = exactly.limit_denominator(10**6)
    return simple if abs(simple - exactly) <= exactly * Fraction(1, 10**15) else exactly


@lru_cache
def beta_terms(beta: float) -> tuple[Any, int]:
    """Return q and r of beta² = q / r: whole numbers if they are small, so that equal values of F stay equal."""
    q, r = beta_squared(beta).as_integer_ratio()
    return (q, r) if max(q, r) <= 10**6 else (float(beta) ** 2, 1)


def harmonic_mean(first: float, second: float) -> float:
    """Return the harmonic mean, which is 0 where both are 0."""
    return 2 * first * second / (first + second) if first + second != 0 else 0.0


@dataclass(frozen=True)
class MeanRatio:
    """The mean of a ratio over groups; or of several ratios, combined."""

    groups: Grouping
    ratios: tuple[Ratio, ...]
    combine: Callable[..., float] = float

    def of(self, comparison: Comparison, zero_division: float = 0.0) -> float:
        """Return the value for two label matrices; groups whose ratio is nan are left out of the mean."""
        zero_division = check_zero_division(zero_division)
        counts: Counts = getattr(comparison, self.groups)
        # The counts of labels and of the whole matrix are weighted already.
        weights = comparison.weights if self.groups == "per_example" else None
        values = [of_known(ratio, counts, zero_division) for ratio in self.ratios]
        return self.combine(*[_mean_of_defined(each, weights) for each in values])


def of_known(ratio: Ratio, counts: Counts, zero_division: float) -> FloatArray:
    """Return a ratio of each group; nan for a group without known cells, for every `zero_division`."""
    values = ratio(counts, zero_division)
    return values if np.all(counts.size) else np.where(counts.size, values, np.nan)


def _mean_of_defined(values: FloatArray, weights: Any) -> float:
    defined = ~np.isnan(values)
    return mean(values[defined], None if weights is None else weights[defined])


MEAN_RATIOS: Mapping[str, MeanRatio] = MappingProxyType(
    {
        "hamming_loss": MeanRatio("in_total", (differing,)),
        "subset_accuracy": MeanRatio("per_example", (exact,)),
        "jaccard_examples": MeanRatio("per_example", (jaccard,)),
        "precision_examples": MeanRatio("per_example", (precision,)),
        "recall_examples": MeanRatio("per_example", (recall,)),
        "f1_examples": MeanRatio("per_example", (fbeta(1.0),)),
        "f1_of_means": MeanRatio("per_example", (precision, recall), harmonic_mean),
        "micro_precision": MeanRatio("in_total", (precision,)),
        "micro_recall": MeanRatio("in_total", (recall,)),
        "micro_f1": MeanRatio("in_total", (fbeta(1.0),)),
        "macro_precision": MeanRatio("per_label", (precision,)),
        "macro_recall": MeanRatio("per_label", (recall,)),
        "macro_f1": MeanRatio("per_label", (fbeta(1.0),)),
    }
)


def ratios_of_labels(counts: Counts, zero_division: float) -> dict[str, FloatArray]:
    """Return precision, recall and F1 of each label from its counts."""
    ratios = {"precision": precision, "recall": recall, "f1": fbeta(1.0)}
    return {name: of_known(ratio, counts, zero_division) for name, ratio in ratios.items()}
