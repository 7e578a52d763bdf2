"""A typed version of scikit-learn's decorator for methods that exist only under a condition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sklearn.utils.metaestimators import available_if as _available_if

Method = TypeVar("Method", bound=Callable[..., Any])


def available_if(check: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """Return a decorator that hides a method where ``check(estimator)`` is False or raises AttributeError.

    scikit-learn has no type hints, so with its own decorator type checkers would see Any as the result.
    """
    decorator: Callable[[Method], Method] = _available_if(check)
    return decorator
