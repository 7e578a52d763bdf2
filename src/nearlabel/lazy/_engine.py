"""The engine: from neighbours to votes, scores and label sets in blocks, for any rule, and with each row left out.

A rule is a `LazyClassifier`. The engine reads its declarations (`sees`, `counts_rows`, `labels_are_independent`) and
passes it votes. Storage, blocks and leaving out are the same for all rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from nearlabel.lazy._counts import Groups, count_rows
from nearlabel.lazy._votes import NeighborLabelSets, Neighbors, Votes
from nearlabel.models.out_of_sample import Answer as OutOfSample
from nearlabel.models.out_of_sample import Needs
from nearlabel.utils.arrays import cells_of, entry_rows, row_blocks, uneven_blocks
from nearlabel.utils.types import CSR, BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense

# Scores with a sparse y: stored for the labels that have a vote; all other labels have one score each.


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


Scores: TypeAlias = FloatArray | SparseScores
Answer: TypeAlias = tuple[slice, Votes, Scores]  # the rows of a block, their votes, their scores
AnswerOfRows: TypeAlias = Answer | tuple[IntArray, Votes, Scores]


def answers(rule: Any, neighbors: Neighbors, n_more: int = 0, left_out: Groups | None = None) -> Iterator[Answer]:
    """Yield the votes and scores of blocks of queries, with room for `n_more` numbers a query.

    With `left_out` the queries are the training samples, and no neighbour is of the row's own group.
    """
    random = check_random_state(getattr(rule, "random_state", None))
    without = None
    if left_out is not None and rule.sees == "label sets":
        without = left_out.count(rule._labelset_of)
    for block in blocks(rule, neighbors, n_more):
        votes = votes_of(rule, neighbors[block], random, None if without is None else without[block])
        yield block, votes, score(rule, votes)


def answers_from_counts(rule: Any, leaving_out: Any) -> Iterator[AnswerOfRows]:
    """Score each training sample from the counts without its group: the rule's own formula, at the row's own votes."""
    leaving_out = rule._counting(leaving_out)
    for rows in leaving_out.blocks():
        without = leaving_out.counts_of(rows)
        n_rows, n_labels = without.votes.shape
        votes = Votes(without.votes, np.full((n_rows, 1), rule.n_neighbors_), np.arange(n_labels))
        scores = rule._score_counts(without.counts, without.totals)
        if sparse.issparse(without.votes):
            scores = SparseScores.like(without.votes, scores, rule._score_counts(*leaving_out.elsewhere(rows)))
        yield rows, votes, scores


def answer(rule: Any, neighbors: Neighbors, needs: Needs, left_out: Groups | None = None) -> OutOfSample:
    """Return the label sets and scores of all queries; see `answers`."""
    return collected(rule, answers(rule, neighbors, left_out=left_out), len(neighbors.indices), needs)


def answer_from_counts(rule: Any, leaving_out: Any, needs: Needs) -> OutOfSample:
    """Return, for a rule that counts rows, the prediction of a fit to all rows of other groups for each sample."""
    return collected(rule, answers_from_counts(rule, leaving_out), rule._n_samples, needs)


def collected(rule: Any, parts: Iterable[AnswerOfRows], n_rows: int, needs: Needs) -> OutOfSample:
    """Join the needed results of all blocks: label sets, in the container of the training ones, and dense scores."""
    labels, order = [], []
    numbers = np.arange(n_rows)
    everything = np.empty((n_rows, rule._labels.shape[1])) if needs.scores else None
    for rows, votes, scores in parts:
        order.append(numbers[rows])
        if needs.labels:
            labels.append(decide(rule, scores, votes))
        if everything is not None:
            everything[rows] = dense_scores(scores)
    return OutOfSample(_in_order(_stacked(labels), np.concatenate(order)) if needs.labels else None, everything)


def top_labels(rule: Any, neighbors: Neighbors, n_labels: int) -> tuple[FloatArray, IntArray]:
    """Return the best labels of every query, two arrays (n_queries, n_labels): scores and labels, as `top_of_dense`."""
    parts = answers(rule, neighbors, n_more=n_labels)
    best = [s.top(n_labels) if isinstance(s, SparseScores) else top_of_dense(s, n_labels) for _, _, s in parts]
    scores, labels = zip(*best, strict=True)
    return np.vstack(scores), np.vstack(labels)


def stored_scores(rule: Any, neighbors: Neighbors) -> CSR:
    """Return the scores of the labels that at least one neighbour carries."""
    parts = answers(rule, neighbors)
    stored = [s.stored if isinstance(s, SparseScores) else csr_where(votes.count, s) for _, votes, s in parts]
    return sparse.vstack(stored, format="csr")


def dense_scores(scores: Scores) -> FloatArray:
    """Return scores as an array."""
    return scores.toarray() if isinstance(scores, SparseScores) else scores


def dense_parts(scores: Scores) -> Iterator[tuple[slice, FloatArray]]:
    """Yield scores as arrays, in blocks of queries whose dense scores fit the memory budget."""
    if not isinstance(scores, SparseScores):
        yield slice(None), scores
        return
    for part in row_blocks(scores.stored.shape[0], 16 * scores.stored.shape[1]):
        yield part, SparseScores(scores.stored[part], scores.unvoted).toarray()


def votes_of(rule: Any, neighbors: Neighbors, random: Any = None, left_out: CSR | None = None) -> Votes:
    """Return the input of the rule for a block of queries.

    `left_out` (n_queries, n_labelsets) is how many rows of each label set are left out with the query.
    """
    count, total = rule._count(neighbors)
    if sparse.issparse(count):
        count.sort_indices()
        count = count if _takes_csr(rule) else count.toarray()
    labelsets = None
    if rule.sees == "label sets":
        number = rule._labelset_of[neighbors.indices]
        frequency = rule._frequency[number]
        if left_out is not None:
            query = np.repeat(np.arange(len(number)), number.shape[1])
            frequency = frequency - cells_of(left_out, query, number.ravel()).reshape(number.shape)
        labelsets = NeighborLabelSets(number, frequency, random)
    return Votes(count, total, np.arange(count.shape[1]), neighbors.rows, labelsets)


def score(rule: Any, votes: Votes) -> Scores:
    """Score all cells of dense votes; of sparse ones the stored cells, and each label once without a vote."""
    if not sparse.issparse(votes.count):
        return np.asarray(rule._score_votes(votes))
    if not rule.labels_are_independent:
        return SparseScores(rule._score_votes(votes), np.zeros(votes.count.shape[1]))
    return SparseScores.like(votes.count, rule._score_votes(votes.cells()), rule._score_votes(_no_votes(rule, votes)))


def decide(rule: Any, scores: Scores, votes: Votes) -> Matrix:
    """Return the label sets of a block (n_queries, n_labels) in the container of the training ones; dense in bytes."""
    if not isinstance(scores, SparseScores):
        labels = np.asarray(as_dense(rule._decide_labels(scores, votes))).astype(np.int8, copy=False)
    elif rule.labels_are_independent:
        unvoted = rule._decide_labels(scores.unvoted, _no_votes(rule, votes))
        labels = scores.choose(rule._decide_labels(scores.stored.data, votes.cells()), unvoted)
    else:
        labels = sparse.csr_array(rule._decide_labels(scores.stored, votes)).astype(np.int64)
    return sparse.csr_array(labels) if sparse.issparse(rule._labels) else as_dense(labels)


def _stacked(labels: list[Matrix]) -> Matrix:
    return sparse.vstack(labels, format="csr") if sparse.issparse(labels[0]) else np.vstack(labels)


def _in_order(labels: Matrix, rows: IntArray) -> Matrix:
    """Return label sets of some rows in the order of the rows: groups of different size are left out one by one."""
    return labels if (np.diff(rows) > 0).all() else labels[np.argsort(rows)]


def blocks(rule: Any, neighbors: Neighbors, n_more: int = 0) -> Iterator[slice]:
    """Yield blocks of queries whose neighbours, votes and scores, and `n_more` numbers, fit the memory budget."""
    if not (sparse.issparse(rule._labels) and _takes_csr(rule)):
        return row_blocks(len(neighbors.indices), rule._bytes_per_query)
    n_votes = np.diff(rule._labels.indptr)[neighbors.indices].sum(axis=1)
    return uneven_blocks(64 * (rule.n_neighbors_ + n_votes + n_more))


def _takes_csr(rule: Any) -> bool:
    """Whether the rule gets sparse votes where y is sparse."""
    return bool(rule.labels_are_independent or rule.takes_sparse_votes)


def _no_votes(rule: Any, votes: Votes) -> Votes:
    """Return the cells of all labels, none of them with a vote."""
    return Votes(np.zeros(len(votes.label), dtype=np.intp), rule.n_neighbors_, votes.label)


# Leave-one-out predictions in blocks, with their neighbours, and the predictions with other label sets.


class LeftOut:
    """Leave-one-out predictions of a fitted classifier and their neighbours, from one search.

    Returned by `LazyClassifier.loo_with_neighbors`.

    Attributes
    ----------
    distances, indices : ndarray of shape (n_samples, n_neighbors)
        The neighbours of each training sample, nearest first, without the row itself. If cells of y are unknown, these
        are the neighbours among all samples.
    """

    def __init__(self, classifier: Any, groups: Groups, training: Neighbors) -> None:
        self.distances, self.indices = training.distances, training.indices
        self._classifier, self._groups, self._training = classifier, groups, training

    def answers(self) -> Iterator[tuple[IntArray, Matrix, FloatArray]]:
        """Yield the predictions; may be called more than once.

        Yields
        ------
        rows : ndarray of int of shape (n_rows,)
            Numbers of training samples, consecutive; together the blocks contain each sample once, in order.
        labels : ndarray or CSR of shape (n_rows, n_labels)
            Their leave-one-out label sets.
        scores : ndarray of shape (n_rows, n_labels)
            Their leave-one-out scores, dense, whatever the form of y.
        """
        rule, numbers = self._classifier, np.arange(len(self.indices))
        if rule._cells is not None:
            labels, scores = rule._cells.answer_left_out(rule, Needs(), self._groups)
            yield numbers, labels, as_dense(scores)
            return
        for rows, votes, scores in rule._answers_left_out(self._groups, self._training):
            labels = decide(rule, scores, votes)
            for part, dense in dense_parts(scores):
                yield numbers[rows][part], labels[part], dense

    def relabelled(self, labels: Matrix) -> LeftOut:
        """Return the predictions that a fit of the same samples with other label sets would give, without a search.

        Parameters
        ----------
        labels : ndarray or CSR of shape (n_samples, n_labels)
            The other label sets, an indicator matrix, stored as y was. If each label is decided by its own votes
            (`labels_are_independent`), columns may be left out; this does not change the predictions of the others.

        Returns
        -------
        LeftOut
            Of a copy of the classifier, which itself is not changed.

        Raises
        ------
        ValueError
            If the classifier was fitted to label sets with unknown cells: neighbours then depend on the label sets.
        """
        rule = copy(self._classifier)
        if rule._cells is not None:
            raise ValueError("y must have no unknown cells to try other label sets, got some.")
        stored = sparse.csr_array(labels) if sparse.issparse(rule._labels) else np.ascontiguousarray(as_dense(labels))
        rule._remember_labels(stored.astype(rule._labels.dtype))
        rule._learn_rows(rule.search_.take(np.arange(len(self.indices))) if rule._learns_from_rows else None, stored)
        if rule.counts_rows:
            rule._counts = count_rows(rule._units(), rule._training_lists().nearest(rule.n_neighbors_))
            rule._learn_counts(rule._counts, rule._counts.sum(axis=2, keepdims=True))
        return LeftOut(rule, self._groups, self._training)


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
