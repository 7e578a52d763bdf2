"""Distances whose bits are the same for dense and sparse rows, and for every tile, thread and library.

A matrix product is fast but rounds differently from machine to machine, and the expanded square |q|² - 2 q·r + |r|²
cancels. So each distance does two things. `tile` bounds it for all pairs of a tile from below and above, by the fastest
operation; each pair has its own bounds, which are true for every rounding, so a far row does not loosen those of
others. `Tile.refine` computes it for chosen pairs, feature by feature in float64, with elementwise operations only.
Equal features give equal bits, and a zero adds nothing, so dense and sparse rows agree. The refined number is the
*rank*, which orders the neighbours; `to_distance` turns it into the distance that is returned.

For the bounds: with u = 2^-53, a sum of d products in any order is off by at most d·u/(1 - d·u) times the sum of their
absolute values (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1). For squared distances that
sum is below twice qn + rn, the two squared norms. Product, norms, centring and the refined number itself err by at most
(6d + 48)·u·(qn + rn) together.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import manhattan_distances

from nearlabel.neighbors.exact.kernels import sum_pairs, sum_sparse_pairs
from nearlabel.utils.types import CSR, BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense, as_float64, bytes_per_row, largest_size, row_blocks, uneven_blocks

_TINY = float(np.finfo(np.float64).tiny)
_LARGEST_NORM = float(np.finfo(np.float64).max) / 16  # sums of a few norms stay finite
# A difference of two numbers is 0 or at least 2^-53 of the smaller one, so squares of differences of numbers from here
# on are 2^-1006 or more: far above 2^-1074, where float64 ends.
SMALLEST_SQUARED = 2.0**-450
_PAIRS_AT_A_TIME = 2048  # whose rows fit into the cache
_SPARSE_PAIRS_AT_A_TIME = 2**16  # each time, scipy takes as long for a few rows as for thousands
_CACHED_BYTES = 2**18


@dataclass(frozen=True)
class Rows:
    """Rows prepared for one distance: `values` give ranks, `operands` and `norms` give bounds."""

    values: Matrix
    operands: Matrix
    norms: FloatArray

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.norms)

    def __getitem__(self, rows: slice) -> Rows:
        """Return some of the rows."""
        return Rows(self.values[rows], self.operands[rows], self.norms[rows])


@dataclass(frozen=True)
class Tile:
    """Bounds on the rank of every pair of a query and a row, and the rank itself of chosen pairs.

    The rank is at least ``lower + base`` of its query, and exceeds that by at most ``query_slack + row_slack``.
    """

    lower: FloatArray  # (n_queries, n_rows)
    base: FloatArray  # (n_queries,)
    query_slack: FloatArray  # (n_queries,)
    row_slack: FloatArray  # (n_rows,)
    refine: Callable[[IntArray, IntArray], FloatArray]


class Distance(ABC):
    """A distance as `ExactNeighbors` uses it."""

    fills_rows = False  # whether `tile` makes sparse rows dense

    @property
    def smallest(self) -> float:
        """The size that some training value must reach, unless all are 0: else differences might vanish."""
        return 0.0

    @abstractmethod
    def fit(self, X: Matrix) -> None:
        """Learn a centre or variances from the training samples."""

    @abstractmethod
    def prepare(self, X: Matrix) -> Any:
        """Return the argument of `tile`: `Rows`, or queries or training samples with the terms of their bounds."""

    @abstractmethod
    def tile(self, queries: Any, rows: Any) -> Tile:
        """Bound the rank of all pairs of two results of `prepare`."""

    def to_distance(self, rank: FloatArray) -> FloatArray:
        """Return the distance of a rank: often the rank itself."""
        return rank


def refining(distance: Any, queries: Any, rows: Any) -> Callable[[IntArray, IntArray], FloatArray]:
    """Return a function that gives the ranks of pairs of prepared queries and rows, for a `Tile`."""
    return lambda query, row: np.asarray(distance.ranks(queries.values, rows.values, (query, row)))


def inner_products(left: Matrix, right: Matrix) -> FloatArray:
    """Return the dense (n_left, n_right) matrix of inner products of two sets of rows of the same storage."""
    return as_dense(left @ right.T)


def rounding64(n_features: int) -> float:
    """Return the bound on the relative error of an expanded square in float64, derived above."""
    return (6 * n_features + 48) * 2.0**-53


class SquaredEuclidean(Distance):
    """Σ (a - b)². Its points are the rows.

    Bounded by the expanded square of centred rows: near the centre norms are small, and so are the errors. Any centre
    gives right bounds; the median of some hundred rows is near most rows, and outliers do not move it.
    """

    smallest = SMALLEST_SQUARED
    exact, unit_length = True, False
    power = 2
    rounding = staticmethod(rounding64)

    def fit(self, X: Matrix) -> None:
        """Learn the centre (0 for sparse rows, which centring would fill); check that squared norms do not overflow."""
        some = X[:: max(1, X.shape[0] // 256)]
        with np.errstate(over="ignore", invalid="ignore"):  # refused below
            self._centre = np.zeros(X.shape[1]) if sparse.issparse(X) else np.median(as_float64(some), axis=0)
        self.check(X)

    def check(self, X: Matrix) -> None:
        """Raise ValueError if the squared norm of a row overflows."""
        if not self.fits(2 * largest_size(X), X.shape[1]):
            check_all(X, self)

    def fits(self, largest: float, n_features: int) -> bool:
        """Return whether no squared norm overflows where no value is larger."""
        return n_features * largest * largest < _LARGEST_NORM

    def prepare(self, X: Matrix) -> Rows:
        """Centre the rows, take their squared norms rn, and append (1 - rounding) rn as a column."""
        with np.errstate(over="ignore", invalid="ignore"):  # refused below
            centred = as_float64(X) if sparse.issparse(X) else as_float64(X) - self._centre
            norms = _squared_norms(centred)
        check_norms(norms, "squared norm")
        return Rows(X, _with_column(centred, norms * (1 - rounding64(X.shape[1]))), norms)

    def tile(self, queries: Rows, rows: Rows) -> Tile:
        """Bound the squared distance of all pairs, minus the query's own norm: one product, [-2q, 1]·[r, rn]."""
        rounding = rounding64(rows.values.shape[1])
        left = _with_column(-2.0 * queries.operands[:, :-1], np.ones(len(queries)))
        lower = inner_products(left, rows.operands)
        base, slack = queries.norms * (1 - rounding) - _TINY, 2 * (rounding * queries.norms + _TINY)
        return Tile(lower, base, slack, 2 * rounding * rows.norms, refining(self, queries, rows))

    def ranks(self, queries: Matrix, rows: Matrix, pairs: Pairs) -> FloatArray:
        """Sum the squared differences."""
        return sum_over_features(queries, rows, pairs, np.subtract, np.square)

    def points(self, X: Matrix) -> Matrix:
        """Return the rows themselves."""
        return X

    def coordinates(self, X: Matrix) -> Callable[[IntArray, int], FloatArray]:
        """Return a function that gives a column of some rows."""
        return lambda rows, feature: np.asarray(X[rows, feature], dtype=np.float64)

    def extent(self, X: Matrix) -> tuple[FloatArray, FloatArray]:
        """Return the least and the largest value of each column."""
        return as_float64(X.min(axis=0)), as_float64(X.max(axis=0))

    def noise(self, n_terms: int, exponent: int) -> float:
        """Return the absolute error of squares by underflow."""
        return math.ldexp(n_terms + 3.0, min(2 * exponent - 1074, 1000))

    def blank(self, X: Matrix) -> BoolArray:
        """Return that every row has a point."""
        return np.zeros(X.shape[0], dtype=bool)


class Euclidean(SquaredEuclidean):
    """√ Σ (a - b)²; the squared distance decides the order, so the root cannot make two of them equal."""

    def to_distance(self, rank: FloatArray) -> FloatArray:
        """Take the root."""
        return np.sqrt(rank)


class Manhattan(Distance):
    """Σ |a - b|."""

    power = 1

    def fit(self, X: Matrix) -> None:
        """Check that no sum of absolute values overflows; there is nothing to learn."""
        self.check(X)

    def check(self, X: Matrix) -> None:
        """Raise ValueError if the sum of a row's absolute values overflows."""
        if not self.fits(largest_size(X), X.shape[1]):
            check_all(X, self)

    def fits(self, largest: float, n_features: int) -> bool:
        """Return whether no sum of absolute values overflows where no value is larger."""
        return n_features * largest < _LARGEST_NORM

    def prepare(self, X: Matrix) -> Rows:
        """Return the unchanged rows with their sums of absolute values."""
        X = _with_narrow_indices(as_float64(X))
        with np.errstate(over="ignore"):  # refused below
            norms = np.asarray(abs(X).sum(axis=1)).ravel()
        check_norms(norms, "sum of absolute values")
        return Rows(X, X, norms)

    def tile(self, queries: Rows, rows: Rows) -> Tile:
        """Compute the distance of all pairs, summed in another order than ranks are."""
        rounding = rounding64(rows.values.shape[1])
        sums = manhattan_distances if sparse.issparse(rows.values) else partial(cdist, metric="cityblock")
        lower = sums(queries.operands, rows.operands)
        slack, row_slack = rounding * queries.norms + _TINY, rounding * rows.norms
        lower -= row_slack
        return Tile(lower, -slack, 2 * slack, 2 * row_slack, refining(self, queries, rows))

    def ranks(self, queries: Matrix, rows: Matrix, pairs: Pairs) -> FloatArray:
        """Sum the absolute differences."""
        return sum_over_features(queries, rows, pairs, np.subtract, np.abs)


class Cosine(Distance):
    """1 - a·b / (|a| |b|); an empty row is at distance 2 from all others, the largest there is, and 0 from empty ones.

    The cosine is the root of (a·b)² / (a·a b·b). On whole numbers, while (a·a)(b·b) stays below 2^53, numerator and
    denominator are exact, so equal cosines are equal here too. Rows are first scaled by powers of two, which changes no
    digit.
    """

    exact, unit_length = False, True
    rounding = staticmethod(rounding64)

    def fit(self, X: Matrix) -> None:
        """Learn nothing."""

    def prepare(self, X: Matrix) -> Rows:
        """Scale each row to a largest value in [0.5, 1) and take its squared norm."""
        values = _scaled_by_powers_of_two(as_float64(X))
        norms = _squared_sums(values)
        return Rows(values, _divide_rows(values, _lengths(norms)), norms)

    def tile(self, queries: Rows, rows: Rows) -> Tile:
        """Bound minus the cosine of all pairs."""
        lower = inner_products(-queries.operands, rows.operands)
        lower[:, rows.norms == 0] = 1.0
        lower[queries.norms == 0] = np.where(rows.norms == 0, -1.0, 1.0)
        margin = np.full(len(queries), rounding64(rows.values.shape[1]))

        def refine(query: IntArray, row: IntArray) -> FloatArray:
            dot = sum_over_features(queries.values, rows.values, (query, row), np.multiply, np.positive)
            return minus_cosine(dot, queries.norms[query], rows.norms[row])

        return Tile(lower, -margin, 2 * margin, np.zeros(len(rows)), refine)

    def to_distance(self, rank: FloatArray) -> FloatArray:
        """Return 1 - cosine."""
        return 1.0 + rank

    def ranks(self, queries: Matrix, rows: Matrix, pairs: Pairs) -> FloatArray:
        """Return minus the cosines; each row in the pairs is scaled once a block."""
        ranks: FloatArray = np.empty(len(pairs[0]))
        for block in row_blocks(len(ranks), 1, _SPARSE_PAIRS_AT_A_TIME if sparse.issparse(rows) else _PAIRS_AT_A_TIME):
            (asked, query), (used, row) = (_distinct(which[block]) for which in pairs)
            left, right = (_scaled_by_powers_of_two(as_float64(some)) for some in (queries[asked], rows[used]))
            dot = sum_over_features(left, right, (query, row), np.multiply, np.positive)
            ranks[block] = minus_cosine(dot, _squared_sums(left)[query], _squared_sums(right)[row])
        return ranks

    def points(self, X: Matrix) -> Matrix:
        """Return rows of length one; an empty row stays."""
        values: Matrix = _scaled_by_powers_of_two(X)
        return _divide_rows(values, _lengths(_squared_norms(values)))

    def coordinates(self, X: Matrix) -> Callable[[IntArray, int], FloatArray]:
        """Return a function that gives a column of some rows, each value divided by the largest of its row."""
        blocks = row_blocks(X.shape[0], X.shape[1] * X.itemsize, _CACHED_BYTES)
        largest = np.concatenate([np.abs(X[block]).max(axis=1) for block in blocks]).astype(np.float64)
        per_largest = np.divide(1.0, largest, out=np.zeros(len(largest)), where=largest > _TINY)
        return lambda rows, feature: np.asarray(X[rows, feature] * per_largest[rows])

    def extent(self, X: Matrix) -> tuple[FloatArray, FloatArray]:
        """Return -1 and 1."""
        ones = np.ones(X.shape[1])
        return -ones, ones

    def noise(self, n_terms: int, exponent: int) -> float:
        """Return the absolute error of points of length one and of the cosine by rounding.

        Points are off by h = (d/2 + 4)u, u = 2^-53, so squared distances by at most 2h (2·2 + 2h); the cosine that is
        computed is off by (2d + 8)u, twice of which counts.
        """
        return math.ldexp(8.0 * n_terms + 64, min(2 * exponent - 53, 1000))

    def blank(self, X: Matrix) -> BoolArray:
        """Return which rows are empty: they have no point."""
        if sparse.issparse(X):
            return np.asarray(abs(X).max(axis=1).toarray().ravel() == 0)
        return np.asarray(~X.any(axis=1))


# Distances with points: vectors whose squared Euclidean distance grows with the rank, so that float32 products serve.
PointDistance: TypeAlias = SquaredEuclidean | Cosine
# Distances that scipy's k-d tree computes: Minkowski's, of a `power`.
TreeDistance: TypeAlias = SquaredEuclidean | Manhattan


def check_all(X: Matrix, distance: Distance) -> None:
    """Raise ValueError if `prepare` rejects a row."""
    for block in row_blocks(X.shape[0], 8 * X.shape[1]):
        distance.prepare(X[block])


def check_not_too_small(parts: Iterable[Matrix], distance: Distance) -> None:
    """Raise ValueError if all values of all parts are so small that differences of training samples might vanish.

    If values differ in size, small ones may vanish next to large ones, as in any sum of floating-point numbers.
    """
    if not distance.smallest:
        return
    largest = 0.0
    for X in parts:
        for block in row_blocks(X.shape[0], bytes_per_row(X), _CACHED_BYTES):
            largest = max(largest, largest_size(X[block]))
            if largest >= distance.smallest:  # usually in the first block: then the rest is not read
                return
    if largest > 0:
        raise ValueError(
            f"X must have a value of at least {distance.smallest:.2g}, as smaller distances may round to 0, got"
            f" {largest:.3g} as the largest. Hint: multiply the features."
        )


def check_norms(norms: FloatArray, what: str) -> None:
    """Raise ValueError if a norm is so large that sums of some norms might overflow."""
    if not (norms < _LARGEST_NORM).all():
        raise ValueError(
            f"X must have rows whose {what} fits float64, got {norms.max():.3g}. Hint: scale the features."
        )


def _with_column(X: Matrix, column: FloatArray) -> Matrix:
    """Append a column."""
    if sparse.issparse(X):
        return sparse.hstack([X, sparse.csr_array(column[:, np.newaxis])], format="csr")
    return np.column_stack([X, column])


def _with_narrow_indices(X: Matrix) -> Matrix:
    """Return CSR rows with 32-bit indices where they fit: scikit-learn's sparse Manhattan takes no other."""
    if not sparse.issparse(X) or max(X.nnz, X.shape[1]) > np.iinfo(np.int32).max:
        return X
    return sparse.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def _squared_sums(values: Matrix) -> FloatArray:
    """Return Σ a², added feature by feature."""
    each = np.arange(values.shape[0])
    return sum_over_features(values, values, (each, each), np.multiply, np.positive)


def _lengths(norms: FloatArray) -> FloatArray:
    return np.sqrt(np.where(norms > 0, norms, 1.0))


def minus_cosine(dot: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
    """Return -dot / √(left · right), of rows with these squared norms; 1 where one row is empty, -1 where both are."""
    squares = left * right
    ratio = np.divide(dot * dot, squares, out=np.ones_like(dot), where=squares > 0)
    cosine = np.copysign(np.sqrt(np.minimum(ratio, 1.0)), dot)
    return np.where(squares > 0, -cosine, np.where(left == right, -1.0, 1.0))


def _distinct(numbers: IntArray) -> tuple[IntArray | slice, IntArray]:
    """Return the distinct numbers, those that follow each other as a slice, which copies nothing, and their places."""
    if (np.diff(numbers) == 1).all():
        first = numbers[0] if len(numbers) else 0
        return slice(first, first + len(numbers)), np.arange(len(numbers))
    return np.unique(numbers, return_inverse=True)


def _squared_norms(X: Matrix) -> FloatArray:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))


def _scaled_by_powers_of_two(X: Matrix) -> Matrix:
    exponents = np.frexp(_largest_sizes(X))[1]
    if sparse.issparse(X):
        return _with_data(X, np.ldexp(X.data, -np.repeat(exponents, np.diff(X.indptr))))
    return np.ldexp(X, -exponents[:, np.newaxis])


def _largest_sizes(X: Matrix) -> FloatArray:
    """Return the largest absolute value of each row; `max` of scipy takes longer than the search among few rows."""
    if not sparse.issparse(X):
        return np.asarray(np.abs(X).max(axis=1))
    largest, has_any = np.zeros(X.shape[0], X.dtype), np.diff(X.indptr) > 0
    if has_any.any():
        largest[has_any] = np.maximum.reduceat(np.abs(X.data), X.indptr[:-1][has_any])
    return largest


def _divide_rows(X: Matrix, divisors: FloatArray) -> Matrix:
    if sparse.issparse(X):
        return _with_data(X, X.data / np.repeat(divisors, np.diff(X.indptr)))
    return X / divisors[:, np.newaxis]


def _with_data(X: Any, data: FloatArray) -> Any:
    return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)


# Sums over the features in their order, in float64: they order the neighbours.
#
# Elementwise operations and additions one after the other give the same bits on every machine, for dense and sparse
# rows.

_FEATURES_AT_A_TIME = 128
_NUMBERS_AT_A_TIME = 2**15  # as float64 they fit into the cache
_CACHE_LINE = 8  # float64 numbers

_KINDS: dict[tuple[Any, Any], int] = {(np.subtract, np.square): 0, (np.multiply, np.positive): 1}  # for kernels

Term: TypeAlias = Callable[..., FloatArray]  # of the combined features; takes `out` as a ufunc does
Pairs: TypeAlias = tuple[IntArray, IntArray]  # indices of queries and of rows, one of each for a pair


def sum_over_features(left: Matrix, right: Matrix, pairs: Pairs, combine: np.ufunc, term: Term) -> FloatArray:
    """Return, for each pair (row of left, row of right), the sum over the features in their order, in float64.

    The terms are ``term(combine(a, b))``; `combine` is `numpy.subtract` or `numpy.multiply`, and `term` of 0 is 0. Both
    sides are dense, of any type and layout, or both CSR in canonical form.
    """
    if (combine, term) in _KINDS:
        sum_by_kernel = sum_sparse_pairs if sparse.issparse(left) else sum_pairs
        summed = sum_by_kernel(_KINDS[combine, term], left, right, pairs)
        if summed is not None:
            return summed
    if sparse.issparse(left):
        return _sum_over_stored_features(left, right, pairs, combine, term)
    sums: FloatArray = np.zeros(len(pairs[0]))
    for features in row_blocks(left.shape[1], 1, _FEATURES_AT_A_TIME):
        for block in row_blocks(len(sums), features.stop - features.start, _NUMBERS_AT_A_TIME):
            a, b = left[pairs[0][block], features], right[pairs[1][block], features]
            sums[block] = _added(sums[block], a, b, combine, term)
    return sums


def _added(total: FloatArray, left: FloatArray, right: FloatArray, combine: np.ufunc, term: Term) -> FloatArray:
    """Return a total (n_pairs,) to which the terms of features (n_pairs, n_features) are added one after the other.

    `numpy.sum` adds pairwise along the contiguous axis, but one number after the other along another axis. So the
    values of a feature are contiguous, and there are at least two pairs: for a single pair, the other axis would be
    contiguous.
    """
    n_pairs, n_features = left.shape
    lines = -(-n_features // _CACHE_LINE) | 1  # odd: a power of two would map all rows to the same lines of the cache
    combined = np.empty((n_pairs, lines * _CACHE_LINE))[:, :n_features]
    combine(left, right, out=combined, dtype=np.float64)
    summands = np.zeros((1 + n_features, max(n_pairs, 2)))
    summands[0, :n_pairs] = total
    term(combined.T, out=summands[1:, :n_pairs])
    sums: FloatArray = np.add.reduce(summands, axis=0)[:n_pairs]
    return sums


def _sum_over_stored_features(left: CSR, right: CSR, pairs: Pairs, combine: np.ufunc, term: Term) -> FloatArray:
    sums: FloatArray = np.empty(len(pairs[0]))
    stored = np.diff(left.indptr)[pairs[0]] + np.diff(right.indptr)[pairs[1]]
    for block in uneven_blocks(64 * stored.astype(np.int64)):
        a, b = (as_float64(rows[which[block]]) for rows, which in zip((left, right), pairs, strict=True))
        combined = (a - b if combine is np.subtract else a.multiply(b)).tocsr()
        combined.sort_indices()
        pair = np.repeat(np.arange(combined.shape[0]), np.diff(combined.indptr))
        # bincount adds one after the other, and the features of a row come in order.
        sums[block] = np.bincount(pair, weights=term(combined.data), minlength=combined.shape[0])
    return sums
