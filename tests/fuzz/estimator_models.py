"""The estimators that are tried, each small, with a slow reference where there is one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.pipeline import make_pipeline

import _reference
from nearlabel import lazy, preprocessing, rivals, selection, thresholds
from nearlabel.neighbors import ExactNeighbors

Answer = tuple[Any, Any]  # label sets (n_queries, n_labels), and scores, of which one may be None
Reference = Callable[[np.ndarray, np.ndarray, np.ndarray, int], Answer]


@dataclass(frozen=True)
class Model:
    """How an estimator is made of a number of neighbours, and what it must answer."""

    make: Callable[[int], Any]
    reference: Reference | None = None
    counts_rows: bool = False  # whether each training row needs k others
    scale_free: bool = False  # whether features times a power of two give the same label sets
    dense_only: bool = False
    has_solver: bool = False  # whether scores depend on how sums are rounded
    share: float = 1.0  # how often it is drawn, relative to others


def _by_rule(rule: Callable[[np.ndarray, list[int]], list[int]]) -> Reference:
    def answer(X: np.ndarray, Y: np.ndarray, queries: np.ndarray, k: int) -> Answer:
        neighbors = [_reference.nearest(X, query, k) for query in queries]
        shares = [[votes / k for votes in _reference.confidences(Y, some)] for some in neighbors]
        return [rule(Y, some) for some in neighbors], shares

    return answer


def _without_scores(reference: Reference) -> Reference:
    return lambda X, Y, queries, k: (reference(X, Y, queries, k)[0], None)


def _of_posteriors(method: Callable[..., Answer], *options: Any) -> Reference:
    def answer(X: np.ndarray, Y: np.ndarray, queries: np.ndarray, k: int) -> Answer:
        posteriors, labels = method(X, Y, queries, k, *options)
        return labels, posteriors

    return answer


def _ml_mlm(X: np.ndarray, Y: np.ndarray, queries: np.ndarray, k: int) -> Answer:
    """Scores by the definition: a ridge regression on distances to the distinct rows predicts distances in labels."""
    first = [i for i in range(len(X)) if not any((X[j] == X[i]).all() for j in range(i))]
    D, E = cdist(X, X[first]), cdist(Y, Y)
    weights = np.linalg.solve(D.T @ D + 0.01 * np.eye(len(first)), D.T @ E)
    scores = []
    for row in np.abs(cdist(queries, X[first]) @ weights):
        near = np.where(row == row.min(), 1.0, (row.min() / np.where(row > 0, row, 1.0)) ** 3)
        scores.append(near @ Y / near.sum())
    return None, scores


def _by_metric(metric: str, **options: Any) -> Model:
    return Model(lambda k: lazy.BRkNN(k, search=ExactNeighbors(metric, **options)), scale_free=True, share=0.4)


_METRICS = (
    "manhattan", "cosine", "sqeuclidean", "chebyshev", "canberra", "braycurtis", "correlation", "seuclidean",
    "mahalanobis", "heom", "nan_euclidean",
)  # fmt: skip
LAZY = {
    "BRkNN": Model(lazy.BRkNN, _by_rule(_reference.brknn), scale_free=True, share=3),
    "BRkNNa": Model(lazy.BRkNNa, _by_rule(_reference.brknn_a), scale_free=True),
    "BRkNNb": Model(lazy.BRkNNb, _by_rule(_reference.brknn_b), scale_free=True),
    "LPkNN": Model(lazy.LPkNN, _without_scores(_by_rule(_reference.lpknn)), scale_free=True),
    "MLkNN": Model(lazy.MLkNN, _of_posteriors(_reference.mlknn), counts_rows=True, scale_free=True, share=3),
    "DMLkNN": Model(
        lambda k: lazy.DMLkNN(k, delta=1),
        _of_posteriors(_reference.dmlknn, 1),
        counts_rows=True,
        scale_free=True,
        share=2,
    ),
    "CMLkNN": Model(lazy.CMLkNN, _of_posteriors(_reference.cmlknn), counts_rows=True, scale_free=True, share=2),
    "IBLR": Model(lazy.IBLR, counts_rows=True, scale_free=True, share=2),
    "IBLR+": Model(lambda k: lazy.IBLR(k, plus=True), counts_rows=True),
    "NLDD": Model(lambda k: lazy.NLDD(random_state=0), share=2),
    "MLMLM": Model(lambda k: lazy.MLMLM(), share=0.5),
    "MLMLM, given": Model(lambda k: lazy.MLMLM(3.0, ridge=0.01, scale="none"), _ml_mlm, share=2),
    "BRkNN by distance": Model(lambda k: lazy.BRkNN(k, weights="distance"), scale_free=True),
    "MLkNN by distance": Model(lambda k: lazy.MLkNN(k, weights="distance"), counts_rows=True, scale_free=True),
    "BRkNN by a tree": Model(
        lambda k: lazy.BRkNN(k, search=ExactNeighbors(algorithm="kd_tree")),
        _by_rule(_reference.brknn),
        scale_free=True,
        dense_only=True,
    ),
    "MLkNN by Manhattan": Model(
        lambda k: lazy.MLkNN(k, search=ExactNeighbors("manhattan")), counts_rows=True, scale_free=True
    ),
    **{f"BRkNN by {metric}": _by_metric(metric) for metric in _METRICS},
    "BRkNN by minkowski": _by_metric("minkowski", metric_params={"p": 3}),
}


def _resampled(sampler: Any) -> Model:
    return Model(lambda k: preprocessing.ResampledClassifier(lazy.BRkNN(k), sampler), share=0.4)


OTHERS = {
    "BinaryRelevance": Model(lambda k: rivals.BinaryRelevance(random_state=0)),
    "SMBR": Model(lambda k: rivals.SMBR(random_state=0)),
    "ClassifierChain": Model(lambda k: rivals.ClassifierChain(random_state=0)),
    "LabelPowerset": Model(lambda k: rivals.LabelPowerset(random_state=0)),
    "BPMLL": Model(lambda k: rivals.BPMLL(n_epochs=5, random_state=0)),
    "AdaBoostMH": Model(lambda k: rivals.AdaBoostMH(n_estimators=8)),
    "ADTBoostMH": Model(lambda k: rivals.ADTBoostMH(n_estimators=5)),
    "ConditionalBernoulliMixture": Model(lambda k: rivals.ConditionalBernoulliMixture(2, tol=0.1, random_state=0)),
    "PredictiveClusteringTree": Model(lambda k: rivals.PredictiveClusteringTree(k, random_state=0)),
    "RankSVM": Model(lambda k: rivals.RankSVM(kernel="linear")),
    "RankSVM, rbf": Model(lambda k: rivals.RankSVM(kernel="rbf"), share=0.5),
    "HOMER": Model(lambda k: rivals.HOMER(random_state=0)),
    "EnsembleOfBinaryRelevance": Model(lambda k: rivals.EnsembleOfBinaryRelevance(n_estimators=3, random_state=0)),
    "EnsembleOfClassifierChains": Model(lambda k: rivals.EnsembleOfClassifierChains(n_estimators=3, random_state=0)),
    "RAkELd": Model(lambda k: rivals.RAkELd(random_state=0)),
    "RAkELo": Model(lambda k: rivals.RAkELo(random_state=0), share=0.5),
    "RandomForestPCT": Model(lambda k: rivals.RandomForestPCT(5, random_state=0)),
    "NeighborInterpolation": Model(lambda k: rivals.NeighborInterpolation(lazy.MLkNN(k), random_state=0), share=0.3),
    "SoftVote": Model(lambda k: rivals.SoftVote([("near", lazy.BRkNN(k)), ("all", lazy.BRkNN(2 * k))]), share=0.5),
    "FixedThresholds": Model(lambda k: thresholds.FixedThresholdsClassifier(lazy.BRkNN(k))),
    "TunedThresholds": Model(lambda k: thresholds.TunedThresholdsClassifierCV(lazy.BRkNN(k), cv="loo")),
    "RiskControl": Model(
        lambda k: thresholds.TunedThresholdsClassifierCV(lazy.BRkNN(k), thresholds.RiskControl(), cv=3), share=0.5
    ),
    "CalibratedLabels": Model(lambda k: thresholds.CalibratedLabels(lazy.MLkNN(k))),
    "NeighborsClassifierCV": Model(
        lambda k: selection.NeighborsClassifierCV(methods=[lazy.BRkNN()], n_neighbors=[1, k + 1], scales=["none"]),
        share=0.5,
    ),
    "NeighborsPerLabel": Model(lambda k: selection.NeighborsPerLabel(lazy.BRkNN())),
    "StreamClassifier": Model(lambda k: lazy.StreamClassifier(lazy.BRkNN(k), min_rows=5)),
    "FeatureScaler": Model(
        lambda k: make_pipeline(
            preprocessing.FeatureScaler(("minmax", "standard", "none", "tfidf")[k % 4]), lazy.BRkNN(k)
        )
    ),
    "NeighborhoodComponentsWeights": Model(
        lambda k: make_pipeline(preprocessing.NeighborhoodComponentsWeights(max_iter=5), lazy.BRkNN(k)), share=0.5
    ),
    "InformationGainSelector": Model(lambda k: make_pipeline(preprocessing.InformationGainSelector(), lazy.BRkNN(k))),
    **{
        f"BRkNN after {type(sampler).__name__}": _resampled(sampler)
        for sampler in (
            preprocessing.MLSMOTE(random_state=0),
            preprocessing.MRHC(),
            preprocessing.MRSP3(),
        )
    },
}

_WITHOUT_SOLVER = re.compile(r"BRkNN|LPkNN|MLkNN|Boost|Forest|Thresholds|Risk|Vote|Neighbors[CP]|Stream|Scaler|Gain")
MODELS = {name: replace(model, has_solver=not _WITHOUT_SOLVER.search(name)) for name, model in (LAZY | OTHERS).items()}
