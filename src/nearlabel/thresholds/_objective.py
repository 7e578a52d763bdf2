"""Which measure a strategy optimises: by name, from the catalogue's measures of predictions."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.metrics import CATALOGUE
from nearlabel.metrics.counts import Comparison, Counts
from nearlabel.metrics.ratios import MEAN_RATIOS, Grouping, MeanRatio, fbeta
from nearlabel.utils.types import FloatArray, Matrix
from nearlabel.utils.validation import check_positive

_FBETA: dict[str, Grouping] = {
    "fbeta_examples": "per_example",
    "macro_fbeta": "per_label",
    "micro_fbeta": "in_total",
}
OF_EXAMPLES = frozenset(name for name, measure in MEAN_RATIOS.items() if measure.groups == "per_example") | {
    "fbeta_examples"
}
OF_LABELS = frozenset(name for name, measure in MEAN_RATIOS.items() if measure.groups == "per_label") | {
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
    """A measure to be made as good as possible; `value` is larger the better it is."""

    measure: MeanRatio
    sign: int

    @classmethod
    def named(cls, metric: object, beta: object, known: Collection[str], hint: str = "") -> Objective:
        """Return the measure of that name, if it is among the known ones."""
        weight = check_beta(beta)
        if not isinstance(metric, str) or metric not in known:
            near = difflib.get_close_matches(str(metric), known, n=1)
            say = hint if metric in ALL else f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"metric must be one of {', '.join(sorted(known))}, got {metric!r}.{say}")
        if metric in _FBETA:
            return cls(MeanRatio(_FBETA[metric], (fbeta(weight),)), 1)
        if weight != 1:
            raise ValueError(f"beta must be 1 unless metric is one of {', '.join(sorted(_FBETA))}, got {beta}.")
        return cls(MEAN_RATIOS[metric], 1 if CATALOGUE[metric].greater_is_better else -1)

    def of(self, labels: Matrix, predicted: Matrix, weights: Any = None) -> float:
        """Return the value, in the measure's own direction, of predicted label sets; rows may have weights."""
        if weights is None:
            return self.measure.of(Comparison.of(labels, predicted))
        counts, shares = _weighted_counts(labels, predicted, weights, self.measure.groups)
        return float(abs(self.combine(self.parts(counts) @ shares[:, np.newaxis])[0]))

    def parts(self, counts: Counts) -> FloatArray:
        """Return the ratios of each group, (n_ratios, n_groups); 0/0 counts as 0."""
        return np.stack([ratio(counts, 0.0) for ratio in self.measure.ratios])

    def combine(self, means: FloatArray) -> FloatArray:
        """Return the signed values of means of the ratios, (n_ratios, n) -> (n,)."""
        if len(means) == 1:
            return np.asarray(self.sign * means[0])
        values: Any = np.fromiter((self.measure.combine(*column) for column in means.T), np.float64, means.shape[1])
        return np.asarray(self.sign * values)


def _weighted_counts(labels: Matrix, predicted: Matrix, weights: Any, groups: Grouping) -> tuple[Counts, FloatArray]:
    """Return the counts of each group where rows have weights, and what each group counts in the mean."""
    if groups == "per_example":
        return Comparison.of(labels, predicted).per_example, weights / weights.sum()
    counts = label_counts(labels, predicted, weights)
    if groups == "in_total":
        hits, chosen, true = (part.sum(keepdims=True) for part in counts[:3])
        counts = Counts(hits, chosen, true, counts.size * labels.shape[1])
    return counts, np.full(len(counts.true), 1 / len(counts.true))


def label_counts(labels: Matrix, predicted: Matrix, weights: Any = None) -> Counts:
    """Return the counts of each label; rows may have weights."""
    compared = Comparison.of(labels, predicted)
    if weights is None:
        return compared.per_label
    true, chosen = compared.true, compared.predicted
    hits = true.multiply(chosen) if sparse.issparse(true) else true * chosen
    return Counts(weights @ hits, weights @ chosen, weights @ true, size=weights.sum())
