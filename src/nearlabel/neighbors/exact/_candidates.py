"""The ground of a search: lists of candidates, the result, groups of equal rows, and the threads that fill them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from threadpoolctl import ThreadpoolController

from nearlabel.utils.messages import counter, current_listener
from nearlabel.utils.process_settings import ProcessSetting, ThreadSetting
from nearlabel.utils.types import BoolArray, Float32Array, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import row_blocks

_TIES_AT_MOST = 4  # candidates in one panel, as a multiple of the neighbours; above it exact ties are dropped at once
_OPENED_AT_MOST = 4  # rows of one panel, as a multiple of the candidates that a query may have
NONE_YET = np.float32(1e38)  # above every squared distance of a row, below `FAR`


class Candidates(NamedTuple):
    """Pairs of a query and a row, with the computed squared distance and the bound on its error."""

    query: IntArray
    row: IntArray
    square: Float32Array
    slack: Float32Array

    def select(self, which: Any) -> Candidates:
        """Return the pairs of a mask or of indices."""
        return Candidates(*[values[which] for values in self])


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


class CandidateLists:
    """Candidates for the `n_neighbors` nearest rows of some queries, gathered panel by panel.

    `limit` (n_queries,) bounds the n_neighbors-th least rank from above, so a row whose lower bound exceeds it is no
    neighbour. A query with more than `most` candidates is `unresolved`: single precision cannot order its rows. If
    `exact`, squared distances have no error and panels come in the order of the rows: the n_neighbors first are kept.
    """

    def __init__(self, n_queries: int, n_neighbors: int, most: int, *, exact: bool) -> None:
        self.n_neighbors, self.exact = n_neighbors, exact
        self.limit = np.full(n_queries, NONE_YET)
        self.unresolved = np.zeros(n_queries, dtype=bool)
        self._most = most
        self._best = np.full((n_queries, n_neighbors), np.inf, dtype=np.float32)  # least upper bounds so far
        self._parts: list[Candidates] = []
        self._n_weighed = 0  # parts whose upper bounds are among `_best`
        self._panels_seen = 0

    def offer(self, runs: Runs, queries: IntArray, takes: BoolArray | None = None) -> None:
        """Add the rows of a panel that may be among the nearest of these queries, or of those that `takes` marks."""
        limit = self.limit[queries]
        if takes is not None:
            limit[~takes] = -np.inf
        self._lower(limit, runs, np.flatnonzero(limit == NONE_YET), queries)
        run, column = nonzero(runs.least <= limit + runs.slack)
        opened = np.bincount(column, minlength=len(queries))
        wide = np.flatnonzero(opened > 2 * self.n_neighbors)
        if len(wide):  # that many open runs: the panel itself lowers the limit
            self._lower(limit, runs, wide, queries)
            run, column = nonzero(runs.least <= limit + runs.slack)
            run, column = self._give_up_unresolvable(run, column, queries, runs.rows.shape[1])
        squares, slack = runs.opened(run, column)
        pair, place = nonzero(squares <= limit[column, np.newaxis] + slack)
        found = squares[pair, place], np.broadcast_to(slack, squares.shape)[pair, place]
        candidates = Candidates(queries[column[pair]], runs.rows[run[pair], place], *found)
        ties = self.exact and len(pair) > _TIES_AT_MOST * self.n_neighbors * len(queries)
        self.add(self._first(candidates) if ties else candidates)

    def add(self, found: Candidates) -> None:
        """Add candidates that are within the limits."""
        self._parts.append(found)

    def _lower(self, limit: Float32Array, runs: Runs, some: IntArray, queries: IntArray) -> None:
        """Lower the limits of some queries by the rows of a panel.

        The least rows of k runs are k rows, so the k-th least of their upper bounds bounds the k-th neighbour.
        """
        k = self.n_neighbors
        if len(runs.least) >= k and len(some):
            upper = np.ascontiguousarray((runs.least[:, some] + runs.slack[:, some]).T)
            limit[some] = np.minimum(limit[some], np.partition(upper, k - 1, axis=1)[:, k - 1])
            self.limit[queries[some]] = limit[some]

    def _give_up_unresolvable(
        self, run: IntArray, column: IntArray, queries: IntArray, length: int
    ) -> tuple[IntArray, IntArray]:
        """Mark queries with too many candidates in one panel as unresolved; return the runs of the others."""
        if self.exact:
            return run, column
        opened = np.bincount(column, minlength=len(queries)) * length
        unresolvable = opened > _OPENED_AT_MOST * self._most
        if not unresolvable.any():
            return run, column
        which = np.zeros_like(self.unresolved)
        which[queries] = unresolvable
        self.give_up(which)
        return run[~unresolvable[column]], column[~unresolvable[column]]

    def panel_seen(self) -> None:
        """Count the panels; after the 1st, 2nd, 4th, 8th ... tighten the limits, which helps most at first."""
        self._panels_seen += 1
        if self._panels_seen & (self._panels_seen - 1) == 0:
            self.tighten()

    def tighten(self) -> None:
        """Lower the limits to the k-th least upper bounds of the candidates."""
        if not self._parts:
            return
        if self.exact:
            self._parts = [self._first(_joined(self._parts))]
            return
        self._weigh()
        if self._counts().max() > self._most:
            self._drop()
            self.give_up(self._counts() > self._most)

    def _weigh(self) -> None:
        """Lower the limits by the upper bounds of new candidates."""
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
        """Drop the candidates above the limits."""
        self._parts = [part.select(part.square - part.slack <= self.limit[part.query]) for part in self._parts]

    def give_up(self, which: BoolArray) -> None:
        """Mark queries as unresolved; drop their candidates and take no more."""
        if which.any():
            self.unresolved |= which
            self.limit[which] = -np.inf
            self._drop()

    def _first(self, found: Candidates) -> Candidates:
        """Return the k first of each query by (square, row).

        Rows of later panels have larger indices, so one as far as the k-th loses the tie: the limit excludes it.
        """
        k, counts = self.n_neighbors, np.bincount(found.query, minlength=len(self.limit))
        order = np.lexsort((found.row, found.square, found.query))
        rank = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        last = order[rank == k - 1]
        too_late = np.nextafter(found.square[last], np.float32(-1))
        self.limit[found.query[last]] = np.minimum(self.limit[found.query[last]], too_late)
        return found.select(order[rank < k])

    def candidates(self) -> Candidates:
        """Return the candidates that are left, those of a query side by side."""
        self.tighten()
        if not self.exact:
            self._drop()
        found = _joined(self._parts)
        return found.select(_in_order(found.query, len(self.limit)))


def _joined(parts: list[Candidates]) -> Candidates:
    if parts:
        return Candidates(*(np.concatenate(values) for values in zip(*parts, strict=True)))
    nothing = np.empty(0, dtype=np.intp)
    return Candidates(nothing, nothing, nothing.astype(np.float32), nothing.astype(np.float32))


def _in_order(query: IntArray, n_queries: int) -> IntArray:
    """Return the order that groups candidates by query. Sorting 16-bit numbers is fast: numpy uses a radix sort."""
    return np.argsort(query.astype(np.int16) if n_queries <= np.iinfo(np.int16).max else query, kind="stable")


def nonzero(mask: BoolArray) -> tuple[IntArray, IntArray]:
    """Return rows and columns of the true values, as `numpy.nonzero`, which is slow in two dimensions."""
    flat, width = np.flatnonzero(mask), max(mask.shape[1], 1)
    row = flat // width
    return row, flat - row * width


def as_table(query: IntArray, counts: IntArray, values: Any, fill: Any) -> Any:
    """Return a table with one row of values for each query, padded with `fill`; values come grouped by query."""
    table = np.full((len(counts), int(counts.max(initial=0))), fill, dtype=values.dtype)
    place = np.arange(len(query)) - np.repeat(np.cumsum(counts) - counts, counts)
    table[query, place] = values
    return table


def first_of_each(
    query: IntArray, row: IntArray, ranks: FloatArray, which: BoolArray, k: int
) -> tuple[FloatArray, IntArray]:
    """Return ranks and rows (n, k) of the k pairs of least (rank, row) for the queries that `which` marks.

    Pairs come grouped by query, at least k for each marked one. Most queries have no ties: sort by rank alone, then
    sort those that have one again by (rank, row).
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


# The result of a search.


class Result(NamedTuple):
    """Ranks and indices (n_queries, n_neighbors) of the nearest rows, nearest first."""

    ranks: FloatArray
    indices: IntArray

    @classmethod
    def empty(cls, n_queries: int, n_neighbors: int) -> Self:
        """Return arrays to be filled."""
        shape = n_queries, n_neighbors
        return cls(np.empty(shape), np.empty(shape, dtype=np.intp))


def keep_best(
    ranks: FloatArray, indices: IntArray, query: IntArray, new_ranks: FloatArray, new_indices: IntArray
) -> tuple[FloatArray, IntArray]:
    """Merge newly refined pairs into the k best so far of each query, ordered by (rank, index)."""
    n_queries, k = ranks.shape
    all_queries = np.concatenate([np.repeat(np.arange(n_queries), k), query])
    all_ranks = np.concatenate([ranks.ravel(), new_ranks])
    all_indices = np.concatenate([indices.ravel(), new_indices])
    order = np.lexsort((all_indices, all_ranks, all_queries))
    first = np.searchsorted(all_queries[order], np.arange(n_queries))
    best = order[first[:, np.newaxis] + np.arange(k)]
    return all_ranks[best], all_indices[best]


# Drop each row from its own list of neighbours.


def drop_self(distances: FloatArray, indices: IntArray, own: IntArray) -> tuple[FloatArray, IntArray]:
    """Return lists that are one shorter: without the row itself or, where that is not listed, without the last.

    A row is recognised by its index, never by its place: among duplicates another row may come first.

    Parameters
    ----------
    distances, indices : ndarray of shape (n_rows, n_neighbors + 1)
        Nearest first; the distances may be ranks.
    own : ndarray of shape (n_rows,)
        The index of each row.
    """
    listed = indices == own[:, np.newaxis]
    last = indices.shape[1] - 1
    dropped = np.where(listed.any(axis=1), listed.argmax(axis=1), last)
    kept = np.arange(last) + (np.arange(last) >= dropped[:, np.newaxis])
    return np.take_along_axis(distances, kept, axis=1), np.take_along_axis(indices, kept, axis=1)


# Equal rows: the search treats each group as one row, and its result is expanded to all of them.

_WORTH_SHARE, _WORTH_SIZE = 0.9, 16  # share of distinct rows, or size of a group, that makes grouping faster


class DuplicateRows:
    """Groups of equal rows: the `first` row of each (n_groups,), ascending, and the `group_of` each row (n_rows,)."""

    def __init__(self, first: IntArray, group_of: IntArray) -> None:
        self.first, self.group_of = first, group_of
        self._members = np.argsort(group_of, kind="stable")
        self._sizes = np.bincount(group_of)

    def expand(self, ranks: FloatArray, groups: IntArray, k: int) -> tuple[FloatArray, IntArray]:
        """Return rank and index (n_queries, k) of the k nearest rows, given those of the nearest groups.

        A group that is not among the k nearest by (rank, first row) has no row among the k nearest.
        """
        answer = np.empty((len(ranks), k)), np.empty((len(ranks), k), dtype=np.intp)
        for block in row_blocks(len(ranks), 64 * k * groups.shape[1]):
            answer[0][block], answer[1][block] = self._expand_block(ranks[block], groups[block], k)
        return answer

    def _expand_block(self, ranks: FloatArray, groups: IntArray, k: int) -> tuple[FloatArray, IntArray]:
        sizes = np.minimum(self._sizes[groups], k)
        before = np.cumsum(sizes, axis=1) - sizes
        new = np.diff(ranks, axis=1, prepend=-np.inf) > 0
        nearer = np.maximum.accumulate(np.where(new, before, 0), axis=1)  # rows of strictly smaller rank
        query, place = np.nonzero(nearer < k)
        size, group = sizes[query, place], groups[query, place]
        within = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        starts = np.cumsum(self._sizes) - self._sizes
        row = self._members[np.repeat(starts[group], size) + within]
        everyone = np.ones(len(ranks), dtype=bool)
        return first_of_each(np.repeat(query, size), row, np.repeat(ranks[query, place], size), everyone, k)


def find_duplicates(X: Matrix) -> DuplicateRows | None:
    """Return the groups of equal rows; None where they are too few to save time."""
    order, alike = _rows_of_equal_sums(X)
    if len(order) - len(alike) > _WORTH_SHARE * len(order) and len(alike) < _WORTH_SIZE:
        return None  # each equal row after the first of its group has a sum equal to the one before
    groups = _groups(X, order, alike)
    sizes = np.bincount(groups.group_of)
    few = len(sizes) > _WORTH_SHARE * len(groups.group_of) and sizes.max() <= _WORTH_SIZE
    return None if few else groups


def equal_rows(X: Matrix) -> DuplicateRows:
    """Return the groups of equal rows.

    Sorted by a sum of the features with random weights, equal rows are neighbours; then they are compared. Equal rows
    that another row with the same sum separates stay in two groups: unlikely, and the result is still right.
    """
    return _groups(X, *_rows_of_equal_sums(X))


def _rows_of_equal_sums(X: Matrix) -> tuple[IntArray, IntArray]:
    """Return the order of the rows by their sums, and the places in it after which the next row has an equal sum."""
    weights = np.random.default_rng(0).normal(size=X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        keys = X @ weights if sparse.issparse(X) else np.einsum("ij,j->i", X, weights)
    order = np.argsort(keys, kind="stable")
    in_order = keys[order]
    return order, np.flatnonzero(in_order[1:] == in_order[:-1])


def _groups(X: Matrix, order: IntArray, alike: IntArray) -> DuplicateRows:
    equal = np.zeros(len(order), dtype=bool)
    equal[alike + 1] = _rows_equal(X, order[alike], order[alike + 1])
    group_of = np.empty_like(order)
    group_of[order] = np.cumsum(~equal) - 1
    _, first, group_of = np.unique(group_of, return_index=True, return_inverse=True)
    by_first = np.argsort(first)
    return DuplicateRows(first[by_first], np.argsort(by_first)[group_of])


def _rows_equal(X: Matrix, left: IntArray, right: IntArray) -> BoolArray:
    equal = np.empty(len(left), dtype=bool)
    for block in row_blocks(len(left), 16 * X.shape[1] if not sparse.issparse(X) else 4096):
        a, b = X[left[block]], X[right[block]]
        if sparse.issparse(X):
            equal[block] = np.asarray((abs(a - b)).sum(axis=1)).ravel() == 0
        else:
            equal[block] = (a == b).all(axis=1)
    return equal


# Threads over blocks of queries; in each, linear algebra libraries and OpenMP are limited to one thread.
#
# OpenMP, because its threads do not exist in a forked child: code that counts on them waits for ever.


_Numbers: TypeAlias = list[tuple[Any, int]]  # libraries, with their numbers of threads


@cache
def _libraries() -> list[Any]:
    return [library for library in ThreadpoolController().lib_controllers if library.user_api in ("blas", "openmp")]


@cache
def _by_limit() -> tuple[list[Any], list[Any]]:
    """Return the libraries with one limit for all threads, and those in which each thread has a limit of its own."""
    own = [one for one in _libraries() if "openmp" in (one.user_api, getattr(one, "threading_layer", None))]
    return [one for one in _libraries() if one not in own], own


def _threads_of(libraries: Iterable[Any]) -> _Numbers:
    """Return the libraries that would use more than one thread, and how many."""
    used = [(library, library.num_threads) for library in libraries]
    return [(library, n_threads) for library, n_threads in used if (n_threads or 1) > 1]


def _set(numbers: _Numbers) -> None:
    """Set numbers of threads. From 3.8 on, threadpoolctl obeys one thread only, until that one gives up the right."""
    for library, n_threads in numbers:
        library.set_num_threads(n_threads)
        getattr(library, "clear_controlling_thread", bool)()


def _ones(numbers: _Numbers) -> _Numbers:
    return [(library, 1) for library, _ in numbers]


def _hold(libraries: Iterable[Any]) -> None:
    """Limit libraries to one thread in a thread that ends with its work."""
    _set(_ones(_threads_of(libraries)))


_held_for_all = ProcessSetting(lambda: _threads_of(_by_limit()[0]), _set, _ones)
_held_for_one = ThreadSetting(lambda: _threads_of(_by_limit()[1]), _set, _ones)


@contextmanager
def _one_blas_thread() -> Iterator[int]:
    """Limit the libraries to one thread in a block, and yield the number that they would use outside."""
    with _held_for_all() as of_all, _held_for_one() as of_one:
        yield max([n_threads for library, n_threads in of_all + of_one if library.user_api == "blas"], default=1)


Share = tuple[float, float]


def in_threads(
    n_jobs: int | None,
    work: Callable[..., Any],
    arguments: Iterable[tuple[Any, ...]],
    share: Share | None = (0.0, 1.0),
) -> list[Any]:
    """Return the results of `work` for each tuple of arguments, in their order.

    `n_jobs` is joblib's; None is as many threads as the linear algebra library would use. A listener gets the finished
    part of the whole work, of which this is the `share` from where to where; None: nothing.
    """
    tasks = list(arguments)
    listener = None if share is None else current_listener()
    one_is_done = None if share is None or listener is None else counter(listener, len(tasks), *share)

    def do(task: tuple[Any, ...]) -> Any:
        result = work(*task)
        if one_is_done is not None:
            one_is_done()
        return result

    with _one_blas_thread() as blas_threads:
        n_threads = min(len(tasks), blas_threads if n_jobs is None else effective_n_jobs(n_jobs))
        if n_threads <= 1:
            return [do(task) for task in tasks]
        # starts a hundred times faster than joblib's; limits of all threads are set already
        with ThreadPoolExecutor(n_threads, initializer=_hold, initargs=(_by_limit()[1],)) as pool:
            contexts = [copy_context() for _ in tasks]  # as of `kernel_level`; one context serves one thread
            return list(pool.map(lambda context, task: context.run(do, task), contexts, tasks))


_spare: list[Float32Array] = []
_SPARE_AT_MOST = 4


@contextmanager
def scratch(size: int) -> Iterator[Float32Array]:
    """Lend memory that is used again and again, by whatever thread: new memory costs as much as filling it."""
    try:
        memory = _spare.pop()
    except IndexError:
        memory = np.empty(size, dtype=np.float32)
    if len(memory) < size:
        memory = np.empty(size, dtype=np.float32)
    yield memory[:size]
    if len(_spare) < _SPARE_AT_MOST:
        _spare.append(memory)
