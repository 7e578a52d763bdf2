"""Label sets with unknown cells: each label is learnt from, and voted on by, the rows that know it.

Label l behaves as if the rows whose cell l is unknown did not exist for l. Labels that the same rows know are a group,
and each group has a rule of its own: the classifier's class, with the group's columns of y. All groups take their
neighbours from one deep list of each query: `KnownNeighbors` walks it to the k-th row that knows the label.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.lazy import _engine
from nearlabel.lazy._counts import CountsWithout, Groups, LeavingOut, Units, count_rows
from nearlabel.lazy._sparse_scores import top_of_dense
from nearlabel.lazy._votes import Neighbors, Votes
from nearlabel.neighbors.contract import clone_search, drop_self
from nearlabel.out_of_sample import Answer, Needs
from nearlabel.utils.blocks import BLOCK_BYTES, row_blocks
from nearlabel.utils.notes import AdviceWarning
from nearlabel.utils.types import CSR, BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense

_LEAST_SHARE = 1 / 8  # labels that fewer rows know are searched for on those rows: lists would be too deep
_FEW_LABELS = 8  # of a group: dense columns then take less room than CSR ones, each with its own ends of rows


@dataclass(frozen=True, eq=False)
class LabelGroup:
    """Labels that the same rows know, and the rule that is fitted to those rows."""

    labels: IntArray  # column numbers, ascending
    hidden: IntArray  # the rows in which these labels are unknown, ascending
    rule: Any = None  # None before the fit, and where there is no row to vote

    def known(self, n_samples: int) -> BoolArray:
        """Return which of all training rows know these labels."""
        known = np.ones(n_samples, dtype=np.bool_)
        known[self.hidden] = False
        return known


@dataclass(frozen=True, eq=False)
class KnownNeighbors:
    """Neighbours of some queries among any part of the training rows, from one list of each query."""

    lists: Neighbors  # among all training rows
    rows: Matrix  # the queries
    own: IntArray | None  # numbers of the queries, where they are training rows
    weighs: bool  # whether distances are read
    search_known: Callable[[Matrix, IntArray, int], tuple[FloatArray, IntArray]]

    def __len__(self) -> int:
        return len(self.lists.indices)

    def __getitem__(self, some: IntArray) -> KnownNeighbors:
        own = None if self.own is None else self.own[some]
        return replace(self, lists=self.lists[some], rows=self.rows[some], own=own)

    def among(self, known: BoolArray, n_neighbors: int) -> Neighbors:
        """Return the nearest of the training rows that a mask (n_samples,) names, by their numbers among all."""
        if known.all() and n_neighbors <= self.lists.indices.shape[1]:
            return self.lists.nearest(n_neighbors)
        shape = len(self.lists.indices), n_neighbors
        distances = np.empty(shape) if self.weighs else np.broadcast_to(0.0, shape)
        indices, lacking = np.empty(shape, dtype=np.intp), np.zeros(shape[0], dtype=np.bool_)
        for block in row_blocks(shape[0], 32 * max(self.lists.indices.shape[1], n_neighbors)):
            places, lacking[block] = _first_known(known[self.lists.indices[block]], n_neighbors)
            indices[block] = self.lists.indices[block].take(places)
            if self.weighs:
                distances[block] = self.lists.distances[block].take(places)
        again = np.flatnonzero(lacking)
        if len(again):
            found = self[again]._searched(np.flatnonzero(known), n_neighbors)
            indices[again] = found.indices
            if self.weighs:
                distances[again] = found.distances
        return Neighbors(distances, indices)

    def _searched(self, known: IntArray, n_neighbors: int) -> Neighbors:
        """Search on the rows that know a label alone; a query that is one of them is not its own neighbour."""
        if self.own is None:
            distances, indices = self.search_known(self.rows, known, n_neighbors)
            return Neighbors(distances, known[indices])
        distances, indices = self.search_known(self.rows, known, min(n_neighbors + 1, len(known)))
        indices = known[indices]
        if indices.shape[1] > n_neighbors:
            distances, indices = drop_self(distances, indices, self.own)
        return Neighbors(distances, indices)


def _first_known(known: BoolArray, n: int) -> tuple[IntArray, BoolArray]:
    """Return flat places of the first n known cells of each row, and which rows have fewer: their places mean nothing."""
    found = known.sum(axis=1)
    first = np.cumsum(found) - found
    places = np.append(np.flatnonzero(known), 0)
    return places[np.minimum(first[:, np.newaxis] + np.arange(n), len(places) - 1)], found < n


class KnownUnits(Units):
    """Units of labels, then of their opposites: what each row that knows a label lacks of it. A row is in no more.

    So a row that does not know the label is counted on neither side, but has a list and votes like any other, and can
    be left out with its group. A neighbour votes for the label or for its opposite, so the votes of both make k.
    """

    def __init__(self, units: Units, known: BoolArray) -> None:
        labels = as_dense(units.labels)
        super().__init__(np.hstack([labels, known[:, np.newaxis] - labels]))
        self._units, self.add_up = units, units.add_up

    def sums(self, neighbors: Neighbors) -> Matrix:
        """Return the votes of each query's neighbours for the labels and against them (n_queries, 2 · n_labels)."""
        votes = as_dense(self._units.sums(neighbors))
        return np.hstack([votes, neighbors.indices.shape[1] - votes])


class LeavingOutKnown:
    """What a fit without a row, and without its group, counts for labels that only some rows know."""

    def __init__(self, units: Units, known: BoolArray, lists: Neighbors, k: int, groups: Groups) -> None:
        self._both = LeavingOut.of(KnownUnits(units, known), lists, k, groups)

    def blocks(self) -> Iterator[IntArray]:
        """Yield rows whose counts fit the memory budget."""
        return self._both.blocks()

    def counts_of(self, rows: IntArray) -> CountsWithout:
        """Return the counts without the group of each of some rows."""
        votes, counts, totals = self._both.counts_of(rows)
        n_labels = votes.shape[1] // 2
        with_and_without = (np.stack([one[1][:, n_labels:], one[1][:, :n_labels]]) for one in (counts, totals))
        return CountsWithout(votes[:, :n_labels], *with_and_without)


@dataclass(frozen=True)
class Shares(Votes):
    """The scores of each query as votes of a single neighbour: what a rule sees of labels that different rows know."""

    def mean_size(self) -> FloatArray:
        """Return the sum of each query's scores; to nine digits, so that halves are halves."""
        return np.round(super().mean_size(), 9)


class KnownCells:
    """The groups of a classifier's labels, and what they answer together.

    `use` fits the rules; all else asks them. The classifier itself is an argument, not kept.
    """

    def __init__(self, X: Matrix, unknown: Matrix) -> None:
        self._X = X  # searched again where a list is not deep enough
        self._groups = [LabelGroup(labels, hidden) for labels, hidden in groups_of_labels(unknown)]

    @property
    def groups(self) -> list[tuple[IntArray, Any]]:
        """Return the labels and the rule of each group that has one."""
        return [(group.labels, group.rule) for group in self._groups if group.rule is not None]

    def unknown(self, n_labels: int) -> BoolArray:
        """Return the mask of unknown cells (n_samples, n_labels)."""
        unknown = np.zeros((self._X.shape[0], n_labels), dtype=np.bool_)
        for group in self._groups:
            unknown[np.ix_(group.hidden, group.labels)] = True
        return unknown

    # Learning.

    def use(self, classifier: Any, n_neighbors: int, training: KnownNeighbors | None = None) -> None:
        """Fit the rule of each group with so many neighbours, or as many as know its labels."""
        classifier.n_neighbors_ = n_neighbors
        if classifier.counts_rows:
            training = training or self.training(classifier, n_neighbors)
            classifier._training_distances = training.lists.nearest(n_neighbors).mean_distances()
        fitted = (self._fitted(classifier, group, group.known(self._n_samples), training) for group in self._groups)
        self._groups = list(fitted)
        classifier._gather(self.groups)

    def _fitted(
        self, classifier: Any, group: LabelGroup, known: BoolArray, training: KnownNeighbors | None
    ) -> LabelGroup:
        """Return a group with a rule that is fitted to the known rows."""
        rows = np.flatnonzero(known)
        k = min(classifier.n_neighbors_, len(rows) - int(classifier.counts_rows))
        if k < 1:
            return LabelGroup(group.labels, group.hidden)
        rule = self._unfitted_rule(classifier, group.labels) if group.rule is None else copy(group.rule)
        rule.n_neighbors_ = k
        if classifier.counts_rows and training is not None:
            lists = training[rows].among(known, k)
            rule._counts = count_rows(rule._units(), lists, rows)
            rule._learn_counts(rule._counts, rule._counts.sum(axis=2, keepdims=True))
        return LabelGroup(group.labels, group.hidden, rule)

    def _unfitted_rule(self, classifier: Any, labels: IntArray) -> Any:
        rule = type(classifier)(**{**classifier.get_params(deep=False), "search": None})
        columns = classifier._labels[:, labels]
        rule._labels = np.ascontiguousarray(as_dense(columns)) if len(labels) <= _FEW_LABELS else columns
        rule._n_samples, rule._sample_weight, rule._most_added = self._n_samples, classifier._sample_weight, 1
        rule.label_names_ = classifier.label_names_[labels]
        rule._learn_rows(self._X, rule._labels)
        return rule

    def warn(self, classifier: Any) -> None:
        """Warn of labels that too few rows know, and of rows that know no label."""
        k, least = classifier.n_neighbors_, classifier.n_neighbors_ + int(classifier.counts_rows)
        names, n_known = classifier.label_names_, self._n_known(len(classifier.label_names_))
        none = np.isin(np.arange(len(names)), [label for labels, _ in self.groups for label in labels], invert=True)
        few = (n_known < least) & ~none
        hidden = [group.hidden for group in self._groups]
        rows = hidden[0][np.all([np.isin(hidden[0], one) for one in hidden], axis=0)]
        if none.any():
            _advise(f"{_labels(names[none])} known in too few rows to have a neighbour: the score is always 0.")
        if few.any():
            _advise(f"{_labels(names[few])} known in fewer than {least} rows: all of them vote, instead of {k}.")
        if len(rows):
            n = self._n_samples
            _advise(f"{len(rows)} of {n} training rows know no label at all: they are nobody's neighbours.")

    def _n_known(self, n_labels: int) -> IntArray:
        n_known = np.empty(n_labels, dtype=np.intp)
        for group in self._groups:
            n_known[group.labels] = self._n_samples - len(group.hidden)
        return n_known

    # Neighbours.

    @property
    def _n_samples(self) -> int:
        return int(self._X.shape[0])

    def training(self, classifier: Any, n_neighbors: int) -> KnownNeighbors:
        """Return the neighbours of all training rows, each without itself."""
        depth = self._depth(classifier, n_neighbors, self._n_samples - 1)
        lists = Neighbors(*classifier._ask_search(None, depth))
        own, weighs = np.arange(self._n_samples), classifier.weights != "uniform"
        return KnownNeighbors(lists, self._X, own, weighs, self._search_known(classifier))

    def neighbors_of(self, classifier: Any, X: Matrix) -> KnownNeighbors:
        """Return the neighbours of queries."""
        depth = self._depth(classifier, classifier.n_neighbors_, self._n_samples)
        lists = Neighbors(*classifier._ask_search(X, depth))
        return KnownNeighbors(lists, X, None, classifier.weights != "uniform", self._search_known(classifier))

    def _depth(self, classifier: Any, k: int, most: int) -> int:
        """Return how long a list must be to hold, most often, k rows that know any one label.

        Where a row knows it with probability p, independently, the k-th such row has a place of mean k / p and variance
        k (1 - p) / p². Three deviations more leave little to search for again.
        """
        shares = np.array([1 - len(group.hidden) / self._n_samples for group in self._groups])
        p = min(shares[shares >= _LEAST_SHARE], default=1.0)
        deep = int(np.ceil((k + 3 * np.sqrt(k * (1 - p))) / p))
        return min(deep, most, getattr(classifier.search_, "n_neighbors_known", most))

    def _search_known(self, classifier: Any) -> Callable[[Matrix, IntArray, int], tuple[FloatArray, IntArray]]:
        def search_known(queries: Matrix, known: IntArray, n_neighbors: int) -> tuple[FloatArray, IntArray]:
            if hasattr(classifier.search_, "n_neighbors_known"):
                raise ValueError(
                    f"search must know {n_neighbors} neighbours of each row among those that know a label, and knows"
                    " fewer. Hint: precompute more; with a share p of known cells about n_neighbors / p are needed."
                )
            search = clone_search(classifier.search)
            search.fit(self._X[known])
            distances, indices = search.kneighbors(queries, n_neighbors)
            return distances, indices

        return search_known

    # Answers.

    def answer(self, classifier: Any, X: Matrix, needs: Needs) -> Answer:
        """Return the scores and label sets of queries."""
        answers = []
        for neighbors in self._blocks(classifier, X):
            parts = [self._ask(classifier, group, neighbors, needs) for group in self._groups]
            answers.append(self._joined(classifier, parts, len(neighbors), needs))
        labels, scores = zip(*answers, strict=True)
        return Answer(_stacked(labels) if needs.labels else None, _stacked(scores) if needs.scores else None)

    def _blocks(self, classifier: Any, X: Matrix) -> Iterator[KnownNeighbors]:
        """Yield the neighbours of blocks of queries, whose lists fit the memory budget."""
        depth = self._depth(classifier, classifier.n_neighbors_, self._n_samples)
        for block in row_blocks(X.shape[0], 16 * depth):
            yield self.neighbors_of(classifier, X[block])

    def _ask(
        self,
        classifier: Any,
        group: LabelGroup,
        neighbors: KnownNeighbors,
        needs: Needs,
        known: BoolArray | None = None,
    ) -> Answer:
        """Return what the rule of a group answers by the rows that know its labels, or by other rows."""
        if group.rule is None:
            shape = len(neighbors), len(group.labels)
            return Answer(np.zeros(shape, dtype=np.int8), np.zeros(shape))
        among = neighbors.among(group.known(self._n_samples) if known is None else known, group.rule.n_neighbors_)
        return _rule_answer(classifier, group.rule, among, needs)

    def _joined(self, classifier: Any, parts: Sequence[Answer], n_rows: int, needs: Needs) -> Answer:
        """Put the columns of all groups together; a rule that sees all labels of a row decides on all scores."""
        shape, is_sparse = (n_rows, len(classifier.label_names_)), sparse.issparse(classifier._labels)
        if classifier.labels_are_independent:
            labels = self._columns([part.labels for part in parts], shape, is_sparse) if needs.labels else None
            return Answer(labels, self._columns([part.scores for part in parts], shape) if needs.scores else None)
        scores = self._columns([part.scores for part in parts], shape, is_sparse)
        decided = None
        if needs.labels:
            decided = classifier._decide_labels(scores, Shares(scores, np.ones((n_rows, 1)), np.arange(shape[1])))
            decided = sparse.csr_array(decided) if is_sparse else as_dense(decided)
        return Answer(decided, as_dense(scores) if needs.scores else None)

    def _columns(self, parts: Sequence[Matrix], shape: tuple[int, int], is_sparse: bool = False) -> Matrix:
        """Put the columns of each group in their places."""
        if not is_sparse:
            joined = np.zeros(shape, dtype=parts[0].dtype)
            for group, part in zip(self._groups, parts, strict=True):
                joined[:, group.labels] = as_dense(part)
            return joined
        stored = [sparse.coo_array(part) for part in parts]
        columns = [group.labels[part.col] for group, part in zip(self._groups, stored, strict=True)]
        entries = np.concatenate([part.row for part in stored]), np.concatenate(columns)
        return sparse.csr_array((np.concatenate([part.data for part in stored]), entries), shape=shape)

    def top(self, classifier: Any, X: Matrix, wanted: int) -> tuple[FloatArray, IntArray]:
        """Return the labels of highest score of every query, and their scores, each (n_queries, wanted)."""
        found = []
        for neighbors in self._blocks(classifier, X):
            best = [self._top_of_group(group, neighbors, min(wanted, len(group.labels))) for group in self._groups]
            scores, labels = (np.hstack(part) for part in zip(*best, strict=True))
            order = np.lexsort((labels, -scores), axis=1)[:, :wanted]
            found.append([np.take_along_axis(part, order, axis=1) for part in (scores, labels)])
        scores, labels = (np.vstack(part) for part in zip(*found, strict=True))
        return scores, labels

    def _top_of_group(
        self, group: LabelGroup, neighbors: KnownNeighbors, wanted: int
    ) -> tuple[FloatArray, IntArray]:
        if group.rule is None:
            scores, labels = top_of_dense(np.zeros((len(neighbors), len(group.labels))), wanted)
        else:
            among = neighbors.among(group.known(self._n_samples), group.rule.n_neighbors_)
            scores, labels = _engine.top_labels(group.rule, among, wanted)
        return scores, group.labels[labels]

    def stored_scores(self, classifier: Any, X: Matrix) -> CSR:
        """Return the scores of the labels that a neighbour carries."""
        blocks = []
        for neighbors in self._blocks(classifier, X):
            n_rows = len(neighbors)
            parts = [self._stored_of_group(group, neighbors) for group in self._groups]
            blocks.append(self._columns(parts, (n_rows, len(classifier.label_names_)), is_sparse=True))
        return _stacked(blocks)

    def _stored_of_group(self, group: LabelGroup, neighbors: KnownNeighbors) -> CSR:
        if group.rule is None:
            return sparse.csr_array((len(neighbors), len(group.labels)))
        among = neighbors.among(group.known(self._n_samples), group.rule.n_neighbors_)
        return _engine.stored_scores(group.rule, among)

    # Leave-one-out.

    def answer_left_out(
        self, classifier: Any, needs: Needs, groups: Groups, training: KnownNeighbors | None = None
    ) -> Answer:
        """Return what a fit without a row, and without its group, answers for each training row.

        A cell that is known is answered for without its row, one that is unknown by all rows that know the label: in
        both cases by the rows of other groups.
        """
        training = training or self.training(classifier, classifier.n_neighbors_ + groups.largest)
        parts = [self._left_out(classifier, group, training, groups, needs) for group in self._groups]
        return self._joined(classifier, parts, self._n_samples, needs)

    def _left_out(
        self, classifier: Any, group: LabelGroup, training: KnownNeighbors, groups: Groups, needs: Needs
    ) -> Answer:
        known, k = group.known(self._n_samples), classifier.n_neighbors_
        wanted = k + groups.largest - int(not classifier.counts_rows)
        if wanted >= self._n_samples - len(group.hidden):
            return self._refits(classifier, group, training, groups, needs)
        lists = training.among(known, wanted)
        if not classifier.counts_rows:
            return _rule_answer(classifier, group.rule, groups.others_of(lists, k), needs)
        if not len(group.hidden):
            leaving_out = LeavingOut.of(group.rule._units(), lists, k, groups)
            return _engine.answer_from_counts(group.rule, leaving_out, needs)
        answers = []
        for some in row_blocks(len(group.labels), 16 * self._n_samples, BLOCK_BYTES):
            rule = copy(group.rule)
            rule._labels = rule._labels[:, some]
            leaving_out = LeavingOutKnown(rule._units(), known, lists, k, groups)
            answers.append(_engine.answer_from_counts(rule, leaving_out, needs))
        return _beside(answers)

    def _refits(
        self, classifier: Any, group: LabelGroup, training: KnownNeighbors, groups: Groups, needs: Needs
    ) -> Answer:
        """Fit anew without each group of rows: for labels that so few rows know that all of them are neighbours."""
        known = group.known(self._n_samples)
        among_known = np.unique(groups.number[known])
        others = np.flatnonzero(~np.isin(groups.number, among_known))
        rows, answers = [others], [self._ask(classifier, group, training[others], needs)]
        for number in among_known:
            rest = known & (groups.number != number)
            members = groups.members[groups.ends[number] : groups.ends[number + 1]]
            refitted = self._fitted(classifier, group, rest, training)
            rows.append(members)
            answers.append(self._ask(classifier, refitted, training[members], needs, rest))
        order = np.argsort(np.concatenate(rows))
        labels, scores = zip(*answers, strict=True)
        decided = np.vstack([as_dense(part) for part in labels])[order] if labels[0] is not None else None
        return Answer(decided, np.vstack([as_dense(part) for part in scores])[order] if scores[0] is not None else None)


def groups_of_labels(unknown: Matrix) -> list[tuple[IntArray, IntArray]]:
    """Return the labels that are unknown in the same rows, and those rows, by the first label of each group."""
    columns = sparse.csc_array(unknown)
    columns.sort_indices()
    groups: dict[bytes, list[int]] = {}
    hidden = np.split(columns.indices, columns.indptr[1:-1])
    for label, rows in enumerate(hidden):
        groups.setdefault(rows.tobytes(), []).append(label)
    return [(np.array(labels), hidden[labels[0]]) for labels in groups.values()]


def _rule_answer(classifier: Any, rule: Any, neighbors: Neighbors, needs: Needs) -> Answer:
    """Return what a group's rule answers: scores only where the classifier decides on those of all labels."""
    if classifier.labels_are_independent:
        return _engine.answer(rule, neighbors, needs)
    if sparse.issparse(classifier._labels):
        return Answer(None, _engine.stored_scores(rule, neighbors))
    return _engine.answer(rule, neighbors, Needs(labels=False))


def _beside(answers: Sequence[Answer]) -> Answer:
    """Return the answers for columns that follow each other as one."""
    labels, scores = zip(*answers, strict=True)
    decided = None if labels[0] is None else np.hstack([as_dense(part) for part in labels])
    return Answer(decided, None if scores[0] is None else np.hstack(scores))


def _stacked(parts: Sequence[Any]) -> Any:
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)


def _labels(names: NDArray[Any]) -> str:
    some = ", ".join(repr(name) for name in names[:5].tolist()) + (", ..." if len(names) > 5 else "")
    return f"Label {some} is" if len(names) == 1 else f"{len(names)} labels ({some}) are"


def _advise(text: str) -> None:
    warnings.warn(text, AdviceWarning, stacklevel=2)
