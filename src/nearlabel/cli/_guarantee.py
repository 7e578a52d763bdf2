"""A guarantee for new samples: fit holds out samples for calibration, and predict prints the guarantee."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from nearlabel.datasets import Dataset
from nearlabel.thresholds import (
    FixedThresholdsClassifier,
    RiskControl,
    ScoreShift,
    TunedThresholdsClassifierCV,
    quantile_grid,
)
from nearlabel.utils.estimators import label_scores, response_method_of

HELD_OUT = 0.3  # of the rows, for calibration
_SEED = 0  # of the draw
_UNUSUAL = 0.01  # p-value of the scores below which they are called unlike


class Calibration(NamedTuple):
    """The guarantee, and the samples on which it is based."""

    control: RiskControl
    fitted_to: Dataset
    rows: Dataset
    keep: Mapping[str, Sequence[Any]]  # of the rows that the model is fitted to

    def apply(self, model: Any) -> Any:
        """Return a model fitted to the other rows, its thresholds replaced by those of the promise.

        They are around its last step, so that the steps that transform features stay the first steps of the model.
        """
        steps, last = ([*model.steps[:-1]], model[-1]) if isinstance(model, Pipeline) else ([], model)
        X, held_out = self.fitted_to.X, self.rows.X
        for _, step in steps:
            X, held_out = step.transform(X), step.transform(held_out)
        if isinstance(last, FixedThresholdsClassifier | TunedThresholdsClassifierCV):
            last = last.estimator_
        promising = TunedThresholdsClassifierCV(last, self._control_for(last, X), cv="prefit")
        promising.fit(held_out, self.rows.Y)
        return Pipeline([*steps, ("promise", promising)]) if steps else promising

    def _control_for(self, classifier: Any, X: Any) -> RiskControl:
        """Return the control; decision values have no usual range, so those of the fitted rows are the candidates."""
        method = response_method_of(classifier)
        if self.control.measure != "precision" or method == "predict_proba":
            return self.control
        grid = quantile_grid(label_scores(classifier, X, self.fitted_to.Y.shape[1], method))
        control: RiskControl = clone(self.control).set_params(grid=grid)
        return control

    @property
    def measured(self) -> str:
        """How the figures are measured."""
        return f"the {self.rows.X.shape[0]} held-out samples, on which the threshold was set"


def hold_out(arguments: argparse.Namespace, data: Dataset, keep: Mapping[str, Sequence[Any]]) -> Calibration | None:
    """Hold out samples for the guarantee that the arguments request; None if they request none."""
    if arguments.guarantee is None:
        return None
    measure, level = arguments.guarantee
    n_rows = data.X.shape[0]
    n_held = round(HELD_OUT * n_rows)
    if n_held < 1:
        raise ValueError(f"DATA must have at least 2 rows with --guarantee, got {n_rows}.")
    order = np.random.default_rng(_SEED).permutation(n_rows)
    held, others = np.sort(order[:n_held]), np.sort(order[n_held:])
    kept = {name: [column[row] for row in others] for name, column in keep.items()}
    control = RiskControl(measure, level, confidence=arguments.confidence)
    return Calibration(control, _some_rows(data, others), _some_rows(data, held), kept)


def _some_rows(data: Dataset, rows: Any) -> Dataset:
    return replace(data, X=data.X[rows], Y=data.Y[rows], groups=None if data.groups is None else data.groups[rows])


def risk_control_of(model: Any) -> RiskControl | None:
    """Return what promises in a fitted model; None if nothing does."""
    strategy = getattr(last_step(model), "strategy_", None)
    return strategy if isinstance(strategy, RiskControl) else None


def last_step(model: Any) -> Any:
    """Return the last step of a pipeline, or the model itself."""
    return model[-1] if isinstance(model, Pipeline) else model


def shift_in_words(shift: ScoreShift) -> str:
    """Return a sentence on the guarantee, from a comparison of scores."""
    figures = f"Kolmogorov-Smirnov distance {shift.statistic:.2f}, p = {shift.p_value:.2g}"
    if shift.p_value <= _UNUSUAL:
        return f"the scores of these rows differ from those of calibration, so the guarantee may fail: {figures}."
    return f"the scores of these rows are similar to those of calibration: {figures}."
