"""Points as the compiled kernels take them: dense ones in the format of a level, and sparse ones.

Arrays are checked here, so that no call reaches other memory.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.files.mapped_members import aligned_bytes
from nearlabel.neighbors.exact import kernels
from nearlabel.utils.types import CSR, Float32Array, FloatArray, IntArray

Int32Array = NDArray[np.int32]

PLAIN = "float32"  # in which whole numbers and their sums are exact up to 2^24, and which rounds least


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

    def squares(self, centres: FloatArray) -> FloatArray:
        """Return the squared distances (n_centres, n_rows) of rows, without the power of two, to other centres."""
        centres = np.ascontiguousarray(centres, dtype=np.float64)
        if centres.ndim != 2 or centres.shape[1] != self.n_features:
            raise ValueError(f"centres must have {self.n_features} features, got shape {centres.shape}.")
        squares = np.empty((len(centres), self.n_rows))
        kernels.check_code(
            kernels.library().nearlabel_squares(
                self.structure, self.n_rows, centres.ctypes.data, len(centres), squares.ctypes.data
            )
        )
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
        number, n = kernels.level_numbers()[level], source.n_rows
        n_bytes, depth = packed_format(level, n, source.n_features, as_rows=as_rows)
        units, norms, rests = np.empty((3, n), dtype=np.float32)
        points = cls(
            number, as_rows, source.n_features, depth, aligned_bytes(n_bytes), units, np.empty(n), norms, rests
        )
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


def packed_format(level: str, n_points: int, n_features: int, *, as_rows: bool) -> tuple[int, int]:
    """Return how many bytes packed points take, and how many numbers each of them has."""
    depth = ctypes.c_int32()
    number = kernels.level_numbers()[level]
    n_bytes = kernels.library().nearlabel_packed_bytes(number, as_rows, n_points, n_features, ctypes.byref(depth))
    return int(n_bytes), depth.value


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
        return kernels.level_numbers()[PLAIN]

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
