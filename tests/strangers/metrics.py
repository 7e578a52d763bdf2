"""scikit-learn's tests of metrics: calls with label matrices are answered by `nearlabel.metrics`.

What ours do not have goes on to scikit-learn: other kinds of y, a choice of labels, classes one by one, sums in place
of means.
"""

from __future__ import annotations

import inspect
from functools import partial, wraps

import numpy as np
import sklearn.metrics
from scipy import sparse
from sklearn.utils.multiclass import type_of_target

from nearlabel import metrics
from strangers.outcomes import answered

_AVERAGES = {"micro": "micro_{}", "macro": "macro_{}", "samples": "{}_examples"}


def _shape(matrix):
    return matrix.shape if sparse.issparse(matrix) else np.shape(matrix)


def _are_label_sets(*matrices):
    """Tell whether scikit-learn takes all for matrices of label sets, none of which it refuses."""
    try:
        shapes = {(type_of_target(y), _shape(y)) for y in matrices}
    except (TypeError, ValueError):
        return False
    return len(shapes) == 1 and next(iter(shapes))[0] == "multilabel-indicator"


def _ratio(name):
    """Answer by the metric of the average that is asked for."""

    def ours(y_true, y_pred, *, average="binary", labels=None, zero_division="warn", sample_weight=None, **others):
        known = hasattr(metrics, _AVERAGES.get(average, "").format(name) or "-")
        if not known or labels is not None or not _are_label_sets(y_true, y_pred):
            return None
        others.pop("pos_label", None)  # of binary targets
        value = 0.0 if isinstance(zero_division, str) else zero_division
        of = getattr(metrics, _AVERAGES[average].format(name))
        return of(y_true, y_pred, zero_division=value, sample_weight=sample_weight, **others)

    return ours


def _sets(y_true, y_pred, *, of, is_loss=False, normalize=True, sample_weight=None):
    if not normalize or not _are_label_sets(y_true, y_pred):
        return None
    value = of(y_true, y_pred, sample_weight=sample_weight)
    return 1 - value if is_loss else value


def _ranking(y_true, y_score, *, of, plus=0.0, sample_weight=None):
    if not _are_label_sets(y_true) or np.shape(y_score) != _shape(y_true):
        return None
    return of(y_true, y_score, trivial="keep", sample_weight=sample_weight) + plus


def _area(y_true, y_score, *, of, average="macro", sample_weight=None, **others):
    asked = {key: value for key, value in others.items() if not (key == "multi_class" and value == "raise")}
    if average is None or any(value is not None for value in asked.values()) or not _are_label_sets(y_true):
        return None
    return of(y_true, y_score, average=average, sample_weight=sample_weight)


OURS = {
    "f1_score": _ratio("f1"),
    "fbeta_score": _ratio("fbeta"),
    "precision_score": _ratio("precision"),
    "recall_score": _ratio("recall"),
    "jaccard_score": _ratio("jaccard"),
    "accuracy_score": partial(_sets, of=metrics.subset_accuracy),
    "zero_one_loss": partial(_sets, of=metrics.subset_accuracy, is_loss=True),
    "hamming_loss": partial(_sets, of=metrics.hamming_loss),
    "label_ranking_average_precision_score": partial(_ranking, of=metrics.average_precision),
    "label_ranking_loss": partial(_ranking, of=metrics.ranking_loss),
    "coverage_error": partial(_ranking, of=metrics.coverage, plus=1.0),
    "roc_auc_score": partial(_area, of=metrics.roc_auc),
    "average_precision_score": partial(_area, of=metrics.mean_average_precision),
}


def _replaced(theirs, ours):
    """Return a function that answers by ours what ours knows, and else by theirs."""
    signature = inspect.signature(theirs)

    @wraps(theirs)
    def either(*args, **kwargs):
        try:
            given = dict(signature.bind(*args, **kwargs).arguments)
        except TypeError:  # a test of wrong arguments
            return theirs(*args, **kwargs)
        try:
            answer = ours(given.pop(next(iter(given))), given.pop(next(iter(given))), **given)
        except ValueError:  # is an answer, too
            answered()
            raise
        if answer is None:
            return theirs(*args, **kwargs)
        answered()
        return answer

    return either


def pytest_configure():
    """Let the tests import ours."""
    for name, ours in OURS.items():
        setattr(sklearn.metrics, name, _replaced(getattr(sklearn.metrics, name), ours))
