"""Ranks of the relevant labels, computed once; each of the four ranking metrics is one line based on them.

All four metrics are computed from two counts of each relevant label: how many relevant labels rank no worse than it
(itself included), and how many irrelevant labels rank above it. Their sum is its rank. Sorting each row costs O(L log
L), and everything after the sort is done for the relevant labels only, so no pair of labels is ever enumerated. With
``ties="average"`` the same sums come from closed forms for the groups of equal scores. An unknown cell has the score
NaN, which sorts behind all others: it is above no relevant label.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearlabel.metrics.counts import mean
from nearlabel.metrics.inputs import TRIVIAL_RULES, TieRule, TrivialRule, Truth, check_ties, dense_rows, is_sparse
from nearlabel.utils.arrays import row_blocks
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import check_choice

BLOCK_BYTES = 2**20  # small enough for the temporaries of a block to stay in the processor's cache


class RowSums(NamedTuple):
    """Sums per row that the metrics need, arrays of shape (n_samples,); all zero in a row without relevant labels."""

    n_relevant: IntArray
    wrong_on_top: NDArray[Any]  # an irrelevant label ranks above the best relevant one
    last_rank: NDArray[Any]  # of the relevant label ranked worst
    reversed_pairs: NDArray[Any]  # pairs (relevant, irrelevant) in the wrong order
    precisions: NDArray[Any]  # summed over the relevant labels: the share of relevant labels down to its rank


@dataclass(frozen=True)
class Ranking:
    """The row sums, with the number of labels that are known and the weights of the rows."""

    rows: RowSums
    n_known: Any  # labels of each row (n_samples,), or of all rows
    weights: FloatArray | None = None  # (n_samples,); None: 1 each

    @property
    def has_none(self) -> BoolArray:
        """Return which rows have no relevant label."""
        return np.equal(self.rows.n_relevant, 0)

    @property
    def has_none_or_all(self) -> BoolArray:
        """Return which rows have no pair of a relevant and an irrelevant label: all their rankings are equally good."""
        has_all: BoolArray = np.equal(self.rows.n_relevant, self.n_known)
        return self.has_none | has_all


def rank(y_true: MatrixLike, y_score: MatrixLike, ties: TieRule, sample_weight: Any = None) -> Ranking:
    """Check the user's label sets and scores, and return their ranking."""
    truth = Truth.of(y_true, sample_weight)
    return rank_checked(truth, truth.scores(y_score), ties)


def rank_checked(truth: Truth, scores: Matrix, ties: TieRule) -> Ranking:
    """Return the ranking of blank scores (n_left, n_labels), in blocks of rows."""
    rule = check_ties(ties)
    n_rows, n_labels = truth.labels.shape
    blocks = [
        _row_sums(dense_rows(truth.labels, rows).astype(bool), -dense_rows(scores, rows), rule)
        for rows in row_blocks(n_rows, bytes_per_row=8 * n_labels, budget=BLOCK_BYTES)
    ]
    sums = RowSums(*map(np.concatenate, zip(*blocks, strict=True)))
    return Ranking(sums, truth.n_known(axis=1), truth.weights)


def top_is_wrong(ranking: Ranking, trivial: TrivialRule) -> float:
    """Return the share of rows whose top label is not relevant."""
    return _mean_of(ranking, ranking.rows.wrong_on_top, ranking.has_none_or_all, ranking.has_none, trivial)


def depth(ranking: Ranking, trivial: TrivialRule) -> float:
    """Return the mean number of steps down the ranking to the last relevant label."""
    return _mean_of(ranking, ranking.rows.last_rank - 1, ranking.has_none, 0, trivial)


def reversed_share(ranking: Ranking, trivial: TrivialRule) -> float:
    """Return the mean share of the pairs (relevant, irrelevant) that are in the wrong order."""
    n_relevant = ranking.rows.n_relevant
    n_pairs = np.maximum(n_relevant * (ranking.n_known - n_relevant), 1)  # no pair: a trivial row, replaced below
    return _mean_of(ranking, ranking.rows.reversed_pairs / n_pairs, ranking.has_none_or_all, 0, trivial)


def precision_of_ranks(ranking: Ranking, trivial: TrivialRule) -> float:
    """Return the mean, over rows, of the mean precision at the ranks of the relevant labels."""
    n_relevant = np.maximum(ranking.rows.n_relevant, 1)  # no relevant label: a trivial row, replaced below
    return _mean_of(ranking, ranking.rows.precisions / n_relevant, ranking.has_none_or_all, 1, trivial)


def _mean_of(ranking: Ranking, values: Any, is_trivial: BoolArray, kept_as: Any, trivial: TrivialRule) -> float:
    return mean_of_rows(values, is_trivial, kept_as, trivial, ranking.weights)


def mean_of_rows(
    values: Any, is_trivial: BoolArray, kept_as: Any, trivial: TrivialRule, weights: FloatArray | None
) -> float:
    """Return the mean of values (n_samples,), where trivial rows are left out or have the value `kept_as`."""
    check_choice("trivial", trivial, TRIVIAL_RULES)
    if trivial == "keep":
        return mean(np.where(is_trivial, kept_as, values), weights)
    return mean(values[~is_trivial], None if weights is None else weights[~is_trivial])


def _row_sums(relevant: BoolArray, losses: FloatArray, ties: TieRule) -> RowSums:
    """Sum over the relevant labels of each row; `losses` are the negated scores, so that the best comes first."""
    if ties == "high":
        return _row_sums(relevant[:, ::-1], losses[:, ::-1], "low")
    if ties == "average":
        return _expected_sums(relevant, losses)
    n_rows, n_labels = relevant.shape
    places, n_hits, n_wrong = _relevant_labels(relevant, losses, ties)
    row = places // n_labels
    n_relevant = np.bincount(row, minlength=n_rows)
    filled, first, last = _ends(n_relevant)
    wrong_on_top, last_rank = np.zeros(n_rows, dtype=bool), np.zeros(n_rows, dtype=np.intp)
    wrong_on_top[filled] = n_wrong[first] > 0
    last_rank[filled] = (n_hits + n_wrong)[last]
    reversed_pairs = np.bincount(row, weights=n_wrong, minlength=n_rows)
    precisions = np.bincount(row, weights=n_hits / (n_hits + n_wrong), minlength=n_rows)
    return RowSums(n_relevant, wrong_on_top, last_rank, reversed_pairs, precisions)


def _ends(sizes: IntArray) -> tuple[BoolArray, IntArray, IntArray]:
    """Return which rows are not empty, and the flat positions of the first and the last item of each of them."""
    filled = sizes > 0
    last = np.cumsum(sizes)[filled] - 1
    return filled, last - sizes[filled] + 1, last


def _expected_sums(relevant: BoolArray, losses: FloatArray) -> RowSums:
    """Return the means of the row sums over all orders of equal scores.

    A group of `size` equal scores, `hits` of them relevant, follows `above` labels, `before` of them relevant. From
    McSherry and Najork, Computing information retrieval performance measures efficiently in the presence of tied scores
    (ECIR 2008).
    """
    n_rows, n_labels = relevant.shape
    order = np.argsort(losses, axis=1)
    places = np.flatnonzero(np.take_along_axis(relevant, order, axis=1))
    start, end = _tie_groups(np.take_along_axis(losses, order, axis=1), places)
    opens, hits = np.unique(start, return_counts=True)  # the groups that contain a relevant label
    row, above = np.divmod(opens, n_labels)
    best = np.searchsorted(places, opens)  # the first relevant label of each group, in `places`
    size = end[best] - opens
    before = best - np.searchsorted(places, row * n_labels)
    filled, first, last = _ends(np.bincount(row, minlength=n_rows))
    wrong_on_top, last_rank = np.zeros((2, n_rows))
    wrong_on_top[filled] = np.where(above > 0, 1, (size - hits) / size)[first]
    last_rank[filled] = (above + hits * (size + 1) / (hits + 1))[last]
    n_wrong = above - before + (size - hits) / 2  # above each relevant label, on average
    precisions = hits / size * _sum_of_precisions(above, before, size, hits, n_labels)
    return RowSums(
        np.bincount(places // n_labels, minlength=n_rows),
        wrong_on_top,
        last_rank,
        np.bincount(row, weights=hits * n_wrong, minlength=n_rows),
        np.bincount(row, weights=precisions, minlength=n_rows),
    )


def _sum_of_precisions(above: IntArray, before: IntArray, size: IntArray, hits: IntArray, n_labels: int) -> FloatArray:
    """Return the sum, over the places of a group, of the expected precision at that place if its label is relevant.

    At place j of the group it is ``(before + 1 + (j - 1) * slope) / (above + j)``; harmonic numbers give the sum.
    """
    harmonic = np.append(0.0, np.cumsum(1 / np.arange(1, n_labels + 1)))
    slope = (hits - 1) / np.maximum(size - 1, 1)
    total: FloatArray = (before + 1 - slope * (above + 1)) * (harmonic[above + size] - harmonic[above]) + slope * size
    return total


def _relevant_labels(relevant: BoolArray, losses: FloatArray, ties: TieRule) -> tuple[IntArray, IntArray, IntArray]:
    """Return the places and the two counts of the relevant labels, row after row, best label first.

    A place is a position in the block after every row is sorted and the rows are concatenated.
    """
    n_labels = relevant.shape[1]
    # The order within a group of equal scores matters for "low" only; a stable sort is slower.
    order = np.argsort(losses, axis=1, kind="stable" if ties == "low" else None)
    places = np.flatnonzero(np.take_along_axis(relevant, order, axis=1))
    row_start = places // n_labels * n_labels
    before_row = np.searchsorted(places, row_start)  # relevant labels in the rows before
    if ties == "optimistic":  # in a group of equal scores the relevant labels come first
        start, _ = _tie_groups(np.take_along_axis(losses, order, axis=1), places)
        n_hits = np.arange(1, places.size + 1) - before_row
        n_wrong = start - row_start - (np.searchsorted(places, start) - before_row)
        return places, n_hits, n_wrong
    end = places + 1
    if ties == "pessimistic":  # a group of equal scores shares its worst rank
        _, end = _tie_groups(np.take_along_axis(losses, order, axis=1), places)
    n_hits = np.searchsorted(places, end) - before_row
    return places, n_hits, end - row_start - n_hits


def _tie_groups(ordered: FloatArray, places: IntArray) -> tuple[IntArray, IntArray]:
    """Return, for each place, where its group of equal scores starts and where the next group starts."""
    opens = np.ones(ordered.shape, dtype=bool)
    opens[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    bounds = np.append(np.flatnonzero(opens), ordered.size)
    group = np.searchsorted(bounds, places, side="right")
    return bounds[group - 1], bounds[group]


# Blocks of rows of two matrices for ranking within each row; few cells of sparse matrices become dense.


def line_blocks(first: Matrix, second: Matrix) -> Iterator[slice]:
    """Yield slices of rows whose non-empty columns fit the memory budget, if the rows are about equally dense."""
    n_lines, n_cells = first.shape
    bytes_per_line = 8 * n_cells
    if is_sparse(first) and is_sparse(second):
        n_stored = max(1.0, (first.nnz + second.nnz) / n_lines)
        n_together = max(1.0, math.sqrt(BLOCK_BYTES / (8 * n_stored)))  # each line adds its columns to all the others
        bytes_per_line = min(bytes_per_line, int(BLOCK_BYTES / n_together))
    yield from row_blocks(n_lines, bytes_per_line, BLOCK_BYTES)


def absent_columns(first: Matrix, second: Matrix) -> IntArray:
    """Return the columns in which neither of two matrices has an entry; none unless both are sparse."""
    if not (is_sparse(first) and is_sparse(second)):
        return np.empty(0, dtype=np.intp)
    is_absent = np.ones(first.shape[1], dtype=bool)
    is_absent[first.indices] = is_absent[second.indices] = False
    return np.flatnonzero(is_absent)
