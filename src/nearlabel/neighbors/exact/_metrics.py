"""More distances than `_distances.py` has: any metric of scipy, and those between rows with missing values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances

from nearlabel.neighbors.exact import _distances
from nearlabel.utils.types import FloatArray, Matrix
from nearlabel.utils.validation import as_dense, as_float64, largest_size, row_blocks


class AnyMetric(_distances.Distance):
    """Any metric of `scipy.spatial.distance.cdist`, or a function of two rows; every pair is computed."""

    fills_rows = True

    def __init__(self, metric: str | Callable[..., float], params: dict[str, Any]) -> None:
        self._metric = metric
        self._params = params

    @property
    def smallest(self) -> float:
        """The least size of the largest value; 0 where no power is taken of it."""
        if self._metric == "minkowski":
            p = self._params.get("p", 2)
            # cdist rejects others, except for the largest difference
            is_power = isinstance(p, int | float | np.number) and 1 <= p < np.inf
            return float(2.0 ** (-_LOGARITHM_OF_POWERS / p)) if is_power else 0.0
        return 2.0 ** (-_LOGARITHM_OF_POWERS / 4) if self._is_of_fourth_powers else 0.0

    @property
    def _is_of_fourth_powers(self) -> bool:
        return isinstance(self._metric, str) and self._metric in _OF_FOURTH_POWERS

    def _check_sizes(self, X: Matrix) -> None:
        """Raise ValueError if powers of the values may overflow without a trace; `tile` finds infinite distances."""
        if self._is_of_fourth_powers and (largest := largest_size(X)) > 1 / self.smallest:
            raise ValueError(
                f"X must have values of at most {1 / self.smallest:.2g} for metric {self._metric!r}, got"
                f" {largest:.3g}. Hint: scale the features."
            )

    def fit(self, X: Matrix) -> None:
        """Fix the parameters that a metric would otherwise estimate from each tile, and try the metric once."""
        self._check_sizes(X)
        dense = as_dense(X[:2])
        try:
            self._params = _training_statistics(self._metric, X) | self._params
            self._distances(dense, dense)
        except (ValueError, TypeError, np.linalg.LinAlgError) as error:
            raise ValueError(
                "metric must be 'euclidean', 'sqeuclidean', 'manhattan', 'cosine', a metric of"
                " scipy.spatial.distance.cdist or a function of two rows, and must match X and metric_params,"
                f" got {self._metric!r}: {error}"
            ) from error

    def prepare(self, X: Matrix) -> _distances.Rows:
        """Return the unchanged rows."""
        self._check_sizes(X)
        X = as_float64(X)
        return _distances.Rows(X, X, np.zeros(X.shape[0]))

    def tile(self, queries: _distances.Rows, rows: _distances.Rows) -> _distances.Tile:
        """Compute the distance of all pairs: the bounds are exact."""
        distances = self._distances(as_dense(queries.values), as_dense(rows.values))
        if not np.isfinite(distances).all():
            wrong = distances[~np.isfinite(distances)][0]
            hint = " Hint: scale the features." if np.isinf(wrong) and not callable(self._metric) else ""
            raise ValueError(
                f"metric {self._metric!r} must give finite numbers, got {wrong} for some pair of rows.{hint}"
            )
        nothing = np.zeros(len(queries))
        return _distances.Tile(
            distances, nothing, nothing, np.zeros(len(rows)), lambda query, row: distances[query, row]
        )

    def _distances(self, left: FloatArray, right: FloatArray) -> FloatArray:
        if callable(self._metric):
            return np.asarray(pairwise_distances(left, right, metric=self._metric, **self._params))
        return np.asarray(cdist(left, right, self._metric, **self._params))


def _training_statistics(metric: Any, X: Matrix) -> dict[str, FloatArray]:
    if metric not in TAKEN_FROM_ROWS:
        return {}
    if X.shape[0] < 2:
        raise ValueError("its variances need at least two rows")
    dense = as_dense(X)
    if metric == "seuclidean":
        variances = np.var(dense, axis=0, ddof=1)
        return {"V": np.where(variances > 0, variances, 1.0)}
    try:
        return {"VI": np.linalg.inv(np.atleast_2d(np.cov(dense.T))).T.copy()}
    except np.linalg.LinAlgError as error:
        raise ValueError(
            "the features' covariance matrix has no inverse, so some feature is constant or depends on others."
            " Hint: drop such features, or metric_params={'VI': numpy.linalg.pinv(covariances)}"
        ) from error


TAKEN_FROM_ROWS = {"seuclidean": "V", "mahalanobis": "VI"}  # metrics, and the parameter from the training samples


_LOGARITHM_OF_POWERS = 900.0  # to the base 2: powers of values may be this far from 1


# Metrics that multiply squares: where these overflow, some give wrong numbers instead of infinite ones.
_OF_FOURTH_POWERS = {"seuclidean", "mahalanobis", "correlation", "braycurtis", "jensenshannon"}


# Distances between rows with missing values: NaN is a missing value, in dense rows and, stored, in CSR rows.
#
# As in `_distances`, a product bounds the rank of all pairs, and a sum over the features in their order decides. Let
# a be the values of a row with 0 where one is missing, and m be 1 there, else 0. Over the features that two rows have
# in common, Σ (a - b)² is Σ a² + Σ b² - Σ (2 a b + a² m_b + m_a b²); the features that one of them lacks are Σ m_a +
# Σ m_b - Σ m_a m_b. With the norm of a row Σ (a² + m), both together are the two norms less a product of rows of 4 d
# numbers, whose absolute values add up to at most twice the norms. So the product, norms, centring and the sum that
# decides err by at most (12 d + 48) u times the two norms together, u = 2^-53.

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


class Heom(_distances.Distance):
    """√ Σ δ²: δ is a - b where both rows have the feature, and 1 where one or both lack it."""

    smallest = _distances.SMALLEST_SQUARED

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
        _distances.check_norms(scaled_up, "squared norm")
        return RowsWithGaps(X, known, gaps, squares, n_gaps)

    def tile(self, queries: RowsWithGaps, rows: RowsWithGaps) -> _distances.Tile:
        """Bound the rank of all pairs, minus the query's own norm, by one product."""
        error = _rounding(rows)
        left = _beside(queries.known * queries.known, queries.gaps, 2.0 * queries.known, queries.gaps)
        right = _beside(rows.gaps, rows.known * rows.known, rows.known, rows.gaps)
        lower = rows.norms * (1 - error) - _distances.inner_products(left, right)
        base, slack = queries.norms * (1 - error) - _TINY, 2 * (error * queries.norms + _TINY)
        return _distances.Tile(lower, base, slack, 2 * error * rows.norms, _distances.refining(self, queries, rows))

    def ranks(self, queries: Matrix, rows: Matrix, pairs: _distances.Pairs) -> FloatArray:
        """Sum the squared differences, and 1 for each feature that a row lacks."""
        return _distances.sum_over_features(queries, rows, pairs, np.subtract, partial(_square_or, 1.0))

    def to_distance(self, rank: FloatArray) -> FloatArray:
        """Take the root."""
        return np.sqrt(rank)


class NanEuclidean(Heom):
    """√ (d/n Σ (a - b)²) over the n of d features that both rows have; infinite if they have none in common."""

    def tile(self, queries: RowsWithGaps, rows: RowsWithGaps) -> _distances.Tile:
        """Bound the sum of squares of all pairs as above; how many features they have in common is exact."""
        n_features, error = rows.values.shape[1], _rounding(rows)
        left = _beside(queries.known * queries.known, queries.gaps, 2.0 * queries.known)
        lower = -_distances.inner_products(left, _beside(rows.gaps, rows.known * rows.known, rows.known))
        lower += (queries.squares - error * queries.norms)[:, np.newaxis] + (rows.squares - error * rows.norms)
        common = (
            _distances.inner_products(queries.gaps, rows.gaps)
            + (n_features - queries.n_gaps)[:, np.newaxis]
            - rows.n_gaps
        )
        lower = _scaled_up(lower, common, n_features)
        slack, row_slack = 2 * n_features * error * queries.norms + _TINY, 2 * n_features * error * rows.norms
        return _distances.Tile(
            lower, np.full(len(queries), -_TINY), slack, row_slack, _distances.refining(self, queries, rows)
        )

    def ranks(self, queries: Matrix, rows: Matrix, pairs: _distances.Pairs) -> FloatArray:
        """Sum the squared differences of known values, and scale the sum up by the share of them."""
        n_features = queries.shape[1]
        squares = _distances.sum_over_features(queries, rows, pairs, np.subtract, partial(_square_or, 0.0))
        missing = _distances.sum_over_features(queries, rows, pairs, np.subtract, _one_if_missing)
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


def _square_or(value: float, difference: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Return squares of differences, and a value in the place of NaN."""
    squares = np.square(difference, out=out)
    np.copyto(squares, value, where=np.isnan(squares))
    return squares


def _one_if_missing(difference: FloatArray, out: FloatArray | None = None) -> FloatArray:
    missing = np.empty(difference.shape) if out is None else out
    np.copyto(missing, np.isnan(difference))
    return missing
