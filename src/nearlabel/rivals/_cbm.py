"""CBM: conditional Bernoulli mixtures (Li, Wang, Pavlu and Aslam, ICML 2016)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from numpy.random import RandomState
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.special import expit, logit, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from nearlabel.models import WithProbabilities
from nearlabel.rivals import _label_mixtures
from nearlabel.utils.naming import registered
from nearlabel.utils.types import BoolArray, FloatArray, Matrix
from nearlabel.utils.validation import (
    as_dense,
    check_choice,
    check_feature_sizes,
    check_flag,
    check_integer,
    check_positive,
    row_blocks,
)


@registered("method", "cbm")
class ConditionalBernoulliMixture(WithProbabilities):
    """Predict the most probable label set under a mixture model with dependent labels.

    Within each component, labels are independent given the features; the mixture of components makes them dependent::

        p(y|x) = Σ_k π_k(x) Π_l b_l(y_l|x, k)

    The gate π is a multinomial logistic regression, and every ``b_l(·|x, k)`` a binary logistic regression. They are
    fitted by expectation-maximisation, which alternates between the responsibilities of the components for the samples
    and regressions on these responsibilities.

    Parameters
    ----------
    n_components : int, default=10
        Number K of components. The authors' program uses 50 and tunes the number. The time of a fit is proportional to
        it.
    ridge : float, default=1.0
        Penalty ridge / 2 · Σ w² on the weights of all regressions, not on intercepts: the inverse of the authors' prior
        variance, which is also 1 in their program. Tune it, as they do.
    scale : {"standard", "none"}, default="standard"
        Whether features are divided by their standard deviation, so that the ridge does not depend on their units.
        "none", as in the authors' program, is often better for word counts, where scaling would favour rare words. Then
        features should have values of about 1: the ridge has little effect on larger ones, and more steps are needed.
    decision : {"labelset", "marginals", "sampling"}, default="labelset"
        "labelset": the most probable label set, found exactly. "marginals": the labels with a probability of at
        least one half. "sampling": the most probable of `n_samples` random label sets.
    allow_empty : bool, default=None
        Whether the empty label set may be predicted. None: if a training sample has it. For "labelset" and "sampling"
        only.
    n_samples : int, default=100
        Number of label sets drawn for each query, for "sampling" only.
    max_iter : int, default=200
        Maximum number of steps of expectation-maximisation; a `ConvergenceWarning` reports that they were not enough.
    tol : float, default=0.001
        Stop when the penalised log-likelihood per sample grows by less than this.
    n_inner_iter : int, default=10
        Iterations of each regression in a step; the authors' program uses 10 to 15 iterations of L-BFGS.
    random_state : int, RandomState or None, default=None
        Draws the starting point and the label sets of "sampling".

    Attributes
    ----------
    gate_coef_ : ndarray of shape (1 + n_features, n_components)
        Coefficients of the gate, intercepts first, for features minus `mean_`, divided by `scale_`.
    label_coef_ : ndarray of shape (n_components, 1 + n_features, n_varying_labels)
        Coefficients of the labels that have both classes, in the same way.
    mean_ : ndarray of shape (n_features,)
        Mean of each feature.
    scale_ : ndarray of shape (n_features,)
        Standard deviation of each feature; 1 for a constant feature, or if `scale` is "none".
    objective_ : list of float
        Penalised log-likelihood after each step; it never decreases.
    n_iter_ : int
        Number of steps.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame Y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    As in the authors' program, the fit starts from the most likely of ten mixtures of labels without features, and each
    step improves the regressions by a few iterations only (generalised expectation-maximisation). The authors' program
    stops early by a validation set and skips samples with small responsibility; ours uses all samples and continues
    until the gain is small.

    The regressions use steps that never decrease the likelihood, instead of L-BFGS. Each component needs one
    factorisation of an r × r matrix, where r is the smaller of the numbers of features and samples; the method is
    suited to r up to a few thousand. A step costs in the order of K n r (r + n_inner_iter · L); `fit` converts sparse
    data to dense arrays. If features separate the labels perfectly, or the ridge is small, coefficients keep growing
    and many steps are needed: `tol` and `max_iter` end them.

    The paper finds the most probable label set by enumerating the label sets of each component in order of decreasing
    probability. Here branch and bound searches the labels on which components disagree: the result is the same, all
    queries are processed at once, and fewer label sets are tried if the components are uncertain. If label sets are
    equally probable, up to a factor of 1 + 1e-12, the first component's own most probable one is taken. In the worst
    case the time would be exponential; then the search is stopped, and a `ConvergenceWarning` reports the queries whose
    label sets are good but may not be the most probable ones. That happens only if dozens of labels are uncertain in
    every component.

    `predict_proba` returns the marginal ``Σ_k π_k(x) b_l(1|x, k)`` of each label, for every `decision`.

    `fit` does not accept sample weights: the starting point is drawn from the samples with equal probability.

    References
    ----------
    C. Li, B. Wang, V. Pavlu, J. A. Aslam. Conditional Bernoulli mixtures for multi-label classification. Proceedings of
    the 33rd International Conference on Machine Learning, 2016.

    Examples
    --------
    One feature, which does not determine which of two labels applies, although one of them always does:

    >>> from nearlabel.rivals import ConditionalBernoulliMixture
    >>> X, Y = [[0.0]] * 5, [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1]]
    >>> model = ConditionalBernoulliMixture(2, random_state=0).fit(X, Y)
    >>> model.predict([[0.0]])
    array([[1, 0]])
    >>> model.predict_proba([[0.0]]).round(1)
    array([[0.6, 0.4]])
    """

    _dense_in_fit = ("samples", "labels")

    def __init__(
        self,
        n_components: int = 10,
        *,
        ridge: float = 1.0,
        scale: str = "standard",
        decision: str = "labelset",
        allow_empty: bool | None = None,
        n_samples: int = 100,
        max_iter: int = 200,
        tol: float = 1e-3,
        n_inner_iter: int = 10,
        random_state: int | RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.ridge = ridge
        self.scale = scale
        self.decision = decision
        self.allow_empty = allow_empty
        self.n_samples = n_samples
        self.max_iter = max_iter
        self.tol = tol
        self.n_inner_iter = n_inner_iter
        self.random_state = random_state

    def _check_parameters(self) -> None:
        for name in ("n_components", "n_samples", "max_iter", "n_inner_iter"):
            check_integer(name, getattr(self, name), low=1)
        for name in ("ridge", "tol"):
            check_positive(name, getattr(self, name))
        check_choice("scale", self.scale, {"standard", "none"})
        check_choice("decision", self.decision, {"labelset", "marginals", "sampling"})
        if self.allow_empty is not None:
            check_flag("allow_empty", self.allow_empty)
        check_random_state(self.random_state)

    def _check_sizes(self, X: Matrix) -> None:
        check_feature_sizes(X, "ConditionalBernoulliMixture")

    def _learn(self, X: Matrix, labels: Matrix) -> None:
        random = check_random_state(self.random_state)
        self._sampling_seed = int(random.randint(np.iinfo(np.int32).max))
        X, Y = X.astype(np.float64), as_dense(labels).astype(np.float64)
        self._empty_seen = not Y.any(axis=1).all()
        scaler = StandardScaler(with_mean=not sparse.issparse(X)).fit(X)
        self.mean_, deviation = np.asarray(scaler.mean_), np.asarray(scaler.scale_)  # 1 for a constant feature
        self.scale_ = deviation if self.scale == "standard" else np.ones_like(deviation)
        rows = Reduced.of(self._design(X))
        model = self._maximise_likelihood(rows, Y, _label_mixtures.bernoulli_mixture(Y, self.n_components, random))
        self.gate_coef_, self.label_coef_ = model.restored(rows)

    def _maximise_likelihood(self, rows: Reduced, Y: FloatArray, responsibilities: FloatArray) -> _Model:
        model, self.objective_ = _Model.start(rows, Y, responsibilities), []
        effort = Effort(self.ridge, self.n_inner_iter)
        for step in range(1, self.max_iter + 1):
            model = model.maximised(rows, Y, responsibilities, effort)
            joint = model.log_joint(rows, Y)
            evidence = _label_mixtures.log_sum(joint)
            responsibilities = np.exp(joint - evidence[:, np.newaxis])
            self.objective_.append(float(evidence.sum()) - model.penalty(self.ridge))
            self.n_iter_ = step
            if step > 1 and self.objective_[-1] - self.objective_[-2] < self.tol * len(Y):
                return model
        warnings.warn(
            f"Expectation-maximisation did not converge in max_iter={self.max_iter} steps.",
            ConvergenceWarning,
            stacklevel=7,
        )
        return model

    def _design(self, X: Matrix) -> Design:
        return Design.of(X.astype(np.float64), self.mean_, self.scale_)

    def _mixtures(self, X: Matrix) -> Iterator[_label_mixtures.LabelMixtures]:
        """Yield the distributions of label sets, for blocks of queries."""
        model = _Model(self.gate_coef_, self.label_coef_)
        n_components, d, n_labels = model.labels.shape
        for block in row_blocks(X.shape[0], 8 * ((n_components + self.n_samples) * n_labels + d)):
            yield model.mixtures(self._design(X[block]))

    def _score(self, X: Matrix) -> FloatArray:
        return np.concatenate([mixtures.marginals() for mixtures in self._mixtures(X)])

    def _decide(self, X: Matrix) -> Matrix:
        if self.decision == "marginals":
            return super()._decide(X)
        decide = self._most_probable if self.decision == "labelset" else self._sampled
        return decide(X).astype(np.int64)

    def _may_be_empty(self) -> bool:
        """Return whether it is allowed to predict none of the labels that have both classes."""
        allowed = self._empty_seen if self.allow_empty is None else self.allow_empty
        return bool(allowed or self._carried_by_all.any())

    def _most_probable(self, X: Matrix) -> BoolArray:
        answers = [
            _label_mixtures.most_probable_labelsets(mixtures, self._may_be_empty()) for mixtures in self._mixtures(X)
        ]
        labels, proven = (np.concatenate(part) for part in zip(*answers, strict=True))
        if not proven.all():
            warnings.warn(
                f"The label sets of {(~proven).sum()} of {len(proven)} queries are good, but may not be the most"
                " probable ones; the search was stopped early.",
                ConvergenceWarning,
                stacklevel=5,
            )
        return labels

    def _sampled(self, X: Matrix) -> BoolArray:
        draw = partial(_label_mixtures.sampled_labelsets, n_samples=self.n_samples, allow_empty=self._may_be_empty())
        seed = self._sampling_seed  # the same seed for each block, so that results do not depend on blocks
        return np.concatenate([draw(mixtures, random=RandomState(seed)) for mixtures in self._mixtures(X)])


class _Model(NamedTuple):
    """π(x) and b(x): coefficients of the gate (1 + d, K) and of the labels (K, 1 + d, L)."""

    gate: FloatArray
    labels: FloatArray

    @classmethod
    def start(cls, rows: Reduced, Y: FloatArray, responsibilities: FloatArray) -> Self:
        """Return regressions with intercepts only: each component's smoothed shares of rows and of labels."""
        sizes, d = responsibilities.sum(axis=0), rows.rows.shape[1]
        carried = (responsibilities.T @ Y + 0.5) / (sizes[:, np.newaxis] + 1.0)
        gate, labels = np.zeros((1 + d, len(sizes))), np.zeros((len(sizes), 1 + d, Y.shape[1]))
        gate[0], labels[:, 0] = np.log(sizes + 0.5), logit(carried)
        return cls(gate, labels)

    def maximised(self, rows: Reduced, Y: FloatArray, responsibilities: FloatArray, effort: Effort) -> Self:
        """Regress the responsibilities on x, and in each component the labels, with responsibilities as row weights."""
        gate = fit_gate(rows, responsibilities, self.gate, effort)
        return type(self)(gate, fit_labels(rows, Y, responsibilities, self.labels, effort))

    def log_joint(self, rows: Reduced, Y: FloatArray) -> FloatArray:
        """Return log π_k(x) Π_l b_l(y_l|x, k) for rows and their label sets (n, K)."""
        sign = 1.0 - 2.0 * Y
        losses = [_label_mixtures.log_one_plus_exp(sign * rows.linear(coef)).sum(axis=1) for coef in self.labels]
        return np.asarray(self._log_weights(rows) - np.stack(losses, axis=1))

    def penalty(self, ridge: float) -> float:
        """Return the penalty that is subtracted from the log-likelihood."""
        return float(sum(penalty(coef, ridge) for coef in (self.gate, *self.labels)))

    def restored(self, rows: Reduced) -> Self:
        """Return the coefficients of the original features."""
        return type(self)(rows.restored(self.gate), np.stack([rows.restored(coef) for coef in self.labels]))

    def mixtures(self, design: Design) -> _label_mixtures.LabelMixtures:
        """Return the distribution of the label set of each row."""
        return _label_mixtures.LabelMixtures(
            self._log_weights(design), np.stack([design.linear(coef) for coef in self.labels], axis=1)
        )

    def _log_weights(self, rows: Design | Reduced) -> FloatArray:
        linear = rows.linear(self.gate)
        return np.asarray(linear - _label_mixtures.log_sum(linear)[:, np.newaxis])


# Logistic regressions with soft targets and weights, for the maximisation steps of a mixture.
#
# Each step goes to the maximum of a parabola that touches the penalised log-likelihood from below (Böhning and
# Lindsay 1988, Böhning 1992: the curvature is at most the row's weight times 1/4 for a label, times 1/2 for the
# gate). So no step decreases the likelihood, no line search is needed, and rounding errors do not grow as with
# L-BFGS, where they grew from 1e-15 to 1e-2 in fifty steps of expectation-maximisation on real data.

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
        coef = coef + np.stack([bound.step(*derivative) for bound, *derivative in steps])
    return coef


def fit_gate(reduced: Reduced, targets: FloatArray, start: FloatArray, effort: Effort) -> FloatArray:
    """Improve a multinomial regression on probabilities (n, K) as targets; return coefficients (1 + r, K)."""
    bound, coef = _Bound.of(reduced.rows, np.full(len(targets), 0.5), effort.ridge), start
    for _ in range(effort.n_steps):
        residuals = targets - softmax(reduced.linear(coef), axis=1)
        coef = coef + bound.step(residuals.sum(axis=0), reduced.rows.T @ residuals, coef)
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

    def step(self, by_intercept: FloatArray, by_slopes: FloatArray, coef: FloatArray) -> FloatArray:
        """Return the step to the maximum of the parabola, from the derivatives by intercepts (m,) and slopes (r, m)."""
        by_slopes = by_slopes - self.ridge * coef[1:] - np.outer(self.center, by_intercept)
        slopes = cho_solve(self.factor, by_slopes, check_finite=False)
        return np.vstack([by_intercept / self.total - self.center @ slopes, slopes])
