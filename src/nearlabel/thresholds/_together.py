"""A number of neighbours that is chosen together with the thresholds."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from nearlabel.thresholds._strategy import ThresholdStrategy
from nearlabel.utils.types import FloatArray, Matrix

AUTO = "auto"


class ReachedWith:
    """The quality of scores: the metric that the best thresholds reach with them; larger is better."""

    def __init__(self, strategy: ThresholdStrategy) -> None:
        self.strategy = strategy

    def __call__(self, labels: Matrix, scores: FloatArray) -> float:
        """Return the value for true label sets and scores (n_samples, n_labels)."""
        strategy: Any = clone(self.strategy).fit(scores, labels)
        return float(strategy._objective().sign * strategy.objective_)


def choosing_together(estimator: Any, strategy: ThresholdStrategy) -> Any:
    """Return a clone; if its last step has ``n_neighbors="auto"``, it selects the number together with the thresholds.

    A strategy that optimises no metric leaves the choice to the step.
    """
    if strategy._objective() is None or not _is_auto(last_step(estimator)):
        return estimator
    together = clone(estimator)
    last_step(together).set_params(n_neighbors=ReachedWith(strategy))
    return together


def as_given(fitted: Any) -> None:
    """Give a fitted estimator back the parameter that the user gave it."""
    if isinstance(getattr(last_step(fitted), "n_neighbors", None), ReachedWith):
        last_step(fitted).set_params(n_neighbors=AUTO)


def last_step(estimator: Any) -> Any:
    """Return the classifier at the end of a pipeline, or the estimator itself."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def _is_auto(estimator: Any) -> bool:
    return isinstance(getattr(estimator, "n_neighbors", None), str) and hasattr(estimator, "loo_predict_proba")
