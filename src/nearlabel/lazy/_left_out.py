"""ML-kNN's counts without one training row, for each row in turn: what a fit of the others would have counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.neighbors import label_votes
from nearlabel.utils.blocks import row_blocks, uneven_blocks
from nearlabel.utils.types import CSR, IntArray, Matrix
from nearlabel.utils.validation import as_dense


class Pairs(NamedTuple):
    """Pairs of a row i that is left out and a row m that has i among its k neighbours: three arrays of row numbers."""

    i: IntArray
    m: IntArray
    x: IntArray  # the (k + 1)-th neighbour of m, which takes the place of i


def counts_left_out(indices: IntArray, labels: Matrix, counts: IntArray) -> Iterator[tuple[slice, IntArray, IntArray]]:
    """Count, for each row i and label l, the other rows that have the votes of row i in a fit without it.

    Takes indices (n_samples, k + 1), labels (n_samples, n_labels) and the counts (2, n_labels, k + 1) of all rows.
    Yields blocks of rows, their counts (2, n_rows, n_labels), without and with the label, and the totals alike::

        c[i, l] = C[l, v_il] - Y_il + Σ_m Y_ml ([v_ml - Y_il + Y_xl = v_il] - [v_ml = v_il])
    """
    n, n_labels = labels.shape
    votes = training_votes(indices[:, :-1], labels)
    labels = sparse.csr_array(labels, dtype=np.int8)
    listed, totals = listed_by(indices[:, :-1]), counts.sum(axis=2)[:, np.newaxis]
    sizes = np.asarray(labels.sum(axis=1, dtype=np.int64)).ravel()
    for block in row_blocks(n, 64 * max(n_labels, indices.shape[1])):
        own = as_dense(labels[block])
        itself = np.stack([1 - own, own])
        left = counts[:, np.arange(n_labels), as_dense(votes[block])] - itself
        for pairs in pairs_of(block, listed, indices[:, -1], sizes):
            _move(left, block.start, pairs, labels, votes)
        yield block, left, totals - itself


def _move(left: IntArray, first: int, pairs: Pairs, labels: CSR, votes: Matrix) -> None:
    """Count the rows m where their votes are without row i; only labels on which i and x differ matter."""
    change = (labels[pairs.x] - labels[pairs.i]).tocoo()
    i, m, label = pairs.i[change.row], pairs.m[change.row], change.col
    before, own = cells_of(votes, m, label), cells_of(votes, i, label)
    move = (before + change.data == own).astype(np.int64) - (before == own)
    moved = np.flatnonzero(move)
    i, m, label = i[moved], m[moved], label[moved]
    np.add.at(left, (cells_of(labels, m, label), i - first, label), move[moved])


def training_votes(indices: IntArray, labels: Matrix) -> Matrix:
    """Return the votes v (n_samples, n_labels), stored as the labels are, in the smallest type that holds k."""
    n, k = indices.shape
    smallest = np.min_scalar_type(-k - 1)
    blocks = row_blocks(n, 64 * max(labels.shape[1], k))
    votes = [label_votes(indices[block], labels).astype(smallest) for block in blocks]
    return sparse.vstack(votes, format="csr") if sparse.issparse(labels) else np.vstack(votes)


def growing_votes(indices: IntArray, labels: Matrix, candidates: Sequence[int]) -> Iterator[tuple[int, Matrix]]:
    """Yield the votes (n_samples, n_labels), stored as the labels are, for each number of neighbours, ascending.

    Dense ones grow in place.
    """
    smallest = np.min_scalar_type(-candidates[-1] - 1)
    votes = (sparse.csr_array if sparse.issparse(labels) else np.zeros)(labels.shape, dtype=smallest)
    for k in range(1, candidates[-1] + 1):
        votes += labels[indices[:, k - 1]]
        if k in candidates:
            yield k, votes


def listed_by(indices: IntArray) -> CSR:
    """Return a graph (n_samples, n_samples) whose column i holds the rows that have i among their neighbours."""
    n, k = indices.shape
    entries = (np.ones(n * k, dtype=np.int8), indices.ravel(), np.arange(0, n * k + 1, k))
    return sparse.csr_array(entries, shape=(n, n)).tocsc()


def pairs_of(block: slice, listed: CSR, successor: IntArray, sizes: IntArray) -> Iterator[Pairs]:
    """Yield the pairs of a block of rows i, few enough at a time for label sets of the given sizes.

    A row may be listed by all others, so its pairs may be split.
    """
    ends = listed.indptr[block.start : block.stop + 1]
    i = np.repeat(np.arange(block.start, block.stop), np.diff(ends))
    m = listed.indices[ends[0] : ends[-1]]
    x = successor[m]
    for some in uneven_blocks(64 * (1 + sizes[i] + sizes[x])):
        yield Pairs(i[some], m[some], x[some])


def cells_of(matrix: Matrix, rows: IntArray, columns: IntArray) -> IntArray:
    """Return matrix[rows, columns] as a dense array, whichever container this scipy makes of it."""
    return as_dense(matrix[rows, columns]).ravel()
