"""Leave-one-out predictions of a model for its training samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nearlabel.calibration import CalibratedLabels
from nearlabel.inspection import Unwrapped, unwrapped
from nearlabel.utils.response_methods import as_label_scores
from nearlabel.utils.types import FloatArray, Matrix


class LeftOutPredictions(NamedTuple):
    """Label sets and probabilities (n_samples, n_labels), each sample predicted from all others."""

    labels: Matrix
    scores: FloatArray


def left_out_predictions(model: Any, shape: tuple[int, int]) -> LeftOutPredictions | None:
    """Return the leave-one-out predictions of a fitted model; None if it does not support them.

    Thresholds, calibration and the steps of a pipeline stay fitted to all samples. `shape` is the shape of the label
    sets: if the training samples have changed since, the model has predictions for other samples.
    """
    found = unwrapped(model)
    if not _knows_its_samples(found):
        return None
    try:
        scores = as_label_scores(found.classifier.loo_predict_proba(), found.classifier, shape[1], "predict_proba")
        labels: Matrix = None if found.around else found.classifier.loo_predict()
    except ValueError:  # too few samples for leave-one-out
        return None
    for part in reversed(found.around):
        labels = part.label_sets_of(scores)
        scores = part.calibrated(scores) if isinstance(part, CalibratedLabels) else scores
    return LeftOutPredictions(labels, scores) if np.shape(labels) == scores.shape == shape else None


def _knows_its_samples(found: Unwrapped) -> bool:
    """Return whether the classifier was fitted to the samples themselves, not to resampled ones."""
    steps = (step for before in found.before for _, step in before.steps)
    by_probability = all(part.response_method_ == "predict_proba" for part in found.around)
    resampled = any(hasattr(step, "fit_resample") for step in steps)
    return hasattr(found.classifier, "loo_predict_proba") and by_probability and not resampled
