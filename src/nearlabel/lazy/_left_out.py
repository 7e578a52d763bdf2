"""Leave-one-out answers in blocks, the neighbours behind them, and what they would be with other label sets."""

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
    """Leave-one-out answers of a fitted classifier and the neighbours that they come from, by one search.

    `LazyClassifier.loo_with_neighbors` makes it.

    Attributes
    ----------
    distances, indices : ndarray of shape (n_samples, n_neighbors)
        The neighbours of each training row, nearest first, without the row itself. Where cells of y are unknown, those
        among all rows.
    """

    def __init__(self, classifier: Any, groups: Groups, training: Neighbors) -> None:
        self.distances, self.indices = training.distances, training.indices
        self._classifier, self._groups, self._training = classifier, groups, training

    def answers(self) -> Iterator[tuple[IntArray, Matrix, FloatArray]]:
        """Yield the answers, for a first look or another.

        Yields
        ------
        rows : ndarray of int of shape (n_rows,)
            Numbers of training rows, consecutive; all blocks together have each row once, in order.
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
        """Return what a fit of the same rows with other label sets would give, without a search.

        Parameters
        ----------
        labels : ndarray or CSR of shape (n_samples, n_labels)
            The other label sets, an indicator matrix, stored as y was. If each label is decided by its own votes
            (`labels_are_independent`), columns may be left out: those that stay get the answers that they would.

        Returns
        -------
        LeftOut
            Of a copy of the classifier; the classifier stays as it is.

        Raises
        ------
        ValueError
            If the classifier learnt from label sets with unknown cells, whose neighbours depend on them.
        """
        rule = copy(self._classifier)
        if rule._cells is not None:
            raise ValueError("y must have no unknown cell for other label sets to be tried, got some.")
        stored = sparse.csr_array(labels) if sparse.issparse(rule._labels) else np.ascontiguousarray(as_dense(labels))
        rule._remember_labels(stored.astype(rule._labels.dtype))
        rule._learn_rows(rule.search_.take(np.arange(len(self.indices))) if rule._learns_from_rows else None, stored)
        if rule.counts_rows:
            rule._counts = count_rows(rule._units(), rule._training_lists().nearest(rule.n_neighbors_))
            rule._learn_counts(rule._counts, rule._counts.sum(axis=2, keepdims=True))
        return LeftOut(rule, self._groups, self._training)
