"""Points and candidates as the kernels take them; arrays are checked, so that no call reaches other memory."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearlabel.neighbors._candidates import NONE_YET, Candidates
from nearlabel.neighbors._float32_candidates import Float32Array
from nearlabel.neighbors._kernels import ListsStructure, PointsStructure, check_code, level_numbers, library
from nearlabel.utils.types import BoolArray, FloatArray, IntArray

_ALIGNED = 64  # bytes, as cache lines and the widest registers


@dataclass(frozen=True)
class PackedPoints:
    """Points in the format of a level, with |x|² of each, and |x| and |x - stored x| from above, for the bounds."""

    level: int
    as_rows: bool
    n_features: int
    depth: int
    unit: float
    packed: NDArray[np.uint8]
    squares: FloatArray
    norms: Float32Array
    rests: Float32Array

    @classmethod
    def empty(cls, level: str, n_points: int, n_features: int, unit: float, *, as_rows: bool) -> PackedPoints:
        """Return room for points; places that are not put hold zeros."""
        number, depth = level_numbers()[level], ctypes.c_int32()
        n_bytes = library().nearlabel_packed_bytes(number, as_rows, n_points, n_features, ctypes.byref(depth))
        packed = np.zeros(n_bytes + _ALIGNED, dtype=np.uint8)
        start = -packed.ctypes.data % _ALIGNED
        squares, norms, rests = np.zeros(n_points), np.zeros(n_points, np.float32), np.zeros(n_points, np.float32)
        return cls(
            number, as_rows, n_features, depth.value, unit, packed[start : start + n_bytes], squares, norms, rests
        )

    def put(self, start: int, points: FloatArray) -> None:
        """Pack centred points (n, n_features), the first with number `start`."""
        points = np.ascontiguousarray(points, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != self.n_features or not 0 <= start <= len(self.norms) - len(points):
            raise ValueError(f"points must fit into the {len(self.norms)} places from {start} on, got {points.shape}.")
        check_code(
            library().nearlabel_pack(
                *(self.level, self.as_rows, points.ctypes.data, len(points), start, self.n_features, self.unit),
                *(array.ctypes.data for array in (self.packed, self.squares, self.norms, self.rests)),
            )
        )

    def as_structure(self) -> PointsStructure:
        """Return what the kernel takes; valid as long as this object lives."""
        arrays = self.packed, self.squares, self.norms, self.rests
        packed, squares, norms, rests = (array.ctypes.data for array in arrays)
        return PointsStructure(packed, len(self.norms), self.depth, self.n_features, self.unit, squares, norms, rests)


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
        self._uppers = np.empty((n_queries, n_neighbors), dtype=np.float32)
        self._n_uppers = np.zeros(n_queries, dtype=np.int32)
        self._rows = np.empty((n_queries, most), dtype=np.int64)
        self._lowers = np.empty((n_queries, most), dtype=np.float32)
        self._n_candidates = np.zeros(n_queries, dtype=np.int32)

    def offer(
        self, rows: PackedPoints, numbers: IntArray, queries: PackedPoints, takes: BoolArray, own: IntArray | None
    ) -> None:
        """Add the rows of a panel that may be among the nearest of the queries that `takes` marks.

        `numbers` are the rows' numbers; no row is a candidate for the query whose `own` number it has.
        """
        numbers = np.ascontiguousarray(numbers, dtype=np.int64)
        takes = np.ascontiguousarray(takes, dtype=bool)
        own = None if own is None else np.ascontiguousarray(own, dtype=np.int64)
        n_queries = len(self.limit)
        lengths = {len(queries.norms), len(takes), n_queries if own is None else len(own)}
        if lengths != {n_queries} or len(numbers) != len(rows.norms) or rows.level != queries.level:
            raise ValueError("rows, numbers, queries, takes and own must be of one level and match in length.")
        names = self.limit, self._uppers, self._n_uppers, self._rows, self._lowers, self._n_candidates, self.unresolved
        fields = (array.ctypes.data for array in names)
        lists = ListsStructure(self.n_neighbors, self._rows.shape[1], self.exact, self._absolute, *fields)
        check_code(
            library().nearlabel_offer(
                rows.level, rows.as_structure(), numbers.ctypes.data, queries.as_structure(), takes.ctypes.data,
                None if own is None else own.ctypes.data, lists,
            )
        )  # fmt: skip

    def panel_seen(self) -> None:
        """Do nothing: limits are tightened with each candidate."""

    def candidates(self) -> Candidates:
        """Return the candidates that are left, those of a query side by side, with the lower bounds as squares."""
        counts = np.where(self.unresolved, 0, self._n_candidates)
        width = int(counts.max(initial=0))
        lowers = self._lowers[:, :width]
        left = (np.arange(width) < counts[:, np.newaxis]) & (lowers <= self.limit[:, np.newaxis])
        query = np.repeat(np.arange(len(counts)), left.sum(axis=1))
        return Candidates(query, self._rows[:, :width][left], lowers[left], np.zeros(len(query), dtype=np.float32))
