"""Scores with a sparse y: stored for the labels that have a vote; all other labels have one score each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from nearlabel.utils.cells import cells_of, entry_rows
from nearlabel.utils.types import CSR, BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class SparseScores:
    """Scores (n_queries, n_labels): `stored` ones with sorted indices, and the score of each label without a vote."""

    stored: CSR
    unvoted: FloatArray  # (n_labels,)

    @classmethod
    def like(cls, votes: CSR, scores: FloatArray, unvoted: FloatArray) -> SparseScores:
        """Take the score of each stored vote, in the order of storage."""
        return cls(sparse.csr_array((scores, votes.indices, votes.indptr), shape=votes.shape), np.asarray(unvoted))

    def toarray(self) -> FloatArray:
        """Return all scores as an array."""
        scores = np.tile(self.unvoted, (self.stored.shape[0], 1))
        scores[entry_rows(self.stored), self.stored.indices] = self.stored.data
        return scores

    def choose(self, stored: BoolArray, unvoted: BoolArray) -> CSR:
        """Return the label sets of decisions on the stored scores, and on each label without a vote.

        Labels predicted even without a vote are common to most queries; only their columns are filled.
        """
        rows, labels, common = entry_rows(self.stored), self.stored.indices, np.flatnonzero(unvoted)
        empty_row, empty_column = np.nonzero(self._is_stored()[:, common].toarray() == 0)
        entries = np.concatenate([rows[stored], empty_row]), np.concatenate([labels[stored], common[empty_column]])
        decided = sparse.csr_array((np.ones(len(entries[0]), dtype=np.int64), entries), shape=self.stored.shape)
        decided.sort_indices()
        return decided

    def _is_stored(self) -> CSR:
        """Return 1 where a score is stored, even if it is 0."""
        ones = np.ones(self.stored.nnz, dtype=np.int8)
        return sparse.csr_array((ones, self.stored.indices, self.stored.indptr), shape=self.stored.shape)

    def top(self, n_labels: int) -> tuple[FloatArray, IntArray]:
        """Return the best labels of each query, as `top_of_dense` does, without a dense matrix.

        A query with v stored scores finds its best among those and the best ``n_labels + v`` labels without a vote, of
        which at most v are stored for this query.
        """
        other_rows, others = self._best_unvoted(n_labels)
        entries = np.concatenate([entry_rows(self.stored), other_rows]), np.concatenate([self.stored.indices, others])
        values = np.concatenate([self.stored.data, self.unvoted[others]])
        scores = sparse.csr_array((values, entries), shape=self.stored.shape)
        scores.sort_indices()
        order = np.lexsort((-scores.data, entry_rows(scores)))
        best = order[scores.indptr[:-1, np.newaxis] + np.arange(n_labels)]
        return scores.data[best], scores.indices[best].astype(np.intp)

    def _best_unvoted(self, n_labels: int) -> tuple[IntArray, IntArray]:
        """Return rows and labels of the best `n_labels` labels that have no vote in a row, or of all of them."""
        by_score = np.argsort(-self.unvoted, kind="stable")
        sizes = np.minimum(n_labels + np.diff(self.stored.indptr), self.stored.shape[1])
        rows = np.repeat(np.arange(len(sizes)), sizes)
        labels = by_score[np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)]
        unvoted = cells_of(self._is_stored(), rows, labels) == 0
        return rows[unvoted], labels[unvoted]


def top_of_dense(scores: FloatArray, n_labels: int) -> tuple[FloatArray, IntArray]:
    """Return the best `n_labels` of each row of scores, two arrays (n_queries, n_labels): scores and labels.

    Highest score first, equal scores by label number.
    """
    labels = np.argsort(-scores, axis=1, kind="stable")[:, :n_labels]
    return np.take_along_axis(scores, labels, axis=1), labels


def csr_where(votes: IntArray, scores: FloatArray) -> CSR:
    """Return dense scores as CSR, those of the cells that have a vote."""
    rows, labels = np.nonzero(votes)
    return sparse.csr_array((scores[rows, labels], (rows, labels)), shape=votes.shape)
