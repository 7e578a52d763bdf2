"""Many measures of the same predictions and scores at once, sharing the counts and the ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from nearlabel.metrics import _ranks
from nearlabel.metrics._counts import Comparison
from nearlabel.metrics._inputs import (
    TieRule,
    TrivialRule,
    check_predicted,
    check_scores,
    check_true,
    check_zero_division,
)
from nearlabel.metrics._measures import MEASURES
from nearlabel.metrics._ranks import Ranking
from nearlabel.metrics.catalogue import CATALOGUE, Metric, get_metric
from nearlabel.utils.types import MatrixLike

_FROM_RANKING: dict[str, Callable[[Ranking, TrivialRule], float]] = {
    "one_error": _ranks.top_is_wrong,
    "coverage": _ranks.depth,
    "ranking_loss": _ranks.reversed_share,
    "average_precision": _ranks.precision_of_ranks,
}


def score_all(
    y_true: MatrixLike,
    y_pred: MatrixLike | None = None,
    y_score: MatrixLike | None = None,
    metrics: Iterable[str] | None = None,
    *,
    zero_division: float = 0.0,
    ties: TieRule = "pessimistic",
    trivial: TrivialRule = "drop",
) -> dict[str, float]:
    """Return many measures of the catalogue; the inputs are checked, counted and ranked once.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the true label sets.
    y_pred : array-like, data frame or sparse container of shape (n_samples, n_labels), optional
        Indicator matrix of the predicted label sets.
    y_score : array-like, data frame or sparse container of shape (n_samples, n_labels), optional
        Scores, larger is better; an absent entry of a sparse container is a score of 0.
    metrics : iterable of str, optional
        Keys of `CATALOGUE`; by default all that `y_pred` and `y_score`, as far as given, allow.
    zero_division : {0.0, 1.0, nan}, default=0.0
        What a 0/0 counts as in the measures of predictions.
    ties : {"pessimistic", "index", "optimistic"}, default="pessimistic"
        How equal scores rank.
    trivial : {"drop", "keep"}, default="drop"
        Whether rows count about which a ranking measure says nothing.

    Returns
    -------
    dict of str to float
        The values by name, in the order of `metrics` or of the catalogue.

    Raises
    ------
    ValueError
        If neither `y_pred` nor `y_score` is given, a measure needs the one that is not, a name is unknown, or a matrix
        or an option is wrong (see the single functions).

    Examples
    --------
    >>> y_true, y_pred = [[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 0]]
    >>> score_all(y_true, y_pred, metrics=["subset_accuracy", "jaccard_examples"])
    {'subset_accuracy': 0.5, 'jaccard_examples': 0.75}
    """
    given = {"prediction": y_pred is not None, "score": y_score is not None}
    chosen = _chosen(metrics, given)
    true = check_true(y_true)
    shared: dict[str, Any] = {}
    if any(metric.needs == "prediction" for metric in chosen):
        zero_division = check_zero_division(zero_division)
        shared["prediction"] = Comparison.of(true, check_predicted(y_pred, true.shape))
    if any(metric.needs == "score" for metric in chosen):
        shared["score"] = _ranks.rank_checked(true, check_scores(y_score, true.shape), ties)
    return {
        metric.name: MEASURES[metric.name].of(shared["prediction"], zero_division)
        if metric.needs == "prediction"
        else _FROM_RANKING[metric.name](shared["score"], trivial)
        for metric in chosen
    }


def _chosen(metrics: Iterable[str] | None, given: dict[str, bool]) -> list[Metric]:
    if isinstance(metrics, str):
        raise ValueError(f"metrics must be a list of names, got {metrics!r}. Hint: [{metrics!r}].")
    if not any(given.values()):
        raise ValueError("y_pred or y_score must be given, got neither.")
    if metrics is None:
        return [metric for metric in CATALOGUE.values() if given[metric.needs]]
    chosen = [get_metric(name) for name in metrics]
    for metric in chosen:
        if not given[metric.needs]:
            argument = "y_pred" if metric.needs == "prediction" else "y_score"
            raise ValueError(f"{argument} must be given for {metric.name}, got None.")
    return chosen
