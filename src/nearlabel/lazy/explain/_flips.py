"""Flips: the smallest change in votes that changes a decision, found by trial, for every rule in the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.lazy import _engine
from nearlabel.lazy._engine import NeighborLabelSets, Votes
from nearlabel.models.decision import SparseScores
from nearlabel.neighbors.votes import Neighbors
from nearlabel.utils.tables import column_of
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Table
from nearlabel.utils.validation import as_dense, cells_of, row_blocks

FLIP = "flip: smallest change in the label's own votes that would change this decision"
FLIP_BY = "; flip by, flip by votes: the label whose votes need the smallest change, and that change"
FLIP_LABELSET = (
    "flip, needed: the fewest further neighbours with one other label set (flip_labelset) that would change it"
)
FLIP_UNKNOWN = "flip: unknown, because the rule sees the neighbours' label sets"


class Trial:
    """Every number of votes of every listed label, tried with all other votes unchanged."""

    def __init__(self, rule: Any, evidence: Evidence, counts_at: FloatArray) -> None:
        self.rule, self.evidence, self.counts_at = rule, evidence, counts_at
        n_listed, n_counts = counts_at.shape
        self.scores_at = np.empty((n_listed, n_counts))
        self._decided_at = np.empty((n_listed, n_counts), dtype=np.bool_)
        self._by_any = FlipsByAny(evidence.chosen, evidence.n_votes, n_counts) if rule.sees == "rows" else None
        if rule.labels_are_independent:
            cells = Votes(counts_at, evidence.votes.total, evidence.votes.label[:, np.newaxis])
            self.scores_at[:] = rule._score_votes(cells)
            self._decided_at[:] = rule._decide_labels(self.scores_at, cells)
        else:
            self._try_whole_queries()

    def flips(self, account: Account) -> tuple[dict[str, NDArray[Any]], str]:
        """Return columns of the smallest changes that flip each decision, and their meaning in words."""
        if self.rule.sees == "label sets":
            listed = self.evidence.votes.label
            if "needed" not in account.labelsets:
                return {"flip": column_of([None] * len(listed))}, FLIP_UNKNOWN
            return _flips_by_label_set(listed, account.labelsets), FLIP_LABELSET
        flips = {"flip": least_changes(self._decided_at, self.evidence.n_votes)}
        if self._by_any is None:
            return flips, FLIP
        return {**flips, **self._by_any.columns(self.rule.label_names_)}, FLIP + FLIP_BY

    def _try_whole_queries(self) -> None:
        """Score and decide the query again with each change: labels may depend on each other's votes."""
        n_listed, n_counts = self.counts_at.shape
        rows = self.evidence.votes.rows
        n_columns = self.rule._labels.shape[1] + (0 if rows is None else rows.shape[1])
        for block in row_blocks(n_listed, 64 * n_counts * n_columns):
            labels = np.repeat(np.arange(block.start, block.stop), n_counts)
            votes = self._changed(labels, self.counts_at[block].ravel())
            scores = _engine.score(self.rule, votes)
            cells = np.arange(len(labels)), self.evidence.votes.label[labels]
            stored = scores.stored if isinstance(scores, SparseScores) else scores
            self.scores_at[block] = cells_of(stored, *cells).reshape(-1, n_counts)
            if self.rule.sees == "label sets":
                continue  # a number of votes does not determine which label sets the neighbours would have
            decided = _engine.decide(self.rule, scores, votes)
            self._decided_at[block] = cells_of(decided, *cells).reshape(-1, n_counts) == 1
            if self._by_any is not None:
                self._by_any.look_at(block, as_dense(decided).reshape(-1, n_counts, decided.shape[1]) == 1)

    def _changed(self, labels: IntArray, counts: FloatArray) -> Votes:
        """Return the votes of one query for each change: a listed label, by its place, gets another count."""
        votes, n_rows, n_labels = self.evidence.votes, len(labels), self.rule._labels.shape[1]
        count = np.tile(votes.count.astype(counts.dtype), (n_rows, 1))
        count[np.arange(n_rows), labels] = counts
        if len(votes.label) < n_labels or (sparse.issparse(self.rule._labels) and self.rule.takes_sparse_votes):
            row, place = np.nonzero(count)
            count = sparse.csr_array((count[row, place], (row, votes.label[place])), shape=(n_rows, n_labels))
        rows, labelsets = votes.rows, votes.labelsets
        if rows is not None:
            rows = sparse.vstack([rows] * n_rows, format="csr") if sparse.issparse(rows) else np.tile(rows, (n_rows, 1))
        if labelsets is not None:
            number, frequency = (np.tile(of_neighbors, (n_rows, 1)) for of_neighbors in labelsets[:2])
            labelsets = NeighborLabelSets(number, frequency, labelsets.random)
        return Votes(count, np.full((n_rows, 1), votes.total), np.arange(n_labels), rows, labelsets)


class FlipsByAny:
    """The smallest change of the votes of any one label that flips each label's decision.

    Among changes of as many votes the label's own comes first, then the label of lower number, then the loss.
    """

    def __init__(self, chosen: BoolArray, votes: IntArray, n_counts: int) -> None:
        self.chosen = chosen
        self.changes = np.arange(n_counts) - votes[:, np.newaxis]
        self.least = np.full(len(votes), np.iinfo(np.intp).max)
        self.place = np.zeros(len(votes), dtype=np.intp)  # of the change among all changes

    def look_at(self, block: slice, decided: BoolArray) -> None:
        """Take the decisions (n_block, n_counts, n_labels) at every number of votes of a block of labels."""
        labels = np.arange(len(self.chosen))
        is_other = labels[block, np.newaxis, np.newaxis] != labels
        cost = 2 * np.abs(self.changes[block])[:, :, np.newaxis] + is_other
        cost[decided == self.chosen] = np.iinfo(np.intp).max
        cost = cost.reshape(-1, len(labels))
        better = cost.min(axis=0) < self.least
        self.least[better] = cost.min(axis=0)[better]
        self.place[better] = block.start * self.changes.shape[1] + cost.argmin(axis=0)[better]

    def columns(self, names: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return the name of the label whose votes need the smallest change, and that change."""
        by, change = names[self.place // self.changes.shape[1]], self.changes.ravel()[self.place]
        flips = self.least < np.iinfo(np.intp).max
        return {"flip_by": _where(flips, by.tolist()), "flip_by_votes": _where(flips, change.tolist())}


def least_changes(decided: BoolArray, votes: IntArray) -> NDArray[Any]:
    """Return for each label the smallest change of its votes that flips the decision, or None.

    Takes the decision at every number of votes (n_labels, n_counts), and the votes (n_labels,). If a gain and a loss of
    as many votes both flip it, the gain is returned for a label that is not predicted, the loss for one that is.
    """
    each = np.arange(len(votes))
    now = decided[each, votes][:, np.newaxis]
    change = np.arange(decided.shape[1]) - votes[:, np.newaxis]
    cost = 2 * np.abs(change) + (np.where(now, -change, change) < 0)
    cost[decided == now] = np.iinfo(cost.dtype).max
    return _where((decided != now).any(axis=1), change[each, cost.argmin(axis=1)].tolist())


def _flips_by_label_set(listed: IntArray, candidates: Table) -> dict[str, NDArray[Any]]:
    """Return, for each listed label, the least `needed` of a label set that decides it otherwise, and that set."""
    has = np.array([np.isin(listed, labels) for labels in candidates["labels"]])
    other = has != has[0]  # the first is the predicted one
    best = np.where(other, candidates["needed"][:, np.newaxis], np.iinfo(np.intp).max).argmin(axis=0)
    flips = other.any(axis=0)
    return {"flip": _where(flips, candidates["needed"][best].tolist()), "flip_labelset": _where(flips, best.tolist())}


def _where(condition: BoolArray, values: list[Any]) -> NDArray[Any]:
    """Return a column of the values, None where the condition is false."""
    return column_of([one if holds else None for one, holds in zip(values, condition, strict=True)])


# The parts of an explanation that depend on the method: a few columns and words.

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Evidence(NamedTuple):
    """One query as a rule sees it: its neighbours, and the listed labels with their votes."""

    neighbors: Neighbors  # of the one query
    votes: Votes  # cells (n_listed,), `label` ascending; rows and label sets are the rule's input for one query
    weights: FloatArray | None  # (n_neighbors,): of the neighbours' votes; None: one vote each
    carriers: IntArray  # (n_neighbors, n_listed), 0 and 1
    n_votes: IntArray  # (n_listed,): how many votes; the neighbours that carry the label, whatever their weight
    chosen: BoolArray  # (n_listed,)


class Account(NamedTuple):
    """The parts of an explanation of one query that methods add; a rule of votes leaves votes, scores and flips out.

    `rule` describes which labels are predicted, `scores` how scores are computed (None: as shares of the votes), and
    `change` which change would change a decision.
    """

    rule: str = "by a rule on the scores of all labels"
    scores: str | None = None
    change: str = ""
    columns: Table = _NOTHING  # of the listed labels
    shown: Sequence[str] = ()  # which of these columns the text shows
    settings: Mapping[str, Any] = _NOTHING
    labelsets: Table = _NOTHING
    terms: Table = _NOTHING
    neighbors: Table = _NOTHING
    threshold: Any = np.nan  # of all labels, or of each listed one; NaN where no threshold decides


def share_nearer(distances: FloatArray, usual: FloatArray) -> FloatArray:
    """Return, for each mean distance of a query, the share of usual ones (n_samples,), ascending, that are below it."""
    return np.asarray(np.searchsorted(usual, distances, side="left") / len(usual))
