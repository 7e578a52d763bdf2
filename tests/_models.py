"""Every estimator of the library, fitted to a small problem: what must survive being kept."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from nearlabel.lazy import IBLR, MLMLM, NLDD, BRkNN, BRkNNa, BRkNNb, CMLkNN, DMLkNN, LPkNN, MLkNN, StreamClassifier
from nearlabel.neighbors import (
    ExactNeighbors,
    FaissHNSWNeighbors,
    FaissIVFNeighbors,
    GaussianWeights,
    NoveltyDetector,
    PrecomputedNeighbors,
    SimilarityWeights,
    TransformerNeighbors,
    UsearchNeighbors,
)
from nearlabel.preprocessing import (
    MLSMOTE,
    MRHC,
    MRSP1,
    MRSP2,
    MRSP3,
    FeatureScaler,
    InformationGainSelector,
    MChen,
    MixedFeaturesEncoder,
    NeighborhoodComponentsWeights,
    ResampledClassifier,
    StemAnalyzer,
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
    SoftVote,
)
from nearlabel.selection import MixtureClassifierCV, NeighborsClassifierCV, NeighborsPerLabel
from nearlabel.thresholds import (
    FBR,
    CalibratedLabels,
    CyclicAscent,
    ExpectedF,
    FixedThresholdsClassifier,
    GlobalCut,
    MCut,
    MicroFOptimum,
    PCut,
    PillaiAscent,
    RCut,
    RiskControl,
    SCut,
    TunedThresholdsClassifierCV,
)

TREE = "sklearn.tree._tree.Tree"
_METHODS = ("predict_proba", "decision_function", "predict", "loo_predict_proba", "kneighbors", "transform")


class Fitted(NamedTuple):
    """A fitted estimator, and queries for it."""

    model: Any
    queries: Any


def _rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)).round(2)
    X[7] = X[3]
    return X, (rng.random((60, 5)) < [0.5, 0.3, 0.2, 0.6, 0.0]).astype(int)


_X, _Y = _rows()
_NAMES = ["wide", "deep", "[red]", "süß"]
_TAGS = [f"tag {label}" for label in range(5)]


def _dense(estimator: Any) -> Callable[[], Fitted]:
    return lambda: Fitted(estimator.fit(_X, _Y), _X[:20] + 0.01)


def _sparse(estimator: Any, container: Any = sparse.csr_array) -> Callable[[], Fitted]:
    X = np.maximum(_X, 0)
    return lambda: Fitted(estimator.fit(container(X), container(_Y)), container(X[:20]))


def _frame(estimator: Any) -> Callable[[], Fitted]:
    X, Y = pd.DataFrame(_X, columns=_NAMES), pd.DataFrame(_Y, columns=_TAGS)
    return lambda: Fitted(estimator.fit(X, Y), X[:20])


def _mixed(estimator: Any) -> Callable[[], Fitted]:
    X = pd.DataFrame(_X.copy(), columns=_NAMES)
    X["colour"], X["title"] = np.where(_X[:, 0] > 0, "red", None), np.where(_X[:, 1] > 0, "much wheat", "corn")
    X.iloc[5, 1] = np.nan
    return lambda: Fitted(estimator.fit(X, _Y), X[:20])


def _many_rows(estimator: Any) -> Callable[[], Fitted]:
    """So many that a tree is built, and many of them equal."""
    X, Y = np.tile(np.round(_X, 1), (30, 1)), np.tile(_Y, (30, 1))
    return lambda: Fitted(estimator.fit(X, Y), _X)


def _scores(strategy: Any) -> Callable[[], Fitted]:
    scores = np.random.default_rng(1).random(_Y.shape)
    return lambda: Fitted(strategy.fit(scores, _Y), scores[::-1].copy())


def _precomputed() -> Fitted:
    queries = _X[:20] + 0.01
    search = PrecomputedNeighbors.from_search(ExactNeighbors(), _X, queries, n_neighbors=5)
    return Fitted(MLkNN(3, search=search).fit(_X, _Y), queries)


def _precomputed_alone() -> Fitted:
    search = PrecomputedNeighbors.from_search(ExactNeighbors(), _X, _X[:20], n_neighbors=5)
    return Fitted(search, _X[:20])


def _alone(search: Any) -> Callable[[], Fitted]:
    return lambda: Fitted(search.fit(pd.DataFrame(_X, columns=_NAMES)), pd.DataFrame(_X[:20], columns=_NAMES))


def _streamed(forgetting: str) -> Callable[[], Fitted]:
    stream = StreamClassifier(BRkNN(3), max_rows=40, forgetting=forgetting, drift_window=5)
    return lambda: Fitted(stream.fit(_X[:30], _Y[:30]).partial_fit(_X[30:], _Y[30:]), _X[:20])


APPROXIMATE = {
    "faiss IVF": FaissIVFNeighbors(),
    "faiss IVF, cosine": FaissIVFNeighbors(metric="cosine"),
    "faiss HNSW": FaissHNSWNeighbors(random_state=np.int64(3)),
    "usearch": UsearchNeighbors(),
}
SEARCHES = {
    "exact": ExactNeighbors(),
    "exact, kd_tree": ExactNeighbors(algorithm="kd_tree"),
    "exact, cosine": ExactNeighbors("cosine"),
    "exact, heom": ExactNeighbors("heom"),
    "exact, seuclidean": ExactNeighbors("seuclidean"),
    "exact, minkowski": ExactNeighbors("minkowski", metric_params={"p": 3, "w": np.arange(1.0, 5.0)}),
    "sklearn, kd_tree": NearestNeighbors(algorithm="kd_tree"),
    "sklearn, brute": NearestNeighbors(algorithm="brute", metric="cosine"),
    "sklearn's transformer": KNeighborsTransformer(n_neighbors=9),
    "transformer": TransformerNeighbors(KNeighborsTransformer(n_neighbors=9, algorithm="ball_tree")),
} | {name: search for name, search in APPROXIMATE.items() if find_spec(name.partition(" ")[0])}
_STRATEGIES = {
    type(strategy).__name__: strategy
    for strategy in (
        CyclicAscent(), ExpectedF(), FBR(SCut()), GlobalCut(), MCut(), MicroFOptimum(), PCut(), PillaiAscent(), RCut(),
        RiskControl(), SCut(),
    )
}  # fmt: skip
_LOGISTIC = LogisticRegression()
_AUTO = (
    BRkNN("auto"),
    BRkNNa("auto"),
    BRkNNb("auto"),
    CMLkNN("auto"),
    DMLkNN("auto"),
    IBLR("auto"),
    LPkNN("auto"),
    MLkNN("auto"),
)

_SAMPLERS = (
    MLSMOTE(3, random_state=0),
    MRHC(),
    MRSP1(0.5),
    MRSP2(0.5),
    MRSP3(),
    MChen(0.5),
)

MODELS: dict[str, Callable[[], Fitted]] = (
    {f"search {name}": _alone(search) for name, search in SEARCHES.items() if "transformer" not in name}
    | {f"ML-kNN, {name}": _dense(MLkNN(3, search=search)) for name, search in SEARCHES.items()}
    | {f"strategy {name}": _scores(strategy) for name, strategy in _STRATEGIES.items()}
    | {f"CML-kNN, {name}": _dense(CMLkNN(3, membership=name)) for name in ("clip", "hard", "max", "mean")}
    | {
        f"NLDD, {metric}": _dense(NLDD(_LOGISTIC, random_state=0, search=ExactNeighbors(metric)))
        for metric in ("euclidean", "sqeuclidean", "manhattan", "cosine", "chebyshev")
    }
    | {f"{type(auto).__name__}, auto": _dense(auto) for auto in _AUTO}
    | {f"Rank-SVM, {kernel}": _dense(RankSVM(kernel=kernel)) for kernel in ("linear", "poly", "rbf")}
    | {f"resampled, {type(one).__name__}": _sparse(ResampledClassifier(MLkNN(3), one)) for one in _SAMPLERS}
    | {
        "novelty": _alone(NoveltyDetector(3, level=0.1)),
        "BRkNN": _dense(BRkNN(3, weights="distance")),
        "BRkNN, Gaussian": _dense(BRkNN(20, weights=GaussianWeights())),
        "MLkNN, similarity": _sparse(MLkNN(5, weights=SimilarityWeights(), search=ExactNeighbors("cosine"))),
        "BRkNN, sparse": _sparse(BRkNN(3)),
        "BRkNN, frame": _frame(BRkNN(3)),
        "BRkNNa": _dense(BRkNNa(3)),
        "BRkNNb, sparse": _sparse(BRkNNb(3), sparse.csr_matrix),
        "LPkNN": _dense(LPkNN(3)),
        "LPkNN, sparse": _sparse(LPkNN(3)),
        "ML-kNN, sparse": _sparse(MLkNN(3)),
        "ML-kNN, frame": _frame(MLkNN(3)),
        "ML-kNN, many rows": _many_rows(MLkNN(3)),
        "ML-kNN, unknown cells": lambda: Fitted(MLkNN(3).fit(_X, np.where(np.eye(*_Y.shape), np.nan, _Y)), _X),
        "ML-kNN, many sparse rows": lambda: Fitted(
            MLkNN(3).fit(sparse.csr_array(np.tile(np.round(_X, 1), (30, 1))), np.tile(_Y, (30, 1))), _X
        ),
        "ML-kNN, sklearn on sparse": _sparse(MLkNN(3, search=NearestNeighbors())),
        "CML-kNN, sparse": _sparse(CMLkNN(3)),
        "DML-kNN": _dense(DMLkNN(3, delta="auto")),
        "DML-kNN, sparse": _sparse(DMLkNN(3, delta=1)),
        "IBLR": _dense(IBLR(3)),
        "IBLR+, sparse": _sparse(IBLR(3, plus=True)),
        "MLMLM": _dense(MLMLM()),
        "MLMLM, sparse": _sparse(MLMLM(metric="cosine", n_landmarks=10)),
        "NLDD, sparse": _sparse(NLDD(_LOGISTIC, random_state=0)),
        "NLDD, unscaled, sklearn": _dense(NLDD(_LOGISTIC, scale="none", random_state=0, search=NearestNeighbors())),
        "the best by default": _dense(NeighborsClassifierCV(n_neighbors=(3, 5))),
        "the best mixture": _dense(MixtureClassifierCV(n_neighbors=(3, 5), families=("neighbors", "linear"))),
        "a k for each label": _dense(NeighborsPerLabel(max_neighbors=5)),
        "a k for each label, sparse": _sparse(NeighborsPerLabel(BRkNN(), max_neighbors=5)),
        "a k for each label, frame": _frame(NeighborsPerLabel(n_neighbors=[1, 2, 3, 2, 1])),
        "BR": _dense(BinaryRelevance(_LOGISTIC)),
        "BR, default, frame": _frame(BinaryRelevance(random_state=0)),
        "BR, linear": _dense(BinaryRelevance(LinearSVC(random_state=0))),
        "BR, trees": _dense(BinaryRelevance(DecisionTreeClassifier(max_depth=2, random_state=0))),
        "SMBR, sparse": _sparse(SMBR(_LOGISTIC)),
        "CC": _dense(ClassifierChain(_LOGISTIC, order="random", random_state=0)),
        "LP": _dense(LabelPowerset(_LOGISTIC)),
        "LP, probability": _dense(LabelPowerset(LinearSVC(random_state=0), probability=True, random_state=0)),
        "EBR": _dense(EnsembleOfBinaryRelevance(_LOGISTIC, n_estimators=2, random_state=0)),
        "ECC, sparse": _sparse(EnsembleOfClassifierChains(_LOGISTIC, n_estimators=2, random_state=0)),
        "RAkELo": _dense(RAkELo(_LOGISTIC, n_estimators=3, random_state=0)),
        "RAkELd, soft": _dense(RAkELd(_LOGISTIC, voting="soft", random_state=0)),
        "HOMER": _dense(HOMER(BinaryRelevance(_LOGISTIC), random_state=np.random.RandomState(3))),
        "PCT": _dense(PredictiveClusteringTree(2, random_state=0)),
        "RF-PCT": _dense(RandomForestPCT(n_estimators=3, random_state=0)),
        "interpolation, frame": _frame(NeighborInterpolation(neighbors=MLkNN(3))),
        "interpolation, sparse": _sparse(NeighborInterpolation(weight="per_label", space="logit")),
        "soft vote": _dense(SoftVote([("a", BRkNN(3)), ("b", MLkNN(3)), ("c", BinaryRelevance(_LOGISTIC))])),
        "soft vote with trees": _dense(
            SoftVote([("a", BRkNN(3)), ("b", RandomForestPCT(3, random_splits=True, random_state=0))], [0.5, 0.5], cv=2)
        ),
        "CBM": _dense(ConditionalBernoulliMixture(3, max_iter=3, random_state=0)),
        "CBM, sampling, sparse": _sparse(
            ConditionalBernoulliMixture(2, max_iter=3, decision="sampling", n_samples=20, random_state=0)
        ),
        "AdaBoost.MH": _dense(AdaBoostMH(5)),
        "AdaBoost.MH, sparse": _sparse(AdaBoostMH(5)),
        "ADTBoost.MH": _dense(ADTBoostMH(5)),
        "BP-MLL": _dense(BPMLL(4, n_epochs=3, random_state=0)),
        "selector": _dense(InformationGainSelector()),
        "encoder": _mixed(MixedFeaturesEncoder(text=["title"])),
        "encoded, with gaps": _mixed(
            make_pipeline(
                MixedFeaturesEncoder(text=["title"], missing_numbers="distance"),
                MLkNN(3, search=ExactNeighbors("heom")),
            )
        ),
        "terms": _mixed(
            make_pipeline(ColumnTransformer([("title", CountVectorizer(analyzer=StemAnalyzer()), "title")]), MLkNN(3))
        ),
        "weights of features": _dense(NeighborhoodComponentsWeights(max_iter=5)),
        "weights of features, sparse": _sparse(make_pipeline(NeighborhoodComponentsWeights(max_iter=5), MLkNN(3))),
        "scaler": _dense(FeatureScaler("standard")),
        "scaled, sparse": _sparse(make_pipeline(FeatureScaler("tfidf"), MLkNN(3))),
        "pipeline, frame": _frame(make_pipeline(StandardScaler(), InformationGainSelector(), BRkNN(3))),
        "calibrated": _frame(CalibratedLabels(MLkNN(3), "isotonic", cv="loo")),
        "calibrated, pipeline": _dense(CalibratedLabels(make_pipeline(StandardScaler(), BRkNN(3)), "beta", cv=3)),
        "tuned, calibrated": _dense(TunedThresholdsClassifierCV(CalibratedLabels(BRkNN(3), cv="loo"), cv=3)),
        "tuned": _frame(TunedThresholdsClassifierCV(MLkNN(3), cv="loo")),
        "tuned, pipeline": _dense(TunedThresholdsClassifierCV(make_pipeline(StandardScaler(), MLkNN(3)), cv=3)),
        "tuned, resampled": _frame(
            TunedThresholdsClassifierCV(ResampledClassifier(MLkNN(3), MLSMOTE(3, random_state=0)), cv="loo")
        ),
        "fixed": _dense(FixedThresholdsClassifier(MLkNN(3), 0.3)),
        "stream, oldest": _streamed("oldest"),
        "stream, least useful": _streamed("least_useful"),
        "precomputed": _precomputed,
        "search precomputed": _precomputed_alone,
    }
)


def answers(fitted: Fitted) -> dict[str, np.ndarray]:
    """Return all that a model says of its queries, and of its training rows."""
    model, queries = fitted
    found = {name: getattr(model, name) for name in _METHODS if hasattr(model, name)}
    said = {
        name: _array(method() if name == "loo_predict_proba" else method(queries)) for name, method in found.items()
    }
    if hasattr(model, "kneighbors") and hasattr(model, "n_samples_fit_"):
        said["training neighbours"] = _array(model.kneighbors(n_neighbors=3))
    return said


def _array(answer: Any) -> np.ndarray:
    return np.asarray(answer.toarray() if sparse.issparse(answer) else answer)
