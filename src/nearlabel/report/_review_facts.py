"""Predictions to check: those with the largest expected loss, for samples that are not training samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nearlabel.active import review
from nearlabel.datasets import Dataset
from nearlabel.utils.cells import cells_of
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.row_names import row_name
from nearlabel.utils.types import Matrix

_MOST = 10


def doubtful_predictions(model: Any, data: Dataset, kept: Mapping[str, Sequence[str]]) -> list[dict[str, Any]] | None:
    """Return the predictions with the largest expected loss, with the true labels; None without probabilities."""
    if not hasattr(model, "predict_proba"):
        return None
    truth = PartialLabels.of(data.Y)
    found = review(model, data.X, _MOST, label_names=list(range(len(data.label_names))))
    return [
        {
            "row": one.row,
            "name": row_name(one.row, {name: texts[one.row] for name, texts in kept.items()}),
            "predicted": [str(data.label_names[label]) for label in one.predicted],
            "expected": one.expected_loss,
            "doubts": [
                {
                    "label": str(data.label_names[doubt.label]),
                    "predicted": doubt.predicted,
                    "probability_wrong": doubt.probability_wrong,
                    "is_wrong": _is_wrong(truth, one.row, doubt.label, doubt.predicted),
                }
                for doubt in one.doubts
            ],
        }
        for one in found
    ]


def _is_wrong(truth: PartialLabels, row: int, label: int, predicted: bool) -> bool | None:
    """Return whether the prediction of a label is wrong; None if unknown."""

    def at(matrix: Matrix) -> bool:
        return bool(cells_of(matrix, np.array([row]), np.array([label]))[0])

    if truth.unknown is not None and at(truth.unknown):
        return None
    return at(truth.labels) != predicted
