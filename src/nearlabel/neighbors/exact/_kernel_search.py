"""The comparison of queries with a panel by the compiled kernels: `_panel_search.py` for rows in memory.

A kernel compares a panel with many queries at a time, and only candidates leave it (kernels/offer.cpp;
kernels/offer_sparse.cpp for sparse rows, of which there is one level, in float32). First, points and lists of
candidates as the kernels take them; arrays are checked, so that no call reaches other memory. Then the panels and the
search.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.neighbors.exact import kernels
from nearlabel.neighbors.exact._candidates import NONE_YET, Candidates, Result
from nearlabel.neighbors.exact._panel_search import GemmSearch, PanelSearch, Parts, QueryPanel, most_candidates
from nearlabel.neighbors.exact._panels import (
    LARGEST_QUERY,
    PANEL_ROWS,
    Build,
    DensePanels,
    PanelRows,
    Points,
    SparsePanels,
)
from nearlabel.utils.types import CSR, BoolArray, Float32Array, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_float64, is_mapped

Int32Array = NDArray[np.int32]

MOST_ROWS = 2**31 - 1  # the kernels number rows by 32 bits
_CANDIDATE = np.dtype([("row", np.int32), ("lower", np.float32), ("upper", np.float32)])
_ALIGNED = 64  # bytes, as cache lines and the widest registers


class RowSource:
    """Dense rows of a matrix (float32 or float64, any layout), and the parameters that make points of them.

    A point is a row, divided by its length if `unit_length`, minus `centre`, times 2^exponent.
    """

    def __init__(
        self, X: NDArray[Any], rows: IntArray, centre: FloatArray, exponent: int, *, unit_length: bool
    ) -> None:
        if X.ndim != 2 or X.dtype not in (np.float32, np.float64) or centre.shape != X.shape[1:]:
            raise ValueError(f"X must be a matrix of floats with {len(centre)} features, got {X.dtype} {X.shape}.")
        rows, centre = np.ascontiguousarray(rows, dtype=np.int64), np.ascontiguousarray(centre, dtype=np.float64)
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(X):
            raise ValueError(f"rows must be numbers of the {len(X)} rows of X.")
        if not X.flags.aligned or X.strides[0] % X.itemsize or X.strides[1] % X.itemsize:
            X, rows = X[rows], np.arange(len(rows))
        self.n_rows, self.n_features = len(rows), X.shape[1]
        self._arrays = X, rows, centre  # the structure has their addresses
        self.structure = kernels.SourceStructure(
            *(X.ctypes.data, X.dtype == np.float64, unit_length, self.n_features, exponent),
            *(X.strides[0] // X.itemsize, X.strides[1] // X.itemsize, rows.ctypes.data, centre.ctypes.data),
        )

    def squares(self) -> FloatArray:
        """Return the squared length of each point."""
        squares = np.empty(self.n_rows)
        kernels.check_code(kernels.library().nearlabel_squares(self.structure, self.n_rows, squares.ctypes.data))
        return squares


@dataclass(frozen=True)
class PackedPoints:
    """Points in the format of a level, with |x|² of each, and |x| and |x - stored x| from above, for the bounds.

    Where |x|² exceeds 2^120, zeros are stored.
    """

    level: int
    as_rows: bool
    n_features: int
    depth: int
    packed: NDArray[np.uint8]
    units: Float32Array
    squares: FloatArray
    norms: Float32Array
    rests: Float32Array

    @classmethod
    def of(cls, level: str, source: RowSource, *, as_rows: bool) -> PackedPoints:
        """Pack points, as rows or as queries."""
        number, depth, n = kernels.level_numbers()[level], ctypes.c_int32(), source.n_rows
        n_bytes = kernels.library().nearlabel_packed_bytes(number, as_rows, n, source.n_features, ctypes.byref(depth))
        memory = np.zeros(n_bytes + _ALIGNED, dtype=np.uint8)
        start = -memory.ctypes.data % _ALIGNED
        units, norms, rests = np.empty((3, n), dtype=np.float32)
        packed = memory[start : start + n_bytes]
        points = cls(number, as_rows, source.n_features, depth.value, packed, units, np.empty(n), norms, rests)
        kernels.check_code(kernels.library().nearlabel_pack(number, as_rows, source.structure, points.structure))
        return points

    @cached_property
    def structure(self) -> kernels.PointsStructure:
        """The argument of the kernel; valid as long as this object lives."""
        others = [array.ctypes.data for array in (self.units, self.squares, self.norms, self.rests)]
        return kernels.PointsStructure(self.packed.ctypes.data, len(self.norms), self.depth, self.n_features, *others)

    def goes_with(self, queries: PackedPoints) -> bool:
        """Return whether the kernel compares these rows with such queries."""
        return self.level == queries.level and self.as_rows and not queries.as_rows


class KernelLists:
    """Candidates for the `n_neighbors` nearest rows of some queries, which the kernel gathers panel by panel.

    As `CandidateLists`: `limit` (n_queries,) bounds the n_neighbors-th least squared distance from above, queries with
    more than `most` candidates are `unresolved`. If `exact`, squared distances have no error and panels come in the
    order of the rows: of equal ones the first are kept.
    """

    def __init__(self, n_queries: int, n_neighbors: int, most: int, *, exact: bool, absolute: float) -> None:
        self.n_neighbors, self.exact, self._absolute = n_neighbors, exact, absolute
        self.limit = np.full(n_queries, NONE_YET, dtype=np.float32)
        self.unresolved = np.zeros(n_queries, dtype=bool)
        self._found = np.empty((n_queries, most), dtype=_CANDIDATE)
        self._n_candidates, self._n_sifted = np.zeros((2, n_queries), dtype=np.int32)

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
        arrays = self.limit, self._found, self._n_candidates, self._n_sifted, self.unresolved
        pointers = [array.ctypes.data for array in arrays]
        return kernels.ListsStructure(self.n_neighbors, self._found.shape[1], self.exact, self._absolute, *pointers)

    def panel_seen(self) -> None:
        """Do nothing: limits are tightened as candidates come."""

    def candidates(self) -> Candidates:
        """Return the candidates that are left, those of a query side by side, with the lower bounds as squares."""
        counts = np.where(self.unresolved, 0, self._n_candidates)
        width = int(counts.max(initial=0))
        found = self._found[:, :width]
        left = (np.arange(width) < counts[:, np.newaxis]) & (found["lower"] <= self.limit[:, np.newaxis])
        query = np.repeat(np.arange(len(counts)), left.sum(axis=1))
        found = found[left]
        return Candidates(query, found["row"].astype(np.intp), found["lower"], np.zeros(len(query), dtype=np.float32))


# Sparse points as the kernels take them (kernels/offer_sparse.cpp).

_DENSE_FROM = 0.08  # share of the rows that have a feature from which a dense column costs less than postings
_RUN = 64  # rows that are compared at once, as in kernels/level.h
_WORD = 64  # bits
_UP = 1 + 2.0**-20  # more than the rounding of float32 and of sums of squares


@dataclass(frozen=True)
class SparseQueries:
    """Sparse queries row by row in float32, with |x|² of each, and |x| and |x - stored x| from above."""

    n_features: int
    starts: NDArray[np.int64]
    features: Int32Array
    values: Float32Array
    squares: FloatArray
    norms: Float32Array
    rests: Float32Array

    @classmethod
    def of(cls, points: CSR, squares: FloatArray) -> SparseQueries:
        """Store points; `squares` are their squared norms."""
        _check(points, squares)
        starts, features = points.indptr.astype(np.int64), points.indices.astype(np.int32)
        values, norms, rests = _stored(points, squares)
        return cls(points.shape[1], starts, features, values, squares, norms, rests)

    @cached_property
    def structure(self) -> kernels.SparseQueriesStructure:
        """The argument of the kernel; valid as long as this object lives."""
        arrays = self.starts, self.features, self.values, self.squares, self.norms, self.rests
        return kernels.SparseQueriesStructure(len(self.norms), *[array.ctypes.data for array in arrays])


@dataclass(frozen=True)
class SparseColumns:
    """Sparse rows feature by feature in float32: dense columns of frequent features, postings of the others.

    `stored` has a bit for each feature that some row has, `before` counts them before each word of bits. For each of
    these, `columns` is the number of its dense column or -1, and `starts` where its postings begin.
    """

    n_features: int
    n_terms: int
    stored: NDArray[np.uint64]
    before: Int32Array
    starts: NDArray[np.int64]
    columns: Int32Array
    rows: NDArray[np.uint16]
    values: Float32Array
    dense: Float32Array
    squares: FloatArray
    norms: Float32Array
    rests: Float32Array

    @classmethod
    def of(cls, points: CSR, squares: FloatArray, n_terms: int) -> SparseColumns:
        """Store points, of which none has more than `n_terms` values; `squares` are their squared norms."""
        _check(points, squares)
        values, norms, rests = _stored(points, squares)
        n_rows, n_features = points.shape
        by_feature = sparse.csr_array((values, points.indices, points.indptr), shape=points.shape).tocsc()
        counts = np.diff(by_feature.indptr)
        frequent = counts > _DENSE_FROM * n_rows
        column = np.where(frequent, np.cumsum(frequent) - 1, -1).astype(np.int32)
        of_value, row = np.repeat(column, counts), by_feature.indices
        dense = np.zeros((-(-n_rows // _RUN), np.count_nonzero(frequent), _RUN), dtype=np.float32)
        in_column, in_posting = of_value >= 0, of_value < 0
        run, place = np.divmod(row[in_column], _RUN)
        dense[run, of_value[in_column], place] = by_feature.data[in_column]
        features = np.flatnonzero(counts)
        starts = np.concatenate([[0], np.cumsum(np.where(frequent, 0, counts)[features])])
        return cls(
            *(n_features, n_terms, *_bits(features, n_features), starts.astype(np.int64), column[features]),
            *(row[in_posting].astype(np.uint16), by_feature.data[in_posting], dense, squares, norms, rests),
        )

    @cached_property
    def structure(self) -> kernels.SparseRowsStructure:
        """The argument of the kernel; valid as long as this object lives."""
        arrays = (
            *(self.stored, self.before, self.starts, self.columns, self.rows, self.values, self.dense),
            *(self.squares, self.norms, self.rests),
        )
        pointers = [array.ctypes.data for array in arrays]
        return kernels.SparseRowsStructure(
            len(self.norms), self.n_features, self.n_terms, self.dense.shape[1], *pointers
        )

    @property
    def level(self) -> int:
        """The number of the only level."""
        return kernels.level_numbers()[_PLAIN]

    def goes_with(self, queries: SparseQueries) -> bool:
        """Return whether the kernel compares these rows with such queries."""
        return self.n_features == queries.n_features


def _check(points: CSR, squares: FloatArray) -> None:
    features = points.indices
    inside = len(features) == 0 or 0 <= features.min() <= features.max() < points.shape[1]
    if not (inside and kernels.is_valid_csr(points) and len(squares) == points.shape[0]):
        raise ValueError(f"points must be valid CSR rows with {points.shape[1]} features, and have a square each.")


def _stored(points: CSR, squares: FloatArray) -> tuple[Float32Array, Float32Array, Float32Array]:
    """Return the values as float32, and from above the norms of the points and of the parts that rounding drops."""
    with np.errstate(over="ignore", invalid="ignore"):  # of points out of bounds, which are not compared
        values = points.data.astype(np.float32)
        dropped = points.data - values
        row = np.repeat(np.arange(len(squares)), np.diff(points.indptr))
        rests = np.sqrt(np.bincount(row, weights=dropped * dropped, minlength=len(squares)))
        return values, *((_UP * of).astype(np.float32) for of in (np.sqrt(squares), rests))


def _bits(features: IntArray, n_features: int) -> tuple[NDArray[np.uint64], Int32Array]:
    """Return a bit for each of some ascending features, and how many there are before each word."""
    n_words = -(-n_features // _WORD)
    stored = np.zeros(n_words, dtype=np.uint64)
    np.bitwise_or.at(stored, features // _WORD, np.uint64(1) << (features % _WORD).astype(np.uint64))
    before = np.searchsorted(features, np.arange(n_words) * _WORD)
    return stored, before.astype(np.int32)


# The panels and the search.

_PLAIN = "float32"  # in which whole numbers and their sums are exact up to 2^24, and which rounds least
_SPARSE_UP_TO = 0.15  # share of values that are stored, above which a dense product costs less than the sparse kernel
_BLOCK = 32  # rows of about one norm that stay together, as many as in a block of most levels
_BYTES_OF_LISTS = 2**28  # of a group of panels
_BYTES_OF_CANDIDATE = 12


@dataclass(frozen=True)
class PackedPanel(PanelRows):
    """Training samples packed for a kernel."""

    numbers: Int32Array
    points: PackedPoints | SparseColumns


class PackedPanels(DensePanels):
    """Panels in the format of a level of the kernels: the requested one, unless it would round whole numbers."""

    def __init__(self, X: Matrix, distance: Points, rows: IntArray, build: Build, level: str) -> None:
        self._level = level
        super().__init__(X, distance, rows, build)

    @property
    def level(self) -> str:
        """The level in use."""
        return _PLAIN if self.whole else self._level

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

    def _squared_distances(self, rows: IntArray, centre: FloatArray) -> FloatArray:
        return RowSource(self._X, rows, centre, 0, unit_length=self._distance.unit_length).squares()


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

    Queries that a level cannot resolve are searched for in float32, and then by float64 bounds.
    """

    _panels: PackedPanels | PackedSparsePanels

    def __init__(self, parts: Parts, *, level: str) -> None:
        self._level = level
        super().__init__(parts)

    def _make_panels(self, build: Build) -> PackedPanels | PackedSparsePanels:
        if sparse.issparse(self._X):
            return PackedSparsePanels(self._X, self._distance, self._pointed, build)
        return PackedPanels(self._X, self._distance, self._pointed, build, self._level)

    def _new_lists(self, n_queries: int, n_neighbors: int, *, exact: bool) -> KernelLists:
        most, absolute = most_candidates(n_neighbors), self._panels.absolute
        return KernelLists(n_queries, n_neighbors, most, exact=exact, absolute=absolute)

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
            if tile.packed is None:
                tile.packed = panels.packed(tile.X, tile.numbers, panel.centre)
            packed, places = tile.packed, np.where(takes, np.arange(len(takes), dtype=np.int32), np.int32(-1))
        tile.lists.unresolved[places[~(packed.squares <= LARGEST_QUERY**2) & (places >= 0)]] = True
        tile.lists.offer(panel.points, panel.numbers, packed, places, tile.own, of_rows)

    def _compare_rows(self, member: QueryPanel, number: int, takes: BoolArray) -> None:
        self._compare_tile(self._queries(member), number, takes)

    def _compare_both(self, one: QueryPanel, other: QueryPanel) -> None:
        with ExitStack() as locks:
            for member in sorted((one, other), key=lambda member: member.number):  # always in this order: no deadlock
                locks.enter_context(member.lock)
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

    def _panels_per_group(self, n_neighbors: int) -> int:
        return max(2, _BYTES_OF_LISTS // (PANEL_ROWS * most_candidates(n_neighbors) * _BYTES_OF_CANDIDATE))

    def _resolve(self, X: Matrix, numbers: IntArray, result: Result, n_jobs: int | None, *, drop_self: bool) -> None:
        if self._panels.level != _PLAIN:
            numbers = self._in_float32._search_in_tiles(X, numbers, result, n_jobs, drop_self=drop_self)
        if len(numbers):
            super()._resolve(X, numbers, result, n_jobs, drop_self=drop_self)

    @cached_property
    def _in_float32(self) -> KernelSearch:
        return KernelSearch(self._parts, level=_PLAIN)

    def __reduce__(self) -> tuple[Any, ...]:
        """Be built again where it is loaded: another processor may have other levels."""
        return point_search, (self._parts,)


def point_search(parts: Parts) -> PanelSearch:
    """Return the search by the kernels, or by products where there are none for these rows."""
    X, level = parts.X, kernels.kernel_in_use()
    full = sparse.issparse(X) and X.nnz > _SPARSE_UP_TO * X.shape[0] * X.shape[1]
    if level == kernels.OFF or is_mapped(X) or full or X.shape[0] > MOST_ROWS:
        return GemmSearch(parts, resident=not is_mapped(X))
    return KernelSearch(parts, level=level)
