"""Logistic regressions of many labels on the same columns, by Newton steps."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.parallel import Parallel, delayed

from nearlabel.statistics.binomial import Standardised
from nearlabel.statistics.joint_newton import Columns, Problem, logistic, minimise, warn_unless_converged
from nearlabel.utils.types import FloatArray, IntArray, Matrix


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
