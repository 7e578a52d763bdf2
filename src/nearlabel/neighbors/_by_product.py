"""Nearest rows by products in single precision, certified: nominate, bound, recompute the few, order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from nearlabel.neighbors._answer import Answer
from nearlabel.neighbors._by_bounds import BoundsSearch
from nearlabel.neighbors._distances import PointDistance
from nearlabel.neighbors._nominees import (
    RUN,
    DenseNominees,
    Float32Array,
    Nominees,
    Operand,
    Panel,
    SparseNominees,
)
from nearlabel.neighbors._shortlist import Candidates, Runs, Shortlist, first_of_each, where
from nearlabel.neighbors._threads import in_threads, scratch
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.progress import listening, part
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix

_FEW_PAIRS, _NUMBERS_OF_FEW = 1000, 2**17  # are all ranked: it takes the fewest steps
_QUERIES_PER_TILE = 1000  # no power of two, which would send the rows of a product to the same lines of the cache
_QUERIES_PER_BLOCK = 32_000  # that are sorted, so that those near each other share a tile
_BYTES_OF_BOUNDS = 2**24
_WHOLE_TILE_FROM = 0.75  # share of a tile's queries from which a product of all costs less than choosing
_THROUGH_AT_A_TIME = 2  # members of a group that meet all others before the next ones do
_PANELS_PER_GROUP = 32  # whose shortlists are held at a time, and whose products serve both ways
_MOST_PER_NEIGHBOR, _MOST_AT_LEAST = 32, 256  # candidates of a query, before float64 bounds take over

Error: TypeAlias = Callable[[Float32Array, Float32Array], Float32Array]


@dataclass
class _Member:
    """A panel whose rows are queries, their shortlist, and lower bounds on how near the panels of its group are.

    Who writes to the shortlist while others may holds the lock. `n_left` others of the group are still to be met.
    """

    number: int
    panel: Panel
    shortlist: Shortlist
    group: range
    lower: FloatArray
    n_left: int
    lock: Lock = field(default_factory=Lock)

    @property
    def numbers(self) -> IntArray:
        """The numbers of the rows."""
        return self.panel.rows[: self.panel.n_rows]


@dataclass
class _Tile:
    """Queries, their shortlist; and the queries made ready for one centre."""

    rows: Matrix
    shortlist: Shortlist
    operand: Operand | None = None
    centre: FloatArray | None = None


class ProductSearch:
    """Nominate rows by products, and decide among the nominated by their ranks in float64.

    The rows are kept as float32 panels beside X itself; of rows that are not `resident`, nothing is kept.
    """

    def __init__(self, X: Matrix, distance: PointDistance, *, resident: bool, n_jobs: int | None) -> None:
        self._X, self._distance = X, distance
        blank = distance.blank(X)
        self._blank, self._pointed = np.flatnonzero(blank), np.flatnonzero(~blank)
        self._by_bounds = BoundsSearch(X, distance)
        kind: Any = SparseNominees if sparse.issparse(X) else DenseNominees
        if len(self._pointed) > 1:
            self._nominees: Nominees = kind(X, distance, self._pointed, resident=resident, n_jobs=n_jobs)

    def nearest(self, queries: Matrix | None, k: int, n_jobs: int | None) -> Answer:
        """Return ranks and indices (n_queries, k) of the nearest rows; of the rows themselves, each without itself."""
        X = self._X if queries is None else queries
        n_pairs = X.shape[0] * self._X.shape[0]
        if n_pairs <= _FEW_PAIRS and n_pairs * X.shape[1] <= _NUMBERS_OF_FEW:
            return self._ranked(X, k, leave_out=queries is None)
        if len(self._pointed) < 2:
            return self._by_bounds.nearest(queries, k, n_jobs)
        answer = Answer.empty(X.shape[0], k)
        hard = self._answer_rows(answer, n_jobs) if queries is None else self._answer_queries(X, answer, n_jobs)
        if len(hard):
            self._by_bounds.answer(X, hard, answer, n_jobs, leave_out=queries is None)
        return answer

    def _ranked(self, X: Matrix, k: int, *, leave_out: bool) -> Answer:
        """Rank all pairs: there are few."""
        self._distance.prepare(X)  # refuses queries whose squared norm overflows
        pairs = np.divmod(np.arange(X.shape[0] * self._X.shape[0]), self._X.shape[0])
        ranks = self._distance.ranks(X, self._X, pairs).reshape(X.shape[0], -1)
        if leave_out:
            np.fill_diagonal(ranks, np.inf)
        nearest = np.argsort(ranks, axis=1, kind="stable")[:, :k]
        return Answer(np.take_along_axis(ranks, nearest, axis=1), nearest)

    def _answer_queries(self, X: Matrix, answer: Answer, n_jobs: int | None) -> IntArray:
        """Answer queries tile by tile; return those that single precision cannot answer."""
        blank = self._distance.blank(X)
        self._answer_blank(np.flatnonzero(blank), answer)
        numbers, hard = np.flatnonzero(~blank), []
        n_queries = max(_QUERIES_PER_TILE, min(_QUERIES_PER_BLOCK, _BYTES_OF_BOUNDS // (8 * self._nominees.n_panels)))
        for block in row_blocks(len(numbers), 1, n_queries):
            tiles = self._tiles(X, numbers[block], n_jobs)
            with part(block.start / len(numbers), block.stop / len(numbers)):
                hard += in_threads(n_jobs, self._answer_tile, ((X, *tile, answer) for tile in tiles))
        return _joined(hard)

    def _tiles(self, X: Matrix, numbers: IntArray, n_jobs: int | None) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield tiles of queries and lower bounds on their squared distances to the panels."""
        if not self._nominees.bounded:
            for tile in row_blocks(len(numbers), 1, _QUERIES_PER_TILE):
                yield numbers[tile], np.broadcast_to(0.0, (len(numbers[tile]), self._nominees.n_panels))
            return
        panels = range(self._nominees.n_panels)
        blocks = ((X, numbers[block], panels) for block in row_blocks(len(numbers), 1, _QUERIES_PER_TILE))
        with listening(None):
            lower = np.concatenate(in_threads(n_jobs, self._lower_bounds, blocks))
        order = np.argsort(lower.argmin(axis=1), kind="stable")
        for tile in row_blocks(len(numbers), 1, _QUERIES_PER_TILE):
            yield numbers[order[tile]], lower[order[tile]]

    def _lower_bounds(self, X: Matrix, rows: IntArray, panels: Sequence[int]) -> FloatArray:
        """Return lower bounds on the squared distances of rows of X to panels, zero where nothing is known."""
        if not self._nominees.bounded:
            return np.broadcast_to(0.0, (len(rows), len(panels)))
        return self._nominees.lower_bounds(X[rows], panels)

    def _answer_tile(self, X: Matrix, numbers: IntArray, lower: FloatArray, answer: Answer) -> IntArray:
        """Answer a tile of queries: each by the panel that promises most, then all by the others."""
        rows = X[numbers]
        whole = self._nominees.is_whole(rows)
        shortlist = self._shortlist(len(numbers), answer, len(self._pointed), decided=whole)
        tile = _Tile(rows, shortlist)
        n_panels = lower.shape[1]
        in_order = whole or not self._nominees.bounded
        first = np.full(len(numbers), -1) if in_order else lower.argmin(axis=1)
        for number in np.unique(first[first >= 0]):
            self._visit(tile, number, first == number)
        shortlist.panel_seen()
        for number in range(n_panels) if in_order else np.argsort(lower.mean(axis=0), kind="stable"):
            self._visit(tile, number, (shortlist.limit >= lower[:, number]) & (first != number))
            shortlist.panel_seen()
        return self._decide(rows, numbers, shortlist, answer)

    def _visit(self, tile: _Tile, number: int, takes: BoolArray) -> None:
        """Offer a panel to those queries of a tile that take it."""
        some = np.flatnonzero(takes)
        if len(some) == 0:
            return
        if len(some) > _WHOLE_TILE_FROM * len(takes):
            some = np.arange(len(takes))
        panel = self._nominees.panel(number)
        if tile.operand is None or panel.centre is not tile.centre:
            tile.operand, tile.centre = self._nominees.operand(tile.rows, panel.centre), panel.centre
        operand = tile.operand.some(some)
        with self._squares(panel, operand) as squares:
            self._offer(tile.shortlist, squares, panel, operand.norms, some, takes[some])

    def _answer_rows(self, answer: Answer, n_jobs: int | None) -> IntArray:
        """Answer the rows themselves, group by group of panels; return those that single precision cannot answer."""
        self._answer_blank(self._blank, answer, leave_out=True)
        n_panels, hard = self._nominees.n_panels, []
        for group in row_blocks(n_panels, 1, _PANELS_PER_GROUP):
            with part(group.start / n_panels, group.stop / n_panels):
                hard += self._answer_group(range(group.start, group.stop), answer, n_jobs)
        return _joined(hard)

    def _answer_group(self, numbers: range, answer: Answer, n_jobs: int | None) -> list[IntArray]:
        """Answer the rows of some panels; return those that single precision cannot answer."""
        n_panels = self._nominees.n_panels
        with listening(None):
            members = in_threads(n_jobs, self._member, ((number, numbers, answer) for number in numbers))
        others = [number for number in range(n_panels) if number not in numbers]
        if self._nominees.whole or len(members) == 1:
            panels = range(n_panels) if self._nominees.whole else [*numbers, *others]
            return in_threads(n_jobs, self._finish, ((member, panels, answer) for member in members))
        with listening(None):
            in_threads(n_jobs, self._meet_panels, ((member, [member.number]) for member in members))
        pairs = ((*pair, others, answer) for pair in pairs_of(members))
        return in_threads(n_jobs, self._meet_and_finish, pairs)

    def _member(self, number: int, group: range, answer: Answer) -> _Member:
        panel = self._nominees.panel(number)
        n_others = len(self._pointed) - 1
        shortlist = self._shortlist(panel.n_rows, answer, n_others, decided=self._nominees.whole)
        lower = self._lower_bounds(self._X, panel.rows[: panel.n_rows], group)
        return _Member(number, panel, shortlist, group, lower, n_left=len(group) - 1)

    def _meet_and_finish(self, one: _Member, other: _Member, others: Sequence[int], answer: Answer) -> IntArray:
        """Offer two panels to each other; of those that have met their whole group, go on to the others and decide.

        So some decide, in many short steps between which threads wait for Python's lock, while others multiply.
        """
        self._meet(one, other)
        return _joined([self._finish(member, others, answer) for member in (one, other) if _has_met_all(member)])

    def _finish(self, member: _Member, others: Sequence[int], answer: Answer) -> IntArray:
        """Offer the last panels to one that nobody else writes to any more, and decide."""
        self._meet_panels(member, others)
        return self._decide(self._X[member.numbers], member.numbers, member.shortlist, answer)

    def _meet_panels(self, member: _Member, numbers: Sequence[int]) -> None:
        """Offer the rows of panels to the rows of one, each of which does not count for itself."""
        lower = self._lower_bounds_of(member, numbers)
        for number, bound in zip(numbers, lower.T, strict=True):
            panel = member.panel if number == member.number else self._nominees.panel(number)
            alive = np.flatnonzero(member.shortlist.limit >= bound)
            for tile in row_blocks(len(alive), 1, _QUERIES_PER_TILE):
                some = alive[tile]
                operand = self._nominees.operand_of(member.panel, some, panel.centre)
                with self._squares(panel, operand) as squares:
                    if number == member.number:
                        squares[some, np.arange(len(some))] = np.inf
                    self._offer(member.shortlist, squares, panel, operand.norms, some)
            if len(alive):
                member.shortlist.panel_seen()

    def _meet(self, one: _Member, other: _Member) -> None:
        """Offer the rows of two panels to each other: a product serves both ways, unless few rows need it."""
        if self._share_alive(one, other) + self._share_alive(other, one) < 1:
            for mine, its in ((one, other), (other, one)):
                with mine.lock:
                    self._meet_panels(mine, [its.number])
            return
        for tile in row_blocks(other.panel.n_rows, 1, _QUERIES_PER_TILE):
            some = np.arange(tile.start, tile.stop)
            operand = self._nominees.operand_of(other.panel, some, one.panel.centre)
            with self._squares(one.panel, operand) as squares:
                with other.lock:
                    self._offer(other.shortlist, squares, one.panel, operand.norms, some)
                with one.lock:
                    self._offer_back(one, squares, operand.norms, other.panel.rows[some])
        for member in (one, other):
            with member.lock:
                member.shortlist.panel_seen()

    def _offer_back(self, member: _Member, squares: Float32Array, norms: Float32Array, rows: IntArray) -> None:
        """Offer the rows of a tile, along the other side of the product, to the rows of a panel."""
        n_rows, error = member.panel.n_rows, self._error(member.shortlist)
        own_norms, limit = member.panel.norms[:n_rows], member.shortlist.limit
        reach = limit + error(own_norms, norms.max(keepdims=True))
        query, column = where(squares[:n_rows] <= reach[:, np.newaxis])
        found = Candidates(query, rows[column], squares[query, column], error(own_norms[query], norms[column]))
        member.shortlist.add(found.some(found.square <= limit[query] + found.slack))

    def _share_alive(self, member: _Member, other: _Member) -> float:
        """Return the share of a panel's rows to which another panel may still be near."""
        return float(np.mean(member.shortlist.limit >= self._lower_bounds_of(member, [other.number])[:, 0]))

    def _lower_bounds_of(self, member: _Member, numbers: Sequence[int]) -> FloatArray:
        """Return how near the panels may be; those of the member's group are known."""
        if all(number in member.group for number in numbers):
            return member.lower[:, [number - member.group.start for number in numbers]]
        return self._lower_bounds(self._X, member.numbers, numbers)

    def _answer_blank(self, numbers: IntArray, answer: Answer, *, leave_out: bool = False) -> None:
        """A query without a point has rank 0 to every row: the first rows are its neighbours."""
        k = answer.ranks.shape[1]
        first = np.tile(np.arange(k), (len(numbers), 1))
        if leave_out:
            first += first >= numbers[:, np.newaxis]
        answer.ranks[numbers], answer.indices[numbers] = -0.0, first

    def _shortlist(self, n_queries: int, answer: Answer, n_rows: int, *, decided: bool) -> Shortlist:
        k = min(answer.ranks.shape[1], n_rows)
        return Shortlist(n_queries, k, max(_MOST_AT_LEAST, _MOST_PER_NEIGHBOR * k), decided=decided)

    @contextmanager
    def _squares(self, panel: Panel, operand: Operand) -> Iterator[Float32Array]:
        """Multiply, in memory that is lent."""
        n_squares = len(panel.norms) * len(operand.norms)
        with scratch(2 * n_squares if sparse.issparse(self._X) else n_squares) as memory:
            yield self._nominees.squares(panel, operand, memory)

    def _offer(
        self,
        shortlist: Shortlist,
        squares: Float32Array,
        panel: Panel,
        norms: Float32Array,
        queries: IntArray,
        takes: BoolArray | None = None,
    ) -> None:
        """Offer a panel's rows (n_rows, n_queries) to queries of these norms."""
        error = self._error(shortlist)
        shortlist.offer(runs_down(squares, panel, norms, shortlist.n_neighbors, error), queries, takes)

    def _error(self, shortlist: Shortlist) -> Error:
        """Return how far squared distances may be off, as a function of two norms."""
        if shortlist.decided:
            return lambda norms, others: np.zeros(np.broadcast_shapes(norms.shape, others.shape), dtype=np.float32)
        return self._nominees.error

    def _decide(self, rows: Matrix, numbers: IntArray, shortlist: Shortlist, answer: Answer) -> IntArray:
        """Write the answers of the queries `rows`, known by their `numbers`; return the numbers of those without."""
        found = shortlist.candidates()
        hard = shortlist.hard | (np.bincount(found.query, minlength=len(numbers)) < shortlist.n_neighbors)
        found = found.some(~hard[found.query])
        ranks = self._nominees.as_ranks(found.square) if shortlist.decided else self._ranks(rows, found)
        query, row, ranks = self._with_blank(found, ranks, np.flatnonzero(~hard), answer)
        answered = ~hard
        answer.ranks[numbers[answered]], answer.indices[numbers[answered]] = first_of_each(
            query, row, ranks, answered, answer.ranks.shape[1]
        )
        return numbers[hard]

    def _ranks(self, rows: Matrix, found: Candidates) -> FloatArray:
        return self._distance.ranks(rows, self._X, (found.query, found.row))

    def _with_blank(
        self, found: Candidates, ranks: FloatArray, queries: IntArray, answer: Answer
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Add the first rows without a point to what was found: of rank 0 all, only they can be neighbours."""
        first = self._blank[: answer.ranks.shape[1]]
        if len(first) == 0:
            return found.query, found.row, ranks
        query = np.concatenate([found.query, np.repeat(queries, len(first))])
        row = np.concatenate([found.row, np.tile(first, len(queries))])
        ranks = np.concatenate([ranks, np.full(len(first) * len(queries), -0.0)])
        order = np.argsort(query, kind="stable")
        return query[order], row[order], ranks[order]


def runs_down(squares: Float32Array, panel: Panel, norms: Float32Array, k: int, error: Error) -> Runs:
    """Cut squared distances (rows of a panel, queries) into runs of rows that lie one after the other.

    Long runs cost least, but their least values bound the k-th neighbour well only if there are several times k.
    """
    halves = (RUN >> times for times in range(RUN.bit_length()))
    run = next(length for length in halves if length == 1 or panel.n_rows // length >= 3 * k)
    cube = squares.reshape(-1, run, squares.shape[1])
    row_norms = panel.norms.reshape(-1, run)
    slack = error(_largest_norms(row_norms, -(-panel.n_rows // run)), norms)

    def opened(which: IntArray, query: IntArray) -> tuple[Float32Array, Float32Array]:
        if len(slack) == 1:
            return cube[which, :, query], slack[0, query, np.newaxis]
        return cube[which, :, query], error(row_norms[which], norms[query, np.newaxis])

    return Runs(cube.min(axis=1), slack, panel.rows.reshape(-1, run), opened)


def _largest_norms(norms: Float32Array, n_runs: int) -> Float32Array:
    """Return the largest norm of each run (of all, run), as a column; one for all where the first n_runs are alike."""
    largest: Float32Array = norms.max(axis=1, keepdims=True)
    return largest.max(keepdims=True) if largest.max() <= 4 * largest[:n_runs].min() else largest


def _has_met_all(member: _Member) -> bool:
    """Count a meeting of two, and tell whether it was the last."""
    with member.lock:
        member.n_left -= 1
        return member.n_left == 0


def pairs_of(members: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield all pairs: a few members are soon through, and pairs that follow each other seldom share a member."""
    few, rest = members[:_THROUGH_AT_A_TIME], members[_THROUGH_AT_A_TIME:]
    yield from combinations(few, 2)
    for shift in range(len(rest)):
        yield from ((member, rest[(shift + place) % len(rest)]) for place, member in enumerate(few))
    if rest:
        yield from pairs_of(rest)


def _joined(parts: list[IntArray]) -> IntArray:
    return np.concatenate([np.empty(0, dtype=np.intp), *parts])
