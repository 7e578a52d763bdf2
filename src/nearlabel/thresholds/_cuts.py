"""Candidate thresholds of a label, with the counts that metrics of thresholded scores depend on.

A candidate lies between two distinct scores; equal scores stay together. One more candidate is above all scores, unless
a score is plus infinity. Among candidates with the same hits, only the one with the fewest predicted samples can be
best for F and similar metrics, and it lies just below the score of a positive sample. So a label with few positives has
few candidates that matter: one sort of the label's scores, in which the positives' scores are looked up, finds all of
them. Only samples in which the label is known count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.utils.arrays import row_blocks
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense

_TILE_ROWS = 256


class LabelCuts(NamedTuple):
    """Candidates of one label, fewest predicted samples first; counts are sums of weights if samples have weights."""

    thresholds: FloatArray  # samples with scores of at least this are predicted
    predicted: NDArray[Any]  # predicted samples
    hits: NDArray[Any]  # predicted positive samples
    positives: Any  # positive samples
    n_rows: Any  # samples in which the label is known


def label_cuts(
    scores: NDArray[Any], truth: PartialLabels, weights: Any = None, *, every: bool = False
) -> Iterator[LabelCuts]:
    """Yield the candidates of each label; for a label without known cells, the one that predicts no samples.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_labels)
        Checked scores.
    truth : PartialLabels
        Indicator matrix (n_samples, n_labels) and the mask of unknown cells.
    weights : ndarray of shape (n_samples,), default=None
        Sample weights.
    every : bool, default=False
        Whether to return every candidate, not only those that can be best for a metric that increases with hits and
        decreases with predicted samples.
    """
    for (of_label, carriers), known in zip(_columns(scores, truth.labels), _known_rows(truth), strict=True):
        yield _cuts_of(of_label, carriers, known, weights, every=every)


def _cuts_of(scores: NDArray[Any], carriers: IntArray, known: Any, weights: Any, *, every: bool) -> LabelCuts:
    n_rows, all_scores = _some_rows(scores, weights, known)
    _, carried = _some_rows(scores, weights, carriers)
    highest = np.float64(all_scores.values[-1]) if len(all_scores.values) else -np.inf

    at = all_scores.values if every else carried.values
    if highest == np.inf:  # reaches every threshold: the candidate just below it replaces the one above all scores
        at = np.append(at, at.dtype.type(np.inf))
    at = np.unique(at)[::-1]
    none = np.zeros(int(highest < np.inf), dtype=np.int64)  # the counts of the candidate above all scores
    # A label without positives must not be predicted for a score above all training scores either.
    above = np.full(len(none), just_above(highest) if carried.total else np.inf)
    return LabelCuts(
        np.concatenate([above, between(at, all_scores.highest_below(at))]),
        np.concatenate([none, all_scores.weight_from(at)]),
        np.concatenate([none, carried.weight_from(at)]),
        carried.total,
        n_rows,
    )


def _some_rows(scores: NDArray[Any], weights: Any, rows: Any) -> tuple[Any, _Ordered]:
    """Return the number, or weight, of some samples, and their scores."""
    values = scores[rows]
    if weights is None:
        return len(values), _Ordered.of(values, None)
    return weights[rows].sum(), _Ordered.of(values, weights[rows])


@dataclass(frozen=True)
class _Ordered:
    """Scores in ascending order, and the weight before each position."""

    values: NDArray[Any]
    mass: NDArray[Any] | None  # (n + 1,) weight of the scores before each position; None: their number

    @classmethod
    def of(cls, values: NDArray[Any], weights: Any) -> Self:
        if weights is None:
            return cls(np.sort(values), None)
        order = np.argsort(values, kind="stable")
        return cls(values[order], np.concatenate([[0], np.cumsum(weights[order])]))

    @property
    def total(self) -> Any:
        return len(self.values) if self.mass is None else self.mass[-1]

    def weight_from(self, at: NDArray[Any]) -> NDArray[Any]:
        """Return the weight of the scores that are at least `at`."""
        place = np.searchsorted(self.values, at, side="left")
        weight: NDArray[Any] = self.total - (place if self.mass is None else self.mass[place])
        return weight

    def highest_below(self, at: NDArray[Any]) -> FloatArray:
        """Return the highest score below `at`; NaN where there is none."""
        place = np.searchsorted(self.values, at, side="left")
        return np.where(place > 0, self.values[np.maximum(place, 1) - 1].astype(np.float64), np.nan)


def just_above(score: Any) -> Any:
    """Return the next float above a score; infinity above the largest."""
    with np.errstate(over="ignore"):
        return np.nextafter(score, np.inf)


def between(upper: NDArray[Any], lower: FloatArray) -> FloatArray:
    """Return thresholds that `upper` reaches and `lower` does not: halfway, as far as floats allow it.

    If `lower` is NaN, the threshold is minus infinity: all samples are predicted, also new ones.
    """
    upper = upper.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        halfway = lower / 2 + upper / 2
    inside = np.isfinite(halfway) & (halfway > lower) & (halfway <= upper)
    return np.where(np.isnan(lower), -np.inf, np.where(inside, halfway, upper))


def _known_rows(truth: PartialLabels) -> Iterator[Any]:
    """Yield the samples in which each label is known: a mask (n_samples,), or all."""
    unknown = truth.unknown
    if unknown is None:
        yield from repeat(slice(None), truth.labels.shape[1])
        return
    by_label = sparse.csc_array(unknown) if sparse.issparse(unknown) else unknown
    for label in range(unknown.shape[1]):
        yield ~as_dense(by_label[:, [label]])[:, 0]


def _columns(scores: NDArray[Any], labels: Matrix) -> Iterator[tuple[NDArray[Any], IntArray]]:
    """Yield the scores and the positive samples of each label, by blocks of columns, which are read at once."""
    by_label = sparse.csc_array(labels)
    carriers = [by_label.indices[a:b] for a, b in zip(by_label.indptr[:-1], by_label.indptr[1:], strict=True)]
    for block in row_blocks(scores.shape[1], scores.shape[0] * scores.itemsize):
        yield from zip(_transposed(scores[:, block]), carriers[block], strict=True)


def _transposed(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return the transposed matrix, contiguous; copying tiles of rows that fit the cache is three times as fast."""
    columns = np.empty(matrix.shape[::-1], dtype=matrix.dtype)
    for start in range(0, len(matrix), _TILE_ROWS):
        rows = slice(start, start + _TILE_ROWS)
        columns[:, rows] = matrix[rows].T
    return columns


@dataclass(frozen=True)
class Cuts:
    """The candidates of all labels, concatenated."""

    start: IntArray  # (n_labels + 1,) first candidate of each label
    thresholds: FloatArray
    predicted: NDArray[Any]
    hits: NDArray[Any]
    positives: NDArray[Any]  # (n_labels,)

    @classmethod
    def of(cls, cuts: Iterable[LabelCuts]) -> Self:
        """Join the candidates of the labels."""
        thresholds, predicted, hits, positives, _ = zip(*cuts, strict=True)
        start = np.concatenate([[0], np.cumsum([len(part) for part in thresholds])])
        return cls(
            start, np.concatenate(thresholds), np.concatenate(predicted), np.concatenate(hits), np.array(positives)
        )

    def best_of_each_label(self, gain: NDArray[Any]) -> IntArray:
        """Return, for each label, the candidate with the largest gain; ties go to the fewest predicted samples."""
        largest = np.maximum.reduceat(gain, self.start[:-1])
        best = np.flatnonzero(gain == np.repeat(largest, np.diff(self.start)))
        return best[np.searchsorted(best, self.start[:-1])]


# Exact comparison of ratios of integers.

_LARGEST = 2**62


def as_exact(*arrays: NDArray[Any], factor: int) -> tuple[NDArray[Any], ...]:
    """Return integer arrays that can be multiplied by `factor` without overflow: Python's integers if need be."""
    largest = max((abs(int(array.max(initial=0))) for array in arrays if array.dtype.kind in "iu"), default=0)
    if largest * abs(factor) < _LARGEST or any(array.dtype.kind == "f" for array in arrays):
        return arrays
    return tuple(array.astype(object) for array in arrays)


def first_largest_ratio(numerators: NDArray[Any], denominators: NDArray[Any]) -> int:
    """Return the index of the largest quotient, the first among equal ones; 0/0 counts as 0.

    Floats find the candidates, integers decide among them.
    """
    zeros = np.zeros(len(numerators))
    quotients = np.divide(numerators, denominators, out=zeros, where=denominators != 0)
    best = int(quotients.argmax())
    near = np.flatnonzero(quotients >= quotients[best] * (1 - 1e-12))
    while len(near) > 1:
        top, bottom = numerators[best], denominators[best]
        over, under = as_exact(numerators[near], denominators[near], factor=int(max(top, bottom)))
        excess = over * bottom - top * under
        if not (excess > 0).any():
            return int(near[(excess == 0) | (near == best)][0])
        near = near[excess >= 0]
        best = int(near[int(np.flatnonzero(excess[excess >= 0] > 0)[0])])
    return best
