"""Scaling of features by statistics of the training samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler, StandardScaler, normalize
from sklearn.utils.sparsefuncs import min_max_axis

from nearlabel.preprocessing._feature_scaler import are_categories, check_scale  # the only list of scalings
from nearlabel.utils.types import BoolArray, IntArray, Matrix


def scale_features(
    scale: str, training: Matrix, test: Matrix, feature_kinds: Sequence[str] = ()
) -> tuple[Matrix, Matrix]:
    """Scale training and test samples by the statistics of the training samples.

    Parameters
    ----------
    scale : {"none", "minmax", "standard", "tfidf"}
        "minmax" scales to [0, 1] on the training samples; test values may be outside. "standard" scales to mean 0 and
        deviation 1. A constant feature is only shifted. Sparse data are divided but not shifted, which would make them
        dense: distances that depend on differences, such as Euclidean and Manhattan, are the same; the positions of
        zeros, which CML-kNN and feature selection use, are not. "tfidf" multiplies counts of terms by log(D / D_t),
        where D_t of the D training samples have term t, and divides each sample by its Euclidean norm; a term that no
        training sample has gets weight 0, and the result is sparse.
    training, test : ndarray or CSR array of shape (n_rows, n_features)
        Samples.
    feature_kinds : sequence of str of length n_features, default=()
        As in `Dataset.feature_kinds`; categories are unchanged. Empty: all features are numbers.

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
        width[width < 10 * np.finfo(np.float64).eps] = 1.0  # as MinMaxScaler does for dense data
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
    """Scale all features except categories."""
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
