"""The comparison of queries with a panel by a matrix product in single precision (GEMM), by numpy.

One float32 product gives all squared distances, each with a proven bound on its error (`_panels.py`); the least of
runs of rows leave a few candidates for each query (`_candidates.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from nearlabel.neighbors.exact import _candidates
from nearlabel.neighbors.exact._candidates import CandidateLists, Candidates, Runs
from nearlabel.neighbors.exact._panel_search import QUERIES_PER_TILE, PanelSearch, Parts, QueryPanel, most_candidates
from nearlabel.neighbors.exact._panels import RUN, Build, DensePanels, Operand, Panel, SparsePanels
from nearlabel.utils.types import BoolArray, Float32Array, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import row_blocks

_WHOLE_TILE_FROM = 0.75  # of the queries: then a product with the whole tile costs less than selecting columns
Error: TypeAlias = Callable[[Float32Array, Float32Array], Float32Array]


@dataclass
class _Tile:
    """Some queries with their candidates, and as a factor for the panels of one centre."""

    rows: Matrix
    lists: CandidateLists
    operand: Operand | None = None
    centre: FloatArray | None = None


class GemmSearch(PanelSearch):
    """Find candidates by float32 products.

    Float32 panels are stored in addition to X, but not for rows that are not `resident` (mapped from a file).
    """

    _panels: DensePanels | SparsePanels

    def __init__(self, parts: Parts, *, resident: bool) -> None:
        self._resident = resident
        super().__init__(parts)

    def _make_panels(self, build: Build) -> Any:
        kind = SparsePanels if sparse.issparse(self._X) else DensePanels
        return kind(self._X, self._distance, self._pointed, build if self._resident else None)

    def _new_lists(self, n_queries: int, n_neighbors: int, *, exact: bool, room: Any = None) -> CandidateLists:
        return CandidateLists(n_queries, n_neighbors, most_candidates(n_neighbors), exact=exact)

    def _tile(self, rows: Matrix, own: IntArray | None, lists: CandidateLists) -> _Tile:
        return _Tile(rows, lists)

    def _compare_tile(self, tile: Any, number: int, takes: BoolArray) -> None:
        some = np.flatnonzero(takes)
        if len(some) > _WHOLE_TILE_FROM * len(takes):
            some = np.arange(len(takes))
        panel = self._panels.panel(number)
        operand = self._operand(tile, panel).select(some)
        with self._squares(panel, operand) as squares:
            self._offer(tile.lists, squares, panel, operand.norms, some, takes[some])

    def _operand(self, tile: _Tile, panel: Any) -> Any:
        """Return the queries of a tile as a factor for a panel: mostly that for the panel before."""
        if tile.operand is None or panel.centre is not tile.centre:
            tile.operand, tile.centre = self._panels.operand(tile.rows, panel.centre), panel.centre
        return tile.operand

    def _compare_rows(self, member: QueryPanel, number: int, takes: BoolArray) -> None:
        panel = member.panel if number == member.number else self._panels.panel(number)
        alive = np.flatnonzero(takes)
        for tile in row_blocks(len(alive), 1, QUERIES_PER_TILE):
            some = alive[tile]
            operand = self._panels.operand_of(member.panel, some, panel.centre)
            with self._squares(panel, operand) as squares:
                if number == member.number:
                    squares[some, np.arange(len(some))] = np.inf
                self._offer(member.lists, squares, panel, operand.norms, some)

    def _compare_both(self, one: QueryPanel, other: QueryPanel) -> None:
        for tile in row_blocks(other.panel.n_rows, 1, QUERIES_PER_TILE):
            some = np.arange(tile.start, tile.stop)
            operand = self._panels.operand_of(other.panel, some, one.panel.centre)
            with self._squares(one.panel, operand) as squares:
                with other.lock:
                    self._offer(other.lists, squares, one.panel, operand.norms, some)
                with one.lock:
                    self._offer_back(one, squares, operand.norms, other.panel.rows[some])
        for member in (one, other):
            with member.lock:
                member.lists.panel_seen()

    def _offer_back(self, member: QueryPanel, squares: Float32Array, norms: Float32Array, rows: IntArray) -> None:
        """Find candidates in a tile for the rows of a panel: the same squared distances, transposed."""
        n_rows, error = member.panel.n_rows, self._error(member.lists)
        own_norms, limit = member.panel.norms[:n_rows], member.lists.limit
        reach = limit + error(own_norms, norms.max(keepdims=True))
        query, column = _candidates.nonzero(squares[:n_rows] <= reach[:, np.newaxis])
        found = Candidates(query, rows[column], squares[query, column], error(own_norms[query], norms[column]))
        member.lists.add(found.select(found.square <= limit[query] + found.slack))

    @contextmanager
    def _squares(self, panel: Panel, operand: Operand) -> Iterator[Float32Array]:
        """Yield squared distances, in memory that is used again afterwards."""
        n_squares = len(panel.norms) * len(operand.norms)
        with _candidates.scratch(2 * n_squares if sparse.issparse(self._X) else n_squares) as memory:
            yield self._panels.squares(panel, operand, memory)

    def _offer(
        self,
        lists: CandidateLists,
        squares: Float32Array,
        panel: Panel,
        norms: Float32Array,
        queries: IntArray,
        takes: BoolArray | None = None,
    ) -> None:
        """Pass squared distances (n_rows, n_queries) and their errors to the lists of candidates."""
        error = self._error(lists)
        lists.offer(runs_down(squares, panel, norms, lists.n_neighbors, error), queries, takes)

    def _error(self, lists: CandidateLists) -> Error:
        """Return the bound on the error of a squared distance, as a function of two norms."""
        if lists.exact:
            return lambda norms, others: np.zeros(np.broadcast_shapes(norms.shape, others.shape), dtype=np.float32)
        return self._panels.error


def runs_down(squares: Float32Array, panel: Panel, norms: Float32Array, k: int, error: Error) -> Runs:
    """Split squared distances (rows of a panel, queries) into runs of consecutive rows.

    Long runs cost least, but their least values bound the k-th neighbour well only if there are several times k runs.
    """
    halves = (RUN >> times for times in range(RUN.bit_length()))
    run = next(length for length in halves if length == 1 or panel.n_rows // length >= 3 * k)
    cube = squares.reshape(-1, run, squares.shape[1])
    row_norms = panel.norms.reshape(-1, run)
    slack = error(_largest_norms(row_norms, -(-panel.n_rows // run)), norms)

    def opened(which: IntArray, query: IntArray) -> tuple[Float32Array, Float32Array]:
        if len(slack) == 1:
            return cube[which, :, query], slack[0, query, np.newaxis]
        return cube[which, :, query], error(row_norms[which], norms[query, np.newaxis])

    return Runs(cube.min(axis=1), slack, panel.rows.reshape(-1, run), opened)


def _largest_norms(norms: Float32Array, n_runs: int) -> Float32Array:
    """Return the largest norm of each run as a column; a single one where those of the first n_runs differ little."""
    largest: Float32Array = norms.max(axis=1, keepdims=True)
    return largest.max(keepdims=True) if largest.max() <= 4 * largest[:n_runs].min() else largest
