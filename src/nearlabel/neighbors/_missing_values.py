"""Distances between rows with missing values: NaN is a missing value, in dense rows and, stored, in CSR rows.

As in `_distances`, a product bounds the rank of all pairs, and a sum over the features in their order decides. Let a be
the values of a row with 0 where one is missing, and m be 1 there, else 0. Over the features that two rows have in
common, Σ (a - b)² is Σ a² + Σ b² - Σ (2 a b + a² m_b + m_a b²); the features that one of them lacks are
Σ m_a + Σ m_b - Σ m_a m_b. With the norm of a row Σ (a² + m), both together are the two norms less a product of rows of
4 d numbers, whose absolute values add up to at most twice the norms. So the product, norms, centring and the sum that
decides err by at most (12 d + 48) u times the two norms together, u = 2^-53.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from nearlabel.neighbors._distances import SMALLEST_SQUARED, Tile, check_norms, inner_products
from nearlabel.neighbors._exact_distances import Pairs, as_float64, sum_over_features
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import FloatArray, IntArray, Matrix

_TINY = float(np.finfo(np.float64).tiny)
_NOTHING_IN_COMMON = float(np.finfo(np.float64).max) / 2  # a rank above that of all rows with a feature in common


@dataclass(frozen=True)
class RowsWithGaps:
    """Rows prepared for a distance: the values, and what bounds need of the known ones and of the gaps."""

    values: Matrix
    known: Matrix  # centred, 0 at gaps
    gaps: Matrix  # 1 at gaps, else 0
    squares: FloatArray  # Σ a² of each row
    n_gaps: FloatArray

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.squares)

    def __getitem__(self, rows: slice) -> RowsWithGaps:
        """Return some of the rows."""
        return RowsWithGaps(*(part[rows] for part in vars(self).values()))

    @property
    def norms(self) -> FloatArray:
        """The norm Σ (a² + m) of each row."""
        return self.squares + self.n_gaps


class Heom:
    """√ Σ δ²: δ is a - b where both rows have the feature, and 1 where one or both lack it."""

    fills_rows = False
    smallest = SMALLEST_SQUARED

    def fit(self, X: Matrix) -> None:
        """Learn a centre of the features (0 for sparse rows); check that squared norms do not overflow."""
        self._centre = np.zeros(X.shape[1])
        if not sparse.issparse(X):
            some = as_float64(X[:: max(1, X.shape[0] // 256)])
            known = ~np.isnan(some).all(axis=0)
            self._centre[known] = np.nanmedian(some[:, known], axis=0)
        for block in row_blocks(X.shape[0], 32 * X.shape[1]):
            self.prepare(X[block])

    def prepare(self, X: Matrix) -> RowsWithGaps:
        """Separate known values, which are centred, from gaps."""
        with np.errstate(over="ignore", invalid="ignore"):  # refused below
            known, gaps = _split_sparse(as_float64(X)) if sparse.issparse(X) else _split(as_float64(X) - self._centre)
            squares, n_gaps = (np.asarray(part.sum(axis=1)).ravel() for part in (known * known, gaps))
            scaled_up = squares * X.shape[1]
        check_norms(scaled_up, "squared norm")
        return RowsWithGaps(X, known, gaps, squares, n_gaps)

    def tile(self, queries: RowsWithGaps, rows: RowsWithGaps) -> Tile:
        """Bound the rank of all pairs, minus the query's own norm, by one product."""
        error = _rounding(rows)
        left = _beside(queries.known * queries.known, queries.gaps, 2.0 * queries.known, queries.gaps)
        right = _beside(rows.gaps, rows.known * rows.known, rows.known, rows.gaps)
        lower = rows.norms * (1 - error) - inner_products(left, right)

        def refine(query: IntArray, row: IntArray) -> FloatArray:
            return self.ranks(queries.values, rows.values, (query, row))

        base = queries.norms * (1 - error) - _TINY
        return Tile(lower, base, 2 * (error * queries.norms + _TINY), 2 * error * rows.norms, refine)

    def ranks(self, queries: Matrix, rows: Matrix, pairs: Pairs) -> FloatArray:
        """Sum the squared differences, and 1 for each feature that a row lacks."""
        return sum_over_features(queries, rows, pairs, np.subtract, _square_or_one)

    def to_distance(self, rank: FloatArray) -> FloatArray:
        """Take the root."""
        return np.sqrt(rank)


class NanEuclidean(Heom):
    """√ (d/n Σ (a - b)²) over the n of d features that both rows have; infinite if they have none in common."""

    def tile(self, queries: RowsWithGaps, rows: RowsWithGaps) -> Tile:
        """Bound the sum of squares of all pairs as above; how many features they have in common is exact."""
        n_features, error = rows.values.shape[1], _rounding(rows)
        left = _beside(queries.known * queries.known, queries.gaps, 2.0 * queries.known)
        lower = -inner_products(left, _beside(rows.gaps, rows.known * rows.known, rows.known))
        lower += (queries.squares - error * queries.norms)[:, np.newaxis] + (rows.squares - error * rows.norms)
        common = inner_products(queries.gaps, rows.gaps) + (n_features - queries.n_gaps)[:, np.newaxis] - rows.n_gaps
        lower = _scaled_up(lower, common, n_features)

        def refine(query: IntArray, row: IntArray) -> FloatArray:
            return self.ranks(queries.values, rows.values, (query, row))

        slack, row_slack = 2 * n_features * error * queries.norms + _TINY, 2 * n_features * error * rows.norms
        return Tile(lower, np.full(len(queries), -_TINY), slack, row_slack, refine)

    def ranks(self, queries: Matrix, rows: Matrix, pairs: Pairs) -> FloatArray:
        """Sum the squared differences of known values, and scale the sum up by the share of them."""
        n_features = queries.shape[1]
        squares = sum_over_features(queries, rows, pairs, np.subtract, _square_or_zero)
        missing = sum_over_features(queries, rows, pairs, np.subtract, _one_if_missing)
        return _scaled_up(squares, n_features - missing, n_features)

    def to_distance(self, rank: FloatArray) -> FloatArray:
        """Take the root."""
        return np.sqrt(np.where(rank == _NOTHING_IN_COMMON, np.inf, rank))


def _split(centred: FloatArray) -> tuple[FloatArray, FloatArray]:
    gap = np.isnan(centred)
    return np.where(gap, 0.0, centred), gap.astype(np.float64)


def _split_sparse(X: Matrix) -> tuple[Matrix, Matrix]:
    known, gaps = (sparse.csr_array((part, X.indices, X.indptr), shape=X.shape) for part in _split(X.data))
    gaps = gaps.copy()  # which shares its indices
    gaps.eliminate_zeros()
    return known, gaps


def _beside(*parts: Matrix) -> Matrix:
    return sparse.hstack(parts, format="csr") if sparse.issparse(parts[0]) else np.hstack(parts)


def _rounding(rows: RowsWithGaps) -> float:
    """Return the bound on the error relative to the norms, derived above."""
    return float(12 * rows.values.shape[1] + 48) * 2.0**-53


def _scaled_up(squares: FloatArray, common: FloatArray, n_features: int) -> FloatArray:
    scaled = np.full_like(squares, _NOTHING_IN_COMMON)
    np.divide(squares, common, out=scaled, where=common > 0)
    return np.multiply(scaled, n_features, out=scaled, where=common > 0)


def _square_or_one(difference: FloatArray, out: FloatArray | None = None) -> FloatArray:
    squares = np.square(difference, out=out)
    np.copyto(squares, 1.0, where=np.isnan(squares))
    return squares


def _square_or_zero(difference: FloatArray, out: FloatArray | None = None) -> FloatArray:
    squares = np.square(difference, out=out)
    np.copyto(squares, 0.0, where=np.isnan(squares))
    return squares


def _one_if_missing(difference: FloatArray, out: FloatArray | None = None) -> FloatArray:
    missing = np.empty(difference.shape) if out is None else out
    np.copyto(missing, np.isnan(difference))
    return missing
