"""The search panel by panel, with the result of a float64 search; queries and panels are compared in one of two ways.

1. A comparison of queries with a panel of rows gives all squared distances roughly, each with a proven bound on its
   error: by products in single precision (`_gemm_search.py`) or by a compiled kernel (`_kernel_search.py`).
2. The bounds leave a few candidates for each query.
3. Their distances are summed in float64, feature by feature (`_distances.py`), and sorted by (distance, index).
4. A query with too many candidates is unresolved: float64 bounds on all rows find its neighbours (`_bounds_search.py`).

For training samples without queries, the comparison of two panels serves both: |r - q|² is |q - r|².
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearlabel.neighbors.exact import _candidates
from nearlabel.neighbors.exact._candidates import Candidates, Result, Share
from nearlabel.neighbors.exact._panels import Build, Points
from nearlabel.utils.types import BoolArray, Float32Array, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import row_blocks

_FEW_PAIRS, _NUMBERS_OF_FEW = 1000, 2**17  # up to these, all pairs are ranked in float64: the fewest calls
QUERIES_PER_TILE = 1000  # not a power of two, which would map the rows of a product to the same lines of the cache
_TILES_PER_BLOCK = 32  # whose queries are sorted by nearest panel, so that queries near each other share a tile
_BYTES_OF_BOUNDS = 2**24
_COMPLETED_AT_A_TIME = 2  # panels of a group that are compared with all others before the next ones are
_PANELS_PER_GROUP = 32  # whose candidates are in memory at a time, and whose comparisons serve both panels
_MOST_PER_NEIGHBOR, _MOST_AT_LEAST = 16, 256  # candidates of a query, before float64 bounds take over
_LEAST_PER_NEIGHBOR, _LEAST_AT_LEAST = 3, 24

Fallback: TypeAlias = Callable[..., None]  # `BoundsSearch.write`, for queries that single precision cannot resolve


class Parts(NamedTuple):
    """What a search is made of: rows, their distance, the search for unresolved queries, and the number of threads."""

    X: Matrix
    distance: Points
    fallback: Fallback
    n_jobs: int | None


@dataclass
class QueryPanel:
    """A panel whose rows are the queries, with their candidates and lower bounds on distances to its group's panels.

    `lower` (n_panels of the group, n_rows) are `_shortened`. Two threads may write to the same lists, so each takes the
    lock. `n_left` is the number of panels of the group that it has not been compared with; `factor` is for the search's
    own use.
    """

    number: int
    panel: Any
    lists: Any
    group: range
    lower: NDArray[np.uint16]
    numbers: IntArray  # the indices of the rows
    n_left: int
    lock: Lock = field(default_factory=Lock)
    factor: Any = None


class PanelSearch(ABC):
    """Find candidates panel by panel and order them by their ranks in float64."""

    _panels: Any  # `DensePanels` or others with whole, n_panels, bounded, panel, lower_bounds, is_whole, as_ranks

    def __init__(self, parts: Parts, panels: Any = None) -> None:
        self._parts = parts
        self._X, self._distance, self._fallback, n_jobs = parts
        blank = self._distance.blank(self._X) if panels is None else panels.blank()
        self._blank, self._pointed = np.flatnonzero(blank), np.flatnonzero(~blank)
        if panels is not None:
            self._panels = panels
        elif len(self._pointed) > 1:  # no progress: fast compared with a search, whose progress would begin at the end
            self._panels = self._make_panels(partial(_candidates.in_threads, n_jobs, share=None))

    @abstractmethod
    def _make_panels(self, build: Build) -> Any:
        """Store the rows that have points in panels."""

    @abstractmethod
    def _new_lists(self, n_queries: int, n_neighbors: int, *, exact: bool, room: Any = None) -> Any:
        """Return empty lists of candidates, in a room that they share with others."""

    def _new_room(self, n_panels: int, n_neighbors: int) -> Any:
        """Return the memory that the lists of a group of panels share, None if they share none."""
        return None

    @abstractmethod
    def _tile(self, rows: Matrix, own: IntArray | None, lists: Any) -> Any:
        """Return queries with their lists; `own` are their numbers, where they are training samples."""

    @abstractmethod
    def _compare_tile(self, tile: Any, number: int, takes: BoolArray) -> None:
        """Find candidates in a panel for the queries of a tile that `takes` marks."""

    @abstractmethod
    def _compare_rows(self, member: QueryPanel, number: int, takes: BoolArray) -> None:
        """Find candidates in a panel for the rows of a panel that `takes` marks; no row is a candidate for itself."""

    @abstractmethod
    def _compare_both(self, one: QueryPanel, other: QueryPanel) -> None:
        """Find candidates for the rows of two panels in each other, by one comparison; take their locks."""

    def _queries_per_tile(self) -> int:
        """Return the most queries that are compared with a panel at once."""
        return QUERIES_PER_TILE

    def nearest(self, queries: Matrix | None, k: int, n_jobs: int | None) -> Result:
        """Return ranks and indices (n_queries, k) of the nearest rows; without queries, of each row without itself."""
        X = self._X if queries is None else queries
        n_pairs = X.shape[0] * self._X.shape[0]
        if n_pairs <= _FEW_PAIRS and n_pairs * X.shape[1] <= _NUMBERS_OF_FEW:
            return self._ranked(X, k, drop_self=queries is None)
        result = Result.empty(X.shape[0], k)
        if len(self._pointed) < 2:
            self._fallback(X, np.arange(X.shape[0]), result, n_jobs, drop_self=queries is None)
            return result
        unresolved = self._search_rows(result, n_jobs) if queries is None else self._search_queries(X, result, n_jobs)
        if len(unresolved):
            self._resolve(X, unresolved, result, n_jobs, drop_self=queries is None)
        return result

    def _resolve(self, X: Matrix, numbers: IntArray, result: Result, n_jobs: int | None, *, drop_self: bool) -> None:
        """Write the result of queries that single precision cannot resolve."""
        self._fallback(X, numbers, result, n_jobs, drop_self=drop_self)

    def _ranked(self, X: Matrix, k: int, *, drop_self: bool) -> Result:
        """Rank all pairs in float64."""
        self._distance.prepare(X)  # raises where the squared norm of a query overflows
        pairs = np.divmod(np.arange(X.shape[0] * self._X.shape[0]), self._X.shape[0])
        ranks = self._distance.ranks(X, self._X, pairs).reshape(X.shape[0], -1)
        if drop_self:
            np.fill_diagonal(ranks, np.inf)
        nearest = np.argsort(ranks, axis=1, kind="stable")[:, :k]
        return Result(np.take_along_axis(ranks, nearest, axis=1), nearest)

    def _search_queries(self, X: Matrix, result: Result, n_jobs: int | None) -> IntArray:
        """Search for queries tile by tile; return the unresolved ones."""
        blank = self._distance.blank(X)
        if blank.any():
            self._write_blank(np.flatnonzero(blank), result)
        return self._search_in_tiles(X, np.flatnonzero(~blank), result, n_jobs)

    def _search_in_tiles(
        self, X: Matrix, numbers: IntArray, result: Result, n_jobs: int | None, *, drop_self: bool = False
    ) -> IntArray:
        """Search for the rows of X with these numbers, which have points; return the unresolved ones.

        With `drop_self`, X are the training samples, and no row is its own neighbour.
        """
        unresolved, per_tile, n = [], self._queries_per_tile(), len(numbers)
        n_queries = max(per_tile, min(_TILES_PER_BLOCK * per_tile, _BYTES_OF_BOUNDS // (8 * self._panels.n_panels)))
        for block in row_blocks(n, 1, n_queries):
            tiles = self._tiles(X, numbers[block], per_tile, n_jobs)
            work = [(X, *tile, result, drop_self) for tile in tiles]
            unresolved += _candidates.in_threads(n_jobs, self._search_tile, work, (block.start / n, block.stop / n))
        return _joined(unresolved)

    def _tiles(
        self, X: Matrix, numbers: IntArray, per_tile: int, n_jobs: int | None
    ) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield tiles of queries and lower bounds on their squared distances to the panels."""
        n_panels, tiles = self._panels.n_panels, list(row_blocks(len(numbers), 1, per_tile))
        if not self._panels.bounded:
            for tile in tiles:
                yield numbers[tile], np.broadcast_to(0.0, (len(numbers[tile]), n_panels))
            return
        blocks = [(X, numbers[tile], range(n_panels)) for tile in tiles]
        lower = np.concatenate(_candidates.in_threads(n_jobs, self._lower_bounds, blocks, None))
        order = np.argsort(lower.argmin(axis=1), kind="stable")  # a tile skips more panels if its queries are near
        for tile in tiles:
            yield numbers[order[tile]], lower[order[tile]]

    def _lower_bounds(self, X: Matrix, rows: IntArray, panels: Sequence[int]) -> FloatArray:
        """Return lower bounds on the squared distances of rows of X to panels; zero where panels have no balls."""
        if not self._panels.bounded:
            return np.broadcast_to(0.0, (len(rows), len(panels)))
        return np.asarray(self._panels.lower_bounds(X[rows], panels))

    def _search_tile(
        self, X: Matrix, numbers: IntArray, lower: FloatArray, result: Result, drop_self: bool
    ) -> IntArray:
        """Search for a tile of queries; return the unresolved ones.

        Each query starts with the panel of its least lower bound: this lowers its limit, so that it can skip others.
        """
        rows = X[numbers]
        whole = self._panels.is_whole(rows)
        n_neighbors = min(result.ranks.shape[1], len(self._pointed) - drop_self)
        lists = self._new_lists(len(numbers), n_neighbors, exact=whole)
        tile = self._tile(rows, numbers if drop_self else None, lists)
        in_order = whole or not self._panels.bounded
        first = np.full(len(numbers), -1) if in_order else lower.argmin(axis=1)
        for number in np.unique(first[first >= 0]):
            self._compare_tile(tile, number, first == number)
        lists.panel_seen()
        order = np.arange(lower.shape[1]) if in_order else np.argsort(lower.mean(axis=0), kind="stable")
        self._compare_in_order(
            tile, lists, order, np.where(first[:, np.newaxis] == np.arange(lower.shape[1]), np.inf, lower)
        )
        return self._decide(rows, numbers, lists, result)

    def _compare_in_order(self, tile: Any, lists: Any, order: IntArray, lower: FloatArray) -> None:
        """Find candidates for the queries of a tile in panels, but for those that a query's limit excludes."""
        for number in order:
            takes = lists.limit >= lower[:, number]
            if takes.any():
                self._compare_tile(tile, number, takes)
            lists.panel_seen()

    def _search_rows(self, result: Result, n_jobs: int | None) -> IntArray:
        """Search for the neighbours of the training samples, group by group of panels; return the unresolved rows."""
        if len(self._blank):
            self._write_blank(self._blank, result, drop_self=True)
        n_panels, unresolved = self._panels.n_panels, []
        for group in row_blocks(n_panels, 1, self._panels_per_group(result.ranks.shape[1])):
            share = group.start / n_panels, group.stop / n_panels
            unresolved += self._search_group(range(group.start, group.stop), result, n_jobs, share)
        return _joined(unresolved)

    def _search_group(self, numbers: range, result: Result, n_jobs: int | None, share: Share) -> list[IntArray]:
        """Search for the neighbours of the rows of some panels; return the unresolved rows."""
        tasks = [(number, numbers, result) for number in numbers]
        if self._panels.whole or len(numbers) == 1:
            return _candidates.in_threads(n_jobs, self._search_alone, tasks, share)
        room = self._new_room(len(numbers), result.ranks.shape[1])
        members = _candidates.in_threads(n_jobs, self._query_panel, [(*task, room) for task in tasks], None)
        _candidates.in_threads(n_jobs, self._compare_with, [(member, [member.number]) for member in members], None)
        others = [number for number in range(self._panels.n_panels) if number not in numbers]
        pairs = [(*pair, others, result) for pair in self._pairs(members)]
        unresolved = _candidates.in_threads(n_jobs, self._compare_and_finish, pairs, share)
        if room is None or not room.is_exhausted:
            return unresolved
        # Some lists found no room to grow; those of a tile have room for all.
        return [self._search_in_tiles(self._X, _joined(unresolved), result, n_jobs, drop_self=True)]

    def _search_alone(self, number: int, group: range, result: Result) -> IntArray:
        """Search for the neighbours of the rows of a panel in all panels, its own first if they have no order."""
        panels = list(range(self._panels.n_panels))
        if not self._panels.whole:
            panels = [number, *panels[:number], *panels[number + 1 :]]
        return self._finish(self._query_panel(number, group, result), panels, result)

    def _query_panel(self, number: int, group: range, result: Result, room: Any = None) -> QueryPanel:
        panel = self._panels.panel(number)
        n_neighbors = min(result.ranks.shape[1], len(self._pointed) - 1)
        lists = self._new_lists(panel.n_rows, n_neighbors, exact=self._panels.whole, room=room)
        rows = panel.rows[: panel.n_rows]
        if self._panels.bounded:
            lower = _shortened(self._lower_bounds(self._X, rows, group).T)
        else:
            lower = np.broadcast_to(np.uint16(0), (len(group), len(rows)))
        return QueryPanel(number, panel, lists, group, lower, rows, len(group) - 1)

    def _compare_and_finish(
        self, one: QueryPanel, other: QueryPanel, others: Sequence[int], result: Result
    ) -> IntArray:
        """Compare two panels; finish each that has now been compared with its whole group.

        So some threads finish, which is many short steps that wait for Python's lock, while others multiply without it.
        """
        self._compare_panels(one, other)
        return _joined([self._finish(member, others, result) for member in (one, other) if _is_complete(member)])

    def _finish(self, member: QueryPanel, others: Sequence[int], result: Result) -> IntArray:
        """Compare a panel with those outside its group, and write its result; no other thread uses it any more."""
        self._compare_with(member, others)
        return self._decide(self._X[member.numbers], member.numbers, member.lists, result)

    def _compare_with(self, member: QueryPanel, numbers: Sequence[int]) -> None:
        """Find candidates in some panels for the rows of one panel."""
        for number, bound in zip(numbers, self._lower_bounds_of(member, numbers), strict=True):
            takes = member.lists.limit >= bound
            if takes.any():
                self._compare_rows(member, number, takes)
                member.lists.panel_seen()

    def _compare_panels(self, one: QueryPanel, other: QueryPanel) -> None:
        """Find candidates for the rows of two panels in each other.

        One comparison serves both, unless the bounds exclude enough pairs that two smaller ones cost less.
        """
        if self._share_alive(one, other) + self._share_alive(other, one) >= 1:
            self._compare_both(one, other)
            return
        for mine, its in ((one, other), (other, one)):
            with mine.lock:
                self._compare_with(mine, [its.number])

    def _share_alive(self, member: QueryPanel, other: QueryPanel) -> float:
        """Return the share of a panel's rows that may have neighbours in another panel."""
        return float(np.mean(member.lists.limit >= self._lower_bounds_of(member, [other.number])[0]))

    def _lower_bounds_of(self, member: QueryPanel, numbers: Sequence[int]) -> Any:
        """Return lower bounds (n_panels, n_rows) on squared distances to panels; those of the group are known."""
        if all(number in member.group for number in numbers):
            return _lengthened(member.lower[[number - member.group.start for number in numbers]])
        return self._lower_bounds(self._X, member.numbers, numbers).T

    def _write_blank(self, numbers: IntArray, result: Result, *, drop_self: bool = False) -> None:
        """Write the result of queries without a point (empty rows): empty rows are nearest, all others farthest."""
        k = result.ranks.shape[1] + drop_self
        order = np.concatenate([self._blank[:k], self._pointed[:k]])[:k]
        ranks = np.where(np.arange(k) < len(self._blank), -1.0, 1.0)
        answer = np.tile(ranks, (len(numbers), 1)), np.tile(order, (len(numbers), 1))
        if drop_self:
            answer = _candidates.drop_self(*answer, numbers)
        result.ranks[numbers], result.indices[numbers] = answer

    def _pairs(self, members: Sequence[QueryPanel]) -> Iterator[tuple[QueryPanel, QueryPanel]]:
        """Yield all pairs of a group in the order in which they are compared.

        A few members soon have all theirs, and consecutive pairs seldom share a member. The first lets finishing
        overlap with multiplying, the second keeps threads from waiting for the same lock.
        """
        few, rest = members[:_COMPLETED_AT_A_TIME], members[_COMPLETED_AT_A_TIME:]
        yield from combinations(few, 2)
        for shift in range(len(rest)):
            yield from ((member, rest[(shift + place) % len(rest)]) for place, member in enumerate(few))
        if rest:
            yield from self._pairs(rest)

    def _panels_per_group(self, n_neighbors: int) -> int:
        """Return how many panels may have their candidates in memory."""
        return _PANELS_PER_GROUP

    def _decide(self, rows: Matrix, numbers: IntArray, lists: Any, result: Result) -> IntArray:
        """Rank the candidates in float64 and write the nearest; return the numbers of unresolved queries."""
        found = lists.candidates()
        unresolved = lists.unresolved | (np.bincount(found.query, minlength=len(numbers)) < lists.n_neighbors)
        answered = ~unresolved
        if not answered.all():
            found = found.select(answered[found.query])
        ranks = self._panels.as_ranks(found.square) if lists.exact else self._ranks(rows, found)
        if len(self._blank):
            found, ranks = self._with_blank(found, ranks, np.flatnonzero(answered), result)
        result.ranks[numbers[answered]], result.indices[numbers[answered]] = _candidates.first_of_each(
            found.query, found.row, ranks, answered, result.ranks.shape[1]
        )
        return np.asarray(numbers[unresolved])

    def _ranks(self, rows: Matrix, found: Candidates) -> FloatArray:
        return self._distance.ranks(rows, self._X, (found.query, found.row))

    def _with_blank(
        self, found: Candidates, ranks: FloatArray, queries: IntArray, result: Result
    ) -> tuple[Candidates, FloatArray]:
        """Add the rows without a point, of rank 1, to the candidates. Only the first k of them can be neighbours."""
        first = self._blank[: result.ranks.shape[1]]
        query = np.concatenate([found.query, np.repeat(queries, len(first))])
        row = np.concatenate([found.row, np.tile(first, len(queries))])
        ranks = np.concatenate([ranks, np.ones(len(first) * len(queries))])
        order = np.argsort(query, kind="stable")
        return found._replace(query=query[order], row=row[order]), ranks[order]


def _shortened(lower: FloatArray) -> NDArray[np.uint16]:
    """Return lower bounds rounded towards 0, in 16 bits: the first half of a float32. Those below 0 become 0."""
    values = np.clip(lower * (1 - 2.0**-20), 0.0, np.finfo(np.float32).max).astype(np.float32)
    return (values.view(np.uint32) >> 16).astype(np.uint16)


def _lengthened(lower: NDArray[np.uint16]) -> Float32Array:
    return (lower.astype(np.uint32) << 16).view(np.float32)


def most_candidates(k: int) -> int:
    """Return how many candidates for k neighbours a query may have before its bounds are taken for too loose."""
    return max(_MOST_AT_LEAST, _MOST_PER_NEIGHBOR * k)


def least_candidates(k: int) -> int:
    """Return for how many candidates a list has place at first: k, those that come before it is sifted, and some."""
    return max(_LEAST_AT_LEAST, _LEAST_PER_NEIGHBOR * k)


@contextmanager
def both_locked(one: QueryPanel, other: QueryPanel) -> Iterator[None]:
    """Take the locks of two panels, always in the order of their numbers: no two threads wait for each other."""
    first, second = sorted((one, other), key=lambda member: member.number)
    with first.lock, second.lock:
        yield


def _is_complete(member: QueryPanel) -> bool:
    """Count a comparison; return whether the panel has now been compared with its whole group."""
    with member.lock:
        member.n_left -= 1
        return member.n_left == 0


def _joined(parts: list[IntArray]) -> IntArray:
    return np.concatenate([np.empty(0, dtype=np.intp), *parts])
