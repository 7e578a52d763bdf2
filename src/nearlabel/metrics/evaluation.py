"""Many metrics of the same predictions and scores at once, sharing the counts and the ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearlabel.metrics import inputs, ranking
from nearlabel.metrics.areas import areas_of, count_skipped
from nearlabel.metrics.catalogue import CATALOGUE, Metric, MetricLike, get_metric, option_of, options_left_open
from nearlabel.metrics.counts import MEAN_RATIOS, Comparison, compare_checked, mean, ratios_of_labels
from nearlabel.metrics.probabilities import losses_of_labels
from nearlabel.utils.targets import label_names_of
from nearlabel.utils.types import LabelType, Matrix, MatrixLike

EMPTY_PREDICTIONS = "empty_predictions"
PER_LABEL = "per_label"  # in place of a metric's name: marks a table of all labels, without a value
PER_ROW = "per_row"  # likewise, marks a table of the label sets of all test samples
WITHOUT_COPIES = "_without_copies"  # suffix of a metric on samples that have no exact copy in the training data

_MEANS_OVER_LABELS = frozenset(name for name, known in MEAN_RATIOS.items() if known.groups == "per_label") | {
    "macro_fbeta"
}
_FROM_RANKING: dict[str, Callable[[ranking.Ranking, inputs.TrivialRule], float]] = {
    "one_error": ranking.top_is_wrong,
    "coverage": ranking.depth,
    "ranking_loss": ranking.reversed_share,
    "average_precision": ranking.precision_of_ranks,
}


def named_without_copies(values: Mapping[str, float]) -> dict[str, float]:
    """Return values of metrics on samples without exact copies in the training data, under names with that suffix."""
    return {f"{name}{WITHOUT_COPIES}": value for name, value in values.items()}


def title_of(name: str) -> str:
    """Return the title of a metric in tables and figures, given its name in records."""
    if name.endswith(WITHOUT_COPIES):
        return f"{title_of(name.removesuffix(WITHOUT_COPIES))}, without copies"
    try:
        return get_metric(name).title
    except ValueError:  # a user's metric: module:function stays as written
        return name if ":" in name else name.replace("_", " ")


def score_all(
    y_true: MatrixLike,
    y_pred: MatrixLike | None = None,
    y_score: MatrixLike | None = None,
    metrics: Iterable[MetricLike] | None = None,
    *,
    zero_division: float = 0.0,
    ties: inputs.TieRule = "pessimistic",
    trivial: inputs.TrivialRule = "drop",
    propensities: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> dict[str, float]:
    """Return the values of many metrics; the inputs are checked, counted and ranked once.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels), or tags
        Indicator matrix of the true label sets. Without `y_score`, or the true tags of each sample.
    y_pred : array-like, data frame or sparse container of shape (n_samples, n_labels), or tags, optional
        Indicator matrix of the predicted label sets. If `y_true` is tags, the predicted tags: the labels are those of
        both.
    y_score : array-like, data frame or sparse container of shape (n_samples, n_labels), optional
        Scores, larger is better; an absent entry of a sparse container is a score of 0.
    metrics : iterable of str, Metric or callable, optional
        Names of nearlabel's metrics, or your own metrics, as `get_metric` accepts them. By default all of `CATALOGUE`
        that can be computed from `y_pred` and `y_score`, whichever are given.
    zero_division : {0.0, 1.0, nan}, default=0.0
        Value of 0/0 in nearlabel's metrics of predictions, unless their names set it.
    ties : {"pessimistic", "optimistic", "low", "high", "average"}, default="pessimistic"
        Order of equal scores in nearlabel's ranking metrics, unless their names set it.
    trivial : {"drop", "keep"}, default="drop"
        Whether ranking metrics drop or keep samples without a pair of labels to rank, unless their names set it.
    propensities : array-like of shape (n_labels,), default=None
        `label_propensities` of the training labels, for `propensity_scored_precision_at_k`.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    dict of str to float
        The values by name, in the order of `metrics` or of the catalogue.

    Raises
    ------
    ValueError
        If neither `y_pred` nor `y_score` is given, a metric needs one of them or propensities that are not given, a
        name is unknown, two metrics have the same name, or a matrix, a weight or an option is invalid (see the single
        functions).
    TypeError
        If `metrics` contains something other than metrics, or your own metric does not return a number or does not
        accept the given weights.

    Examples
    --------
    >>> y_true, y_pred = [[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 0]]
    >>> score_all(y_true, y_pred, metrics=["subset_accuracy", "jaccard_examples"])
    {'subset_accuracy': 0.5, 'jaccard_examples': 0.75}
    """
    given = {"prediction": y_pred is not None, "score": y_score is not None}
    if y_score is None and y_pred is not None:
        y_true, y_pred, _ = inputs.label_sets_of_both(y_true, y_pred, sample_weight)
    evaluation = Evaluation.of(y_true, _chosen(metrics, given), sample_weight)
    return evaluation.values(
        y_pred, y_score, zero_division=zero_division, ties=ties, trivial=trivial, propensities=propensities
    )


class Evaluation(NamedTuple):
    """Metrics with true label sets, which are checked once for any number of predictions.

    `values` is the door for predictions that were passed by the user or made by a user's class, `of_checked` the one
    for our own.
    """

    metrics: Sequence[Metric]
    truth: inputs.Truth
    dtype: LabelType | None  # of label sets, as in `as_label_matrix`
    sample_weight: Any = None  # as the user passed it

    @classmethod
    def of(cls, y_true: MatrixLike, metrics: Sequence[Metric], sample_weight: Any = None) -> Self:
        """Check true label sets and weights."""
        # A byte type is enough for ratios of counts; other metrics, such as a user's, may sum products.
        dtype = None if {metric.name for metric in metrics} <= {*MEAN_RATIOS, EMPTY_PREDICTIONS} else np.int64
        return cls(metrics, inputs.Truth.of(y_true, sample_weight, dtype=dtype), dtype, sample_weight)

    def rows(self, some: Any) -> Self:
        """Return the same metrics for some samples of label sets without unknown cells and weights."""
        return self._replace(truth=inputs.Truth.known(self.truth.labels[some]))

    def values(self, y_pred: MatrixLike | None, y_score: MatrixLike | None, **rules: Any) -> dict[str, float]:
        """Check predictions, and return the values by name, in the order of the metrics; rules are of `score_all`."""
        needs = {metric.needs for metric in self.metrics}
        predicted = self.truth.predicted(y_pred, dtype=self.dtype) if "prediction" in needs else None
        scores = self.truth.checked_scores(y_score) if "score" in needs else None
        return self.of_checked(predicted, scores, **rules)

    def of_checked(
        self,
        predicted: Matrix | None,
        scores: Matrix | None,
        *,
        zero_division: float = 0.0,
        ties: inputs.TieRule = "pessimistic",
        trivial: inputs.TrivialRule = "drop",
        propensities: ArrayLike | None = None,
    ) -> dict[str, float]:
        """Return the values of checked predictions; what no metric needs may be None."""
        rules = {"zero_division": zero_division, "ties": ties, "trivial": trivial, "propensities": propensities}
        truth, values, second = self.truth, {}, {"prediction": predicted, "score": scores}
        needs = {metric.needs for metric in self.metrics}
        counts: Any = compare_checked(truth, predicted) if "prediction" in needs else None
        ranks: Any = ranking.rank_checked(truth, truth.blank(scores), ties) if "score" in needs else None
        for metric in self.metrics:
            if metric.name in MEAN_RATIOS:
                values[metric.name] = MEAN_RATIOS[metric.name].of(counts, zero_division)
            elif metric.name in _FROM_RANKING:
                values[metric.name] = _FROM_RANKING[metric.name](ranks, trivial)
            else:
                options = options_left_open(metric, rules)
                given = truth.given.with_nan(), second[metric.needs]
                values[metric.name] = metric(*given, sample_weight=self.sample_weight, **options)
        return values


def _share_of_empty(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Return the share of samples without predicted labels, which is neither good nor bad."""
    is_empty = np.asarray(y_pred.sum(axis=1)) == 0
    return mean(is_empty, inputs.check_weights(sample_weight, len(is_empty)))


_EMPTY = Metric(EMPTY_PREDICTIONS, _share_of_empty)


def _chosen(metrics: Iterable[MetricLike] | None, given: dict[str, bool]) -> list[Metric]:
    if isinstance(metrics, str):
        raise ValueError(f"metrics must be a list of names, got {metrics!r}. Hint: [{metrics!r}].")
    if not (given["prediction"] or given["score"]):
        raise ValueError("y_pred or y_score must be given, got neither.")
    if metrics is None:
        return [metric for metric in CATALOGUE.values() if given[metric.needs]]
    chosen = _distinct(metrics)
    for metric in chosen:
        if not given[metric.needs]:
            argument = "y_pred" if metric.needs == "prediction" else "y_score"
            raise ValueError(f"{argument} must be given for {metric.name}, got None.")
    return chosen


def _distinct(metrics: Iterable[MetricLike]) -> list[Metric]:
    """Return the metrics; raise ValueError if two different ones have the same name."""
    chosen = [get_metric(metric) for metric in metrics]
    by_name: dict[str, Metric] = {}
    for metric in chosen:
        if by_name.setdefault(metric.name, metric) != metric:
            raise ValueError(f"metrics must have distinct names, got two different ones named {metric.name!r}.")
    return chosen


def metrics_of(metrics: Sequence[MetricLike]) -> list[Metric]:
    """Return the metrics for an `Evaluation`; "empty_predictions" may be among them."""
    return _distinct(_EMPTY if metric == EMPTY_PREDICTIONS else metric for metric in metrics)


def skipped_lines(y_true: MatrixLike, metrics: Iterable[Metric]) -> dict[str, int]:
    """Return, by name, how many labels or samples each metric leaves out; only metrics that leave out some."""
    counts = {metric.name: count_left_out(metric, y_true) for metric in metrics}
    return {name: count for name, count in counts.items() if count}


def count_left_out(metric: Metric, y_true: MatrixLike) -> int:
    """Return how many labels, or samples, a metric leaves out.

    Areas leave out those with one class; means over labels leave out labels without known cells.
    """
    if option_of(metric, "undefined") == "skip":
        return count_skipped(y_true, average=option_of(metric, "average"))
    if is_mean_over_labels(metric.name):
        return int((np.asarray(inputs.Truth.of(y_true).n_known(axis=0)) == 0).sum())
    return 0


def is_mean_over_labels(name: str) -> bool:
    """Return whether one of our metrics, given by name, is the mean over labels of ratios of their counts."""
    return name.partition(":")[0] in _MEANS_OVER_LABELS


# A table of metrics for each label, to see the labels behind a mean over labels.


def label_table(
    y_true: MatrixLike,
    y_pred: MatrixLike | None = None,
    y_score: MatrixLike | None = None,
    *,
    zero_division: float = math.nan,
    sample_weight: ArrayLike | None = None,
) -> dict[str, NDArray[Any]]:
    """Return the metrics of each label, as columns of a table.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels), or tags
        Indicator matrix of the true label sets. Without `y_score`, or the true tags of each sample.
    y_pred : array-like, data frame or sparse container of shape (n_samples, n_labels), or tags, optional
        Indicator matrix of the predicted label sets. If `y_true` is tags, the predicted tags: the labels are those of
        both.
    y_score : array-like, data frame or sparse container of shape (n_samples, n_labels), optional
        Scores, larger is better; an absent entry of a sparse container is a score of 0.
    zero_division : {0.0, 1.0, nan}, default=nan
        Value of 0/0 in precision, recall and F1. With 0.0 their means over labels are `macro_precision`, `macro_recall`
        and `macro_f1`.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    dict of str to ndarray of shape (n_labels,)
        ``label``, the column names of a data frame or else the label indices, and ``support``, the number of positive
        samples. If `y_true` has unknown cells (NaN), also ``known``, the number of samples in which the label is known:
        all columns are computed on these samples, and for a label without any, all columns but the counts are nan. With
        `y_pred`: ``true_positives``, ``false_positives``, ``false_negatives``, ``precision``, ``recall`` and ``f1``.
        With `y_score`: ``roc_auc`` and ``average_precision`` (as `mean_average_precision` averages them), nan for a
        label with one class; ``log_loss`` and ``brier_score``, nan unless all scores are in [0, 1]. Counts are sums of
        weights if there are weights.

    Raises
    ------
    ValueError
        If neither `y_pred` nor `y_score` is given, a matrix is not two-dimensional or is empty, the shapes differ, the
        label sets contain anything but 0 and 1, `y_score` contains NaN or a value that is not a number, the weights are
        malformed, or `zero_division` is another number.

    Examples
    --------
    >>> table = label_table([[1, 0], [1, 1], [0, 0]], [[1, 0], [0, 1], [0, 1]])
    >>> table["support"], table["f1"].round(2)
    (array([2, 1]), array([0.67, 0.67]))
    """
    if y_pred is None and y_score is None:
        raise ValueError("y_pred or y_score must be given, got neither.")
    zero_division, names = inputs.check_zero_division(zero_division), None
    if y_score is None:
        y_true, y_pred, names = inputs.label_sets_of_both(y_true, y_pred, sample_weight)
    truth = inputs.Truth.of(y_true, sample_weight)
    true, weights = truth.labels, truth.weights
    table = {
        "label": label_names_of(y_true, true.shape[1]) if names is None else names,
        "support": true.sum(axis=0) if weights is None else weights @ true,
    }
    if truth.unknown is not None:
        table["known"] = truth.n_known(axis=0) if weights is None else inputs.known_weight(weights, truth.unknown)
    if y_pred is not None:
        table |= _of_predictions(compare_checked(truth, truth.predicted(y_pred)), zero_division)
    if y_score is not None:
        table |= _of_scores(truth, truth.scores(y_score))
    return table


def _of_predictions(compared: Comparison, zero_division: float) -> dict[str, NDArray[Any]]:
    counts = compared.per_label
    return {
        "true_positives": counts.hits,
        "false_positives": counts.predicted - counts.hits,
        "false_negatives": counts.true - counts.hits,
        **ratios_of_labels(counts, zero_division),
    }


def _of_scores(truth: inputs.Truth, scores: Matrix) -> dict[str, NDArray[Any]]:
    areas, _ = areas_of(truth.labels, scores, truth.weights)
    log_losses = brier_scores = np.full(truth.labels.shape[1], np.nan)
    if inputs.are_probabilities(scores):
        losses = losses_of_labels(truth, scores)
        log_losses, brier_scores = (losses.means_of_labels(sums) for sums in (losses.logs, losses.squares))
    return {
        "roc_auc": areas.roc,
        "average_precision": areas.precision,
        "log_loss": log_losses,
        "brier_score": brier_scores,
    }
