"""What the lazy classifiers share: validation, one search, blocks of queries, the container of the answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from nearlabel._blocks import row_blocks
from nearlabel._typing import FloatArray, IntArray, Matrix, MatrixLike, NeighborSearch
from nearlabel._validation import LabelContainer, as_label_matrix, check_n_neighbors, label_names_of
from nearlabel.neighbors import ExactNeighbors


class Neighbors(NamedTuple):
    """Neighbours of some rows: two arrays (n_rows, n_neighbors), nearest first."""

    distances: FloatArray
    indices: IntArray


class LazyClassifier(ClassifierMixin, BaseEstimator, ABC):
    """A function from neighbours to labels: *search* here, *score* and *decide* in the subclasses.

    A subclass sets `n_neighbors` and `search` in its constructor and defines `_learn` (what it takes from the training
    label sets), `_score` and `_decide` (both of a block of queries).
    """

    n_neighbors: int
    search: NeighborSearch | None
    _needs_training_neighbors = False

    def fit(self, X: MatrixLike, Y: MatrixLike) -> Self:
        """Learn from training rows and their label sets.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training rows.
        Y : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Label sets as an indicator matrix of 0 and 1. A label with one class is no error.

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        ValueError
            If X or Y is malformed, their lengths differ, a parameter is out of range, or `n_neighbors` asks for more
            neighbours than there are.
        TypeError
            If `search` lacks `fit` or `kneighbors`.
        """
        self._check_parameters()
        X, labels = self._validated(X, Y)
        self.n_neighbors_ = check_n_neighbors(
            self.n_neighbors, labels.shape[0], leave_one_out=self._needs_training_neighbors
        )
        self.search_ = _fresh_search(self.search).fit(X)
        self._learn(labels)
        return self

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the score of every label, in [0, 1].

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_labels)
            One array, never a list; column l is the score that label l applies.
        """
        return np.vstack([self._score(neighbors) for neighbors in self._neighbor_blocks(X)])

    def predict(self, X: MatrixLike) -> Matrix:
        """Return the label set of every query.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        labels : ndarray or CSR of shape (n_queries, n_labels)
            Indicator matrix in the kind of container, and of the type, that Y had in `fit`; a data frame gives
            an array.
        """
        blocks = [self._decide(neighbors) for neighbors in self._neighbor_blocks(X)]
        stack = sparse.vstack if sparse.issparse(blocks[0]) else np.vstack
        return self._container.wrap(stack(blocks))

    @abstractmethod
    def _learn(self, labels: Matrix) -> None:
        """Take what is needed from the training label sets (n_samples, n_labels), dense or CSR."""

    @abstractmethod
    def _score(self, neighbors: Neighbors) -> FloatArray:
        """Return dense scores (n_queries, n_labels)."""

    @abstractmethod
    def _decide(self, neighbors: Neighbors) -> Matrix:
        """Return an indicator matrix (n_queries, n_labels), stored as the training label sets are."""

    def _check_parameters(self) -> None:
        """Raise unless the method's own parameters make sense."""

    def _validated(self, X: MatrixLike, Y: MatrixLike) -> tuple[Matrix, Matrix]:
        if Y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        X = validate_data(self, X, accept_sparse="csr")
        labels = as_label_matrix(Y)
        check_consistent_length(X, labels)
        self._container = LabelContainer.of(Y)
        self.classes_ = np.tile([0, 1], (labels.shape[1], 1))
        self.label_names_ = label_names_of(Y, labels.shape[1])
        return X, labels

    def _neighbor_blocks(self, X: MatrixLike) -> Iterator[Neighbors]:
        """Search once for all queries; yield the neighbours of as many of them as fit the memory budget."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        distances, indices = self.search_.kneighbors(X, self.n_neighbors_)
        for block in row_blocks(len(indices), 64 * max(len(self.classes_), self.n_neighbors_)):
            yield Neighbors(distances[block], indices[block])

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that the target is an indicator matrix and sparse input is welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        return tags


def _fresh_search(search: Any) -> Any:
    """Return an unfitted copy of the user's search, or the default one."""
    if search is None:
        return ExactNeighbors()
    if not (hasattr(search, "fit") and hasattr(search, "kneighbors")):
        raise TypeError(
            f"search must have the methods fit and kneighbors, got {search!r}."
            " Hint: ExactNeighbors(metric=...) or scikit-learn's NearestNeighbors."
        )
    return clone(search, safe=False)
