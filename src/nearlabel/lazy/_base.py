"""What the lazy classifiers share: validation, one search, blocks of queries, the container of the answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import KFold
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from nearlabel.lazy._best import best_of_dense
from nearlabel.lazy._explained_by_neighbors import ExplainedByNeighbors
from nearlabel.lazy._query_neighbors import Neighbors, some_of
from nearlabel.lazy._sweep import (
    CANDIDATES,
    N_FOLDS,
    SCORING,
    Fold,
    HeldOut,
    Needs,
    best_of,
    held_out,
    is_auto,
    values_over,
)
from nearlabel.neighbors import ExactNeighbors
from nearlabel.neighbors._transformer import as_search
from nearlabel.neighbors._votes import check_neighbor_indices
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import FloatArray, IntArray, LabelSets, Matrix, MatrixLike, NeighborSearch
from nearlabel.utils.validation import (
    LabelContainer,
    check_integer,
    check_n_neighbors,
    check_problem,
    check_rows,
    is_dask_array,
    with_multilabel_target,
)


class LazyClassifier(ExplainedByNeighbors, ClassifierMixin, BaseEstimator, ABC):
    """A function from neighbours to labels: *search* here, *score* and *decide* in the subclasses.

    A subclass sets `n_neighbors` and `search` in its constructor and defines `_learn` (what it takes from the training
    rows and label sets, `_labels` among it), `_score` and `_decide` (both of a block of queries) and `_account` (of one
    query).
    """

    n_neighbors: int | str
    search: NeighborSearch | None
    _needs_training_neighbors = False
    _labels_are_independent = False  # whether a label is decided as if it were the only one
    label_names_: NDArray[Any]
    n_features_in_: int
    _container: LabelContainer
    _labels: Matrix  # of the training rows, an indicator matrix, dense or CSR

    def fit(self, X: MatrixLike, y: MatrixLike) -> Self:
        """Learn from training rows and their label sets.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training rows.
        y : array-like, data frame or sparse container of shape (n_samples, n_labels) or (n_samples,)
            Label sets as an indicator matrix of 0 and 1; a label with one class is no error. A one-dimensional y is one
            label: its two classes may be any numbers, booleans or strings, and predictions are one-dimensional too.

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        ValueError
            If X or y is malformed, their lengths differ, a parameter is out of range, or `n_neighbors` asks for more
            neighbours than there are, or is "auto" where too few rows remain when some are held out.
        TypeError
            If `search` lacks `fit` or `kneighbors`.
        """
        with self._prepared(X, y) as (X, labels):
            if is_auto(self.n_neighbors):
                self._choose_n_neighbors(X, labels)
            else:
                self._use_neighbors(self._check_n_neighbors(), X, labels)
        return self

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

        See Also
        --------
        predict_topk : The best labels only, where there are too many for one array.
        """
        scores = self._score_in_blocks(self._find_neighbors(X))
        return self._container.probabilities(scores)

    def predict(self, X: MatrixLike) -> LabelSets:
        """Return the label set of every query.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        labels : ndarray or CSR of shape (n_queries, n_labels) or (n_queries,)
            Indicator matrix in the container and of the dtype that y had in `fit`; an array where y was a data frame.
            For a one-dimensional y, the predicted classes.
        """
        labels = self._decide_in_blocks(self._find_neighbors(X))
        return self._container.wrap(labels)

    def predict_topk(self, X: MatrixLike, n_labels: int) -> tuple[FloatArray, IntArray]:
        """Return the labels of highest score of every query: what is shown to a user, or ranked anew.

        The first columns of ``predict_proba`` sorted by falling score, equal scores by label number, found in blocks of
        queries; with a sparse y the methods that count votes visit no more labels than have votes, and make no dense
        matrix.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.
        n_labels : int
            How many labels, whether or not `predict` would choose them.

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
            If there are fewer labels, or less than one is asked for.
        """
        check_is_fitted(self)
        wanted = check_integer("n_labels", n_labels, low=1)
        if wanted > len(self.label_names_):
            raise ValueError(f"n_labels must be at most the {len(self.label_names_)} labels of y, got {wanted}.")
        return self._best_in_blocks(self._find_neighbors(X), wanted)

    @contextmanager
    def _prepared(self, X: MatrixLike, y: MatrixLike) -> Iterator[tuple[Matrix, Matrix]]:
        """Check X and y, fit the search and learn all that does not hang on the number of neighbours."""
        self._check_parameters()
        X, labels = check_problem(self, X, y, takes_dask=self._takes_dask)
        self._n_samples = labels.shape[0]
        if not is_auto(self.n_neighbors):
            self._check_n_neighbors()  # before the search takes its time
        self.__dict__.pop("cv_results_", None)  # of an earlier fit
        self.search_ = search = fresh_search(self.search)
        search.fit(X)
        self._learn(X, labels)
        try:
            yield X, labels
        finally:
            self.search_ = search

    def _check_n_neighbors(self) -> int:
        return check_n_neighbors(self.n_neighbors, self._n_samples, leave_one_out=self._needs_training_neighbors)

    def _choose_n_neighbors(self, X: Matrix, labels: Matrix) -> None:
        """Take the number of neighbours that is best on rows held out; `cv_results_` tells how all do."""
        candidates = self._numbers_to_try()
        self.cv_results_ = values_over(self._sweep(X, labels, candidates, Needs.of([SCORING])), [SCORING])
        self._use_neighbors(best_of(self.cv_results_, SCORING), X, labels)

    def _numbers_to_try(self) -> range:
        """Return the numbers of neighbours that "auto" chooses from, as far as the rows allow."""
        candidates = CANDIDATES[: max(self._most_neighbors_held_out(), 0)]
        if not candidates:
            raise ValueError(
                f"n_neighbors must be an integer to fit to n_samples={self._n_samples} rows, got 'auto'."
                " Too few remain when some are held out."
            )
        return candidates

    def _most_neighbors_held_out(self) -> int:
        """Return how many neighbours fits can have that are made without some rows."""
        return int(self._n_samples - -(-self._n_samples // N_FOLDS)) - self._needs_training_neighbors

    def _sweep(self, X: Matrix, labels: Matrix, candidates: Sequence[int], needs: Needs) -> Iterator[HeldOut]:
        """Yield answers for rows held out, for each number of neighbours."""
        splits = KFold(min(N_FOLDS, self._n_samples), shuffle=True, random_state=0).split(labels)
        folds = [
            Fold.of(X[rows], labels[rows], X[held], labels[held], fresh_search(self.search), max(candidates))
            for rows, held in splits
        ]
        return held_out(self, folds, candidates, needs)

    def _use_neighbors(self, n_neighbors: int, X: Matrix, labels: Matrix) -> None:
        """Have so many neighbours from now on."""
        self.n_neighbors_ = n_neighbors
        self._learn_from_neighbors(X, labels)

    @abstractmethod
    def _learn(self, X: Matrix, labels: Matrix) -> None:
        """Take what is needed from the training rows and label sets (n_samples, n_labels), each dense or CSR."""

    def _learn_from_neighbors(self, X: Matrix, labels: Matrix) -> None:
        """Take what is needed from the neighbours of the training rows."""

    @abstractmethod
    def _score(self, neighbors: Neighbors) -> FloatArray:
        """Return dense scores (n_queries, n_labels)."""

    @abstractmethod
    def _decide(self, neighbors: Neighbors) -> Matrix:
        """Return an indicator matrix (n_queries, n_labels), stored as the training label sets are."""

    def _score_in_blocks(self, neighbors: Neighbors) -> FloatArray:
        scores = np.empty((len(neighbors.indices), len(self.label_names_)))
        for block, some in self._in_blocks(neighbors):
            scores[block] = self._score(some)
        return scores

    def _decide_in_blocks(self, neighbors: Neighbors) -> Matrix:
        blocks = [self._decide(some) for _, some in self._in_blocks(neighbors)]
        return sparse.vstack(blocks) if sparse.issparse(blocks[0]) else np.vstack(blocks)

    def _best_in_blocks(self, neighbors: Neighbors, n_labels: int) -> tuple[FloatArray, IntArray]:
        """Return scores and labels of the best labels, two arrays (n_queries, n_labels)."""
        scores, labels = zip(
            *(best_of_dense(self._score(some), n_labels) for _, some in self._in_blocks(neighbors)), strict=True
        )
        return np.vstack(scores), np.vstack(labels)

    def _check_parameters(self) -> None:
        """Raise unless the method's own parameters make sense."""

    @property
    def _learns_from_rows(self) -> bool:
        """Whether the method takes more from X than neighbours, so that X must be at hand."""
        return False

    @property
    def _takes_dask(self) -> bool:
        return not self._learns_from_rows and getattr(self.search, "takes_dask_arrays", False)

    def _find_neighbors(self, X: MatrixLike) -> Neighbors:
        """Search once for all queries."""
        check_is_fitted(self)
        self._check_parameters()
        rows = check_rows(self, X, reset=False, takes_dask=self._takes_dask)
        random = check_random_state(getattr(self, "random_state", None))
        answer = self._ask_search(rows, self.n_neighbors_)
        return Neighbors(*answer, random, None if is_dask_array(rows) else rows)

    def _ask_search(self, X: Matrix | None, n_neighbors: int) -> tuple[FloatArray, IntArray]:
        """Ask the search for the neighbours of X, or of the training rows, and check what it answers."""
        distances, indices = self.search_.kneighbors(X, n_neighbors)
        n_queries = self._n_samples if X is None else X.shape[0]
        if np.shape(indices) != (n_queries, n_neighbors) or np.shape(distances) != np.shape(indices):
            raise ValueError(
                f"search must answer with arrays of shape {(n_queries, n_neighbors)},"
                f" got {np.shape(distances)} and {np.shape(indices)} of {self.search_!r}."
            )
        check_neighbor_indices(indices, self._n_samples)
        return distances, indices

    def _in_blocks(self, neighbors: Neighbors) -> Iterator[tuple[slice, Neighbors]]:
        """Yield blocks of queries, and their neighbours."""
        for block in self._query_blocks(neighbors):
            yield block, some_of(neighbors, block)

    def _query_blocks(self, neighbors: Neighbors) -> Iterator[slice]:
        """Yield blocks of queries whose votes and scores fit the memory budget."""
        return row_blocks(len(neighbors.indices), 64 * max(len(self.label_names_), self.n_neighbors_))

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that the target is an indicator matrix and sparse input is welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return with_multilabel_target(tags)


def fresh_search(search: Any) -> Any:
    """Return an unfitted copy of the user's search, or the default one."""
    return ExactNeighbors() if search is None else as_search(search)
