"""The engine: from neighbours to votes, scores and label sets in blocks, for any rule, and with each row left out.

A rule is a `LazyClassifier`. The engine reads its declarations (`sees`, `counts_rows`, `labels_are_independent`) and
passes it votes. Storage, blocks and leaving out are the same for all rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from nearlabel.models.decision import SparseScores
from nearlabel.models.out_of_sample import Answer as OutOfSample
from nearlabel.models.out_of_sample import Needs
from nearlabel.neighbors.votes import Neighbors, Weights, counted_votes, vote_weights
from nearlabel.utils.types import CSR, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense, row_blocks, stacked, uneven_blocks

Scores: TypeAlias = FloatArray | SparseScores  # of a sparse y


# The input of a rule of votes: how many of a query's neighbours have each label.


@dataclass(frozen=True)
class Votes:
    """The votes for labels: of whole queries, or of any cells (query, label).

    A rule with independent labels scores cells: `count`, `total` and `label` are arrays of any shapes that broadcast.
    Any other rule scores whole queries: `count` is (n_queries, n_labels), `total` (n_queries, 1).

    Parameters
    ----------
    count : ndarray or CSR
        Number of neighbours that have the label, or their summed weight; always exact.
    total : int or ndarray
        Number of neighbours of the query, or their summed weight; always exact.
    label : ndarray of int
        Column numbers of the labels.
    rows : ndarray or CSR of shape (n_queries, n_features), default=None
        The queries, for a rule that sees rows.
    labelsets : NeighborLabelSets, default=None
        The label sets of the neighbours, for a rule that sees label sets.
    """

    count: Matrix
    total: Any
    label: Any
    rows: Matrix = None
    labelsets: Any = None

    def cells(self) -> Votes:
        """Return the stored cells of CSR votes as cells in a row."""
        total = np.repeat(np.ravel(self.total), np.diff(self.count.indptr))
        return Votes(self.count.data, total, self.count.indices)

    def of_query(self, row: int) -> Votes:
        """Return the votes of one query."""
        one = slice(row, row + 1)
        labelsets = None if self.labelsets is None else self.labelsets.of_query(row)
        return Votes(
            self.count[one], self.total[one], self.label, None if self.rows is None else self.rows[one], labelsets
        )

    def share(self) -> Matrix:
        """Return the share of the votes: the float nearest to the quotient, stored as `count` is."""
        if not sparse.issparse(self.count):
            return self.count / self.total
        # scipy's own division of a sparse array multiplies by a rounded reciprocal.
        return sparse.csr_array((self.cells().share(), self.count.indices, self.count.indptr), shape=self.count.shape)

    def mean_size(self) -> FloatArray:
        """Return the mean label-set size of each query's neighbours: each label of a neighbour is one of its votes."""
        return np.asarray(self.count.sum(axis=1)).ravel() / np.ravel(self.total)


Answer: TypeAlias = tuple[slice, Votes, Scores]  # the rows of a block, their votes, their scores
AnswerOfRows: TypeAlias = Answer | tuple[IntArray, Votes, Scores]


def answers(rule: Any, neighbors: Neighbors, n_more: int = 0, left_out: Groups | None = None) -> Iterator[Answer]:
    """Yield the votes and scores of blocks of queries, with room for `n_more` numbers a query.

    With `left_out` the queries are the training samples, and no neighbour is of the row's own group.
    """
    random = check_random_state(getattr(rule, "random_state", None))
    without = None if left_out is None else rule._labelsets_in(left_out)
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
    """Join the needed results of all blocks: label sets, in the container of the training ones, and dense scores.

    With ``needs.sparse`` the scores of a sparse y are `SparseScores`.
    """
    labels, order = [], []
    stored: list[Any] = []
    numbers = np.arange(n_rows)
    everything = np.empty((n_rows, rule._labels.shape[1])) if needs.scores and not needs.sparse else None
    for rows, votes, scores in parts:
        order.append(numbers[rows])
        if needs.labels:
            labels.append(decide(rule, scores, votes))
        if everything is not None:
            for part, dense in dense_parts(scores):
                everything[numbers[rows][part]] = dense
        elif needs.scores:
            stored.append(scores)
    joined: Any = everything
    places = np.concatenate(order)
    if stored:
        are_sparse = isinstance(stored[0], SparseScores)
        joined = _in_order(SparseScores.joined(stored) if are_sparse else np.vstack(stored), places)
    return OutOfSample(_in_order(stacked(labels), places) if needs.labels else None, joined)


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
    labelsets = rule._labelsets_of(neighbors, random, left_out)
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


def _in_order(parts: Any, rows: IntArray) -> Any:
    """Return label sets, or scores, in the order of their rows: groups of different size are left out one by one."""
    return parts if (np.diff(rows) > 0).all() else parts[np.argsort(rows)]


def blocks(rule: Any, neighbors: Neighbors, n_more: int = 0) -> Iterable[slice]:
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


class NeighborLabelSets(NamedTuple):
    """The label sets of the neighbours, by number, the training samples that have each, and the order of ties."""

    number: IntArray  # (n_queries, n_neighbors)
    frequency: IntArray  # (n_queries, n_neighbors), with sample weights in units of counts
    random: np.random.RandomState
    weights: FloatArray | None = None  # (n_queries, n_neighbors), of votes, with sample weights

    def of_query(self, row: int) -> NeighborLabelSets:
        """Return those of one query."""
        one = slice(row, row + 1)
        weights = None if self.weights is None else self.weights[one]
        return self._replace(number=self.number[one], frequency=self.frequency[one], weights=weights)


def count_votes(neighbors: Neighbors, labels: Matrix, weights: FloatArray | None = None) -> tuple[Matrix, Any]:
    """Return the votes (n_queries, n_labels), stored as the labels are, and their totals (n_queries, 1).

    Takes the weight of each neighbour's vote (n_queries, n_neighbors); None: one vote each.
    """
    votes = counted_votes(neighbors.indices, labels, weights)
    if weights is None:
        return votes, np.full((len(neighbors.indices), 1), neighbors.indices.shape[1])
    return votes, total_weight(weights)


def total_weight(weights: FloatArray) -> FloatArray:
    """Return the summed weight of the votes of each query (n_queries, 1); 1 where all are 0."""
    total = weights.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0, total, 1.0))


def whole_votes(count: Any, total: Any, n_neighbors: int) -> Any:
    """Return weighted votes as whole ones, 0 to n_neighbors: the share of the weight times n_neighbors, half up."""
    return np.floor(n_neighbors * count / total + 0.5).astype(np.min_scalar_type(-n_neighbors - 1))


def exact_weights(
    neighbors: Neighbors, weights: Weights, sample_weight: FloatArray | None = None, most_added: int = 1
) -> FloatArray:
    """Return the weight of each neighbour's vote (n_queries, n_neighbors): of the heaviest 1; times its sample weight.

    Weights are multiples of a power of two so large that a sum of `most_added` times each weight is exact in float64:
    neighbours of equal weight vote as if unweighted, and the order of addition does not matter. Whole sample weights
    stay whole: a neighbour of weight 3 has exactly the vote of three of weight 1.
    """
    weighed = vote_weights(neighbors.distances, weights)
    heaviest = weighed.max(axis=1, keepdims=True)
    weighed = weighed / np.where(heaviest > 0, heaviest, 1.0)
    grid = 2.0 ** np.floor(52 - np.log2(weighed.shape[1] * most_added))
    if sample_weight is None:
        return np.asarray(np.rint(weighed * grid) / grid)
    weighed = weighed * sample_weight[neighbors.indices]
    unit = np.frexp(weighed.max(axis=1, keepdims=True))[1]  # the power of two above the heaviest
    # Only ratios matter: of weights near the largest float the sum would be none.
    return np.asarray(np.ldexp(np.rint(np.ldexp(weighed, -unit) * grid) / grid, np.minimum(unit, 900)))


def has_majority(scores: Any, majority: str) -> Any:
    """Return which labels more than half ("strict"), or at least half, of the votes are for."""
    return scores > 0.5 if majority == "strict" else scores >= 0.5


class Groups(NamedTuple):
    """Rows in groups that are left out together; most often each row is one."""

    number: IntArray  # of the group of each row
    members: IntArray  # rows, group by group
    ends: IntArray  # of the groups in `members`, after 0
    sizes: IntArray  # rows of each group
    largest: int

    @classmethod
    def of(cls, number: IntArray) -> Groups:
        """Take the number of each row's group: all from 0 on."""
        sizes = np.bincount(number)
        members = np.argsort(number, kind="stable")
        return cls(number, members, np.append(0, np.cumsum(sizes)), sizes, int(sizes.max()))

    def count(self, kind: IntArray, weights: IntArray | None = None) -> CSR:
        """Return how many rows of each row's group are of each kind (n_samples, n_kinds), or their summed weights."""
        n_rows = len(kind)
        counted = np.ones(n_rows, dtype=np.int64) if weights is None else weights
        kinds = sparse.csr_array((counted, (np.arange(n_rows), kind)))
        return sparse.csr_array(self.add(kinds))[self.number]

    def add(self, own: Matrix) -> Matrix:
        """Return the summed units of each group (n_groups, n_labels), stored as those of the rows."""
        if self.largest == 1:
            return own if (np.diff(self.members) > 0).all() else own[self.members]
        ones = np.ones(len(self.members), dtype=np.int64)
        return sparse.csr_array((ones, self.members, self.ends), shape=(len(self.sizes), len(self.number))) @ own

    def others_of(self, training: Neighbors, k: int) -> Neighbors:
        """Return the k nearest neighbours of each training sample that are not of its group."""
        return training if self.largest == 1 else training.at(self.places_of_others(training.indices, k))

    def places_of_others(self, neighbors: IntArray, k: int) -> IntArray:
        """Return the columns (n_samples, k) of the nearest neighbours of each row that are not of its group."""
        places = np.empty((len(neighbors), k), dtype=np.intp)
        for block in row_blocks(len(neighbors), 24 * neighbors.shape[1]):
            is_own = self.number[neighbors[block]] == self.number[block, np.newaxis]
            places[block] = is_own.argsort(axis=1, kind="stable")[:, :k]
        return places
