"""Points and candidates as the kernels take them; arrays are checked, so that no call reaches other memory."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearlabel.neighbors._candidates import NONE_YET, Candidates
from nearlabel.neighbors._float32_candidates import Float32Array
from nearlabel.neighbors._kernels import (
    ListsStructure,
    PointsStructure,
    SourceStructure,
    check_code,
    level_numbers,
    library,
)
from nearlabel.utils.types import FloatArray, IntArray

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
