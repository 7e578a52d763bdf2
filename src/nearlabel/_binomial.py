"""Binomial regression by Newton steps: logistic regression with any number of trials a row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit

from nearlabel._typing import FloatArray

_MOST_STEPS = 100
_LARGEST_LINEAR = 500.0  # without a ridge: a likelihood that still grows there has no maximum


class BinomialFit(NamedTuple):
    """Coefficients, the intercept first, and whether they are where the likelihood is largest."""

    coef: FloatArray
    converged: bool


def fit_binomial(design: FloatArray, successes: FloatArray, trials: FloatArray, ridge: float = 0.0) -> BinomialFit:
    """Maximise the likelihood of ``logit θ = β0 + design · β``, less ``ridge · Σ β²`` (not of β0).

    Takes design (n, p), successes (n,) and trials (n,), which need not be whole numbers. Without a finite maximum
    (separable successes, none at all, columns that depend on each other) it says that it did not converge.
    """
    if not 0 < successes.sum() < trials.sum():
        return BinomialFit(np.zeros(1 + design.shape[1]), converged=False)
    center = design[0] + np.mean(design - design[0], axis=0)  # a constant column is 0 exactly
    size = np.sqrt(np.mean((design - center) ** 2, axis=0))
    size[size == 0] = 1.0
    columns = np.column_stack([np.ones(len(design)), (design - center) / size])
    penalty = np.append(0.0, ridge / size**2)
    coef, converged = _newton(columns, successes, trials, penalty)
    slopes = coef[1:] / size
    return BinomialFit(np.append(coef[0] - center @ slopes, slopes), converged)


def _newton(columns: FloatArray, successes: FloatArray, trials: FloatArray, penalty: FloatArray) -> BinomialFit:
    coef = np.zeros(columns.shape[1])
    largest_linear, least_gain = (np.inf, 1e-20) if penalty.any() else (_LARGEST_LINEAR, -np.inf)
    linear, loss = _loss(columns, successes, trials, penalty, coef)
    for _ in range(_MOST_STEPS):
        share, rest = expit(linear), expit(-linear)
        gradient = columns.T @ ((trials - successes) * share - successes * rest) + 2 * penalty * coef
        weights = trials * share * rest
        hessian = (columns.T * weights) @ columns + np.diag(2 * penalty)
        try:
            step = -cho_solve(cho_factor(hessian, check_finite=False), gradient, check_finite=False)
        except LinAlgError:
            return BinomialFit(coef, converged=False)
        if not np.isfinite(step).all() or np.abs(linear).max() > largest_linear:
            return BinomialFit(coef, converged=False)
        # Where only the ridge bends the loss, rounding keeps steps from becoming small, but nothing is gained by them.
        if np.abs(step).max() <= 1e-9 * max(1.0, np.abs(coef).max()) or -gradient @ step <= least_gain * loss:
            return BinomialFit(coef + step, converged=True)
        linear, loss, coef = _shortened(columns, successes, trials, penalty, coef, step, loss)
    return BinomialFit(coef, converged=False)


def _shortened(
    columns: FloatArray,
    successes: FloatArray,
    trials: FloatArray,
    penalty: FloatArray,
    coef: FloatArray,
    step: FloatArray,
    loss: float,
) -> tuple[FloatArray, float, FloatArray]:
    """Take the step, halved until the loss does not grow beyond rounding."""
    for halvings in range(30):
        new = coef + step / 2**halvings
        linear, new_loss = _loss(columns, successes, trials, penalty, new)
        if new_loss <= loss + 1e-12 * abs(loss):
            break
    return linear, new_loss, new


def _loss(
    columns: FloatArray, successes: FloatArray, trials: FloatArray, penalty: FloatArray, coef: FloatArray
) -> tuple[FloatArray, float]:
    """Return the linear predictor and the negative log-likelihood with its penalty."""
    linear = columns @ coef
    loss = successes * np.logaddexp(0.0, -linear) + (trials - successes) * np.logaddexp(0.0, linear)
    return linear, float(loss.sum() + penalty @ coef**2)
