"""What is counted of predictions alone: neither good nor bad, so that nothing is chosen by it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nearlabel.metrics.evaluation import score_all
from nearlabel.utils.types import FloatArray, Matrix

EMPTY_PREDICTIONS = "empty_predictions"  # the share of rows for which no label is predicted


def score_and_count(
    truth: Matrix, predicted: Matrix | None, scores: FloatArray | None, names: Sequence[str]
) -> dict[str, float]:
    """Return measures of the catalogue, and "empty_predictions", in the order of the names."""
    values = score_all(truth, predicted, scores, [name for name in names if name != EMPTY_PREDICTIONS])
    if EMPTY_PREDICTIONS in names and predicted is not None:
        values[EMPTY_PREDICTIONS] = float(np.mean(np.asarray(predicted.sum(axis=1)) == 0))
    return {name: values[name] for name in names}
