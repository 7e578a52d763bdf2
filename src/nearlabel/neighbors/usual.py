"""The distances of training samples to their neighbours: found once for a fitted search, and kept while it exists.

They are stored outside the search, so that no pickle and no model file contains them. `fit` and updates of a model make
a copy of its search, and the distances of the former one are freed with it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from nearlabel.utils.types import FloatArray


class _Kept:
    """The distances of one search, by number of neighbours; threads that need them wait for the one that finds them."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.distances: dict[int, FloatArray] = {}


_KEPT: WeakKeyDictionary[Any, _Kept] = WeakKeyDictionary()


def usual_distances(search: Any, n_neighbors: int, find: Callable[[], FloatArray]) -> FloatArray:
    """Return the mean distances of all training samples to their neighbours in ascending order.

    Parameters
    ----------
    search : object
        The fitted search.
    n_neighbors : int
        Number of neighbours of each sample.
    find : callable
        Returns the distances (n_samples,) in any order; called once for a search and a number of neighbours.

    Returns
    -------
    ndarray of shape (n_samples,)
        It cannot be written to, because it is shared.
    """
    try:
        kept = _KEPT.setdefault(getattr(search, "searched", search), _Kept())  # not of a wrapper around it
    except TypeError:  # a user's own search that has no hash, or no weak references
        return np.sort(find())
    with kept.lock:
        if n_neighbors not in kept.distances:
            ascending = np.sort(find())
            ascending.flags.writeable = False
            kept.distances[n_neighbors] = ascending
        return kept.distances[n_neighbors]


def _begin_child() -> None:
    """Free the locks of threads that a forked child does not have."""
    for kept in _KEPT.values():
        kept.lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)
