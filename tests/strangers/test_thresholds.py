"""On problems of one label: our tuned thresholds beside scikit-learn's `TunedThresholdClassifierCV`."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import (
    FixedThresholdClassifier,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
)

from nearlabel.thresholds import FixedThresholdsClassifier, MicroFOptimum, TunedThresholdsClassifierCV


def _problem(seed):
    return make_classification(300, 8, weights=[0.8], flip_y=0.2, random_state=seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
def test_our_threshold_is_never_worse_where_it_is_chosen(seed):
    """By the F measure of the held-out scores of all folds together, which ours makes as large as can be."""
    X, y = _problem(seed)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    theirs = TunedThresholdClassifierCV(LogisticRegression(), scoring="f1", cv=folds).fit(X, y)
    ours = TunedThresholdsClassifierCV(LogisticRegression(), MicroFOptimum(), cv=folds).fit(X, y)
    scores = cross_val_predict(LogisticRegression(), X, y, cv=folds, method="predict_proba")[:, 1]
    reached = [f1_score(y, scores >= cut) for cut in (ours.thresholds_[0], theirs.best_threshold_)]
    assert reached[0] >= reached[1]


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.7])
def test_a_fixed_threshold_gives_the_same_labels(threshold):
    """Cell by cell."""
    X, y = _problem(0)
    theirs = FixedThresholdClassifier(LogisticRegression(), threshold=threshold).fit(X, y).predict(X)
    ours = FixedThresholdsClassifier(LogisticRegression(), threshold).fit(X, y).predict(X)
    np.testing.assert_array_equal(ours, theirs)
