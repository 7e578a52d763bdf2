"""Training samples in segments that are searched together, ranks of their pairs, and updated lists of neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

import numpy as np
from scipy import sparse

from nearlabel.neighbors.exact._candidates import DuplicateRows, Result, drop_self, keep_best
from nearlabel.neighbors.exact._distances import Distance, PointDistance, TreeDistance
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import bytes_per_row, canonical, row_blocks, stacked

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

    def leave_one_out(self, k: int, n_jobs: int | None, distance: Distance) -> Result:
        """Return ranks and numbers of the rows nearest to each row, without itself; no row must have been removed."""
        n_groups = self.rows.shape[0]
        if self.duplicates is None:
            return self.engine.nearest(None, k, n_jobs)
        # One list for each group of equal rows, of which it is one itself; then one for each row.
        own, first = np.arange(n_groups), self.duplicates.first
        found = [(ranks_of([self], distance, first, first)[:, np.newaxis], own[:, np.newaxis])]
        if n_groups > 1:
            found.append(self.engine.nearest(None, min(k, n_groups - 1), n_jobs))
        ranks, indices = self.duplicates.expand(*merged(found, min(k + 1, n_groups)), k + 1)
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


def stored_alike(X: Matrix, *, as_sparse: bool) -> Matrix:
    """Return rows as sparse or dense as others are."""
    if sparse.issparse(X) == as_sparse:
        return X
    return sparse.csr_array(X) if as_sparse else X.toarray()


def as_rows(X: Matrix) -> Matrix:
    """Return rows of float32 or float64, sparse ones as a canonical CSR array; copy only where they are not."""
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if not sparse.issparse(X):
        return np.asarray(X)
    return canonical(sparse.csr_array(X))


# Ranks of chosen pairs of training samples, which may be in several segments: for lists that are updated with rows.

_FEW = 4  # new samples, to which all distances are summed, since a search would cost more
_BYTES_AT_A_TIME = 2**22  # of rows, which are copied where some between them were removed
# New samples to search for, and how many times as many where all that are found are within reach.
_FIRST, _GROWTH = 2, 8


Search: TypeAlias = Callable[[Matrix, int], Result]  # ranks and indices of the k rows nearest to queries


class RankedPairs(NamedTuple):
    """Pairs of rows, with the rank of the second as a neighbour of the first; sorted by the first."""

    row: IntArray
    other: IntArray
    rank: FloatArray

    @classmethod
    def joined(cls, parts: Sequence[RankedPairs]) -> Self:
        """Return the pairs of all parts, one after the other."""
        return cls(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def ranks_of(segments: Sequence[KeptRows], distance: Distance, rows: IntArray, others: IntArray) -> FloatArray:
    """Return the rank of each of `others` as a neighbour of that of `rows`, which are sorted."""
    ranks = np.empty(len(rows))
    for block in row_blocks(len(rows), bytes_per_row(segments[0].rows)):
        distinct, query = np.unique(rows[block], return_inverse=True)
        left, of_block = take_of_all(segments, distinct), ranks[block]
        for first, segment in zip(first_numbers(segments), segments, strict=False):
            mine = np.flatnonzero((others[block] >= first) & (others[block] < first + len(segment)))
            if len(mine):
                numbers = segment.stored_at(others[block][mine] - first)
                of_block[mine] = _ranks(distance, left, segment.rows, query[mine], numbers)
    return ranks


def pairs_within(
    segments: Sequence[KeptRows],
    distance: Distance,
    new: Matrix,
    search: Callable[[], Search],
    reach: FloatArray,
) -> RankedPairs:
    """Return the pairs of one of the first rows, as many as have a reach, and an added row whose rank is below it.

    `search` gives the engine that searches in the added rows, for which the others are queries; sums are faster for few
    rows.
    """
    if new.shape[0] <= _FEW and isinstance(distance, PointDistance | TreeDistance):
        within: Callable[[Matrix, FloatArray], RankedPairs] = partial(_summed_within, distance, new)
    else:
        within = partial(_found_within, search(), new.shape[0])
    parts = []
    for first, segment in zip(first_numbers(segments), segments, strict=False):
        for block in row_blocks(min(len(segment), len(reach) - first), bytes_per_row(segment.rows), _BYTES_AT_A_TIME):
            start, stop = first + block.start, first + block.stop
            near = within(segment.take(block), reach[start:stop])
            parts.append(near._replace(row=near.row + start))
    return RankedPairs.joined(parts)


def _summed_within(
    distance: PointDistance | TreeDistance, rows: Matrix, queries: Matrix, reach: FloatArray
) -> RankedPairs:
    query, row = np.divmod(np.arange(queries.shape[0] * rows.shape[0]), rows.shape[0])
    ranks = distance.ranks(queries, rows, (query, row))
    near = ranks < reach[query]
    return RankedPairs(query[near], row[near], ranks[near])


def _found_within(search: Search, n_rows: int, queries: Matrix, reach: FloatArray) -> RankedPairs:
    """Search for more and more rows nearest to each query, until the last is not within its reach."""
    left, k, parts = np.arange(len(reach)), min(_FIRST, n_rows), []
    while len(left):
        found = search(queries if len(left) == len(reach) else queries[left], k)
        near = found.ranks < reach[left, np.newaxis]
        unknown = near[:, -1] & (k < n_rows)
        query, place = np.nonzero(near & ~unknown[:, np.newaxis])
        parts.append(RankedPairs(left[query], found.indices[query, place], found.ranks[query, place]))
        left, k = left[unknown], min(_GROWTH * k, n_rows)
    pairs = RankedPairs.joined(parts)
    order = np.argsort(pairs.row, kind="stable")
    return RankedPairs(pairs.row[order], pairs.other[order], pairs.rank[order])


def _ranks(distance: Distance, left: Matrix, right: Matrix, query: IntArray, row: Any) -> FloatArray:
    if isinstance(distance, PointDistance | TreeDistance):
        return distance.ranks(left, right, (query, row))
    distance.fit(right)
    ranks = np.empty(len(query))
    # Other distances have ranks for all pairs of a tile only: each query is one, with its own rows.
    for mine in np.split(np.arange(len(query)), np.flatnonzero(np.diff(query)) + 1):
        if len(mine):
            tile = distance.tile(distance.prepare(left[query[mine[:1]]]), distance.prepare(right[row[mine]]))
            ranks[mine] = tile.refine(np.zeros_like(mine), np.arange(len(mine)))
    return ranks


# The neighbours of the training samples, updated when rows are added and removed.
#
# An added row enters the list of an older row if it is strictly nearer than the end of the known list: if distances
# are equal the older row, which has the smaller number, comes first. A removed row leaves the lists that it is in;
# these get shorter, and are searched for again once too little is left. So each list is the one that a search among
# the present rows finds, or the first part of it.

RESERVE = 5  # neighbours beyond the needed ones: this many may be removed before a row is searched for again
NONE = -1
_SEARCHED_AGAIN = 8  # if one row in this many is added, all are searched for again: most old rows change, too
_PAIRS_AT_A_TIME = 2**20


@dataclass(eq=False)
class TrainingLists:
    """The nearest neighbours of each training sample, without itself.

    Parameters
    ----------
    needed : int
        How many neighbours of each row must be known, if there are as many other rows.
    indices : ndarray of int of shape (n_samples, width)
        Nearest first; -1 after the last known one. The type is the smallest possible, at least int32.
    lengths : ndarray of int of shape (n_samples,)
        How many are known.
    distances : ndarray of shape (n_samples, width), default=None
        To these neighbours, if they are needed.
    reach : ndarray of shape (n_samples,), default=None
        A list has all rows of a smaller rank than this. None: to its last entry.
    """

    needed: int
    indices: IntArray
    lengths: IntArray
    distances: FloatArray | None = None
    reach: FloatArray | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.indices)

    @classmethod
    def of(cls, indices: IntArray, needed: int, distances: FloatArray | None = None) -> TrainingLists:
        """Return lists of which all entries are known."""
        n_samples, n_known = indices.shape
        return cls(needed, indices.astype(cls.type_for(n_samples)), np.full(n_samples, n_known), distances)

    @staticmethod
    def type_for(n_samples: int) -> np.dtype[Any]:
        """Return the type of the row numbers in lists."""
        return np.result_type(np.int32, np.min_scalar_type(-n_samples))

    def with_added(self, search: Any) -> tuple[TrainingLists, IntArray]:
        """Return the lists after rows were added to the search, and the rows whose lists are new or changed."""
        n_old, n = len(self), search.n_samples_fit_
        if search.takes_metric_from_rows or (n - n_old) * _SEARCHED_AGAIN > n_old:
            return self._searched_again(search), np.arange(n)
        lists = self._with_room(n, self._known_reach(search))
        changed = lists._enter(search, search.pairs_within(n_old, lists.reach))
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
        distances, indices = search.kneighbors(None, width)
        return TrainingLists.of(indices, self.needed, None if self.distances is None else distances)

    def _known_reach(self, search: Any) -> FloatArray:
        """Return how far each list is complete: to its last entry; beyond all rows if it has all others."""
        if self.reach is not None:
            return self.reach
        reach = np.full(len(self), np.inf)
        some = np.flatnonzero(self.lengths < len(self) - 1)
        reach[some] = search.ranks(some, self.indices[some, self.lengths[some] - 1])
        return reach

    def _at(self, rows: IntArray) -> TrainingLists:
        """Return a copy with the lists of some rows."""
        distances, reach = (None if part is None else part[rows] for part in (self.distances, self.reach))
        return TrainingLists(self.needed, self.indices[rows], self.lengths[rows], distances, reach)

    def _with_room(self, n_samples: int, reach: FloatArray) -> TrainingLists:
        """Return a copy with empty lists for rows that were added, and room for the reserve."""
        n_old, width = self.indices.shape
        shape = n_samples, max(width, self.needed + RESERVE)
        indices, distances = np.full(shape, NONE, dtype=self.type_for(n_samples)), None
        indices[:n_old, :width] = self.indices
        if self.distances is not None:
            distances = np.full(shape, np.inf)
            distances[:n_old, :width] = self.distances
        nothing = np.zeros(n_samples - n_old, dtype=np.intp)
        lengths, reach = np.append(self.lengths, nothing), np.append(reach, nothing)
        return TrainingLists(self.needed, indices, lengths, distances, reach)

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
        if self.reach is not None:
            rows = rows[np.isfinite(self.reach[rows])]
            self.reach[rows] = search.ranks(rows, self.indices[rows, self.lengths[rows] - 1])

    def _set_reach(self, rows: IntArray, reach: FloatArray) -> None:
        if self.reach is not None:
            self.reach[rows] = reach
