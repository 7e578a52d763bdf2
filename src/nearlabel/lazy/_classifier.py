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

from nearlabel.labels import distinct_labelsets
from nearlabel.lazy import _engine
from nearlabel.lazy._counts import Groups, LeavingOut, Units, count_rows
from nearlabel.lazy._engine import LeftOut
from nearlabel.lazy._sweep import AUTO, NeighborsSweep
from nearlabel.lazy._unknown import KnownCells
from nearlabel.lazy._updates import forget, partial_fit, retune, row_names
from nearlabel.lazy._votes import Neighbors, Votes, count_votes, exact_weights
from nearlabel.lazy.explain import (
    Account,
    Evidence,
    Explanation,
    OtherRule,
    explain,
    explain_known_cells,
    explain_votes,
)
from nearlabel.models import MultilabelClassifier
from nearlabel.models.out_of_sample import Answer, Needs
from nearlabel.neighbors import (
    RESERVE,
    TrainingLists,
    Weights,
    check_neighbor_indices,
    clone_search,
    takes_missing_values,
)
from nearlabel.neighbors.votes import warn_of_useless
from nearlabel.utils.estimators import Shapes, available_if
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.types import CSR, FloatArray, IntArray, LabelSets, Matrix, MatrixLike, NeighborSearch
from nearlabel.utils.validation import check_groups, check_integer, check_n_neighbors


def _kept(labels: Any) -> Any:
    """Return dense label sets to store: a copy if they are a view, as that is of the user's y; otherwise unchanged."""
    return np.ascontiguousarray(labels) if labels.flags.owndata else labels.copy(order="C")


def _leaves_one_out(classifier: LazyClassifier) -> bool:
    """Return whether it has leave-one-out predictions; a rule that sees rows would need a refit without each."""
    return classifier.sees != "rows"


class LazyClassifier(MultilabelClassifier):
    """A rule from the votes of the nearest neighbours to labels.

    A subclass stores its parameters, including `n_neighbors` and `search`, in its constructor, declares what its rule
    sees, and defines `_score_votes` and `_decide_labels`, a few lines each. This class then provides blocks of queries,
    sparse label sets, the best labels, leave-one-out, the choice of n_neighbors and explanations.

    A rule with ``counts_rows = True`` learns from counts of the training samples by label and votes (`_learn_counts`),
    and scores any such counts (`_score_counts`). One formula thus applies to queries and to left-out samples.
    """

    # The input of the rule from a query's neighbours: votes, also their label sets, or also the query itself.
    sees: ClassVar[Literal["votes", "label sets", "rows"]] = "votes"
    counts_rows: ClassVar[bool] = False
    # Each label is scored and decided by its own votes alone, so the rule can score any cells.
    labels_are_independent: ClassVar[bool] = False
    # With dependent labels: takes CSR votes where y is sparse; a label without a vote then has the score 0.
    takes_sparse_votes: ClassVar[bool] = False
    # The counts of a row depend on its neighbours and their label sets alone, not on the other rows.
    counts_follow_rows: ClassVar[bool] = False
    # Adds up votes over labels: weights are then rounded so that these sums, too, are exact.
    adds_labels: ClassVar[bool] = False

    n_neighbors: Any  # an integer, "auto" or a function
    search: NeighborSearch | None
    weights: Weights = "uniform"
    n_neighbors_: int
    n_neighbors_stale_: bool  # whether samples were added or removed since a choice of the number
    changes_: dict[str, Any]  # how many samples were added and removed since `fit`, and which labels are new
    search_: Any
    _lists: TrainingLists  # the neighbours of the training samples, for a rule that counts rows
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
        return exact_weights(neighbors, self.weights, self._sample_weight, self._most_added)

    def _units(self) -> Units:
        """Return how far each training sample carries each label: a rule that counts rows."""
        return self._units_of(self._labels)

    def _units_of(self, labels: Matrix) -> Units:
        """Return how far rows with these label sets carry each label."""
        return Units.of(labels)

    def _learn_counts(self, counts: IntArray, totals: IntArray) -> None:
        """Learn from counts (2, n_labels, n_counts), see `count_rows`, and their totals (2, n_labels, 1)."""

    def _score_counts(self, counts: IntArray, totals: IntArray) -> FloatArray:
        """Return the scores that counts (2, ...) and totals (2, ...) give."""
        raise NotImplementedError

    def _counting(self, leaving_out: LeavingOut) -> LeavingOut:
        """Return the counter of rows when one is left out: it counts all others, unless the rule uses only some."""
        return leaving_out

    def _learn_rows(self, X: Matrix, labels: Matrix) -> None:
        """Learn everything from rows and label sets that does not depend on n_neighbors."""

    def _learn_neighbors(self, neighbors: Neighbors) -> None:
        """Learn from the training samples and their neighbours: a rule that sees rows."""

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
        labels = labels if sparse.issparse(labels) else _kept(labels)
        self._remember_labels(labels)
        self.search_ = clone_search(self.search)
        self.search_.fit(X)
        self._learn_rows(X, labels)
        self._cells = None if unknown is None else KnownCells(X, unknown)
        if sweep is not None:  # see `NeighborsSweep.left_out`
            sweep(X, labels)
        elif n_neighbors is None:
            NeighborsSweep.within_fit(self, X, labels).fit_best(value=_if_callable(self.n_neighbors))
        elif self._cells is not None:
            self._cells.use(self, n_neighbors)
        else:
            self._use_neighbors(n_neighbors, X)
        if self._cells is not None:
            self._cells.warn(self)
        self.changes_, self.n_neighbors_stale_ = {"added": 0, "forgotten": 0, "new_labels": []}, False

    def _remember_labels(self, labels: Matrix) -> None:
        """Store the label sets of the training samples, and everything derived from them alone."""
        self._labels, self._n_samples = labels, labels.shape[0]
        self._most_added = max(1, int(labels.sum(axis=1).max())) if self.adds_labels else 1
        if self.sees == "label sets":
            self.labelsets_, self._labelset_of, self._frequency = distinct_labelsets(labels)

    def _use_neighbors(
        self, n_neighbors: int, X: Matrix, training: Neighbors | None = None, counts: IntArray | None = None
    ) -> None:
        """Learn everything that depends on n_neighbors, from the training samples' neighbours and known counts."""
        self.n_neighbors_ = n_neighbors
        if not self._asks_for_training_rows:
            return
        if training is None:
            training = self._training_neighbors(n_neighbors)
        nearest = training.nearest(n_neighbors)
        self._training_distances = nearest.mean_distances()
        if not self.counts_rows:
            self._learn_neighbors(replace(nearest, rows=X))
            return
        distances, needed = training.distances, n_neighbors + 1  # one takes the place of a row that is left out
        self._lists = TrainingLists(distances, training.indices, needed, keep_distances=self.weights != "uniform")
        self._counts = count_rows(self._units(), nearest) if counts is None else counts
        self._learn_counts(self._counts, self._counts.sum(axis=2, keepdims=True))

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
    def _asks_for_training_rows(self) -> bool:
        """Whether `fit` queries the search for the neighbours of the training samples, each without itself."""
        return self.counts_rows or self.sees == "rows"

    @property
    def _learns_from_rows(self) -> bool:
        """Whether the rule takes more from X than neighbours, so that X must be an array."""
        return self.sees == "rows"

    @property
    def _takes_dask(self) -> bool:
        return not self._learns_from_rows and getattr(self.search, "takes_dask_arrays", False)

    def __sklearn_tags__(self) -> Tags:
        """Declare that X may contain NaN if only the search reads it, and the search allows it."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = not self._learns_from_rows and takes_missing_values(self.search)
        return tags

    def _ask_search(self, X: Matrix | None, n_neighbors: int, n_reserved: int = 0) -> tuple[FloatArray, IntArray]:
        """Query the search for the neighbours of X, or of the training samples, and check the result.

        The last `n_reserved` neighbours of each training sample are a reserve that is not checked here.
        """
        distances, indices = self.search_.kneighbors(X, n_neighbors)
        n_queries = self._n_samples if X is None else X.shape[0]
        if np.shape(indices) != (n_queries, n_neighbors) or np.shape(distances) != np.shape(indices):
            raise ValueError(
                f"search must return arrays of shape {(n_queries, n_neighbors)},"
                f" got {np.shape(distances)} and {np.shape(indices)} from {self.search_!r}."
            )
        check_neighbor_indices(indices, self._n_samples)
        if X is None:
            looked_at = slice(0, n_neighbors - n_reserved)
            warn_of_useless(distances[:, looked_at], indices[:, looked_at])
        return distances, indices

    def _training_neighbors(self, n_neighbors: int) -> Neighbors:
        """Search for the neighbours of the training samples, each without itself.

        A rule that counts rows gets one more, where it is known: it takes the place of a row that is left out. It gets
        some more in reserve, where rows may be removed.
        """
        most = min(getattr(self.search_, "n_neighbors_known", self._n_samples - 1), self._n_samples - 1)
        needed = max(n_neighbors, min(n_neighbors + int(self.counts_rows), most))
        may_change = self.counts_rows and hasattr(self.search_, "remove")
        asked = max(needed, min(needed + RESERVE, most)) if may_change else needed
        return Neighbors(*self._ask_search(None, asked, n_reserved=asked - needed))

    def _training_lists(self) -> Neighbors:
        """Return the neighbours of the training samples that `fit` found, for a rule that counts rows.

        Distances are stored only where they weigh votes; nothing else reads them.
        """
        indices, distances = self._lists.indices, self._lists.distances
        return Neighbors(np.broadcast_to(0.0, indices.shape) if distances is None else distances, indices)

    # Prediction: the engine runs the rule.

    def _find_neighbors(self, X: Matrix) -> Neighbors:
        """Search once for all queries."""
        return Neighbors(*self._ask_search(X, self.n_neighbors_), X if self.sees == "rows" else None)

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
        return 64 * max(self._n_labels, self.n_neighbors_)

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the score of every label, in [0, 1].

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_labels) or (n_queries, n_classes)
            One array, never a list; column l is the score that label l applies. For a one-dimensional y, a column for
            each class.
        """
        scores = self._score(self._queries(X))
        return self._container.probabilities(scores)

    def predict_topk(self, X: MatrixLike, n_labels: int) -> tuple[FloatArray, IntArray]:
        """Return the labels with the highest scores for every query.

        These are the first columns of ``predict_proba``, sorted by decreasing score; equal scores are sorted by label
        number. With a sparse y no dense matrix is made.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.
        n_labels : int
            Number of labels to return, whether or not `predict` predicts them.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_labels)
            Best first.
        labels : ndarray of int of shape (n_queries, n_labels)
            Column numbers of y; ``label_names_[labels]`` are the names.

        Raises
        ------
        TypeError
            If `n_labels` is no integer.
        ValueError
            If `n_labels` is less than 1 or larger than the number of labels.
        """
        queries = self._queries(X)
        wanted = check_integer("n_labels", n_labels, low=1)
        if wanted > self._n_labels:
            raise ValueError(f"n_labels must be at most the {self._n_labels} labels of y, got {wanted}.")
        if self._cells is not None:
            return self._cells.top(self, queries, wanted)
        return _engine.top_labels(self, self._find_neighbors(queries), wanted)

    @available_if(_leaves_one_out)
    def predict_proba_sparse(self, X: MatrixLike) -> CSR:
        """Return the scores of the labels that at least one neighbour has, as a sparse array.

        Use it if the number of labels is too large for a dense ``predict_proba``. A label that is not
        stored has the score of a label without a vote. This score is 0, except in `MLkNN`, where it is ``posterior_[:,
        0]``, a small number for a rare label, and in `DMLkNN`, where it differs between queries. (In `CMLkNN` a label
        has a vote if the neighbours' memberships add up to one half or more.)

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        scores : csr_array of shape (n_queries, n_labels)
            The scores of `predict_proba` if a neighbour has the label; column indices are sorted in each row.
        """
        queries = self._queries(X)
        if self._cells is not None:
            return self._cells.stored_scores(self, queries)
        return _engine.stored_scores(self, self._find_neighbors(queries))

    @available_if(_leaves_one_out)
    def loo_predict_proba(self, groups: ArrayLike | None = None) -> FloatArray:
        """Return leave-one-out scores: for each training sample, its scores by a fit to all others.

        With groups, the fit is to the samples of all other groups (leave-one-group-out). Use groups if samples are
        copies of each other, or belong to one patient, page or day, and would otherwise predict each other.

        There is no refit, but the scores are identical to those of refits, bit for bit, if the search is exact, orders
        equal distances by index and has a metric that does not depend on the training samples: `ExactNeighbors` with
        any metric except "seuclidean" and "mahalanobis" (unless `metric_params` sets all of their parameters). The
        classifier is not changed.

        Parameters
        ----------
        groups : array-like of shape (n_samples,), default=None
            Group of each training sample whose weight is above 0. None: each sample is its own group. Memory grows with
            the size of the largest group, because that many more neighbours of each sample are needed.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_labels)
            In the order of the training samples; column l is the score that label l applies. For a one-dimensional y
            (n_samples, n_classes), as `predict_proba`.

        Raises
        ------
        ValueError
            If fewer than `n_neighbors` samples remain without a group, the search knows too few neighbours, or the
            length of groups is wrong.
        """
        scores = self._answer_left_out(Needs(labels=False), groups).scores
        return self._container.probabilities(scores)

    @available_if(_leaves_one_out)
    def loo_predict(self, groups: ArrayLike | None = None) -> LabelSets:
        """Return leave-one-out label sets: for each training sample, the prediction of a fit to all others.

        There is no refit, but the result is identical to refitting under the conditions of `loo_predict_proba`. There
        are two exceptions: if ties are broken at random, the draws differ from those of refits; if weights by distance
        decide the size of a label set (`BRkNNb`), the size equals that of refits up to rounding.

        Parameters
        ----------
        groups : array-like of shape (n_samples,), default=None
            As in `loo_predict_proba`.

        Returns
        -------
        labels : ndarray or CSR of shape (n_samples, n_labels), or (n_samples,) for a one-dimensional y
            In the order of the training samples, with the container and dtype of y in `fit`; for a data frame, an
            array.

        Raises
        ------
        ValueError
            As `loo_predict_proba`.
        """
        labels = self._answer_left_out(Needs(scores=False), groups).labels
        return self._container.wrap(labels)

    @available_if(_leaves_one_out)
    def loo_with_neighbors(self) -> LeftOut:
        """Return leave-one-out predictions in blocks of samples, and their neighbours, by one search.

        Use it to examine many samples and labels: `loo_predict` and `loo_predict_proba` would search twice, and keep
        the scores of all samples in memory. The classifier is not changed.

        Returns
        -------
        LeftOut
            `distances` and `indices` of the neighbours of each training sample, each (n_samples, n_neighbors), and
            `answers()`, which yields (rows, labels, scores).

        Raises
        ------
        ValueError
            As `loo_predict_proba`.

        Examples
        --------
        >>> from nearlabel.lazy import BRkNN
        >>> left_out = BRkNN(n_neighbors=1).fit([[0], [1], [3]], [[1], [0], [1]]).loo_with_neighbors()
        >>> left_out.indices.ravel().tolist()
        [1, 0, 1]
        >>> [scores.ravel().tolist() for rows, labels, scores in left_out.answers()]
        [[0.0, 1.0, 0.0]]
        """
        return LeftOut(self, self._groups_left_out(None), self._known_training_neighbors())

    def _known_training_neighbors(self) -> Neighbors:
        """Return the neighbours of the training samples with their distances, from `fit` or by a search."""
        k = self.n_neighbors_
        if self.counts_rows and self._cells is None and hasattr(self.search_, "ranks"):
            distances = self._lists.distances_of(self.search_, np.arange(self._n_samples), k)
            return Neighbors(distances, self._lists.indices[:, :k])
        return Neighbors(*self._ask_search(None, k))

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

    partial_fit = available_if(_leaves_one_out)(partial_fit)
    forget = available_if(_leaves_one_out)(forget)
    retune = available_if(_leaves_one_out)(retune)
    explain = explain

    def _explanations(self, X: MatrixLike, other: OtherRule | None) -> Iterator[Explanation]:
        return explain_votes(self, X, other) if self._cells is None else explain_known_cells(self, X, other)

    def _answer_left_out(self, needs: Needs, names: ArrayLike | None) -> Answer:
        groups = self._groups_left_out(names)
        if self._cells is not None:
            return self._cells.answer_left_out(self, needs, groups)
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
        return self.n_neighbors_ + groups.largest - (not self.counts_rows)

    def _answers_left_out(self, groups: Groups, training: Neighbors | None = None) -> Iterator[_engine.AnswerOfRows]:
        """Return leave-one-out predictions in blocks of rows; known neighbours need no search."""
        wanted = self._n_searched(groups)
        if not self.counts_rows:
            training = training or Neighbors(*self._ask_search(None, wanted))
            return _engine.answers(self, groups.others_of(training, self.n_neighbors_), left_out=groups)
        lists = self._training_lists()
        if self._lists.lengths.min() < wanted:
            lists = Neighbors(*self._ask_search(None, wanted))
        return _engine.answers_from_counts(self, LeavingOut.of(self._units(), lists, self.n_neighbors_, groups))


def _left_out(groups: Groups) -> str:
    return "one" if groups.largest == 1 else f"groups of up to {groups.largest}"


def _if_callable(value: Any) -> Any:
    return value if callable(value) else None


def fit_weighted(self: Any, X: MatrixLike, y: MatrixLike, sample_weight: ArrayLike | None = None) -> Any:
    """Fit the classifier to training samples and their label sets.

    Parameters
    ----------
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Training samples.
    y : array-like, data frame or sparse container of shape (n_samples, n_labels) or (n_samples,)
        Label sets as an indicator matrix of 0 and 1; or a single label with two classes, as for scikit-learn's binary
        classifiers; or the tags of each sample as a list, tuple or set of strings, where the labels are the distinct
        tags. A label with one class is allowed. NaN marks an unknown cell; None in a list of tags marks a sample whose
        labels are all unknown.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the training samples, at least 0: a neighbour's vote is multiplied by its sample weight. A sample of
        weight 0 is never a neighbour. (A sample of weight 2 has two votes, but is one of the k neighbours.)

    Returns
    -------
    self
        The fitted classifier.

    Raises
    ------
    ValueError
        If X, y or the weights are malformed, their lengths differ, or a parameter is out of range.
    TypeError
        If a parameter is of a wrong type.
    """
    return self._fit(X, y, sample_weight=sample_weight)
