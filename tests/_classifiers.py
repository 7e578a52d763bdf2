"""Every public classifier of the library with its default parameters, and random_state=0 where it draws."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from sklearn.base import is_classifier

from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.preprocessing import MLSMOTE
from nearlabel.rivals import (
    BPMLL,
    AdaBoostMH,
    ADTBoostMH,
    ConditionalBernoulliMixture,
    EnsembleOfBinaryRelevance,
    EnsembleOfClassifierChains,
    RandomForestPCT,
    RankSVM,
)
from nearlabel.selection import MixtureClassifierCV, NeighborsClassifierCV, NeighborsPerLabel

_ROOMS = ("lazy", "rivals", "thresholds", "selection", "preprocessing")


def _seeded(classifier: Any) -> Any:
    """Return the classifier with random_state=0 where it draws, or a test fails now and then only."""
    if "random_state" in classifier.get_params(deep=False):
        classifier.set_params(random_state=0)
    return classifier


# The classifiers whose defaults take long, in a smaller size.
_SMALL: dict[str, Any] = {
    "BPMLL": BPMLL(n_epochs=5),
    "ADTBoostMH": ADTBoostMH(n_estimators=6),
    "AdaBoostMH": AdaBoostMH(n_estimators=12),
    "ConditionalBernoulliMixture": ConditionalBernoulliMixture(2, tol=0.1),
    "RankSVM": RankSVM(kernel="linear"),
    "RandomForestPCT": RandomForestPCT(5),
    "EnsembleOfBinaryRelevance": EnsembleOfBinaryRelevance(n_estimators=3),
    "EnsembleOfClassifierChains": EnsembleOfClassifierChains(n_estimators=3),
    "MixtureClassifierCV": MixtureClassifierCV(
        families=("neighbors", "linear"), n_neighbors=(3, 5), scales=("none",), metrics=("euclidean",)
    ),
    "NeighborsClassifierCV": NeighborsClassifierCV(scales=("minmax",), metrics=("euclidean",)),
    "NeighborsPerLabel": NeighborsPerLabel(max_neighbors=5),
}
SMALL = {name: _seeded(classifier) for name, classifier in _SMALL.items()}


def default_classifiers() -> dict[str, Any]:
    """Return each public classifier by name; those that need a classifier get ML-kNN, with a sampler BRkNN."""
    defaults = {}
    for room in _ROOMS:
        module = importlib.import_module(f"nearlabel.{room}")
        for name in module.__all__:
            made = _made(getattr(module, name))
            if made is not None and is_classifier(made):
                defaults[name] = _seeded(made)
    return defaults


def _made(public: Any) -> Any:
    """Return an instance of a class that has `fit` and can be made without arguments but `estimator` and `sampler`."""
    if not inspect.isclass(public) or inspect.isabstract(public) or not hasattr(public, "fit"):
        return None
    parameters = inspect.signature(public).parameters.values()
    required = [parameter.name for parameter in parameters if parameter.default is parameter.empty]
    if required == ["estimator", "sampler"]:
        return public(BRkNN(), MLSMOTE(random_state=0))
    return public(MLkNN()) if required == ["estimator"] else None if required else public()
