"""The catalogue of metrics, and users' metrics: a function, the input it needs and its direction."""

from __future__ import annotations

import difflib
import inspect
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics._scorer import _Scorer
from sklearn.utils.metadata_routing import MetadataRequest

# Each module declares its metrics when it is loaded.
from nearlabel.metrics import areas, example_based, label_based, probabilities, ranking, top_k  # noqa: F401
from nearlabel.metrics.inputs import DECLARED, Declared
from nearlabel.utils import names
from nearlabel.utils.containers import checked_container
from nearlabel.utils.estimators import in_order_of_fit, label_scores, response_method_of
from nearlabel.utils.naming import read_value, split_option
from nearlabel.utils.types import MatrixLike
from nearlabel.utils.validation import check_choice, check_flag

_PROBABILITY_NAME = "y_prob"
_SCORE_NAMES = ("y_score", "scores", _PROBABILITY_NAME)
_PROPENSITIES = "propensities"
_INPUTS = ("y_true", "y_pred", "y_score", "y_prob", "sample_weight", _PROPENSITIES)  # parameters that are not options
_LOSS_ENDINGS = ("_loss", "_error")  # scikit-learn's convention: a function with such a name is to be minimised


@dataclass(frozen=True)
class Metric:
    """A metric: its function, the input it needs and its direction.

    nearlabel accepts such an object wherever it accepts the name of a metric: `Metric("my_metric", function)`.

    Parameters
    ----------
    name : str
        Name in records, tables and messages. For an entry of `CATALOGUE` it is the key, which is the function's name,
        followed by its options if they are set (see `get_metric`). Your own metric must have another name.
    function : callable
        ``function(y_true, y_pred) -> float`` or ``function(y_true, y_score) -> float``. It gets arrays of shape
        (n_samples, n_labels), or CSR arrays if sparse ones were passed; y_true is a float array with NaN where a cell
        is unknown. A keyword parameter `sample_weight`, an array of shape (n_samples,), is optional.
    needs : {"prediction", "score"}, default="prediction"
        Whether the second argument is an indicator matrix of predicted label sets or a matrix of scores.
    greater_is_better : bool, default=True
        The direction: False for a loss.
    title : str, default=""
        Title in tables and figures; empty: the name, with spaces.

    Raises
    ------
    ValueError
        If the name is empty or `needs` is neither of the two.
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

    def __call__(self, y_true: MatrixLike, y_given: MatrixLike, *, sample_weight: Any = None, **options: Any) -> float:
        """Return the value.

        Parameters
        ----------
        y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Indicator matrix of the true label sets.
        y_given : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Predicted label sets or scores, whichever the metric needs.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.
        **options : object
            Further keyword arguments of the function.

        Returns
        -------
        float
            The value that the function returns.

        Raises
        ------
        ValueError
            If the metric is one of nearlabel's that need propensities, and there are none.
        TypeError
            If there are weights and the function takes none, or it returns something other than a number.
        """
        if needs_propensities(self) and options.get(_PROPENSITIES) is None:
            raise ValueError(
                f"propensities must be given for {self.name}, got None. Hint: label_propensities(y_train); a Plan,"
                " evaluate and predict --score take those of the training part."
            )
        if sample_weight is not None:
            if not _has_parameter(self.function, "sample_weight"):
                raise TypeError(f"sample_weight must be None: metric {self.name!r} has no parameter of that name.")
            options["sample_weight"] = sample_weight
        value: Any = self.function(y_true, y_given, **options)
        if not isinstance(value, numbers.Real):
            raise TypeError(f"metric {self.name!r} must return a number, got {value!r} of type {type(value).__name__}.")
        return float(value)

    @property
    def response_methods(self) -> tuple[str, ...]:
        """Return the methods of an estimator that return the scores the function needs, the preferred one first."""
        parameters = [*_parameters(self.function)]
        return ("predict_proba",) if parameters[1:2] == [_PROBABILITY_NAME] else ("decision_function", "predict_proba")


@dataclass(frozen=True)
class WithOptions:
    """One of our functions with options set; unlike partials, two with the same options are equal."""

    function: Callable[..., float]
    options: tuple[tuple[str, Any], ...]

    def __call__(self, y_true: MatrixLike, y_given: MatrixLike, **others: Any) -> float:
        """Return the value; options set in the name take precedence over the arguments."""
        return self.function(y_true, y_given, **others | dict(self.options))


MetricLike: TypeAlias = str | Metric | Callable[..., float]  # what `get_metric` accepts


def _metric(name: str, of: Declared) -> Metric:
    needs_labels = "y_pred" in inspect.signature(of.function).parameters
    return Metric(name, of.function, "prediction" if needs_labels else "score", of.greater_is_better, of.title)


_ORDER = dict.fromkeys((*names.CATALOGUE, *names.METRICS_ON_REQUEST, *DECLARED))  # what is not written yet comes last
_OURS: Mapping[str, Metric] = MappingProxyType(
    {name: _metric(name, DECLARED[name]) for name in _ORDER if name in DECLARED}
)

# The metrics that are computed by default, the columns of every table; and those that are computed only if they are
# named, most of them with options, which their titles show in braces.
CATALOGUE: Mapping[str, Metric] = MappingProxyType(
    {name: metric for name, metric in _OURS.items() if not DECLARED[name].on_request}
)
METRICS_ON_REQUEST: tuple[str, ...] = tuple(name for name in _OURS if DECLARED[name].on_request)


def get_metric(metric: MetricLike) -> Metric:
    """Return a metric, given by name or as an object, with the input it needs and its direction.

    Parameters
    ----------
    metric : str, Metric or callable
        A key of `CATALOGUE` or one of `METRICS_ON_REQUEST`, with options behind colons: ``"precision_at_k:k=3"``,
        ``"roc_auc:average=micro"``, ``"one_error:ties=high"``; a `Metric`, which is returned unchanged; or a function,
        nearlabel's or your own, ``function(y_true, y_pred) -> float``, whose ``__name__`` becomes the metric's name.
        The function needs scores if its second parameter is named y_score or scores, and probabilities if it is named
        y_prob. Its attribute `greater_is_better` gives the direction; without that attribute, greater is better. Use
        `Metric` for a function without a name, such as a `functools.partial`.

    Returns
    -------
    Metric
        The metric with its name, the input it needs and its direction.

    Raises
    ------
    ValueError
        If the name is unknown (the message suggests similar ones), the metric has no such option or needs one, your own
        metric has the name of one of nearlabel's, a function has no name, or its name ends like a loss and it has no
        direction.
    TypeError
        If `metric` is none of these.

    Examples
    --------
    >>> get_metric("one_error").greater_is_better
    False
    >>> get_metric("precision_at_k:k=2")([[1, 0, 1]], [[0.9, 0.5, 0.1]])
    0.5
    >>> def top_score(y_true, y_score):
    ...     return float(y_score.max())
    >>> get_metric(top_score).needs
    'score'
    """
    if isinstance(metric, str):
        return _named(metric)
    if not isinstance(metric, Metric):
        metric = _of_function(metric)
    known = _OURS.get(metric.name.partition(":")[0])
    if known is not None and _without_options(metric) != _without_options(known):
        raise ValueError(
            f"metric must not have the name of another one of the catalogue, got {metric.name!r}."
            f" Hint: Metric('my_{metric.name}', function)."
        )
    return metric


def _named(text: str) -> Metric:
    name, *options = text.split(":")
    if text in CATALOGUE:
        return CATALOGUE[text]
    if name in _OURS:
        return _with_options(_OURS[name], options)
    near = difflib.get_close_matches(name, _OURS)
    hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"Known: {', '.join(_OURS)}."
    raise ValueError(f"metric must be a name of the catalogue, a Metric or a function, got {text!r}. {hint}")


def _with_options(metric: Metric, options: list[str]) -> Metric:
    """Return one of our metrics with options ``parameter=value``; its name and title show them."""
    own = {name: of for name, of in _parameters(metric.function).items() if name not in _INPUTS}
    settings = [split_option(f"metric {metric.name!r}", [*own], option) for option in options]
    for name, parameter in own.items():
        if parameter.default is parameter.empty and name not in dict(settings):
            raise ValueError(f"metric {metric.name!r} must have a value of {name}. Hint: '{metric.name}:{name}=2'.")
    values = {name: of.default for name, of in own.items()} | dict(settings)
    hidden = [option for option in options if f"{{{option.partition('=')[0]}}}" not in metric.title]
    title = metric.title.format(**values) + (f" ({', '.join(hidden)})" if hidden else "")
    if not options:
        return replace(metric, title=title)
    function = WithOptions(metric.function, tuple((name, read_value(text)) for name, text in settings))
    return replace(metric, name=":".join((metric.name, *options)), function=function, title=title)


def _without_options(metric: Metric) -> tuple[Any, ...]:
    """Return the metric without its options, the same for all metrics of one name."""
    return _function_of(metric.function), metric.needs, metric.greater_is_better


def option_of(metric: Metric, name: str) -> Any:
    """Return the value of an option of one of our metrics; None if it has no such option."""
    parameter = options_left_open(metric, _parameters(metric.function)).get(name)
    if parameter is None:
        return None
    settings = dict(metric.function.options) if isinstance(metric.function, WithOptions) else {}
    return settings.get(name, parameter.default)


def options_left_open(metric: Metric, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that the function of one of our metrics accepts; none for a user's metric."""
    if metric.name.partition(":")[0] not in _OURS:
        return {}
    return {name: value for name, value in options.items() if name in _parameters(metric.function)}


def needs_propensities(metric: Metric) -> bool:
    """Return whether a metric weights labels by their propensities, estimated on the training data."""
    return bool(options_left_open(metric, {_PROPENSITIES: None}))


def _of_function(function: Any) -> Metric:
    if not callable(function):
        raise TypeError(
            f"metric must be a name of the catalogue, a Metric or a function, got {function!r} of type"
            f" {type(function).__name__}."
        )
    name = getattr(function, "__name__", "")
    if name in _OURS and _OURS[name].function is function:
        return _named(name)
    if not name.isidentifier():  # a lambda, a partial function, an instance
        raise ValueError(f"metric must have a name, got {function!r}. Hint: Metric('my_metric', function).")
    if name.endswith(_LOSS_ENDINGS) and not hasattr(function, "greater_is_better"):
        raise ValueError(
            f"metric must define whether greater is better, since its name ends like that of a loss, got {name!r}."
            f" Hint: Metric({name!r}, function, greater_is_better=False)."
        )
    takes_scores = not set(_SCORE_NAMES).isdisjoint([*_parameters(function)][1:2])
    needs: Literal["prediction", "score"] = "score" if takes_scores else "prediction"
    return Metric(name, function, needs, getattr(function, "greater_is_better", True))


def _function_of(function: Callable[..., float]) -> Callable[..., float]:
    return function.function if isinstance(function, WithOptions) else function


def _has_parameter(function: Callable[..., float], name: str) -> bool:
    parameters = _parameters(function)
    takes_any = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    return name in parameters or takes_any


def _parameters(function: Callable[..., float]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(_function_of(function)).parameters
    except ValueError:  # some functions written in C have no signature
        return {}


# Metrics as scorers for scikit-learn's ``scoring=``.
#
# `sklearn.metrics.make_scorer` is enough for metrics of predictions, but not for metrics of scores. Its scorers
# interpret scores by ``classes_`` alone: they mistake two labels for the two classes of one label (scikit-learn's
# MLPClassifier fails that way), and fail on a list of probabilities in which a label has one class, which is common
# for rare labels in cross-validation.

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
    sign = 1 if known.greater_is_better else -1
    return _PredictionScorer(known.function, sign, {}, response_method="predict")


class _PredictionScorer(_Scorer):
    """The result of `make_scorer`; it checks samples before an estimator of others reads them."""

    def _score(self, method_caller: Any, estimator: Any, X: MatrixLike, y_true: MatrixLike, **kwargs: Any) -> float:
        score: float = super()._score(method_caller, estimator, checked_container("X", X), y_true, **kwargs)
        return score


class _RankingScorer:
    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self._request = MetadataRequest(owner=metric.name)

    def __call__(self, estimator: Any, X: MatrixLike, y: MatrixLike, sample_weight: ArrayLike | None = None) -> float:
        sign = 1 if self.metric.greater_is_better else -1
        y = in_order_of_fit(estimator, checked_container("y_true", y))
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
