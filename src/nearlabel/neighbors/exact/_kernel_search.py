"""The comparison of queries with a panel by the compiled kernels.

A kernel compares a panel with many queries at a time, and only candidates leave it (kernels/offer.cpp;
kernels/offer_sparse.cpp for sparse rows, of which there is one level, in float32). First, lists of candidates as the
kernels take them; then the panels and the search.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.neighbors.exact import kernels
from nearlabel.neighbors.exact._candidates import NONE_YET, Candidates, Result
from nearlabel.neighbors.exact._gemm_search import GemmSearch
from nearlabel.neighbors.exact._kernel_points import (
    PLAIN,
    Int32Array,
    PackedPoints,
    RowSource,
    SparseColumns,
    SparseQueries,
)
from nearlabel.neighbors.exact._panel_search import (
    PanelSearch,
    Parts,
    QueryPanel,
    both_locked,
    least_candidates,
    most_candidates,
)
from nearlabel.neighbors.exact._panels import (
    LARGEST_QUERY,
    PANEL_ROWS,
    Build,
    DensePanels,
    PanelRows,
    Points,
    SparsePanels,
)
from nearlabel.utils.memory import free_bytes
from nearlabel.utils.types import CSR, BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_float64, is_mapped

MOST_ROWS = 2**31 - 1  # the kernels number rows by 32 bits
_CANDIDATE = np.dtype([("row", np.int32), ("lower", np.float32), ("upper", np.float32)])


class Room:
    """Memory for the candidates of several lists, which begin with `first` places and take more as they grow."""

    def __init__(self, n_candidates: int, first: int) -> None:
        self.first = first
        self.candidates = np.empty(n_candidates, dtype=_CANDIDATE)  # only what is used becomes memory of the process
        self.n_used = np.zeros(1, dtype=np.int64)  # more than there is, once a list found no room
        self._lock = Lock()

    @property
    def is_exhausted(self) -> bool:
        """Whether a list found no room to grow."""
        return int(self.n_used[0]) > len(self.candidates)

    def take(self, n_candidates: int) -> int:
        """Return the first place of a part that is used from now on."""
        with self._lock:
            start = int(self.n_used[0])
            self.n_used[0] += n_candidates
        return start


class KernelLists:
    """Candidates for the `n_neighbors` nearest rows of some queries, which the kernel gathers panel by panel.

    As `CandidateLists`: `limit` (n_queries,) bounds the n_neighbors-th least squared distance from above, queries with
    more than `most` candidates are `unresolved`. If `exact`, squared distances have no error and panels come in the
    order of the rows: of equal ones the first are kept. Lists in a `room` that they share begin small and grow;
    `n_candidates` (n_queries,) are their lengths.
    """

    def __init__(
        self, n_queries: int, n_neighbors: int, most: int, *, exact: bool, absolute: float, room: Room | None = None
    ) -> None:
        self.n_neighbors, self.exact, self._absolute = n_neighbors, exact, absolute
        self.limit = np.full(n_queries, NONE_YET, dtype=np.float32)
        self.unresolved = np.zeros(n_queries, dtype=bool)
        self._most = most
        self._room = Room(n_queries * most, most) if room is None else room
        first = self._room.first
        self._starts = self._room.take(n_queries * first) + first * np.arange(n_queries, dtype=np.int64)
        if self._room.is_exhausted:
            raise ValueError(f"room must have place for {n_queries} lists of {first}, got {self._room.n_used} before.")
        self._capacities = np.full(n_queries, first, dtype=np.int32)
        self.n_candidates, self._n_sifted = np.zeros((2, n_queries), dtype=np.int32)

    def offer(
        self,
        rows: Any,
        numbers: Int32Array,
        queries: Any,
        places: Int32Array,
        own: Int32Array | None,
        of_rows: KernelLists | None = None,
    ) -> None:
        """Add the rows of a panel that may be among the nearest of some queries.

        `numbers` are the rows' numbers, `places` those of the packed queries in these lists, -1 where a query takes
        none. No row is a candidate for the query whose `own` number, by its place, it has. To `of_rows`, the lists of
        the rows, the queries are added by their own numbers.
        """
        n_rows, n_lists = len(rows.norms), len(self.limit)
        fit = len(numbers) == n_rows and len(places) == len(queries.norms) and (own is None or len(own) == n_lists)
        if not (fit and rows.goes_with(queries) and (of_rows is None or len(of_rows.limit) == n_rows)):
            raise ValueError("rows, numbers, queries, places and own must be for each other and match in length.")
        if len(places) and not -1 <= places.min() <= places.max() < n_lists:
            raise ValueError(f"places must be below {n_lists}, got {places.max()}.")
        for of in (numbers, places, own):
            if of is not None and (of.dtype != np.int32 or not of.flags.c_contiguous):
                raise ValueError(f"numbers of rows must be contiguous int32, got {of.dtype}.")
        pointers = [None if of is None else of.ctypes.data for of in (numbers, places, own)]
        lists = self.structure, None if of_rows is None else of_rows.structure
        kernel = (
            kernels.library().nearlabel_offer
            if isinstance(rows, PackedPoints)
            else kernels.library().nearlabel_offer_sparse
        )
        kernels.check_code(kernel(rows.level, rows.structure, pointers[0], queries.structure, *pointers[1:], *lists))

    @cached_property
    def structure(self) -> kernels.ListsStructure:
        """The argument of the kernel; valid as long as this object lives."""
        room = self._room.candidates
        arrays = self._room.n_used, self._starts, self._capacities, self.n_candidates, self._n_sifted, self.unresolved
        pointers = [array.ctypes.data for array in arrays]
        return kernels.ListsStructure(
            *(self.n_neighbors, self._most, self.exact, self._absolute),
            *(self.limit.ctypes.data, room.ctypes.data, len(room), *pointers),
        )

    def offer_panels(self, panels: Panels, order: Int32Array, queries: PackedPoints, lower: FloatArray) -> None:
        """Add the rows of some panels, in this order, that may be among the nearest of the queries.

        A query takes none of a panel if the squared distances to its rows are above the query's limit; `lower`
        (n_queries, n_panels) are bounds from below.
        """
        n_lists = len(self.limit)
        fit = len(queries.norms) == n_lists and lower.shape == (n_lists, len(panels)) and panels.go_with(queries)
        if not (fit and lower.flags.c_contiguous and order.flags.c_contiguous):
            raise ValueError("panels, queries and lower bounds must be for each other and match in length.")
        if order.dtype != np.int32 or lower.dtype != np.float64:
            raise ValueError(f"order must be int32 and lower float64, got {order.dtype} and {lower.dtype}.")
        kernels.check_code(
            kernels.library().nearlabel_offer_panels(
                *(queries.level, panels.structure, order.ctypes.data, len(order), lower.ctypes.data),
                *(queries.structure, self.structure),
            )
        )

    def panel_seen(self) -> None:
        """Do nothing: limits are tightened as candidates come."""

    def candidates(self) -> Candidates:
        """Return the candidates that are left, those of a query side by side, with the lower bounds as squares."""
        counts = np.where(self.unresolved, 0, self.n_candidates)
        query = np.repeat(np.arange(len(counts)), counts)
        before = np.cumsum(counts) - counts
        found = self._room.candidates[np.arange(len(query)) + (self._starts - before)[query]]
        left = found["lower"] <= self.limit[query]
        query, found = query[left], found[left]
        return Candidates(query, found["row"].astype(np.intp), found["lower"], np.zeros(len(query), dtype=np.float32))


# The panels and the search.

_SPARSE_UP_TO = 0.15  # share of values that are stored, above which a dense product costs less than the sparse kernel
_BLOCK = 32  # rows of about one norm that stay together, as many as in a block of most levels
_BYTES_OF_VALUE, _BYTES_OF_ROW = 6, 40  # packed, at most: float32, and of sparse rows the number of the row
_CANDIDATES_OF_GROUP = 2**25  # of panels whose comparisons serve both: 384 MiB
_CANDIDATES_AT_FIRST = 2 / 3  # the lists of a group begin with this share of its room; they grow into the rest
_ROWS_THAT_TELL, _MAY_GROW = 256, 1 / 8  # rows that show how long lists become; the share of lists that may grow
_FEW_QUERIES = 64  # for which calls of a kernel cost more than its work
_MOST_OF_MEMORY = 0.25  # of the free memory, for candidates, and for the packed panels of rows mapped from a file
_FEW_CANDIDATES = 2**22  # for which there is always memory: 48 MiB
_TILES_IN_ONE = 8  # of queries for which each panel is packed


@dataclass(frozen=True)
class PackedPanel(PanelRows):
    """Training samples packed for a kernel."""

    numbers: Int32Array
    points: PackedPoints | SparseColumns


class PanelLayout(NamedTuple):
    """What packed panels of some rows have in common: points are scaled by 2^exponent."""

    centre: FloatArray
    exponent: int
    whole: bool
    bounded: bool


class Panels:
    """Dense panels with one centre, as the kernel takes them all at once."""

    def __init__(self, panels: Sequence[PackedPanel]) -> None:
        self._panels = panels
        rows = [ctypes.addressof(panel.points.structure) for panel in panels]
        numbers = [panel.numbers.ctypes.data for panel in panels]
        self._pointers = [(ctypes.c_void_p * len(panels))(*of) for of in (rows, numbers)]
        self.structure = kernels.PanelsStructure(len(panels), *map(ctypes.addressof, self._pointers))

    def __len__(self) -> int:
        """Return the number of panels."""
        return len(self._panels)

    def go_with(self, queries: PackedPoints) -> bool:
        """Return whether the kernel compares these rows with such queries."""
        points: Any = self._panels[0].points
        return bool(points.goes_with(queries))


class PackedPanels(DensePanels):
    """Panels in the format of a level of the kernels: the requested one, unless it would round whole numbers."""

    def __init__(self, X: Matrix, distance: Points, rows: IntArray, build: Build | None, level: str) -> None:
        self._level = level
        super().__init__(X, distance, rows, build)

    @classmethod
    def of_panels(
        cls, X: Matrix, distance: Points, level: str, panels: list[PackedPanel], layout: PanelLayout
    ) -> PackedPanels:
        """Return panels that were packed before."""
        made = cls.__new__(cls)
        made._X, made._level, made.centre = X, level, layout.centre
        made.whole, made.bounded = layout.whole, layout.bounded
        reach = math.ldexp(0.75, 30 - layout.exponent) if layout.exponent else 0.0  # one that has this exponent
        made._set_scale(distance, X.shape[1], reach)
        made._set_leaves([panel.rows for panel in panels], lambda *_: panels)
        return made

    @property
    def layout(self) -> PanelLayout:
        """What the panels have in common."""
        return PanelLayout(self.centre, self._exponent, self.whole, self.bounded)

    def blank(self) -> BoolArray:
        """Return which rows are in no panel."""
        blank = np.ones(self._X.shape[0], dtype=bool)
        blank[np.concatenate(self._leaves)] = False
        return blank

    @property
    def level(self) -> str:
        """The level in use."""
        return PLAIN if self.whole else self._level

    def packed(self, X: Matrix, rows: IntArray, centre: FloatArray, *, as_rows: bool = False) -> PackedPoints:
        """Return some rows of X as factors for the panels of a centre, or as rows of a panel."""
        source = RowSource(X, rows, centre, self._exponent, unit_length=self._distance.unit_length)
        return PackedPoints.of(self.level, source, as_rows=as_rows)

    def _stored(
        self, rows: IntArray, squares: FloatArray, centre: FloatArray, middle: FloatArray, radius: float
    ) -> PackedPanel:
        if not self.whole:
            rows = _spread(rows)
        packed = self.packed(self._X, rows, centre, as_rows=True)
        return PackedPanel(len(rows), rows, centre, middle, radius, rows.astype(np.int32), packed)

    def _squared_distances(self, rows: IntArray, centres: FloatArray) -> FloatArray:
        return RowSource(self._X, rows, self.centre, 0, unit_length=self._distance.unit_length).squares(centres)


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

    level = PLAIN  # the only one for sparse rows

    def packed(self, X: CSR, rows: IntArray, centre: FloatArray) -> SparseQueries:
        """Return some rows of X as factors."""
        with np.errstate(over="ignore"):
            return SparseQueries.of(*self._scaled(self._distance.points(as_float64(X[rows]))))

    def _make(self, rows: IntArray) -> Any:
        packed = SparseColumns.of(*self._scaled(self._points(rows)), self.n_terms)
        return PackedPanel(len(rows), rows, self.centre, self.centre, np.inf, rows.astype(np.int32), packed)


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


class KernelSearch(PanelSearch):
    """Find candidates by a level of the kernels.

    Queries that a level cannot resolve are searched for in float32, and then by float64 bounds. Panels of rows that are
    mapped from a file are packed once if they fit into a part of the memory, else whenever queries need them.
    """

    _panels: PackedPanels | PackedSparsePanels

    def __init__(self, parts: Parts, *, level: str, panels: PackedPanels | None = None) -> None:
        self._level = level
        is_small = not is_mapped(parts.X) or packed_bytes(parts.X) <= _MOST_OF_MEMORY * free_bytes()
        self._keeps_panels = panels is not None or is_small
        super().__init__(parts, panels)

    def _make_panels(self, build: Build) -> PackedPanels | PackedSparsePanels:
        if sparse.issparse(self._X):
            return PackedSparsePanels(self._X, self._distance, self._pointed, build if self._keeps_panels else None)
        return PackedPanels(self._X, self._distance, self._pointed, build if self._keeps_panels else None, self._level)

    def _queries_per_tile(self) -> int:
        return super()._queries_per_tile() * (1 if self._keeps_panels else _TILES_IN_ONE)

    def _new_lists(self, n_queries: int, n_neighbors: int, *, exact: bool, room: Room | None = None) -> KernelLists:
        most, absolute = most_candidates(n_neighbors), self._panels.absolute
        return KernelLists(n_queries, n_neighbors, most, exact=exact, absolute=absolute, room=room)

    def _tile(self, rows: Matrix, own: IntArray | None, lists: KernelLists) -> _Queries:
        return _Queries(rows, np.arange(rows.shape[0]), lists, None if own is None else own.astype(np.int32))

    def _compare_tile(self, tile: _Queries, number: int, takes: BoolArray, of_rows: KernelLists | None = None) -> None:
        """Find candidates in a panel for the queries that `takes` marks, and in these for the panel's rows.

        For a centre that a panel has for itself only the queries that are compared are packed. Those out of bounds
        become unresolved.
        """
        panels, panel = self._panels, self._panels.panel(number)
        if panel.centre is not panels.centre:
            places = np.flatnonzero(takes).astype(np.int32)
            packed = panels.packed(tile.X, tile.numbers[places], panel.centre)
        else:
            packed = self._packed_tile(tile)
            places = np.where(takes, np.arange(len(takes), dtype=np.int32), np.int32(-1))
        tile.lists.unresolved[places[~(packed.squares <= LARGEST_QUERY**2) & (places >= 0)]] = True
        tile.lists.offer(panel.points, panel.numbers, packed, places, tile.own, of_rows)

    def _packed_tile(self, tile: _Queries) -> Any:
        """Return queries as factors for the panels of the common centre."""
        if tile.packed is None:
            tile.packed = self._panels.packed(tile.X, tile.numbers, self._panels.centre)
        return tile.packed

    def _compare_in_order(self, tile: _Queries, lists: KernelLists, order: IntArray, lower: FloatArray) -> None:
        if len(lower) > _FEW_QUERIES or self._centred_alike is None or tile.own is not None:
            super()._compare_in_order(tile, lists, order, lower)
            return
        numbers, panels = self._centred_alike
        alike = np.isin(order, numbers)
        super()._compare_in_order(tile, lists, order[~alike], lower)
        packed = self._packed_tile(tile)
        lists.unresolved[~(packed.squares <= LARGEST_QUERY**2)] = True
        places = np.searchsorted(numbers, order[alike]).astype(np.int32)
        lists.offer_panels(panels, places, packed, np.ascontiguousarray(lower[:, numbers], dtype=np.float64))

    @cached_property
    def _centred_alike(self) -> tuple[IntArray, Panels] | None:
        """The numbers of the dense panels that have the common centre, and the panels."""
        if isinstance(self._panels, PackedSparsePanels) or not self._keeps_panels:
            return None
        panels = [self._panels.panel(number) for number in range(self._panels.n_panels)]
        numbers = [number for number, panel in enumerate(panels) if panel.centre is self._panels.centre]
        return (np.array(numbers), Panels([panels[number] for number in numbers])) if numbers else None

    def _compare_rows(self, member: QueryPanel, number: int, takes: BoolArray) -> None:
        self._compare_tile(self._queries(member), number, takes)

    def _compare_both(self, one: QueryPanel, other: QueryPanel) -> None:
        with both_locked(one, other):
            everyone = np.ones(other.panel.n_rows, dtype=bool)
            self._compare_tile(self._queries(other), one.number, everyone, one.lists)

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

    def _new_room(self, n_panels: int, n_neighbors: int) -> Room:
        first, most = self._first_places(n_neighbors), most_candidates(n_neighbors)
        n_rows = n_panels * PANEL_ROWS
        for_all = n_rows * (first if first == most else 2 * most)  # a list that moves leaves its places
        least = max(n_rows * first, 2 * for_all // n_panels)
        return Room(min(for_all, max(self._most_of_group(n_neighbors), least)), first)

    def _panels_per_group(self, n_neighbors: int) -> int:
        first, most = self._first_places(n_neighbors), most_candidates(n_neighbors)
        share = 1 if first == most else _CANDIDATES_AT_FIRST
        n_panels = int(share * self._most_of_group(n_neighbors)) // (PANEL_ROWS * first)
        if not self._keeps_panels:  # a group keeps its own, as rows and as queries
            bytes_of_panel = 2 * packed_bytes(self._X) // self._panels.n_panels
            n_panels = min(n_panels, int(_MOST_OF_MEMORY * free_bytes()) // bytes_of_panel)
        return max(2, n_panels)

    def _most_of_group(self, n_neighbors: int) -> int:
        """Return how many candidates a group of panels may have: fewer if memory, or space for addresses, is short."""
        n_candidates = min(_CANDIDATES_OF_GROUP, self._panels.n_panels * PANEL_ROWS * 2 * most_candidates(n_neighbors))
        if n_candidates <= _FEW_CANDIDATES:
            return n_candidates
        return min(n_candidates, int(_MOST_OF_MEMORY * free_bytes()) // _CANDIDATE.itemsize)

    def _first_places(self, n_neighbors: int) -> int:
        """Return with how many places the lists of rows begin: what most of some rows need, if memory may be short."""
        first, most = least_candidates(n_neighbors), most_candidates(n_neighbors)
        n_panels = self._panels.n_panels
        if self._panels.whole or n_panels * PANEL_ROWS * 2 * most <= _CANDIDATES_OF_GROUP:
            return min(first, most)
        numbers = self._pointed[:: -(-len(self._pointed) // _ROWS_THAT_TELL)]
        lists = self._new_lists(len(numbers), min(n_neighbors, len(self._pointed) - 1), exact=False)
        lower = self._lower_bounds(self._X, numbers, range(n_panels))
        self._compare_in_order(self._tile(self._X[numbers], numbers, lists), lists, np.arange(n_panels), lower)
        needed = lists.n_candidates + n_neighbors  # as many come before a list is sifted
        while first < most and np.mean(needed > first) > _MAY_GROW:
            first *= 2
        return min(first, most)

    def _resolve(self, X: Matrix, numbers: IntArray, result: Result, n_jobs: int | None, *, drop_self: bool) -> None:
        if self._panels.level != PLAIN:
            numbers = self._in_float32._search_in_tiles(X, numbers, result, n_jobs, drop_self=drop_self)
        if len(numbers):
            super()._resolve(X, numbers, result, n_jobs, drop_self=drop_self)

    @cached_property
    def _in_float32(self) -> KernelSearch:
        return KernelSearch(self._parts, level=PLAIN)

    def __reduce__(self) -> tuple[Any, ...]:
        """Be built again where it is loaded: another processor may have other levels."""
        return point_search, (self._parts,)


def point_search(parts: Parts) -> PanelSearch:
    """Return the search by the kernels, or by products where there are none for these rows."""
    X, level = parts.X, kernels.kernel_in_use()
    full = sparse.issparse(X) and X.nnz > _SPARSE_UP_TO * X.shape[0] * X.shape[1]
    if level == kernels.OFF or full or X.shape[0] > MOST_ROWS:
        return GemmSearch(parts, resident=not is_mapped(X))
    return KernelSearch(parts, level=level)


def packed_bytes(X: Matrix) -> int:
    """Return about how much memory the packed panels of rows take."""
    n_values = X.nnz if sparse.issparse(X) else X.size
    return int(n_values * _BYTES_OF_VALUE + X.shape[0] * _BYTES_OF_ROW)
