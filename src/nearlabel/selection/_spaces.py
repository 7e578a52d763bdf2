"""The ways to compute distances that a choice tries: the transformation of features, and the metric."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from nearlabel.preprocessing import CLIP, FeatureScaler, MixedFeaturesEncoder, has_range
from nearlabel.utils.containers import are_words, columns_of, is_frame, kind_of
from nearlabel.utils.types import Matrix, MatrixLike

_MOST_TERMS_OF_MANHATTAN = 4e9  # n² d: it is no matrix product, and 10 times as slow as the Euclidean distance


class Space(NamedTuple):
    """One way: the name of the scaling, an unfitted transformer or None, and the metric.

    `takes_all`: whether "auto" tries here the methods whose cost grows faster than that of a search, too.
    """

    scale: str
    preparation: Any
    metric: str
    takes_all: bool = False


def spaces_of(X: MatrixLike, scales: Any = "auto", metrics: Any = "auto") -> list[Space]:
    """Return the spaces to try, simple ones first.

    Parameters
    ----------
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Training samples; only the kinds of their values are used.
    scales : "auto", sequence of str, or mapping of str to transformer or None
        Names of scalings, as `FeatureScaler` knows them, or transformers of the features, by name.
    metrics : "auto" or sequence of str
        Metrics of `ExactNeighbors`. "auto": for a scale that "auto" tries too, those that go with it there; for another
        scale all of them, and for "tfidf" the cosine.

    Returns
    -------
    list of Space
        With metrics given, each scale with each.
    """
    pairs = _automatic(X)
    names = list(dict.fromkeys(scale for scale, _ in pairs)) if isinstance(scales, str) else list(scales)
    given = scales if isinstance(scales, Mapping) else {scale: _preparation(X, scale) for scale in names}
    if not (isinstance(scales, str) and isinstance(metrics, str)):
        pairs = [(scale, metric) for scale in names for metric in _tried(metrics, scale, pairs)]
    for_all = ("tfidf", "cosine") if is_mixed(X) and "tfidf" in names else ("minmax", "euclidean")
    return [Space(scale, given[scale], metric, (scale, metric) == for_all) for scale, metric in pairs]


def _tried(metrics: Any, scale: str, pairs: list[tuple[str, str]]) -> list[str]:
    """Return the metrics to try with a scale, where "auto" for both would try these pairs."""
    if not isinstance(metrics, str):
        return list(metrics)
    usual = ["cosine"] if scale == "tfidf" else list(dict.fromkeys(metric for _, metric in pairs))
    return [metric for of, metric in pairs if of == scale] or usual


def _automatic(X: MatrixLike) -> list[tuple[str, str]]:
    """Return pairs of scale and metric; they depend on the values of X, not on its container."""
    if is_mixed(X):
        return [("minmax", "euclidean"), ("standard", "euclidean")]
    if are_words(X):
        return [("minmax", "euclidean"), ("minmax", "cosine"), ("tfidf", "cosine")]
    few = X.shape[0] ** 2 * X.shape[1] <= _MOST_TERMS_OF_MANHATTAN
    return [("minmax", "euclidean"), ("standard", "euclidean"), *([("minmax", "manhattan")] if few else [])]


def is_mixed(X: MatrixLike) -> bool:
    """Return whether columns have values other than numbers."""
    if is_frame(X):
        return any(kind_of(column) != "number" for column in columns_of(X))
    return bool(getattr(X, "dtype", np.dtype(float)).kind == "O")


def _preparation(X: MatrixLike, scale: str) -> Any:
    if is_mixed(X):
        return MixedFeaturesEncoder(scale=scale)
    scaler = FeatureScaler(scale, out_of_range=CLIP)
    if _has_missing(X):
        return make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), scaler)
    return scaler if scale != "none" or has_range(X) else None


def _has_missing(X: MatrixLike) -> bool:
    values = X.data if sparse.issparse(X) else np.asarray(X)
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(1, dtype=bool)
    if missing.size and missing.all():
        raise ValueError("X must have some values that are not missing, got none.")
    return bool(missing.any())


def prepared_in(space: Space, X: MatrixLike, labels: Matrix) -> tuple[MatrixLike, list[Any]]:
    """Return the features as a space sees them, and the fitted steps."""
    steps = [] if space.preparation is None else [clone(space.preparation)]
    for step in steps:
        X = step.fit_transform(X, labels)
    return X, steps
