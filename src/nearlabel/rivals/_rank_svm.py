"""Rank-SVM: label ranking by a large-margin kernel machine (Elisseeff and Weston, NIPS 2001)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from nearlabel.models import WithDecisions
from nearlabel.rivals import _label_ranking
from nearlabel.utils.naming import registered
from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense, check_choice, check_integer, check_positive, row_blocks

_KERNELS = ("linear", "poly", "rbf")


@registered("method", "ranksvm")
class RankSVM(WithDecisions):
    """Score labels with a kernel machine that ranks a sample's labels above the others by a margin.

    ::

        min  ½ Σ_k |w_k|² + C Σ_i 1/(|Y_i||Ȳ_i|) Σ_{j in Y_i, l in Ȳ_i} ξ_ijl
        with <w_j - w_l, φ(x_i)> + b_j - b_l >= 1 - ξ_ijl,  ξ >= 0

    The labels whose score reaches a threshold are predicted; the threshold is linear in the scores of the sample,
    fitted to the best thresholds of the training samples (the set size predictor).

    Parameters
    ----------
    C : float, default=1.0
        Cost of a sample whose labels are ranked wrongly.
    kernel : {"linear", "poly", "rbf"}, default="poly"
        Inner product of φ: ``<x - m, x' - m>``, ``(gamma <x, x'> + coef0)^degree`` or ``exp(-gamma |x - x'|²)``. The
        mean m of the training samples affects only the biases. "poly" depends on the mean: centre and scale the
        features.
    degree : int, default=8
        Degree of the polynomial; Zhang and Zhou (2007) use 8.
    gamma : "scale" or float, default="scale"
        Factor of the kernels "poly" and "rbf". "scale": 1 / (n_features * variance of X), as in scikit-learn's `SVC`; 1
        if X is constant. If samples have unit norm and mean zero, as in the yeast data, it is 1.
    coef0 : float, default=1.0
        Constant of the polynomial, at least 0.
    tol : float, default=1e-3
        Relative duality gap at which the solver stops, as a share of the objective.
    max_iter : int, default=5000
        Maximum number of steps; the solver then stops with a warning.

    Attributes
    ----------
    support_ : ndarray of int, shape (n_support,)
        Training samples with a nonzero weight in the scores; each has some but not all labels.
    dual_coef_ : ndarray of shape (n_support, n_labels)
        β: the score of label k is Σ_i β_ik K(x_i, x) + b_k. Labels that all or no training samples carry are left out
        here and in the attributes below. The virtual label, if there is one (see the notes), is the last.
    intercept_ : ndarray of shape (n_labels,)
        b, with sum 0.
    size_coef_ : ndarray of shape (n_labels + 1,)
        Coefficients of the threshold for the scores, followed by its constant.
    objective_ : float
        Value of the objective at the solution.
    duality_gap_ : float
        Share by which the objective may exceed the true minimum, proved by a feasible dual point.
    n_iter_ : int
        Steps of the solver.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame Y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    Only the solver differs from the paper, which uses the Frank-Wolfe method with a linear program in each step; 50
    steps, as in the authors' program, end far from the minimum. Ours is an alternating direction method of multipliers:
    each step is a kernel ridge regression of the scores and a clipped update of the dual variables. It factorises the
    kernel a few times, so memory grows with the square, and time with the cube, of the number of samples. It solves the
    primal problem, in which nearly all β differ from 0.

    Memory also grows with the number of pairs, ``Σ_i |Y_i||Ȳ_i|``, by about 90 bytes for each: 2,000 samples with 27 of
    300 labels have 15 million pairs.

    Samples without labels, or with all labels, have no pairs, but they train the threshold: the size predictor is
    fitted to all samples, while the authors' program leaves these out. If no sample has a pair, as with a single label,
    the paper's method learns nothing. We then add a virtual label, carried by the samples without labels only, and
    predict the labels that are ranked above it: for a single label this is the binary support vector machine.

    Sparse samples are converted to dense arrays, one block at a time.

    A polynomial of high degree magnifies differences of scale, so the norms of the samples dominate the result. Degree
    8 needs samples with mean zero and about unit norm. If single samples have a far larger norm, as with one normally
    distributed feature, `max_iter` may be reached at a gap above `tol`. Scale the features, or use a lower degree or
    "rbf".

    `fit` does not accept sample weights; `C` is the same for all samples.

    See Also
    --------
    nearlabel.rivals.BPMLL : A neural network with a smooth form of the same loss.

    References
    ----------
    A. Elisseeff, J. Weston. A kernel method for multi-labelled classification. Advances in Neural Information
    Processing Systems 14, 2001.

    S. Boyd, N. Parikh, E. Chu, B. Peleato, J. Eckstein. Distributed optimization and statistical learning via the
    alternating direction method of multipliers. Foundations and Trends in Machine Learning 3(1), 2011.

    M.-L. Zhang, Z.-H. Zhou. ML-KNN: a lazy learning approach to multi-label learning. Pattern Recognition 40(7), 2007.

    Examples
    --------
    >>> from nearlabel.rivals import RankSVM
    >>> X, Y = [[0.0], [1.0], [4.0], [5.0]], [[1, 0, 0], [1, 0, 0], [0, 1, 1], [0, 1, 1]]
    >>> RankSVM(kernel="linear").fit(X, Y).predict([[0.5], [4.5]])
    array([[1, 0, 0],
           [0, 1, 1]])
    """

    _dense_in_fit = ("samples", "labels")

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str = "poly",
        degree: int = 8,
        gamma: str | float = "scale",
        coef0: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 5000,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter

    def _check_parameters(self) -> None:
        check_positive("C", self.C)
        check_choice("kernel", self.kernel, _KERNELS)
        check_integer("degree", self.degree, low=1)
        if isinstance(self.gamma, str):
            check_choice("gamma", self.gamma, ["scale"])
        else:
            check_positive("gamma", self.gamma)
        if self.coef0 != 0:
            check_positive("coef0", self.coef0)
        check_positive("tol", self.tol)
        check_integer("max_iter", self.max_iter, low=1)

    def _learn(self, X: Matrix, labels: Matrix) -> None:
        X, labels = X.astype(np.float64), as_dense(labels)
        with np.errstate(over="ignore", invalid="ignore"):  # non-finite values raise an error below
            self._kernel = Kernel.for_rows(X, self.kernel, self.gamma, self.degree, self.coef0)
        self._minimise(X, _label_ranking.ranked_labels(labels))
        self.size_coef_ = _label_ranking.fit_threshold(self._rank(X), labels)

    def _minimise(self, X: Matrix, labels: IntArray) -> None:
        """Set β, b, the objective and the gap, from the samples that have pairs."""
        sizes = labels.sum(axis=1)
        paired = np.flatnonzero((sizes > 0) & (sizes < labels.shape[1]))
        pairs = _label_ranking.LabelPairs.of(labels[paired])
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                kernel = self._kernel(X[paired], X[paired])
                if not np.isfinite(kernel).all():
                    raise self._too_large()
                program = _label_ranking.RankingProgram(kernel, pairs, self.C * pairs.weights)
                solution = _label_ranking.solve(program, self.tol, self.max_iter)
        except (OverflowError, np.linalg.LinAlgError) as error:
            raise self._too_large() from error
        if not solution.converged:
            warnings.warn(
                f"RankSVM stopped after {solution.n_iter} steps at a duality gap of {solution.relative_gap:.2g};"
                " scale the features, or raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=7,
            )
        used = np.flatnonzero(solution.dual_coef.any(axis=1))
        self.support_, self.dual_coef_ = paired[used], solution.dual_coef[used]
        self._rows = X[self.support_]
        self.intercept_, self.n_iter_ = solution.intercept, solution.n_iter
        self.objective_, self.duality_gap_ = solution.objective, solution.relative_gap

    def _too_large(self) -> ValueError:
        given = self.kernel != "linear" and not isinstance(self.gamma, str)
        large, value = ("gamma", f", got {self.gamma!r}") if given else ("X", "")
        return ValueError(f"{large} must be small enough for finite kernel values{value}. Hint: scale the features.")

    def _score(self, X: Matrix) -> FloatArray:
        ranked = _label_ranking.above_threshold(self._rank(X.astype(np.float64)), self.size_coef_)
        return ranked[:, : len(self._varying)]  # without the virtual label

    def _rank(self, X: Matrix) -> FloatArray:
        """Return Σ_i β_ik K(x_i, x) + b_k."""
        blocks = row_blocks(X.shape[0], 8 * len(self.dual_coef_))
        products = np.concatenate([self._kernel(X[block], self._rows) @ self.dual_coef_ for block in blocks])
        return np.asarray(self.intercept_ + products)


# The kernels of Rank-SVM, bit-identical for dense and sparse rows.


@dataclass(frozen=True)
class Kernel:
    """An inner product of rows: linear, polynomial or Gaussian."""

    name: str  # "linear", "poly" or "rbf"
    gamma: float
    degree: int
    coef0: float
    middle: FloatArray | float  # subtracted from each row: 0 except for "linear", where it only reduces rounding errors

    @classmethod
    def for_rows(cls, X: Matrix, name: str, gamma: str | float, degree: int, coef0: float) -> Self:
        """Return the kernel with gamma="scale" and the middle computed from training samples."""
        if name == "linear":
            return cls(name, 1.0, degree, coef0, _mean(X))
        return cls(name, _scale(X) if isinstance(gamma, str) else float(gamma), degree, coef0, 0.0)

    def __call__(self, X: Matrix, Z: Matrix) -> FloatArray:
        """Return the kernel of each row of X with each of Z."""
        if self.name == "rbf":
            # Squared distances are not expanded, which would cause cancellation for rows far from zero.
            distances = _of_all_pairs(partial(cdist, metric="sqeuclidean"), X, Z)
            return np.asarray(np.exp(-self.gamma * distances))
        products = _of_all_pairs(self._products, X, Z)
        return products if self.name == "linear" else np.asarray((self.gamma * products + self.coef0) ** self.degree)

    def _products(self, rows: FloatArray, others: FloatArray) -> FloatArray:
        return np.asarray((rows - self.middle) @ (others - self.middle).T)


def _of_all_pairs(function: Callable[[FloatArray, FloatArray], FloatArray], X: Matrix, Z: Matrix) -> FloatArray:
    """Apply a function to all pairs of dense blocks; the last bit must be reproducible, since many steps magnify it."""
    values = np.empty((X.shape[0], Z.shape[0]))
    for block, rows in _dense_blocks(X):
        for others, other_rows in _dense_blocks(Z):
            values[block, others] = function(rows, other_rows)
    return values


def _dense_blocks(X: Matrix) -> Iterator[tuple[slice, FloatArray]]:
    """Yield dense rows in blocks; the blocks do not depend on the storage."""
    for block in row_blocks(X.shape[0], 8 * X.shape[1]):
        yield block, np.ascontiguousarray(as_dense(X[block]))


def _mean(X: Matrix) -> FloatArray:
    """Return the mean row."""
    return np.asarray(sum(rows.sum(axis=0) for _, rows in _dense_blocks(X)) / X.shape[0])


def _scale(X: Matrix) -> float:
    """Return 1 / (n_features * variance of all cells), or 1 if the variance is 0."""
    n_cells = X.shape[0] * X.shape[1]
    mean = sum(float(rows.sum()) for _, rows in _dense_blocks(X)) / n_cells
    variance = sum(float(np.square(rows - mean).sum()) for _, rows in _dense_blocks(X)) / n_cells
    deviation = np.sqrt(variance)
    constant = deviation <= 64 * np.finfo(np.float64).eps * abs(mean)  # 0 up to rounding
    return 1.0 if constant else 1.0 / (X.shape[1] * variance)
