"""A user's program with thresholds, which mypy checks as it does the package: results have types, not Any."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from nearlabel.lazy import MLkNN
from nearlabel.metrics import Metric, get_metric, micro_f1, score_all
from nearlabel.thresholds import (
    FixedThresholdsClassifier,
    GlobalCut,
    MicroFOptimum,
    SCut,
    ThresholdStrategy,
    TunedThresholdsClassifierCV,
)

X: NDArray[np.float64] = np.random.default_rng(0).normal(size=(30, 3))
y: NDArray[np.int64] = (X[:, :2] > 0).astype(np.int64)


def balance(y_true: NDArray[np.int64], y_pred: NDArray[np.int64]) -> float:
    """Return a metric of one's own."""
    return float(np.mean(y_true == y_pred))


tuned = TunedThresholdsClassifierCV(MLkNN(3), SCut("macro_f1"), cv="loo").fit(X, y)
assert_type(tuned, TunedThresholdsClassifierCV)
assert_type(tuned.thresholds_, NDArray[np.float64])
assert_type(tuned.objective_, float)
assert_type(tuned.strategy_, ThresholdStrategy)
assert_type(tuned.cv_results_, dict[str, Any])
assert_type(tuned.response_method_, str)
assert_type(tuned.classes_, NDArray[Any])
assert_type(tuned.label_names_, NDArray[Any])
assert_type(tuned.n_features_in_, int)
scores = tuned.predict_proba(X)

fixed = FixedThresholdsClassifier(MLkNN(3), [0.3, 0.4]).fit(X, y)
assert_type(fixed.thresholds_, NDArray[np.float64])

strategy = MicroFOptimum().fit(scores, y, sample_weight=np.ones(30))
assert_type(strategy.thresholds_, NDArray[np.float64])
assert_type(strategy.objective_, float)
assert_type(strategy.predict(scores), NDArray[Any])
assert_type(strategy.score(scores, y), float)
GlobalCut(balance).fit(scores, y)
GlobalCut(Metric("balance", balance)).fit(scores, y)

assert_type(micro_f1(y, tuned.predict(X), sample_weight=[1.0] * 30), float)
assert_type(get_metric(balance), Metric)
assert_type(score_all(y, tuned.predict(X), metrics=["micro_f1", balance]), dict[str, float])
