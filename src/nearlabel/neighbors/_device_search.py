"""Search by products on an accelerator, with the result of a float64 search.

As `GemmSearch`, with larger panels and tiles. The device multiplies them, takes maxima of runs of rows and compares
those with the limits; only candidates leave it. The processor ranks them in float64, while the device has the next
tile. Training samples are queries like others, each with one neighbour more, of which the row itself is dropped.
"""

from __future__ import annotations

import warnings
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from nearlabel.neighbors._candidates import CandidateLists, Candidates
from nearlabel.neighbors._device_panels import (
    LONGEST_GROUP,
    Device,
    DevicePanel,
    DevicePanels,
    DeviceQueries,
    check_sums,
)
from nearlabel.neighbors._distances import PointDistance
from nearlabel.neighbors._drop_self import drop_self as without_own
from nearlabel.neighbors._gemm_search import GemmSearch
from nearlabel.neighbors._kernel_search import point_search
from nearlabel.neighbors._panel_search import PanelSearch
from nearlabel.neighbors._result import Result
from nearlabel.neighbors._torch import device_named
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import BoolArray, IntArray, Matrix

_LONGEST_RUN = 32
_GROUPS_PER_NEIGHBOR = 8  # in a panel: the k-th greatest of few groups bounds the k-th neighbour badly
_RUNS_AT_LEAST, _RUNS_PER_NEIGHBOR = 256, 2  # of a panel, which a query may open before it is given up
_RESOLVED_AT_A_TIME = 32_000


class _Found(NamedTuple):
    """Pairs of a query and a place in a panel, with their scores."""

    query: IntArray
    place: IntArray
    scores: Any


class DeviceSearch(GemmSearch):
    """Find candidates on an accelerator and order them by their ranks in float64.

    A first search uses one piece of eight bits for each coordinate. Queries that it cannot resolve are searched for
    again with two pieces, which cost three products. The search without a device resolves the rest.
    """

    def __init__(
        self, X: Matrix, distance: PointDistance, *, device: Device, n_jobs: int | None, n_pieces: int = 1
    ) -> None:
        self._device, self._n_pieces, self._n_jobs, self._lock = device, n_pieces, n_jobs, Lock()
        super().__init__(X, distance, resident=True, n_jobs=n_jobs)

    def _make_panels(self, n_jobs: int | None) -> Any:
        return DevicePanels(self._X, self._distance, self._pointed, self._device, self._n_pieces, n_jobs)

    @property
    def queries_per_tile(self) -> int:
        """The most queries that are compared with a panel at once."""
        return self._device.tile_queries

    def nearest(self, queries: Matrix | None, k: int, n_jobs: int | None) -> Result:
        """Return ranks and indices (n_queries, k) of the nearest rows; without queries, of each row without itself."""
        if queries is not None:
            return super().nearest(queries, k, n_jobs)
        found = super().nearest(self._X, k + 1, n_jobs)
        return Result(*without_own(*found, np.arange(self._X.shape[0])))

    def _compare(self, lists: CandidateLists, panel: Any, operand: Any, queries: IntArray, takes: BoolArray) -> None:
        with self._lock:  # the scores of one tile at a time are in the device's memory
            found = self._candidates(lists, panel, operand, queries, takes)
        squares, slack = operand.squares_of(*found, panel.slack)
        lists.add(Candidates(queries[found.query], panel.rows[found.place], squares, slack))

    def _candidates(
        self, lists: CandidateLists, panel: DevicePanel, operand: DeviceQueries, queries: IntArray, takes: BoolArray
    ) -> _Found:
        """Lower the limits by the rows of a panel, and return those within the limits of the queries."""
        device, group = self._device, _group_length(panel.n_rows, lists.n_neighbors)
        run = min(_LONGEST_RUN, group)
        scores = device.product(device.put(panel.factor), operand.factor)
        runs = scores.reshape(-1, run, len(queries))
        best = device.greatest(runs, 1)
        if panel.n_rows >= lists.n_neighbors:
            kth = self._kth(device.greatest(best.reshape(-1, group // run, len(queries)), 1), panel, operand, lists)
            lists.limit[queries] = np.minimum(lists.limit[queries], operand.limits(kth))
        takes = takes & ~self._crowded(best, lists, operand, queries, takes)
        thresholds = device.put(operand.thresholds(lists.limit[queries], takes))
        which, query = device.nonzero(best >= thresholds)
        opened = runs[which, :, query]
        pair, place = device.nonzero(opened >= thresholds[query][:, None])
        in_panel = which[pair] * run + place
        return _Found(*(device.get(array) for array in (query[pair], in_panel, opened[pair, place])))

    def _kth(self, greatest: Any, panel: DevicePanel, operand: DeviceQueries, lists: CandidateLists) -> Any:
        """Return a lower bound on the k-th greatest exact score of each query, given the greatest of groups of rows.

        The greatest rows of k groups are k rows.
        """
        put, slack = self._device.put, panel.slack.of_groups(len(panel.slack.alone) // len(greatest))
        of_norm, of_rest, alone = (put(values)[:, None] for values in slack)
        both = of_norm * put(operand.norms) + of_rest * put(operand.rests) + alone
        lower = greatest - (2 + 2.0**-19) * both
        return self._device.get(self._device.kth_greatest(lower, lists.n_neighbors))

    def _crowded(
        self, best: Any, lists: CandidateLists, operand: DeviceQueries, queries: IntArray, takes: BoolArray
    ) -> BoolArray:
        """Return which queries have more runs within their limits than they may open; they are given up."""
        thresholds = self._device.put(operand.thresholds(lists.limit[queries], takes))
        n_opened = self._device.get((best >= thresholds).sum(0))
        crowded = n_opened > _RUNS_AT_LEAST + _RUNS_PER_NEIGHBOR * lists.n_neighbors
        if crowded.any():
            which = np.zeros_like(lists.unresolved)
            which[queries] = crowded
            lists.give_up(which)
        return np.asarray(crowded)

    def _resolve(self, X: Matrix, numbers: IntArray, result: Result, n_jobs: int | None, *, drop_self: bool) -> None:
        for block in row_blocks(len(numbers), 1, _RESOLVED_AT_A_TIME):
            some = numbers[block]
            result.ranks[some], result.indices[some] = self._next.nearest(X[some], result.ranks.shape[1], n_jobs)

    @cached_property
    def _next(self) -> PanelSearch:
        if self._n_pieces > 1:
            return point_search(self._X, self._distance, self._n_jobs)
        return DeviceSearch(self._X, self._distance, device=self._device, n_jobs=self._n_jobs, n_pieces=2)

    def __reduce__(self) -> tuple[Any, ...]:
        """Be made again where it is loaded: arrays of a device do not exist in another process."""
        return _made_anew, (self._X, self._distance, self._device.name, self._n_jobs)


def _group_length(n_rows: int, k: int) -> int:
    """Return how many consecutive rows of a panel to take together for a limit on k neighbours."""
    halves = (LONGEST_GROUP >> times for times in range(LONGEST_GROUP.bit_length()))
    return next(length for length in halves if length == 1 or n_rows // length >= _GROUPS_PER_NEIGHBOR * k)


def device_search(X: Matrix, distance: PointDistance, device: object, n_jobs: int | None) -> DeviceSearch:
    """Return the search by a device; raise ValueError or ImportError if it cannot be used here."""
    named = device_named(device)
    check_sums(named)
    return DeviceSearch(X, distance, device=named, n_jobs=n_jobs)


def _made_anew(X: Matrix, distance: PointDistance, device: str, n_jobs: int | None) -> PanelSearch:
    """Return the search by a device or, where it cannot be used, the one without, with a warning."""
    try:
        return device_search(X, distance, device, n_jobs)
    except (ImportError, ValueError) as error:
        warnings.warn(f"The search uses no device, and finds the same neighbours, because: {error}", stacklevel=2)
        return point_search(X, distance, n_jobs)
