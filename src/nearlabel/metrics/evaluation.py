"""Many metrics of the same predictions and scores at once, sharing the counts and the ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nearlabel.metrics import _ranks
from nearlabel.metrics._ranks import Ranking
from nearlabel.metrics.areas import count_skipped
from nearlabel.metrics.catalogue import CATALOGUE, Metric, MetricLike, get_metric, option_of, options_left_open
from nearlabel.metrics.counts import compare_checked
from nearlabel.metrics.inputs import (
    TieRule,
    TrivialRule,
    check_predicted,
    check_scores,
    check_weights,
)
from nearlabel.metrics.ratios import MEAN_RATIOS, mean
from nearlabel.metrics.truth import Truth
from nearlabel.utils.types import FloatArray, Matrix, MatrixLike

EMPTY_PREDICTIONS = "empty_predictions"  # the share of samples for which no label is predicted: neither good nor bad
PER_LABEL = "per_label"  # where a metric's name stands, says that there is a table of all labels and no value
PER_ROW = "per_row"  # likewise, that there is a table of the label sets of all test rows
WITHOUT_COPIES = "_without_copies"  # ends the name of a metric on samples whose exact copies the model has not seen

_MEANS_OVER_LABELS = frozenset(name for name, known in MEAN_RATIOS.items() if known.groups == "per_label") | {
    "macro_fbeta"
}
_FROM_RANKING: dict[str, Callable[[Ranking, TrivialRule], float]] = {
    "one_error": _ranks.top_is_wrong,
    "coverage": _ranks.depth,
    "ranking_loss": _ranks.reversed_share,
    "average_precision": _ranks.precision_of_ranks,
}


def named_without_copies(values: Mapping[str, float]) -> dict[str, float]:
    """Return values of metrics on samples whose exact copies the model has not seen, by names that say so."""
    return {f"{name}{WITHOUT_COPIES}": value for name, value in values.items()}


def title_of(name: str) -> str:
    """Return what a table or a figure prints of a metric, given the name that records have of it."""
    if name.endswith(WITHOUT_COPIES):
        return f"{title_of(name.removesuffix(WITHOUT_COPIES))}, without copies"
    try:
        return get_metric(name).title
    except ValueError:  # of the user: module:function stays as it was written
        return name if ":" in name else name.replace("_", " ")


def score_all(
    y_true: MatrixLike,
    y_pred: MatrixLike | None = None,
    y_score: MatrixLike | None = None,
    metrics: Iterable[MetricLike] | None = None,
    *,
    zero_division: float = 0.0,
    ties: TieRule = "pessimistic",
    trivial: TrivialRule = "drop",
    propensities: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> dict[str, float]:
    """Return the values of many metrics; the inputs are checked, counted and ranked once.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the true label sets.
    y_pred : array-like, data frame or sparse container of shape (n_samples, n_labels), optional
        Indicator matrix of the predicted label sets.
    y_score : array-like, data frame or sparse container of shape (n_samples, n_labels), optional
        Scores, larger is better; an absent entry of a sparse container is a score of 0.
    metrics : iterable of str, Metric or callable, optional
        Metrics of ours by name and of your own, as `get_metric` takes them; by default all of `CATALOGUE` that
        `y_pred` and `y_score`, as far as given, allow.
    zero_division : {0.0, 1.0, nan}, default=0.0
        What a 0/0 counts as in our metrics of predictions, unless their names say it.
    ties : {"pessimistic", "optimistic", "low", "high", "average"}, default="pessimistic"
        How our metrics of rankings rank equal scores, unless their names say it.
    trivial : {"drop", "keep"}, default="drop"
        Whether they count rows without any pair of labels to rank, unless their names say it.
    propensities : array-like of shape (n_labels,), default=None
        `label_propensities` of the training part, for `propensity_scored_precision_at_k`.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, at least 0: one of weight 2 counts as two equal ones. None: 1 each.

    Returns
    -------
    dict of str to float
        The values by name, in the order of `metrics` or of the catalogue.

    Raises
    ------
    ValueError
        If neither `y_pred` nor `y_score` is given, a metric needs the one that is not, or propensities that are not, a
        name is unknown, two metrics have one name, or a matrix, a weight or an option is wrong (see the single
        functions).
    TypeError
        If `metrics` contains something that is no metric, or a metric of your own returns no number or takes no
        weights while there are some.

    Examples
    --------
    >>> y_true, y_pred = [[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 0]]
    >>> score_all(y_true, y_pred, metrics=["subset_accuracy", "jaccard_examples"])
    {'subset_accuracy': 0.5, 'jaccard_examples': 0.75}
    """
    given = {"prediction": y_pred is not None, "score": y_score is not None}
    chosen = _chosen(metrics, given)
    # Ratios of counts can do with bytes; other metrics, a user's among them, may add products up.
    dtype = None if all(metric.name in MEAN_RATIOS for metric in chosen) else np.int64
    truth = Truth.of(y_true, sample_weight, dtype=dtype)
    second: dict[str, Any] = {}  # what the metrics get, by what they need
    shared: dict[str, Any] = {}  # what those of the catalogue are computed from
    if any(metric.needs == "prediction" for metric in chosen):
        second["prediction"] = check_predicted(y_pred, truth.shape, dtype=dtype)
        shared["prediction"] = compare_checked(truth, second["prediction"])
    if any(metric.needs == "score" for metric in chosen):
        second["score"] = check_scores(y_score, truth.shape)
        shared["score"] = _ranks.rank_checked(truth, truth.blank(second["score"]), ties)
    true = truth.given.with_nan()

    rules = {"zero_division": zero_division, "ties": ties, "trivial": trivial, "propensities": propensities}

    def value_of(metric: Metric) -> float:
        if metric.name in MEAN_RATIOS:
            return MEAN_RATIOS[metric.name].of(shared["prediction"], zero_division)
        if metric.name in _FROM_RANKING:
            return _FROM_RANKING[metric.name](shared["score"], trivial)
        return metric(true, second[metric.needs], sample_weight=sample_weight, **options_left_open(metric, rules))

    return {metric.name: value_of(metric) for metric in chosen}


def _chosen(metrics: Iterable[MetricLike] | None, given: dict[str, bool]) -> list[Metric]:
    if isinstance(metrics, str):
        raise ValueError(f"metrics must be a list of names, got {metrics!r}. Hint: [{metrics!r}].")
    if not any(given.values()):
        raise ValueError("y_pred or y_score must be given, got neither.")
    if metrics is None:
        return [metric for metric in CATALOGUE.values() if given[metric.needs]]
    chosen = [get_metric(name) for name in metrics]
    by_name: dict[str, Metric] = {}
    for metric in chosen:
        if by_name.setdefault(metric.name, metric) != metric:
            raise ValueError(f"metrics must have distinct names, got two different ones named {metric.name!r}.")
        if not given[metric.needs]:
            argument = "y_pred" if metric.needs == "prediction" else "y_score"
            raise ValueError(f"{argument} must be given for {metric.name}, got None.")
    return chosen


def skipped_lines(
    y_true: MatrixLike, metrics: Iterable[MetricLike], *, sample_weight: ArrayLike | None = None
) -> dict[str, int]:
    """Return by name how many labels, or samples, each metric leaves out; only where it does."""
    known = map(get_metric, metrics)
    counts = {metric.name: count_left_out(metric, y_true, sample_weight=sample_weight) for metric in known}
    return {name: count for name, count in counts.items() if count}


def count_left_out(metric: Metric, y_true: MatrixLike, *, sample_weight: ArrayLike | None = None) -> int:
    """Return how many labels, or samples, a metric leaves out: those of one class, or labels of which nothing is known.

    The former by areas, the latter by means over labels of counts.
    """
    if option_of(metric, "undefined") == "skip":
        return count_skipped(y_true, average=option_of(metric, "average"), sample_weight=sample_weight)
    if is_mean_over_labels(metric.name):
        truth = Truth.of(y_true, sample_weight)
        return int((np.asarray(truth.n_known(axis=0)) == 0).sum())
    return 0


def may_leave_out(metric: Metric) -> bool:
    """Return whether a metric leaves out labels, or samples, on some data."""
    return option_of(metric, "undefined") == "skip" or is_mean_over_labels(metric.name)


def is_mean_over_labels(name: str) -> bool:
    """Return whether a metric of ours, given by its name, is the mean over labels of ratios of their counts."""
    return name.partition(":")[0] in _MEANS_OVER_LABELS


def score_and_count(
    truth: Matrix,
    predicted: Matrix | None,
    scores: FloatArray | None,
    metrics: Sequence[MetricLike],
    *,
    propensities: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> dict[str, float]:
    """Return what `score_all` gives, and "empty_predictions" where it is among the metrics, in their order."""
    others = [metric for metric in metrics if metric != EMPTY_PREDICTIONS]
    values = score_all(truth, predicted, scores, others, propensities=propensities, sample_weight=sample_weight)
    if EMPTY_PREDICTIONS in metrics and predicted is not None:
        is_empty = np.asarray(predicted.sum(axis=1)) == 0
        values[EMPTY_PREDICTIONS] = mean(is_empty, check_weights(sample_weight, len(is_empty)))
    names = [EMPTY_PREDICTIONS if metric == EMPTY_PREDICTIONS else get_metric(metric).name for metric in metrics]
    return {name: values[name] for name in names}
