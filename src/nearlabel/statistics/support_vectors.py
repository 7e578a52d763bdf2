"""Linear support vector machines of many labels on the same samples, and their held-out decision values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.parallel import Parallel, delayed

from nearlabel.statistics.joint_newton import (
    Columns,
    Minimum,
    Problem,
    minimise,
    squared_hinge,
    warn_unless_converged,
)
from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense

_SQUARES_FOR_A_CELL = 1500  # measured: docs/decisions/0049


class SupportVectors(NamedTuple):
    """Coefficients (m, d), intercepts (m,) and held-out decision values (m, n) of m labels."""

    coef: FloatArray
    intercept: FloatArray
    decisions: FloatArray


def best_together(X: Matrix) -> bool:
    """Whether fitting the machines of all labels together is faster.

    Its time grows with the square of the columns; that of liblinear, label by label, with the nonzero cells of a row.
    """
    cells = X.count_nonzero() if sparse.issparse(X) else np.count_nonzero(X)
    return bool(X.shape[0] * X.shape[1] ** 2 <= _SQUARES_FOR_A_CELL * cells)


def fit_support_vectors(
    X: Matrix, y: IntArray, folds: IntArray | None, weights: FloatArray | None, n_jobs: int | None
) -> SupportVectors:
    """Fit ``LinearSVC(dual=False)`` to every row of y (m, n), each with both classes, to machine precision.

    With `folds` (m, n), numbers from 0, the decision value of each row comes from a machine fitted to the other folds;
    it is plus or minus 1 if they have one class. `weights` (n,) are sample weights. X must have passed
    `check_feature_sizes`.
    """
    dense = as_dense(X).astype(np.float64, copy=False)
    columns = Columns(np.hstack([dense, np.ones((X.shape[0], 1))]))
    size = columns.labels_at_a_time
    blocks = [slice(start, start + size) for start in range(0, len(y), size)]
    parts = Parallel(n_jobs=n_jobs)(
        delayed(_fit_block)(columns, y[block], None if folds is None else folds[block], weights) for block in blocks
    )
    coef, intercept, decisions = (np.concatenate(each) for each in zip(*parts, strict=True))
    return SupportVectors(coef, intercept, decisions)


def _fit_block(columns: Columns, y: IntArray, folds: IntArray | None, weights: FloatArray | None) -> SupportVectors:
    signs = np.where(y == 1, 1.0, -1.0)
    penalty = np.full(columns.shape[1], 0.5)  # the intercept is penalised too, as in LinearSVC
    each = None if weights is None else np.tile(weights, (len(y), 1))
    problem = Problem(columns, signs, squared_hinge, penalty, each)
    best = minimise(problem, hessians=folds is not None)
    warn_unless_converged(best, y, "support vector machine", "scale the features")
    given = columns.as_given(best.coef)
    decisions = np.empty((len(y), 0)) if folds is None else _held_out(problem, best, folds)
    return SupportVectors(given[:, :-1], given[:, -1], decisions)


def _held_out(problem: Problem, best: Minimum, folds: IntArray) -> FloatArray:
    """Return the held-out decision value of each row; the fits start from the fit to all rows."""
    decisions = np.empty(folds.shape)
    for number in range(folds.max() + 1):
        outside = folds != number
        n_rows, total = outside.sum(axis=1), (problem.signs * outside).sum(axis=1)
        values = np.repeat(np.sign(total)[:, np.newaxis], folds.shape[1], axis=1)
        varying = np.flatnonzero(np.abs(total) < n_rows)
        some = problem.some(varying)
        weights = outside[varying] * (1.0 if some.weights is None else some.weights)
        values[varying] = problem.columns.times(minimise(some._replace(weights=weights), best.some(varying)).coef)
        np.copyto(decisions, values, where=~outside)
    return decisions
