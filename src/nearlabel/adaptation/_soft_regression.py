"""Logistic regressions with soft targets and weights, for the maximisation steps of a mixture.

Each step goes to the maximum of a parabola that touches the penalised log-likelihood from below (Böhning and Lindsay
1988, Böhning 1992: the curvature is at most the row's weight times 1/4 for a label, times 1/2 for the gate). So no step
decreases the likelihood, no line search is needed, and rounding errors do not grow as with L-BFGS, where they grew from
1e-15 to 1e-2 in fifty steps of expectation-maximisation on real data.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.special import expit, softmax
from sklearn.preprocessing import StandardScaler

from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import FloatArray, Matrix
from nearlabel.utils.validation import as_dense

_LEAST_EIGENVALUE = 1e-10  # relative to the largest; smaller values are 0 up to rounding
_LEAST_RIDGE = 1e-10  # relative to the largest curvature, for a stable factorisation; it remains a bound


class Design(NamedTuple):
    """Rows minus their mean, divided by their scale; sparse rows stay sparse, with the mean stored separately."""

    rows: Matrix  # (n, d)
    mean: FloatArray  # (d,) still to be subtracted from each row

    @classmethod
    def of(cls, X: Matrix, mean: FloatArray, scale: FloatArray) -> Self:
        """Standardise rows, dense or CSR."""
        if not sparse.issparse(X):
            return cls((X - mean) / scale, np.zeros_like(mean))
        data = X.data / scale[X.indices]
        return cls(sparse.csr_array((data, X.indices, X.indptr), shape=X.shape), mean / scale)

    def linear(self, coef: FloatArray) -> FloatArray:
        """Return the linear functions (n, m) of coefficients (1 + d, m), the intercepts first."""
        return np.asarray(self.rows @ coef[1:] + (coef[0] - self.mean @ coef[1:]))


class Reduced(NamedTuple):
    """Dense rows (n, r), r the smaller of d and n, with the same ridge regressions as the rows (n, d)."""

    rows: FloatArray
    directions: FloatArray | None  # (d, r), orthonormal; None if the rows are those of the design

    @classmethod
    def of(cls, design: Design) -> Self:
        """Use a basis of the row space if there are more features than rows: coefficients outside it are 0."""
        n, d = design.rows.shape
        centred = as_dense(design.rows) - design.mean
        if d <= n:
            return cls(centred, None)
        values, vectors = eigh(centred @ centred.T)
        kept = values > _LEAST_EIGENVALUE * max(values[-1], 1e-300)
        size, vectors = np.sqrt(values[kept]), vectors[:, kept]
        return cls(vectors * size, np.asarray(centred.T @ vectors / size))

    def linear(self, coef: FloatArray) -> FloatArray:
        """Return the linear functions (n, m) of coefficients (1 + r, m), the intercepts first."""
        return np.asarray(self.rows @ coef[1:] + coef[0])

    def restored(self, coef: FloatArray) -> FloatArray:
        """Return the coefficients (1 + d, m) of the design."""
        return coef if self.directions is None else np.vstack([coef[:1], self.directions @ coef[1:]])


class Effort(NamedTuple):
    """The ridge of a regression, and its number of steps per call."""

    ridge: float
    n_steps: int


def mean_and_deviation(X: Matrix) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of each feature; 1 for a constant feature."""
    scaler = StandardScaler(with_mean=not sparse.issparse(X)).fit(X)
    return np.asarray(scaler.mean_), np.asarray(scaler.scale_)


def penalty(coef: FloatArray, ridge: float) -> float:
    """Return ridge / 2 · Σ w², without the intercepts (first row)."""
    return 0.5 * ridge * float(np.square(coef[1:]).sum())


def fit_labels(
    reduced: Reduced, targets: FloatArray, weights: FloatArray, start: FloatArray, effort: Effort
) -> FloatArray:
    """Improve, in each component, a logistic regression of each label (n, L) with row weights (n, K).

    Coefficients are (K, 1 + r, L). The labels of a component share its weights, so one factorisation is enough for all.
    The components take their steps together, so that the rows are read once for many of them.
    """
    parts = row_blocks(len(start), 8 * targets.size)
    return np.concatenate([_fitted_together(reduced, targets, weights[:, part], start[part], effort) for part in parts])


def _fitted_together(
    reduced: Reduced, targets: FloatArray, weights: FloatArray, start: FloatArray, effort: Effort
) -> FloatArray:
    bounds, coef = [_Bound.of(reduced.rows, of_rows / 4, effort.ridge) for of_rows in weights.T], start
    for _ in range(effort.n_steps):
        side_by_side = np.concatenate(list(coef), axis=1)  # (1 + r, K * L)
        probabilities = expit(reduced.linear(side_by_side)).reshape(len(targets), len(coef), -1)
        residuals = weights[:, :, np.newaxis] * (targets[:, np.newaxis] - probabilities)
        slopes = (reduced.rows.T @ residuals.reshape(len(targets), -1)).reshape(-1, *residuals.shape[1:])
        steps = zip(bounds, residuals.sum(axis=0), slopes.swapaxes(0, 1), coef, strict=True)
        coef = coef + np.stack([bound.to_maximum(*derivative) for bound, *derivative in steps])
    return coef


def fit_gate(reduced: Reduced, targets: FloatArray, start: FloatArray, effort: Effort) -> FloatArray:
    """Improve a multinomial regression on probabilities (n, K) as targets; return coefficients (1 + r, K)."""
    bound, coef = _Bound.of(reduced.rows, np.full(len(targets), 0.5), effort.ridge), start
    for _ in range(effort.n_steps):
        coef = coef + bound.step(targets - softmax(reduced.linear(coef), axis=1), coef)
    return coef


class _Bound(NamedTuple):
    """A bound on the curvature of the penalised log-likelihood: Σ_i weight_i (1, x_i)ᵀ(1, x_i), plus the ridge."""

    rows: FloatArray
    ridge: float
    total: float  # of the weights
    center: FloatArray  # (r,) weighted mean of the rows
    factor: tuple[FloatArray, bool]  # of the curvature about the center

    @classmethod
    def of(cls, rows: FloatArray, weights: FloatArray, ridge: float) -> Self:
        total = max(float(weights.sum()), 1e-300)
        center = weights @ rows / total
        scaled = rows - center
        scaled *= np.sqrt(weights)[:, np.newaxis]
        curvature = scaled.T @ scaled
        diagonal = np.diagonal(curvature)
        curvature = curvature + np.diag(np.full(len(center), max(ridge, _LEAST_RIDGE * diagonal.max(initial=0.0))))
        return cls(rows, ridge, total, center, cho_factor(curvature, overwrite_a=True, check_finite=False))

    def step(self, residuals: FloatArray, coef: FloatArray) -> FloatArray:
        """Return the step to the maximum of the parabola, from the derivative by the linear functions (n, m)."""
        return self.to_maximum(residuals.sum(axis=0), self.rows.T @ residuals, coef)

    def to_maximum(self, by_intercept: FloatArray, by_slopes: FloatArray, coef: FloatArray) -> FloatArray:
        """Return that step from the derivatives of the log-likelihood by the intercepts (m,) and slopes (r, m)."""
        by_slopes = by_slopes - self.ridge * coef[1:] - np.outer(self.center, by_intercept)
        slopes = cho_solve(self.factor, by_slopes, check_finite=False)
        return np.vstack([by_intercept / self.total - self.center @ slopes, slopes])
