"""A user's program that type checkers read, with the types that it expects; nobody runs it."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from nearlabel.lazy import BRkNN, Explanation, MLkNN
from nearlabel.metrics import micro_f1
from nearlabel.neighbors import ExactNeighbors
from nearlabel.rivals import BinaryRelevance, RankSVM
from nearlabel.thresholds import (
    FixedThresholdsClassifier,
    MicroFOptimum,
    ThresholdStrategy,
    TunedThresholdsClassifierCV,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]

X: Floats = np.eye(30)
y = np.eye(30, 3, dtype=np.int64)

model = MLkNN(n_neighbors="auto").fit(X, y)
assert_type(model, MLkNN)
assert_type(model.predict_proba(X), Floats)
assert_type(model.predict_topk(X, 2), tuple[Floats, Integers])
assert_type(model.loo_predict_proba(), Floats)
assert_type(model.explain(X), list[Explanation])
assert_type(model.n_neighbors_, int)
assert_type(model.n_features_in_, int)
assert_type(model.classes_, NDArray[Any])
assert_type(model.label_names_, NDArray[Any])
predicted: NDArray[np.int64] = model.predict(X)  # an array here; it is sparse where y was
left_out: NDArray[np.int64] = model.loo_predict()
assert_type(micro_f1(y, predicted), float)

assert_type(BinaryRelevance().fit(X, y).predict_proba(X), Floats)
assert_type(RankSVM().fit(X, y).decision_function(X), Floats)

search = ExactNeighbors().fit(X)
assert_type(search.kneighbors(X, 3), tuple[Floats, Integers])
assert_type(search.kneighbors(X, 3, return_distance=False), Integers)

tuned = TunedThresholdsClassifierCV(BRkNN(3), MicroFOptimum(), cv=3).fit(X, y)
assert_type(tuned, TunedThresholdsClassifierCV)
assert_type(tuned.thresholds_, Floats)
assert_type(tuned.objective_, float)
assert_type(tuned.strategy_, ThresholdStrategy)
assert_type(tuned.cv_results_, dict[str, Any])
assert_type(tuned.response_method_, str)
assert_type(FixedThresholdsClassifier(BRkNN(3)).fit(X, y).thresholds_, Floats)
assert_type(tuned.predict_proba(X), Floats)
assert_type(tuned.decision_function(X), Floats)
