"""Where a label's scores may be cut, and what each cut chooses: all that a measure of thresholds depends on.

A cut lies between two distinct scores; equal scores stay together. Besides there is the cut that chooses no row, unless
a score is plus infinity. Of the cuts with the same hits only the one with the fewest chosen rows can be best for F and
its like, and it lies just below the score of a row that carries the label. So with few carriers few cuts matter: one
sort of the label's scores, in which the carriers' scores are looked up, gives them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import FloatArray, IntArray, Matrix

_TILE_ROWS = 256


class LabelCuts(NamedTuple):
    """The cuts of one label, the fewest chosen rows first; counts are sums of weights where rows have weights."""

    thresholds: FloatArray  # a row is chosen whose score is at least this
    predicted: NDArray[Any]  # rows chosen
    hits: NDArray[Any]  # chosen rows that carry the label
    positives: Any  # rows that carry the label


class Column(NamedTuple):
    """The scores of one label: those stored, and a number of rows that share one score without storing it."""

    rows: Any  # of the stored scores: an index array, or the slice of all rows
    scores: NDArray[Any]
    carriers: IntArray  # places, in `scores`, of the rows that carry the label
    weights: FloatArray | IntArray | None  # of the stored scores; None: 1 each
    absent: float
    absent_weight: Any = 0
    absent_hits: Any = 0


def label_cuts(
    scores: Matrix, labels: Matrix, weights: Any = None, *, absent: float = 0.0, every: bool = False
) -> Iterator[LabelCuts]:
    """Yield the cuts of each label.

    Parameters
    ----------
    scores, labels : ndarray or CSR array of shape (n_samples, n_labels)
        Checked scores and indicator matrix.
    weights : ndarray of shape (n_samples,), default=None
        Weights of the rows.
    absent : float, default=0.0
        The score of an entry that a CSR array does not store.
    every : bool, default=False
        Whether to give every cut, not only those that can be best for a measure that gains by hits and loses by
        chosen rows.
    """
    for column in score_columns(scores, labels, weights, absent):
        yield _cuts_of(column, every=every)


def _cuts_of(column: Column, *, every: bool) -> LabelCuts:
    weights = None if column.weights is None else column.weights[column.carriers]
    all_scores = _Ordered.of(column.scores, column.weights)
    carried = _Ordered.of(column.scores[column.carriers], weights)
    some_absent = bool(column.absent_weight)
    highest = all_scores.highest(column.absent if some_absent else -np.inf)

    at = all_scores.values if every else carried.values
    if column.absent_weight if every else column.absent_hits:
        at = np.append(at, at.dtype.type(column.absent))
    if highest == np.inf:  # reaches every threshold: the cut just below it takes the place of that which chooses none
        at = np.append(at, at.dtype.type(np.inf))
    at = np.unique(at)[::-1]
    below = all_scores.highest_below(at)
    joined = np.zeros(len(at), dtype=np.int64)
    if some_absent:
        joined = (at <= column.absent).astype(np.int64)
        below = np.where(at > column.absent, np.fmax(below, column.absent), below)

    positives = carried.total + column.absent_hits
    none = np.zeros(int(highest < np.inf), dtype=np.int64)
    # A label that no row carries is not to be chosen for a score above all seen either.
    nobody = np.full(len(none), just_above(highest) if positives else np.inf)
    return LabelCuts(
        np.concatenate([nobody, between(at, below)]),
        np.concatenate([none, all_scores.weight_from(at) + joined * column.absent_weight]),
        np.concatenate([none, carried.weight_from(at) + joined * column.absent_hits]),
        positives,
    )


@dataclass(frozen=True)
class _Ordered:
    """Scores in ascending order, and the weight below each place."""

    values: NDArray[Any]
    mass: NDArray[Any] | None  # (n + 1,) weight of the scores before each place; None: their number

    @classmethod
    def of(cls, values: NDArray[Any], weights: Any) -> Self:
        if weights is None:
            return cls(np.sort(values), None)
        order = np.argsort(values, kind="stable")
        return cls(values[order], np.concatenate([[0], np.cumsum(weights[order])]))

    @property
    def total(self) -> Any:
        return len(self.values) if self.mass is None else self.mass[-1]

    def highest(self, least: float) -> np.float64:
        """Return the highest score, at least `least`."""
        return np.float64(max(self.values[-1], least) if len(self.values) else least)

    def weight_from(self, at: NDArray[Any]) -> NDArray[Any]:
        """Return the weight of the scores that are at least `at`."""
        place = np.searchsorted(self.values, at, side="left")
        weight: NDArray[Any] = self.total - (place if self.mass is None else self.mass[place])
        return weight

    def highest_below(self, at: NDArray[Any]) -> FloatArray:
        """Return the highest score below `at`; NaN where there is none."""
        place = np.searchsorted(self.values, at, side="left")
        if not len(self.values):
            return np.full(len(at), np.nan)
        return np.where(place > 0, self.values[np.maximum(place, 1) - 1].astype(np.float64), np.nan)


def just_above(score: Any) -> Any:
    """Return the next float above a score; infinity above the largest."""
    with np.errstate(over="ignore"):
        return np.nextafter(score, np.inf)


def between(upper: NDArray[Any], lower: FloatArray) -> FloatArray:
    """Return thresholds that `upper` reaches and `lower` does not: halfway, as far as floats allow it.

    With nothing below (NaN) that is minus infinity: all rows are chosen, those to come too.
    """
    upper = upper.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        halfway = lower / 2 + upper / 2
    inside = np.isfinite(halfway) & (halfway > lower) & (halfway <= upper)
    return np.where(np.isnan(lower), -np.inf, np.where(inside, halfway, upper))


def score_columns(scores: Matrix, labels: Matrix, weights: Any, absent: float) -> Iterator[Column]:
    """Yield the scores of each label; dense ones by blocks of columns, which are read in one go."""
    by_label = sparse.csc_array(labels)
    carriers = [by_label.indices[a:b] for a, b in zip(by_label.indptr[:-1], by_label.indptr[1:], strict=True)]
    if sparse.issparse(scores):
        yield from _sparse_columns(sparse.csc_array(scores), carriers, weights, absent)
        return
    for block in row_blocks(scores.shape[1], scores.shape[0] * scores.itemsize):
        for values, rows in zip(_transposed(scores[:, block]), carriers[block], strict=True):
            yield Column(slice(None), values, rows, weights, absent)


def _transposed(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return the transposed matrix, contiguous; copied by tiles of rows that stay in the cache, three times as fast."""
    columns = np.empty(matrix.shape[::-1], dtype=matrix.dtype)
    for start in range(0, len(matrix), _TILE_ROWS):
        rows = slice(start, start + _TILE_ROWS)
        columns[:, rows] = matrix[rows].T
    return columns


def _sparse_columns(scores: Any, carriers: list[IntArray], weights: Any, absent: float) -> Iterator[Column]:
    total = scores.shape[0] if weights is None else weights.sum()
    weight_of = (lambda rows: len(rows)) if weights is None else (lambda rows: weights[rows].sum())
    for label, rows in enumerate(carriers):
        entries = slice(scores.indptr[label], scores.indptr[label + 1])
        stored = scores.indices[entries]
        carried = np.flatnonzero(np.isin(stored, rows, assume_unique=True))
        yield Column(
            stored,
            scores.data[entries],
            carried,
            None if weights is None else weights[stored],
            absent,
            total - weight_of(stored),
            weight_of(rows) - weight_of(stored[carried]),
        )


def highest_scores(scores: Matrix, absent: float) -> FloatArray:
    """Return the highest score of each label, (n_labels,)."""
    if not sparse.issparse(scores):
        return np.asarray(scores.max(axis=0), dtype=np.float64)
    stored = np.full(scores.shape[1], -np.inf)
    np.maximum.at(stored, scores.indices, scores.data)
    n_stored = np.bincount(scores.indices, minlength=scores.shape[1])
    return np.where(n_stored < scores.shape[0], np.maximum(stored, absent), stored)


@dataclass(frozen=True)
class Cuts:
    """The cuts of all labels, one label behind the other."""

    start: IntArray  # (n_labels + 1,) first cut of each label
    thresholds: FloatArray
    predicted: NDArray[Any]
    hits: NDArray[Any]
    positives: NDArray[Any]  # (n_labels,)

    @classmethod
    def of(cls, cuts: Iterable[LabelCuts]) -> Self:
        """Join the cuts of the labels."""
        thresholds, predicted, hits, positives = zip(*cuts, strict=True)
        start = np.concatenate([[0], np.cumsum([len(part) for part in thresholds])])
        return cls(
            start, np.concatenate(thresholds), np.concatenate(predicted), np.concatenate(hits), np.array(positives)
        )

    def best_of_each_label(self, gain: NDArray[Any]) -> IntArray:
        """Return, for each label, the cut of largest gain; of equal ones that with the fewest chosen rows."""
        largest = np.maximum.reduceat(gain, self.start[:-1])
        best = np.flatnonzero(gain == np.repeat(largest, np.diff(self.start)))
        return best[np.searchsorted(best, self.start[:-1])]
