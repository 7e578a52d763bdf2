"""Mixtures of models of unlike families: their weights, chosen on scores that exist already, with thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nearlabel.metrics import Metric
from nearlabel.models.out_of_sample import of_groups, splitter_of
from nearlabel.models.selector import Criterion
from nearlabel.thresholds import ThresholdStrategy
from nearlabel.thresholds.best_value import BestThresholds
from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense

N_PARTS = 5
_MOST_MODELS, _MOST_STEPS = 4, 20
_MOST_CELLS = 2**19  # on which weights are found one by one; of more, a sample of the rows
_DIGITS = 9  # of values to compare


class Mixture(NamedTuple):
    """Weights of models, and thresholds for their mixed scores.

    Parameters
    ----------
    weights : ndarray of shape (n_models,)
        At least 0; they sum to 1.
    strategy : ThresholdStrategy
        Fitted to the mixed scores of all samples.
    value : float
        The metric that these thresholds reach on them: optimistic.
    crossfit_value : float
        The metric if weights and thresholds for each of five parts of the samples are chosen on the others.
    scores : ndarray of shape (n_samples, n_labels)
        The mixed scores.
    """

    weights: FloatArray
    strategy: ThresholdStrategy
    value: float
    crossfit_value: float
    scores: FloatArray


class MixtureChoice:
    """The choice of weights for the scores of several models of the same samples.

    Tried are equal weights for the best one, two, three and four models, and weights by greedy selection with
    replacement (Caruana et al., ICML 2004): the model whose addition gains most is added, up to 20 times. Each way is
    evaluated by cross-fitting. Ties go to fewer models, then to equal weights.

    Parameters
    ----------
    scores : sequence of ndarrays of shape (n_samples, n_labels)
        Out-of-sample probabilities of each model.
    labels : ndarray or CSR of shape (n_samples, n_labels)
        True label sets.
    metric : Metric
        The metric to optimise.
    strategy : ThresholdStrategy
        Finds thresholds; cloned.
    groups : ndarray of int of shape (n_samples,), default=None
        Samples of a group are in the same part.
    """

    def __init__(
        self,
        scores: Sequence[FloatArray],
        labels: Matrix,
        metric: Metric,
        strategy: ThresholdStrategy,
        groups: IntArray | None = None,
    ) -> None:
        self._scores, self._groups = list(scores), groups
        self._thresholds, self._criterion = BestThresholds(as_dense(labels), metric, strategy), Criterion(metric)

    def best(self) -> Mixture:
        """Return the mixture of the best way."""
        n_samples = len(self._scores[0])
        n_units = n_samples if self._groups is None else int(self._groups.max()) + 1
        ways = list(range(1, min(_MOST_MODELS, len(self._scores)) + 1))
        greedy = 0  # its number
        values = dict.fromkeys(ways, np.nan)
        if n_units >= N_PARTS and len(self._scores) > 1:
            values = self._crossfitted([*ways, greedy])
        best = min(values, key=lambda way: round(self._criterion.loss(values[way]), _DIGITS))  # the first of equals
        weights = self._weights(np.arange(n_samples), [best])[best]
        mixed = self._mixed(weights)
        strategy, value = self._thresholds.tuned(mixed)
        return Mixture(weights, strategy, value, values[best], mixed)

    def _crossfitted(self, ways: Sequence[int]) -> dict[int, float]:
        """Return the value of each way: each part is decided by weights and thresholds of the others."""
        n_samples, n_labels = self._scores[0].shape
        splitter = splitter_of(N_PARTS, n_samples, 0, self._groups)
        decided = {way: np.zeros((n_samples, n_labels), dtype=np.int64) for way in ways}
        mixed = {way: np.zeros((n_samples, n_labels)) for way in ways}
        for others, part in splitter.split(np.zeros((n_samples, 1)), **of_groups(self._groups)):
            for way, weights in self._weights(others, ways).items():
                of_all = self._mixed(weights)
                strategy, _ = self._thresholds.tuned(of_all, others)
                mixed[way][part] = of_all[part]
                decided[way][part] = as_dense(self._thresholds.decided(strategy, of_all[part]))
        return {way: self._thresholds.value(decided[way], mixed[way]) for way in ways}

    def _weights(self, rows: IntArray, ways: Sequence[int]) -> dict[int, FloatArray]:
        """Return the weights of each way, found on some samples: a number of models, or 0 for greedy selection."""
        losses = [self._loss(weights, rows) for weights in np.eye(len(self._scores))]
        order = np.argsort(losses, kind="stable")
        found = {}
        for way in ways:
            weights = np.zeros(len(order))
            weights[order[:way]] = 1 / max(way, 1)
            found[way] = weights if way else self._greedy(rows, int(order[0]))
        return found

    def _greedy(self, rows: IntArray, first: int) -> FloatArray:
        """Return the weights after adding, from the best model on, the one that gains most, as long as any does."""
        some = rows[:: max(1, len(rows) * self._scores[0].shape[1] // _MOST_CELLS)]
        counts = np.eye(len(self._scores))[first]
        least = self._loss(counts, some)
        for _ in range(_MOST_STEPS):
            each = [(counts + one) / (counts.sum() + 1) for one in np.eye(len(counts))]
            losses = [self._loss(weights, some) for weights in each]
            best = int(np.argmin(losses))
            if not round(losses[best], _DIGITS) < round(least, _DIGITS):
                break
            least, counts[best] = losses[best], counts[best] + 1
        return np.asarray(counts / counts.sum())

    def _loss(self, weights: FloatArray, rows: IntArray) -> float:
        """Return the loss of weights with their best thresholds, on some samples."""
        return self._criterion.loss(self._thresholds.tuned(self._mixed(weights), rows)[1])

    def _mixed(self, weights: FloatArray) -> FloatArray:
        """Return the weighted sum of the scores, in the order in which `SoftVote` adds them."""
        pairs = zip(weights.tolist(), self._scores, strict=True)
        return np.asarray(sum(weight * of_model for weight, of_model in pairs if weight > 0))
