"""Points in the format that an accelerator multiplies, bf16, with bounds on the error of each score among the factors.

Let x be a row and q a query, centred and scaled, x = xb + xr and q = qb + qr, where xb and qb have the eight
significant bits of bf16 (or sixteen, see below), and the norms of the rests xr and qr are computed, not estimated. A
device computes the *score*

    s = qb·xb + i + j + N A + R B,    which bounds    q·x - |x|²/2 - |q|²/2 = -|q - x|²/2    from above,

as one product: i and j are stored in three pieces of eight bits (float32 has 24), multiplied by ones; N ≥ |q|,
R ≥ |qr|, A and B are rounded up to eight bits. So bounds cost a few columns of the factors, and no other pass over the
scores. A score is of a pair: where queries are rows too, it bounds the distance of each from the other, and the product
of two panels, transposed, serves the other's rows. It does not depend on the centre, so limits of all panels compare.
Other queries may be far from all rows, and the error of a sum with j would hide which is nearest: they have j = 0, and
a *shift*, |q|²/2 in float64, that is subtracted from the score where limits need it.

**The bound.** By Cauchy and Schwarz |q·x - qb·xb| = |q·xr + qr·xb| ≤ |q| |xr| + |qr| (|x| + |xr|). Products of numbers
of eight bits are exact in float32, and a sum of n of them is off by at most g times the sum of their absolute values,
g = n v / (1 - n v). Here v is 2^-22, not 2^-24. Processors round to the nearest (Higham, Accuracy and Stability of
Numerical Algorithms, 2002, section 3.1), but matrix units of accelerators add some products to the sum so far at once,
aligned to the largest of them and cut off there (Fasi, Higham, Mikaitis and Pranesh, Numerical behavior of NVIDIA
tensor cores, PeerJ Computer Science 7:e330, 2021; Blanchard, Higham, Lopez, Mary and Pranesh, Mixed precision block
fused multiply-add, SIAM Journal on Scientific Computing 42, 2020). That drops less than 2^-23 of the largest from each
term, and once more where the sum is normalised: at most 2n times, for blocks of any size in any order. With

    A = (1 + ε) (|xr| + g (|x| + |xr|)),    B = (1 + ε) (1 + g) (|x| + |xr|),
    C = (1 + ε) (0.51 g |x|² + absolute),   D = (1 + ε) 0.51 g |q|²,

ε = 2g + 2^-20, i = C - |x|²/2 and j = D - |q|²/2, the *slack* σ = N A + R B + C + D exceeds both errors, that of the
rests and that of the sum, g (|qb| |xb| + N A + R B + 1.01 |i| + 1.01 |j|): as |qb| |xb| ≤ (|q| + |qr|) (|x| + |xr|),
N A + R B is (1 + ε) times the error of the rests and g |qb| |xb| or more, and ε / (1 + ε) > g is left for g (N A + R B)
if g < 1/2; and |i| is at most |x|²/2 or C, |j| at most |q|²/2 or D; D is 0 where j is. So -|q - x|²/2 is between
s - 2σ and s. `absolute` is derived in `_panels.py`: underflow, also where a device flushes it to zero, and the noise of
the rank. Norms are raised by more than their own rounding. Rounding i and j to float32, and centring, squares and ranks
in float64, cost less than the 16 terms that n has too many, except for the part of the shift: that is between bounds.

**Sixteen bits.** Where eight cannot order the rows, xb = x1 + x2 and qb = q1 + q2, each of eight bits. The product of
[x1, x2, x1] and [q1, q1, q2] lacks q2·x2 only, at most 2^-16 |q| |x| (1 + 2^-5), which A has in addition. The absolute
values of its terms may add up to (1 + 2^-5) |q| |x|, so g is larger by that.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Semaphore
from typing import Any, TypeAlias
from weakref import WeakSet

import numpy as np

from nearlabel.neighbors.exact import _candidates
from nearlabel.neighbors.exact._candidates import Result
from nearlabel.neighbors.exact._gemm_search import GemmSearch
from nearlabel.neighbors.exact._panel_search import (
    PanelSearch,
    Parts,
    QueryPanel,
    both_locked,
    least_candidates,
)
from nearlabel.neighbors.exact._panels import Build, DensePanels, PanelRows, Points
from nearlabel.neighbors.optional._device_lists import LONGEST_GROUP, DeviceLists, group_length, single_up
from nearlabel.neighbors.optional._torch import TorchDevice, device_named
from nearlabel.utils.types import BoolArray, Float32Array, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import row_blocks

MOST_FEATURES_OF_DEVICE = 2**18  # g < 1/4
_PAIRS = {1: [(0, 0)], 2: [(0, 0), (1, 0), (0, 1)]}  # pieces of rows and of queries that are multiplied
_LACKING = {1: 0.0, 2: 2.0**-16 * (1 + 2.0**-5)}  # of |q| |x|
_INITIAL = 3  # pieces of an initial value
_COLUMNS = 2 * _INITIAL + 2  # of a factor in addition to the coordinates
_PANEL_BYTES = 2**28  # of a factor in float32, which makes panels of many features shorter
_WIDTH = 16  # the number of columns of a factor is a multiple of this, as matrix units need
_UNIT = 2.0**-22
_PADDING = np.float32(-1.5e38)  # score of pairs that do not count: below that of any row and all limits, also twice


@dataclass(frozen=True)
class DevicePanel(PanelRows):
    """Training samples as a factor, padded.

    `terms` (n, 4) are A, B, C and 1. To turn rows into queries there are the `columns_asked` (n, 8) that their factor
    has in place of the panel's, and the `terms_asked`. `start` is the place of the first row among those of all panels.
    """

    factor: Any
    terms: Any
    columns_asked: Any
    terms_asked: Any
    start: int = 0


@dataclass(frozen=True)
class DeviceQueries:
    """Queries as a factor for the panels of a centre, with N, R, 1 and D as `terms` (n_queries, 4).

    `shift` (n_queries, 2) are its lower and upper bound. Those out of bounds are zeros, and have no candidate.
    """

    factor: Any
    terms: Any
    shift: Any

    def select(self, which: Any) -> DeviceQueries:
        """Return some of the queries, by a slice or an array of the device."""
        return DeviceQueries(self.factor[which], self.terms[which], self.shift[which])


class DevicePanels(DensePanels):
    """Panels in the format of a device: on it as far as there is room, the others in memory until they are needed."""

    _seeks_whole = False  # equal distances are distinguished in float64, like others

    def __init__(
        self, X: Matrix, distance: Points, rows: IntArray, build: Build, device: TorchDevice, n_pieces: int
    ) -> None:
        self._device, self._n_pieces = device, n_pieces
        self._n_coordinates = len(_PAIRS[n_pieces]) * X.shape[1]
        self._width = -(-(self._n_coordinates + _COLUMNS) // _WIDTH) * _WIDTH
        self._growth = growth(self._width)
        self._safety = 1 + 2 * self._growth + 2.0**-20
        self._blur = float(X.shape[1] + 16) * 2.0**-52
        super().__init__(X, distance, rows, build)
        panels = self._panels or []
        # By places, first those of all rows, then again as queries whose candidates are queries of one product.
        self.rows = np.tile(np.concatenate([_padded(panel.rows) for panel in panels]), 2)
        kinds = "terms", "terms_asked"
        self.terms = device.put(np.concatenate([getattr(panel, kind) for kind in kinds for panel in panels]))
        self._panels = list(self._moved(panels))

    def _most_rows(self) -> int:
        """Return the most rows of a panel."""
        return min(self._device.panel_rows, max(LONGEST_GROUP, _PANEL_BYTES // (4 * int(self._width))))

    def _moved(self, panels: list[Any]) -> Iterator[DevicePanel]:
        """Put panels on the device as long as there is room."""
        device, start, n_places = self._device, 0, len(self.rows) // 2
        room = device.room()
        for panel in panels:
            room -= panel.factor.nbytes
            factor = device.put(panel.factor) if room >= 0 else device.ready(panel.factor)
            of_rows, of_queries = (self.terms[first:][: len(panel.terms)] for first in (start, n_places + start))
            asked = device.put(panel.columns_asked)
            yield replace(panel, factor=factor, terms=of_rows, columns_asked=asked, terms_asked=of_queries, start=start)
            start += len(panel.terms)

    def _stored(self, rows: IntArray, _: FloatArray, centre: FloatArray, middle: FloatArray, radius: float) -> Any:
        n_rows, filled = len(rows), len(_padded(rows))
        factor = np.zeros((filled, self._width), dtype=np.float32)
        measures = np.zeros((3, filled))
        for some, points in self._in_blocks(rows):
            centred = self._scaled(points - centre)
            factor[some, : self._n_coordinates], *measures[:, some] = self._parts(centred, of_query=False)
        hidden = np.arange(filled) >= n_rows
        columns, terms = self._of_rows(measures, hidden)
        asked, terms_asked = self._of_queries(measures, hidden)
        factor[:, self._n_coordinates :][:, :_COLUMNS] = columns
        factors = self._device.factor(factor), terms, self._device.factor(asked), terms_asked
        return DevicePanel(n_rows, rows, centre, middle, radius, *factors)

    def _parts(self, points: FloatArray, *, of_query: bool) -> tuple[Float32Array, FloatArray, FloatArray, FloatArray]:
        """Return the columns of the coordinates, squared norms, and norms of points and rests."""
        pieces, squares, norms, rests = parts(points, self._n_pieces)
        return np.hstack([pieces[pair[of_query]] for pair in _PAIRS[self._n_pieces]]), squares, norms, rests

    def _of_rows(self, measures: Iterable[FloatArray], hidden: BoolArray) -> Columns:
        """Return the columns of i, ones, A and B, and the terms; those that are `hidden` have no pair that counts.

        Measures are squared norms, norms of points, and norms of the rests that rounding drops.
        """
        squares, norms, rests = measures
        both, growth, safety = norms + rests, self._growth, self._safety
        of_norm = eight_bits_up(safety * (rests + growth * both + _LACKING[self._n_pieces] * norms))
        of_rest = eight_bits_up(safety * (1 + growth) * both)
        alone = single_up(safety * (0.51 * growth * squares + self.absolute))
        initial, ones = _initial(alone, squares, hidden), np.ones_like(alone)
        columns = np.column_stack([*initial, *[ones] * _INITIAL, of_norm, of_rest])
        return columns, np.column_stack([of_norm, of_rest, alone, ones])

    def _of_queries(self, measures: Iterable[FloatArray], hidden: BoolArray) -> Columns:
        """Return the columns of ones, j, N and R, and the terms."""
        squares, norms, rests = measures
        lengths = [eight_bits_up(of) for of in (norms, rests)]
        alone = single_up(self._safety * 0.51 * self._growth * squares)
        initial, ones = _initial(alone, squares, hidden), np.ones_like(alone)
        columns = np.column_stack([*[ones] * _INITIAL, *initial, *lengths])
        return columns, np.column_stack([*lengths, ones, alone])

    def operand(self, X: Matrix, centre: FloatArray) -> Any:
        """Centre, scale and round queries."""
        put, (centred, _, far) = self._device.put, self._centred(X, centre)
        factor = np.zeros((len(centred), self._width), dtype=np.float32)
        factor[:, : self._n_coordinates], squares, *lengths = self._parts(centred, of_query=True)
        shift = np.outer(squares / 2, [1 - self._blur, 1 + self._blur])
        factor[:, self._n_coordinates :][:, :_COLUMNS], terms = self._of_queries([0 * squares, *lengths], far)
        return DeviceQueries(put(self._device.factor(factor)), put(terms), put(shift))

    def operand_of(self, panel: Any, rows: Any, centre: FloatArray) -> Any:
        """Turn rows of a panel into queries: on the device, or from the points where the centre differs."""
        if centre is not panel.centre:
            return self.operand(self._X[panel.rows[rows]], centre)
        n_features = self._X.shape[1]
        factor = self._device.put(panel.factor[rows])
        pieces = [factor[:, piece * n_features :][:, :n_features] for _, piece in _PAIRS[self._n_pieces]]
        columns = [*pieces, panel.columns_asked[rows], factor[:, self._n_coordinates + _COLUMNS :]]
        terms = panel.terms_asked[rows]
        return DeviceQueries(self._device.joined(columns, 1), terms, self._device.put(np.zeros((len(terms), 2))))

    def place_asked(self, panel: DevicePanel, row: int) -> int:
        """Return the place of a row of a panel as a query."""
        return len(self.rows) // 2 + panel.start + row


Columns: TypeAlias = tuple[Float32Array, Float32Array]  # of a factor in addition to the coordinates, and the terms


def _initial(alone: Float32Array, squares: FloatArray, hidden: BoolArray) -> list[Float32Array]:
    """Return the pieces of i or j."""
    return _pieces(np.where(hidden, _PADDING, alone - squares / 2).astype(np.float32), _INITIAL)


def _padded(rows: IntArray) -> IntArray:
    """Append zeros up to whole groups."""
    return np.pad(rows, (0, -len(rows) % LONGEST_GROUP))


def check_sums(device: TorchDevice) -> None:
    """Raise ValueError if sums of a device are off by more than the bound allows: a test of it, not a proof."""
    n_terms = 512
    lengths = np.random.default_rng(0).lognormal(sigma=3.0, size=(2, 64, n_terms)).astype(np.float32)
    signs = np.random.default_rng(1).choice(np.array([-1, 1], dtype=np.float32), (64, n_terms))
    left, right = eight_bits(lengths)
    most = growth(n_terms) * (left.astype(np.float64) @ right.T)
    for some in (left, left * signs):
        product = device.get(device.product(*(device.put(device.factor(factor)) for factor in (some, right))))
        if not (np.abs(product - some.astype(np.float64) @ right.T) <= most).all():
            raise ValueError(f"device must sum products in float32, got {device.name!r}, whose sums are off by more.")


def growth(n_terms: int) -> float:
    """Return the bound g on the relative error of a sum, derived above."""
    n_units = (n_terms + 16) * _UNIT
    return (1 + 2.0**-5) * n_units / (1 - n_units)


def parts(points: FloatArray, n_pieces: int) -> tuple[list[Float32Array], FloatArray, FloatArray, FloatArray]:
    """Return pieces of eight bits of points, their squared norms, and from above |x| and |x - their sum|."""
    pieces = _pieces(points, n_pieces)
    rests = points - np.sum(pieces, axis=0, dtype=np.float64)
    squares, left = (np.einsum("ij,ij->i", of, of) for of in (points, rests))
    return pieces, squares, np.sqrt(squares) * (1 + 2.0**-30), np.sqrt(left) * (1 + 2.0**-30)


def _pieces(values: FloatArray | Float32Array, n_pieces: int) -> list[Float32Array]:
    """Return numbers of eight bits whose sums are nearest to the values; three are those of float32 themselves."""
    pieces = []
    for _ in range(n_pieces):
        pieces.append(eight_bits(values.astype(np.float32)))
        values = values - pieces[-1]
    return pieces


def eight_bits(values: Float32Array) -> Float32Array:
    """Round to eight significant bits, to the nearest."""
    bits = values.view(np.uint32)
    return np.asarray((bits + (0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)).view(np.float32))


def eight_bits_up(values: FloatArray) -> Float32Array:
    """Round numbers of at least 0 up to eight significant bits."""
    return np.asarray((single_up(values).view(np.uint32) + 0xFFFF & np.uint32(0xFFFF0000)).view(np.float32))


# Search by products on an accelerator, with the result of a float64 search.
#
# As `GemmSearch`, with larger panels and tiles. The device multiplies them, takes maxima of runs of rows, lowers the
# limits and keeps the runs within them; of a tile of queries candidates leave it once. The processor ranks them in
# float64, while the device has the next tile.

_CANDIDATES_OF_GROUP = 2**25  # in memory: 800 MB
_TILES_AT_ONCE = 2  # whose scores are in the device's memory: one is multiplied while runs of the other are counted
_RESOLVED_AT_A_TIME = 32_000


Plain: TypeAlias = Callable[[Parts], PanelSearch]  # makes the search without a device

_searches: WeakSet[DeviceSearch] = WeakSet()


def _begin_child() -> None:
    """Replace the locks of threads that a forked child does not have."""
    for search in _searches:
        search._turns = Semaphore(_TILES_AT_ONCE)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)


class DeviceSearch(GemmSearch):
    """Find candidates on an accelerator and order them by their ranks in float64.

    A first search uses one piece of eight bits for each coordinate. Queries that it cannot resolve are searched for
    again with two pieces, which cost three products. The search without a device resolves the rest.
    """

    _panels: DevicePanels

    def __init__(self, parts: Parts, plain: Plain, *, device: TorchDevice, n_pieces: int = 1) -> None:
        self._plain, self._device, self._n_pieces = plain, device, n_pieces
        self._turns = Semaphore(_TILES_AT_ONCE)
        _searches.add(self)
        super().__init__(parts, resident=True)

    def _make_panels(self, build: Build) -> Any:
        return DevicePanels(self._X, self._distance, self._pointed, build, self._device, self._n_pieces)

    def _new_lists(self, n_queries: int, n_neighbors: int, *, exact: bool, room: Any = None) -> DeviceLists:
        return DeviceLists(n_queries, n_neighbors, self._device, self._panels.rows, self._panels.terms)

    def _queries_per_tile(self) -> int:
        """Return the most queries that are compared with a panel at once."""
        return self._device.tile_queries

    def _panels_per_group(self, n_neighbors: int) -> int:
        """Return how many panels may have their candidates in memory."""
        return max(2, _CANDIDATES_OF_GROUP // (self._device.panel_rows * least_candidates(n_neighbors)))

    def _compare_tile(self, tile: Any, number: int, takes: BoolArray) -> None:
        panel = self._panels.panel(number)
        some = slice(None) if takes.all() else self._device.put(np.flatnonzero(takes))
        self._compare_some(tile.lists, panel, self._operand(tile, panel).select(some), some)

    def _compare_some(
        self, lists: DeviceLists, panel: DevicePanel, operand: DeviceQueries, queries: Any, own: IntArray | None = None
    ) -> None:
        """Compare a panel with some queries, whose `own` places in the panel, if any, are no candidates."""
        device, group = self._device, group_length(panel.n_rows, lists.n_neighbors)
        factor = device.send(panel.factor)
        with self._turns:
            scores = device.product(factor, operand.factor)
            if own is not None:
                scores[device.put(own), device.put(np.arange(len(own)))] = float(_PADDING)
            lists.offer_scores(scores, (panel.start, group, panel.terms), (queries, operand.terms, operand.shift))
        lists.relieve()

    def _compare_rows(self, member: QueryPanel, number: int, takes: BoolArray) -> None:
        panel, alive = self._panels.panel(number), np.flatnonzero(takes)
        for tile in row_blocks(len(alive), 1, self._device.tile_queries):
            some = tile if takes.all() else alive[tile]
            operand = self._panels.operand_of(member.panel, some, panel.centre)
            own = alive[tile] if number == member.number else None
            self._compare_some(member.lists, panel, operand, some, own)
        member.lists.fetch()

    def _compare_both(self, one: QueryPanel, other: QueryPanel) -> None:
        with both_locked(one, other):
            if one.panel.centre is other.panel.centre:
                self._compare_alike(one, other)
            else:
                for member, its in ((one, other), (other, one)):
                    self._compare_rows(member, its.number, np.ones(member.panel.n_rows, dtype=bool))
            for member in (one, other):
                member.lists.fetch()

    def _compare_alike(self, one: QueryPanel, other: QueryPanel) -> None:
        """Compare panels of one centre, tile by tile of the other: the scores, transposed, are those of its rows."""
        device, first, second = self._device, one.panel, other.panel
        factor, no_shift, n_rows = device.send(first.factor), device.put(np.zeros((first.n_rows, 2))), first.n_rows
        groups = [group_length(panel.n_rows, one.lists.n_neighbors) for panel in (first, second)]
        per_tile = max(1, device.tile_queries // LONGEST_GROUP) * LONGEST_GROUP
        for tile in row_blocks(len(second.terms), 1, per_tile):
            asked, n = self._panels.operand_of(second, tile, first.centre), min(tile.stop, second.n_rows) - tile.start
            rows = first.start, groups[0], first.terms
            queries = slice(tile.start, tile.start + n), asked.terms[:n], asked.shift[:n]
            rows_back = self._panels.place_asked(second, tile.start), groups[1], asked.terms
            with self._turns:
                scores = device.product(factor, asked.factor)
                other.lists.offer_scores(scores[:, :n], rows, queries)
                one.lists.offer_scores(scores[:n_rows].T, rows_back, (slice(None), first.terms[:n_rows], no_shift))
            for member in (one, other):
                member.lists.relieve()

    def _resolve(self, X: Matrix, numbers: IntArray, result: Result, n_jobs: int | None, *, drop_self: bool) -> None:
        for block in row_blocks(len(numbers), 1, _RESOLVED_AT_A_TIME):
            some = numbers[block]
            found = self._next.nearest(X[some], result.ranks.shape[1] + drop_self, n_jobs)
            answer = _candidates.drop_self(*found, some) if drop_self else found
            result.ranks[some], result.indices[some] = answer

    @cached_property
    def _next(self) -> PanelSearch:
        if self._n_pieces > 1:
            return self._plain(self._parts)
        return DeviceSearch(self._parts, self._plain, device=self._device, n_pieces=2)

    def __reduce__(self) -> tuple[Any, ...]:
        """Be made again where it is loaded: arrays of a device do not exist in another process."""
        return _made_anew, (self._parts, self._plain, self._device.name)


def device_search(parts: Parts, plain: Plain, device: object) -> DeviceSearch:
    """Return the search by a device; raise ValueError or ImportError if it cannot be used here.

    `plain` makes the search without a device.
    """
    named = device_named(device)
    check_sums(named)
    return DeviceSearch(parts, plain, device=named)


def _made_anew(parts: Parts, plain: Plain, device: str) -> PanelSearch:
    """Return the search by a device or, where it cannot be used, the one without, with a warning."""
    try:
        return device_search(parts, plain, device)
    except (ImportError, ValueError) as error:
        warnings.warn(f"The search uses no device, and finds the same neighbours, because: {error}", stacklevel=2)
        return plain(parts)
