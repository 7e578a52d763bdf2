"""Logistic regressions by Newton steps: with any number of trials per row, and of many labels on the same columns."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.parallel import Parallel, delayed

from nearlabel.solvers.joint_newton import Columns, Problem, logistic, minimise, warn_unless_converged
from nearlabel.utils.types import FloatArray, IntArray, Matrix

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


# Logistic regressions of many labels on the same columns, by Newton steps.


class NewtonLogistic(ClassifierMixin, BaseEstimator):
    """Logistic regression with a small ridge, solved to machine precision."""

    def __init__(self, ridge: float) -> None:
        self.ridge = ridge

    def fit(self, X: FloatArray, y: IntArray) -> Self:
        """Maximise the penalised likelihood."""
        return self.prefitted(_fit(X, y[np.newaxis], self.ridge, None)[0])

    def prefitted(self, coef: FloatArray) -> Self:
        """Use given coefficients (1 + p,), the intercept first."""
        self.classes_ = np.array([0, 1])
        self.intercept_, self.coef_ = float(coef[0]), coef[1:]
        return self

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return the probability of both classes."""
        linear = self.intercept_ + X @ self.coef_
        return np.column_stack([expit(-linear), expit(linear)])


def fit_logistic(X: FloatArray, labels: IntArray, ridge: float, n_jobs: int | None = None) -> list[Any]:
    """Return the regression of each label (n, m) on X (n, p), or its constant, 0.0 or 1.0, if it has one class.

    The penalty ``ridge · Σ (σ β)²`` is subtracted from the log-likelihood, σ the deviation of the column.
    """
    fitted: list[Any] = labels[0].astype(np.float64).tolist()
    varying = np.flatnonzero(labels.min(axis=0) < labels.max(axis=0))
    if len(varying):
        for label, coef in zip(varying, _fit(X, labels.T[varying], ridge, n_jobs), strict=True):
            fitted[label] = NewtonLogistic(ridge).prefitted(coef)
    return fitted


def _fit(X: FloatArray, y: IntArray, ridge: float, n_jobs: int | None) -> FloatArray:
    """Return the coefficients (m, 1 + p) of each row of y (m, n), the intercept first."""
    standardised = Standardised.of(X)
    columns, penalty = Columns(standardised.values, n_fixed=1), np.append(0.0, np.full(X.shape[1], ridge))
    # On the principal axes there are at most as many columns as rows.
    penalty, size = penalty[: columns.shape[1]], columns.labels_at_a_time
    coef = Parallel(n_jobs=n_jobs)(
        delayed(_fit_block)(columns, y[start : start + size], penalty) for start in range(0, len(y), size)
    )
    return standardised.as_given(np.concatenate(coef))


def _fit_block(columns: Columns, y: IntArray, penalty: FloatArray) -> FloatArray:
    found = minimise(Problem(columns, np.where(y == 1, 1.0, -1.0), logistic, penalty))
    warn_unless_converged(found, y, "regression", "more ridge")
    return columns.as_given(found.coef)


def coefficients_of(classifiers: list[Any], n_columns: int) -> tuple[FloatArray, FloatArray]:
    """Return the intercepts (n_labels,) and coefficients (n_labels, n_columns) of all labels."""
    constant = {0.0: -np.inf, 1.0: np.inf}
    intercepts = [constant[c] if isinstance(c, float) else c.intercept_ for c in classifiers]
    rows = [np.zeros(n_columns) if isinstance(c, float) else c.coef_ for c in classifiers]
    return np.array(intercepts), np.vstack(rows)
