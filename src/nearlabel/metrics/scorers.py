"""Metrics as scorers for scikit-learn's ``scoring=``.

`sklearn.metrics.make_scorer` is enough for metrics of predictions, but not for metrics of scores. Its scorers interpret
scores by ``classes_`` alone: they mistake two labels for the two classes of one label (scikit-learn's MLPClassifier
fails that way), and fail on a list of probabilities in which a label has one class, which is common for rare labels in
cross-validation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer
from sklearn.utils.metadata_routing import MetadataRequest

from nearlabel.metrics.catalogue import CATALOGUE, Metric, MetricLike, get_metric
from nearlabel.utils.response_methods import label_scores, response_method_of
from nearlabel.utils.types import MatrixLike

Scorer: TypeAlias = Callable[..., float]  # (estimator, X, y, sample_weight=None)


def get_scorer(metric: MetricLike) -> Scorer:
    """Return a metric as a new scorer for scikit-learn's ``scoring=``.

    Greater is better for a scorer, so the scorer of a loss negates it. The scorer of a metric of scores calls
    ``decision_function`` if there is one, else ``predict_proba``; the scorer of a metric of probabilities always calls
    ``predict_proba``. Both accept a list of probabilities, one array per label; the score of a label with one class in
    the training data is 0 if that class is 0, else 1. With metadata routing,
    ``get_scorer(...).set_score_request(sample_weight=True)`` requests weights.

    Parameters
    ----------
    metric : str, Metric or callable
        A key of `CATALOGUE` or your own metric, as `get_metric` accepts it.

    Returns
    -------
    callable
        ``scorer(estimator, X, y, sample_weight=None) -> float``.

    Raises
    ------
    ValueError
        If there is no such metric; the message suggests similar names.
    TypeError
        If `metric` is not a metric.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = make_multilabel_classification(n_samples=60, random_state=0)
    >>> cross_val_score(KNeighborsClassifier(), X, y, scoring=get_scorer("micro_f1"), cv=3).round(2)
    array([0.7 , 0.62, 0.64])
    """
    known = get_metric(metric)
    if known.needs == "score":
        return _RankingScorer(known)
    scorer: Scorer = make_scorer(known.function, greater_is_better=known.greater_is_better)
    return scorer


class _RankingScorer:
    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self._request = MetadataRequest(owner=metric.name)

    def __call__(self, estimator: Any, X: MatrixLike, y: MatrixLike, sample_weight: ArrayLike | None = None) -> float:
        sign = 1 if self.metric.greater_is_better else -1
        method = response_method_of(estimator, self.metric.response_methods)
        scores = label_scores(estimator, X, np.shape(y)[-1], method)
        return sign * self.metric(y, scores, sample_weight=sample_weight)

    def set_score_request(self, *, sample_weight: bool | str | None = None) -> Self:
        """Request weights from scikit-learn's metadata routing, as the scorers of `make_scorer` do."""
        self._request.score.add_request(param="sample_weight", alias=sample_weight)
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """Return what was requested."""
        return self._request


SCORERS: Mapping[str, Scorer] = MappingProxyType({name: get_scorer(name) for name in CATALOGUE})
