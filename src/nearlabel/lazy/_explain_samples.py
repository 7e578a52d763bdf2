"""Explanations by whatever classifier a model contains: behind a pipeline's steps, within thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from nearlabel.lazy._explanation import Explanation
from nearlabel.utils.types import Matrix


def explain_samples(model: Any, X: Matrix, label_names: Sequence[str] | None = None) -> list[Explanation] | None:
    """Explain what a fitted model predicts for each sample.

    The last step of a pipeline explains, of the samples as that step sees them. A classifier with thresholds around a
    pipeline explains with those thresholds.

    Parameters
    ----------
    model : fitted classifier or Pipeline
        One with `explain`, or a pipeline of which the last step has it.
    X : array-like or sparse container of shape (n_samples, n_features)
        Samples.
    label_names : sequence of str of length n_labels, default=None
        Names of the labels, for a model that was fitted to arrays without names. None: those that the model knows.

    Returns
    -------
    list of Explanation or None
        One for each sample; None if no part of the model has `explain`.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from nearlabel.lazy import MLkNN, explain_samples
    >>> X, y = [[0], [1], [2], [9]], [[1, 0], [1, 1], [0, 1], [0, 0]]
    >>> model = make_pipeline(MinMaxScaler(), MLkNN(n_neighbors=2)).fit(X, y)
    >>> (explanation,) = explain_samples(model, [[1]], ["sea", "beach"])
    >>> explanation.predicted
    ['sea', 'beach']
    """
    if isinstance(model, Pipeline):
        return explain_samples(model[-1], _before_last(model, X), label_names)
    inner = getattr(model, "estimator_", None)
    if isinstance(inner, Pipeline):
        # The thresholds of a copy are put around the last step, which sees what the steps before it make of X.
        outer = copy(model)
        outer.estimator = outer.estimator_ = inner[-1]
        return explain_samples(outer, _before_last(inner, X), label_names)
    if not hasattr(model, "explain"):
        return None
    if label_names is not None:
        model = copy(model)
        model.label_names_ = np.array(label_names, dtype=object)
    explanations: list[Explanation] = model.explain(X)
    return explanations


def _before_last(pipeline: Pipeline, X: Matrix) -> Matrix:
    return pipeline[:-1].transform(X) if len(pipeline) > 1 else X
