"""Label sets with unknown cells: each label is learnt from, and voted on by, the rows that know it.

Label l behaves as if the rows whose cell l is unknown did not exist for l. Labels that the same rows know are a group,
and each group has a rule of its own: the classifier's class, with the group's columns of y. All groups take their
neighbours from one deep list of each query (`KnownNeighbors`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.lazy import _engine
from nearlabel.lazy._counts import CountsWithout, LeavingOut, Units, count_rows
from nearlabel.lazy._known_neighbors import CommonSearch, KnownNeighbors, depth_for
from nearlabel.models.out_of_sample import Answer, Needs
from nearlabel.neighbors.votes import Neighbors
from nearlabel.utils.messages import AdviceWarning
from nearlabel.utils.types import CSR, BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense, groups_of_labels, row_blocks, stacked

_FEW_LABELS = 8  # of a group: dense columns then take less room than CSR ones, each with its own ends of rows


@dataclass(frozen=True, eq=False)
class LabelGroup:
    """Labels that the same rows know, and the rule that is fitted to those rows."""

    labels: IntArray  # column numbers, ascending
    hidden: IntArray  # the rows in which these labels are unknown, ascending
    rule: Any = None  # None before the fit, and where there is no row to vote

    def known(self, n_samples: int) -> BoolArray:
        """Return which of all training samples know these labels."""
        known = np.ones(n_samples, dtype=np.bool_)
        known[self.hidden] = False
        return known


class KnownUnits(Units):
    """Units of labels, then of their opposites: the units that a row that knows a label lacks of it, and no others.

    So a row that does not know the label is counted on neither side, but has a list and votes like any other, and can
    be left out with its group. A neighbour votes for the label or for its opposite, so the votes of both add up to k.
    """

    def __init__(self, units: Units, known: BoolArray) -> None:
        labels = as_dense(units.labels)
        super().__init__(np.hstack([labels, known[:, np.newaxis] - labels]))
        self._units, self.add_up, self.wholes = units, units.add_up, units.wholes

    def sums(self, neighbors: Neighbors) -> Matrix:
        """Return the votes of each query's neighbours for the labels and against them (n_queries, 2 · n_labels)."""
        votes = as_dense(self._units.sums(neighbors))
        return np.hstack([votes, neighbors.indices.shape[1] - votes])


class LeavingOutKnown(LeavingOut):
    """The counts of a fit without a row, and without its group, by `KnownUnits` of labels that only some rows know."""

    def counts_of(self, rows: IntArray) -> CountsWithout:
        """Return the counts without the group of each of some rows."""
        votes, counts, totals = super().counts_of(rows)
        n_labels = votes.shape[1] // 2
        with_and_without = (np.stack([one[1][:, n_labels:], one[1][:, :n_labels]]) for one in (counts, totals))
        return CountsWithout(votes[:, :n_labels], *with_and_without)


@dataclass(frozen=True)
class Shares(_engine.Votes):
    """The scores of each query as votes of a single neighbour: a rule's input if labels are known in different rows."""

    def mean_size(self) -> FloatArray:
        """Return the sum of each query's scores; to nine digits, so that halves are halves."""
        return np.round(super().mean_size(), 9)


class KnownCells:
    """The groups of a classifier's labels, and their joint predictions.

    `use` fits the rules; all other methods query them. The classifier itself is an argument, not stored.
    """

    def __init__(self, X: Matrix, unknown: Matrix) -> None:
        self._X = X  # searched again where a list is not deep enough
        self._groups = [LabelGroup(labels, hidden) for labels, hidden in groups_of_labels(unknown)]

    @property
    def groups(self) -> list[tuple[IntArray, Any]]:
        """Return the labels and the rule of each group that has one."""
        return [(group.labels, group.rule) for group in self._groups if group.rule is not None]

    def unknown(self, labels: Matrix) -> Matrix:
        """Return the mask of unknown cells, stored as label sets (n_samples, n_labels) are."""
        cells = [(np.repeat(one.hidden, len(one.labels)), np.tile(one.labels, len(one.hidden))) for one in self._groups]
        rows, columns = (np.concatenate(part) for part in zip(*cells, strict=True))
        unknown = sparse.csr_array((np.ones(len(rows), dtype=np.bool_), (rows, columns)), shape=labels.shape)
        return unknown if sparse.issparse(labels) else unknown.toarray()

    # Learning.

    def use(self, classifier: Any, n_neighbors: int, training: KnownNeighbors | None = None) -> None:
        """Fit the rule of each group with this many neighbours, or as many as know its labels."""
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
            lists = training.among(known, k, rows)
            rule._take_counts(count_rows(rule._units(), lists, rows))
        return LabelGroup(group.labels, group.hidden, rule)

    def _unfitted_rule(self, classifier: Any, labels: IntArray) -> Any:
        rule = type(classifier)(**{**classifier.get_params(deep=False), "search": None})
        columns = classifier._labels[:, labels]
        rule._labels = np.ascontiguousarray(as_dense(columns)) if len(labels) <= _FEW_LABELS else columns
        rule._n_samples, rule._sample_weight, rule._most_added = self._n_samples, classifier._sample_weight, 1
        rule.label_names_, rule.weights_ = classifier.label_names_[labels], classifier.weights_
        rule._learn_rows(self._X, rule._labels)
        return rule

    def warn(self, classifier: Any) -> None:
        """Warn of labels that too few rows know, and of rows that know no label."""
        names, k = classifier.label_names_, classifier.n_neighbors_
        least, votes, few = k + int(classifier.counts_rows), *np.zeros((2, len(names)), dtype=np.bool_)
        for group in self._groups:
            votes[group.labels] = group.rule is not None
            few[group.labels] = group.rule is not None and self._n_samples - len(group.hidden) < least
        n_unknown = self.n_unknown(np.arange(self._n_samples))
        nobody = int(np.count_nonzero(n_unknown == len(names)))
        if not votes.all():
            _advise(f"{_labels(names[~votes])} known in too few samples to have a neighbour: the score is always 0.")
        if few.any():
            _advise(f"{_labels(names[few])} known in fewer than {least} samples: all of them vote, instead of {k}.")
        if nobody:
            _advise(
                f"All labels are unknown in {nobody} of {self._n_samples} training samples, which are never neighbours."
            )

    # Neighbours.

    @property
    def _n_samples(self) -> int:
        return int(self._X.shape[0])

    def training(self, classifier: Any, n_neighbors: int) -> KnownNeighbors:
        """Return the neighbours of all training samples, each without itself."""
        depth = self._depth(classifier, n_neighbors, self._n_samples - 1)
        lists = classifier._ask_search(None, depth)
        return KnownNeighbors(self._search(classifier, of_training=True), self._X, lists)

    def _depth(self, classifier: Any, n_neighbors: int, most: int) -> int:
        """Return how long the list of a query is to be."""
        known = getattr(classifier.search_, "n_neighbors_known", None)
        if known is None:
            n_hidden = np.array([len(group.hidden) for group in self._groups])
            return min(depth_for(1 - n_hidden / self._n_samples, n_neighbors), most)
        return min(int(known), most)  # existing lists, at full depth

    def _search(self, classifier: Any, *, of_training: bool, weighs: bool = False) -> CommonSearch:
        weighs = weighs or classifier.weights != "uniform"
        return CommonSearch(classifier.search_, classifier.search, self._X, of_training, weighs)

    # Predictions.

    def answer(self, classifier: Any, X: Matrix, needs: Needs) -> Answer:
        """Return the scores and label sets of queries."""
        answers = [self.answer_block(classifier, neighbors, needs) for neighbors in self.blocks(classifier, X)]
        labels, scores = zip(*answers, strict=True)
        return Answer(stacked(labels) if needs.labels else None, stacked(scores) if needs.scores else None)

    def answer_block(self, classifier: Any, neighbors: KnownNeighbors, needs: Needs) -> Answer:
        """Return the scores and label sets of queries whose neighbours are known."""
        n = self._n_samples
        parts = [self._ask(classifier, group, neighbors, needs, group.known(n)) for group in self._groups]
        return self._joined(classifier, parts, len(neighbors), needs)

    def blocks(self, classifier: Any, X: Matrix, *, weighs: bool = False) -> Iterator[KnownNeighbors]:
        """Yield neighbours of blocks of queries, whose lists fit the memory budget; `weighs`: with distances."""
        depth = self._depth(classifier, classifier.n_neighbors_, self._n_samples)
        search = self._search(classifier, of_training=False, weighs=weighs)
        for block in row_blocks(X.shape[0], 16 * depth):
            yield KnownNeighbors(search, X[block], classifier._ask_search(X[block], depth))

    def neighbors_of_groups(self, neighbors: KnownNeighbors) -> Iterator[tuple[IntArray, Any, Neighbors]]:
        """Yield the labels, the rule and the neighbours of each group that has a rule."""
        for group in self._groups:
            if group.rule is not None:
                among = neighbors.among(group.known(self._n_samples), group.rule.n_neighbors_)
                yield group.labels, group.rule, among

    def n_unknown(self, rows: IntArray) -> IntArray:
        """Return how many labels each of some training samples does not know."""
        n_unknown = np.zeros(self._n_samples, dtype=np.intp)
        for group in self._groups:
            n_unknown[group.hidden] += len(group.labels)
        return n_unknown[rows]

    def _ask(
        self,
        classifier: Any,
        group: LabelGroup,
        neighbors: KnownNeighbors,
        needs: Needs,
        known: BoolArray,
        some: IntArray | None = None,
    ) -> Answer:
        """Return the predictions of a group's rule, from the known rows, for all queries or for some."""
        if group.rule is None:
            shape = len(neighbors if some is None else some), len(group.labels)
            return Answer(np.zeros(shape, dtype=np.int8), np.zeros(shape))
        among = neighbors.among(known, group.rule.n_neighbors_, some)
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
        for neighbors in self.blocks(classifier, X):
            best = [self._top_of_group(group, neighbors, min(wanted, len(group.labels))) for group in self._groups]
            scores, labels = (np.hstack(part) for part in zip(*best, strict=True))
            order = np.lexsort((labels, -scores), axis=1)[:, :wanted]
            found.append([np.take_along_axis(part, order, axis=1) for part in (scores, labels)])
        scores, labels = (np.vstack(part) for part in zip(*found, strict=True))
        return scores, labels

    def _top_of_group(self, group: LabelGroup, neighbors: KnownNeighbors, wanted: int) -> tuple[FloatArray, IntArray]:
        if group.rule is None:
            scores, labels = _engine.top_of_dense(np.zeros((len(neighbors), len(group.labels))), wanted)
        else:
            among = neighbors.among(group.known(self._n_samples), group.rule.n_neighbors_)
            scores, labels = _engine.top_labels(group.rule, among, wanted)
        return scores, group.labels[labels]

    def stored_scores(self, classifier: Any, X: Matrix) -> CSR:
        """Return the scores of the labels that a neighbour carries."""
        blocks = []
        for neighbors in self.blocks(classifier, X):
            n_rows = len(neighbors)
            parts = [self._stored_of_group(group, neighbors) for group in self._groups]
            blocks.append(self._columns(parts, (n_rows, len(classifier.label_names_)), is_sparse=True))
        return stacked(blocks)

    def _stored_of_group(self, group: LabelGroup, neighbors: KnownNeighbors) -> CSR:
        if group.rule is None:
            return sparse.csr_array((len(neighbors), len(group.labels)))
        among = neighbors.among(group.known(self._n_samples), group.rule.n_neighbors_)
        return _engine.stored_scores(group.rule, among)

    # Leave-one-out.

    def answer_left_out(
        self, classifier: Any, needs: Needs, groups: _engine.Groups, training: KnownNeighbors | None = None
    ) -> Answer:
        """Return the predictions of a fit without a row, and without its group, for each training sample.

        A known cell is predicted without its row, an unknown one from all rows that know the label: in both cases from
        the rows of other groups.
        """
        training = training or self.training(classifier, classifier.n_neighbors_ + groups.largest)
        parts = [self._left_out(classifier, group, training, groups, needs) for group in self._groups]
        return self._joined(classifier, parts, self._n_samples, needs)

    def _left_out(
        self, classifier: Any, group: LabelGroup, training: KnownNeighbors, groups: _engine.Groups, needs: Needs
    ) -> Answer:
        known, k = group.known(self._n_samples), classifier.n_neighbors_
        wanted = k + groups.largest - int(not classifier.counts_rows)
        if wanted >= self._n_samples - len(group.hidden):
            return self._refits(classifier, group, training, groups, needs)
        lists = training.among(known, wanted)
        if not classifier.counts_rows:
            return _rule_answer(classifier, group.rule, groups.others_of(lists, k), needs)
        if len(group.hidden):
            return _counts_left_out(group.rule, known, lists, groups, needs)
        leaving_out = LeavingOut.of(group.rule._units(), lists, k, groups)
        return _engine.answer_from_counts(group.rule, leaving_out, needs)

    def _refits(
        self, classifier: Any, group: LabelGroup, training: KnownNeighbors, groups: _engine.Groups, needs: Needs
    ) -> Answer:
        """Fit again without each group of rows: for labels known in so few rows that all of them are neighbours."""
        known = group.known(self._n_samples)
        among_known = np.unique(groups.number[known])
        others = np.flatnonzero(~np.isin(groups.number, among_known))
        rows, answers = [], []
        if len(others):
            rows.append(others)
            answers.append(self._ask(classifier, group, training, needs, known, others))
        for number in among_known:
            rest = known & (groups.number != number)
            members = groups.members[groups.ends[number] : groups.ends[number + 1]]
            refitted = self._fitted(classifier, group, rest, training)
            rows.append(members)
            answers.append(self._ask(classifier, refitted, training, needs, rest, members))
        order = np.argsort(np.concatenate(rows))
        labels, scores = zip(*answers, strict=True)
        return Answer(_joined_rows(labels, order), _joined_rows(scores, order))


def _rule_answer(classifier: Any, rule: Any, neighbors: Neighbors, needs: Needs) -> Answer:
    """Return the predictions of a group's rule: scores only where the classifier decides on those of all labels."""
    if not len(neighbors.indices):
        return Answer(np.zeros((0, rule._labels.shape[1]), dtype=np.int8), np.zeros((0, rule._labels.shape[1])))
    if classifier.labels_are_independent:
        return _engine.answer(rule, neighbors, needs)
    if sparse.issparse(classifier._labels):
        return Answer(None, _engine.stored_scores(rule, neighbors))
    return _engine.answer(rule, neighbors, Needs(labels=False))


def _counts_left_out(rule: Any, known: BoolArray, lists: Neighbors, groups: _engine.Groups, needs: Needs) -> Answer:
    """Return the leave-one-out predictions of a rule that counts rows, by blocks of labels, which are dense here."""
    answers = []
    for some in row_blocks(rule._labels.shape[1], 16 * len(known)):
        part = copy(rule)
        part._labels = rule._labels[:, some]
        leaving_out = LeavingOutKnown.of(KnownUnits(part._units(), known), lists, rule.n_neighbors_, groups)
        answers.append(_engine.answer_from_counts(part, leaving_out, needs))
    labels, scores = zip(*answers, strict=True)
    decided = None if labels[0] is None else np.hstack([as_dense(part) for part in labels])
    return Answer(decided, None if scores[0] is None else np.hstack(scores))


def _joined_rows(parts: Sequence[Any], order: IntArray) -> Any:
    """Return the rows of all parts in an order; None where a part was not requested."""
    if any(part is None for part in parts):
        return None
    return np.vstack([as_dense(part) for part in parts])[order]


def _labels(names: NDArray[Any]) -> str:
    some = ", ".join(repr(name) for name in names[:5].tolist()) + (", ..." if len(names) > 5 else "")
    return f"Label {some} is" if len(names) == 1 else f"{len(names)} labels ({some}) are"


def _advise(text: str) -> None:
    warnings.warn(text, AdviceWarning, stacklevel=2)
