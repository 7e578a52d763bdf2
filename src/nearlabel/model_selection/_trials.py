"""Candidates compared by the best metric that thresholds reach on their out-of-sample scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from nearlabel.metrics import Metric, score_all
from nearlabel.out_of_sample import of_groups, splitter_of
from nearlabel.thresholds import ThresholdStrategy
from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense

N_PARTS = 5
_MOST_FINALISTS, _BYTES_OF_FINALISTS = 8, 2**28


class Trial(NamedTuple):
    """A candidate and its result.

    Parameters
    ----------
    names : dict
        The candidate in words: "method", "scale", "metric", "n_neighbors".
    candidate : object
        The candidate.
    place : tuple of int
        Among equal values the trial with the lowest place wins.
    value : float
        The metric, with the best thresholds.
    strategy : ThresholdStrategy
        Fitted to all scores.
    """

    names: dict[str, Any]
    candidate: Any
    place: tuple[int, ...]
    value: float
    strategy: ThresholdStrategy


class Trials:
    """The trials, and the scores of the best few.

    Parameters
    ----------
    labels : ndarray or CSR of shape (n_samples, n_labels)
        True label sets.
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
        self._labels, self._metric, self._strategy = labels, metric, strategy
        self._finalists: list[tuple[Trial, FloatArray]] = []
        self._most = max(1, min(_MOST_FINALISTS, _BYTES_OF_FINALISTS // (8 * labels.shape[0] * labels.shape[1])))
        self.all: list[Trial] = []
        self.best_model: Any = None

    def offer(
        self, names: dict[str, Any], candidate: Any, place: tuple[int, ...], model: Any, scores: FloatArray
    ) -> None:
        """Find the best thresholds for a model's scores (n_samples, n_labels), and store the value that they reach."""
        strategy, value = self._tuned(scores, slice(None))
        trial = Trial(names, candidate, place, value, strategy)
        self.all.append(trial)
        if np.isfinite(value):
            self._finalists = sorted([*self._finalists, (trial, scores)], key=lambda pair: self._rank(pair[0]))
            del self._finalists[self._most :]
            self.best_model = model if self.best is trial else self.best_model

    @property
    def best(self) -> Trial:
        """The best trial.

        Raises
        ------
        ValueError
            If the metric is undefined for all.
        """
        if not self._finalists:
            raise ValueError(
                f"scoring must be a metric that these label sets define, got {self._metric.name!r}, which is not."
            )
        return self._finalists[0][0]

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
            tuned = [self._tuned(scores, others) for _, scores in self._finalists]
            gains = np.array([self._gain(value) for _, value in tuned])
            best = int(np.where(np.isnan(gains), -np.inf, gains).argmax())
            scored[part] = self._finalists[best][1][part]
            decided[part] = as_dense(tuned[best][0].predict(scored[part]))
        return metric_of(self._metric, self._labels, decided, scored)

    def table(self) -> dict[str, NDArray[Any]]:
        """Return the trials as columns, in the order of trying."""
        ranked = sorted(range(len(self.all)), key=lambda number: self._rank(self.all[number]))
        rank = np.empty(len(ranked), dtype=np.intp)
        rank[ranked] = np.arange(1, len(ranked) + 1)
        columns = {name: np.array([trial.names[name] or 0 for trial in self.all]) for name in self.all[0].names}
        return {**columns, "score": np.array([trial.value for trial in self.all]), "rank": rank}

    def _tuned(self, scores: FloatArray, rows: Any) -> tuple[ThresholdStrategy, float]:
        """Return thresholds found on some rows, and the value that they reach there."""
        labels, scores = self._labels[rows], scores[rows]
        strategy = clone(self._strategy).fit(scores, labels)
        return strategy, metric_of(self._metric, labels, strategy.predict(scores), scores)

    def _gain(self, value: float) -> float:
        return value if self._metric.greater_is_better else -value

    def _rank(self, trial: Trial) -> tuple[Any, ...]:
        return (-self._gain(trial.value) if np.isfinite(trial.value) else np.inf, *trial.place)


def metric_of(metric: Metric, truth: Matrix, predicted: Matrix, scores: FloatArray) -> float:
    """Return a metric of predicted label sets or of scores, whichever it needs."""
    return float(score_all(truth, predicted, scores, [metric])[metric.name])
