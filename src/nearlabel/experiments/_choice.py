"""Nested selection: the best candidate on all samples, and for each part of the samples the best on the other parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nearlabel.experiments._attempt import Chosen
from nearlabel.metrics import CATALOGUE, Metric, score_all
from nearlabel.utils.types import IntArray, Matrix
from nearlabel.utils.validation import as_dense


class Choice:
    """The best candidate on all samples, and for each part of the samples the best on the other parts.

    For each part only the predictions of the best candidate so far are stored, so the number of candidates is not
    limited. `nearlabel.model_selection.NeighborsClassifierCV` tunes thresholds once per candidate instead of once per
    part: it must store the scores of the best few, and evaluates only these part by part.
    """

    def __init__(self, Y: Matrix, parts: Sequence[IntArray], metric: Metric, chosen: Chosen | None = None) -> None:
        self.Y, self.parts, self._metric = Y, parts, metric
        self._others = [np.delete(np.arange(Y.shape[0]), part) for part in parts]
        self.chosen = Chosen.none(len(parts)) if chosen is None else chosen

    def offer(self, labels: Any, scores: Any) -> tuple[float, tuple[float, ...]]:
        """Add the predictions of a candidate for all samples; return the metric on all samples and on each part."""
        losses, answers = list(self.chosen.losses), list(self.chosen.answers)
        for number, (part, others) in enumerate(zip(self.parts, self._others, strict=True)):
            loss = loss_of(self._metric, self._value(labels, scores, others))
            if answers[number] is None or loss < losses[number]:
                losses[number], answers[number] = loss, (labels[part], scores[part])
        value = self._value(labels, scores)
        least, best = self.chosen.least, self.chosen.best
        if (loss := loss_of(self._metric, value)) < least:
            least, best = loss, (labels, scores)
        self.chosen = Chosen(tuple(losses), tuple(answers), least, best)
        return value, tuple(self._value(labels, scores, part) for part in self.parts)

    def scores(self) -> dict[str, float]:
        """Return all metrics of the nested selection: the best on the other parts predicts each part."""
        answers = [answer for answer in self.chosen.answers if answer is not None]
        labels, scores = (np.vstack(arrays) for arrays in zip(*answers, strict=True))
        return self.metrics_of(np.concatenate(self.parts), labels, scores)

    def metrics_of(self, rows: Any, labels: Any, scores: Any) -> dict[str, float]:
        """Return all metrics of the label sets and scores of some samples, without undefined ones."""
        metrics = {**CATALOGUE, self._metric.name: self._metric}.values()
        values = score_all(as_dense(self.Y)[rows], labels, scores, metrics)
        return {name: float(value) for name, value in values.items() if np.isfinite(value)}

    def _value(self, labels: Any, scores: Any, rows: Any = slice(None)) -> float:
        return float(score_all(self.Y[rows], labels[rows], scores[rows], [self._metric])[self._metric.name])


def loss_of(metric: Metric, value: float) -> float:
    """Return a loss, which is smaller for better values of a metric, and infinite if the metric is undefined."""
    if not np.isfinite(value):
        return np.inf
    return -value if metric.greater_is_better else value
