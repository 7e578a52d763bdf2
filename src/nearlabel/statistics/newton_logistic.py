"""Logistic regression by Newton steps, one for each label."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from nearlabel.statistics.binomial import fit_binomial
from nearlabel.utils.types import FloatArray, IntArray, Matrix


class NewtonLogistic(ClassifierMixin, BaseEstimator):
    """Logistic regression with a small ridge, solved to the last digits."""

    def __init__(self, ridge: float) -> None:
        self.ridge = ridge

    def fit(self, X: FloatArray, y: IntArray) -> Self:
        """Maximise the penalised likelihood."""
        fit = fit_binomial(X, y.astype(np.float64), np.ones(len(y)), self.ridge)
        if not fit.converged:
            warnings.warn(
                f"The regression of a label that {y.sum()} of {len(y)} rows have did not converge. Hint: more ridge.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.classes_ = np.array([0, 1])
        self.intercept_, self.coef_ = float(fit.coef[0]), fit.coef[1:]
        return self

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return the probability of both classes."""
        linear = self.intercept_ + X @ self.coef_
        return np.column_stack([expit(-linear), expit(linear)])


def coefficients_of(classifiers: list[Any], n_columns: int) -> tuple[FloatArray, FloatArray]:
    """Return the intercepts (n_labels,) and coefficients (n_labels, n_columns) of all labels."""
    constant = {0.0: -np.inf, 1.0: np.inf}
    intercepts = [constant[c] if isinstance(c, float) else c.intercept_ for c in classifiers]
    rows = [np.zeros(n_columns) if isinstance(c, float) else c.coef_ for c in classifiers]
    return np.array(intercepts), np.vstack(rows)
