"""The distances of training samples to their neighbours: found once for a fitted search, and kept while it exists.

They are stored outside the search, so that no pickle and no model file contains them. `fit` and updates of a model make
a copy of its search, and the distances of the former one are freed with it. An update changes the lists of few samples:
where lists were searched for, only these change (`follow`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from nearlabel.neighbors.exact._segments import RESERVE, TrainingLists
from nearlabel.neighbors.votes import Neighbors
from nearlabel.utils.types import FloatArray, IntArray


class _Kept:
    """The distances of one search, by number of neighbours; threads that need them wait for the one that finds them.

    `lists` are the neighbours of all training samples, and their mean distances, in the order of the samples.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self.distances: dict[int, FloatArray] = {}
        self.lists: dict[int, tuple[TrainingLists, FloatArray]] = {}


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
    kept = _kept_for(search)
    if kept is None:
        return np.sort(find())
    with kept.lock:
        if n_neighbors not in kept.distances:
            known = kept.lists.get(n_neighbors)
            if known is not None:
                kept.lists[n_neighbors] = known = _with_added(search, n_neighbors, *known)
            kept.distances[n_neighbors] = ascending = np.sort(find() if known is None else known[1])
            ascending.flags.writeable = False
        return kept.distances[n_neighbors]


def searched_distances(search: Any, n_neighbors: int, ask: Callable[[int, int], Neighbors]) -> FloatArray:
    """Return the mean distances of all training samples to their neighbours, in their order; `follow` changes them.

    `ask` searches for some neighbours of each training sample, of which some are a reserve.
    """
    kept = _kept_for(search) if hasattr(search, "pairs_within") else None
    if kept is None or search.takes_metric_from_rows:
        return ask(n_neighbors, 0).mean_distances()
    n_reserved = min(RESERVE, search.n_samples_fit_ - 1 - n_neighbors)
    found = ask(n_neighbors + n_reserved, n_reserved)
    means = found.nearest(n_neighbors).mean_distances()
    kept.lists[n_neighbors] = TrainingLists.of(found.indices, n_neighbors), means
    return means


def follow(former: Any, search: Any, gone: IntArray | None = None) -> None:
    """Keep the distances of an updated search: those of the former one, but where lists of neighbours changed.

    Rows were added, or those with the numbers `gone` removed. Added rows enter the lists when these are next needed.
    """
    kept = _kept_for(former)
    if kept is None or not kept.lists:
        return
    with kept.lock:
        known = list(kept.lists.items())
    followed = _Kept()
    for n_neighbors, (lists, means) in known:
        if gone is None:
            followed.lists[n_neighbors] = lists, means
        elif search.n_samples_fit_ > n_neighbors:
            lists, means = _with_added(former, n_neighbors, lists, means)
            new, changed = lists.without(search, gone)
            means = means_after(search, n_neighbors, new, np.delete(means, gone), changed)
            followed.lists[n_neighbors] = new, means
    _KEPT[search] = followed


def _with_added(
    search: Any, n_neighbors: int, lists: TrainingLists, means: FloatArray
) -> tuple[TrainingLists, FloatArray]:
    """Return lists and mean distances with the rows that were added to the search since."""
    if len(lists) == search.n_samples_fit_:
        return lists, means
    new, changed = lists.with_added(search)
    return new, means_after(search, n_neighbors, new, means, changed)


def means_after(
    search: Any, n_neighbors: int, lists: TrainingLists, known: FloatArray, changed: IntArray
) -> FloatArray:
    """Return the mean distances of all rows, from those of the first ones before some lists changed or came."""
    means = np.append(known, np.zeros(len(lists) - len(known)))
    distances = lists.distances_of(search, changed, n_neighbors)
    means[changed] = Neighbors(distances, lists.indices[changed, :n_neighbors]).mean_distances()
    return means


def _kept_for(search: Any) -> _Kept | None:
    """Return the distances of a search, and not of a wrapper around it."""
    try:
        return _KEPT.setdefault(getattr(search, "searched", search), _Kept())
    except TypeError:  # a user's own search that has no hash, or no weak references
        return None


def _begin_child() -> None:
    """Free the locks of threads that a forked child does not have."""
    for kept in _KEPT.values():
        kept.lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)
