"""Features scaled by statistics of the training samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler, StandardScaler, normalize
from sklearn.utils.sparsefuncs import min_max_axis

from nearlabel.preprocessing._feature_scaler import are_categories, check_scale  # one list of scalings
from nearlabel.utils.types import BoolArray, IntArray, Matrix


def scale_features(
    scale: str, training: Matrix, test: Matrix, feature_kinds: Sequence[str] = ()
) -> tuple[Matrix, Matrix]:
    """Scale training and test samples by the statistics of the training samples.

    Parameters
    ----------
    scale : {"none", "minmax", "standard", "tfidf"}
        "minmax": to [0, 1] on the training rows, test values may leave it; "standard": mean 0, deviation 1. A constant
        feature is only shifted. Sparse rows are divided but not shifted, which would fill them: distances that depend
        on differences, as Euclidean and Manhattan do, are the same; what is 0, which CML-kNN and the selection of
        features look at, is not. "tfidf": counts of terms times log(D / D_t), where
        D_t of the D training rows have term t, then rows divided by their Euclidean length; a term that no training row
        has gets weight 0, and the rows are sparse.
    training, test : ndarray or CSR array of shape (n_rows, n_features)
        Rows.
    feature_kinds : sequence of str of length n_features, default=()
        As `Dataset.feature_kinds`: categories are unchanged. Empty: all are numbers.

    Returns
    -------
    training, test : ndarray or CSR array
        The rows, scaled.
    """
    check_scale(scale, feature_kinds)
    if scale == "none":
        return training, test
    if "category" in feature_kinds:
        return _scaled_beside_categories(scale, training, test, are_categories(feature_kinds))
    if scale == "minmax" and sparse.issparse(training):
        low, high = min_max_axis(training, axis=0)
        width = high - low
        width[width < 10 * np.finfo(np.float64).eps] = 1.0  # as MinMaxScaler does for dense rows
        inverse = sparse.diags_array(1.0 / width)
        return (training @ inverse).tocsr(), (test @ inverse).tocsr()
    if scale == "tfidf":
        return _tfidf(training, test)
    scaler = MinMaxScaler() if scale == "minmax" else StandardScaler(with_mean=not sparse.issparse(training))
    scaler.fit(training)
    return scaler.transform(training), scaler.transform(test)


def _scaled_beside_categories(
    scale: str, training: Matrix, test: Matrix, is_category: BoolArray
) -> tuple[Matrix, Matrix]:
    """Scale the other features."""
    numbers, categories = np.flatnonzero(~is_category), np.flatnonzero(is_category)
    if not len(numbers):
        return training, test
    scaled = scale_features(scale, training[:, numbers], test[:, numbers])
    order = np.argsort(np.concatenate([numbers, categories]))
    parts = zip(scaled, (training, test), strict=True)
    first, second = (_merged(part, rows[:, categories], order) for part, rows in parts)
    return first, second


def _merged(numbers: Matrix, categories: Matrix, order: IntArray) -> Matrix:
    if not sparse.issparse(numbers):
        return np.hstack([numbers, categories])[:, order]
    rows = sparse.hstack([numbers, categories], format="csr")[:, order]
    rows.sort_indices()
    return rows


def _tfidf(training: Matrix, test: Matrix) -> tuple[Matrix, Matrix]:
    training, test = sparse.csr_array(training), sparse.csr_array(test)
    n_with = np.asarray((training != 0).sum(axis=0)).reshape(-1)
    weight = np.where(n_with > 0, np.log(training.shape[0] / np.maximum(n_with, 1)), 0.0)
    weights = sparse.diags_array(weight)
    return normalize((training @ weights).tocsr()), normalize((test @ weights).tocsr())
