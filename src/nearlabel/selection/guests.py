"""Objects of users in plans: their names in records, their description in plans, their checks; and metrics.

A *guest* is an estimator, a search or a metric that is not nearlabel's own. A plan accepts it if it passes the checks
of `nearlabel.testing`. A check that it cannot pass is listed, with the reason, in an attribute `expected_failed_checks`
(a dict) of the guest's class or function, where the command line can also find it.
"""

from __future__ import annotations

import importlib.util
import inspect
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from nearlabel.metrics import CATALOGUE, Metric, MetricLike, get_metric
from nearlabel.metrics.evaluation import EMPTY_PREDICTIONS, count_left_out
from nearlabel.selection.specs import make_search, read_options
from nearlabel.testing import METRIC_CHECKS, MULTILABEL_CHECKS, SEARCH_CHECKS, run_checks
from nearlabel.utils.naming import import_object, split_import
from nearlabel.utils.types import Matrix
from nearlabel.utils.validation import each_once

_logger = logging.getLogger(__name__)

# No check starts later. The longest checks take about as long, so a guest takes at most about 2 seconds.
_SECONDS = 1.0
_LONG_CHECKS = (
    "check_sparse_equals_dense",
    "check_container_of_labels_is_kept",
    "check_each_query_is_answered_by_itself",
    "check_scikit_learn_tools",
)
_NO_PLAN_DOES_THAT = {"check_one_dimensional_target": "y is an indicator matrix in every plan"}
_WITHOUT_PANDAS = {"check_data_frames": "pandas is not installed"}
_passed: set[tuple[str, str]] = set()  # kind and description of the guests checked in this process


def by_name(what: str, values: Any) -> dict[str, Any]:
    """Return the user's objects by their names in records.

    Parameters
    ----------
    what : str
        Name of the parameter, for messages.
    values : mapping of str to str or object, or iterable of str or object
        In a mapping the user sets the names. In a list the name is the text itself, the ``__name__`` of a function, or
        the representation of an object, such as ``MyClassifier(alpha=2)``.

    Raises
    ------
    TypeError
        If it is neither, or a name is not a str.
    ValueError
        If it is empty, a name occurs twice, or a function has no name.
    """
    if not isinstance(values, Mapping):
        values = each_once(what, values)
        return dict(zip(each_once(what, [_name_of(what, value) for value in values]), values, strict=True))
    for name in values:
        if not isinstance(name, str):
            raise TypeError(f"{what} must have texts as names, got {name!r}.")
    each_once(what, values)
    return dict(values)


def _name_of(what: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Metric):
        return value.name
    if inspect.isroutine(value) and value.__name__.isidentifier():
        return value.__name__
    if callable(value) and not isinstance(value, type):  # a lambda, a partial function
        raise ValueError(f"{what} must have names, got {value!r}. Hint: {{'mine': ...}} instead of a list.")
    return " ".join(repr(value).split())  # a long representation has several lines


def describe_object(value: Any) -> str:
    """Return a one-line description of an object, its class and parameters, which is the same in every process."""
    if isinstance(value, Metric):
        return f"{describe_object(value.function)}, needs={value.needs}, greater_is_better={value.greater_is_better}"
    if isinstance(value, partial):
        given = [*map(describe_object, value.args), *_settings(value.keywords)]
        return f"{describe_object(value.func)}({', '.join(given)})"
    if inspect.isroutine(value) or isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if value is None or isinstance(value, (str, int, float, np.number, np.bool_)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(describe_object, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(_settings(value))}}}"
    path = f"{type(value).__module__}.{type(value).__qualname__}"
    if hasattr(value, "get_params"):
        return f"{path}({', '.join(_settings(value.get_params(deep=False)))})"
    return f"{path} {joblib.hash(value)}"  # arrays, and objects without parameters


def _settings(values: Mapping[Any, Any]) -> list[str]:
    return [f"{name}={describe_object(value)}" for name, value in values.items()]


def described(given: Mapping[str, Any], descriptions: Mapping[str, str]) -> dict[str, str]:
    """Return the descriptions of names that are not nearlabel's own, for the plan on disk."""
    return {
        name: value if isinstance(value, str) else descriptions[name]
        for name, value in given.items()
        if not isinstance(value, str) or value != name
    }


def check_classifier(name: str, classifier: Any, n_neighbors: int | None) -> None:
    """Raise an error unless a guest passes `check_multilabel_estimator`.

    `n_neighbors` replaces the guest's number of neighbours, since the checks have 30 training samples.
    """
    if isinstance(classifier, Pipeline):
        classifier = classifier[-1]  # the steps before it use features only
    if _is_ours(classifier):
        return
    given = {} if n_neighbors is None else {"n_neighbors": n_neighbors}
    checks = sorted(MULTILABEL_CHECKS, key=lambda check: check.__name__ in _LONG_CHECKS)
    excused = _NO_PLAN_DOES_THAT | ({} if importlib.util.find_spec("pandas") else _WITHOUT_PANDAS)
    _check("method", name, classifier, checks, lambda: clone(classifier).set_params(**given), excused)


def check_searches(searches: Mapping[str, Any]) -> None:
    """Raise an error unless each search can be created, and guests pass `nearlabel.testing.check_search`."""
    for name, spec in searches.items():
        search = make_search(spec)
        if not _is_ours(search):
            _check("search", name, search, SEARCH_CHECKS, partial(clone, search, safe=False))


def check_metric(metric: Metric) -> None:
    """Raise an error unless a guest passes `nearlabel.testing.check_metric`."""
    if not _is_ours(metric.function):
        _check("metric", metric.name, metric, METRIC_CHECKS, lambda: metric)


def _check(
    kind: str,
    name: str,
    guest: Any,
    checks: Iterable[Any],
    make: Callable[[], Any],
    excused: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Run the checks that the guest has not passed yet, without the expected failures."""
    key = kind, describe_object(guest)
    if key in _passed:
        return
    expected = getattr(guest.function if isinstance(guest, Metric) else guest, "expected_failed_checks", {})
    try:
        late = run_checks(checks, make, {**excused, **expected}, seconds=_SECONDS)
    except AssertionError as failure:
        got = " ".join(str(failure).split())  # numpy's messages have several lines
        raise ValueError(
            f"{kind} {name!r} must pass the checks of nearlabel.testing, got a failure of {got}"
            " Hint: if this is unavoidable, declare it in its attribute expected_failed_checks = {check: reason}."
        ) from failure
    if late:
        _logger.info("%s %r: after %g s these checks were not run: %s.", kind, name, _SECONDS, ", ".join(late))
    _passed.add(key)


def _is_ours(guest: Any) -> bool:
    """Return whether an object, and each estimator inside it, is tested by nearlabel or scikit-learn."""
    if not hasattr(guest, "get_params"):
        return _root(guest) == "nearlabel"
    inside = [value for value in guest.get_params().values() if hasattr(value, "get_params")]
    return _root(guest) == "nearlabel" and all(_root(each) in ("nearlabel", "sklearn") for each in inside)


def _root(thing: Any) -> str:
    module = thing.__module__ if inspect.isroutine(thing) else type(thing).__module__
    return str(module).partition(".")[0]


# Metrics of plans: names of the catalogue, functions and `Metric` objects.


def read_metrics(values: Mapping[str, Any]) -> dict[str, Metric | str]:
    """Return the metrics by their names in records; "empty_predictions", which is not a metric, is unchanged."""
    return {
        name: EMPTY_PREDICTIONS if value == EMPTY_PREDICTIONS else read_metric(name, value)
        for name, value in values.items()
    }


def read_metric(name: str | None, value: Any, *, allow_imports: bool = False) -> Metric:
    """Return a metric from a catalogue name, a function, a `Metric` or, if allowed, a ``module:function:option=value``.

    `name` is the user's name of the metric; None: its own name.

    Raises
    ------
    ValueError, TypeError
        If it is none of these, or fails a check of `nearlabel.testing.check_metric`.
    ImportError
        If the module cannot be imported.
    """
    is_to_import = isinstance(value, str) and split_import(value)
    metric = _imported(value, allow_imports=allow_imports) if is_to_import else _given(name, value)
    if name not in (None, metric.name):
        metric = get_metric(replace(metric, name=name, title=""))  # raises an error for another metric's name
    check_metric(metric)
    return metric


def make_metric(metric: MetricLike, *, allow_imports: bool = False) -> Metric:
    """Return a metric, given by name with options or as an object, after the checks of a plan.

    Parameters
    ----------
    metric : str, Metric or callable
        Any value that `nearlabel.metrics.get_metric` accepts.
    allow_imports : bool, default=False
        Whether a text may also be ``package.module:function`` or ``./file.py:function``, followed by values of further
        parameters after colons, which is imported: **this executes the code of that module**.

    Returns
    -------
    Metric
        The metric; for a metric from a module, the whole text is its name.

    Raises
    ------
    ValueError, TypeError
        If it is none of these, an import is not allowed, or it fails a check of `nearlabel.testing.check_metric`.
    ImportError
        If the module cannot be imported.

    Examples
    --------
    >>> from nearlabel.experiments import make_metric
    >>> make_metric("roc_auc:average=micro").title
    'ROC-AUC (micro)'
    """
    return read_metric(None, metric, allow_imports=allow_imports)


def direction_of(metric: Metric | str) -> dict[str, bool]:
    """Return the field `greater_is_better` of a record, for metrics that are not in the catalogue."""
    if isinstance(metric, str) or metric.name in CATALOGUE:
        return {}
    return {"greater_is_better": metric.greater_is_better}


def skipped_on(metric: Metric | str, truth: Matrix) -> dict[str, int]:
    """Return the field of a record with the number of labels, or samples, that a metric leaves out."""
    skipped = 0 if isinstance(metric, str) else count_left_out(metric, truth)
    return {"skipped": skipped} if skipped else {}


def _given(name: str | None, value: Any) -> Metric:
    if name is None or isinstance(value, str | Metric) or getattr(value, "__name__", "").isidentifier():
        return get_metric(value)
    return get_metric(Metric(name, value))  # a partial function, a lambda or a callable object


def _imported(text: str, *, allow_imports: bool) -> Metric:
    imported, options = split_import(text) or (text, "")
    thing = import_object("metric", imported, allow_imports=allow_imports)
    settings = {}
    if options:
        known = sorted(set(inspect.signature(thing).parameters) - {"sample_weight"})
        settings = read_options(f"metric {imported!r}", known, options.split(":")[1:], allow_imports=True)
    metric = get_metric(thing)
    function = partial(metric.function, **settings) if settings else metric.function
    return replace(metric, name=text, function=function, title=text)
