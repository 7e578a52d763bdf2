"""Estimators from text: ``name:parameter=value``, or ``package.module:Name:parameter=value`` for users' estimators."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Self

from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from nearlabel.utils.guests import import_object, split_import
from nearlabel.utils.options import read_value, split_option

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
