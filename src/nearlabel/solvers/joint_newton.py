"""Linear classifiers of many labels on the same samples, fitted together by Newton steps.

For each label, with signs s_i = 1 or -1 and weights c_i of the rows, `minimise` finds the w with the smallest

    f(w) = Σ_i c_i loss(s_i x_i·w) + Σ_j penalty_j w_j²

for a convex loss of the margin: the logistic, or the squared hinge of scikit-learn's ``LinearSVC``. A Newton step p
solves H p = -g, with gradient g and Hessian H = Xᵀ diag(c loss'') X + 2 diag(penalty). Conjugate gradients need
products with X and Xᵀ only, and the labels share them: one matrix product serves all labels.

The columns are first rotated to their principal axes. There H is close to the diagonal of a·XᵀX + 2 penalty, with a the
mean of c loss'', so this diagonal is a preconditioner with which few conjugate gradient steps are needed. If many are
needed, H is factorised before the next step, and again when that factor is too old to help. If only some rows change
their loss'', as with the squared hinge or if folds leave rows out, H is updated by those rows, and p is solved for
directly. In every case p is a descent direction; the choice affects how fast the minimum is reached, not which minimum.

A step along p ends where the slope has fallen to a tenth of its initial value and f has not increased, so the gradient
tends to 0 if f has one minimum (Nocedal and Wright: Numerical Optimization, 2006, chapters 3 and 7). The fit of a label
has converged when -g·p, twice the gain of one more step, is at most 1e-20 of f, or when no step decreases f any more
and -g·p is below the rounding error of f.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh, qr
from scipy.linalg.lapack import dpotrf, dpotrs
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense

_MOST_STEPS = 200
_MOST_TRIALS = 60  # step lengths per step
_ENOUGH = 1e-20
_ROUNDING = 1e-12  # relative to f
_TINY = np.finfo(np.float64).tiny  # denominator for a gradient of 0
_FLATTER = 0.1  # slope at the end of a step, relative to its start
_PATIENCE = 4  # conjugate gradient iterations, after which H is factorised
_MOST_GRADIENTS = 12  # maximum of conjugate gradient iterations per step
_FEW_CHANGES = 3  # H is updated by the differing rows if they are at most this share, 1 in n
_BLOCK_CELLS, _BLOCK_HESSIANS = 2**18, 2**24  # maximum of cells of labels and rows, and of Hessians, at a time

Loss = Callable[[FloatArray], tuple[FloatArray, FloatArray, FloatArray]]


def squared_hinge(margins: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return max(0, 1 - margin)² and its two derivatives."""
    slack = np.maximum(1.0 - margins, 0.0)
    return slack**2, -2.0 * slack, np.where(slack > 0, 2.0, 0.0)


def logistic(margins: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log(1 + exp(-margin)) and its two derivatives, computed without cancellation."""
    small = np.exp(-np.abs(margins))
    share = 1.0 / (1.0 + small)
    rest = small * share
    return np.log1p(small) - np.minimum(margins, 0.0), -np.where(margins > 0, rest, share), rest * share


class Columns:
    """Columns X (n, d) on their principal axes: products with coefficients (m, d) and with values (m, n) of m labels.

    The first `n_fixed` columns are not rotated. All others must have the same penalty, so that a rotation leaves f
    unchanged.
    """

    def __init__(self, X: FloatArray, n_fixed: int = 0) -> None:
        self._n_fixed, self._axes = n_fixed, _principal_axes(X[:, n_fixed:])
        self._X = np.hstack([X[:, :n_fixed], X[:, n_fixed:] @ self._axes])
        self.shape: tuple[int, int] = self._X.shape
        self.squares: FloatArray = np.einsum("ij,ij->j", self._X, self._X)

    @property
    def labels_at_a_time(self) -> int:
        """Number of labels to process at a time, to limit the size of arrays."""
        n, d = self.shape
        return max(1, min(_BLOCK_CELLS // n, _BLOCK_HESSIANS // d**2))

    def times(self, coef: FloatArray) -> FloatArray:
        """Return w·x of every row (m, n)."""
        return np.asarray(coef @ self._X.T)

    def back(self, values: FloatArray) -> FloatArray:
        """Return Σ_i value_i x_i (m, d)."""
        return np.asarray(values @ self._X)

    def outer_products(self, weights: FloatArray) -> FloatArray:
        """Return Σ_i weight_i x_i x_iᵀ (d, d) for weights (n,)."""
        rows = np.flatnonzero(weights)
        chosen, known = self._X.take(rows, axis=0), weights[rows]
        if len(rows) and known.min() < 0 < known.max():
            return np.asarray((chosen.T * known) @ chosen)
        chosen *= np.sqrt(np.abs(known))[:, np.newaxis]
        sign = -1.0 if len(rows) and known[0] < 0 else 1.0
        return np.asarray(sign * (chosen.T @ chosen))  # numpy computes one half of a matrix's product with itself

    def as_given(self, coef: FloatArray) -> FloatArray:
        """Return the coefficients for the original columns of X."""
        return np.hstack([coef[:, : self._n_fixed], coef[:, self._n_fixed :] @ self._axes.T])


def _principal_axes(X: FloatArray) -> FloatArray:
    """Return orthonormal axes (d, min(n, d)) that span the rows of X, on which its columns are orthogonal."""
    if X.shape[1] <= X.shape[0]:
        return np.asarray(eigh(X.T @ X)[1])
    basis, rows = qr(X.T, mode="economic")
    return np.asarray(basis @ eigh(rows @ rows.T)[1])


class Problem(NamedTuple):
    """The terms of f: signs and weights (m, n) of m labels (None: weights 1), and the penalty (d,)."""

    columns: Columns
    signs: FloatArray
    loss: Loss
    penalty: FloatArray
    weights: FloatArray | None = None

    def some(self, labels: IntArray | BoolArray) -> Problem:
        """Return the problem of some labels."""
        weights = None if self.weights is None else self.weights[labels]
        return self._replace(signs=self.signs[labels], weights=weights)

    def at(self, coef: FloatArray, linear: FloatArray) -> _Point:
        """Return f and its derivatives, given w·x of every row."""
        value, slope, bend = self.loss(self.signs * linear)
        slope *= self.signs
        if self.weights is not None:
            value, slope, bend = value * self.weights, slope * self.weights, bend * self.weights
        return _Point(coef, linear, value.sum(axis=1) + coef**2 @ self.penalty, slope, bend)


class _Point(NamedTuple):
    """Coefficients (m, d), w·x (m, n), f (m,), and the loss's two derivatives by w·x (m, n)."""

    coef: FloatArray
    linear: FloatArray
    value: FloatArray
    slope: FloatArray
    bend: FloatArray

    def some(self, labels: IntArray | BoolArray) -> _Point:
        """Return the point of some labels."""
        return _Point(*(array[labels] for array in self))

    def replace(self, labels: IntArray, by: _Point) -> None:
        """Replace the points of some labels."""
        for array, new in zip(self, by, strict=True):
            array[labels] = new


class _Hessian(NamedTuple):
    """Xᵀ diag(bend) X (d, d), the bend (n,), and the Cholesky factor of H."""

    matrix: FloatArray
    bend: FloatArray
    factor: FloatArray

    def solve(self, right: FloatArray) -> FloatArray:
        """Return H⁻¹ right (d,)."""
        return np.asarray(dpotrs(self.factor, right)[0])


class Minimum(NamedTuple):
    """Coefficients (m, d) on the axes of the columns, which labels have converged (m,), and Hessians near by."""

    coef: FloatArray
    converged: BoolArray
    hessians: list[_Hessian | None]

    def some(self, labels: IntArray) -> Minimum:
        """Return the minimum of some labels."""
        return Minimum(self.coef[labels], self.converged[labels], [self.hessians[label] for label in labels])


def minimise(problem: Problem, near: Minimum | None = None, *, hessians: bool = False) -> Minimum:
    """Minimise f for every label, starting from 0 or from the minima of a similar problem.

    With `hessians` a Hessian is computed for every label, for fits that start from this minimum.
    """
    fits = _Fits(problem, near, hessians)
    for _ in range(_MOST_STEPS):
        step, gain = fits.newton_step()
        last = gain <= _ENOUGH * fits.point.value
        fits.point.coef[last] += step[last]
        fits.leave(last, converged=True)
        step, gain = step[~last], gain[~last]
        lost = gain <= _ROUNDING * fits.point.value
        stuck = fits.move(step, gain)
        fits.leave(stuck & lost, converged=True)
        fits.leave((stuck & ~lost)[~(stuck & lost)], converged=False)
        if not len(fits.labels):
            break
    fits.leave(np.ones(len(fits.labels), dtype=bool), converged=False)
    return fits.found


def warn_unless_converged(found: Minimum, y: IntArray, fitted: str, hint: str) -> None:
    """Warn of each label, a row of y (m, n), whose fit has not converged; the warning names the model and a remedy."""
    for label in np.flatnonzero(~found.converged):
        warnings.warn(
            f"The {fitted} of a label that {y[label].sum()} of {y.shape[1]} rows have did not converge. Hint: {hint}.",
            ConvergenceWarning,
            stacklevel=3,
        )


class _Fits:
    """The fits of some labels between two steps."""

    def __init__(self, problem: Problem, near: Minimum | None, keeps_hessians: bool) -> None:
        n_labels, d = len(problem.signs), problem.columns.shape[1]
        coef = np.zeros((n_labels, d)) if near is None else near.coef.copy()
        self._problem, self._keeps_hessians = problem, keeps_hessians
        self.labels, self._slow = np.arange(n_labels), np.zeros(n_labels, dtype=bool)
        self.point = problem.at(coef, problem.columns.times(coef))
        self._hessians: list[_Hessian | None] = [None] * n_labels if near is None else near.hessians.copy()
        self.found = Minimum(coef.copy(), np.zeros(n_labels, dtype=bool), [None] * n_labels)

    def leave(self, which: BoolArray, *, converged: bool) -> None:
        """Store the results of some labels, and continue without them."""
        if not which.any():
            return
        left = self.labels[which]
        self.found.coef[left], self.found.converged[left] = self.point.coef[which], converged
        if self._keeps_hessians:
            for label, row in zip(left, np.flatnonzero(which).tolist(), strict=True):
                self.found.hessians[label] = self._hessian(row, due=True)[0]
        kept = ~which
        self.labels, self._slow = self.labels[kept], self._slow[kept]
        self._problem, self.point = self._problem.some(kept), self.point.some(kept)
        self._hessians = [self._hessians[row] for row in np.flatnonzero(kept)]

    def newton_step(self) -> tuple[FloatArray, FloatArray]:
        """Return p (m, d) and -g·p (m,)."""
        gradient = self._problem.columns.back(self.point.slope) + 2 * self._problem.penalty * self.point.coef
        exact = self._update_hessians()
        step = self._preconditioned(-gradient, np.arange(len(gradient)))
        if not exact.all():
            step[~exact] = self._conjugate_gradients(-gradient[~exact], np.flatnonzero(~exact))
        return step, -_dots(gradient, step)

    def _update_hessians(self) -> BoolArray:
        """Update Hessians where that is cheap or necessary, and return for which labels they are up to date."""
        exact = np.zeros(len(self.labels), dtype=bool)
        for row, slow in enumerate(self._slow):
            self._hessians[row], exact[row] = self._hessian(row, due=slow)
        self._slow[:] = False
        return exact

    def _hessian(self, row: int, *, due: bool) -> tuple[_Hessian | None, bool]:
        """Return the Hessian of a label, and whether it is up to date."""
        old, bend, columns = self._hessians[row], self.point.bend[row], self._problem.columns
        changes = len(bend) if old is None else np.count_nonzero(bend != old.bend)
        if changes == 0:
            return old, True
        if old is not None and changes * _FEW_CHANGES <= len(bend):
            matrix = old.matrix + columns.outer_products(bend - old.bend)
        elif due:
            matrix = columns.outer_products(bend)
        else:
            return old, False
        ridged = matrix.copy()
        np.einsum("ii->i", ridged)[:] += 2 * self._problem.penalty
        factor, failed = dpotrf(ridged)
        return (None, False) if failed else (_Hessian(matrix, bend.copy(), factor), True)

    def _preconditioned(self, residual: FloatArray, rows: IntArray) -> FloatArray:
        """Return H⁻¹ residual (m, d) by the available Hessians, or by the diagonal for labels without one."""
        mean = self.point.bend[rows].mean(axis=1, keepdims=True)
        diagonal = mean * self._problem.columns.squares + 2 * self._problem.penalty
        answer: FloatArray = residual / np.maximum(diagonal, _TINY)
        for place, row in enumerate(rows):
            hessian = self._hessians[row]
            if hessian is not None:
                answer[place] = hessian.solve(residual[place])
        return answer

    def _conjugate_gradients(self, right: FloatArray, rows: IntArray) -> FloatArray:
        """Return approximately H⁻¹ right (m, d), and record the labels for which it was slow."""
        columns, ridge, bend = self._problem.columns, 2 * self._problem.penalty, self.point.bend[rows]
        answer, residual, todo = np.zeros_like(right), right, np.arange(len(rows))
        direction = self._preconditioned(residual, rows)
        size = _dots(residual, direction)
        goal = size * np.minimum(_FLATTER**2, size / self.point.value[rows])
        for number in range(1, _MOST_GRADIENTS + 1):
            product = columns.back(bend * columns.times(direction)) + ridge * direction
            length = (size / np.maximum(_dots(direction, product), _TINY))[:, np.newaxis]
            answer[todo] += length * direction
            residual = residual - length * product
            nearer = self._preconditioned(residual, rows[todo])
            before, size = size, _dots(residual, nearer)
            direction = nearer + (size / np.maximum(before, _TINY))[:, np.newaxis] * direction
            left = size > goal[todo]
            self._slow[rows[todo]] = left & (number >= _PATIENCE)
            todo, bend, size = todo[left], bend[left], size[left]
            residual, direction = residual[left], direction[left]
            if not len(todo):
                return answer
        return answer

    def move(self, step: FloatArray, gain: FloatArray) -> BoolArray:
        """Move along p while f decreases sufficiently, and return the labels for which it did not decrease."""
        problem, start, along = self._problem, self.point, self._problem.columns.times(step)
        todo, length, ridge = np.arange(len(step)), np.ones(len(step)), 2 * problem.penalty
        low, high = np.zeros(len(step)), np.full(len(step), np.inf)
        for _ in range(_MOST_TRIALS):
            t = length[:, np.newaxis]
            there = problem.at(start.coef + t * step, start.linear + t * along)
            if len(todo) == len(self.labels):
                self.point = there
            else:
                self.point.replace(todo, there)
            rise = _dots(there.slope, along) + _dots(ridge * there.coef, step)
            bad = (np.abs(rise) > _FLATTER * gain) | (there.value > start.value * (1 + _ROUNDING))
            todo = todo[bad]
            if not len(todo):
                break
            curve = _dots(there.bend, along**2) + step**2 @ ridge
            low, high = np.where(rise < 0, length, low), np.where(rise < 0, high, length)
            length = _next_length(length, length - rise / curve, low, high)[bad]
            step, gain, along, low, high = step[bad], gain[bad], along[bad], low[bad], high[bad]
            start, problem = start.some(bad), problem.some(bad)
        else:
            self.point.replace(todo, start)
        return np.isin(np.arange(len(self.labels)), todo)


def _next_length(length: FloatArray, newton: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the next length to try between low and high: Newton's, the midpoint, or a larger one without high."""
    unbounded = np.isinf(high)
    end = np.where(unbounded, 0.0, high)
    inside = np.where((low < newton) & (newton < end), newton, (low + end) / 2)
    return np.where(unbounded, np.clip(newton, 2 * length, 10 * length), inside)


def _dots(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return the inner products of corresponding rows (m,)."""
    return np.asarray(np.einsum("ij,ij->i", one, other))


# Linear support vector machines of many labels on the same samples, and their held-out decision values.

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
