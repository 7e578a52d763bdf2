"""Changes of an estimator in one step: made on a copy, whose state replaces the estimator's at the end.

So after an error, or Ctrl-C, nothing has changed, and another thread that predicts meanwhile has the former state or
the new one. What a change would alter in place, such as an inner classifier, must be copied, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

_Method = TypeVar("_Method", bound=Callable[..., Any])
_Estimator = TypeVar("_Estimator")


def same_state(estimator: Any) -> Any:
    """Return a copy that shares the values of all attributes."""
    other = object.__new__(type(estimator))  # `copy.copy` would use the state of a pickle
    vars(other).update(vars(estimator))
    return other


def take_over(estimator: _Estimator, changed: Any) -> _Estimator:
    """Make the state of a changed copy that of the estimator, and return the estimator."""
    estimator.__dict__ = dict(vars(changed))  # one that Python 3.13 cannot empty when the copy is collected
    return estimator


def on_a_copy(copied: Callable[[Any], Any]) -> Callable[[_Method], _Method]:
    """Return a decorator of `fit`, or another method that changes the estimator: it then works on ``copied(self)``."""

    def in_one_step(method: _Method) -> _Method:
        @wraps(method)
        def changed(self: Any, *args: Any, **params: Any) -> Any:
            other = copied(self)
            answer = method(other, *args, **params)
            take_over(self, other)
            return self if answer is other else answer

        return cast(_Method, changed)

    return in_one_step


all_or_nothing = on_a_copy(same_state)  # of a `fit` that replaces all it has learnt before
