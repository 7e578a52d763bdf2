"""The method `score` of every classifier: the share of samples whose label set is predicted exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length

from nearlabel.utils.containers import missing
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.problems import objects_of
from nearlabel.utils.types import BoolArray, LabelSets, MatrixLike
from nearlabel.utils.validation import check_sample_weight, tags_of, without_sparse_frame


def score(self: Any, X: MatrixLike, y: MatrixLike, sample_weight: ArrayLike | None = None) -> float:
    """Return the share of samples whose label set is predicted exactly (exact match).

    Parameters
    ----------
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Samples.
    y : array-like, data frame or sparse container of shape (n_samples, n_labels) or (n_samples,)
        Their label sets, or their tags. A label set with a tag that the classifier does not know is never an exact
        match. If cells of a matrix are unknown (NaN), only the known ones are compared; a sample without known cells is
        left out, and so is a sample with None instead of tags or a class.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    ValueError
        If X or y is malformed, all cells are unknown, or their lengths differ.
    """
    values = objects_of(y)
    known = np.zeros(0, dtype=np.bool_) if values is None else ~missing(values)
    if values is not None and known.any() and not known.all():
        check_consistent_length(X, values)
        some = np.flatnonzero(known)
        weights = None if sample_weight is None else check_sample_weight(sample_weight, len(known))[some]
        return float(self.score(_safe_indexing(X, some), values[some].tolist(), weights))
    tags = tags_of(y)
    if tags is not None:
        predicted = self.predict_labels(X)
        check_consistent_length(tags, predicted)
        return _mean([set(true) == set(names) for true, names in zip(tags, predicted, strict=True)], sample_weight)
    y = without_sparse_frame(y)
    truth = PartialLabels.of(y) if self._container.classes is None else None
    if truth is None or truth.unknown is None:
        return float(ClassifierMixin.score(self, X, y, sample_weight))
    check_consistent_length(X, truth.labels)
    known = np.asarray(truth.unknown.sum(axis=1) < truth.unknown.shape[1])
    return _mean(_are_right(truth, self.predict(X)), sample_weight, known)


def _are_right(truth: PartialLabels, predicted: LabelSets) -> BoolArray:
    """Return which samples (n_samples,) are predicted correctly in all known cells."""
    labels, predicted, unknown = (
        sparse.csr_array(matrix, dtype=np.int64) for matrix in (*truth[:1], predicted, truth[1])
    )
    wrong = abs(labels - predicted)
    return np.asarray((wrong - wrong * unknown).sum(axis=1) == 0)


def _mean(hits: Any, sample_weight: ArrayLike | None, counted: BoolArray | None = None) -> float:
    """Return the weighted mean of hits (n_samples,) over the samples that count."""
    weights = np.ones(len(hits)) if sample_weight is None else check_sample_weight(sample_weight, len(hits))
    weights = weights if counted is None else weights * counted
    if not weights.any():
        raise ValueError("y must have a known cell in a sample with a weight above 0, got none.")
    return float(np.average(np.asarray(hits, dtype=np.float64), weights=weights))
