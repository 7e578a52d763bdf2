"""The ways to measure distances that a choice tries: what is done to features, and the metric."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from nearlabel.preprocessing import FeatureScaler, MixedFeaturesEncoder
from nearlabel.utils.containers import columns_of, is_frame, kind_of
from nearlabel.utils.types import MatrixLike

_MOST_TERMS_OF_MANHATTAN = 4e9  # n² d: it is no matrix product, and 10 times as slow as the Euclidean distance


class Space(NamedTuple):
    """One way: the name of the scaling, an unfitted transformer or None, and the metric."""

    scale: str
    preparation: Any
    metric: str


def spaces_of(X: MatrixLike, scales: Any = "auto", metrics: Any = "auto") -> list[Space]:
    """Return the spaces to try, simple ones first.

    Parameters
    ----------
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Training samples; nothing is learned from them but what they hold.
    scales : "auto", sequence of str, or mapping of str to transformer or None
        Names of scalings, as `FeatureScaler` knows them, or what is done to the features, by name.
    metrics : "auto" or sequence of str
        Metrics of `ExactNeighbors`.

    Returns
    -------
    list of Space
        With a scale or metric given, each with each.
    """
    automatic = _automatic(X)
    names = [space.scale for space in automatic] if isinstance(scales, str) else list(scales)
    given = scales if isinstance(scales, Mapping) else {name: _preparation(X, name) for name in names}
    if isinstance(scales, str) and isinstance(metrics, str):
        pairs: list[tuple[str, str]] = [(space.scale, space.metric) for space in automatic]
    else:
        of_metrics = [space.metric for space in automatic] if isinstance(metrics, str) else list(metrics)
        pairs = [(scale, metric) for scale in given for metric in dict.fromkeys(of_metrics)]
    return [Space(scale, given[scale], metric) for scale, metric in dict.fromkeys(pairs)]


class _Pair(NamedTuple):
    scale: str
    metric: str


def _automatic(X: MatrixLike) -> list[_Pair]:
    if is_mixed(X):
        return [_Pair("minmax", "euclidean"), _Pair("standard", "euclidean")]
    if sparse.issparse(X):
        words = _Pair("tfidf", "cosine") if X.min() >= 0 else _Pair("none", "cosine")
        return [_Pair("minmax", "euclidean"), _Pair("minmax", "cosine"), words]
    n_samples, n_features = np.shape(X)
    manhattan = [_Pair("minmax", "manhattan")] if n_samples**2 * n_features <= _MOST_TERMS_OF_MANHATTAN else []
    return [_Pair("minmax", "euclidean"), _Pair("standard", "euclidean"), _Pair("minmax", "cosine"), *manhattan]


def is_mixed(X: MatrixLike) -> bool:
    """Return whether columns hold other things than numbers."""
    if is_frame(X):
        return any(kind_of(column) != "number" for column in columns_of(X))
    return bool(getattr(X, "dtype", np.dtype(float)).kind == "O")


def _preparation(X: MatrixLike, scale: str) -> Any:
    if is_mixed(X):
        return MixedFeaturesEncoder(scale=scale)
    scaler = FeatureScaler(scale)
    if _has_missing(X):
        return make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), scaler)
    return None if scale == "none" else scaler


def _has_missing(X: MatrixLike) -> bool:
    values = X.data if sparse.issparse(X) else np.asarray(X)
    return bool(values.dtype.kind == "f" and np.isnan(values).any())


def fresh(space: Space) -> list[Any]:
    """Return the unfitted steps before the method."""
    return [] if space.preparation is None else [clone(space.preparation)]
