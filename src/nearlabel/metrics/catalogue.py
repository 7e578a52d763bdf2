"""The catalogue of metrics, and metrics of one's own: a function, what it needs and which direction is good."""

from __future__ import annotations

import difflib
import inspect
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from nearlabel.metrics import example_based, label_based, ranking
from nearlabel.utils.types import MatrixLike
from nearlabel.utils.validation import check_choice, check_flag

_SCORE_NAMES = ("y_score", "scores")
_LOSS_ENDINGS = ("_loss", "_error")  # scikit-learn's convention: such a function is to be minimised


@dataclass(frozen=True)
class Metric:
    """A metric: its function, the input it needs and its direction.

    Wherever nearlabel accepts the name of a metric it accepts such an object: `Metric("my_metric", function)`.

    Parameters
    ----------
    name : str
        What records, tables and messages call it. For an entry of `CATALOGUE` its key, the function's name; the name
        of a metric of your own must not be one of those.
    function : callable
        ``function(y_true, y_pred) -> float`` or ``function(y_true, y_score) -> float``. It gets arrays of shape
        (n_samples, n_labels), or CSR arrays where sparse ones were passed. A keyword parameter `sample_weight`, an
        array of shape (n_samples,), is optional.
    needs : {"prediction", "score"}, default="prediction"
        Whether the second argument is an indicator matrix of predicted label sets or a matrix of scores.
    greater_is_better : bool, default=True
        The direction: False for a loss.
    title : str, default=""
        What a table or a figure prints; empty: the name, with spaces.

    Raises
    ------
    ValueError
        If the name is empty or `needs` is none of the two.
    TypeError
        If the function cannot be called, or `greater_is_better` is neither True nor False.

    Examples
    --------
    >>> import numpy as np
    >>> def largest_set(y_true, y_pred):
    ...     return float(np.sum(y_pred, axis=1).max())
    >>> metric = Metric("largest_set", largest_set, greater_is_better=False)
    >>> metric(np.array([[1, 0, 1]]), np.array([[1, 1, 0]])), metric.title
    (2.0, 'largest set')
    """

    name: str
    function: Callable[..., float]
    needs: Literal["prediction", "score"] = "prediction"
    greater_is_better: bool = True
    title: str = ""

    def __post_init__(self) -> None:
        """Check the fields, and derive the title from the name if it is not given."""
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(f"name must be a non-empty string, got {self.name!r}.")
        if not callable(self.function):
            raise TypeError(f"function must be callable, got {self.function!r} of type {type(self.function).__name__}.")
        check_choice("needs", self.needs, ("prediction", "score"))
        check_flag("greater_is_better", self.greater_is_better)
        object.__setattr__(self, "title", self.title or self.name.replace("_", " "))

    def __call__(self, y_true: MatrixLike, y_given: MatrixLike, *, sample_weight: Any = None) -> float:
        """Return the value.

        Parameters
        ----------
        y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Indicator matrix of the true label sets.
        y_given : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Predicted label sets or scores: what the metric needs.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        float
            What the function returns.

        Raises
        ------
        TypeError
            If there are weights and the function takes none, or it returns something that is no number.
        """
        options = {}
        if sample_weight is not None:
            if not _has_parameter(self.function, "sample_weight"):
                raise TypeError(f"sample_weight must be None: metric {self.name!r} has no parameter of that name.")
            options["sample_weight"] = sample_weight
        value: Any = self.function(y_true, y_given, **options)
        if not isinstance(value, numbers.Real):
            raise TypeError(f"metric {self.name!r} must return a number, got {value!r} of type {type(value).__name__}.")
        return float(value)


MetricLike: TypeAlias = str | Metric | Callable[..., float]  # what `get_metric` takes


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

# The F-beta metrics are left out: without a beta they are no function of (y_true, y_pred).
CATALOGUE: Mapping[str, Metric] = MappingProxyType({metric.name: metric for metric in _METRICS})


def get_metric(metric: MetricLike) -> Metric:
    """Return a metric, given by name or as an object, with what it needs and its direction.

    Parameters
    ----------
    metric : str, Metric or callable
        A key of `CATALOGUE`; a `Metric`, which is returned as it is; or a function of the catalogue or of your own,
        ``function(y_true, y_pred) -> float``, which takes its name from ``__name__``. It needs scores if its second
        parameter is named y_score or scores. Its attribute `greater_is_better` gives the direction, True if it has
        none. For a function that has no name, such as a `functools.partial`, use `Metric`.

    Returns
    -------
    Metric
        The metric with its name, what it needs and its direction.

    Raises
    ------
    ValueError
        If the catalogue has no such name (the message suggests the nearest ones), a metric of your own has the name of
        one of the catalogue, a function has no name, or its name ends as a loss's does and it has no direction.
    TypeError
        If `metric` is none of these.

    Examples
    --------
    >>> get_metric("one_error").greater_is_better
    False
    >>> def top_score(y_true, y_score):
    ...     return float(y_score.max())
    >>> get_metric(top_score).needs
    'score'
    """
    if isinstance(metric, str):
        return _named(metric)
    if not isinstance(metric, Metric):
        metric = _of_function(metric)
    if CATALOGUE.get(metric.name, metric) != metric:
        raise ValueError(
            f"metric must not have the name of another one of the catalogue, got {metric.name!r}."
            f" Hint: Metric('my_{metric.name}', function)."
        )
    return metric


def _named(name: str) -> Metric:
    if name in CATALOGUE:
        return CATALOGUE[name]
    near = difflib.get_close_matches(name, CATALOGUE)
    hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"Known: {', '.join(CATALOGUE)}."
    raise ValueError(f"metric must be a name of the catalogue, a Metric or a function, got {name!r}. {hint}")


def _of_function(function: Any) -> Metric:
    if not callable(function):
        raise TypeError(
            f"metric must be a name of the catalogue, a Metric or a function, got {function!r} of type"
            f" {type(function).__name__}."
        )
    name = getattr(function, "__name__", "")
    known = CATALOGUE.get(name)
    if known is not None and known.function is function:
        return known
    if not name.isidentifier():  # a lambda, a partial function, an instance
        raise ValueError(f"metric must have a name, got {function!r}. Hint: Metric('my_metric', function).")
    if name.endswith(_LOSS_ENDINGS) and not hasattr(function, "greater_is_better"):
        raise ValueError(
            f"metric must say whether greater is better, as its name ends like a loss, got {name!r}."
            f" Hint: Metric({name!r}, function, greater_is_better=False)."
        )
    parameters = [*_parameters(function)]
    needs: Literal["prediction", "score"] = (
        "score" if parameters[1:2] and parameters[1] in _SCORE_NAMES else "prediction"
    )
    return Metric(name, function, needs, getattr(function, "greater_is_better", True))


def _has_parameter(function: Callable[..., float], name: str) -> bool:
    parameters = _parameters(function)
    takes_any = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    return name in parameters or takes_any


def _parameters(function: Callable[..., float]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except ValueError:  # some functions written in C have no signature
        return {}
