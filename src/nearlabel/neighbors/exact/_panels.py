"""Squared distances in single precision with a proven bound on their error: they give candidates, never the result.

This needs *points*: vectors whose squared Euclidean distance orders the rows as the rank does (the rows themselves; for
the cosine, rows of length one). The points are kept in panels, centred, as float32 rows [r, |r|², 1], so that one
matrix product with queries [-2q, 1, |q|²] is |r - q|², and no other pass over memory is needed.

**The bound.** Let r and q be the centred, scaled points in real arithmetic, u = 2^-24, d the number of features that
are summed, and w = (|q| + |r|)². The float32 coordinates are off by a factor 1 + δ, |δ| ≤ u + 2^-53, so the product of
the stored numbers differs from |r - q|² by at most 2|q||r|(2u + u²) + u(|q|² + |r|²) + O(d 2^-53) w ≤ (2u + u² + ...)
w.
A sum of d + 2 products in any order, fused or not, errs by at most γ w, γ = (d + 2)u / (1 - (d + 2)u) (Higham, Accuracy
and Stability of Numerical Algorithms, 2002, section 3.1). The rank, summed in float64, is within (d + 3) 2^-53 of the
exact number, relatively. Adding a bound to a float32 number and comparing rounds twice more, by u w each. Together all
of this, and the rounding of norms and of the bound itself, stays below ``rounding(d) w`` with
rounding(d) = (d + 16)u / (1 - (d + 16)u). Underflow, even where the machine flushes denormal numbers to zero, adds at
most (d + 16) 2^-125 (1 + |q| + |r|): below 2^-60 where norms are below 2^44, far below the margin of rounding(d) w
above.
The absolute rounding error of the rank itself (the cosine) is its `noise`.

Assumed, and checked: the points are finite; d < 2^20; a power of two scales the training points to norms below 2^31,
and queries with norms above 2^60 get a distance above every limit and end as unresolved, so that nothing overflows.

**Whole numbers.** Where all features are whole numbers and w < 2^24, every sum above is exact in float32 and the
squared distance *is* the rank: nothing needs to be recomputed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy import sparse

from nearlabel.utils.types import CSR, BoolArray, Float32Array, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_float64, row_blocks

PANEL_ROWS = 4096
MOST_FEATURES = 2**20
RUN = 16  # a panel is padded to a multiple of this number of rows
_SAMPLE, _SAMPLE_OF_MIDDLE = 256, 64  # rows that give variances and medians: they affect the speed only
_CACHED_BYTES = 2**18  # rows are made into points in blocks of this size, which stay in the cache
LARGEST_QUERY = 2.0**60
_UNDERFLOW = 2.0**-60
_MOST_NOISE = 2.0**120
_EXACT_BELOW = 2.0**24  # float32 represents all whole numbers up to here
FAR = 1.5e38  # squared norm of padding and of queries out of bounds; twice that is still finite in float32
_HEAD_DENSITY = 0.04  # a column with more non-zeros is cheaper in the dense product

Coordinates: TypeAlias = Callable[[IntArray, int], FloatArray]  # of numbers of rows and the number of a feature
Build: TypeAlias = Callable[[Callable[..., Any], Iterable[tuple[Any, ...]]], list[Any]]  # results of a function


class Points(Protocol):
    """A distance with points: vectors whose squared Euclidean distance grows with the rank."""

    exact: bool  # the rank is the squared distance of the points
    unit_length: bool  # whether points are rows divided by their lengths

    def points(self, X: Matrix) -> Matrix:
        """Return the points of rows."""
        ...

    def blank(self, X: Matrix) -> BoolArray:
        """Return which rows have no point."""
        ...

    def coordinates(self, X: Matrix) -> Coordinates:
        """Return a function that gives a column of some rows, of points or of numbers near them in order."""
        ...

    def extent(self, X: Matrix) -> tuple[FloatArray, FloatArray]:
        """Return the least and the largest value of each column of the points."""
        ...

    def noise(self, n_terms: int, exponent: int) -> float:
        """Return the absolute rounding error of the rank."""
        ...

    def rounding(self, n_features: int) -> float:
        """Return the bound on the relative error of an expanded square in float64."""
        ...

    def prepare(self, X: Matrix) -> Any:
        """Raise ValueError if the squared norm of a row overflows."""
        ...

    def ranks(self, queries: Matrix, rows: Matrix, pairs: tuple[IntArray, IntArray]) -> FloatArray:
        """Return the rank of each pair of a query and a row, summed in float64."""
        ...


def rounding(n_features: int) -> float:
    """Return the bound on the relative error of a squared distance, derived above."""
    error = (n_features + 16) * 2.0**-24
    return error / (1 - error)


@dataclass(frozen=True)
class PanelRows:
    """Training samples stored together, by their indices.

    `centre` is what the points are centred on. All lie within `radius` of `middle` (both in units of the points).
    """

    n_rows: int
    rows: IntArray
    centre: FloatArray
    middle: FloatArray
    radius: float


@dataclass(frozen=True)
class Panel(PanelRows):
    """Training samples with their points as a float32 `block` and their norms, in one order.

    The block is padded to a multiple of `RUN` with rows that are far from everything, `rows` and `norms` with zeros.
    """

    block: Any
    norms: Float32Array


@dataclass(frozen=True)
class Operand:
    """Queries as the right factor of the product: float32 `block` (n_features + 2, n_queries), and their norms."""

    block: Any
    norms: Float32Array

    def select(self, which: IntArray) -> Operand:
        """Return some of the queries, in ascending order; all of them without a copy."""
        if len(which) == len(self.norms):
            return self
        parts = self.block if isinstance(self.block, tuple) else (self.block,)
        chosen = tuple(part[:, which] for part in parts)
        return Operand(chosen if isinstance(self.block, tuple) else chosen[0], self.norms[which])


class _Bounded:
    """Training points in panels; squared distances of queries to them are scaled by a power of two.

    The bound on their error is from the number of terms of a sum, this scale, and the distance.
    """

    whole: bool  # rows are small whole numbers: squared distances are exact, panels are in the order of the rows
    n_panels: int
    bounded: bool  # panels have balls, which give lower bounds

    def _set_scale(self, distance: Points, n_terms: int, reach: float) -> None:
        self._distance = distance
        in_range = 2.0**-10 <= reach <= 2.0**31 or reach == 0
        self._exponent = 0 if in_range else 30 - math.frexp(reach)[1]
        self.n_terms, self._relative = n_terms, rounding(n_terms)
        self.absolute = min(_UNDERFLOW + distance.noise(n_terms, self._exponent), _MOST_NOISE)

    def _set_leaves(self, leaves: list[IntArray], build: Build | None) -> None:
        """Take the rows of each panel, and build the panels."""
        self._leaves, self.n_panels = leaves, len(leaves)
        self._panels = build(self._make, [(leaf,) for leaf in leaves]) if build else None

    def panel(self, number: int) -> Any:
        """Return a panel from memory, or build it."""
        return self._make(self._leaves[number]) if self._panels is None else self._panels[number]

    def _make(self, rows: IntArray) -> Any:
        raise NotImplementedError

    def error(self, norms: Float32Array, others: Float32Array) -> Float32Array:
        """Return the bound on errors of squared distances at these norms: relative · (|q| + |r|)² + absolute."""
        both = norms + others
        return np.asarray(self._relative * (both * both) + self.absolute, dtype=np.float32)

    def as_ranks(self, squares: Float32Array) -> FloatArray:
        """Return exact squared distances as ranks: float64, the scale undone, which is exact."""
        return np.ldexp(squares.astype(np.float64), -2 * self._exponent)


class DensePanels(_Bounded):
    """Dense points in compact panels.

    The bound is proportional to squared norms, so all of this makes norms small: rows are halved at the median of their
    widest coordinate, or at a clear gap, so that rows near each other share a panel; a panel that is far from the
    centre of all rows, for its own size, has a centre of its own; and within a panel rows are sorted by norm, so that a
    far row loosens the bound of its run only.

    `build` applies a function to the arguments of each panel, in threads. None, for rows mapped from a file: these keep
    their order, and panels are built whenever they are needed.
    """

    _seeks_whole = True  # whether sums of whole numbers are treated separately

    def __init__(self, X: Matrix, distance: Points, rows: IntArray, build: Build | None) -> None:
        self._X, self._distance = X, distance
        n_features = X.shape[1]
        low, high = distance.extent(X)
        self.centre = self._middle(rows)
        self.whole = self._seeks_whole and distance.exact and _are_whole(X)
        if self.whole:
            self.centre = np.floor(self.centre)
        reach = _length(np.maximum(high - self.centre, self.centre - low))
        self.whole = self.whole and 4 * reach * reach < _EXACT_BELOW
        self._set_scale(distance, n_features, reach)
        leaves = list(self._compact(rows, distance.coordinates(X)) if build and not self.whole else _slices(rows))
        self.bounded = build is not None and not self.whole and len(leaves) > 1
        self._set_leaves(leaves, build)

    def _set_leaves(self, leaves: list[IntArray], build: Build | None) -> None:
        super()._set_leaves(leaves, build)
        self._middles = np.array([panel.middle - self.centre for panel in self._panels or ()])
        self._radii = np.array([panel.radius for panel in self._panels or ()])

    def _most_rows(self) -> int:
        """Return the most rows of a panel."""
        return PANEL_ROWS

    def operand(self, X: Matrix, centre: FloatArray) -> Operand:
        """Centre and scale queries (n_queries, n_features), as a factor for the panels of a centre.

        Those out of bounds get a distance above every limit.
        """
        centred, squares, far = self._centred(X, centre)
        return Operand(_factor(centred, np.where(far, FAR, squares)), _norms(squares, far))

    def _centred(self, X: Matrix, centre: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Return queries, centred and scaled, their squared norms, and which are out of bounds; these are zeros."""
        with np.errstate(over="ignore"):
            centred = self._scaled(self._distance.points(as_float64(X)) - centre)
            squares = np.einsum("ij,ij->i", centred, centred)
        far = ~(squares <= LARGEST_QUERY**2)
        centred[far] = 0.0
        return centred, squares, far

    def operand_of(self, panel: Panel, rows: IntArray, centre: FloatArray) -> Operand:
        """Turn rows of a panel into queries: its float32 block, or the points where the centre differs."""
        if centre is not panel.centre:
            return self.operand(self._X[panel.rows[rows]], centre)
        part = panel.block[rows]
        return Operand(_factor(part[:, :-2], part[:, -2]), panel.norms[rows])

    def squares(self, panel: Panel, operand: Operand, memory: Float32Array) -> Float32Array:
        """Return squared distances (rows of the panel, n_queries), in a part of `memory`, which has room for them.

        Multiply: [r, |r|², 1] times [-2q, 1, |q|²].
        """
        shape = len(panel.block), operand.block.shape[1]
        return np.matmul(panel.block, operand.block, out=_shaped(memory, shape))

    def lower_bounds(self, X: Matrix, numbers: Sequence[int]) -> FloatArray:
        """Return a lower bound on the squared distance of each query to any row of each of some panels: its ball's.

        Below zero where the query is inside the ball, and the lower the deeper: the panel of the least bound is the
        best one to start with. Only for `bounded` panels.
        The expanded squares |q|² - 2 q·m + |m|² may be off by `rounding`; `blur` is its root. Far from the centre
        that is more than the distance itself.
        """
        middles, radii = self._middles[list(numbers)], self._radii[list(numbers)]
        centred = self._distance.points(as_float64(X)) - self.centre
        with np.errstate(over="ignore", invalid="ignore"):  # queries out of bounds are unresolved anyway
            lengths, away = (np.einsum("ij,ij->i", rows, rows) for rows in (centred, middles))
            squares = lengths[:, np.newaxis] + away - 2 * (centred @ middles.T)
            blur = math.sqrt(self._distance.rounding(X.shape[1])) * (np.sqrt(lengths)[:, np.newaxis] + np.sqrt(away))
            gaps = self._scaled((np.sqrt(np.maximum(squares, 0.0)) - blur - radii) * (1 - 1e-6))
            return np.asarray(gaps * np.abs(gaps) - self.absolute)

    def is_whole(self, X: Matrix) -> bool:
        """Return whether these are small whole numbers, as the training samples are."""
        if not (self.whole and _are_whole(X)):
            return False
        farthest = _length(np.abs(as_float64(X) - self.centre).max(axis=0))
        return 4 * farthest * farthest < _EXACT_BELOW

    def _points(self, rows: IntArray | slice) -> FloatArray:
        return np.asarray(self._distance.points(as_float64(self._X[rows])))

    def _scaled(self, values: FloatArray) -> FloatArray:
        return np.ldexp(values, self._exponent) if self._exponent else values

    def _compact(self, rows: IntArray, coordinate: Coordinates) -> Iterator[IntArray]:
        """Halve the rows along their widest coordinate until they fit into a panel and have no clear gap."""
        most, some = self._most_rows(), rows[:: 1 + len(rows) // _SAMPLE]
        widest = int(np.argmax(self._points(some).var(axis=0)))
        gap = _clear_gap(coordinate(some, widest)) if len(rows) > most // 4 else None
        if len(rows) <= most and gap is None:
            yield rows
            return
        values = coordinate(rows, widest)
        if gap is None:
            near = np.zeros(len(rows), dtype=bool)
            near[np.argpartition(values, len(rows) // 2)[: len(rows) // 2]] = True
        else:
            near = values <= gap
        yield from self._compact(rows[near], coordinate)
        yield from self._compact(rows[~near], coordinate)

    def _make(self, rows: IntArray) -> Any:
        centre, middle, radius = self.centre, self.centre, np.inf
        if not self.bounded:
            (squares,) = self._squared_distances(rows, centre[np.newaxis])
        else:
            middle = self._middle(rows)
            squares, around = self._squared_distances(rows, np.array([centre, middle]))
            radius = float(np.sqrt(around.max())) * (1 + 1e-6)
            if 4 * np.median(around) < np.median(squares):
                squares, centre = around, middle
        if not self.whole:
            order = np.argsort(squares, kind="stable")
            rows, squares = rows[order], squares[order]
        return self._stored(rows, np.ldexp(squares, 2 * self._exponent), centre, middle, radius)

    def _stored(
        self, rows: IntArray, squares: FloatArray, centre: FloatArray, middle: FloatArray, radius: float
    ) -> Any:
        """Return a panel of rows in their order, given their scaled squared norms: the points, squares and ones."""
        block = _padded_block(squares, self._X.shape[1])
        for some, points in self._in_blocks(rows):
            block[some, :-2] = self._scaled(points - centre)
        norms = _filled(np.sqrt(squares), len(block))
        return Panel(len(rows), _filled(rows, len(block)), centre, middle, radius, block, norms)

    def _middle(self, rows: IntArray) -> FloatArray:
        """Return the median of some rows. Any centre gives a right bound; outliers do not move this one."""
        some = np.ascontiguousarray(self._points(rows[:: 1 + len(rows) // _SAMPLE_OF_MIDDLE]).T)
        some.sort(axis=1)  # faster than a selection
        return np.asarray(some[:, (some.shape[1] - 1) // 2] / 2 + some[:, some.shape[1] // 2] / 2)

    def _in_blocks(self, rows: IntArray) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the points of rows in blocks that stay in the cache."""
        for block in row_blocks(len(rows), 8 * self._X.shape[1], _CACHED_BYTES):
            yield block, self._points(rows[block])

    def _squared_distances(self, rows: IntArray, centres: FloatArray) -> FloatArray:
        """Return the squared distances (n_centres, n_rows) of points, without the power of two, to some centres."""
        squares = np.empty((len(centres), len(rows)))
        for block, points in self._in_blocks(rows):
            for centre, of_centre in zip(centres, squares, strict=True):
                centred = points - centre
                np.einsum("ij,ij->i", centred, centred, out=of_centre[block])
        return squares


def _clear_gap(values: FloatArray) -> float | None:
    """Return the middle of a gap wider than half of the range of the values, or None.

    The range ignores 2 % of the values at each end, which may be outliers.
    """
    values = np.sort(values)[len(values) // 50 : len(values) - len(values) // 50]
    gaps = np.diff(values)
    widest = int(np.argmax(gaps))
    if not gaps[widest] > (values[-1] - values[0]) / 2:
        return None
    return float(min(values[widest] + gaps[widest] / 2, np.nextafter(values[widest + 1], -np.inf)))


def _slices(rows: IntArray) -> list[IntArray]:
    return [rows[block] for block in row_blocks(len(rows), 1, PANEL_ROWS)]


def _factor(points: Any, squares: Any) -> Float32Array:
    """Return [-2q, 1, |q|²] of queries, as columns."""
    block = np.empty((points.shape[1] + 2, len(points)), dtype=np.float32)
    np.multiply(points.T, -2.0, out=block[:-2], casting="same_kind")
    block[-2], block[-1] = 1.0, squares
    return block


def _norms(squares: FloatArray, far: BoolArray) -> Float32Array:
    return np.sqrt(np.where(far, 0.0, squares)).astype(np.float32)


def _padded_block(squares: FloatArray, n_columns: int) -> Float32Array:
    """Return [0, |r|², 1] of rows, up to a multiple of `RUN` by rows that are far from everything."""
    block = np.zeros((-(-len(squares) // RUN) * RUN, n_columns + 2), dtype=np.float32)
    block[: len(squares), -2], block[len(squares) :, -2], block[:, -1] = squares, FAR, 1.0
    return block


def _length(sides: FloatArray) -> float:
    """Return the root of the sum of squares, without overflow of the squares."""
    longest = float(sides.max(initial=0.0))
    return longest * float(np.linalg.norm(sides / longest)) if longest > 0 else 0.0


def _shaped(memory: Float32Array, shape: tuple[int, int]) -> Float32Array:
    return memory[: shape[0] * shape[1]].reshape(shape)


def _filled(values: Any, length: int) -> Any:
    """Append zeros up to a length; convert floats to float32."""
    values = np.asarray(values, dtype=np.float32 if values.dtype.kind == "f" else None)
    return np.concatenate([values, np.zeros(length - len(values), dtype=values.dtype)])


def _are_whole(X: Matrix) -> bool:
    """Return whether all values are whole numbers; where they are not, the first block mostly shows it."""
    values = X.data if sparse.issparse(X) else X
    for block in row_blocks(len(values), 8 * values[:1].size, _CACHED_BYTES):
        if not (values[block] == np.rint(values[block])).all():
            return False
    return True


class SparsePanels(_Bounded):
    """Sparse points: frequent columns as a dense head, which a dense product multiplies faster, the others as a tail.

    The points are not centred, which would fill them. In the bound, the terms of a sum are the non-zeros of a row.
    """

    bounded = False

    def __init__(self, X: CSR, distance: Points, rows: IntArray, build: Build | None) -> None:
        self._X, self._distance = X, distance
        self.centre = np.zeros(0)
        counts = np.bincount(X.indices, minlength=X.shape[1])
        head = np.flatnonzero(counts > _HEAD_DENSITY * X.shape[0])
        self._place = np.full(X.shape[1], -1)
        self._place[head] = np.arange(len(head))
        squares = np.concatenate([_squared_norms(self._points(leaf)) for leaf in _slices(rows)])
        most = float(squares.max(initial=0.0))
        self.whole = bool(distance.exact and 4 * most < _EXACT_BELOW and _are_whole(X))
        self._set_scale(distance, int(np.diff(X.indptr).max(initial=0)), math.sqrt(most))
        if build and not self.whole:
            rows = rows[np.argsort(squares, kind="stable")]
        self._set_leaves(_slices(rows), build)

    def operand(self, X: Matrix, centre: FloatArray) -> Operand:
        """Scale queries; give those out of bounds a distance above every limit."""
        with np.errstate(over="ignore"):
            points, squares = self._scaled(self._distance.points(as_float64(X)))
        far = ~(squares <= LARGEST_QUERY**2)
        head, tail = self._split(_without_rows(points, far))
        return Operand((_factor(head, np.where(far, FAR, squares)), _tail_factor(tail)), _norms(squares, far))

    def operand_of(self, panel: Panel, rows: IntArray, centre: FloatArray) -> Operand:
        """Turn rows of a panel into queries."""
        head, tail = panel.block
        part = head[rows]
        return Operand((_factor(part[:, :-2], part[:, -2]), _tail_factor(tail[rows])), panel.norms[rows])

    def squares(self, panel: Panel, operand: Operand, memory: Float32Array) -> Float32Array:
        """Multiply the heads, then add the product of the tails."""
        (head, tail), (head_queries, tail_queries) = panel.block, operand.block
        n_queries = head_queries.shape[1]
        squares = np.matmul(head, head_queries, out=_shaped(memory, (len(head), n_queries)))
        if tail.nnz and tail_queries.nnz:
            rest = _shaped(memory[squares.size :], (tail.shape[0], n_queries))
            squares[: tail.shape[0]] += (tail @ tail_queries).toarray(out=rest)
        return squares

    def is_whole(self, X: Matrix) -> bool:
        """Return whether these are small whole numbers, as the training samples are."""
        return self.whole and _are_whole(X) and bool(4 * _squared_norms(as_float64(X)).max(initial=0) < _EXACT_BELOW)

    def _points(self, rows: IntArray | slice) -> CSR:
        return self._distance.points(as_float64(self._X[rows]))

    def _scaled(self, points: CSR) -> tuple[CSR, FloatArray]:
        if self._exponent:
            points = points.copy()
            points.data = np.ldexp(points.data, self._exponent)
        return points, _squared_norms(points)

    def _split(self, points: CSR) -> tuple[Float32Array, CSR]:
        """Return the frequent columns, dense, and the others, CSR; both float32."""
        n_rows = points.shape[0]
        place = self._place[points.indices]
        row = np.repeat(np.arange(n_rows), np.diff(points.indptr))
        data = points.data.astype(np.float32)
        in_head = place >= 0
        head = np.zeros((n_rows, int(self._place.max(initial=-1)) + 1), dtype=np.float32)
        head[row[in_head], place[in_head]] = data[in_head]
        ends = np.concatenate([[0], np.cumsum(np.bincount(row[~in_head], minlength=n_rows))])
        tail = sparse.csr_array((data[~in_head], points.indices[~in_head], ends), shape=points.shape)
        return head, tail

    def _make(self, rows: IntArray) -> Panel:
        points, squares = self._scaled(self._points(rows))
        head, tail = self._split(points)
        block = _padded_block(squares, head.shape[1])
        block[: len(rows), :-2] = head
        norms = _filled(np.sqrt(squares), len(block))
        return Panel(len(rows), _filled(rows, len(block)), self.centre, self.centre, np.inf, (block, tail), norms)


def _tail_factor(tail: CSR) -> CSR:
    return (tail * np.float32(-2)).T.tocsr()


def _squared_norms(points: CSR) -> FloatArray:
    return np.asarray(points.multiply(points).sum(axis=1)).ravel()


def _without_rows(points: CSR, which: BoolArray) -> CSR:
    if not which.any():
        return points
    kept = points.copy()
    kept.data[np.repeat(which, np.diff(points.indptr))] = 0.0
    return kept
