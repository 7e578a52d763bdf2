"""Lazy methods whose score of a label follows from the neighbours that carry it: sparse where y is sparse."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
from scipy import sparse

from nearlabel.lazy._best import BestOfSparse, rows_of
from nearlabel.lazy._leave_one_out import LeaveOneOut
from nearlabel.lazy._query_neighbors import Neighbors, some_of
from nearlabel.utils.blocks import uneven_blocks
from nearlabel.utils.types import CSR, FloatArray, IntArray, Matrix, MatrixLike


class ByVotes(LeaveOneOut):
    """A lazy classifier that gives all labels without a vote one score each, whatever the query.

    So with a sparse y only labels with votes are visited. A subclass defines `_voted_scores`, and `_unvoted_scores`
    where those are not 0.
    """

    def predict_proba_sparse(self, X: MatrixLike) -> CSR:
        """Return the scores of the labels that at least one neighbour carries, as a sparse array.

        For so many labels that a dense ``predict_proba`` has no room: some n_neighbors times the labels of a row are
        stored. What is not stored has the score of a label without a vote: 0, but in `MLkNN`, where it is
        ``posterior_[:, 0]``, a small number for a rare label. (In `CMLkNN` a label has a vote if the neighbours'
        memberships add up to one half or more.)

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        scores : csr_array of shape (n_queries, n_labels)
            Those of `predict_proba` where a neighbour carries the label; columns ascend along each row.

        See Also
        --------
        predict_topk : The best labels of each query, those without a vote included.
        """
        neighbors = self._find_neighbors(X)
        scores = sparse.vstack([self._voted_scores(some) for _, some in self._in_blocks(neighbors)], format="csr")
        scores.sort_indices()
        return scores

    def _learn(self, X: Matrix, labels: Matrix) -> None:
        self._labels = labels.astype(np.int8) if sparse.issparse(labels) else labels.astype(np.int8, order="C")

    @abstractmethod
    def _voted_scores(self, neighbors: Neighbors) -> CSR:
        """Return the scores (n_queries, n_labels) of the labels with a vote."""

    def _unvoted_scores(self) -> FloatArray:
        """Return the score of each label without a vote (n_labels,)."""
        return np.zeros(len(self.label_names_))

    @property
    def _visits_votes_only(self) -> bool:
        return bool(sparse.issparse(self._labels))

    @property
    def _lists_votes_only(self) -> bool:
        return self._visits_votes_only

    def _score_in_blocks(self, neighbors: Neighbors) -> FloatArray:
        if not self._visits_votes_only:
            return super()._score_in_blocks(neighbors)
        scores = np.empty((len(neighbors.indices), len(self.label_names_)))
        scores[:] = self._unvoted_scores()
        for block, some in self._in_blocks(neighbors):
            voted = self._voted_scores(some)
            scores[block][rows_of(voted), voted.indices] = voted.data
        return scores

    def _best_in_blocks(self, neighbors: Neighbors, n_labels: int) -> tuple[FloatArray, IntArray]:
        if not self._visits_votes_only:
            return super()._best_in_blocks(neighbors, n_labels)
        find = BestOfSparse(self._unvoted_scores(), n_labels)
        scores = np.empty((len(neighbors.indices), n_labels))
        labels = np.empty(scores.shape, dtype=np.intp)
        for block in self._blocks_by_votes(neighbors, n_more=n_labels):
            scores[block], labels[block] = find(self._voted_scores(some_of(neighbors, block)))
        return scores, labels

    def _query_blocks(self, neighbors: Neighbors) -> Iterator[slice]:
        if not self._visits_votes_only:
            return super()._query_blocks(neighbors)
        return self._blocks_by_votes(neighbors, n_more=int(np.sum(self._unvoted_scores() >= 0.5)))

    def _blocks_by_votes(self, neighbors: Neighbors, n_more: int) -> Iterator[slice]:
        """Yield blocks of queries whose neighbours, votes and `n_more` numbers besides fit the memory budget."""
        votes = np.diff(self._labels.indptr)[neighbors.indices].sum(axis=1)
        return uneven_blocks(64 * (self.n_neighbors_ + votes + n_more))
