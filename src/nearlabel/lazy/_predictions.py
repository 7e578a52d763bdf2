"""Predictions besides `predict` and `predict_proba`: the best labels, stored scores, leave-one-out."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from nearlabel.lazy._counts import count_rows
from nearlabel.lazy._engine import Groups, decide, dense_parts, stored_scores, top_labels
from nearlabel.models.out_of_sample import Needs
from nearlabel.neighbors.votes import Neighbors
from nearlabel.utils.types import CSR, FloatArray, IntArray, LabelSets, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense, check_integer


def predict_topk(self: Any, X: MatrixLike, n_labels: int) -> tuple[FloatArray, IntArray]:
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
    top: tuple[FloatArray, IntArray]
    if self._cells is not None:
        top = self._cells.top(self, queries, wanted)
        return top
    return top_labels(self, self._find_neighbors(queries), wanted)


def predict_proba_sparse(self: Any, X: MatrixLike) -> CSR:
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
    return stored_scores(self, self._find_neighbors(queries))


class LeftOut:
    """Leave-one-out predictions of a fitted classifier and their neighbours, from one search.

    Returned by `LazyClassifier.loo_with_neighbors`.

    Attributes
    ----------
    distances, indices : ndarray of shape (n_samples, n_neighbors)
        The neighbours of each training sample, nearest first, without the row itself. If cells of y are unknown, these
        are the neighbours among all samples.
    """

    def __init__(self, classifier: Any, groups: Groups, training: Neighbors) -> None:
        self.distances, self.indices = training.distances, training.indices
        self._classifier, self._groups, self._training = classifier, groups, training

    def answers(self) -> Iterator[tuple[IntArray, Matrix, FloatArray]]:
        """Yield the predictions; may be called more than once.

        Yields
        ------
        rows : ndarray of int of shape (n_rows,)
            Numbers of training samples, consecutive; together the blocks contain each sample once, in order.
        labels : ndarray or CSR of shape (n_rows, n_labels)
            Their leave-one-out label sets.
        scores : ndarray of shape (n_rows, n_labels)
            Their leave-one-out scores, dense, whatever the form of y.
        """
        rule, numbers = self._classifier, np.arange(len(self.indices))
        if rule._cells is not None:
            labels, scores = rule._cells.answer_left_out(rule, Needs(), self._groups)
            yield numbers, labels, as_dense(scores)
            return
        for rows, votes, scores in rule._answers_left_out(self._groups, self._training):
            labels = decide(rule, scores, votes)
            for part, dense in dense_parts(scores):
                yield numbers[rows][part], labels[part], dense

    def relabelled(self, labels: Matrix) -> LeftOut:
        """Return the predictions that a fit of the same samples with other label sets would give, without a search.

        Parameters
        ----------
        labels : ndarray or CSR of shape (n_samples, n_labels)
            The other label sets, an indicator matrix, stored as y was. If each label is decided by its own votes
            (`labels_are_independent`), columns may be left out; this does not change the predictions of the others.

        Returns
        -------
        LeftOut
            Of a copy of the classifier, which itself is not changed.

        Raises
        ------
        ValueError
            If the classifier was fitted to label sets with unknown cells: neighbours then depend on the label sets.
        """
        rule = copy(self._classifier)
        if rule._cells is not None:
            raise ValueError("y must have no unknown cells to try other label sets, got some.")
        stored = sparse.csr_array(labels) if sparse.issparse(rule._labels) else np.ascontiguousarray(as_dense(labels))
        rule._remember_labels(stored.astype(rule._labels.dtype))
        rule._learn_rows(rule.search_.take(np.arange(len(self.indices))) if rule._learns_from_rows else None, stored)
        if rule.counts_rows:
            rule._take_counts(count_rows(rule._units(), rule._training_lists().nearest(rule.n_neighbors_)))
        return LeftOut(rule, self._groups, self._training)


def leaves_one_out(classifier: Any) -> bool:
    """Return whether it has leave-one-out predictions; a rule that sees rows would need a refit without each."""
    return bool(classifier.sees != "rows")


def loo_predict_proba(self: Any, groups: ArrayLike | None = None) -> FloatArray:
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
    answer = self._answer_left_out(Needs(labels=False), groups)
    scores: FloatArray = self._container.probabilities(answer.scores)
    return scores


def loo_predict(self: Any, groups: ArrayLike | None = None) -> LabelSets:
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
    answer = self._answer_left_out(Needs(scores=False), groups)
    labels: LabelSets = self._container.wrap(answer.labels)
    return labels


def loo_with_neighbors(self: Any) -> LeftOut:
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
