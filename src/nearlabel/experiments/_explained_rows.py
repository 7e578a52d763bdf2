"""Explanations of rows by whatever classifier stands in a model: behind a pipeline's steps, within thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from nearlabel.lazy import Explanation
from nearlabel.utils.types import Matrix


def explain_rows(model: Any, X: Matrix, label_names: Sequence[str] | None = None) -> list[Explanation] | None:
    """Return the explanation of every row; None where no part of the model explains itself.

    Of a pipeline it is the last step that explains, of a classifier with thresholds around a pipeline the last step of
    that, with those thresholds: in both cases of the rows as that step sees them. A model that was fitted to arrays
    knows labels by number only; names may be given.
    """
    if isinstance(model, Pipeline):
        return explain_rows(model[-1], _before_last(model, X), label_names)
    inner = getattr(model, "estimator_", None)
    if isinstance(inner, Pipeline):
        outer = copy(model)
        outer.estimator = outer.estimator_ = inner[-1]
        return explain_rows(outer, _before_last(inner, X), label_names)
    if not hasattr(model, "explain"):
        return None
    if label_names is not None:
        model = copy(model)
        model.label_names_ = np.array(label_names, dtype=object)
    explanations: list[Explanation] = model.explain(X)
    return explanations


def _before_last(pipeline: Pipeline, X: Matrix) -> Matrix:
    return pipeline[:-1].transform(X) if len(pipeline) > 1 else X
