"""Training rows counted by label, by whether they carry it, and by the votes of their neighbours; with and without one.

ML-kNN and CML-kNN learn from these counts. A row carries a label in whole units: 0 or 1 in ML-kNN, a degree of
membership in CML-kNN. Units are added as whole numbers, so a row can be taken out of every sum without a trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.neighbors import label_votes
from nearlabel.utils.blocks import BLOCK_BYTES, row_blocks, uneven_blocks
from nearlabel.utils.cells import cells_of, entries
from nearlabel.utils.types import CSR, IntArray, Matrix
from nearlabel.utils.validation import as_dense


class Units:
    """How far each training row carries each label, in whole numbers: in ML-kNN 1 for a label that it carries, else 0.

    A sum of the units of neighbours makes so many votes; here it is the votes.
    """

    whole = 1  # the units of a label that a row wholly carries

    def __init__(self, labels: Matrix) -> None:
        self.labels = labels

    def of_rows(self, rows: slice) -> Matrix:
        """Return the units of some rows (n_rows, n_labels), dense or CSR."""
        return self.labels[rows]

    def sums(self, indices: IntArray) -> Matrix:
        """Return the summed units of each query's neighbours (n_queries, n_labels), dense or CSR."""
        return label_votes(indices, self.labels)

    def votes(self, sums: Matrix, n_neighbors: int) -> Matrix:
        """Return sums as whole votes, stored alike."""
        return sums

    def n_counts(self, n_neighbors: int) -> int:
        """Return how many numbers of votes are possible."""
        return n_neighbors + 1

    @classmethod
    def of(cls, labels: Matrix, cells_for_one: int = 40) -> Units:
        """Store labels, in bytes, so that counting is least work: a one of CSR takes as long as so many dense cells.

        Sparse labels are not made dense where that would take more than the budget of a block.
        """
        is_sparse, n_cells = sparse.issparse(labels), labels.shape[0] * labels.shape[1]
        n_ones = labels.nnz if is_sparse else np.count_nonzero(labels)
        if n_cells < cells_for_one * n_ones and not (is_sparse and n_cells >= BLOCK_BYTES):
            return cls(as_dense(labels))
        return cls(sparse.csr_array(labels))


def count_rows(units: Units, indices: IntArray) -> IntArray:
    """Add up the units of the training rows by label and by the votes of their neighbours (n_samples, n_neighbors).

    Returns counts (2, n_labels, n_counts): [1] of the units, [0] of what they lack to a whole. In ML-kNN these are the
    numbers c[j] and c'[j] of rows with and without the label of which j neighbours carry it.
    """
    n, k = indices.shape
    total = np.zeros((), dtype=np.int64)
    for block in _blocks(units, n, k):
        total = total + _count_block(units, units.of_rows(block), units.votes(units.sums(indices[block]), k), k)
    return total


def _count_block(units: Units, own: Matrix, votes: Matrix, n_neighbors: int) -> IntArray:
    """Count rows with these units and votes; of CSR votes those without a vote follow by subtraction."""
    (n_rows, n_labels), n_counts = votes.shape, units.n_counts(n_neighbors)
    n_bins = n_labels * n_counts
    cells = entries(votes)[1:] if sparse.issparse(votes) else (np.tile(np.arange(n_labels), n_rows), votes.ravel())
    rows = np.bincount(cells[0] * n_counts + cells[1], minlength=n_bins).reshape(n_labels, n_counts)
    rows[:, 0] += n_rows - rows.sum(axis=1)
    row, label, unit = entries(own)
    carried = np.zeros(n_bins, dtype=np.int64)
    np.add.at(carried, label * n_counts + cells_of(votes, row, label), unit.astype(np.int64))
    carried = carried.reshape(n_labels, n_counts)
    return np.stack([units.whole * rows - carried, carried])


def _blocks(units: Units, n_rows: int, n_neighbors: int) -> Iterator[slice]:
    """Yield blocks of rows whose votes fit the memory budget: CSR votes, if each neighbour carries up to 64 labels."""
    sample = units.of_rows(slice(0, 1))
    n_labels = sample.shape[1]
    n_cells = min(n_labels, 64 * n_neighbors) if sparse.issparse(sample) else n_labels
    return row_blocks(n_rows, 64 * max(n_cells, n_neighbors))


class CountsWithout(NamedTuple):
    """What a fit of all rows but one counts at this row's own votes, for a block of rows.

    Cells are all of the block where units are dense, row by row, else the stored entries of `votes`, zeros among them:
    those that have a vote, or the label, or other counts than all other cells of their label (`LeavingOut.elsewhere`).
    """

    votes: Matrix  # (n_rows, n_labels), stored as the units are
    counts: IntArray  # (2, n_rows, n_labels) or (2, n_cells)
    totals: IntArray  # of the same shape


class LeavingOut(NamedTuple):
    """Counts of all rows but one: for rows i and labels l, the other rows that have the votes of row i without it.

    Without row i, row x takes its place in the lists of the rows m that have i among their k neighbours. With C the
    counts of all rows, u the units, v the sums of the neighbours' units and V the votes that a sum makes::

        c[i, l] = C[l, V(v_il)] - u_il + Σ_m u_ml ([V(v_ml - u_il + u_xl) = V(v_il)] - [V(v_ml) = V(v_il)])
    """

    units: Units
    own: Matrix  # (n_samples, n_labels), and the next two stored alike
    sums: Matrix
    votes: Matrix
    indices: IntArray  # (n_samples, k + 1)
    lists: CSR  # column i holds the rows m that have i among their k neighbours
    counts: IntArray  # (2, n_labels, n_counts), of all rows

    @classmethod
    def of(cls, units: Units, indices: IntArray) -> LeavingOut:
        """Take neighbours (n_samples, k + 1), and count all rows by their first k."""
        n, k = indices.shape[0], indices.shape[1] - 1
        own = units.of_rows(slice(0, n))
        all_sums: Any = [units.sums(indices[block, :k]) for block in _blocks(units, n, k)]
        all_sums = sparse.vstack(all_sums, format="csr") if sparse.issparse(own) else np.vstack(all_sums)
        if sparse.issparse(own):
            own.sum_duplicates()
            all_sums.sum_duplicates()  # sorted, so that single cells are found by bisection
        votes = units.votes(all_sums, k)
        counts = sum(_count_block(units, own[block], votes[block], k) for block in _blocks(units, n, k))
        return cls(units, own, all_sums, votes, indices, _reverse(indices[:, :k]), np.asarray(counts))

    def blocks(self) -> Iterator[slice]:
        """Yield blocks of rows whose counts fit the memory budget."""
        return _blocks(self.units, self.indices.shape[0], self.indices.shape[1] - 1)

    def counts_of(self, block: slice) -> CountsWithout:
        """Return the counts without each row of a block."""
        return self._sparse_block(block) if sparse.issparse(self.own) else self._dense_block(block)

    def elsewhere(self) -> tuple[IntArray, IntArray]:
        """Return counts and totals of the cells that no sparse block lists, each (2, n_labels)."""
        absent = np.array([[self.units.whole], [0]])  # a row without the label
        return np.maximum(self.counts[:, :, 0] - absent, 0), np.maximum(self.counts.sum(axis=2) - absent, 0)

    def _dense_block(self, block: slice) -> CountsWithout:
        """Visit every cell: row by row of all labels, which is as fast as memory."""
        label, whole = np.arange(self.own.shape[1]), self.units.whole
        number = np.int32 if self.own.dtype == np.int8 else np.int64  # of a sum of units
        own = self.own[block].astype(np.int64)
        itself = np.stack([whole - own, own])
        bins = self.votes[block] + label * self.counts.shape[2]
        left = self.counts.reshape(2, -1).take(bins, axis=1) - itself
        for pairs in self._pairs(block):
            before, of_m = self.sums.take(pairs.m, axis=0), self.own.take(pairs.m, axis=0)
            after = before + (self.own.take(pairs.x, axis=0) - self.own.take(pairs.i, axis=0))
            weight = self._moved(before, after, self.votes.take(pairs.i, axis=0), of_m.dtype)
            first, last = pairs.i[0], pairs.i[-1] + 1
            ends = np.searchsorted(pairs.i, np.arange(first, last + 1))
            of_rows = sparse.csr_array((np.ones(len(weight), dtype=number), np.arange(len(weight)), ends))
            rows = slice(first - block.start, last - block.start)
            carried = of_rows @ (weight * of_m)
            left[1, rows] += carried
            left[0, rows] += whole * (of_rows @ weight) - carried
        return CountsWithout(self.votes[block], left, self.counts.sum(axis=2)[:, np.newaxis] - itself)

    def _sparse_block(self, block: slice) -> CountsWithout:
        """Visit the cells that have a vote or the label, or where leaving the row out moves other rows.

        A sum of CSR matrices joins these cells, in order: its numbers hold votes, units, and a flag where rows move.
        """
        own, votes, whole = self.own[block], self.votes[block], self.units.whole
        moves = [self._moved_cells(pairs, block.start) for pairs in self._pairs(block)]
        i, label, unit, weight = (np.concatenate(parts) for parts in zip(_NO_MOVES, *moves, strict=True))
        moved, moved_units = (
            sparse.csr_array((values, (i, label)), shape=own.shape) for values in (weight, weight * unit)
        )
        flag = (self.indices.shape[1] + 1) * (whole + 1)
        flagged = sparse.csr_array((np.full(moved.nnz, flag), moved.indices, moved.indptr), shape=own.shape)
        cells = votes.astype(np.int64) * (whole + 1) + own + flagged
        cells.sort_indices()
        is_moved, rest = np.divmod(cells.data, flag)
        at, itself = np.divmod(rest, whole + 1)
        itself = np.stack([whole - itself, itself])
        left, label = self.counts[:, cells.indices, at] - itself, cells.indices
        place = np.flatnonzero(is_moved)  # in the order of the moves
        left[0, place] += whole * moved.data - moved_units.data
        left[1, place] += moved_units.data
        totals = self.counts.sum(axis=2)[:, label] - itself
        return CountsWithout(sparse.csr_array((at, label, cells.indptr), shape=own.shape), left, totals)

    def _moved_cells(self, pairs: _Pairs, first: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return cells of a row i and a label, the units of a row m, and +1 or -1: whether m enters or leaves.

        Only labels that i and x carry unequally matter.
        """
        pair, label, change = entries(self.own[pairs.x] - self.own[pairs.i])
        i, m = pairs.i[pair], pairs.m[pair]
        before = cells_of(self.sums, m, label)
        weight = self._moved(before, before + change, cells_of(self.votes, i, label), np.dtype(np.int64))
        moved = np.flatnonzero(weight)
        i, m, label = i[moved], m[moved], label[moved]
        return i - first, label, cells_of(self.own, m, label).astype(np.int64), weight[moved]

    def _moved(self, before: IntArray, after: IntArray, at: IntArray, dtype: Any) -> IntArray:
        """Return 1 where a row enters the votes `at` by the change of its sum, -1 where it leaves them."""
        k = self.indices.shape[1] - 1
        enters, leaves = self.units.votes(after, k) == at, self.units.votes(before, k) == at
        return np.asarray(np.subtract(enters, leaves, dtype=dtype))

    def _pairs(self, block: slice) -> Iterator[_Pairs]:
        """Yield pairs of a row i of the block and a row m that lists it; a row's pairs may be split to fit memory."""
        ends = self.lists.indptr[block.start : block.stop + 1]
        i = np.repeat(np.arange(block.start, block.stop), np.diff(ends))
        m = self.lists.indices[ends[0] : ends[-1]]
        x = self.indices[m, -1]
        if sparse.issparse(self.own):
            sizes = np.diff(self.own.indptr)
            chunks = uneven_blocks(64 * (1 + sizes[i] + sizes[x]))
        else:
            chunks = row_blocks(len(i), 128 * self.own.itemsize * self.own.shape[1])
        for some in chunks:
            yield _Pairs(i[some], m[some], x[some])


class _Pairs(NamedTuple):
    """Rows i that are left out, rows m that have i among their k neighbours, and rows x that take the place of i."""

    i: IntArray  # ascending
    m: IntArray
    x: IntArray


_NO_MOVES = tuple(np.empty(0, dtype=np.int64) for _ in range(4))


def _reverse(indices: IntArray) -> CSR:
    """Return the neighbour lists turned round: column i holds the rows that have i among their neighbours."""
    n, k = indices.shape
    of_each = np.ones(n * k, dtype=np.int8), indices.ravel(), np.arange(0, n * k + 1, k)
    return sparse.csr_array(of_each, shape=(n, n)).tocsc()
