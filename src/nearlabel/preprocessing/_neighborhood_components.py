"""Weights of features, learnt from the labels so that near samples have similar label sets."""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import ClassifierTags, Tags, check_random_state
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from nearlabel.solvers.left_out_votes import LeftOutVotes, multiplied
from nearlabel.utils.containers import check_row_names
from nearlabel.utils.one_step import all_or_nothing
from nearlabel.utils.targets import check_partial_target, require_labels
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import (
    as_float64,
    check_feature_sizes,
    check_groups,
    check_integer,
    check_positive,
    check_rows,
    check_share,
)


class NeighborhoodComponentsWeights(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Multiply each feature by a weight, learnt so that votes of near samples predict the labels.

    Neighbourhood components analysis (Goldberger et al. 2005) with a diagonal matrix, for label sets. Every training
    sample is scored by the votes of all others, with shares that fall with the squared distance of the weighted
    features::

        D_ij = Σ_f w_f² (x_if - x_jf)²,  π_ij = exp(-D_ij) / Σ_m exp(-D_im),  p_il = (1 - s) Σ_j π_ij y_jl + s prior_l

    The weights minimise the log loss of p, summed over the labels and averaged over the samples, plus
    `l2` · Σ_f (w_f / w_0 - 1)². All weights start at w_0 = √2 / r, where r² is the median over the samples of the
    squared distance to the 10th nearest other sample.

    Features of little use for the labels get small weights, so that neighbours agree on the others. A neighbour search
    on the transformed samples is the ordinary one, and predictions by votes can still be explained and updated.

    Parameters
    ----------
    smoothing : float, default=0.02
        s, the part of the score that is the label's share in all samples; above 0 and below 1.
    l2 : float, default=0.001
        Strength of the pull towards equal weights, above 0. It does not depend on the scale of X.
    max_iter : int, default=60
        Most steps of L-BFGS. Fewer than it takes to converge are a regularisation too, so there is no warning.
    max_samples : int, default=2000
        With more samples, weights are learnt from that many, drawn without replacement. A step takes time proportional
        to their number squared.
    random_state : int, RandomState or None, default=0
        Draws these samples.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features,)
        The factors of the features, at least 0. A constant feature keeps the initial weight.
    initial_weight_ : float
        w_0, the weight with which all features start.
    loss_ : float
        The value that was minimised, at the end.
    n_iter_ : int
        Number of steps, of which the first may find nothing to improve; 0 if no label has both classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names of X, if it was a data frame.

    See Also
    --------
    nearlabel.neighbors.GaussianWeights : Weights of votes that fall with the squared distance.
    sklearn.neighbors.NeighborhoodComponentsAnalysis : Learns a full matrix for one column of classes.

    Notes
    -----
    Scale the features first (`FeatureScaler`), so that equal initial weights are sensible. If most samples have copies,
    r² is the mean squared distance instead. Gains over equal weights are small (``benchmarks/learnt_weights.py``).

    The weights have seen the label sets of the training samples, so leave-one-out scores after `transform` are too
    good. Tune thresholds by folds, ``TunedThresholdsClassifierCV(pipeline, cv=5)``, not by ``cv="loo"``.

    An unknown cell of y votes with the label's share, and has no loss. Labels with one class have no influence.

    Two machines with the same samples get the same weights up to rounding of matrix products, which the steps of the
    solver may enlarge; the sample that `random_state` draws is the same.

    References
    ----------
    J. Goldberger, S. Roweis, G. Hinton, R. Salakhutdinov: Neighbourhood Components Analysis. NIPS 17, 2005. Sections 2
    and 3 with a diagonal A; the log loss of each label takes the place of their equation 5, the log probability of the
    class.

    Examples
    --------
    >>> import numpy as np
    >>> from nearlabel.preprocessing import NeighborhoodComponentsWeights
    >>> X = np.random.default_rng(0).random((100, 3))
    >>> Y = np.column_stack([X[:, 0] > 0.5, X[:, 0] + X[:, 1] > 1]).astype(int)
    >>> weighting = NeighborhoodComponentsWeights().fit(X, Y)
    >>> bool(weighting.weights_[2] < 0.2 * weighting.weights_[:2].min())  # the third feature tells nothing
    True
    >>> weighting.transform(X).shape
    (100, 3)
    """

    def __init__(
        self,
        smoothing: float = 0.02,
        *,
        l2: float = 0.001,
        max_iter: int = 60,
        max_samples: int = 2000,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.smoothing = smoothing
        self.l2 = l2
        self.max_iter = max_iter
        self.max_samples = max_samples
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: MatrixLike, y: MatrixLike, groups: ArrayLike | None = None) -> Self:
        """Learn the weights.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training samples.
        y : indicator matrix of shape (n_samples, n_labels)
            Their label sets, with NaN in unknown cells; or the tags of each sample; or one column of two classes.
        groups : array-like of shape (n_samples,), default=None
            Samples of one group do not vote for each other. None: each sample is a group.

        Returns
        -------
        self
            The fitted transformer.

        Raises
        ------
        ValueError
            If X, y or groups is malformed, their lengths differ, a parameter is out of range, features are too large or
            too small for sums of squares, or there are several samples, but only one group.
        TypeError
            If a parameter is of the wrong type.
        """
        self._check_parameters()
        require_labels(self, y)
        check_row_names(X=X, y=y, groups=groups)
        X = check_rows(self, X)
        target, unknown = check_partial_target(self, y)
        check_consistent_length(X, target.labels)
        check_feature_sizes(X, type(self).__name__)
        numbers = np.arange(X.shape[0]) if groups is None else check_groups(groups, X.shape[0])
        rows = self._rows(X.shape[0])
        hidden = None if unknown is None else unknown[rows]
        self._learn(as_float64(X[rows]), target.labels[rows], hidden, _several(numbers[rows]))
        return self

    def _check_parameters(self) -> None:
        check_share("smoothing", self.smoothing)
        check_positive("l2", self.l2)
        check_integer("max_iter", self.max_iter, low=1)
        check_integer("max_samples", self.max_samples, low=2)
        check_random_state(self.random_state)

    def _rows(self, n_samples: int) -> IntArray:
        """Return the rows from which weights are learnt, in order."""
        if n_samples <= self.max_samples:
            return np.arange(n_samples)
        return np.sort(sample_without_replacement(n_samples, self.max_samples, random_state=self.random_state))

    def _learn(self, X: Matrix, Y: Matrix, unknown: Matrix | None, groups: IntArray) -> None:
        """Minimise the loss over the ratios w / w_0, whose scale is 1."""
        varied = _with_both_classes(Y, unknown)
        hidden = None if unknown is None else unknown[:, varied]
        votes = LeftOutVotes(X, Y[:, varied], hidden, groups, self.smoothing)
        ratios, self.loss_, self.n_iter_ = np.ones(X.shape[1]), 0.0, 0
        self.initial_weight_ = math.sqrt(2 / votes.typical_square()) if X.shape[0] > 1 else 1.0
        if len(varied):
            result = minimize(self._objective, ratios, votes, "L-BFGS-B", jac=True, options={"maxiter": self.max_iter})
            ratios, self.loss_, self.n_iter_ = np.abs(result.x), float(result.fun), max(1, int(result.nit))
        self.weights_ = self.initial_weight_ * ratios

    def _objective(self, ratios: FloatArray, votes: LeftOutVotes) -> tuple[float, FloatArray]:
        """Return the loss with its pull towards equal weights, and the gradient (n_features,), by the ratios."""
        loss, gradient = votes.loss_and_gradient(self.initial_weight_ * ratios)
        beyond = ratios - 1
        return loss + self.l2 * float(beyond @ beyond), self.initial_weight_ * gradient + 2 * self.l2 * beyond

    def transform(self, X: MatrixLike) -> Matrix:
        """Multiply features by their weights.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_rows, n_features)
            Samples.

        Returns
        -------
        ndarray or CSR array of float64, shape (n_rows, n_features)
            CSR if X is sparse.
        """
        check_is_fitted(self)
        return multiplied(as_float64(check_rows(self, X, reset=False)), self.weights_)

    def __sklearn_tags__(self) -> Tags:
        """Declare to scikit-learn that X may be sparse, and that y is required and may be label sets."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.classifier_tags = ClassifierTags(multi_class=False, multi_label=True)  # one column of y has two classes
        return tags


def _several(groups: IntArray) -> IntArray:
    """Return numbers of groups; raise ValueError if there are several samples, but only one group."""
    if len(groups) > 1 and (groups == groups[0]).all():
        raise ValueError(
            f"groups must name at least two groups among the samples that weights are learnt from, got 1 of"
            f" {len(groups)} samples. Hint: samples of one group do not vote for each other."
        )
    return groups


def _with_both_classes(Y: Matrix, unknown: Matrix | None) -> IntArray:
    """Return the labels that some known cells have and others lack."""
    n_with = np.asarray(Y.sum(axis=0)).ravel()
    n_unknown = 0 if unknown is None else np.asarray(unknown.sum(axis=0)).ravel()
    return np.flatnonzero((n_with > 0) & (n_with + n_unknown < Y.shape[0]))
