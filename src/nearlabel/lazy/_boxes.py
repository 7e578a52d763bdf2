"""Training rows counted in a box around the votes of a query: the rows whose votes are near for every label at once.

DML-kNN learns from these counts. A row is in the box of some votes if none of its own votes, those of its neighbours,
differs from them by more than delta. A box of the width k holds all rows.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.lazy._counts import LeavingOut
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import CSR, BoolArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense


class VoteVectors(NamedTuple):
    """The votes of the training rows, each vector of votes once, label by label.

    Rows with equal votes are in the same boxes, so they are looked at once.
    """

    votes: CSR  # (n_labels, n_vectors)
    most: IntArray  # (n_labels,), of all votes for a label
    n_rows: IntArray  # (n_vectors,), that have these votes
    n_carriers: CSR  # (n_labels, n_vectors), of these rows, those that carry the label

    @classmethod
    def of(cls, votes: Matrix, labels: Matrix) -> VoteVectors:
        """Take votes and label sets of the training rows (n_samples, n_labels), each dense or CSR."""
        first, which = _distinct_rows(votes)
        rows = sparse.csr_array((np.ones(len(which), dtype=np.int64), (which, np.arange(len(which)))))
        by_label, n_carriers = (
            sparse.csr_array(matrix.T) for matrix in (votes[first], rows @ sparse.csr_array(labels))
        )
        return cls(by_label, as_dense(by_label.max(axis=1)).ravel(), np.bincount(which), n_carriers)

    def counts_at(self, at: IntArray, delta: int) -> IntArray:
        """Count the rows in the box of each query's votes (n_queries, n_labels) that also have its votes for a label.

        Returns counts (2, n_queries, n_labels): [1] of those that carry the label, [0] of the others.
        """
        queries, which = np.unique(at.astype(self.votes.dtype), axis=0, return_inverse=True)
        counts = np.empty((2, *queries.shape), dtype=np.int64)
        for block in row_blocks(len(queries), 32 * len(self.n_rows)):
            counts[:, block] = self._count_block(queries[block].T, delta)
        return counts[:, which.ravel()]

    def _count_block(self, at: IntArray, delta: int) -> IntArray:
        """Take votes (n_labels, n_queries); see `counts_at`.

        Of a label, only the vectors with a vote are looked at. All others in the box are counted first, as if the label
        had no votes: they have the votes of a query without a vote.
        """
        inside = self._inside(at, delta)
        everyone = np.broadcast_to(self.n_rows @ inside, at.shape)
        counts = np.stack([everyone, self.n_carriers @ inside]) * (at == 0)
        for label in np.flatnonzero(np.diff(self.votes.indptr)).tolist():
            vectors, votes = self._of_label(label)
            carriers = self.n_carriers[[label]].toarray()[0, vectors]
            gained = (votes == at[label]).astype(np.int8) - (at[label] == 0)
            weights = np.stack([self.n_rows[vectors], carriers]).astype(np.float64)  # sums are exact: below 2^53
            counts[:, label] += (weights @ (gained * inside[vectors])).astype(np.int64)
        counts[0] -= counts[1]
        return np.asarray(counts.transpose(0, 2, 1))

    def _inside(self, at: IntArray, delta: int) -> BoolArray:
        """Return which vectors are in the box of each query, (n_vectors, n_queries); takes votes (n_labels, n_queries).

        A label is looked at only if some vector and some query can be farther apart than delta.
        """
        inside = np.ones((len(self.n_rows), at.shape[1]), dtype=np.bool_)
        for label in np.flatnonzero((self.most - at.min(axis=1) > delta) | (at.max(axis=1) > delta)).tolist():
            vectors, votes = self._of_label(label)
            inside[vectors] &= abs(votes - at[label]) <= delta
            too_many = np.flatnonzero(at[label] > delta)
            without = np.setdiff1d(np.arange(len(inside)), vectors, assume_unique=True)
            inside[np.ix_(without, too_many)] = False
        return inside

    def _of_label(self, label: int) -> tuple[IntArray, IntArray]:
        """Return the vectors with a vote for a label, and their votes as a column."""
        stored = slice(self.votes.indptr[label], self.votes.indptr[label + 1])
        return self.votes.indices[stored], self.votes.data[stored, np.newaxis]


def _distinct_rows(votes: Matrix) -> tuple[IntArray, IntArray]:
    """Return the first row of each kind, and the kind of each row."""
    kinds: dict[bytes, int] = {}
    which = np.array([kinds.setdefault(key, len(kinds)) for key in _row_keys(votes)])
    return np.unique(which, return_index=True)[1], which


def _row_keys(votes: Matrix) -> Any:
    """Yield bytes that are equal where rows are equal."""
    if not sparse.issparse(votes):
        return (row.tobytes() for row in votes)
    votes.sum_duplicates()  # sorted
    ends = zip(votes.indptr[:-1], votes.indptr[1:], strict=True)
    return (votes.indices[start:stop].tobytes() + votes.data[start:stop].tobytes() for start, stop in ends)


@dataclass(frozen=True)
class LeavingOutOfBoxes(LeavingOut):
    """As `LeavingOut`, but of the rows in the box of i's votes only; all matrices are dense.

    A row m that gets other votes without the group may enter the box or leave it, and so count for every label.
    """

    vectors: VoteVectors
    delta: int

    @classmethod
    def of_all(cls, leaving_out: LeavingOut, vectors: VoteVectors, delta: int) -> LeavingOutOfBoxes:
        """Take what leaves rows out of all rows, and the vectors of votes that they have when none is left out."""
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
