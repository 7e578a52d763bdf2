"""Points in the format that an accelerator multiplies, bf16, with bounds on the error of each score among the factors.

Let x be a row and q a query, centred and scaled, x = xb + xr and q = qb + qr, where xb and qb have the eight
significant bits of bf16 (or sixteen, see below), and the norms of the rests xr and qr are computed, not estimated. A
device computes the *score*

    s = qb·xb + i + N A + R B,    which bounds    q·x - |x|²/2 = (|q|² - |q - x|²) / 2    from above,

as one product: i is stored in three pieces of eight bits (float32 has 24), multiplied by ones; N ≥ |q|, R ≥ |qr|, A and
B are rounded up to eight bits. So bounds cost a few columns of the factors, and no other pass over the scores.

**The bound.** By Cauchy and Schwarz |q·x - qb·xb| = |q·xr + qr·xb| ≤ |q| |xr| + |qr| (|x| + |xr|). Products of numbers
of eight bits are exact in float32, and a sum of n of them is off by at most g times the sum of their absolute values,
g = n v / (1 - n v). Here v is 2^-22, not 2^-24. Processors round to the nearest (Higham, Accuracy and Stability of
Numerical Algorithms, 2002, section 3.1), but matrix units of accelerators add some products to the sum so far at once,
aligned to the largest of them and cut off there (Fasi, Higham, Mikaitis and Pranesh, Numerical behavior of NVIDIA
tensor cores, PeerJ Computer Science 7:e330, 2021; Blanchard, Higham, Lopez, Mary and Pranesh, Mixed precision block
fused multiply-add, SIAM Journal on Scientific Computing 42, 2020). That drops less than 2^-23 of the largest from each
term, and once more where the sum is normalised: at most 2n times, for blocks of any size in any order. With

    A = (1 + ε) (|xr| + g (|x| + |xr|)),    B = (1 + ε) (1 + g) (|x| + |xr|),    C = (1 + ε) (g |x|² + absolute),

ε = 2g + 2^-20 and i = C - |x|²/2, the slack N A + R B + C exceeds both errors, that of the rests and that of the sum,
g (|qb| |xb| + N A + R B + 1.01 |i|), as |qb| |xb| ≤ (|q| + |qr|) (|x| + |xr|) and g < 1/2. So the exact number is
between s minus twice the slack and s. `absolute` is derived in `_panels.py`: underflow, also where a device
flushes it to zero, and the noise of the rank. Norms are raised by more than their own rounding. Rounding i to float32,
and centring, squares and ranks in float64, cost less than the 16 terms that n has too many, except for the part of
|q|², which is in the *blur*.

**Sixteen bits.** Where eight cannot order the rows, xb = x1 + x2 and qb = q1 + q2, each of eight bits. The product of
[x1, x2, x1] and [q1, q1, q2] lacks q2·x2 only, at most 2^-16 |q| |x| (1 + 2^-5), which A has in addition. The absolute
values of its terms may add up to (1 + 2^-5) |q| |x|, so g is larger by that.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakSet

import numpy as np

from nearlabel.neighbors.exact._candidates import CandidateLists, Candidates, Result, drop_self
from nearlabel.neighbors.exact._gemm_search import GemmSearch
from nearlabel.neighbors.exact._panel_search import PanelSearch, Parts
from nearlabel.neighbors.exact._panels import Build, DensePanels, PanelRows, Points
from nearlabel.neighbors.optional._torch import TorchDevice, device_named
from nearlabel.utils.types import BoolArray, Float32Array, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import row_blocks

MOST_FEATURES_OF_DEVICE = 2**18  # g < 1/4
LONGEST_GROUP = 256  # rows of a panel that bound the k-th neighbour together; panels are padded to a multiple
_PAIRS = {1: [(0, 0)], 2: [(0, 0), (1, 0), (0, 1)]}  # pieces of rows and of queries that are multiplied
_LACKING = {1: 0.0, 2: 2.0**-16 * (1 + 2.0**-5)}  # of |q| |x|
_INITIAL = 3  # pieces of an initial value
_COLUMNS = _INITIAL + 2  # of a factor in addition to the coordinates
_PANEL_BYTES = 2**28  # of a factor in float32, which makes panels of many features shorter
_WIDTH = 16  # the number of columns of a factor is a multiple of this, as matrix units need
_UNIT = 2.0**-22
_PADDING = np.float32(-3e38)  # score of rows that only fill a group: below that of any row, also above all limits
_UP = 1 + 2.0**-20
_SINGLE = 2.0**-21  # a few roundings to float32


class Slack(NamedTuple):
    """Terms of rows in their scores: ``of_norm`` times N, ``of_rest`` times R, and ``alone``; arrays (n_rows,)."""

    of_norm: Float32Array
    of_rest: Float32Array
    alone: Float32Array

    def of_groups(self, length: int) -> Slack:
        """Return the largest of each group of consecutive rows."""
        return Slack(*(values.reshape(-1, length).max(axis=1) for values in self))


@dataclass(frozen=True)
class DevicePanel(PanelRows):
    """Training samples as a factor, padded."""

    factor: Any
    slack: Slack


@dataclass(frozen=True)
class DeviceQueries:
    """Queries as a factor for the panels of a centre, with their N and R and squared norms (n_queries,).

    Those that are `far`, out of bounds, are zeros, and have no candidate.
    """

    factor: Any
    norms: Float32Array
    rests: Float32Array
    squares: FloatArray
    far: BoolArray
    blur: float

    def select(self, which: IntArray) -> DeviceQueries:
        """Return some of the queries, in ascending order; all of them without a copy."""
        if len(which) == len(self.norms):
            return self
        names = "factor", "norms", "rests", "squares", "far"
        return replace(self, **{name: getattr(self, name)[which] for name in names})

    def thresholds(self, limits: Float32Array, takes: BoolArray) -> Float32Array:
        """Return the least scores of candidates, given limits of squared distances; infinite for queries without."""
        scores = single((self.squares * (1 - self.blur) - limits) / 2, -np.inf)
        scores[self.far | ~takes] = np.inf
        return scores

    def limits(self, scores: Float32Array) -> Float32Array:
        """Return upper bounds on squared distances, given lower bounds on scores, of some roundings in float32."""
        scores64 = scores.astype(np.float64)
        squares = np.where(self.far, np.inf, self.squares)
        return single(squares * (1 + self.blur) - 2 * scores64 + _SINGLE * np.abs(scores64), np.inf)

    def squares_of(
        self, query: IntArray, row: IntArray, scores: Float32Array, slack: Slack
    ) -> tuple[Float32Array, Float32Array]:
        """Return squared distances of pairs of a query and a row, and the largest errors of these."""
        norm, rest, square = self.norms[query].astype(np.float64), self.rests[query], self.squares[query]
        half = norm * slack.of_norm[row] + rest * slack.of_rest[row] + slack.alone[row]
        errors = _UP * 2 * half + self.blur * square + _SINGLE * np.square(norm + slack.of_rest[row])
        return (square - 2 * (scores - half)).astype(np.float32), errors.astype(np.float32)


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
        self._panels = list(self._moved(self._panels or []))

    def _most_rows(self) -> int:
        """Return the most rows of a panel."""
        return min(self._device.panel_rows, max(LONGEST_GROUP, _PANEL_BYTES // (4 * int(self._width))))

    def _moved(self, panels: list[Any]) -> Iterator[DevicePanel]:
        """Put panels on the device as long as there is room."""
        room = self._device.room()
        for panel in panels:
            room -= panel.factor.nbytes
            yield replace(panel, factor=self._device.put(panel.factor)) if room >= 0 else panel

    def _stored(self, rows: IntArray, _: FloatArray, centre: FloatArray, middle: FloatArray, radius: float) -> Any:
        n_rows, filled = len(rows), -(-len(rows) // LONGEST_GROUP) * LONGEST_GROUP
        factor = np.zeros((filled, self._width), dtype=np.float32)
        squares, norms, rests = np.zeros((3, filled))
        for some, points in self._in_blocks(rows):
            centred = self._scaled(points - centre)
            factor[some, : self._n_coordinates], *of_some = self._parts(centred, of_query=False)
            squares[some], norms[some], rests[some] = of_some
        slack = self._slack(norms, rests)
        initial = (slack.alone - squares / 2).astype(np.float32)
        initial[n_rows:] = _PADDING
        factor[:, self._n_coordinates :][:, :_COLUMNS] = np.column_stack([*_pieces(initial, _INITIAL), *slack[:2]])
        return DevicePanel(n_rows, rows, centre, middle, radius, self._device.factor(factor), slack)

    def _parts(self, points: FloatArray, *, of_query: bool) -> tuple[Float32Array, FloatArray, FloatArray, FloatArray]:
        """Return the columns of the coordinates, squared norms, and norms of points and rests."""
        pieces, squares, norms, rests = parts(points, self._n_pieces)
        return np.hstack([pieces[pair[of_query]] for pair in _PAIRS[self._n_pieces]]), squares, norms, rests

    def _slack(self, norms: FloatArray, rests: FloatArray) -> Slack:
        """Return A, B and C of rows, given the norms of the points and of their parts that rounding drops."""
        both, growth, safety = norms + rests, self._growth, self._safety
        of_norm = eight_bits_up(safety * (rests + growth * both + _LACKING[self._n_pieces] * norms))
        of_rest = eight_bits_up(safety * (1 + growth) * both)
        return Slack(of_norm, of_rest, single(safety * (growth * np.square(norms) + self.absolute), np.inf))

    def operand(self, X: Matrix, centre: FloatArray) -> Any:
        """Centre, scale and round queries."""
        centred, _, far = self._centred(X, centre)
        factor = np.zeros((len(centred), self._width), dtype=np.float32)
        factor[:, : self._n_coordinates], squares, *lengths = self._parts(centred, of_query=True)
        norms, rests = (eight_bits_up(of) for of in lengths)
        ones = np.ones((len(centred), _INITIAL), dtype=np.float32)
        factor[:, self._n_coordinates :][:, :_COLUMNS] = np.column_stack([ones, norms, rests])
        on_device = self._device.put(self._device.factor(factor))
        return DeviceQueries(on_device, norms, rests, squares, far, self._blur)


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
    return np.asarray((single(values, np.inf).view(np.uint32) + 0xFFFF & np.uint32(0xFFFF0000)).view(np.float32))


def single(values: FloatArray, towards: float) -> Float32Array:
    """Convert to float32, rounded up (towards infinity) or down."""
    return np.nextafter(values.astype(np.float32), np.float32(towards))


# Search by products on an accelerator, with the result of a float64 search.
#
# As `GemmSearch`, with larger panels and tiles. The device multiplies them, takes maxima of runs of rows and compares
# those with the limits; only candidates leave it. The processor ranks them in float64, while the device has the next
# tile. Training samples are queries like others, each with one neighbour more, of which the row itself is dropped.

_LONGEST_RUN = 32
_GROUPS_PER_NEIGHBOR = 8  # in a panel: the k-th greatest of few groups bounds the k-th neighbour badly
_RUNS_AT_LEAST, _RUNS_PER_NEIGHBOR = 256, 2  # of a panel, which a query may open before it is given up
_RESOLVED_AT_A_TIME = 32_000


Plain: TypeAlias = Callable[[Parts], PanelSearch]  # makes the search without a device

_searches: WeakSet[DeviceSearch] = WeakSet()


def _begin_child() -> None:
    """Replace the locks of threads that a forked child does not have."""
    for search in _searches:
        search._lock = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)


class DeviceSearch(GemmSearch):
    """Find candidates on an accelerator and order them by their ranks in float64.

    A first search uses one piece of eight bits for each coordinate. Queries that it cannot resolve are searched for
    again with two pieces, which cost three products. The search without a device resolves the rest.
    """

    def __init__(self, parts: Parts, plain: Plain, *, device: TorchDevice, n_pieces: int = 1) -> None:
        self._plain, self._device, self._n_pieces, self._lock = plain, device, n_pieces, Lock()
        _searches.add(self)
        super().__init__(parts, resident=True)

    def _make_panels(self, build: Build) -> Any:
        return DevicePanels(self._X, self._distance, self._pointed, build, self._device, self._n_pieces)

    def _queries_per_tile(self) -> int:
        """Return the most queries that are compared with a panel at once."""
        return self._device.tile_queries

    def nearest(self, queries: Matrix | None, k: int, n_jobs: int | None) -> Result:
        """Return ranks and indices (n_queries, k) of the nearest rows; without queries, of each row without itself."""
        if queries is not None:
            return super().nearest(queries, k, n_jobs)
        found = super().nearest(self._X, k + 1, n_jobs)
        return Result(*drop_self(*found, np.arange(self._X.shape[0])))

    def _compare(self, lists: CandidateLists, panel: Any, operand: Any, queries: IntArray, takes: BoolArray) -> None:
        with self._lock:  # the scores of one tile at a time are in the device's memory
            query, place, scores = self._candidates(lists, panel, operand, queries, takes)
        squares, slack = operand.squares_of(query, place, scores, panel.slack)
        lists.add(Candidates(queries[query], panel.rows[place], squares, slack))

    def _candidates(
        self, lists: CandidateLists, panel: DevicePanel, operand: DeviceQueries, queries: IntArray, takes: BoolArray
    ) -> tuple[Any, ...]:
        """Lower the limits by the rows of a panel; return queries, places in the panel and scores of those within."""
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
        return tuple(device.get(array) for array in (query[pair], in_panel, opened[pair, place]))

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
            return self._plain(self._parts)
        return DeviceSearch(self._parts, self._plain, device=self._device, n_pieces=2)

    def __reduce__(self) -> tuple[Any, ...]:
        """Be made again where it is loaded: arrays of a device do not exist in another process."""
        return _made_anew, (self._parts, self._plain, self._device.name)


def _group_length(n_rows: int, k: int) -> int:
    """Return how many consecutive rows of a panel to take together for a limit on k neighbours."""
    halves = (LONGEST_GROUP >> times for times in range(LONGEST_GROUP.bit_length()))
    return next(length for length in halves if length == 1 or n_rows // length >= _GROUPS_PER_NEIGHBOR * k)


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
