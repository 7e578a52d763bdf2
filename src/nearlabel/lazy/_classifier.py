"""The base class of the lazy classifiers: the engine runs the rules of votes that subclasses define."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from nearlabel.files.row_files import RowFiles
from nearlabel.labels import distinct_labelsets
from nearlabel.lazy import _cluster, _engine, _predictions, _shares
from nearlabel.lazy._counts import MOST_WEIGHT, UNIT, LeavingOut, Units, check_total, count_rows, in_units
from nearlabel.lazy._engine import Groups, NeighborLabelSets, Votes, count_votes, exact_weights
from nearlabel.lazy._sweep import AUTO, NeighborsSweep
from nearlabel.lazy._unknown import KnownCells
from nearlabel.lazy._updates import forget, partial_fit, retune
from nearlabel.lazy.explain import Account, Evidence, explain, explanations
from nearlabel.models import WithProbabilities
from nearlabel.models.out_of_sample import Answer, Needs
from nearlabel.neighbors import RESERVE, GaussianWeights, TrainingLists
from nearlabel.neighbors.votes import Neighbors, Weights, ask_search, fitted_search, takes_missing_values
from nearlabel.utils.estimators import Shapes, available_if
from nearlabel.utils.messages import require_room
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import CSR, FloatArray, IntArray, Matrix, MatrixLike, NeighborSearch
from nearlabel.utils.validation import cells_of, check_groups, check_n_neighbors, row_names

_HINT_OF_LEFT_OUT = "loo_predict stores label sets as y, and loo_with_neighbors yields scores in blocks"


def _scores_are_shares(classifier: Any) -> bool:
    """Return whether a score is the share of the votes: a weighted vote of the training label sets."""
    rule = type(classifier)
    return rule._score_votes is LazyClassifier._score_votes and rule._count is LazyClassifier._count


def _kept(labels: Any) -> Any:
    """Return dense label sets to store: a copy if they are a view, as that is of the user's y; otherwise unchanged."""
    return np.ascontiguousarray(labels) if labels.flags.owndata else labels.copy(order="C")


class LazyClassifier(WithProbabilities):
    """A rule from the votes of the nearest neighbours to labels.

    A subclass stores its parameters, including `n_neighbors` and `search`, in its constructor, and defines
    `_score_votes` and `_decide_labels`, a few lines each. This class then provides blocks of queries, sparse label
    sets, the best labels, leave-one-out, the choice of n_neighbors and explanations.

    A rule that needs more than votes has another base class: `CountingClassifier` learns from counts of the training
    samples, `LabelSetClassifier` sees the neighbours' label sets, `RowClassifier` the queries themselves.
    """

    # Each label is scored and decided by its own votes alone, so the rule can score any cells.
    labels_are_independent: ClassVar[bool] = False
    # With dependent labels: takes CSR votes where y is sparse; a label without a vote then has the score 0.
    takes_sparse_votes: ClassVar[bool] = False

    # The kind of rule, which its base class sets.
    sees: ClassVar[Literal["votes", "label sets", "rows"]] = "votes"
    counts_rows: ClassVar[bool] = False
    _asks_for_training_rows: ClassVar[bool] = False  # `fit` searches the neighbours of the training samples

    n_neighbors: Any  # an integer, "auto" or a function
    search: NeighborSearch | None
    weights: Weights = "uniform"
    weights_: Weights  # fitted to the training samples
    n_neighbors_: int
    n_neighbors_stale_: bool  # whether samples were added or removed since a choice of the number
    changes_: dict[str, Any]  # how many samples were added and removed since `fit`, and which labels are new
    search_: Any
    _row_names: NDArray[Any] | None  # from the index of a data frame
    _takes_constant_labels = True
    _label_dtype = np.int8  # counts are of a type of their own
    _labels: Matrix  # of the training samples, in bytes, dense or CSR as y; 0 where a cell is unknown
    _cells: KnownCells | None = None  # where some cells are unknown: makes the predictions then

    # The rule: what a subclass defines.

    def _score_votes(self, votes: Votes) -> Any:
        """Return the score of each cell of the votes; by default the share of the votes."""
        return votes.share()

    @abstractmethod
    def _decide_labels(self, scores: Any, votes: Votes) -> Any:
        """Return which labels are predicted, in the shape of the scores."""

    def _count(self, neighbors: Neighbors) -> tuple[Matrix, Any]:
        """Return the votes (n_queries, n_labels), dense or CSR, and their totals (n_queries, 1)."""
        return count_votes(neighbors, self._labels, self._vote_weights(neighbors))

    def _vote_weights(self, neighbors: Neighbors) -> FloatArray | None:
        """Return the weight of each neighbour's vote (n_queries, n_neighbors); None: one vote each."""
        if self.weights == "uniform" and self._sample_weight is None:
            return None
        return exact_weights(neighbors, self.weights_, self._sample_weight, self._most_added)

    def _learnt_weights(self) -> Weights:
        """Return the weights, which may depend on how far training samples are from their neighbours."""
        if not isinstance(self.weights, GaussianWeights) or self.weights.unit is not None:
            return self.weights
        n_known = getattr(self.search_, "n_neighbors_known", self._n_samples)
        most = min(self.weights.n_typical, n_known, self._n_samples - 1)
        return self.weights.learnt_from(self._ask_search(None, most).distances if most else np.zeros((1, 1)))

    def _learn_rows(self, X: Matrix, labels: Matrix) -> None:
        """Learn everything from rows and label sets that does not depend on n_neighbors."""

    def _gather(self, parts: Sequence[tuple[IntArray, Any]]) -> None:
        """Take the results that rules of groups of labels, given by column numbers, learnt from known cells."""

    def _account(self, evidence: Evidence) -> Account:
        """Return the part of an explanation of one query that depends on the rule, besides votes, scores and flips."""
        return Account()

    def _fit(self, X: MatrixLike, y: MatrixLike, **params: Any) -> Self:
        super()._fit(X, y, **params)
        names, weights = row_names(X), params.get("sample_weight")
        self._row_names = names if names is None or weights is None else names[np.asarray(weights) != 0]
        return self

    # Learning: the search, first everything that does not depend on n_neighbors, then the rest.

    def _learn(
        self,
        X: Matrix,
        labels: Matrix,
        sample_weight: FloatArray | None = None,
        sweep: Callable[[Matrix, Matrix], None] | None = None,
        unknown: Matrix | None = None,
    ) -> None:
        self._n_samples, self._sample_weight = labels.shape[0], sample_weight
        n_neighbors = self._checked_n_neighbors()  # before the search takes its time
        labels = labels if sparse.issparse(labels) or self._are_in_files(labels) else _kept(labels)
        self._remember_labels(labels)
        self.search_ = fitted_search(self.search, X)
        self.weights_ = self._learnt_weights()
        self._learn_rows(X, labels)
        self._cells = None if unknown is None else KnownCells(X, unknown)
        if sweep is not None:  # see `NeighborsSweep.left_out`
            sweep(X, labels)
        elif n_neighbors is None:
            self._choose_n_neighbors(X, labels)
        elif self._cells is not None:
            self._cells.use(self, n_neighbors)
        else:
            self._use_neighbors(n_neighbors, X)
        if self._cells is not None:
            self._cells.warn(self)
        self.changes_, self.n_neighbors_stale_ = {"added": 0, "forgotten": 0, "new_labels": []}, False

    def _choose_n_neighbors(self, X: Matrix, labels: Matrix) -> None:
        """Learn with the best number of neighbours, by micro F1 or by a function."""
        value = self.n_neighbors if callable(self.n_neighbors) else None
        NeighborsSweep.within_fit(self, X, labels).fit_best(value=value)

    def _remember_labels(self, labels: Matrix) -> None:
        """Store the label sets of the training samples, and everything derived from them alone."""
        self._labels, self._n_samples = labels, labels.shape[0]
        self._most_added = 1  # how many votes of one neighbour a rule adds up

    def _use_neighbors(
        self, n_neighbors: int, X: Matrix, training: Neighbors | None = None, counts: IntArray | None = None
    ) -> None:
        """Learn everything that depends on n_neighbors, from the training samples' neighbours and known counts."""
        self.n_neighbors_ = n_neighbors
        if self._asks_for_training_rows:
            training = self._training_neighbors(n_neighbors) if training is None else training
            self._training_distances = training.nearest(n_neighbors).mean_distances()
            self._learn_training(training, X, counts)

    def _learn_training(self, training: Neighbors, X: Matrix, counts: IntArray | None) -> None:
        """Learn from the training samples' neighbours, and their counts if these are known; a kind defines it."""

    def _checked_n_neighbors(self) -> int | None:
        """Return the number of neighbours, or None if it is to be chosen, by micro F1 or by a function."""
        if callable(self.n_neighbors):
            return None
        if not isinstance(self.n_neighbors, str):
            return check_n_neighbors(self.n_neighbors, self._n_samples, leave_one_out=self._asks_for_training_rows)
        if self.n_neighbors != AUTO:
            raise ValueError(f"n_neighbors must be an integer or {AUTO!r}, got {self.n_neighbors!r}.")
        return None

    def _fitted_shapes(self) -> Shapes:
        """Return the shapes of fitted arrays, which a file may contradict; a subclass adds its own.

        Raises
        ------
        ValueError
            If there are not as many rows as neighbours.
        """
        n_samples, n_labels = self._n_samples, self._n_labels
        if not 1 <= self.n_neighbors_ <= n_samples:
            raise ValueError(f"n_neighbors_ must be from 1 to {n_samples}, got {self.n_neighbors_}")
        by_row = ("_sample_weight", "_training_distances", "_row_names", "_labelset_of", "_lists.lengths")
        shapes: Shapes = {
            "_labels": (n_samples, n_labels),
            "_lists.indices": (n_samples, None),
            "_lists.distances": (n_samples, None),
            "_cells._X": (n_samples, None),
            "_counts": (2, n_labels, None),
            "labelsets_": (None, n_labels),
        }
        return {**shapes, **dict.fromkeys(by_row, (n_samples,))}

    @property
    def _learns_from_rows(self) -> bool:
        """Whether the rule takes more from X than neighbours, so that X must be an array."""
        return False

    @property
    def _takes_dask(self) -> bool:
        return not self._learns_from_rows and getattr(self.search, "takes_dask_arrays", False)

    def _received(self, y: MatrixLike) -> Any:
        return _cluster.labels_in_files(self, y) if self._takes_dask else y

    def _are_in_files(self, labels: Matrix) -> bool:
        """Whether workers of the search read label sets from files, which this process need not store."""
        return self._takes_dask and RowFiles.of(labels) is not None

    @property
    def _answers_in_tiles(self) -> bool:
        return self._takes_dask and self._cells is None

    def _answer_in_tiles(self, queries: Matrix, method: str) -> Any:
        return _cluster.predict(self, queries, method)

    def __sklearn_tags__(self) -> Tags:
        """Declare that X may contain NaN if only the search reads it, and the search allows it."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = not self._learns_from_rows and takes_missing_values(self.search)
        return tags

    def _ask_search(self, X: Matrix | None, n_neighbors: int, n_reserved: int = 0) -> Neighbors:
        """Query the search for the neighbours of X, or of the training samples, of which some are a reserve."""
        return ask_search(self.search_, X, n_neighbors, self._n_samples, n_reserved)

    def _training_neighbors(self, n_neighbors: int) -> Neighbors:
        """Search for the neighbours of the training samples, each without itself."""
        return self._ask_search(None, n_neighbors)

    # Prediction: the engine runs the rule.

    def _find_neighbors(self, X: Matrix) -> Neighbors:
        """Search once for all queries."""
        return self._ask_search(X, self.n_neighbors_)

    def _labelsets_in(self, groups: Groups) -> CSR | None:
        """Return how many rows of each label set are in each row's group, for a rule that sees label sets."""
        return None

    def _labelsets_of(self, neighbors: Neighbors, random: np.random.RandomState, left_out: CSR | None) -> Any:
        """Return the label sets of the neighbours, for a rule that sees them; see `engine.votes_of`."""
        return None

    def _score(self, X: Matrix) -> FloatArray:
        return np.asarray(self._answer_queries(X, Needs(labels=False)).scores)

    def _decide(self, X: Matrix) -> Matrix:
        return self._answer_queries(X, Needs(scores=False)).labels

    def _answer_queries(self, X: Matrix, needs: Needs) -> Answer:
        if self._cells is not None:
            return self._cells.answer(self, X, needs)
        return self._answer(self._find_neighbors(X), needs)

    def _answer(self, neighbors: Neighbors, needs: Needs) -> Answer:
        """Return scores and label sets of queries whose neighbours are known."""
        return _engine.answer(self, neighbors, needs)

    @property
    def _bytes_per_query(self) -> int:
        return 64 * max(int(self._labels.shape[1]), self.n_neighbors_)

    predict_topk = _predictions.predict_topk
    predict_proba_sparse = available_if(_predictions.leaves_one_out)(_predictions.predict_proba_sparse)
    loo_predict_proba = available_if(_predictions.leaves_one_out)(_predictions.loo_predict_proba)
    loo_predict = available_if(_predictions.leaves_one_out)(_predictions.loo_predict)
    loo_with_neighbors = available_if(_predictions.leaves_one_out)(_predictions.loo_with_neighbors)

    def _known_training_neighbors(self) -> Neighbors:
        """Return the neighbours of the training samples with their distances, from `fit` or by a search."""
        return self._ask_search(None, self.n_neighbors_)

    def training_labels(self) -> Matrix:
        """Return the label sets of the training samples.

        Returns
        -------
        labels : ndarray or CSR of shape (n_samples, n_labels)
            An indicator matrix of dtype int8, dense or CSR as y was; of dtype float64 with NaN if cells are unknown.
        """
        check_is_fitted(self)
        unknown = None if self._cells is None else self._cells.unknown(self._labels)
        return PartialLabels(self._labels, unknown).with_nan()

    partial_fit = available_if(_predictions.leaves_one_out)(partial_fit)
    forget = available_if(_predictions.leaves_one_out)(forget)
    retune = available_if(_predictions.leaves_one_out)(retune)
    explain, _explanations = explain, explanations
    _training_shares = available_if(_scores_are_shares)(_shares.of_votes)

    def _answer_left_out(self, needs: Needs, names: ArrayLike | None) -> Answer:
        groups = self._groups_left_out(names)
        if needs.scores and not (needs.sparse and sparse.issparse(self._labels)):
            require_room("leave-one-out scores", self._labels.shape, ("samples", "labels"), _HINT_OF_LEFT_OUT)
        if self._cells is not None:
            return self._cells.answer_left_out(self, needs._replace(sparse=False), groups)
        return _engine.collected(self, self._answers_left_out(groups), self._n_samples, needs)

    def _groups_left_out(self, names: ArrayLike | None) -> Groups:
        """Return the groups of rows that are left out together, if enough others remain."""
        check_is_fitted(self)
        self._check_parameters()
        n_samples, k = self._n_samples, self.n_neighbors_
        groups = Groups.of(np.arange(n_samples) if names is None else check_groups(names, n_samples))
        most = n_samples - groups.largest - self._asks_for_training_rows
        if k > most:
            raise ValueError(
                f"n_neighbors must be at most {most} to leave out {_left_out(groups)} of n_samples={n_samples},"
                f" got {k}."
            )
        known, wanted = getattr(self.search_, "n_neighbors_known", n_samples - 1), self._n_searched(groups)
        if wanted > known >= k:
            raise ValueError(
                f"search must know {wanted} neighbours of each training sample to leave out {_left_out(groups)}, got"
                f" {known}. Hint: precompute {wanted}."
            )
        return groups

    def _n_searched(self, groups: Groups) -> int:
        """Return how many neighbours of each training sample are needed to leave out groups."""
        return self.n_neighbors_ + groups.largest - 1

    def _answers_left_out(self, groups: Groups, training: Neighbors | None = None) -> Iterator[_engine.AnswerOfRows]:
        """Return leave-one-out predictions in blocks of rows; known neighbours need no search."""
        training = training or self._ask_search(None, self._n_searched(groups))
        return _engine.answers(self, groups.others_of(training, self.n_neighbors_), left_out=groups)


class CountingClassifier(LazyClassifier):
    """A rule that learns from counts of the training samples by label and by their neighbours' votes.

    A subclass defines `_learn_counts`, which learns from the counts, and `_score_counts`, which scores any such counts:
    one formula thus applies to queries and to left-out samples. `_counting` returns which samples count if not all do.
    """

    counts_rows = True
    _asks_for_training_rows = True
    # The counts of a row depend on its neighbours and their label sets alone, not on the other rows.
    counts_follow_rows: ClassVar[bool] = False

    _lists: TrainingLists  # the neighbours of the training samples
    _counts: IntArray  # (2, n_labels, n_counts), see `count_rows`

    def _units(self) -> Units:
        """Return how far each training sample carries each label: a rule that counts rows."""
        return self._units_of(self._labels, self._sample_weight)

    def _units_of(self, labels: Matrix, sample_weight: FloatArray | None) -> Units:
        """Return how far rows with these label sets and weights carry each label."""
        return Units.of(labels)

    @abstractmethod
    def _learn_counts(self, counts: IntArray, totals: IntArray) -> None:
        """Learn from counts (2, n_labels, n_counts), see `count_rows`, and their totals (2, n_labels, 1)."""

    @abstractmethod
    def _score_counts(self, counts: IntArray, totals: IntArray) -> FloatArray:
        """Return the scores that counts (2, ...) and totals (2, ...) give."""

    def _counting(self, leaving_out: LeavingOut) -> LeavingOut:
        """Return the counter of rows when one is left out: it counts all others, unless the rule uses only some."""
        return leaving_out

    def _learn_training(self, training: Neighbors, X: Matrix, counts: IntArray | None) -> None:
        k, distances = self.n_neighbors_, None if self.weights == "uniform" else training.distances
        self._lists = TrainingLists.of(training.indices, k + 1, distances)  # one replaces a row that is left out
        self._take_counts(count_rows(self._units(), training.nearest(k)) if counts is None else counts)

    def _take_counts(self, counts: IntArray) -> None:
        """Store counts of the training samples, and learn from them."""
        self._counts = counts
        self._learn_counts(counts, counts.sum(axis=2, keepdims=True))

    def _use_neighbors(
        self, n_neighbors: int, X: Matrix, training: Neighbors | None = None, counts: IntArray | None = None
    ) -> None:
        if training is None and self.counts_follow_rows and self._are_in_files(self._labels):
            self.n_neighbors_ = n_neighbors
            _cluster.learn_training(self, *self._n_asked(n_neighbors))
        else:
            super()._use_neighbors(n_neighbors, X, training, counts)

    def _training_neighbors(self, n_neighbors: int) -> Neighbors:
        return self._ask_search(None, *self._n_asked(n_neighbors))

    def _n_asked(self, n_neighbors: int) -> tuple[int, int]:
        """Return how many neighbours of each training sample `fit` searches for, and how many of them are a reserve.

        One more, where it is known, takes the place of a row that is left out. Some more are in reserve, where rows may
        be removed.
        """
        most = min(getattr(self.search_, "n_neighbors_known", self._n_samples - 1), self._n_samples - 1)
        needed = max(n_neighbors, min(n_neighbors + 1, most))
        asked = max(needed, min(needed + RESERVE, most)) if hasattr(self.search_, "remove") else needed
        return asked, asked - needed

    def _training_lists(self) -> Neighbors:
        """Return the neighbours of the training samples that `fit` found.

        Distances are stored only where they weigh votes; nothing else reads them.
        """
        indices, distances = self._lists.indices, self._lists.distances
        return Neighbors(np.broadcast_to(0.0, indices.shape) if distances is None else distances, indices)

    def _known_training_neighbors(self) -> Neighbors:
        if self._cells is not None or not hasattr(self.search_, "ranks"):
            return super()._known_training_neighbors()
        distances = self._lists.distances_of(self.search_, np.arange(self._n_samples), self.n_neighbors_)
        return Neighbors(distances, self._lists.indices[:, : self.n_neighbors_])

    def _n_searched(self, groups: Groups) -> int:
        return self.n_neighbors_ + groups.largest

    def _answers_left_out(self, groups: Groups, training: Neighbors | None = None) -> Iterator[_engine.AnswerOfRows]:
        lists, wanted = self._training_lists(), self._n_searched(groups)
        if self._lists.lengths.min() < wanted:
            lists = self._ask_search(None, wanted)
        return _engine.answers_from_counts(self, LeavingOut.of(self._units(), lists, self.n_neighbors_, groups))


class LabelSetClassifier(LazyClassifier):
    """A rule that sees each neighbour's label set, `votes.labelsets`, besides the votes.

    `labelsets_` has the distinct label sets of the training samples, by their numbers in `votes.labelsets`.
    Explanations have no flips by single votes.
    """

    sees = "label sets"
    labelsets_: Matrix

    def _remember_labels(self, labels: Matrix) -> None:
        super()._remember_labels(labels)
        self.labelsets_, self._labelset_of, self._frequency = distinct_labelsets(labels)
        if self._sample_weight is not None:
            check_total(self._sample_weight, MOST_WEIGHT)
            self._frequency = np.zeros_like(self._frequency)
            np.add.at(self._frequency, self._labelset_of, in_units(self._sample_weight, UNIT))

    def _labelsets_in(self, groups: Groups) -> CSR:
        weights = None if self._sample_weight is None else in_units(self._sample_weight, UNIT)
        return groups.count(self._labelset_of, weights)

    def _labelsets_of(self, neighbors: Neighbors, random: Any, left_out: CSR | None) -> NeighborLabelSets:
        number = self._labelset_of[neighbors.indices]
        frequency = self._frequency[number]
        if left_out is not None:
            query = np.repeat(np.arange(len(number)), number.shape[1])
            frequency = frequency - cells_of(left_out, query, number.ravel()).reshape(number.shape)
        weights = None if self._sample_weight is None else self._vote_weights(neighbors)
        return NeighborLabelSets(number, frequency, random, weights)


class RowClassifier(LazyClassifier):
    """A rule that sees the queries themselves, `votes.rows`, besides the votes, and learns from the training samples.

    A subclass defines `_learn_neighbors`. Leaving a sample out would need a refit, so there is no leave-one-out.
    """

    sees = "rows"
    _asks_for_training_rows = True

    @abstractmethod
    def _learn_neighbors(self, neighbors: Neighbors) -> None:
        """Learn from the training samples, `neighbors.rows`, and their neighbours."""

    @property
    def _learns_from_rows(self) -> bool:
        return True

    def _learn_training(self, training: Neighbors, X: Matrix, counts: IntArray | None) -> None:
        self._learn_neighbors(replace(training.nearest(self.n_neighbors_), rows=X))

    def _find_neighbors(self, X: Matrix) -> Neighbors:
        return replace(super()._find_neighbors(X), rows=X)


def _left_out(groups: Groups) -> str:
    return "one" if groups.largest == 1 else f"groups of up to {groups.largest}"
