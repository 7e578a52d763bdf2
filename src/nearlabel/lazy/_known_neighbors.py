"""Neighbours among the rows that know a label, for many labels from one search.

Every query has one list, deep enough that it usually contains k rows that know any one label; each label walks it to
the k-th. Queries whose list is too short are searched for again, with the same result as from the known rows alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nearlabel.neighbors import drop_self
from nearlabel.neighbors.votes import Neighbors, fitted_search
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import row_blocks

_LEAST_SHARE = 1 / 8  # labels that fewer rows know are searched for on those rows: lists would be too deep
_DEVIATIONS = 6  # by which lists are deeper than needed on average
_FEW_QUERIES, _DEEPER = 64, 8  # this many are searched for again with lists this many times as deep as their mean


def depth_for(shares: FloatArray, n_neighbors: int) -> int:
    """Return the length of lists that usually contain k rows that know a label, for the share of rows that know each.

    Where a row knows it with probability p, independently, the k-th such row has a place of mean k / p and variance
    k (1 - p) / p². A few deviations more leave little to search for again.
    """
    p = min(shares[shares >= _LEAST_SHARE], default=1.0)
    return int(np.ceil((n_neighbors + _DEVIATIONS * np.sqrt(n_neighbors * (1 - p))) / p))


@dataclass(frozen=True, eq=False)
class KnownNeighbors:
    """Neighbours of some queries among any part of the training samples, from one list of each query."""

    search: CommonSearch
    rows: Matrix  # the queries
    lists: Neighbors  # of them, among all training samples

    def __len__(self) -> int:
        return len(self.lists.indices)

    def among(self, known: BoolArray, n_neighbors: int, some: IntArray | None = None) -> Neighbors:
        """Return the nearest of the training samples in a mask (n_samples,), for all queries or for some."""
        if known.all() and n_neighbors <= self.lists.indices.shape[1]:
            nearest = self.lists.nearest(n_neighbors)
            return nearest if some is None else nearest[some]
        some = np.arange(len(self)) if some is None else some
        found, lacking = _walk(self.lists, some, known, n_neighbors, weighs=self.search.weighs)
        again = np.flatnonzero(lacking)
        if len(again):
            more = self.search.among(self.rows, some[again], known, n_neighbors)
            found.indices[again] = more.indices
            if self.search.weighs:
                found.distances[again] = more.distances
        return found


@dataclass(frozen=True, eq=False)
class CommonSearch:
    """The search for all labels: its lists are walked, or rows that know a label are searched by themselves."""

    fitted: Any
    unfitted: Any
    X: Matrix
    of_training: bool  # queries are training samples, each without itself
    weighs: bool  # whether distances are read

    def among(self, rows: Matrix, some: IntArray, known: BoolArray, n_neighbors: int) -> Neighbors:
        """Return the neighbours of some queries among the rows in a mask."""
        numbers = np.flatnonzero(known)
        if hasattr(self.fitted, "n_neighbors_known"):
            raise ValueError(
                f"search must know {n_neighbors} neighbours of each sample among those with a known label, and knows"
                " fewer. Hint: precompute more; with a share p of known cells about n_neighbors / p are needed."
            )
        if getattr(self.fitted, "needs_all_rows", False):
            return self._among_all(rows, some, known, n_neighbors)
        if len(some) > _FEW_QUERIES:
            return self._among_alone(rows, some, numbers, n_neighbors)
        depth = min(_DEEPER * n_neighbors * len(known) // len(numbers), len(known) - self.of_training)
        lists = self._asked(self.fitted, rows[some], some, depth, len(known))
        deep, lacking = _walk(lists, np.arange(len(some)), known, n_neighbors, weighs=True)
        again = np.flatnonzero(lacking)
        if len(again):
            more = self._among_alone(rows, some[again], numbers, n_neighbors)
            deep.indices[again], deep.distances[again] = more.indices, more.distances
        return deep

    def _among_all(self, rows: Matrix, some: IntArray, known: BoolArray, n_neighbors: int) -> Neighbors:
        """Order all training samples, for a search whose distances would change if it were fitted to a part of them."""
        distances, indices = np.empty((len(some), n_neighbors)), np.empty((len(some), n_neighbors), dtype=np.intp)
        for block in row_blocks(len(some), 32 * len(known)):
            own = some[block]
            lists = self._asked(self.fitted, rows[own], own, len(known) - self.of_training, len(known))
            found, _ = _walk(lists, np.arange(len(own)), known, n_neighbors, weighs=True)
            distances[block], indices[block] = found.distances, found.indices
        return Neighbors(distances, indices)

    def _among_alone(self, rows: Matrix, some: IntArray, known: IntArray, n_neighbors: int) -> Neighbors:
        """Search on the rows that know a label alone, given by their numbers."""
        search = fitted_search(self.unfitted, self.X[known])
        place = np.searchsorted(known, some)  # of a training sample among those that know the label, if it does
        own = np.where(known[np.minimum(place, len(known) - 1)] == some, place, -1)
        found = self._asked(search, rows[some], own, n_neighbors, len(known))
        return Neighbors(found.distances, known[found.indices])

    def _asked(self, search: Any, rows: Matrix, own: IntArray, n_neighbors: int, n_searched: int) -> Neighbors:
        """Return the neighbours of queries by a search of n_searched rows, a training sample without its own number."""
        one_more = self.of_training and n_neighbors < n_searched
        distances, indices = search.kneighbors(rows, n_neighbors + int(one_more))
        return Neighbors(*drop_self(distances, indices, own)) if one_more else Neighbors(distances, indices)


def _walk(
    lists: Neighbors, some: IntArray, known: BoolArray, n_neighbors: int, *, weighs: bool
) -> tuple[Neighbors, BoolArray]:
    """Return the first known rows of some lists, and which lists have fewer: the rows of those are meaningless.

    Distances are 0 unless they weigh votes.
    """
    shape, depth = (len(some), n_neighbors), lists.indices.shape[1]
    distances = np.empty(shape) if weighs else np.broadcast_to(0.0, shape)
    indices, lacking = np.empty(shape, dtype=np.intp), np.empty(len(some), dtype=np.bool_)
    for block in row_blocks(len(some), 32 * max(depth, n_neighbors)):
        rows = lists.indices[some[block]]
        places, lacking[block] = _first_known(known[rows], n_neighbors)
        indices[block] = rows.take(places)
        if weighs:
            distances[block] = lists.distances[some[block]].take(places)
    return Neighbors(distances, indices), lacking


def _first_known(known: BoolArray, n: int) -> tuple[IntArray, BoolArray]:
    """Return flat places of the first n known cells of each row, and which rows have fewer: theirs are meaningless."""
    found = known.sum(axis=1)
    first = np.cumsum(found) - found
    places = np.append(np.flatnonzero(known), 0)
    return places[np.minimum(first[:, np.newaxis] + np.arange(n), len(places) - 1)], found < n
