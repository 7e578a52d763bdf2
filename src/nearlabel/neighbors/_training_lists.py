"""The neighbours of the training samples, updated when rows are added and removed.

An added row enters the list of an older row if it is strictly nearer than the end of the known list: if distances are
equal the older row, which has the smaller number, comes first. A removed row leaves the lists that it is in; these get
shorter, and are searched for again once too little is left. So each list is the one that a search among the present
rows finds, or the first part of it.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from nearlabel.neighbors._bounds_search import keep_best
from nearlabel.neighbors._drop_self import drop_self
from nearlabel.neighbors._pair_ranks import RankedPairs
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import FloatArray, IntArray

RESERVE = 5  # neighbours beyond the needed ones: this many may be removed before a row is searched for again
NONE = -1
_SEARCHED_AGAIN = 8  # if one row in this many is added, all are searched for again: most old rows change, too
_PAIRS_AT_A_TIME = 2**20


class TrainingLists:
    """The nearest neighbours of each training sample, without itself.

    Parameters
    ----------
    distances, indices : ndarray of shape (n_samples, n_known)
        The result of the search for its own rows.
    needed : int
        How many neighbours of each row must be known, if there are as many other rows.
    keep_distances : bool
        Whether distances are needed.

    Attributes
    ----------
    indices : ndarray of int of shape (n_samples, width)
        Nearest first; -1 after the last known one.
    lengths : ndarray of int of shape (n_samples,)
        How many are known.
    distances : ndarray of shape (n_samples, width) or None
        To these neighbours.
    """

    def __init__(self, distances: FloatArray, indices: IntArray, needed: int, *, keep_distances: bool) -> None:
        n_samples, n_known = indices.shape
        self.needed = needed
        self.indices = indices.astype(np.result_type(np.int32, np.min_scalar_type(-n_samples)))
        self.lengths = np.full(n_samples, n_known)
        self.distances = distances if keep_distances else None
        self._reach: FloatArray | None = None  # a list has all rows of a smaller rank than this

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.indices)

    def with_added(self, search: Any) -> tuple[TrainingLists, IntArray]:
        """Return the lists after rows were added to the search, and the rows whose lists are new or changed."""
        n_old, n = len(self), search.n_samples_fit_
        if search.takes_metric_from_rows or (n - n_old) * _SEARCHED_AGAIN > n_old:
            return self._searched_again(search), np.arange(n)
        lists = self._with_room(n, self._known_reach(search))
        changed = lists._enter(search, search.pairs_within(n_old, lists._reach))
        lists._search(search, np.arange(n_old, n))
        return lists, np.append(changed, np.arange(n_old, n))

    def without(self, search: Any, gone: IntArray) -> tuple[TrainingLists, IntArray]:
        """Return the lists after rows were removed from the search, and the rows, renumbered, whose lists changed.

        `gone` are the numbers that the removed rows had.
        """
        left = np.delete(np.arange(len(self)), gone)
        if search.takes_metric_from_rows:
            return self._searched_again(search), np.arange(len(left))
        number = np.full(len(self) + 1, NONE, dtype=self.indices.dtype)  # the last entry is that of NONE
        number[left] = np.arange(len(left))
        lists = self._at(left)
        lists.indices = number[lists.indices]
        known = (lists.indices != NONE).sum(axis=1)
        changed = np.flatnonzero(known < lists.lengths)
        lists.lengths = known
        order = np.argsort(lists.indices[changed] == NONE, axis=1, kind="stable")
        lists.indices[changed] = np.take_along_axis(lists.indices[changed], order, axis=1)
        if lists.distances is not None:
            lists.distances[changed] = np.take_along_axis(lists.distances[changed], order, axis=1)
            lists.distances[lists.indices == NONE] = np.inf
        lists._shorten_reach(search, changed[known[changed] > 0])
        lists._search(search, np.flatnonzero(known < min(self.needed, len(left) - 1)))
        return lists, changed

    def distances_of(self, search: Any, rows: IntArray, k: int) -> FloatArray:
        """Return the distances (n_rows, k) of some rows to their first k neighbours, all of which are known."""
        if self.distances is not None:
            return np.asarray(self.distances[rows, :k])
        ranks = search.ranks(np.repeat(rows, k), self.indices[rows, :k].ravel())
        return np.asarray(search.distance.to_distance(ranks).reshape(len(rows), k))

    def _searched_again(self, search: Any) -> TrainingLists:
        width = min(self.needed + RESERVE, search.n_samples_fit_ - 1)
        keep = self.distances is not None
        distances, indices = search.kneighbors(None, width)
        return TrainingLists(distances, indices, self.needed, keep_distances=keep)

    def _known_reach(self, search: Any) -> FloatArray:
        """Return how far each list is complete: to its last entry; beyond all rows if it has all others."""
        if self._reach is not None:
            return self._reach
        reach = np.full(len(self), np.inf)
        some = np.flatnonzero(self.lengths < len(self) - 1)
        reach[some] = search.ranks(some, self.indices[some, self.lengths[some] - 1])
        return reach

    def _at(self, rows: IntArray) -> TrainingLists:
        """Return a copy with the lists of some rows."""
        lists = copy(self)
        lists.indices, lists.lengths = self.indices[rows], self.lengths[rows]
        lists.distances = None if self.distances is None else self.distances[rows]
        lists._reach = None if self._reach is None else self._reach[rows]
        return lists

    def _with_room(self, n_samples: int, reach: FloatArray) -> TrainingLists:
        """Return a copy with empty lists for rows that were added, and room for the reserve."""
        lists, (n_old, width) = copy(self), self.indices.shape
        shape = n_samples, max(width, self.needed + RESERVE)
        dtype = np.result_type(self.indices.dtype, np.min_scalar_type(-n_samples))
        lists.indices = np.full(shape, NONE, dtype=dtype)
        lists.indices[:n_old, :width] = self.indices
        if self.distances is not None:
            lists.distances = np.full(shape, np.inf)
            lists.distances[:n_old, :width] = self.distances
        nothing = np.zeros(n_samples - n_old, dtype=np.intp)
        lists.lengths, lists._reach = np.append(self.lengths, nothing), np.append(reach, nothing)
        return lists

    def _enter(self, search: Any, near: RankedPairs) -> IntArray:
        """Write added rows into the lists that they are near enough for; return the rows of these lists."""
        rows, query, counts = np.unique(near.row, return_inverse=True, return_counts=True)
        place, entry = np.nonzero(np.arange(self.indices.shape[1]) < self.lengths[rows, np.newaxis])
        ranks = np.full((len(rows), self.indices.shape[1]), np.inf)
        ranks[place, entry] = search.ranks(rows[place], self.indices[rows[place], entry])
        ranks, indices = keep_best(ranks, self.indices[rows], query, near.rank, near.other)
        lengths = self.lengths[rows] + counts
        cut = lengths > ranks.shape[1]
        self._write(search, rows, ranks, indices, np.minimum(lengths, ranks.shape[1]))
        self._set_reach(rows[cut], ranks[cut, -1])
        return rows

    def _search(self, search: Any, rows: IntArray) -> None:
        """Search for the neighbours of some training samples, and replace their lists."""
        k = min(self.indices.shape[1], len(self) - 1)
        for block in row_blocks(len(rows), k, _PAIRS_AT_A_TIME):
            some = rows[block]
            distances, indices = search.kneighbors(search.take(some), k + 1)
            found = drop_self(distances, indices, some)[1]
            ranks = search.ranks(np.repeat(some, k), found.ravel()).reshape(len(some), k)
            self._write(search, some, ranks, found, np.full(len(some), k))
            self._set_reach(some, ranks[:, -1] if k < len(self) - 1 else np.full(len(some), np.inf))

    def _write(self, search: Any, rows: IntArray, ranks: FloatArray, indices: IntArray, lengths: IntArray) -> None:
        """Replace the lists of some rows."""
        self.indices[rows], self.lengths[rows] = NONE, lengths
        self.indices[rows, : indices.shape[1]] = indices
        if self.distances is not None:
            self.distances[rows] = np.inf
            self.distances[rows, : ranks.shape[1]] = search.distance.to_distance(ranks)

    def _shorten_reach(self, search: Any, rows: IntArray) -> None:
        """Let lists reach no farther than their last entry: no distance to a removed row may stay."""
        if self._reach is not None:
            rows = rows[np.isfinite(self._reach[rows])]
            self._reach[rows] = search.ranks(rows, self.indices[rows, self.lengths[rows] - 1])

    def _set_reach(self, rows: IntArray, reach: FloatArray) -> None:
        if self._reach is not None:
            self._reach[rows] = reach
