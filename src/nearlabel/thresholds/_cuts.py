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
from functools import partial
from itertools import chain, repeat
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray, IntArray
from nearlabel.utils.validation import as_dense, row_blocks

_TILE_ROWS = 256


class LabelCuts(NamedTuple):
    """Candidates of one label, fewest predicted samples first; counts are sums of weights if samples have weights."""

    upper: FloatArray  # the lowest score that reaches the threshold
    lower: FloatArray  # the next lower score, which does not; NaN if there is none
    predicted: NDArray[Any]  # predicted samples
    hits: NDArray[Any]  # predicted positive samples
    positives: Any  # positive samples
    n_rows: Any  # samples in which the label is known

    @property
    def thresholds(self) -> FloatArray:
        """Samples with scores of at least this are predicted."""
        return between(self.upper, self.lower)


def label_cuts(
    scores: NDArray[Any], truth: PartialLabels, weights: Any = None, *, every: bool = False
) -> Iterator[LabelCuts]:
    """Return the candidates of each label in turn; for a label without known cells, the one that predicts no samples.

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
    by_label = sparse.csc_array(truth.labels)
    carriers = [by_label.indices[a:b] for a, b in zip(by_label.indptr[:-1], by_label.indptr[1:], strict=True)]
    # Columns are read by blocks, each at once.
    blocks = row_blocks(scores.shape[1], scores.shape[0] * scores.itemsize)
    columns = chain.from_iterable(map(partial(_transposed, scores), blocks))
    return map(partial(_cuts_of, weights=weights, every=every), columns, carriers, _known_rows(truth))


def _cuts_of(scores: NDArray[Any], carriers: IntArray, known: Any, *, weights: Any, every: bool) -> LabelCuts:
    """Return the candidates of one label from its scores (n_samples,), its positive and its known samples."""
    positives: Any
    if weights is None:
        values, own = np.sort(scores[known]), np.sort(scores[carriers])
        mass, own_mass = np.arange(len(values) + 1), np.arange(len(own) + 1)
        positives, n_rows = len(own), len(values)
    else:
        values, mass = _weighed(scores[known], weights[known])
        own, own_mass = _weighed(scores[carriers], weights[carriers])
        positives, n_rows = own_mass[-1], weights[known].sum()
    highest = np.float64(values[-1]) if len(values) else np.float64(-np.inf)

    at = values if every else own
    if highest == np.inf:  # reaches every threshold: the candidate just below it replaces the one above all scores
        at = np.append(at, at.dtype.type(np.inf))
    is_last = np.concatenate((at[1:] != at[:-1], [True]))[: len(at)]
    at = at[is_last][::-1]
    place, own_place = np.searchsorted(values, at, side="left"), np.searchsorted(own, at, side="left")
    upper, lower = at, np.where(place > 0, values[np.maximum(place, 1) - 1].astype(np.float64), np.nan)
    predicted, hits = mass[-1] - mass[place], own_mass[-1] - own_mass[own_place]
    if highest < np.inf:  # the candidate above all scores
        with np.errstate(over="ignore"):
            above = np.nextafter(highest, np.inf)
        # A label without positives must not be predicted for a score above all training scores either.
        upper = np.concatenate(([above if positives else np.inf], upper))
        lower = np.concatenate(([highest], lower))
        predicted, hits = np.concatenate(([0], predicted)), np.concatenate(([0], hits))
    return LabelCuts(upper, lower, predicted, hits, positives, n_rows)


def _weighed(scores: NDArray[Any], weights: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return scores in ascending order, and the weight of the scores before each position, (n + 1,)."""
    order = np.argsort(scores, kind="stable")
    return scores[order], np.concatenate([[0], np.cumsum(weights[order])])


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
    """Return for each label the samples in which it is known: a mask (n_samples,), or all."""
    unknown = truth.unknown
    if unknown is None:
        return repeat(slice(None), truth.labels.shape[1])
    by_label = sparse.csc_array(unknown) if sparse.issparse(unknown) else unknown
    return (~as_dense(by_label[:, [label]])[:, 0] for label in range(unknown.shape[1]))


def _transposed(scores: NDArray[Any], block: slice) -> NDArray[Any]:
    """Return a block of columns as rows, contiguous; copying tiles that fit the cache is three times as fast."""
    matrix = scores[:, block]
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
        upper, lower, predicted, hits, positives, _ = zip(*cuts, strict=True)
        start = np.concatenate([[0], np.cumsum([len(part) for part in upper])])
        thresholds = between(np.concatenate(upper), np.concatenate(lower))
        return cls(start, thresholds, np.concatenate(predicted), np.concatenate(hits), np.array(positives))

    def best_of_each_label(self, gain: NDArray[Any]) -> IntArray:
        """Return, for each label, the candidate with the largest gain; ties go to the fewest predicted samples."""
        largest = np.maximum.reduceat(gain, self.start[:-1])
        best = np.flatnonzero(gain == np.repeat(largest, np.diff(self.start)))
        return best[np.searchsorted(best, self.start[:-1])]


# Exact comparison of ratios of integers.

_LARGEST = 2**62


def as_exact(*arrays: NDArray[Any], factor: int) -> tuple[NDArray[Any], ...]:
    """Return integer arrays that can be multiplied by `factor` without overflow: Python's integers if need be."""
    largest = max([abs(int(array.max(initial=0))) for array in arrays if array.dtype.kind in "iu"], default=0)
    if largest * abs(factor) < _LARGEST or "f" in [array.dtype.kind for array in arrays]:
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
