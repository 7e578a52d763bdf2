"""The names of methods, selections of features, samplers and thresholds in specifications."""

from __future__ import annotations

import inspect
from typing import Any

# Each room declares what it has when it is loaded.
from nearlabel import lazy, preprocessing, rivals, thresholds  # noqa: F401
from nearlabel.rivals import BinaryRelevance, NeighborInterpolation
from nearlabel.selection.parts import from_text
from nearlabel.utils import names
from nearlabel.utils.naming import named, registered

N_FOLDS = 5  # folds, for methods without leave-one-out scores


@registered("method", "interpolation")
def _interpolation(
    *,
    estimator: Any = None,
    neighbors: str = "mlmlm",
    weight: float | str = "auto",
    space: str = "probability",
    scoring: str = "micro_f1",
    cv: int = N_FOLDS,
    random_state: Any = None,
) -> NeighborInterpolation:
    """Return the classifier with `estimator` as a classifier of a single label, and the neighbours by name."""
    model = None if estimator is None else BinaryRelevance(estimator, random_state=random_state)
    others = {name: METHODS[name] for name in METHODS if hasattr(METHODS[name], "loo_predict_proba")}
    chosen = from_text("neighbors of 'interpolation'", others, str(neighbors))
    return NeighborInterpolation(model, chosen, weight, space=space, scoring=scoring, cv=cv, random_state=random_state)


METHODS = named("method", names.METHODS)
SELECTIONS = named("selection", names.SELECTIONS)
SAMPLERS = named("sampler", names.SAMPLERS)  # change the training samples of each fit
THRESHOLDS = named("thresholds", names.THRESHOLDS)  # names with F use the metric with beta, by default F1

OF_SAMPLERS = ("n_neighbors",)  # their own option, not the plan's

# Methods that share one search for every number of neighbours.
NEIGHBOR_METHODS = tuple(
    name for name, method in METHODS.items() if "n_neighbors" in inspect.signature(method).parameters
)

# Default methods of `Tuning` and ``nearlabel tune``: neighbour-based methods and strong others, cheap ones first.
LEADERBOARD_METHODS = (
    "brknn@micro-f",
    "brknn:weights=distance@micro-f",
    "mlknn@micro-f",
    "br:estimator=logistic@micro-f",
    "mlmlm@micro-f",
    "iblr@micro-f",
    "nldd:estimator=logistic",  # its scores are those of the regressions; only its decision rule is new
    "rfpct@micro-f",
    "ecc:estimator=logistic@micro-f",
    "interpolation:estimator=logistic",  # learns thresholds and weight together
)
