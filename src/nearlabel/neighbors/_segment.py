"""Training samples that are searched together. A search has several segments after rows were added or removed.

A segment never changes: adding rows makes another one, removing rows makes one that leaves them out of its results. So
an update of a search is atomic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import sparse

from nearlabel.neighbors._drop_self import drop_self
from nearlabel.neighbors._duplicate_rows import DuplicateRows
from nearlabel.neighbors._result import Result
from nearlabel.utils.types import BoolArray, IntArray, Matrix

_MORE = 4  # additional neighbours that are requested, at first, in the place of removed ones


class Engine(Protocol):
    """An engine finds the nearest of rows that never change."""

    def nearest(self, queries: Matrix | None, k: int, n_jobs: int | None) -> Result:
        """Return ranks and indices (n_queries, k) of the nearest rows; without queries, of each row without itself."""
        ...


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Rows, and which of them have not been removed since.

    Parameters
    ----------
    rows : ndarray or CSR of shape (n_distinct, n_features)
        The rows or, with `duplicates`, the first of equal ones.
    duplicates : DuplicateRows, default=None
        Which rows are equal, if that is known.
    kept : ndarray of int of shape (n_kept,), default=None
        Numbers of the rows that were not removed, ascending. None: all rows.
    """

    rows: Matrix
    duplicates: DuplicateRows | None = None
    kept: IntArray | None = None

    def __len__(self) -> int:
        """Return the number of rows that were not removed."""
        return self.n_rows if self.kept is None else len(self.kept)

    @property
    def n_rows(self) -> int:
        """The number of rows, removed ones too."""
        n_rows: int = self.rows.shape[0] if self.duplicates is None else len(self.duplicates.group_of)
        return n_rows

    def take(self, places: IntArray | slice) -> Matrix:
        """Return some rows, by their places among the remaining ones."""
        return self.rows[self.stored_at(places)]

    def stored_at(self, places: IntArray | slice) -> IntArray | slice:
        """Return where in `rows` some rows are, by their places among the remaining ones."""
        numbers = places if self.kept is None else self.kept[places]
        return numbers if self.duplicates is None else self.duplicates.group_of[numbers]

    def all_rows(self) -> Matrix:
        """Return the remaining rows: the array itself where no row was removed and none is known to be equal."""
        return self.rows if self.kept is None and self.duplicates is None else self.take(slice(None))


@dataclass(frozen=True, eq=False)
class Segment(KeptRows):
    """Rows that are searched together, with the engine that searches in them."""

    engine: Engine = field(kw_only=True)

    def without(self, places: IntArray) -> Segment:
        """Return the segment without some of its rows, by their places among the remaining ones."""
        kept = np.arange(self.n_rows) if self.kept is None else self.kept
        return replace(self, kept=np.delete(kept, places))

    def nearest(self, queries: Matrix, k: int, n_jobs: int | None) -> Result:
        """Return ranks and places (n_queries, k) of the nearest remaining rows; all of them if there are fewer."""
        k = min(k, len(self))
        if self.kept is None:
            return self._search(queries, k, n_jobs)
        result, left, more = Result.empty(queries.shape[0], k), np.arange(queries.shape[0]), _MORE
        while len(left):
            wanted = min(k + more, self.n_rows)
            found = self._search(queries if len(left) == queries.shape[0] else queries[left], wanted, n_jobs)
            places = self._place_of[found.indices]
            first = np.argsort(places < 0, axis=1, kind="stable")[:, :k]
            places = np.take_along_axis(places, first, axis=1)
            result.ranks[left], result.indices[left] = np.take_along_axis(found.ranks, first, axis=1), places
            left, more = left[(places < 0).any(axis=1)], more * _MORE
        return result

    def leave_one_out(self, k: int, n_jobs: int | None) -> Result:
        """Return ranks and numbers of the rows nearest to each row, without itself; no row must have been removed."""
        if self.duplicates is None:
            return self.engine.nearest(None, k, n_jobs)
        # One list for each group of equal rows; then one for each row.
        ranks, indices = self._search(self.rows, k + 1, n_jobs)
        group_of = self.duplicates.group_of
        return Result(*drop_self(ranks[group_of], indices[group_of], np.arange(len(group_of))))

    def _search(self, queries: Matrix, k: int, n_jobs: int | None) -> Result:
        """Return ranks and numbers (n_queries, k) of the nearest rows, removed ones too."""
        if self.duplicates is None:
            return self.engine.nearest(queries, k, n_jobs)
        ranks, groups = self.engine.nearest(queries, min(k, self.rows.shape[0]), n_jobs)
        return Result(*self.duplicates.expand(ranks, groups, k))

    @cached_property
    def _place_of(self) -> IntArray:
        """The place of each row among the remaining ones; -1 of removed ones."""
        places = np.full(self.n_rows, -1)
        places[self.kept] = np.arange(len(self))
        return places


def first_numbers(segments: Sequence[KeptRows]) -> IntArray:
    """Return the number of each segment's first row in the whole search, and last the number of all rows."""
    return np.append(0, np.cumsum([len(segment) for segment in segments]))


def nearest_of_all(segments: Sequence[Segment], queries: Matrix, k: int, n_jobs: int | None) -> Result:
    """Return ranks and numbers (n_queries, k) of the nearest rows of all segments."""
    if len(segments) == 1:
        return segments[0].nearest(queries, k, n_jobs)
    found = [segment.nearest(queries, k, n_jobs) for segment in segments]
    numbered = [(some.ranks, some.indices + first) for some, first in zip(found, first_numbers(segments), strict=False)]
    return merged(numbered, k)


def merged(results: Sequence[tuple[Matrix, IntArray]], k: int) -> Result:
    """Return the k of least (rank, index) of several results."""
    ranks, indices = (np.hstack(arrays) for arrays in zip(*results, strict=True))
    best = np.lexsort((indices, ranks))[:, :k]
    return Result(np.take_along_axis(ranks, best, axis=1), np.take_along_axis(indices, best, axis=1))


def take_of_all(segments: Sequence[KeptRows], numbers: IntArray) -> Matrix:
    """Return rows of all segments by their numbers, in that order."""
    if not len(numbers):
        return segments[0].take(slice(0, 0))
    first = first_numbers(segments)
    of_segment = np.searchsorted(first, numbers, side="right") - 1
    parts, order = [], []
    for place, segment in enumerate(segments):
        mine = np.flatnonzero(of_segment == place)
        if len(mine):
            parts.append(segment.take(numbers[mine] - first[place]))
            order.append(mine)
    rows = stacked(parts)
    return rows if len(parts) == 1 else rows[np.argsort(np.concatenate(order))]


def without_some(segments: Sequence[Segment], gone: BoolArray) -> list[Segment]:
    """Return the segments without the rows that a mask marks; a segment that loses all rows is left out."""
    left = []
    first = first_numbers(segments)
    for place, segment in enumerate(segments):
        places = np.flatnonzero(gone[first[place] : first[place + 1]])
        if len(places) < len(segment):
            left.append(segment.without(places) if len(places) else segment)
    return left


def stacked(parts: Sequence[Matrix]) -> Matrix:
    """Return rows below each other; a single part is returned unchanged."""
    if len(parts) == 1:
        return parts[0]
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)
