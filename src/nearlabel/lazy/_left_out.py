"""Leave-one-out predictions in blocks, with their neighbours, and the predictions with other label sets."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.lazy import _engine
from nearlabel.lazy._counts import Groups, count_rows
from nearlabel.lazy._votes import Neighbors
from nearlabel.out_of_sample import Needs
from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense


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
            labels = _engine.decide(rule, scores, votes)
            for part, dense in _engine.dense_parts(scores):
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
            rule._counts = count_rows(rule._units(), rule._training_lists().nearest(rule.n_neighbors_))
            rule._learn_counts(rule._counts, rule._counts.sum(axis=2, keepdims=True))
        return LeftOut(rule, self._groups, self._training)
