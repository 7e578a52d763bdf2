"""Memberships: how far a row's label set supports each label, in whole numbers, so that every sum is exact.

A membership of 1 is `ONE` units. Sums of whole numbers are the same in any order: results depend neither on blocks nor
on the order of rows or labels, and one row can be taken out of a sum without a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from scipy import sparse

from nearlabel.lazy._left_out import Pairs, listed_by, pairs_of
from nearlabel.neighbors import label_votes
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import CSR, FloatArray, IntArray, Matrix

ONE = 2**40


def in_units(similarity: FloatArray) -> IntArray:
    """Return similarities as whole numbers of units, none above `ONE`."""
    return np.asarray(np.rint(np.minimum(similarity, 1.0) * ONE), dtype=np.int64)


def support(labels: CSR, similarity: IntArray) -> IntArray:
    """δ_{L|j} = Σ_{l ∈ L} S(l, j): what the label set L of each row lends to each label j."""
    return np.asarray(labels @ similarity)


def clipped(labels: CSR, similarity: IntArray) -> IntArray:
    """min(1, δ_{L|j})."""
    return np.minimum(support(labels, similarity), ONE)


def averaged(labels: CSR, similarity: IntArray) -> IntArray:
    """δ_{L|j} / |L|, and 0 for the empty label set."""
    sizes = np.maximum(np.diff(labels.indptr), 1)[:, np.newaxis]
    return np.asarray((2 * support(labels, similarity) + sizes) // (2 * sizes))


def settled(labels: CSR, similarity: IntArray) -> IntArray:
    """1 where δ_{L|j} ≥ 1/2, else 0; a sum that rounding its terms left just below a half counts as a half."""
    return np.where(2 * support(labels, similarity) + labels.shape[1] >= ONE, ONE, 0)


def largest(labels: CSR, similarity: IntArray) -> IntArray:
    """max_{l ∈ L} S(l, j): over the first label of every row, then the second, and so on."""
    sizes = np.diff(labels.indptr)
    result = np.zeros(labels.shape, dtype=np.int64)
    for place in range(sizes.max(initial=0)):
        rows = np.flatnonzero(sizes > place)
        result[rows] = np.maximum(result[rows], similarity[labels.indices[labels.indptr[rows] + place]])
    return result


MEMBERSHIPS: Mapping[str, Callable[[CSR, IntArray], IntArray]] = MappingProxyType(
    {"clip": clipped, "max": largest, "mean": averaged, "hard": settled}
)


@dataclass(frozen=True)
class Memberships:
    """How far each training row's label set supports each label.

    `labels` (n_samples, n_labels) is dense or CSR, `similarity` (n_labels, n_labels) in units, `of_labelset` one of the
    functions above, `most` the largest membership it can give: 1, or the number of labels for the plain support.
    """

    labels: Matrix
    similarity: IntArray
    of_labelset: Callable[[CSR, IntArray], IntArray]
    most: int

    def of(self, rows: IntArray | slice) -> IntArray:
        """Return the memberships of some rows, dense (n_rows, n_labels), in units."""
        return self.of_labelset(sparse.csr_array(self.labels[rows]), self.similarity)

    def with_and_without(self, rows: IntArray | slice) -> IntArray:
        """Return how far some rows do not, and do, have each label: (2, n_rows, n_labels), in units."""
        own = self.of(rows)
        return np.stack([self.most * ONE - own, own])

    def sums(self, indices: IntArray) -> IntArray:
        """Return the summed memberships of each query's neighbours (n_queries, n_labels), in units."""
        rows, place = np.unique(indices, return_inverse=True)
        return np.asarray(label_votes(place.reshape(indices.shape), self.of(rows)))

    def votes(self, sums: IntArray, n_neighbors: int) -> IntArray:
        """Return sums as whole numbers of neighbours, half up.

        A sum that rounding its terms left just below a half counts as a half.
        """
        slack = n_neighbors * self.labels.shape[1]
        return np.asarray((2 * sums + ONE + slack) // (2 * ONE))

    def blocks(self, n_neighbors: int, n_rows: int) -> Iterator[slice]:
        """Yield blocks of rows whose neighbours' memberships fit the memory budget."""
        return row_blocks(n_rows, 32 * self.labels.shape[1] * (n_neighbors + 1))


def membership_counts(indices: IntArray, memberships: Memberships) -> IntArray:
    """Add up the training rows' memberships by label and by the votes of their neighbours.

    Returns counts (2, n_labels, most · n_neighbors + 1), in units: [1] of the memberships, [0] of what they lack to
    `most`. In numbers of 0 and 1 it is `neighbor_counts`.
    """
    n_samples, n_labels = memberships.labels.shape
    k = indices.shape[1]
    _check_room(n_samples, memberships.most)
    counts = np.zeros((2, n_labels, memberships.most * k + 1), dtype=np.int64)
    for block in memberships.blocks(k, n_samples):
        votes = memberships.votes(memberships.sums(indices[block]), k)
        for count, own in zip(counts, memberships.with_and_without(block), strict=True):
            np.add.at(count, (np.arange(n_labels), votes), own)
    return counts


def _check_room(n_samples: int, most: int) -> None:
    if n_samples * most > np.iinfo(np.int64).max // ONE:
        room = np.iinfo(np.int64).max // ONE // most
        raise ValueError(f"n_samples must be at most {room:,} here, got {n_samples:,}: sums would overflow.")


def memberships_left_out(
    indices: IntArray, memberships: Memberships, counts: IntArray
) -> Iterator[tuple[slice, IntArray, IntArray]]:
    """Count, for each row i and label l, the memberships of the other rows that have the votes of row i without it.

    What `counts_left_out` is to `neighbor_counts`. Takes indices (n_samples, k + 1) and the counts of all rows; yields
    blocks of rows, their counts (2, n_rows, n_labels) and the totals alike.
    """
    n_samples, n_labels = memberships.labels.shape
    k = indices.shape[1] - 1
    sums = np.empty((n_samples, n_labels), dtype=np.int64)
    for block in memberships.blocks(k, n_samples):
        sums[block] = memberships.sums(indices[block, :k])
    listed, totals = listed_by(indices[:, :k]), counts.sum(axis=2)[:, np.newaxis]
    sizes = np.full(n_samples, n_labels)
    for block in memberships.blocks(k, n_samples):
        itself = memberships.with_and_without(block)
        left = counts[:, np.arange(n_labels), memberships.votes(sums[block], k)] - itself
        for pairs in pairs_of(block, listed, indices[:, -1], sizes):
            _move(left, block.start, pairs, memberships, sums, k)
        yield block, left, totals - itself


def _move(left: IntArray, first: int, pairs: Pairs, memberships: Memberships, sums: IntArray, k: int) -> None:
    """Count the rows m where their votes are without row i, whose place row x takes."""
    own = memberships.votes(sums[pairs.i], k)
    before = memberships.votes(sums[pairs.m], k)
    after = memberships.votes(sums[pairs.m] - memberships.of(pairs.i) + memberships.of(pairs.x), k)
    move = (after == own).astype(np.int64) - (before == own)
    pair, label = np.nonzero(move)
    for count, weight in zip(left, memberships.with_and_without(pairs.m), strict=True):
        np.add.at(count, (pairs.i[pair] - first, label), (move * weight)[pair, label])
