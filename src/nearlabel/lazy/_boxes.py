"""Training samples counted in a box around the votes of a query: the rows whose votes are near for every label at once.

DML-kNN learns from these counts. A row is in the box of some votes if none of its own votes, those of its neighbours,
differs from them by more than delta. A box of the width k contains all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.lazy._counts import LeavingOut
from nearlabel.utils.blocks import BLOCK_BYTES, row_blocks
from nearlabel.utils.types import CSR, BoolArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense

N_VECTORS = 4096  # compared at once with 256 queries: the numbers of a label stay in the cache


class VoteVectors(NamedTuple):
    """The votes of the training samples, each vector of votes once: rows with equal votes are in the same boxes."""

    votes: CSR  # (n_vectors, n_labels)
    n_rows: IntArray  # (n_vectors,), that have these votes
    n_carriers: CSR  # (n_vectors, n_labels), of these rows, those that carry the label

    @classmethod
    def of(cls, votes: Matrix, labels: Matrix) -> VoteVectors:
        """Take votes and label sets of the training samples (n_samples, n_labels), each dense or CSR."""
        first, which = _distinct_rows(votes)
        rows = sparse.csr_array((np.ones(len(which), dtype=np.int64), (which, np.arange(len(which)))))
        n_carriers = sparse.csr_array(rows @ sparse.csr_array(labels))
        return cls(sparse.csr_array(votes[first]), np.bincount(which), n_carriers)

    def counts_at(self, at: IntArray, delta: int) -> IntArray:
        """Count the rows in the box of each query's votes (n_queries, n_labels) that also have its votes for a label.

        Returns counts (2, n_queries, n_labels): [1] of those that carry the label, [0] of the others.
        """
        queries, which = np.unique(at.astype(self.votes.dtype), axis=0, return_inverse=True)
        counts = np.zeros((2, *queries.shape), dtype=np.int64)
        for vectors in row_blocks(len(self.n_rows), 1, N_VECTORS):
            by_label = _ByLabel.of(*(part[vectors] for part in self))
            for block in row_blocks(len(queries), max(BLOCK_BYTES // 256, 64 * queries.shape[1])):
                counts[:, block] += by_label.counts_at(queries[block].T, delta)
        counts[0] -= counts[1]
        return counts[:, which.ravel()]


class _ByLabel(NamedTuple):
    """Some vectors of votes, label by label."""

    votes: CSR  # (n_labels, n_vectors)
    n_rows: IntArray  # (n_vectors,)
    n_carriers: CSR  # (n_labels, n_vectors)
    most: IntArray  # (n_labels,), of all votes for a label

    @classmethod
    def of(cls, votes: CSR, n_rows: IntArray, n_carriers: CSR) -> _ByLabel:
        """Take them vector by vector."""
        by_label = sparse.csr_array(votes.T)
        return cls(by_label, n_rows, sparse.csr_array(n_carriers.T), as_dense(by_label.max(axis=1)).ravel())

    def counts_at(self, at: IntArray, delta: int) -> IntArray:
        """Take votes (n_labels, n_queries); return how many rows count, and how many of these carry the label.

        Only the vectors with a vote for a label are compared for that label. All others in the box are counted first,
        as if the label had no votes: they have the votes of a query without a vote.
        """
        inside = self._inside(at, delta)
        everyone = np.broadcast_to(self.n_rows @ inside, at.shape)
        counts = np.stack([everyone, self.n_carriers @ inside]) * (at == 0)
        carriers = np.zeros(len(inside))
        for label in np.flatnonzero(np.diff(self.votes.indptr)).tolist():
            vectors, votes = _entries_of(self.votes, label)
            carried_by, number = _entries_of(self.n_carriers, label)
            carriers[carried_by] = number
            gained = (votes[:, np.newaxis] == at[label]).view(np.int8) - (at[label] == 0)
            gained *= inside[vectors]
            weights = np.stack([self.n_rows[vectors], carriers[vectors]])  # as floats, whose sums are exact below 2^53
            counts[:, label] += (weights @ gained).astype(np.int64)
            carriers[carried_by] = 0
        return np.asarray(counts.transpose(0, 2, 1))

    def _inside(self, at: IntArray, delta: int) -> BoolArray:
        """Return which vectors are in the box of each query, (n_vectors, n_queries); takes votes (n_labels, n_queries).

        A label is compared only if some vector and some query can be farther apart than delta.
        """
        inside = np.ones((len(self.n_rows), at.shape[1]), dtype=np.bool_)
        for label in np.flatnonzero((self.most - at.min(axis=1) > delta) | (at.max(axis=1) > delta)).tolist():
            vectors, votes = _entries_of(self.votes, label)
            inside[vectors] &= abs(votes[:, np.newaxis] - at[label]) <= delta
            too_many = np.flatnonzero(at[label] > delta)
            without = np.setdiff1d(np.arange(len(inside)), vectors, assume_unique=True)
            inside[np.ix_(without, too_many)] = False
        return inside


def _entries_of(matrix: CSR, row: int) -> tuple[IntArray, IntArray]:
    """Return columns and values of a row."""
    stored = slice(matrix.indptr[row], matrix.indptr[row + 1])
    return matrix.indices[stored], matrix.data[stored]


def _distinct_rows(votes: Matrix) -> tuple[IntArray, IntArray]:
    """Return the first row of each kind, and the kind of each row."""
    kinds: dict[bytes, int] = {}
    which = np.array([kinds.setdefault(key, len(kinds)) for key in _row_keys(votes)])
    return np.unique(which, return_index=True)[1], which


def _row_keys(votes: Matrix) -> Iterator[bytes]:
    """Yield bytes that are equal where rows are equal."""
    if not sparse.issparse(votes):
        return (row.tobytes() for row in votes)
    votes.sum_duplicates()  # sorted
    ends = zip(votes.indptr[:-1], votes.indptr[1:], strict=True)
    return (votes.indices[start:stop].tobytes() + votes.data[start:stop].tobytes() for start, stop in ends)


@dataclass(frozen=True)
class LeavingOutOfBoxes(LeavingOut):
    """As `LeavingOut`, but of the rows in the box of i's votes only; all matrices are dense.

    A row m whose votes change without the group may enter the box or leave it, and so count for every label.
    """

    vectors: VoteVectors
    delta: int

    @classmethod
    def of_all(cls, leaving_out: LeavingOut, vectors: VoteVectors, delta: int) -> LeavingOutOfBoxes:
        """Take the state for leaving rows out of all rows, and the vectors of votes when none is left out."""
        known = {field.name: getattr(leaving_out, field.name) for field in fields(leaving_out)}
        stored = ("own", "group_units", "sums", "votes", "own_votes")
        known |= {name: as_dense(known[name]) for name in stored}
        known["units"] = copy(leaving_out.units)
        known["units"].labels = known["own"]
        return cls(**known, vectors=vectors, delta=delta)

    def _count_all(self, at: IntArray) -> IntArray:
        return self.vectors.counts_at(at, self.delta)

    def _is_counted(self, votes: IntArray, at: IntArray) -> BoolArray:
        apart = votes - at
        return np.asarray((apart == 0) & (abs(apart) <= self.delta).all(axis=1, keepdims=True))
