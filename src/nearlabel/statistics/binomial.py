"""Binomial regression by Newton steps: logistic regression with any number of trials per row."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from nearlabel.utils.types import FloatArray

_MOST_STEPS = 100
_LEAST_PIVOT = 1e-7  # of a matrix with a unit diagonal; if smaller, columns are linearly dependent up to rounding


class BinomialFit(NamedTuple):
    """Coefficients, the intercept first, and whether they maximise the likelihood."""

    coef: FloatArray
    converged: bool


def fit_binomial(design: FloatArray, successes: FloatArray, trials: FloatArray, ridge: float = 0.0) -> BinomialFit:
    """Maximise the likelihood of ``logit θ = β0 + design · β`` minus ``ridge · Σ (σ β)²``, σ the columns' deviations.

    Arguments are the design (n, p), successes (n,) and trials (n,), which need not be integers. The result is marked as
    not converged if there is no finite or no unique maximum: with separable successes, without successes, and, without
    a ridge, with linearly dependent columns.
    """
    if not 0 < successes.sum() < trials.sum():
        return BinomialFit(np.zeros(1 + design.shape[1]), converged=False)
    columns = Standardised.of(design)
    penalty = np.append(0.0, np.full(design.shape[1], ridge))
    coef, converged = _newton(_Loss(columns.values, successes, trials, penalty))
    return BinomialFit(columns.as_given(coef), converged)


class Standardised(NamedTuple):
    """A column of ones and columns with mean 0 and deviation 1 (n, 1 + p); a constant column is exactly 0."""

    values: FloatArray
    center: FloatArray
    size: FloatArray

    @classmethod
    def of(cls, design: FloatArray) -> Self:
        """Standardise the columns of a design (n, p)."""
        center = design[0] + np.mean(design - design[0], axis=0)
        size = np.sqrt(np.mean((design - center) ** 2, axis=0))
        size[size == 0] = 1.0
        return cls(np.column_stack([np.ones(len(design)), (design - center) / size]), center, size)

    def as_given(self, coef: FloatArray) -> FloatArray:
        """Return coefficients of the original columns, the intercept first (..., 1 + p)."""
        slopes = coef[..., 1:] / self.size
        return np.concatenate([coef[..., :1] - (slopes @ self.center)[..., np.newaxis], slopes], axis=-1)


class _Loss(NamedTuple):
    """The penalised negative log-likelihood, on standardised columns (n, 1 + p), the first of ones."""

    columns: FloatArray
    successes: FloatArray
    trials: FloatArray
    penalty: FloatArray

    def value(self, coef: FloatArray) -> float:
        """Return the loss."""
        linear = self.columns @ coef
        wrong = np.where(linear > 0, self.trials - self.successes, self.successes)
        loss = self.trials * np.log1p(np.exp(-np.abs(linear))) + wrong * np.abs(linear)
        return float(loss.sum() + self.penalty @ coef**2)

    def derivatives(self, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return gradient and Hessian, computed without cancellation."""
        linear = self.columns @ coef
        small = np.exp(-np.abs(linear))
        larger, smaller = 1.0 / (1.0 + small), small / (1.0 + small)
        share, rest = np.where(linear > 0, larger, smaller), np.where(linear > 0, smaller, larger)
        residuals = (self.trials - self.successes) * share - self.successes * rest
        hessian = (self.columns.T * (self.trials * share * rest)) @ self.columns + np.diag(2 * self.penalty)
        return self.columns.T @ residuals + 2 * self.penalty * coef, hessian


def _newton(loss: _Loss) -> BinomialFit:
    coef, ridged = np.zeros(loss.columns.shape[1]), loss.penalty.any()
    for _ in range(_MOST_STEPS):
        gradient, hessian = loss.derivatives(coef)
        step = _solve(hessian, -gradient, least_pivot=0.0 if ridged else _LEAST_PIVOT)
        if step is None:
            return BinomialFit(coef, converged=False)
        small = np.abs(step).max() <= 1e-9 * max(1.0, np.abs(coef).max())
        # If only the ridge curves the loss, rounding keeps steps from becoming small, but they gain nothing.
        if small or (ridged and -gradient @ step <= 1e-20 * loss.value(coef)):
            return BinomialFit(coef + step, converged=True)
        coef = coef + _shortened(loss, coef, step)
    return BinomialFit(coef, converged=False)


def _solve(hessian: FloatArray, right: FloatArray, least_pivot: float) -> FloatArray | None:
    """Return the Newton step, or None if the columns are linearly dependent."""
    scale = np.sqrt(np.diag(hessian))
    if not (scale > 0).all():
        return None
    try:
        factor = cho_factor(hessian / np.outer(scale, scale), check_finite=False)
    except LinAlgError:
        return None
    if np.diag(factor[0]).min() <= least_pivot:
        return None
    return np.asarray(cho_solve(factor, right / scale, check_finite=False) / scale)


def _shortened(loss: _Loss, coef: FloatArray, step: FloatArray) -> FloatArray:
    """Return the step, halved until the loss does not increase, up to rounding."""
    before = loss.value(coef)
    for halvings in range(30):
        if loss.value(coef + step / 2**halvings) <= before + 1e-12 * abs(before):
            break
    return np.asarray(step / 2**halvings)
