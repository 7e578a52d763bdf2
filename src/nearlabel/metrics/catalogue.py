"""The measures by name: what each one needs and which direction is good."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from nearlabel.metrics import example_based, label_based, ranking


@dataclass(frozen=True)
class Metric:
    """A measure with what a caller has to know to use it.

    Parameters
    ----------
    name : str
        The key in `CATALOGUE`, also the function's name.
    function : callable
        ``function(y_true, y_pred)`` or ``function(y_true, y_score)``, giving a float.
    needs : {"prediction", "score"}
        Whether the second argument is an indicator matrix or a matrix of scores.
    greater_is_better : bool
        The direction.
    title : str
        What a table or a figure prints.
    """

    name: str
    function: Callable[..., float]
    needs: Literal["prediction", "score"]
    greater_is_better: bool
    title: str


def _prediction(function: Callable[..., float], title: str, *, greater_is_better: bool = True) -> Metric:
    return Metric(function.__name__, function, "prediction", greater_is_better, title)


def _score(function: Callable[..., float], title: str, *, greater_is_better: bool = False) -> Metric:
    return Metric(function.__name__, function, "score", greater_is_better, title)


_METRICS = (
    _prediction(example_based.hamming_loss, "Hamming loss", greater_is_better=False),
    _prediction(example_based.subset_accuracy, "subset accuracy"),
    _prediction(example_based.jaccard_examples, "accuracy (Jaccard)"),
    _prediction(example_based.precision_examples, "precision"),
    _prediction(example_based.recall_examples, "recall"),
    _prediction(example_based.f1_examples, "F1 (mean over examples)"),
    _prediction(example_based.f1_of_means, "F1 (of mean precision and recall)"),
    _prediction(label_based.micro_precision, "micro precision"),
    _prediction(label_based.micro_recall, "micro recall"),
    _prediction(label_based.micro_f1, "micro F1"),
    _prediction(label_based.macro_precision, "macro precision"),
    _prediction(label_based.macro_recall, "macro recall"),
    _prediction(label_based.macro_f1, "macro F1"),
    _score(ranking.one_error, "one-error"),
    _score(ranking.coverage, "coverage"),
    _score(ranking.ranking_loss, "ranking loss"),
    _score(ranking.average_precision, "average precision", greater_is_better=True),
)

# The F-beta measures are left out: without a beta they are no function of (y_true, y_pred).
CATALOGUE: Mapping[str, Metric] = MappingProxyType({metric.name: metric for metric in _METRICS})


def get_metric(name: str) -> Metric:
    """Return a measure of the catalogue.

    Parameters
    ----------
    name : str
        A key of `CATALOGUE`.

    Returns
    -------
    Metric
        The measure with what it needs and its direction.

    Raises
    ------
    ValueError
        If there is no such measure; the message names the nearest ones.

    Examples
    --------
    >>> get_metric("one_error").greater_is_better
    False
    """
    if name in CATALOGUE:
        return CATALOGUE[name]
    near = difflib.get_close_matches(str(name), CATALOGUE)
    hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"Known: {', '.join(CATALOGUE)}."
    raise ValueError(f"name must be a metric of the catalogue, got {name!r}. {hint}")
