"""ML-kNN's label sets of rows left out: most follow from the counts of all rows, few need the counts without them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.lazy._best import rows_of
from nearlabel.lazy._left_out import cells_of
from nearlabel.lazy._listing import Listing, n_listing
from nearlabel.utils.blocks import row_blocks, uneven_blocks
from nearlabel.utils.types import CSR, BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense

# Counts and totals of some cells (row, label), each (2, n_cells), to their posteriors (n_cells,).
Posteriors = Callable[[IntArray, IntArray], FloatArray]


class LeftOut(NamedTuple):
    """What the label sets of rows left out are decided by.

    Row i moves at most as many counts as rows have it among their k neighbours. If so few cannot turn the comparison of
    the two products, the cell (i, l) is decided; the counts without the row are made of the others only.
    """

    indices: IntArray  # (n_samples, k + 1)
    listing: Listing  # of at least k neighbours
    labels: Matrix  # (n_samples, n_labels)
    votes: Matrix  # of the first k neighbours, stored as the labels are
    counts: IntArray  # of all rows, (2, n_labels, k + 1)
    smoothing: float
    posteriors: Posteriors

    def decide(self) -> Matrix:
        """Return the label sets that fits of all other rows predict, stored as the labels are."""
        listing_each = n_listing(self.indices[:, :-1])
        comparison = _Comparison.of(self.counts, self.smoothing)
        if not sparse.issparse(self.labels):
            return np.vstack(list(self._decide_all(comparison, listing_each)))
        # Other cells than those with a vote or the label are positive, or undecided, of these labels only.
        most = listing_each.max(initial=0)
        is_open = comparison.positive[0, :, 0] | (comparison.tolerance[0, :, 0] <= most)
        if not is_open.any():
            return sparse.vstack(list(self._decide_visited(comparison, listing_each)), format="csr")
        wholly, visited = np.flatnonzero(is_open), np.flatnonzero(~is_open)
        blocks = self._of_labels(wholly)._decide_all(comparison.of_labels(wholly), listing_each)
        of_wholly = sparse.vstack([sparse.csr_array(block) for block in blocks])
        blocks = self._of_labels(visited)._decide_visited(comparison.of_labels(visited), listing_each)
        decided = sparse.hstack([of_wholly, sparse.vstack(list(blocks))], format="csr")
        return decided[:, np.argsort(np.concatenate([wholly, visited]))]

    def _of_labels(self, labels: IntArray) -> LeftOut:
        some = {"labels": self.labels[:, labels], "votes": self.votes[:, labels], "counts": self.counts[:, labels]}
        return self._replace(**some)

    def _decide_all(self, comparison: _Comparison, listing_each: IntArray) -> Iterator[IntArray]:
        """Yield blocks of dense label sets; visits every cell."""
        n, n_labels = self.labels.shape
        first_bins = np.arange(n_labels) * self.counts.shape[2]
        for block in row_blocks(n, 64 * max(n_labels, self.indices.shape[1])):
            bins = as_dense(self.labels[block]).astype(np.intp) * (n_labels * self.counts.shape[2])
            bins += as_dense(self.votes[block])
            bins += first_bins
            decided = comparison.positive.take(bins).astype(np.int64)
            undecided = np.flatnonzero(comparison.tolerance.take(bins) <= listing_each[block, np.newaxis])
            i, label = np.divmod(undecided, n_labels)
            decided[i, label] = self._decide_cells(Cells(i + block.start, label), listing_each)
            yield decided

    def _decide_visited(self, comparison: _Comparison, listing_each: IntArray) -> Iterator[CSR]:
        """Yield blocks of sparse label sets; visits cells with a vote or the label, no other is positive."""
        n, n_labels = self.labels.shape
        n_bins = self.counts.shape[2]
        for block in row_blocks(n, 64 * (1 + (self.labels.nnz + self.votes.nnz) // n)):
            cells = 2 * self.votes[block].astype(np.int64) + self.labels[block]
            row, label, own, votes = rows_of(cells), cells.indices, cells.data % 2, cells.data // 2
            bins = (own * n_labels + label) * n_bins + votes
            chosen = comparison.positive.take(bins)
            undecided = np.flatnonzero(comparison.tolerance.take(bins) <= listing_each[block][row])
            some = Cells(row[undecided] + block.start, label[undecided])
            chosen[undecided] = self._decide_cells(some, listing_each)
            ends = np.concatenate([[0], np.cumsum(chosen)])[cells.indptr]
            yield sparse.csr_array((np.ones(ends[-1], dtype=np.int64), label[chosen], ends), shape=cells.shape)

    def _decide_cells(self, cells: Cells, listing_each: IntArray) -> BoolArray:
        """Decide some cells by the counts without their rows."""
        decided = np.empty(len(cells.i), dtype=np.bool_)
        lengths = listing_each[cells.i]
        for some in uneven_blocks(64 * (1 + lengths)):
            of_some = Cells(cells.i[some], cells.label[some])
            decided[some] = self.posteriors(*self._counts_of(of_some, lengths[some])) >= 0.5
        return decided

    def _counts_of(self, cells: Cells, lengths: IntArray) -> tuple[IntArray, IntArray]:
        """Return the counts without row i, and their totals, each (2, n_cells), of cells (i, l)."""
        i, label = cells
        own, bins = cells_of(self.labels, i, label), cells_of(self.votes, i, label)
        itself = np.stack([1 - own, own])
        left = self.counts[:, label, bins] - itself
        cell, m = self.listing.pairs(i, lengths)
        of_x = cells_of(self.labels, self.indices[m, -1], label[cell])  # x takes the place of i in the list of m
        changed = np.flatnonzero(of_x != own[cell])
        cell, m, of_x = cell[changed], m[changed], of_x[changed]
        before = cells_of(self.votes, m, label[cell])
        after = before - own[cell] + of_x
        moved = (after == bins[cell]).astype(np.int64) - (before == bins[cell])
        np.add.at(left, (cells_of(self.labels, m, label[cell]), cell), moved)
        return left, self.counts.sum(axis=2)[:, label] - itself


class Cells(NamedTuple):
    """Some cells (i, label) of the label matrix."""

    i: IntArray
    label: IntArray


class _Comparison(NamedTuple):
    """(s + n1)(s + c)(s(k + 1) + n0) against (s + n0)(s + c')(s(k + 1) + n1), two arrays (2, n_labels, k + 1).

    The first axis is the row's own class: its counts are without the row, but with what it does to others' votes.
    """

    positive: BoolArray
    tolerance: FloatArray  # moved counts that can never turn it are fewer than this

    @classmethod
    def of(cls, counts: IntArray, s: float) -> _Comparison:
        itself = np.array([[1, 0], [0, 1]])[:, :, np.newaxis, np.newaxis]  # own class, class that it is counted in
        n0, n1 = np.moveaxis(_none_below_zero(counts.sum(axis=2, keepdims=True) - itself), 1, 0)
        c0, c1 = np.moveaxis(_none_below_zero(counts - itself), 1, 0)
        spread = s * counts.shape[2]
        yes, no = (s + n1) * (spread + n0), (s + n0) * (spread + n1)
        lead = yes * (s + c1) - no * (s + c0)
        rounding = 1e-12 * (yes * (s + c1) + no * (s + c0))
        return cls(lead > 0, (np.abs(lead) - rounding) / np.maximum(yes, no))

    def of_labels(self, labels: IntArray) -> _Comparison:
        return _Comparison(self.positive[:, labels], self.tolerance[:, labels])


def _none_below_zero(counts: IntArray) -> FloatArray:
    """Return the counts as floats; below 0 are those of bins that no row is in."""
    return np.maximum(counts, 0).astype(np.float64)
