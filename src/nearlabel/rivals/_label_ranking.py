"""Parts of methods that rank labels: pairs of labels, thresholds, a virtual label, and the program of Rank-SVM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from nearlabel.utils.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class LabelPairs:
    """All pairs (j, l) in Y_i x Ȳ_i of all rows i, by row, then j, then l; rows with no or with all labels have none.

    A cell is a label of a row; cells are numbered row by row.
    """

    relevant: IntArray  # the cells of all j in any pair
    partners: IntArray  # number of pairs of each
    minus: IntArray  # (n_pairs,): the cell of l
    weights: FloatArray  # (n_pairs,): 1 / (|Y_i| |Ȳ_i|)
    n_rows: int
    n_labels: int

    @classmethod
    def of(cls, labels: IntArray) -> Self:
        """List the pairs of an indicator matrix (n_rows, n_labels)."""
        n_rows, n_labels = labels.shape
        sizes = labels.sum(axis=1)
        lacking = n_labels - sizes
        relevant, irrelevant = np.flatnonzero(labels * (lacking > 0)[:, np.newaxis]), np.flatnonzero(labels == 0)
        rows = relevant // n_labels
        partners = lacking[rows]
        n_pairs = int(partners.sum())
        small = np.int32 if max(labels.size, n_pairs) <= np.iinfo(np.int32).max else np.int64
        shift = (np.cumsum(lacking) - lacking)[rows] - (np.cumsum(partners) - partners)
        minus = irrelevant.astype(small)[np.repeat(shift.astype(small), partners) + np.arange(n_pairs, dtype=small)]
        return cls(relevant, partners, minus, np.repeat(1.0 / (sizes[rows] * partners), partners), n_rows, n_labels)

    @property
    def plus(self) -> IntArray:
        """The cell of j (n_pairs,)."""
        return np.repeat(self.relevant, self.partners)

    def of_rows(self, values: FloatArray) -> FloatArray:
        """Return the value of each pair's row, from one value per row."""
        return np.repeat(values[self.relevant // self.n_labels], self.partners)

    def margins(self, scores: FloatArray) -> FloatArray:
        """Return s_ij - s_il of every pair, from scores (n_rows, n_labels)."""
        flat = scores.ravel()
        return np.asarray(np.repeat(flat[self.relevant], self.partners) - flat.take(self.minus))

    def spread(self, values: FloatArray) -> FloatArray:
        """Return the values of the pairs summed in their cells, + at j and - at l (n_rows, n_labels)."""
        sums = -np.bincount(self.minus, values, self.n_rows * self.n_labels).astype(np.float64, copy=False)
        sums[self.relevant] += np.add.reduceat(values, np.cumsum(self.partners) - self.partners)
        return np.asarray(sums.reshape(self.n_rows, self.n_labels))

    def count(self, chosen: BoolArray) -> FloatArray:
        """Return how many of the selected pairs consist of two labels, a symmetric matrix (n_labels, n_labels)."""
        j, l = self.plus[chosen] % self.n_labels, self.minus[chosen] % self.n_labels  # noqa: E741
        counts = np.bincount(j * self.n_labels + l, minlength=self.n_labels**2).reshape(self.n_labels, -1)
        return (counts + counts.T).astype(np.float64)


# A threshold on the scores of each row that is linear in these scores.
#
# Elisseeff and Weston (2001) call it the set size predictor; Zhang and Zhou (2006) use the same.

_OUTSIDE = 0.1  # distance from the scores of a threshold that excludes all or no labels, as in the authors' program
_RANK_TOLERANCE = 1e-8  # the scores of a row often have a constant sum up to rounding, which must not be fitted


def best_thresholds(scores: FloatArray, labels: IntArray) -> FloatArray:
    """Return, for each row, the threshold with the fewest wrong labels.

    Candidates are the midpoints between the sorted scores of the row, and 0.1 below and above all of them. Ties go to
    the lowest.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_labels)
        Scores.
    labels : ndarray of shape (n_rows, n_labels)
        Indicator matrix.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    order = np.argsort(scores, axis=1)
    rising, right = np.take_along_axis(scores, order, axis=1), np.take_along_axis(labels, order, axis=1)
    candidates = np.column_stack(
        [rising[:, 0] - _OUTSIDE, (rising[:, :-1] + rising[:, 1:]) / 2, rising[:, -1] + _OUTSIDE]
    )
    missed = np.cumsum(np.pad(right, ((0, 0), (1, 0))), axis=1)  # relevant labels below the threshold
    wrongly = np.cumsum(np.pad(1 - right, ((0, 0), (0, 1)))[:, ::-1], axis=1)[:, ::-1]  # irrelevant labels above it
    errors = (missed + wrongly).astype(np.float64)
    errors[:, 1:-1][rising[:, :-1] == rising[:, 1:]] = np.inf  # no threshold separates equal scores
    return np.take_along_axis(candidates, np.argmin(errors, axis=1)[:, np.newaxis], axis=1)[:, 0]


def fit_size_predictor(scores: FloatArray, labels: IntArray) -> FloatArray:
    """Return the least-squares fit of the best thresholds: the coefficients of the scores, followed by the constant."""
    design = np.column_stack([scores, np.ones(len(scores))])
    return np.asarray(np.linalg.lstsq(design, best_thresholds(scores, labels), rcond=_RANK_TOLERANCE)[0])


def above_threshold(scores: FloatArray, coef: FloatArray) -> FloatArray:
    """Return the scores minus the predicted threshold of their row."""
    return np.asarray(scores - (scores @ coef[:-1] + coef[-1])[:, np.newaxis])


# A virtual label against which a single label is ranked.


def ranked_labels(labels: IntArray) -> IntArray:
    """Return the labels; if no row carries one and lacks another, append a virtual one of the rows without labels."""
    if (labels != labels[:, :1]).any():
        return labels
    return np.column_stack([labels, 1 - labels[:, 0]])


def fit_threshold(scores: FloatArray, labels: IntArray) -> FloatArray:
    """Return the size predictor; if the scores have a virtual label, the last one, its score is the threshold."""
    n_ranked = scores.shape[1]
    if n_ranked > labels.shape[1]:
        return np.asarray(np.eye(n_ranked + 1)[n_ranked - 1])
    return fit_size_predictor(scores, labels)


# The quadratic program of Rank-SVM, solved by an alternating direction method of multipliers.


_RELAXATION = 1.9  # over-relaxation, below 2; 1 also converges, in twice as many steps on yeast and image
_CHECK_EVERY = 20  # steps between evaluations of the duality gap and changes of the penalty
_LEAST_CHANGE, _LARGEST_CHANGE = 1.2, 4.0  # limits of the factor by which the penalty changes
_NEGLIGIBLE = 1e-12  # objective that counts as 0, as a share of the objective without a model
_TINY = 1e-150


class RankingSolution(NamedTuple):
    """A primal point (β, b) with its objective, and a lower bound proved by a dual point."""

    dual_coef: FloatArray  # β (n_rows, n_labels)
    intercept: FloatArray  # b (n_labels,)
    objective: float
    bound: float
    converged: bool
    n_iter: int

    @property
    def relative_gap(self) -> float:
        """Share by which the objective may exceed its minimum."""
        return (self.objective - self.bound) / self.objective if self.objective > 0 else 0.0


class RankingProgram(NamedTuple):
    """min ½ Σ_k |w_k|² + Σ caps ξ subject to margins of at least 1 - ξ, with w_k = Σ_i β_ik φ(x_i).

    The dual: max Σ α - ½ <β, Kβ> subject to β = `pairs.spread(α)`, 0 <= α <= caps and Σ_i β_ik = 0.
    """

    kernel: FloatArray  # K (n_rows, n_rows)
    pairs: LabelPairs
    caps: FloatArray  # (n_pairs,)

    def primal(self, dual_coef: FloatArray, intercept: FloatArray) -> float:
        """Return the primal objective, to be minimised."""
        product = self.kernel @ dual_coef
        slack = np.maximum(0.0, 1.0 - self.pairs.margins(product + intercept))
        return float((dual_coef * product).sum() / 2 + self.caps @ slack)

    def dual(self, alpha: FloatArray) -> float:
        """Return the dual objective, to be maximised."""
        dual_coef = self.pairs.spread(alpha)
        return float(alpha.sum() - (dual_coef * (self.kernel @ dual_coef)).sum() / 2)


def solve(program: RankingProgram, tol: float, max_iter: int) -> RankingSolution:
    """Minimise until the duality gap is at most `tol` of the objective, or `max_iter` steps are done.

    The scores F of all rows and the margins of all pairs are separate variables; α are the multipliers of the
    constraint that they agree. D maps scores to margins, and the largest eigenvalue of D'D is n_labels. With a proximal
    term in place of D'D, a step is a kernel ridge regression for F and a clipped update of α. So an ill-conditioned
    kernel, which is usual for polynomials of degree 8, does not need more steps. The penalty of a row is proportional
    to its pace, so that rows with a large norm, which have large kernel values and small α, do not slow down the
    others. If numbers become infinite, there is an `OverflowError`.
    """
    paces = _paces(program)
    smoother = RidgeSmoother(program.kernel, paces)
    penalty = float(program.caps.mean())
    scores, alpha = np.zeros((len(program.kernel), program.pairs.n_labels)), np.zeros(len(program.caps))
    for n_iter in range(1, max_iter + 1):
        step = _step(program, smoother, penalty, scores, alpha)
        moves = step.scores - scores, step.alpha - alpha
        if n_iter % _CHECK_EVERY == 0 or n_iter == max_iter:
            solution = _certified(program, step, n_iter, tol)
            if not np.isfinite(solution.objective):
                raise OverflowError("The kernel is too large for the solver.")
            if solution.converged:
                break
            penalty = _better_penalty(program.pairs, paces, step, moves, penalty)
        scores, alpha = scores + _RELAXATION * moves[0], alpha + _RELAXATION * moves[1]
    return solution


def _paces(program: RankingProgram) -> FloatArray:
    """Return the expected size of α in each row, as a share of the box: 1, or less if the kernel is large."""
    means = program.kernel.mean(axis=0)
    squared_norms = np.maximum(np.diag(program.kernel) - 2 * means + means.mean(), 0)  # relative to the mean
    return np.asarray(1 / (1 + float(program.caps.mean()) * program.pairs.n_labels * squared_norms))


class _Step(NamedTuple):
    """The result of a step."""

    scores: FloatArray  # F (n_rows, n_labels)
    dual_coef: FloatArray  # the β of F
    alpha: FloatArray  # (n_pairs,)


def _step(
    program: RankingProgram, smoother: RidgeSmoother, penalty: float, scores: FloatArray, alpha: FloatArray
) -> _Step:
    pairs, ridge = program.pairs, 1 / (penalty * program.pairs.n_labels)
    weights = smoother.weights[:, np.newaxis]
    target = scores + ridge * pairs.spread(alpha) / weights
    smooth = smoother(target, ridge)
    slack = 1 - pairs.margins(2 * smooth - scores)
    moved = alpha + penalty * pairs.of_rows(smoother.weights) * slack
    return _Step(smooth, weights * (target - smooth) / ridge, np.clip(moved, 0, program.caps))


def _better_penalty(
    pairs: LabelPairs, paces: FloatArray, step: _Step, moves: tuple[FloatArray, FloatArray], penalty: float
) -> float:
    """Return the penalty that would balance the relative residuals of α and the scores.

    A larger penalty makes α move faster, a smaller one makes the scores move faster.
    """
    of_rows, of_pairs = np.sqrt(paces)[:, np.newaxis], np.sqrt(pairs.of_rows(paces))
    in_weights = moves[0] * penalty * pairs.n_labels * of_rows - pairs.spread(moves[1]) / of_rows
    in_margins = moves[1] / penalty / of_pairs - pairs.margins(moves[0]) * of_pairs
    wrong_margins = _share(in_margins, pairs.margins(step.scores) * of_pairs)
    factor = np.sqrt(wrong_margins / _share(in_weights, step.dual_coef / of_rows))
    factor = np.clip(factor, 1 / _LARGEST_CHANGE, _LARGEST_CHANGE)
    return float(penalty * factor) if abs(np.log(factor)) > np.log(_LEAST_CHANGE) else penalty


def _share(part: FloatArray, whole: FloatArray) -> float:
    """Return the size of one array relative to another, bounded away from 0."""
    return max(float(np.linalg.norm(part)), _TINY) / max(float(np.linalg.norm(whole)), _TINY)


def _certified(program: RankingProgram, step: _Step, n_iter: int, tol: float) -> RankingSolution:
    """Return the solution after a step, with its objective and lower bound."""
    intercept = (step.scores - program.kernel @ step.dual_coef).mean(axis=0)
    objective = program.primal(step.dual_coef, intercept)
    bound = program.dual(balanced(step.alpha, program.pairs, program.caps))
    close = objective - bound <= tol * objective + _NEGLIGIBLE * program.caps.sum()
    return RankingSolution(step.dual_coef, intercept, objective, bound, bool(close), n_iter)


class RidgeSmoother:
    """Kernel ridge regression of weighted rows with a free constant; a Cholesky factor serves all targets of a ridge.

    Rows are multiplied by the square roots of their weights, which gives equal weights; the constant becomes the
    direction of the roots, which is projected out of the kernel.
    """

    def __init__(self, kernel: FloatArray, weights: FloatArray) -> None:
        roots = np.sqrt(weights)
        weighted, constant = roots[:, np.newaxis] * kernel * roots, roots / np.linalg.norm(roots)
        along = weighted @ constant
        along = np.outer(along - (constant @ along) / 2 * constant, constant)
        self.weights, self._roots = weights, roots[:, np.newaxis]
        self._kernel = np.asfortranarray(weighted - along - along.T)
        self._rounding = 4 * len(kernel) * np.finfo(np.float64).eps * np.abs(weighted).max()  # of its eigenvalues
        self._ridge, self._factor = np.nan, (self._kernel, False)

    def __call__(self, target: FloatArray, ridge: float) -> FloatArray:
        """Return the scores Kβ + b that minimise Σ weight_i |Kβ + b - target|_i² + ridge <β, Kβ>.

        β is weight_i (target - scores)_i / ridge.
        """
        if ridge != self._ridge:
            self._ridge, self._factor = ridge, self._factorised(ridge)
        mean = np.average(target, axis=0, weights=self.weights)
        weighted = self._roots * (target - mean)
        return np.asarray(
            target - (ridge + self._rounding) * cho_solve(self._factor, weighted, check_finite=False) / self._roots
        )

    def _factorised(self, ridge: float) -> tuple[FloatArray, bool]:
        """Return the Cholesky factor of the kernel plus the ridge, which is raised by the rounding error."""
        ridged = self._kernel.copy(order="F")
        np.einsum("ii->i", ridged)[:] += ridge + self._rounding
        factor: tuple[FloatArray, bool] = cho_factor(ridged, overwrite_a=True, check_finite=False)
        return factor


# The nearest feasible dual point of Rank-SVM: inside the box, with zero sums of the labels.

_MAX_STEPS, _MAX_HALVINGS, _ACCURACY, _RIDGE = 50, 30, 1e-12, 1e-8
_ROUNDING = 1e-13  # tolerated relative rounding error of the function, so that the last steps are accepted


def balanced(alpha: FloatArray, pairs: LabelPairs, caps: FloatArray) -> FloatArray:
    """Return the point nearest to α with 0 <= α <= caps and Σ_i β_ik = 0 for every label k.

    It is α_ijl - (ν_j - ν_l), clipped. The multipliers ν minimise a convex, piecewise quadratic function, whose
    gradient is the negative of the sums: Newton's method with step halving.
    """
    projection = _Projection(alpha, pairs, caps)
    multipliers = np.zeros(pairs.n_labels)
    value, nearest, sums = projection.at(multipliers)
    for _ in range(_MAX_STEPS):
        if np.abs(sums).max() <= _ACCURACY * nearest.sum():
            break
        step = np.linalg.solve(projection.curvature(nearest), sums)
        for shrinkage in 0.5 ** np.arange(_MAX_HALVINGS):
            lower, nearest, sums = projection.at(multipliers + shrinkage * step)
            if lower <= value + _ROUNDING * abs(value):
                break
        multipliers, value = multipliers + shrinkage * step, lower
    return nearest


class _Projection(NamedTuple):
    """The function of the multipliers that the projection minimises."""

    alpha: FloatArray
    pairs: LabelPairs
    caps: FloatArray

    def at(self, multipliers: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return the function's value, the clipped point, and the sum of each label."""
        moved = self.alpha - self.pairs.margins(np.tile(multipliers, (self.pairs.n_rows, 1)))
        nearest = np.clip(moved, 0, self.caps)
        return float(nearest @ (moved - nearest / 2)), nearest, self.pairs.spread(nearest).sum(axis=0)

    def curvature(self, nearest: FloatArray) -> FloatArray:
        """Return the Laplacian of the graph of labels whose edges are the pairs inside the box, made nonsingular."""
        inside = (nearest > 0) & (nearest < self.caps)
        edges = self.pairs.count(inside)
        return np.asarray(np.diag(edges.sum(axis=1) + _RIDGE * (1 + inside.sum())) - edges)
