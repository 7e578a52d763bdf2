"""Search by the compiled kernels, with the answer of a float64 search.

As `GemmSearch`, but a kernel compares a panel with a tile of queries, and only candidates leave it (kernels/offer.h).
Training rows are queries like others, so each pair is compared twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.neighbors._distances import PointDistance
from nearlabel.neighbors._float32_candidates import DensePanels, Layout
from nearlabel.neighbors._gemm_search import GemmSearch, most_candidates
from nearlabel.neighbors._kernel_lists import KernelLists, PackedPoints
from nearlabel.neighbors._kernels import OFF, kernel_in_use
from nearlabel.neighbors._result import Result
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix

_PLAIN = "float32"  # in which whole numbers and their sums are exact up to 2^24, and which rounds least
_IN_UNITS = "int16"
_MOST_SUM = 2.0**30  # of products of whole numbers: with the initial value it stays within 32 bits
_MOST_WHOLE = 2.0**15 - 1


@dataclass(frozen=True)
class PackedPanel:
    """Training rows stored together, packed for a kernel; the other fields are those of `Panel`."""

    rows: IntArray
    points: PackedPoints
    centre: FloatArray
    middle: FloatArray
    radius: float


class PackedPanels(DensePanels):
    """Panels in the format of a level of the kernels."""

    def __init__(self, X: Matrix, distance: PointDistance, rows: IntArray, level: str, n_jobs: int | None) -> None:
        self._level = level
        super().__init__(X, distance, rows, resident=True, n_jobs=n_jobs)
        self.absolute = self._absolute

    @property
    def level(self) -> str:
        """The level that is asked for, unless it would round whole numbers."""
        return _PLAIN if self.whole else self._level

    def _stored(self, layout: Layout) -> Any:
        rows, _, centre, middle, radius = layout
        unit = 1.0
        if self.level == _IN_UNITS:
            largest = max(float(np.abs(points - centre).max()) for _, points in self._in_blocks(rows))
            unit = self._unit(math.ldexp(largest, self._exponent))
        packed = PackedPoints.empty(self.level, len(rows), self._X.shape[1], unit, as_rows=True)
        for some, points in self._in_blocks(rows):
            packed.put(some.start, self._scaled(points - centre))
        return PackedPanel(rows, packed, centre, middle, radius)

    def _unit(self, largest: float) -> float:
        """Return the unit of whole numbers for scaled coordinates up to the largest.

        Not so small that the absolute error, in units of both factors, exceeds 2^28: it is in the initial values.
        """
        most = min(_MOST_WHOLE, math.floor(math.sqrt(_MOST_SUM / self._X.shape[1])))
        return max(largest / most, math.sqrt(self._absolute) * 2.0**-14)

    @cached_property
    def _largest_unit(self) -> float:
        return max(float(panel.points.unit) for panel in self._panels or ())

    def packed_queries(self, X: Matrix, centre: FloatArray) -> tuple[PackedPoints, BoolArray]:
        """Return queries as factors for the panels of a centre, and which are out of bounds.

        Their unit is not below half of that of any panel: so no initial value, |x|²/2 in units of both, exceeds 2^30.
        """
        centred, _, far = self._centred(X, centre)
        unit = 1.0
        if self.level == _IN_UNITS:
            unit = max(self._unit(float(np.abs(centred).max(initial=0.0))), self._largest_unit)
        packed = PackedPoints.empty(self.level, len(centred), X.shape[1], unit, as_rows=False)
        packed.put(0, centred)
        return packed, far


@dataclass
class _Tile:
    """Some queries with their candidates, packed for the panels of one centre; `own` are their numbers as rows."""

    rows: Matrix
    lists: KernelLists
    own: IntArray | None
    packed: PackedPoints | None = None
    centre: FloatArray | None = None


class KernelSearch(GemmSearch):
    """Find candidates by a level of the kernels and order them by their ranks in float64.

    Queries that a level cannot resolve are searched for in float32, and then by float64 bounds.
    """

    _panels: Any  # PackedPanels

    def __init__(self, X: Matrix, distance: PointDistance, *, level: str, n_jobs: int | None) -> None:
        self._level, self._n_jobs = level, n_jobs
        super().__init__(X, distance, resident=True, n_jobs=n_jobs)

    def _make_panels(self, *, resident: bool, n_jobs: int | None) -> Any:
        return PackedPanels(self._X, self._distance, self._pointed, self._level, n_jobs)

    def _search_rows(self, result: Result, n_jobs: int | None) -> IntArray:
        self._write_blank(self._blank, result, drop_self=True)
        return self._search_in_tiles(self._X, self._pointed, result, n_jobs, drop_self=True)

    def _tile(self, rows: Matrix, numbers: IntArray, lists: Any, *, drop_self: bool) -> Any:
        return _Tile(rows, lists, numbers if drop_self else None)

    def _compare_tile(self, tile: Any, number: int, takes: BoolArray) -> None:
        """Compare a panel with the queries of a tile that `takes` marks."""
        if not takes.any():
            return
        panel = self._panels.panel(number)
        if tile.packed is None or panel.centre is not tile.centre:
            tile.packed, far = self._panels.packed_queries(tile.rows, panel.centre)
            tile.centre = panel.centre
            tile.lists.unresolved |= far
        tile.lists.offer(panel.points, panel.rows, tile.packed, takes, tile.own)

    def _new_lists(self, n_queries: int, result: Result, n_rows: int, *, exact: bool) -> Any:
        k = min(result.ranks.shape[1], n_rows)
        return KernelLists(n_queries, k, most_candidates(k), exact=exact, absolute=self._panels.absolute)

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
        """Be made anew where it is loaded: another processor may have other levels."""
        return point_search, (self._X, self._distance, self._n_jobs)


def point_search(X: Matrix, distance: PointDistance, n_jobs: int | None) -> GemmSearch:
    """Return the search by the kernels, or by products where there are none for these rows."""
    level = kernel_in_use()
    if level == OFF or sparse.issparse(X) or is_mapped(X):
        return GemmSearch(X, distance, resident=not is_mapped(X), n_jobs=n_jobs)
    return KernelSearch(X, distance, level=level, n_jobs=n_jobs)


def is_mapped(X: Matrix) -> bool:
    """Return whether rows are mapped from a file."""
    part = X.data if sparse.issparse(X) else X
    while isinstance(part, np.ndarray) and not isinstance(part, np.memmap):
        part = part.base
    return isinstance(part, np.memmap)
