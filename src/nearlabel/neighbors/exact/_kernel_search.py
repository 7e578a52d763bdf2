"""The comparison of queries with a panel by the compiled kernels: `_panel_search.py` for rows in memory.

A kernel compares a panel with many queries at a time, and only candidates leave it (kernels/offer.cpp;
kernels/offer_sparse.cpp for sparse rows, of which there is one level, in float32).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from nearlabel.neighbors.exact._candidates import Result
from nearlabel.neighbors.exact._distances import PointDistance
from nearlabel.neighbors.exact._kernel_lists import (
    MOST_ROWS,
    Int32Array,
    KernelLists,
    PackedPoints,
    RowSource,
    SparseColumns,
    SparseQueries,
)
from nearlabel.neighbors.exact._kernels import OFF, kernel_in_use
from nearlabel.neighbors.exact._pairs import as_float64
from nearlabel.neighbors.exact._panel_search import GemmSearch, PanelSearch, QueryPanel, most_candidates
from nearlabel.neighbors.exact._panels import LARGEST_QUERY, PANEL_ROWS, DensePanels, Layout, SparsePanels
from nearlabel.utils.types import CSR, BoolArray, FloatArray, IntArray, Matrix

_PLAIN = "float32"  # in which whole numbers and their sums are exact up to 2^24, and which rounds least
_SPARSE_UP_TO = 0.15  # share of values that are stored, above which a dense product costs less than the sparse kernel
_BLOCK = 32  # rows of about one norm that stay together, as many as in a block of most levels
_BYTES_OF_LISTS = 2**28  # of a group of panels
_BYTES_OF_CANDIDATE = 12


@dataclass(frozen=True)
class PackedPanel:
    """Training samples stored together, packed for a kernel; the other fields are those of `Panel`."""

    rows: IntArray
    numbers: Int32Array
    points: PackedPoints | SparseColumns
    centre: FloatArray
    middle: FloatArray
    radius: float

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.rows)


class PackedPanels(DensePanels):
    """Panels in the format of a level of the kernels."""

    def __init__(self, X: Matrix, distance: PointDistance, rows: IntArray, level: str, n_jobs: int | None) -> None:
        self._level = level
        super().__init__(X, distance, rows, resident=True, n_jobs=n_jobs)
        self.absolute, self.centre = self._absolute, self._centre

    @property
    def level(self) -> str:
        """The requested level, unless it would round whole numbers."""
        return _PLAIN if self.whole else self._level

    def packed_queries(self, X: Matrix, rows: IntArray, centre: FloatArray) -> PackedPoints:
        """Return some rows of X as factors for the panels of a centre."""
        return PackedPoints.of(self.level, self._source(X, rows, centre), as_rows=False)

    def _stored(self, layout: Layout) -> PackedPanel:
        rows, _, centre, middle, radius = layout
        if not self.whole:
            rows = _spread(rows)
        packed = PackedPoints.of(self.level, self._source(self._X, rows, centre), as_rows=True)
        return PackedPanel(rows, rows.astype(np.int32), packed, centre, middle, radius)

    def _squared_distances(self, rows: IntArray, centre: FloatArray) -> FloatArray:
        return RowSource(self._X, rows, centre, 0, unit_length=self._distance.unit_length).squares()

    def _source(self, X: Matrix, rows: IntArray, centre: FloatArray) -> RowSource:
        return RowSource(X, rows, centre, self._exponent, unit_length=self._distance.unit_length)


def _spread(rows: IntArray) -> IntArray:
    """Reorder blocks of rows: each comes about a golden section after the one before.

    Sorted by norm, rows may come ever nearer to a query, each of them a candidate. So the limit is soon low.
    """
    n_blocks = len(rows) // _BLOCK
    step = next(step for step in count(max(1, int(0.618 * n_blocks))) if math.gcd(step, n_blocks) == 1)
    whole = rows[: n_blocks * _BLOCK].reshape(n_blocks, _BLOCK)
    return np.concatenate([whole[np.arange(n_blocks) * step % max(1, n_blocks)].ravel(), rows[n_blocks * _BLOCK :]])


class PackedSparsePanels(SparsePanels):
    """Panels of sparse rows, feature by feature."""

    level = _PLAIN  # the only one for sparse rows

    def __init__(self, X: CSR, distance: PointDistance, rows: IntArray, n_jobs: int | None) -> None:
        super().__init__(X, distance, rows, resident=True, n_jobs=n_jobs)
        self.absolute, self.centre = self._absolute, self._centre

    def packed_queries(self, X: CSR, rows: IntArray, centre: FloatArray) -> SparseQueries:
        """Return some rows of X as factors."""
        with np.errstate(over="ignore"):
            return SparseQueries.of(*self._scaled(self._distance.points(as_float64(X[rows]))))

    def _make(self, rows: IntArray) -> Any:
        packed = SparseColumns.of(*self._scaled(self._points(rows)), self.n_terms)
        return PackedPanel(rows, rows.astype(np.int32), packed, self._centre, self._centre, np.inf)


AnyPanels: TypeAlias = PackedPanels | PackedSparsePanels


@dataclass
class _Queries:
    """Some rows of X as queries: their candidates, and as factors for the panels of the common centre.

    `own` are their numbers, where they are training samples.
    """

    X: Matrix
    numbers: IntArray
    lists: KernelLists
    own: Int32Array | None
    packed: PackedPoints | SparseQueries | None = None

    def packed_for(self, centre: FloatArray, takes: BoolArray, panels: AnyPanels) -> tuple[Any, Int32Array]:
        """Return them packed for a panel that `takes` are compared with, and their places in the lists, or -1.

        For a centre that a panel has for itself only those that are compared are packed. Those out of bounds become
        unresolved.
        """
        if centre is not panels.centre:
            places = np.flatnonzero(takes).astype(np.int32)
            packed = panels.packed_queries(self.X, self.numbers[places], centre)
        else:
            if self.packed is None:
                self.packed = panels.packed_queries(self.X, self.numbers, centre)
            packed, places = self.packed, np.where(takes, np.arange(len(takes), dtype=np.int32), np.int32(-1))
        self.lists.unresolved[places[~(packed.squares <= LARGEST_QUERY**2) & (places >= 0)]] = True
        return packed, places


class KernelSearch(PanelSearch):
    """Find candidates by a level of the kernels.

    Queries that a level cannot resolve are searched for in float32, and then by float64 bounds.
    """

    _panels: AnyPanels

    def __init__(self, X: Matrix, distance: PointDistance, *, level: str, n_jobs: int | None) -> None:
        self._level, self._n_jobs = level, n_jobs
        super().__init__(X, distance, n_jobs=n_jobs)

    def _make_panels(self, n_jobs: int | None) -> AnyPanels:
        if sparse.issparse(self._X):
            return PackedSparsePanels(self._X, self._distance, self._pointed, n_jobs)
        return PackedPanels(self._X, self._distance, self._pointed, self._level, n_jobs)

    def _new_lists(self, n_queries: int, n_neighbors: int, *, exact: bool) -> KernelLists:
        most, absolute = most_candidates(n_neighbors), self._panels.absolute
        return KernelLists(n_queries, n_neighbors, most, exact=exact, absolute=absolute)

    def _tile(self, rows: Matrix, own: IntArray | None, lists: KernelLists) -> _Queries:
        return _Queries(rows, np.arange(rows.shape[0]), lists, None if own is None else own.astype(np.int32))

    def _compare_tile(self, tile: _Queries, number: int, takes: BoolArray) -> None:
        if takes.any():
            self._offer(number, tile, takes)

    def _compare_rows(self, member: QueryPanel, number: int, takes: BoolArray) -> None:
        self._offer(number, self._queries(member), takes)

    def _compare_both(self, one: QueryPanel, other: QueryPanel) -> None:
        with ExitStack() as locks:
            for member in sorted((one, other), key=lambda member: member.number):  # always in this order: no deadlock
                locks.enter_context(member.lock)
            self._offer(one.number, self._queries(other), np.ones(other.panel.n_rows, dtype=bool), one.lists)

    def _offer(
        self, number: int, queries: _Queries, takes: BoolArray, lists_of_rows: KernelLists | None = None
    ) -> None:
        panel: Any = self._panels.panel(number)  # PackedPanel
        packed, places = queries.packed_for(panel.centre, takes, self._panels)
        queries.lists.offer(panel.points, panel.numbers, packed, places, queries.own, lists_of_rows)

    def _queries(self, member: QueryPanel) -> _Queries:
        if member.factor is None:
            member.factor = _Queries(self._X, member.numbers, member.lists, member.panel.numbers)
        queries: _Queries = member.factor
        return queries

    def _pairs(self, members: Sequence[QueryPanel]) -> Iterator[tuple[QueryPanel, QueryPanel]]:
        """Yield all pairs, as many as possible without a common panel one after the other: each locks its panels."""
        circle = [*members, *[None] * (len(members) % 2)]
        for _ in range(len(circle) - 1):
            for one, other in zip(circle[: len(circle) // 2], reversed(circle), strict=False):
                if one is not None and other is not None:
                    yield one, other
            circle.insert(1, circle.pop())

    def _panels_per_group(self, n_neighbors: int) -> int:
        return max(2, _BYTES_OF_LISTS // (PANEL_ROWS * most_candidates(n_neighbors) * _BYTES_OF_CANDIDATE))

    def _resolve(self, X: Matrix, numbers: IntArray, result: Result, n_jobs: int | None, *, drop_self: bool) -> None:
        if self._panels.level != _PLAIN:
            numbers = self._plain._search_in_tiles(X, numbers, result, n_jobs, drop_self=drop_self)
        if len(numbers):
            super()._resolve(X, numbers, result, n_jobs, drop_self=drop_self)

    @property
    def _plain(self) -> KernelSearch:
        """The same search in float32, made when it is needed first."""
        if not hasattr(self, "_in_float32"):
            self._in_float32 = KernelSearch(self._X, self._distance, level=_PLAIN, n_jobs=self._n_jobs)
        return self._in_float32

    def __reduce__(self) -> tuple[Any, ...]:
        """Be built again where it is loaded: another processor may have other levels."""
        return point_search, (self._X, self._distance, self._n_jobs)


def point_search(X: Matrix, distance: PointDistance, n_jobs: int | None) -> PanelSearch:
    """Return the search by the kernels, or by products where there are none for these rows."""
    level = kernel_in_use()
    full = sparse.issparse(X) and X.nnz > _SPARSE_UP_TO * X.shape[0] * X.shape[1]
    if level == OFF or is_mapped(X) or full or X.shape[0] > MOST_ROWS:
        return GemmSearch(X, distance, resident=not is_mapped(X), n_jobs=n_jobs)
    return KernelSearch(X, distance, level=level, n_jobs=n_jobs)


def is_mapped(X: Matrix) -> bool:
    """Return whether rows are mapped from a file."""
    part = X.data if sparse.issparse(X) else X
    while isinstance(part, np.ndarray) and not isinstance(part, np.memmap):
        part = part.base
    return isinstance(part, np.memmap)
