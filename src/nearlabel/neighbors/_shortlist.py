"""Shortlists: for each query, the few rows that may be among its nearest, from bounds alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from nearlabel.neighbors._nominees import Float32Array
from nearlabel.utils.types import BoolArray, FloatArray, IntArray

_TIES_AT_MOST = 4  # times as many candidates of one panel as neighbours are kept before the ties are cut
_OPENED_AT_MOST = 4  # times as many rows of a panel as a query may have candidates
NONE_YET = np.float32(1e38)  # above every squared distance but those of what is `FAR`


class Candidates(NamedTuple):
    """Pairs of a query and a row: the computed squared distance, and by how much it may be wrong."""

    query: IntArray
    row: IntArray
    square: Float32Array
    slack: Float32Array

    def some(self, which: Any) -> Candidates:
        """Return some of the pairs."""
        return Candidates(*(values[which] for values in self))


class Runs(NamedTuple):
    """Squared distances of some queries to a panel's rows, in runs of rows.

    `least` (n_runs, n_queries) is the least of each run, `slack` (n_runs or 1, n_queries) the largest error in it;
    `rows` (n_runs, run) are the numbers of the rows. `opened` gives, for m pairs of run and query, the squared
    distances of the run's rows and their errors, two arrays (m, run) and (m, run or 1).
    """

    least: Float32Array
    slack: Float32Array
    rows: IntArray
    opened: Callable[[IntArray, IntArray], tuple[Float32Array, Float32Array]]


class Shortlist:
    """Candidates for the `n_neighbors` nearest rows of some queries, gathered panel by panel.

    `limit` (n_queries,) bounds the n_neighbors-th least rank from above; what cannot be at or below it is dropped. A
    query with more than `most` candidates is `hard`: single precision does not tell its rows apart. If squared
    distances are `decided`, they are exact and rows are offered in their order: only the n_neighbors first are kept.
    """

    def __init__(self, n_queries: int, n_neighbors: int, most: int, *, decided: bool = False) -> None:
        self.n_neighbors, self.decided = n_neighbors, decided
        self.limit = np.full(n_queries, NONE_YET)
        self.hard = np.zeros(n_queries, dtype=bool)
        self._most = most
        self._best = np.full((n_queries, n_neighbors), np.inf, dtype=np.float32)  # least upper bounds so far
        self._parts: list[Candidates] = []
        self._n_weighed = 0  # parts whose upper bounds are among `_best`
        self._panels_seen = 0

    def offer(self, runs: Runs, queries: IntArray, takes: BoolArray | None = None) -> None:
        """Take the rows of a panel that may be among the nearest of these queries, or of those that take them."""
        limit = self.limit[queries]
        if takes is not None:
            limit[~takes] = -np.inf
        self._lower(limit, runs, np.flatnonzero(limit == NONE_YET), queries)
        run, column = where(runs.least <= limit + runs.slack)
        opened = np.bincount(column, minlength=len(queries))
        wide = np.flatnonzero(opened > 2 * self.n_neighbors)
        if len(wide):  # the panel itself has better to offer
            self._lower(limit, runs, wide, queries)
            run, column = where(runs.least <= limit + runs.slack)
            run, column = self._without_hopeless(run, column, queries, runs.rows.shape[1])
        squares, slack = runs.opened(run, column)
        pair, place = where(squares <= limit[column, np.newaxis] + slack)
        found = squares[pair, place], np.broadcast_to(slack, squares.shape)[pair, place]
        candidates = Candidates(queries[column[pair]], runs.rows[run[pair], place], *found)
        ties = self.decided and len(pair) > _TIES_AT_MOST * self.n_neighbors * len(queries)
        self.add(self._first(candidates) if ties else candidates)

    def add(self, found: Candidates) -> None:
        """Take candidates that are within the limits."""
        self._parts.append(found)

    def _lower(self, limit: Float32Array, runs: Runs, some: IntArray, queries: IntArray) -> None:
        """Lower the limits of some queries to what the panel tells.

        The least rows of k runs are k rows, so the k-th least of their upper bounds bounds the k-th neighbour.
        """
        k = self.n_neighbors
        if len(runs.least) >= k and len(some):
            upper = np.ascontiguousarray((runs.least[:, some] + runs.slack[:, some]).T)
            limit[some] = np.minimum(limit[some], np.partition(upper, k - 1, axis=1)[:, k - 1])
            self.limit[queries[some]] = limit[some]

    def _without_hopeless(
        self, run: IntArray, column: IntArray, queries: IntArray, length: int
    ) -> tuple[IntArray, IntArray]:
        """Give up queries to which far more rows of one panel are open than they may have candidates."""
        if self.decided:
            return run, column
        opened = np.bincount(column, minlength=len(queries)) * length
        hopeless = opened > _OPENED_AT_MOST * self._most
        if not hopeless.any():
            return run, column
        which = np.zeros_like(self.hard)
        which[queries] = hopeless
        self._give_up(which)
        return run[~hopeless[column]], column[~hopeless[column]]

    def panel_seen(self) -> None:
        """Count the panels that were offered; after the 1st, 2nd, 4th, 8th ... the limits are tightened."""
        self._panels_seen += 1
        if self._panels_seen & (self._panels_seen - 1) == 0:
            self.tighten()

    def tighten(self) -> None:
        """Lower the limits to the k-th least upper bounds of the candidates."""
        if not self._parts:
            return
        if self.decided:
            self._parts = [self._first(_joined(self._parts))]
            return
        self._weigh()
        if self._counts().max() > self._most:
            self._drop()
            self._give_up(self._counts() > self._most)

    def _weigh(self) -> None:
        """Let the upper bounds of new candidates lower the limits."""
        new, k = self._parts[self._n_weighed :], self.n_neighbors
        if not new:
            return
        query = np.concatenate([part.query for part in new])
        upper = np.concatenate([part.square + part.slack for part in new])
        order, counts = _in_order(query, len(self.limit)), np.bincount(query, minlength=len(self.limit))
        table = as_table(query[order], counts, upper[order], np.float32(np.inf))
        self._best = np.partition(np.hstack([self._best, table]), k - 1, axis=1)[:, :k]
        np.minimum(self.limit, self._best.max(axis=1), out=self.limit)
        self._n_weighed = len(self._parts)

    def _counts(self) -> IntArray:
        counts = np.zeros(len(self.limit), dtype=np.intp)
        for part in self._parts:
            counts += np.bincount(part.query, minlength=len(counts))
        return counts

    def _drop(self) -> None:
        """Forget the candidates above the limits."""
        self._parts = [part.some(part.square - part.slack <= self.limit[part.query]) for part in self._parts]

    def _give_up(self, which: BoolArray) -> None:
        """Take no more candidates of some queries, and forget those taken."""
        if which.any():
            self.hard |= which
            self.limit[which] = -np.inf
            self._drop()

    def _first(self, found: Candidates) -> Candidates:
        """Return the k first of each query by (square, row); of rows that come later, those as far come too late."""
        k, counts = self.n_neighbors, np.bincount(found.query, minlength=len(self.limit))
        order = np.lexsort((found.row, found.square, found.query))
        rank = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        last = order[rank == k - 1]
        too_late = np.nextafter(found.square[last], np.float32(-1))
        self.limit[found.query[last]] = np.minimum(self.limit[found.query[last]], too_late)
        return found.some(order[rank < k])

    def candidates(self) -> Candidates:
        """Return the candidates that are left, those of a query side by side."""
        self.tighten()
        if not self.decided:
            self._drop()
        found = _joined(self._parts)
        return found.some(_in_order(found.query, len(self.limit)))


def _joined(parts: list[Candidates]) -> Candidates:
    if parts:
        return Candidates(*(np.concatenate(values) for values in zip(*parts, strict=True)))
    nothing = np.empty(0, dtype=np.intp)
    return Candidates(nothing, nothing, nothing.astype(np.float32), nothing.astype(np.float32))


def _in_order(query: IntArray, n_queries: int) -> IntArray:
    """Return the order that brings candidates of a query side by side. Sorting 16-bit numbers costs little."""
    return np.argsort(query.astype(np.int16) if n_queries <= np.iinfo(np.int16).max else query, kind="stable")


def where(mask: BoolArray) -> tuple[IntArray, IntArray]:
    """Return rows and columns of what is true: numpy's own, which is slow in two dimensions, in one."""
    flat, width = np.flatnonzero(mask), max(mask.shape[1], 1)
    row = flat // width
    return row, flat - row * width


def as_table(query: IntArray, counts: IntArray, values: Any, fill: Any) -> Any:
    """Return values, those of a query side by side, as one row of a table for each query; the rest is `fill`."""
    table = np.full((len(counts), int(counts.max(initial=0))), fill, dtype=values.dtype)
    place = np.arange(len(query)) - np.repeat(np.cumsum(counts) - counts, counts)
    table[query, place] = values
    return table


def first_of_each(
    query: IntArray, row: IntArray, ranks: FloatArray, which: BoolArray, k: int
) -> tuple[FloatArray, IntArray]:
    """Return rank and row, two arrays (n, k), of the k pairs of least (rank, row) of `which` queries.

    The pairs of a query lie side by side, at least k of each that is meant.
    """
    if not which.any():
        return np.empty((0, k)), np.empty((0, k), dtype=np.intp)
    counts = np.bincount(query, minlength=len(which))
    rank_table = as_table(query, counts, ranks, np.inf)[which]
    row_table = as_table(query, counts, row, np.iinfo(np.intp).max)[which]
    order = np.argsort(rank_table, axis=1)
    in_order = np.take_along_axis(rank_table, order, axis=1)
    tied = (in_order[:, 1 : k + 1] == in_order[:, : min(k, in_order.shape[1] - 1)]).any(axis=1)
    order[tied] = np.lexsort((row_table[tied], rank_table[tied]))
    order = order[:, :k]
    return np.take_along_axis(rank_table, order, axis=1), np.take_along_axis(row_table, order, axis=1)
