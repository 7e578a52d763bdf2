"""Candidate thresholds of each label, with the counts that metrics of thresholded scores depend on.

A candidate lies between two distinct scores; equal scores stay together. One more candidate is above all scores, unless
a score is plus infinity. Among candidates with the same hits, only the one with the fewest predicted samples can be
best for F and similar metrics, and it lies just below the score of a positive sample. So a label with few positives has
few candidates that matter: one sort of the label's scores, in which the positives' scores are looked up, finds all of
them. Only samples in which the label is known count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.metrics.inputs import blank_scores
from nearlabel.models.decision import SparseScores
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense, row_blocks

_BYTES_OF_CELL = 64  # of all temporary arrays


@dataclass(frozen=True)
class Cuts:
    """The candidates of all labels, one label after the other, each label's with the fewest predicted samples first.

    Counts are sums of weights if samples have weights.
    """

    start: IntArray  # (n_labels + 1,) first candidate of each label
    thresholds: FloatArray  # samples with scores of at least this are predicted
    predicted: NDArray[Any]  # predicted samples
    hits: NDArray[Any]  # predicted positive samples
    positives: NDArray[Any]  # (n_labels,) positive samples
    n_rows: NDArray[Any]  # (n_labels,) samples in which the label is known

    @classmethod
    def of(cls, scores: Any, truth: PartialLabels, weights: Any = None, *, every: bool = False) -> Self:
        """Find the candidates of each label; a label without known cells has the one that predicts no samples.

        Parameters
        ----------
        scores : ndarray or SparseScores of shape (n_samples, n_labels)
            Checked scores. `SparseScores` are finite, their labels known and their samples without weights.
        truth : PartialLabels
            Indicator matrix (n_samples, n_labels) and the mask of unknown cells.
        weights : ndarray of shape (n_samples,), default=None
            Sample weights.
        every : bool, default=False
            Whether to return every candidate, not only those that can be best for a metric that increases with hits and
            decreases with predicted samples.
        """
        if isinstance(scores, SparseScores):
            sizes, *joined = _cuts_of_stored(scores, truth.labels, every=every)
            return cls(np.concatenate([[0], np.cumsum(sizes)]), *joined)
        by_label = sparse.csc_array(truth.labels)
        if truth.unknown is not None:
            scores = blank_scores(scores, truth.unknown)
        blocks = row_blocks(scores.shape[1], _BYTES_OF_CELL * scores.shape[0])
        parts = [_cuts_of(scores[:, block].T, by_label[:, block], weights, every=every) for block in blocks]
        sizes, *joined = map(np.concatenate, zip(*parts, strict=True))
        return cls(np.concatenate([[0], np.cumsum(sizes)]), *joined)

    def of_each(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return for each candidate the value of its label, from values (n_labels,)."""
        return np.repeat(values, np.diff(self.start))

    def best_of_each_label(self, gain: NDArray[Any], slack: float = 0) -> IntArray:
        """Return, for each label, the candidate with the largest gain; ties go to the fewest predicted samples.

        Gains that are smaller by at most `slack` are ties, too.
        """
        largest = np.maximum.reduceat(gain, self.start[:-1])
        best = np.flatnonzero(gain >= np.repeat(largest - slack, np.diff(self.start)))
        return best[np.searchsorted(best, self.start[:-1])]


def _cuts_of(columns: NDArray[Any], truth: Any, weights: Any, *, every: bool) -> tuple[NDArray[Any], ...]:
    """Return the numbers of candidates of some labels, and the other fields of `Cuts`.

    `columns` (n_labels, n_samples) are scores, NaN where a label is unknown; `truth` (n_samples, n_labels) is CSC.
    """
    negated = -np.ascontiguousarray(columns)  # so that sorting puts large scores first, and unknown cells last
    ordered = np.sort(negated, axis=1)
    n_known = np.count_nonzero(~np.isnan(ordered), axis=1)
    carriers = np.split(truth.indices, truth.indptr[1:-1])
    own = [np.sort(of_label[rows]) for of_label, rows in zip(negated, carriers, strict=True)]
    positives = np.diff(truth.indptr).astype(np.int64)

    searched = zip(ordered, n_known, strict=True)
    kept = [of_label[:n] for of_label, n in searched] if every else own
    # Minus infinity is the candidate that predicts no samples, or those of score infinity.
    reached = [np.append(-np.inf, scores) for scores in kept]
    candidates = [scores[np.append(True, scores[1:] != scores[:-1])] for scores in reached]
    predicted, hits = [
        np.concatenate([np.searchsorted(*pair, side="right") for pair in zip(scores, candidates, strict=True)])
        for scores in (ordered, own)
    ]
    sizes = np.array(list(map(len, candidates)))
    label, upper = np.repeat(np.arange(len(sizes)), sizes), -np.concatenate(candidates)
    is_above = (upper == np.inf) & (predicted == 0)
    lower = np.where(is_above, -np.inf, np.nan)
    has_lower = predicted < n_known[label]
    lower[has_lower] = -ordered[label[has_lower], predicted[has_lower]]
    # A label without positives must not be predicted for a score above all training scores either.
    upper[is_above] = np.where(positives[label[is_above]] > 0, just_above(lower[is_above]), np.inf)
    counts: tuple[NDArray[Any], ...] = predicted, hits, positives, n_known
    if weights is not None:
        counts = _weighed(columns, truth, weights, label, predicted)
    return sizes, between(upper, lower), *counts


def _weighed(
    columns: NDArray[Any], truth: Any, weights: NDArray[Any], label: IntArray, n_predicted: IntArray
) -> tuple[NDArray[Any], ...]:
    """Return the weights of the samples that candidates predict, hits, positives, and samples with a known label."""
    order = np.argsort(columns, axis=1, kind="stable")  # unknown cells come last
    of_rows, is_own = weights[order], np.take_along_axis(as_dense(truth).T > 0, order, axis=1)
    mass, own = (np.pad(np.cumsum(each, axis=1), ((0, 0), (1, 0))) for each in (of_rows, np.where(is_own, of_rows, 0)))
    last = (~np.isnan(columns)).sum(axis=1)[label]
    place = last - n_predicted
    n_rows = np.array([weights[~np.isnan(column)].sum() for column in columns])
    return mass[label, last] - mass[label, place], own[label, -1] - own[label, place], own[:, -1], n_rows


def _cuts_of_stored(scores: SparseScores, labels: Matrix, *, every: bool) -> tuple[NDArray[Any], ...]:
    """Return what `_cuts_of` does, of all labels, by one sort of the stored scores.

    The samples of a label whose score is not stored have equal scores, so they are one entry.
    """
    n_samples, n_labels = scores.shape
    positives = np.asarray(labels.sum(axis=0)).astype(np.int64).ravel()
    label, score, count, is_own = _entries_of(scores, sparse.csr_array(labels))
    order = np.argsort(-score)
    by_label = sparse.csr_array((order, (label[order], np.arange(len(order)))), shape=(n_labels, len(order)))
    label, score, count, is_own = (
        label[by_label.data],
        score[by_label.data],
        count[by_label.data],
        is_own[by_label.data],
    )
    starts = np.flatnonzero(np.append(True, (label[1:] != label[:-1]) | (score[1:] != score[:-1])))  # of equal scores
    label, upper = label[starts], score[starts]
    gained, hits = np.add.reduceat(count, starts), np.add.reduceat(is_own, starts)
    predicted, total_hits = np.cumsum(gained) - n_samples * label, np.cumsum(hits)
    total_hits -= np.append(0, np.cumsum(positives))[label]
    lower = np.append(upper[1:], np.nan)
    lower[np.append(label[1:] != label[:-1], True)] = np.nan
    kept = np.flatnonzero((hits > 0) | every)
    # Above all scores there is one more, which predicts no sample; without positives not even one of a larger score.
    top = upper[np.flatnonzero(np.append(True, label[1:] != label[:-1]))]
    ends = np.searchsorted(label[kept], np.arange(n_labels))
    zeros = np.zeros(n_labels, dtype=np.int64)
    upper, lower = (
        np.insert(upper[kept], ends, np.where(positives > 0, just_above(top), np.inf)),
        np.insert(lower[kept], ends, top),
    )
    sizes = np.bincount(label[kept], minlength=n_labels) + 1
    counts = np.insert(predicted[kept], ends, zeros), np.insert(total_hits[kept], ends, zeros)
    return sizes, between(upper, lower), *counts, positives, np.full(n_labels, n_samples)


def _entries_of(scores: SparseScores, labels: Any) -> tuple[NDArray[Any], ...]:
    """Return label, score, number of samples, and number of positive ones, of each entry.

    Entries are the cells with a stored score or with the label, and for each label all its other cells together.
    """
    stored, own = (
        sparse.csr_array((np.full(of.nnz, bit, dtype=np.int8), of.indices, of.indptr), shape=of.shape)
        for of, bit in ((scores.stored, 2), (labels, 1))
    )
    cells = stored + own
    label = np.append(cells.indices, np.arange(scores.shape[1]))
    score = scores.unvoted[label]
    score[: cells.nnz][cells.data >= 2] = scores.stored.data  # in the same order
    others = scores.shape[0] - np.bincount(cells.indices, minlength=scores.shape[1])
    count = np.append(np.ones(cells.nnz, dtype=np.int64), others)
    is_own = np.append(cells.data % 2, np.zeros(scores.shape[1], dtype=np.int8)).astype(np.int64)
    there = count > 0
    return label[there], score[there], count[there], is_own[there]


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


# Comparison of values with rounding, and of ratios of integers exactly.

EQUAL = 1e-12  # values that differ by less count as equal: sums of thousands of quotients are not exact

_LARGEST = 2**62


def first_largest(values: FloatArray) -> int:
    """Return the place of the first value that is the largest, up to rounding; a NaN is none, unless all are."""
    largest = np.fmax.reduce(values)
    return 0 if np.isnan(largest) else int(np.flatnonzero(values >= largest - EQUAL)[0])


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
