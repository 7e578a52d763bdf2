"""What tests of several threshold strategies share: the strategies, their metrics in exact fractions, problems."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np

import nearlabel.metrics
from nearlabel.metrics.counts import MEAN_RATIOS
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
)

BY_THRESHOLDS = {
    "micro_f": MicroFOptimum(),
    "pillai": PillaiAscent(2.0),
    "scut": SCut(),
    "scut_hamming": SCut("hamming_loss"),
    "global_micro": GlobalCut(),
    "global_macro": GlobalCut("macro_f1"),
    "global_precision": GlobalCut("macro_precision"),
    "global_examples": GlobalCut("f1_examples"),
    "cyclic": CyclicAscent(),
    "cyclic_subset": CyclicAscent("subset_accuracy"),
    "pcut": PCut(),
    "pcut_all": PCut(per_label=False, factor=1.5),
    "fbr": FBR(SCut(), variant=1, fbr=0.5),
    "fbr_auto": FBR(MicroFOptimum(), variant=0, cv=2),
    # At this level no number of rows is too small, which `fit` would warn of.
    "risk_recall": RiskControl("recall", 0.5),
    "risk_all_labels": RiskControl("all_labels", 0.5),
    "risk_precision": RiskControl("precision", 0.2, confidence=0.2, grid=[8.0, 4, 2, 1, 0.5, 0.25, 0, -1]),
}
WITHOUT_WEIGHTS = tuple(name for name in BY_THRESHOLDS if name.startswith("risk"))
BY_ROW = {"rcut": RCut(), "rcut_2": RCut(2, metric="micro_f1"), "mcut": MCut(), "expected_f": ExpectedF(2.0)}
STRATEGIES = BY_THRESHOLDS | BY_ROW

METRICS = [(name, 1) for name in MEAN_RATIOS] + [
    (name, beta) for name in ("micro_fbeta", "macro_fbeta", "fbeta_examples") for beta in (0.5, 2)
]


def public(metric, beta=1):
    """Return the function of nearlabel.metrics of that name."""
    function = getattr(nearlabel.metrics, metric)
    return partial(function, beta=beta) if "fbeta" in metric else function


def medium_problem(seed, ties=True):
    """Return scores and Y of up to 60 rows and 8 labels, true ones scored higher; on a grid unless `ties` is off."""
    rng = np.random.default_rng(seed)
    n, n_labels = rng.integers(5, 61), rng.integers(1, 9)
    Y = (rng.random((n, n_labels)) < rng.choice([0.02, 0.1, 0.3, 0.7], n_labels)).astype(int)
    scores = rng.normal(size=(n, n_labels)) + rng.choice([0.0, 0.5, 2.0]) * Y
    return (np.round(scores * rng.choice([1, 4])) / 4 if ties else scores), Y


def _quotient(numerator, denominator):
    return Fraction(int(numerator), int(denominator)) if denominator else Fraction(0)


def _f(beta):
    squared = Fraction(beta) ** 2
    return lambda h, p, t, size: (1 + squared) * int(h) / (squared * int(t) + int(p)) if t or p else Fraction(0)


_RATIOS = {
    "hamming_loss": lambda h, p, t, size: -_quotient(p + t - 2 * h, size),
    "subset_accuracy": lambda h, p, t, size: Fraction(int(h == p == t)),
    "jaccard": lambda h, p, t, size: _quotient(h, p + t - h),
    "precision": lambda h, p, t, size: _quotient(h, p),
    "recall": lambda h, p, t, size: _quotient(h, t),
    "f1": _f(1),
}


def exactly(metric, beta, Y, predicted):
    """Return a metric as a fraction, the larger the better: a mean over groups of a ratio of counts, 0/0 being 0."""
    if metric == "f1_of_means":
        p, r = (exactly(name, 1, Y, predicted) for name in ("precision_examples", "recall_examples"))
        return 2 * p * r / (p + r) if p + r else Fraction(0)
    axis = {"micro": None, "macro": 0, "hamming": None}.get(metric.split("_")[0], 1)
    name = metric.removeprefix("micro_").removeprefix("macro_").removesuffix("_examples")
    ratio = _f(beta) if name == "fbeta" else _RATIOS[name]
    counts = [np.atleast_1d(part.sum(axis=axis)) for part in (Y * predicted, predicted, Y)]
    size = Y.size if axis is None else Y.shape[axis]
    parts = [ratio(*group, size) for group in zip(*counts, strict=True)]
    return sum(parts) / len(parts)
