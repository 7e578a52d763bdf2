"""Metrics of plans: names of the catalogue, functions and `Metric` objects of users, and ``package.module:name``."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from nearlabel.metrics import CATALOGUE, Metric, MetricLike, get_metric
from nearlabel.metrics.evaluation import EMPTY_PREDICTIONS, count_left_out
from nearlabel.selection.parts import check_metric, read_options
from nearlabel.utils.naming import import_object, split_import
from nearlabel.utils.types import Matrix


def read_metrics(values: Mapping[str, Any]) -> dict[str, Metric | str]:
    """Return the metrics by their names in records; "empty_predictions", which is not a metric, is unchanged."""
    return {
        name: EMPTY_PREDICTIONS if value == EMPTY_PREDICTIONS else read_metric(name, value)
        for name, value in values.items()
    }


def read_metric(name: str | None, value: Any) -> Metric:
    """Return a metric from a catalogue name, a function, a `Metric` or a ``module:function:parameter=value``.

    `name` is the user's name of the metric; None: its own name.

    Raises
    ------
    ValueError, TypeError
        If it is none of these, or fails a check of `nearlabel.testing.check_metric`.
    ImportError
        If the module cannot be imported.
    """
    metric = _imported(value) if isinstance(value, str) and split_import(value) else _given(name, value)
    if name not in (None, metric.name):
        metric = get_metric(replace(metric, name=name, title=""))  # raises an error for another metric's name
    check_metric(metric)
    return metric


def make_metric(metric: MetricLike) -> Metric:
    """Return a metric, given by name with options or as an object, after the checks of a plan.

    Parameters
    ----------
    metric : str, Metric or callable
        Any value that `nearlabel.metrics.get_metric` accepts, or ``package.module:function`` or ``./file.py:function``,
        followed by values of further parameters after colons. **This executes the code of that module.**

    Returns
    -------
    Metric
        The metric; for a metric from a module, the whole text is its name.

    Raises
    ------
    ValueError, TypeError
        If it is none of these, or fails a check of `nearlabel.testing.check_metric`.
    ImportError
        If the module cannot be imported.

    Examples
    --------
    >>> from nearlabel.experiments import make_metric
    >>> make_metric("roc_auc:average=micro").title
    'ROC-AUC (micro)'
    """
    return read_metric(None, metric)


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


def _imported(text: str) -> Metric:
    imported, options = split_import(text) or (text, "")
    thing = import_object(imported)
    settings = {}
    if options:
        known = sorted(set(inspect.signature(thing).parameters) - {"sample_weight"})
        settings = read_options(f"metric {imported!r}", known, options.split(":")[1:])
    metric = get_metric(thing)
    function = partial(metric.function, **settings) if settings else metric.function
    return replace(metric, name=text, function=function, title=text)
