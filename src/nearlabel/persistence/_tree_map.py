"""Replace parts of an estimator at any depth."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator


def map_parts(thing: Any, change: Callable[[Any], Any]) -> Any:
    """Return `thing` with `change` applied to each of its parts.

    Lists, tuples, dicts, arrays of objects, estimators and objects of nearlabel are searched. Containers of a changed
    part are copied shallowly; all others are returned unchanged, so the input is not modified and no numbers are
    copied. An object referenced twice is still one object in the result.
    """
    return _TreeMap(change).of(thing)


class _TreeMap:
    """One traversal, which stores the result of every object by its id."""

    def __init__(self, change: Callable[[Any], Any]) -> None:
        self._change = change
        self._seen: dict[int, tuple[Any, Any]] = {}  # keeps each object alive, so that its id is not reused

    def of(self, thing: Any) -> Any:
        if id(thing) not in self._seen:
            new = self._change(thing)
            self._seen[id(thing)] = thing, new  # set before the recursion, to stop at cycles
            if new is thing:
                self._seen[id(thing)] = thing, self._inside(thing)
        return self._seen[id(thing)][1]

    def _inside(self, thing: Any) -> Any:
        if isinstance(thing, dict):
            return self._like(thing, thing, lambda parts: _with_items(thing, parts))
        if isinstance(thing, np.ndarray) and thing.dtype == object:
            return self._like(thing, dict(np.ndenumerate(thing)), lambda parts: _with_items(thing, parts))
        if isinstance(thing, list | tuple):
            make = getattr(type(thing), "_make", type(thing))
            return self._like(thing, dict(enumerate(thing)), lambda parts: make(parts.values()))
        if isinstance(thing, BaseEstimator) or type(thing).__module__.partition(".")[0] == "nearlabel":
            return self._like(thing, getattr(thing, "__dict__", {}), lambda parts: _with_attributes(thing, parts))
        return thing

    def _like(self, thing: Any, parts: dict[Any, Any], make: Callable[[dict[Any, Any]], Any]) -> Any:
        new = {key: self.of(part) for key, part in parts.items()}
        return thing if all(new[key] is part for key, part in parts.items()) else make(new)


def _with_items(thing: Any, items: dict[Any, Any]) -> Any:
    clone = copy.copy(thing)
    for key, item in items.items():
        clone[key] = item
    return clone


def _with_attributes(thing: Any, attributes: dict[str, Any]) -> Any:
    clone = copy.copy(thing)
    vars(clone).update(attributes)  # also works for frozen dataclasses
    return clone
