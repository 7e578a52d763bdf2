"""Precision-recall curves of the labels with the lowest F1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, precision_recall_curve

from nearlabel.metrics.counts import Comparison
from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense

_MOST_CURVES, _MOST_POINTS = 6, 150
_LEAST_SAMPLES = 5  # samples of a label; with fewer the curve is not informative


def label_curves(compared: Comparison, scores: FloatArray | None, label_names: Sequence[str]) -> dict[str, Any]:
    """Return the curves of the labels with the lowest F1, lowest first; empty without scores.

    A label has a curve if it has at least `_LEAST_SAMPLES` positive samples, a negative one, and finite scores.
    """
    if scores is None:
        return {"n_labels": 0, "curves": []}
    counts = compared.per_label
    enough = (counts.true >= _LEAST_SAMPLES) & (counts.true < counts.size) & np.isfinite(scores).all(axis=0)
    labels = np.flatnonzero(enough)
    f1 = 2 * counts.hits[labels] / (counts.true[labels] + counts.predicted[labels])
    worst = labels[np.lexsort((-counts.true[labels], f1))][:_MOST_CURVES]
    return {"n_labels": len(labels), "curves": [_curve(compared, scores, label, label_names) for label in worst]}


def _curve(compared: Comparison, scores: FloatArray, label: int, label_names: Sequence[str]) -> dict[str, Any]:
    known = ~_column(compared.unknown, label) if compared.unknown is not None else np.ones(len(scores), dtype=bool)
    true, of_label = _column(compared.true, label)[known], scores[known, label]
    precision, recall, _ = precision_recall_curve(true, of_label)
    shown = np.unique(np.linspace(0, len(recall) - 1, _MOST_POINTS).round().astype(np.intp))[::-1]
    hits, predicted, support = (
        int(count[label]) for count in (compared.per_label.hits, compared.per_label.predicted, compared.per_label.true)
    )
    return {
        "name": str(label_names[label]),
        "recall": recall[shown].tolist(),
        "precision": precision[shown].tolist(),
        "average_precision": float(average_precision_score(true, of_label)),
        "share": support / int(known.sum()),
        "precision_of_model": hits / predicted if predicted else None,
        "recall_of_model": hits / support,
        "f1": 2 * hits / (predicted + support),
    }


def _column(matrix: Matrix, label: int | IntArray) -> NDArray[np.bool_]:
    return np.asarray(as_dense(matrix[:, [label]]), dtype=bool)[:, 0]
