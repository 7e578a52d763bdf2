"""Candidates of a choice: the spaces in which distances are computed, and the best thresholds of each one's scores."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from nearlabel.metrics import Metric
from nearlabel.models.out_of_sample import of_groups, splitter_of
from nearlabel.models.selector import Criterion
from nearlabel.preprocessing import FeatureScaler, MixedFeaturesEncoder
from nearlabel.thresholds import ThresholdStrategy
from nearlabel.thresholds.best_value import BestThresholds
from nearlabel.utils.containers import are_words, columns_of, is_frame, kind_of
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense

N_PARTS = 5
_MOST_FINALISTS, _BYTES_OF_FINALISTS = 8, 2**28


class MethodInSpace(NamedTuple):
    """A method in a space: candidates that differ only in the number of neighbours."""

    name: str
    method: Any
    space: Space
    place: tuple[int, int]  # of the method, and of the space: lower ones win among equal values


class Trial(NamedTuple):
    """A candidate and its result.

    Parameters
    ----------
    tried : MethodInSpace
        The method and the space.
    n_neighbors : int or None
        The number of neighbours, if the method has one.
    rank : tuple
        The trial with the lowest rank wins: it begins with the loss, infinite if the metric is undefined. Among equal
        values the larger number of neighbours wins.
    value : float
        The metric, with the best thresholds.
    strategy : ThresholdStrategy
        Fitted to all scores.
    """

    tried: MethodInSpace
    n_neighbors: int | None
    rank: tuple[Any, ...]
    value: float
    strategy: ThresholdStrategy

    @property
    def params(self) -> dict[str, Any]:
        """The candidate in words."""
        space = self.tried.space
        named = {"method": self.tried.name, "scale": space.scale, "metric": space.metric}
        return {**named, "n_neighbors": self.n_neighbors}


class Trials:
    """The trials, and the scores of the best few.

    Parameters
    ----------
    labels : ndarray or CSR of shape (n_samples, n_labels)
        True label sets, checked; all cells are known.
    metric : Metric
        The metric to optimise.
    strategy : ThresholdStrategy
        Finds thresholds; a clone is fitted to the scores of each candidate.

    Attributes
    ----------
    all : list of Trial
        In the order of trying.
    best_model : object
        The fitted model of the best trial.
    """

    def __init__(self, labels: Matrix, metric: Metric, strategy: ThresholdStrategy) -> None:
        self._labels, self._criterion = labels, Criterion(metric)
        self._thresholds = BestThresholds(labels, metric, strategy)
        self._finalists: list[tuple[tuple[Any, ...], Trial, FloatArray]] = []
        self._most = max(1, min(_MOST_FINALISTS, _BYTES_OF_FINALISTS // (8 * labels.shape[0] * labels.shape[1])))
        self.all: list[Trial] = []
        self.best_model: Any = None

    def offer(self, tried: MethodInSpace, n_neighbors: int | None, model: Any, scores: FloatArray) -> None:
        """Find the best thresholds for checked scores (n_samples, n_labels), and store the value that they reach."""
        strategy, value = self._thresholds.tuned(scores)
        rank = self._criterion.loss(value), *tried.place, -(n_neighbors or 0)
        trial = Trial(tried, n_neighbors, rank, value, strategy)
        self.all.append(trial)
        if np.isfinite(value):
            self._finalists.append((trial.rank, trial, scores))
            self._finalists.sort(key=itemgetter(0))
            del self._finalists[self._most :]
            if self._finalists[0][1] is trial:
                self.best_model = model

    @property
    def best(self) -> Trial:
        """The best trial.

        Raises
        ------
        ValueError
            If the metric is undefined for all.
        """
        if not self._finalists:
            name = self._criterion.metric.name
            raise ValueError(f"scoring must be a metric that these label sets define, got {name!r}, which is not.")
        return self._finalists[0][1]

    @property
    def best_scores(self) -> FloatArray:
        """The leave-one-out scores of the best trial."""
        return self._finalists[0][2]

    def crossfit(self, groups: IntArray | None = None) -> float:
        """Return the value if each of five parts is decided by a choice among the best few on the other parts."""
        n_samples = self._labels.shape[0]
        n_units = n_samples if groups is None else int(groups.max()) + 1
        if n_units < N_PARTS:
            return float("nan")
        decided = np.empty(self._labels.shape, dtype=np.int64)
        scored = np.empty(self._labels.shape)
        splitter = splitter_of(N_PARTS, n_samples, 0, groups)
        for others, part in splitter.split(np.zeros((n_samples, 1)), **of_groups(groups)):
            tuned = [self._thresholds.tuned(scores, others) for *_, scores in self._finalists]
            best = self._criterion.first_best([value for _, value in tuned]) or 0
            scored[part] = self._finalists[best][2][part]
            decided[part] = as_dense(self._thresholds.decided(tuned[best][0], scored[part]))
        return self._thresholds.value(decided, scored)

    def table(self) -> dict[str, NDArray[Any]]:
        """Return the trials as columns, in the order of trying."""
        ranks = [trial.rank for trial in self.all]
        rank = np.empty(len(ranks), dtype=np.intp)
        rank[sorted(range(len(ranks)), key=ranks.__getitem__)] = np.arange(1, len(ranks) + 1)
        return {
            "method": np.array([trial.tried.name for trial in self.all]),
            "scale": np.array([trial.tried.space.scale for trial in self.all]),
            "metric": np.array([trial.tried.space.metric for trial in self.all]),
            "n_neighbors": np.array([trial.n_neighbors or 0 for trial in self.all]),
            "score": np.array([trial.value for trial in self.all]),
            "rank": rank,
        }


# The ways to compute distances that a choice tries: the transformation of features, and the metric.

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
        Training samples; only the kinds of their values are used.
    scales : "auto", sequence of str, or mapping of str to transformer or None
        Names of scalings, as `FeatureScaler` knows them, or transformers of the features, by name.
    metrics : "auto" or sequence of str
        Metrics of `ExactNeighbors`. "auto": for a scale that "auto" tries too, those that go with it there; for another
        scale all of them.

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
    return [Space(scale, given[scale], metric) for scale, metric in pairs]


def _tried(metrics: Any, scale: str, pairs: list[tuple[str, str]]) -> list[str]:
    """Return the metrics to try with a scale, where "auto" for both would try these pairs."""
    if not isinstance(metrics, str):
        return list(metrics)
    return [metric for of, metric in pairs if of == scale] or list(dict.fromkeys(metric for _, metric in pairs))


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
    scaler = FeatureScaler(scale)
    if _has_missing(X):
        return make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), scaler)
    return None if scale == "none" else scaler


def _has_missing(X: MatrixLike) -> bool:
    values = X.data if sparse.issparse(X) else np.asarray(X)
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(1, dtype=bool)
    if missing.size and missing.all():
        raise ValueError("X must have some values that are not missing, got none.")
    return bool(missing.any())


def fresh(space: Space) -> list[Any]:
    """Return the unfitted steps before the method."""
    return [] if space.preparation is None else [clone(space.preparation)]
