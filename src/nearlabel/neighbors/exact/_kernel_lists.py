"""Points and candidates as the kernels take them; arrays are checked, so that no call reaches other memory."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.neighbors.exact._candidates import NONE_YET, Candidates
from nearlabel.neighbors.exact._kernels import (
    ListsStructure,
    PointsStructure,
    SourceStructure,
    SparseQueriesStructure,
    SparseRowsStructure,
    check_code,
    is_valid_csr,
    level_numbers,
    library,
)
from nearlabel.neighbors.exact._panels import Float32Array
from nearlabel.utils.types import CSR, FloatArray, IntArray

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
        self._rows = np.ascontiguousarray(rows, dtype=np.int64)
        if len(self) and not 0 <= self._rows.min() <= self._rows.max() < len(X):
            raise ValueError(f"rows must be numbers of the {len(X)} rows of X.")
        self._X = X
        if not (X.flags.aligned and all(stride % X.itemsize == 0 for stride in X.strides)):
            self._X, self._rows = X[self._rows], np.arange(len(self._rows))
        self._centre = np.ascontiguousarray(centre, dtype=np.float64)
        self.n_features, self._exponent, self._unit_length = X.shape[1], exponent, unit_length

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    @cached_property
    def structure(self) -> SourceStructure:
        """The argument of the kernel; valid as long as this object lives."""
        X = self._X
        strides = (stride // X.itemsize for stride in X.strides)
        return SourceStructure(
            X.ctypes.data, X.dtype == np.float64, self._unit_length, self.n_features, self._exponent, *strides,
            self._rows.ctypes.data, self._centre.ctypes.data,
        )  # fmt: skip

    def squares(self) -> FloatArray:
        """Return the squared length of each point."""
        squares = np.empty(len(self))
        check_code(library().nearlabel_squares(self.structure, len(self), squares.ctypes.data))
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
        number, depth, n = level_numbers()[level], ctypes.c_int32(), len(source)
        n_bytes = library().nearlabel_packed_bytes(number, as_rows, n, source.n_features, ctypes.byref(depth))
        memory = np.zeros(n_bytes + _ALIGNED, dtype=np.uint8)
        start = -memory.ctypes.data % _ALIGNED
        units, norms, rests = (np.empty(n, dtype=np.float32) for _ in range(3))
        packed = memory[start : start + n_bytes]
        points = cls(number, as_rows, source.n_features, depth.value, packed, units, np.empty(n), norms, rests)
        check_code(library().nearlabel_pack(number, as_rows, source.structure, points.structure))
        return points

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.norms)

    @cached_property
    def structure(self) -> PointsStructure:
        """The argument of the kernel; valid as long as this object lives."""
        arrays = self.packed, self.units, self.squares, self.norms, self.rests
        packed, *others = (array.ctypes.data for array in arrays)
        return PointsStructure(packed, len(self), self.depth, self.n_features, *others)

    def goes_with(self, queries: PackedPoints) -> bool:
        """Return whether a kernel compares these rows with such queries."""
        return self.level == queries.level and self.as_rows and not queries.as_rows

    def offer_to(self, queries: PackedPoints, *, numbers: int, places: int, own: int | None, lists: Any) -> int:
        """Call the kernel with addresses of arrays and two structures of lists; return its code."""
        return int(
            library().nearlabel_offer(
                self.level, self.structure, numbers, queries.structure, places, own, *lists
            )
        )  # fmt: skip


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
        self._n_candidates, self._n_sifted = (np.zeros(n_queries, dtype=np.int32) for _ in range(2))

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self.limit)

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
        own_of, of = range(len(self)) if own is None else own, rows if of_rows is None else of_rows
        matching = (numbers, rows), (of, rows), (places, queries), (own_of, self)
        if not rows.goes_with(queries) or any(len(some) != len(others) for some, others in matching):
            raise ValueError("rows, numbers, queries, places and own must be for each other and match in length.")
        if len(places) and not -1 <= places.min() <= places.max() < len(self):
            raise ValueError(f"places must be below {len(self)}, got {places.max()}.")
        check_code(
            rows.offer_to(
                queries,
                numbers=_int32_pointer(numbers),
                places=_int32_pointer(places),
                own=None if own is None else _int32_pointer(own),
                lists=(self.structure, None if of_rows is None else of_rows.structure),
            )
        )

    @cached_property
    def structure(self) -> ListsStructure:
        """The argument of the kernel; valid as long as this object lives."""
        arrays = (*(self.limit, self._found, self._n_candidates, self._n_sifted, self.unresolved),)
        pointers = (array.ctypes.data for array in arrays)
        return ListsStructure(self.n_neighbors, self._found.shape[1], self.exact, self._absolute, *pointers)

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


def _int32_pointer(numbers: Int32Array) -> int:
    if numbers.dtype != np.int32 or not numbers.flags.c_contiguous:
        raise ValueError(f"numbers of rows must be contiguous int32, got {numbers.dtype}.")
    return int(numbers.ctypes.data)


# Sparse points as the kernels take them (kernels/offer_sparse.cpp); arrays are checked, as in `_kernel_lists.py`.

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

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.norms)

    @cached_property
    def structure(self) -> SparseQueriesStructure:
        """The argument of the kernel; valid as long as this object lives."""
        arrays = self.starts, self.features, self.values, self.squares, self.norms, self.rests
        return SparseQueriesStructure(len(self), *(array.ctypes.data for array in arrays))


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

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.norms)

    @cached_property
    def structure(self) -> SparseRowsStructure:
        """The argument of the kernel; valid as long as this object lives."""
        arrays = (
            *(self.stored, self.before, self.starts, self.columns, self.rows, self.values, self.dense),
            *(self.squares, self.norms, self.rests),
        )
        pointers = (array.ctypes.data for array in arrays)
        return SparseRowsStructure(len(self), self.n_features, self.n_terms, self.dense.shape[1], *pointers)

    def goes_with(self, queries: SparseQueries) -> bool:
        """Return whether the kernel compares these rows with such queries."""
        return self.n_features == queries.n_features

    def offer_to(self, queries: SparseQueries, *, numbers: int, places: int, own: int | None, lists: Any) -> int:
        """Call the kernel with addresses of arrays and two structures of lists; return its code."""
        level, rows = level_numbers()["float32"], self.structure
        return int(library().nearlabel_offer_sparse(level, rows, numbers, queries.structure, places, own, *lists))


def _check(points: CSR, squares: FloatArray) -> None:
    features = points.indices
    inside = len(features) == 0 or 0 <= features.min() <= features.max() < points.shape[1]
    if not (inside and is_valid_csr(points) and len(squares) == points.shape[0]):
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
