"""SCut: a threshold for each label, tuned for that label alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearlabel.metrics import CATALOGUE, Metric, MetricLike
from nearlabel.metrics.counts import Counts
from nearlabel.metrics.ratios import mean
from nearlabel.thresholds._cuts import label_cuts
from nearlabel.thresholds._global import first_largest
from nearlabel.thresholds._objective import OF_LABELS, Objective, label_counts
from nearlabel.thresholds._strategy import ByThresholds
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.types import FloatArray

_HINT = " Hint: MicroFOptimum finds the best micro_f1, GlobalCut and CyclicAscent serve metrics of examples."

_FUNCTIONS = tuple(metric.function for metric in CATALOGUE.values())


class SCut(ByThresholds):
    """Tune the threshold of each label for that label alone.

    This maximises macro-averaged F, and any other metric that is a mean over labels (Yang 2001). It is exact over all
    distinct thresholds, with one sort per label.

    Parameters
    ----------
    metric : str, Metric or callable, default="macro_f1"
        "macro_f1", "macro_fbeta", "macro_precision", "macro_recall" or "hamming_loss", or these entries or functions of
        `nearlabel.metrics`. Your own function is computed from counts: it takes arrays ``(hits, predicted, positives,
        n_samples)`` with one entry per threshold (the last two are numbers, counted over the samples in which the label
        is known), and returns an array of values, larger is better.
    beta : float, default=1.0
        Weight of recall against precision in "macro_fbeta".

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_labels,)
        A label is predicted if its score is at least this. Among equal optima, the one with the fewest predictions;
        infinity for a label without positives that is best never predicted.
    objective_ : float
        The mean over labels that is reached; for the Hamming loss, the value over all known cells.
    objectives_ : ndarray of shape (n_labels,)
        The value of each label; NaN for a label without a known cell, which the mean leaves out.
    n_labels_ : int
        Number of labels.

    Notes
    -----
    A label without positives counts as 0, as 0/0 does in `macro_f1`. Thresholds of rare labels, tuned separately, are
    often too low for micro-averaged F: see `MicroFOptimum` and `FBR`.

    References
    ----------
    Y. Yang: A study of thresholding strategies for text categorization. SIGIR 2001.

    Examples
    --------
    >>> from nearlabel.thresholds import SCut
    >>> scores = [[0.9, 0.2], [0.8, 0.1], [0.3, 0.4], [0.1, 0.3]]
    >>> y = [[1, 1], [0, 0], [1, 0], [0, 0]]
    >>> SCut().fit(scores, y).objectives_.round(2).tolist()
    [0.8, 0.5]
    """

    def __init__(self, metric: MetricLike | Callable[..., FloatArray] = "macro_f1", *, beta: float = 1.0) -> None:
        self.metric = metric
        self.beta = beta

    def _check_parameters(self) -> None:
        self._objective()

    def _objective(self) -> Objective | None:
        if self._of_counts:
            return None
        metric: Any = self.metric
        return Objective.given(metric, self.beta, OF_LABELS, _HINT)

    @property
    def _of_counts(self) -> bool:
        """Whether the metric is a user's function."""
        listed = isinstance(self.metric, Metric) or self.metric in _FUNCTIONS
        return callable(self.metric) and not listed

    def _learn(self, scores: NDArray[Any], truth: PartialLabels, weights: Any) -> None:
        thresholds, values, sizes = np.empty((3, scores.shape[1]))
        every = self._of_counts  # nothing is known about it: any threshold can be the best
        for label, cuts in enumerate(label_cuts(scores, truth, weights, every=every)):
            sizes[label] = cuts.n_rows
            if not cuts.n_rows:
                thresholds[label], values[label] = np.inf, np.nan
                continue
            value = self._values(cuts.hits, cuts.predicted, cuts.positives, cuts.n_rows)
            # The first of the best: the fewest predicted samples. Sums of fractional weights are rounded.
            best = value.argmax() if weights is None or weights.dtype.kind == "i" else first_largest(value)
            thresholds[label], values[label] = cuts.thresholds[best], value[best]
        self.thresholds_ = thresholds
        self.objectives_ = values if self._of_counts else np.abs(values)
        self.objective_ = self._mean(self.objectives_, sizes)

    def _mean(self, values: FloatArray, sizes: FloatArray) -> float:
        """Return the mean over labels with a known cell; for the Hamming loss, over cells."""
        known, objective = sizes > 0, self._objective()
        is_of_cells = objective is not None and objective.groups == "in_total"
        return mean(values[known], sizes[known] / sizes.max() if is_of_cells else None)

    def _values(self, hits: Any, predicted: Any, positives: Any, total: Any) -> FloatArray:
        """Return the value of each threshold of a label; larger is better."""
        objective = self._objective()
        if objective is not None:
            return objective.combine(objective.parts(Counts(hits, predicted, np.full(len(hits), positives), total)))
        of_counts: Any = self.metric
        values = np.asarray(of_counts(hits, predicted, positives, total), dtype=np.float64)
        if values.shape != hits.shape or np.isnan(values).any():
            raise ValueError(
                f"metric must return {len(hits)} numbers, one for each threshold and none of them NaN, got {values!r}."
            )
        return values

    def _reached(self, truth: PartialLabels, predicted: NDArray[Any], weights: Any) -> float:
        if not self._of_counts:
            return super()._reached(truth, predicted, weights)
        counts = label_counts(truth, predicted, weights)
        sizes = np.broadcast_to(counts.size, counts.true.shape)
        of_labels = zip(counts.hits, counts.predicted, counts.true, sizes, strict=True)
        return float(
            np.mean([self._values(np.array([h]), np.array([p]), t, size) for h, p, t, size in of_labels if size])
        )
