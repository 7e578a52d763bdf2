"""The metric that a strategy optimises: of the catalogue, by name or as an object, or of the user's own."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearlabel.metrics import CATALOGUE, Metric, MetricLike, get_metric
from nearlabel.metrics.counts import Comparison, Counts
from nearlabel.metrics.ratios import MEAN_RATIOS, Grouping, MeanRatio, fbeta
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.types import FloatArray
from nearlabel.utils.validation import check_positive

_FBETA: dict[str, Grouping] = {
    "fbeta_examples": "per_example",
    "macro_fbeta": "per_label",
    "micro_fbeta": "in_total",
}
OF_EXAMPLES = frozenset(name for name, metric in MEAN_RATIOS.items() if metric.groups == "per_example") | {
    "fbeta_examples"
}
OF_LABELS = frozenset(name for name, metric in MEAN_RATIOS.items() if metric.groups == "per_label") | {
    "hamming_loss",  # a sum over labels, too
    "macro_fbeta",
}
ALL = frozenset(MEAN_RATIOS) | frozenset(_FBETA)


def check_beta(beta: object) -> float:
    """Return beta as a float that F can be computed with; raise TypeError or ValueError otherwise."""
    number = check_positive("beta", beta)
    if not 1e-4 <= number <= 1e4:
        raise ValueError(f"beta must be from 0.0001 to 10000, got {beta}. Beyond, F is precision or recall.")
    return number


@dataclass(frozen=True)
class Objective:
    """A metric to be made as good as possible: `sign` times its value is the larger the better it is."""

    metric: MeanRatio | Metric  # a Metric is one of the user's own, of which nothing but its values is known
    sign: int

    @classmethod
    def given(
        cls, metric: MetricLike, beta: object, known: Collection[str], hint: str = "", *, own: bool = False
    ) -> Objective:
        """Return the metric if it is among the known ones, or, with `own`, one of the user's own."""
        weight = check_beta(beta)
        if isinstance(metric, str):
            name = metric
        else:
            guest = get_metric(metric)
            name = guest.name
            if name not in CATALOGUE:
                return cls._of_guest(guest, beta, own)
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            suggestion = hint if name in ALL else f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"metric must be one of {', '.join(sorted(known))}, got {name!r}.{suggestion}")
        if name in _FBETA:
            return cls(MeanRatio(_FBETA[name], (fbeta(weight),)), 1)
        _check_no_beta(beta)
        return cls(MEAN_RATIOS[name], 1 if CATALOGUE[name].greater_is_better else -1)

    @classmethod
    def _of_guest(cls, metric: Metric, beta: object, own: bool) -> Objective:
        if not own:
            raise ValueError(
                f"metric must be one of the catalogue for this strategy, got {metric.name!r}."
                " Hint: GlobalCut and RCut take metrics of your own."
            )
        if metric.needs != "prediction":
            raise ValueError(f"metric must be one of predictions, got {metric.name!r}, which needs scores.")
        _check_no_beta(beta)
        return cls(metric, 1 if metric.greater_is_better else -1)

    def of(self, truth: PartialLabels, predicted: NDArray[Any], weights: NDArray[Any] | None = None) -> float:
        """Return the metric of predicted label sets, not negated for a loss; rows may have weights."""
        if isinstance(self.metric, Metric):
            return self.metric(truth.with_nan(), predicted, sample_weight=weights)
        return self.metric.of(Comparison.of(truth.labels, predicted, weights, truth.unknown))

    def parts(self, counts: Counts) -> FloatArray:
        """Return the ratios of each group, (n_ratios, n_groups); 0/0 counts as 0."""
        return np.stack([ratio(counts, 0.0) for ratio in self._mean_ratio.ratios])

    def combine(self, means: FloatArray) -> FloatArray:
        """Return the signed values of means of the ratios, (n_ratios, n) -> (n,)."""
        if len(means) == 1:
            return np.asarray(self.sign * means[0])
        combine = self._mean_ratio.combine
        values: Any = np.fromiter((combine(*column) for column in means.T), np.float64, means.shape[1])
        return np.asarray(self.sign * values)

    @property
    def groups(self) -> Grouping:
        """Return over which groups of cells the ratios are counted."""
        return self._mean_ratio.groups

    @property
    def _mean_ratio(self) -> MeanRatio:
        assert isinstance(self.metric, MeanRatio)
        return self.metric


def _check_no_beta(beta: object) -> None:
    if beta != 1:
        raise ValueError(f"beta must be 1 unless metric is one of {', '.join(sorted(_FBETA))}, got {beta}.")


def label_counts(truth: PartialLabels, predicted: NDArray[Any], weights: NDArray[Any] | None = None) -> Counts:
    """Return the counts of each label; rows may have weights."""
    return Comparison.of(truth.labels, predicted, weights, truth.unknown).per_label
