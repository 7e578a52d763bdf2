"""The best labels of each query: highest score first, equal scores by label number, without a loop over rows."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from nearlabel.utils.types import CSR, FloatArray, IntArray


def best_of_dense(scores: FloatArray, n_labels: int) -> tuple[FloatArray, IntArray]:
    """Return the best `n_labels` of each row of dense scores: two arrays (n_queries, n_labels), scores and labels."""
    nth = np.partition(scores, -n_labels, axis=1)[:, [-n_labels]]
    above, level = scores > nth, scores == nth
    room = n_labels - above.sum(axis=1, keepdims=True)
    chosen = above | (level & (level.cumsum(axis=1) <= room))
    labels = np.nonzero(chosen)[1].reshape(-1, n_labels)
    best = np.take_along_axis(scores, labels, axis=1)
    order = np.argsort(-best, axis=1, kind="stable")
    return np.take_along_axis(best, order, axis=1), np.take_along_axis(labels, order, axis=1)


class BestOfSparse:
    """Finds the best labels where scores are stored only of labels with votes, and the others have one score each.

    A row with v voted labels finds its best `n_labels` among those and the best ``n_labels + v`` labels without a vote,
    of which at most v are voted in this row.

    Parameters
    ----------
    unvoted : ndarray of shape (n_labels_in_all,)
        The score of each label without a vote.
    n_labels : int
        How many labels of each query.
    """

    def __init__(self, unvoted: FloatArray, n_labels: int) -> None:
        self.unvoted, self.n_labels = unvoted, n_labels
        self.best_unvoted = np.argsort(-unvoted, kind="stable")
        self.place = np.empty_like(self.best_unvoted)  # of each label among the unvoted ones
        self.place[self.best_unvoted] = np.arange(len(unvoted))

    def __call__(self, voted: CSR) -> tuple[FloatArray, IntArray]:
        """Return scores and labels, two arrays (n_queries, n_labels), of CSR scores."""
        row = rows_of(voted)
        other_row, other = self._best_without_vote(voted, row)
        entries = (np.concatenate([row, other_row]), np.concatenate([voted.indices, other]))
        scores = sparse.csr_array((np.concatenate([voted.data, self.unvoted[other]]), entries), shape=voted.shape)
        scores.sort_indices()
        order = np.lexsort((-scores.data, rows_of(scores)))
        best = order[scores.indptr[:-1, np.newaxis] + np.arange(self.n_labels)]
        return scores.data[best], scores.indices[best].astype(np.intp)

    def _best_without_vote(self, voted: CSR, row: IntArray) -> tuple[IntArray, IntArray]:
        """Return rows and labels of the best `n_labels` labels that have no vote in a row, or of all of them."""
        sizes = np.minimum(self.n_labels + np.diff(voted.indptr), voted.shape[1])
        first = np.cumsum(sizes) - sizes
        other_row = np.repeat(np.arange(len(sizes)), sizes)
        place = np.arange(len(other_row)) - first[other_row]
        fresh = np.ones(len(place), dtype=np.bool_)
        own_place = self.place[voted.indices]
        near = own_place < sizes[row]
        fresh[first[row[near]] + own_place[near]] = False
        return other_row[fresh], self.best_unvoted[place[fresh]]


def rows_of(stored: CSR) -> IntArray:
    """Return the row of each stored entry."""
    return np.repeat(np.arange(stored.shape[0]), np.diff(stored.indptr))
