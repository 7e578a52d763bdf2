"""Parts of plans: estimators from text, and objects of users."""

from __future__ import annotations

import difflib
import importlib.util
import inspect
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Self

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from nearlabel.metrics import Metric
from nearlabel.testing import METRIC_CHECKS, MULTILABEL_CHECKS, SEARCH_CHECKS, run_checks
from nearlabel.utils.naming import import_object, names_an_import, read_value, split_import, split_option
from nearlabel.utils.validation import each_once

# Values of the option `estimator`: classifiers of a single label.
ESTIMATORS: Mapping[str, Callable[[], Any]] = MappingProxyType(
    {
        "svm": partial(LinearSVC, dual=False),
        "svm-hinge": partial(SVC, kernel="linear"),
        "svm-rbf": SVC,
        "knn": KNeighborsClassifier,
        "logistic": partial(LogisticRegression, solver="liblinear"),
        "tree": DecisionTreeClassifier,
    }
)

_FROM_THE_PLAN = {"n_neighbors", "search"}
# The name of a strategy implies the first, the name of a selection the second; the others cannot be text.
_NO_OPTIONS = _FROM_THE_PLAN | {"per_label", "symmetric", "similarity", "metric_params"}


@dataclass(frozen=True)
class Part:
    """An unfitted estimator, cloned for each use.

    Parameters
    ----------
    key : str
        Its text, or an identifier of the object; parts with the same key are equal and share computed results.
    prototype : object
        The estimator; it draws random numbers from the seed 0 unless another is set.
    source : object, default=None
        The user's object, stored so that its id is not reused.
    """

    key: str
    prototype: Any = field(compare=False, repr=False)
    source: Any = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, what: str, known: Mapping[str, Any], value: Any, *, settable: Collection[str] = ()) -> Self:
        """Create the part from a name with options, or from an object; `what` is its description in messages.

        `settable` are options that only the plan may set for a method.
        """
        if isinstance(value, str):
            return cls(value, from_text(what, known, value, seed=0, settable=settable))
        if isinstance(value, type):
            raise TypeError(f"{what} must be an object, got the class {value.__name__}. Hint: {value.__name__}().")
        prototype = clone(value, safe=False)
        if "random_state" in parameters_of(prototype) and prototype.random_state is None:
            prototype.set_params(random_state=0)
        return cls(f"{type(value).__name__} {id(value)}", prototype, value)

    @property
    def parameters(self) -> set[str]:
        """Parameter names of the estimator."""
        return parameters_of(self.prototype)

    def make(self, **parameters: Any) -> Any:
        """Return a clone with some of its parameters set."""
        made = clone(self.prototype, safe=False)
        return made.set_params(**parameters) if parameters else made


def parameters_of(thing: Any) -> set[str]:
    """Return the parameter names of an estimator; empty for other objects."""
    return set(thing.get_params(deep=False)) if hasattr(thing, "get_params") else set()


def from_text(
    what: str,
    known: Mapping[str, Callable[..., Any]],
    text: str,
    *,
    seed: int | None = None,
    settable: Collection[str] = (),
) -> Any:
    """Return the unfitted object of a name or a ``package.module:Name``, with its options.

    Parameters
    ----------
    what : str
        Its description in messages.
    known : mapping of str to callable
        Factories by name.
    text : str
        Name and options.
    seed : int, default=None
        Value of the parameter `random_state`, if there is one and no option sets it; None: its default.
    settable : collection of str, default=()
        Options that are allowed although the plan sets those of a method.

    Raises
    ------
    ValueError
        If there is no such name, attribute or option.
    ImportError
        If the module cannot be imported.
    """
    name, *options = text.split(":")
    if name in known:
        return _made(f"{what} {name!r}", known[name], options, _NO_OPTIONS - set(settable), seed)
    found = split_import(text)
    if found is None:
        raise ValueError(f"{what} must be one of {sorted(known)}, got {name!r}.{hint(name, known)}")
    imported, rest = found
    no_options = _FROM_THE_PLAN - set(settable)
    return _made(f"{what} {imported!r}", import_object(imported), rest.split(":")[1:], no_options, seed)


def _made(whose: str, thing: Any, options: Iterable[str], no_options: set[str], seed: int | None) -> Any:
    """Call a class or a function with options, or set the parameters of an object."""
    parameters = set(inspect.signature(thing).parameters) if callable(thing) else parameters_of(thing)
    known = sorted(parameters - no_options)
    settings = read_options(whose, known, options)
    if seed is not None and "random_state" in parameters:
        settings = {"random_state": seed} | settings
    if callable(thing):
        return thing(**settings)
    copy = clone(thing, safe=False)
    return copy.set_params(**settings) if settings else copy


def read_options(whose: str, known: list[str], options: Iterable[str]) -> dict[str, Any]:
    """Return the values of ``parameter=value`` by parameter; unknown parameters raise an error."""
    return dict(_read_option(whose, known, option) for option in options)


def _read_option(whose: str, known: list[str], option: str) -> tuple[str, Any]:
    parameter, text = split_option(whose, known, option)
    return parameter, _read_estimator(whose, text) if parameter == "estimator" else read_value(text)


def _read_estimator(whose: str, text: str) -> Any:
    """Return the classifier of a key of `ESTIMATORS` or a ``package.module.Name``: a colon would begin an option."""
    if text in ESTIMATORS:
        return ESTIMATORS[text]()
    module, _, name = text.rpartition(".")
    if not module:
        known = sorted(ESTIMATORS)
        raise ValueError(f"estimator of {whose} must be one of {known}, got {text!r}.{hint(text, known)}")
    return import_object(f"{module}:{name}")()


def hint(name: str, known: Iterable[str]) -> str:
    """Return a suggestion of the most similar known name, to end a message."""
    near = difflib.get_close_matches(name.lower(), known, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


# User objects in plans: their names in records, their description in plans, and their checks.
#
# A *guest* is an estimator, a search or a metric that is not nearlabel's own. A plan accepts it if it passes the
# checks of `nearlabel.testing`. A check that it cannot pass is listed, with the reason, in an attribute
# `expected_failed_checks` (a dict) of the guest's class or function, where the command line can also find it.

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
        name: value if isinstance(value, str) and not names_an_import(value) else descriptions[name]
        for name, value in given.items()
        if not isinstance(value, str) or value != name or names_an_import(value)
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


def check_search(name: str, search: Any) -> None:
    """Raise an error unless a guest passes `nearlabel.testing.check_search`."""
    if not _is_ours(search):
        _check("search", name, search, SEARCH_CHECKS, lambda: clone(search, safe=False))


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
