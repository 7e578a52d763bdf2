"""The engine: from neighbours to votes, scores and label sets in blocks, for any rule, and with each row left out.

A rule is a `LazyClassifier`. The engine reads its declarations (`sees`, `counts_rows`, `labels_are_independent`) and
passes it votes. Storage, blocks and leaving out are the same for all rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from nearlabel.lazy._counts import Groups
from nearlabel.lazy._sparse_scores import SparseScores, csr_where, top_of_dense
from nearlabel.lazy._votes import NeighborLabelSets, Neighbors, Votes
from nearlabel.out_of_sample import Answer as OutOfSample
from nearlabel.out_of_sample import Needs
from nearlabel.utils.blocks import row_blocks, uneven_blocks
from nearlabel.utils.cells import cells_of
from nearlabel.utils.types import CSR, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense

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
