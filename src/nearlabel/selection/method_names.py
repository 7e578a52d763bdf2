"""The names of methods, selections of features, samplers and thresholds in specifications."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from nearlabel.lazy import IBLR, MLMLM, NLDD, BRkNN, BRkNNa, BRkNNb, CMLkNN, DMLkNN, LPkNN, MLkNN
from nearlabel.preprocessing import (
    MLROS,
    MLRUS,
    MLSMOTE,
    MLTL,
    MRHC,
    MRSP1,
    MRSP2,
    MRSP3,
    REMEDIAL,
    InformationGainSelector,
    MChen,
    MLeNN,
)
from nearlabel.rivals import (
    BPMLL,
    HOMER,
    SMBR,
    AdaBoostMH,
    ADTBoostMH,
    BinaryRelevance,
    ClassifierChain,
    ConditionalBernoulliMixture,
    EnsembleOfBinaryRelevance,
    EnsembleOfClassifierChains,
    LabelPowerset,
    NeighborInterpolation,
    PredictiveClusteringTree,
    RAkELd,
    RAkELo,
    RandomForestPCT,
    RankSVM,
)
from nearlabel.selection.parts import from_text
from nearlabel.thresholds import (
    FBR,
    CyclicAscent,
    ExpectedF,
    GlobalCut,
    MCut,
    MicroFOptimum,
    PCut,
    PillaiAscent,
    RCut,
    RiskControl,
    SCut,
    ThresholdStrategy,
)

N_FOLDS = 5  # folds, for methods without leave-one-out scores


def _homer(
    *,
    estimator: Any = None,
    n_clusters: int = 3,
    max_iter: int = 20,
    probability: bool = True,
    random_state: Any = None,
) -> HOMER:
    """Return HOMER with binary relevance, so that `estimator` is a classifier of a single label here too."""
    nodes = BinaryRelevance(estimator, probability=probability, random_state=random_state)
    return HOMER(nodes, n_clusters=n_clusters, max_iter=max_iter, probability=probability, random_state=random_state)


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
    lazy = from_text("neighbors of 'interpolation'", others, str(neighbors))
    return NeighborInterpolation(model, lazy, weight, space=space, scoring=scoring, cv=cv, random_state=random_state)


METHODS: Mapping[str, Any] = MappingProxyType(
    {
        "brknn": BRkNN,
        "brknn-a": BRkNNa,
        "brknn-b": BRkNNb,
        "lpknn": LPkNN,
        "mlknn": MLkNN,
        "dmlknn": DMLkNN,
        "cmlknn": CMLkNN,
        "iblr": IBLR,
        "nldd": NLDD,
        "mlmlm": MLMLM,
        "br": BinaryRelevance,
        "smbr": SMBR,
        "cc": ClassifierChain,
        "lp": LabelPowerset,
        "ebr": EnsembleOfBinaryRelevance,
        "ecc": EnsembleOfClassifierChains,
        "rakelo": RAkELo,
        "rakeld": RAkELd,
        "homer": _homer,
        "pct": PredictiveClusteringTree,
        "rfpct": RandomForestPCT,
        "interpolation": _interpolation,
        "cbm": ConditionalBernoulliMixture,
        "ranksvm": RankSVM,
        "adaboostmh": AdaBoostMH,
        "adtboostmh": ADTBoostMH,
        "bpmll": BPMLL,
    }
)

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

SELECTIONS: Mapping[str, Any] = MappingProxyType(
    {"igs": InformationGainSelector, "ig": partial(InformationGainSelector, symmetric=False)}
)

# Samplers change the training samples of each fit.
SAMPLERS: Mapping[str, Any] = MappingProxyType(
    {
        "mlros": MLROS,
        "mlrus": MLRUS,
        "mlsmote": MLSMOTE,
        "mlenn": MLeNN,
        "mltl": MLTL,
        "remedial": REMEDIAL,
        "mrhc": MRHC,
        "mrsp1": MRSP1,
        "mrsp2": MRSP2,
        "mrsp3": MRSP3,
        "mchen": MChen,
    }
)
_OF_SAMPLERS = ("n_neighbors",)  # their own option, not the plan's


def _fbr(variant: int, *, fbr: float | str = "auto", beta: float = 1.0, cv: int = 5, random_state: Any = None) -> FBR:
    strategy = SCut("macro_fbeta", beta=beta)
    return FBR(strategy, variant, fbr, beta=beta, cv=cv, random_state=random_state)


def _risk(measure: str = "recall", level: float = 0.9, confidence: float | None = None) -> RiskControl:
    """Return the strategy with options from text; on leave-one-out scores its guarantee is approximate."""
    return RiskControl(measure, level, confidence=confidence)


# Names with F use the metric with beta; with its default, 1, it is F1.
THRESHOLDS: Mapping[str, Callable[..., ThresholdStrategy]] = MappingProxyType(
    {
        "micro-f": MicroFOptimum,
        "pillai": PillaiAscent,
        "macro-f": partial(SCut, metric="macro_fbeta"),
        "fbr0": partial(_fbr, 0),
        "fbr1": partial(_fbr, 1),
        "global-f": partial(GlobalCut, metric="micro_fbeta"),
        "examples-f": partial(CyclicAscent, metric="fbeta_examples"),
        "expected-f": ExpectedF,
        "rcut": partial(RCut, metric="fbeta_examples"),
        "pcut": PCut,
        "cardinality": partial(PCut, per_label=False),
        "mcut": MCut,
        "risk": _risk,
    }
)
