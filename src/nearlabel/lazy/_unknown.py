"""Label sets with unknown cells: each label is learnt from, and voted on by, the rows that know it.

Label l behaves as if the rows whose cell l is unknown did not exist for l. Labels that the same rows know are a group,
and each group has a rule of its own: the classifier's class, with the group's columns of y. All groups take their
neighbours from one deep list of each query: `KnownNeighbors` walks it to the k-th row that knows the label.
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
from nearlabel.lazy._counts import CountsWithout, Groups, LeavingOut, Units, count_rows
from nearlabel.lazy._sparse_scores import top_of_dense
from nearlabel.lazy._votes import Neighbors, Votes
from nearlabel.neighbors.contract import clone_search, drop_self
from nearlabel.out_of_sample import Answer, Needs
from nearlabel.utils.blocks import BLOCK_BYTES, row_blocks
from nearlabel.utils.notes import AdviceWarning
from nearlabel.utils.partial_labels import groups_of_labels
from nearlabel.utils.types import CSR, BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense

_LEAST_SHARE = 1 / 8  # labels that fewer rows know are searched for on those rows: lists would be too deep
_DEVIATIONS = 4  # by which lists are deeper than what suffices on average
_FEW_QUERIES, _DEEPER = 64, 8  # so many are asked again for lists that are so many times as deep as their mean
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

    search: CommonSearch
    rows: Matrix  # the queries
    lists: Neighbors  # of them, among all training rows

    def __len__(self) -> int:
        return len(self.lists.indices)

    def among(self, known: BoolArray, n_neighbors: int, some: IntArray | None = None) -> Neighbors:
        """Return the nearest of the training rows that a mask (n_samples,) names, of all queries or of some."""
        lists = self.lists if some is None else self.lists[some]
        if known.all() and n_neighbors <= lists.indices.shape[1]:
            return lists.nearest(n_neighbors)
        found, lacking = _walk(lists, known, n_neighbors, weighs=self.search.weighs)
        again = np.flatnonzero(lacking)
        if len(again):
            more = self.search.among(self.rows, again if some is None else some[again], known, n_neighbors)
            found.indices[again] = more.indices
            if self.search.weighs:
                found.distances[again] = more.distances
        return found


@dataclass(frozen=True, eq=False)
class CommonSearch:
    """The search for all labels: its answers are walked, or rows that know a label are searched by themselves."""

    fitted: Any
    unfitted: Any
    X: Matrix
    of_training: bool  # queries are training rows, each without itself
    weighs: bool  # whether distances are read

    def among(self, rows: Matrix, some: IntArray, known: BoolArray, n_neighbors: int) -> Neighbors:
        """Return the neighbours of some queries among the rows that a mask names."""
        numbers = np.flatnonzero(known)
        if hasattr(self.fitted, "n_neighbors_known"):
            raise ValueError(
                f"search must know {n_neighbors} neighbours of each row among those that know a label, and knows"
                " fewer. Hint: precompute more; with a share p of known cells about n_neighbors / p are needed."
            )
        if len(some) > _FEW_QUERIES:
            return self._among_alone(rows, some, numbers, n_neighbors)
        depth = min(_DEEPER * n_neighbors * len(known) // len(numbers), len(known) - self.of_training)
        lists = self._asked(self.fitted, rows[some], some, depth, len(known))
        deep, lacking = _walk(lists, known, n_neighbors, weighs=True)
        again = np.flatnonzero(lacking)
        if len(again):
            more = self._among_alone(rows, some[again], numbers, n_neighbors)
            deep.indices[again], deep.distances[again] = more.indices, more.distances
        return deep

    def _among_alone(self, rows: Matrix, some: IntArray, known: IntArray, n_neighbors: int) -> Neighbors:
        """Search on the rows that know a label alone, given by their numbers."""
        search = clone_search(self.unfitted)
        search.fit(self.X[known])
        place = np.searchsorted(known, some)  # of a training row among those that know the label, if it does
        own = np.where(known[np.minimum(place, len(known) - 1)] == some, place, -1)
        found = self._asked(search, rows[some], own, n_neighbors, len(known))
        return Neighbors(found.distances, known[found.indices])

    def _asked(self, search: Any, rows: Matrix, own: IntArray, n_neighbors: int, n_searched: int) -> Neighbors:
        """Return the neighbours of queries by a search of so many rows, a training row without its own number."""
        one_more = self.of_training and n_neighbors < n_searched
        distances, indices = search.kneighbors(rows, n_neighbors + int(one_more))
        return Neighbors(*drop_self(distances, indices, own)) if one_more else Neighbors(distances, indices)


def _walk(lists: Neighbors, known: BoolArray, n_neighbors: int, *, weighs: bool) -> tuple[Neighbors, BoolArray]:
    """Return the first known rows of each list, and which lists have fewer: what is returned for those means nothing.

    Distances are 0 unless they weigh votes.
    """
    n_queries, depth = lists.indices.shape
    distances = np.empty((n_queries, n_neighbors)) if weighs else np.broadcast_to(0.0, (n_queries, n_neighbors))
    indices, lacking = np.empty((n_queries, n_neighbors), dtype=np.intp), np.empty(n_queries, dtype=np.bool_)
    for block in row_blocks(n_queries, 32 * max(depth, n_neighbors)):
        places, lacking[block] = _first_known(known[lists.indices[block]], n_neighbors)
        indices[block] = lists.indices[block].take(places)
        if weighs:
            distances[block] = lists.distances[block].take(places)
    return Neighbors(distances, indices), lacking


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

    def unknown(self, labels: Matrix) -> Matrix:
        """Return the mask of unknown cells, stored as label sets (n_samples, n_labels) are."""
        cells = [(np.repeat(one.hidden, len(one.labels)), np.tile(one.labels, len(one.hidden))) for one in self._groups]
        rows, columns = (np.concatenate(part) for part in zip(*cells, strict=True))
        unknown = sparse.csr_array((np.ones(len(rows), dtype=np.bool_), (rows, columns)), shape=labels.shape)
        return unknown if sparse.issparse(labels) else unknown.toarray()

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
            lists = training.among(known, k, rows)
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
        return KnownNeighbors(self._search(classifier, of_training=True), self._X, lists)

    def _depth(self, classifier: Any, k: int, most: int) -> int:
        """Return how long a list must be to hold, most often, k rows that know any one label.

        Where a row knows it with probability p, independently, the k-th such row has a place of mean k / p and variance
        k (1 - p) / p². A few deviations more leave little to search for again.
        """
        shares = np.array([1 - len(group.hidden) / self._n_samples for group in self._groups])
        p = min(shares[shares >= _LEAST_SHARE], default=1.0)
        deep = int(np.ceil((k + _DEVIATIONS * np.sqrt(k * (1 - p))) / p))
        return min(deep, most, getattr(classifier.search_, "n_neighbors_known", most))

    def _search(self, classifier: Any, *, of_training: bool, weighs: bool = False) -> CommonSearch:
        weighs = weighs or classifier.weights != "uniform"
        return CommonSearch(classifier.search_, classifier.search, self._X, of_training, weighs)

    # Answers.

    def answer(self, classifier: Any, X: Matrix, needs: Needs) -> Answer:
        """Return the scores and label sets of queries."""
        answers = []
        for neighbors in self.blocks(classifier, X):
            answers.append(self.answer_block(classifier, neighbors, needs))
        labels, scores = zip(*answers, strict=True)
        return Answer(_stacked(labels) if needs.labels else None, _stacked(scores) if needs.scores else None)

    def answer_block(self, classifier: Any, neighbors: KnownNeighbors, needs: Needs) -> Answer:
        """Return the scores and label sets of queries whose neighbours are known."""
        n = self._n_samples
        parts = [self._ask(classifier, group, neighbors, needs, group.known(n)) for group in self._groups]
        return self._joined(classifier, parts, len(neighbors), needs)

    def blocks(self, classifier: Any, X: Matrix, *, weighs: bool = False) -> Iterator[KnownNeighbors]:
        """Yield the neighbours of blocks of queries, whose lists fit the memory budget; with distances if they weigh."""
        depth = self._depth(classifier, classifier.n_neighbors_, self._n_samples)
        search = self._search(classifier, of_training=False, weighs=weighs)
        for block in row_blocks(X.shape[0], 16 * depth):
            yield KnownNeighbors(search, X[block], Neighbors(*classifier._ask_search(X[block], depth)))

    def neighbors_of_groups(self, neighbors: KnownNeighbors) -> Iterator[tuple[IntArray, Any, Neighbors]]:
        """Yield the labels, the rule and the neighbours of each group that has a rule."""
        for group in self._groups:
            if group.rule is not None:
                among = neighbors.among(group.known(self._n_samples), group.rule.n_neighbors_)
                yield group.labels, group.rule, among

    def n_unknown(self, rows: IntArray) -> IntArray:
        """Return how many labels each of some training rows does not know."""
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
        """Return what the rule of a group answers, by the known rows, to all queries or to some."""
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
            scores, labels = top_of_dense(np.zeros((len(neighbors), len(group.labels))), wanted)
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
        rows, answers = [others], [self._ask(classifier, group, training, needs, known, others)]
        for number in among_known:
            rest = known & (groups.number != number)
            members = groups.members[groups.ends[number] : groups.ends[number + 1]]
            refitted = self._fitted(classifier, group, rest, training)
            rows.append(members)
            answers.append(self._ask(classifier, refitted, training, needs, rest, members))
        order = np.argsort(np.concatenate(rows))
        labels, scores = zip(*answers, strict=True)
        decided = np.vstack([as_dense(part) for part in labels])[order] if labels[0] is not None else None
        return Answer(decided, np.vstack([as_dense(part) for part in scores])[order] if scores[0] is not None else None)


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
