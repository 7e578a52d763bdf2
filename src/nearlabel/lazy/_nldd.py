"""NLDD: nearest labelset using double distances (Gweon, Schonlau and Steiner, PeerJ Computer Science 2019)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nearlabel.lazy.double_distances import DoubleDistances, Pairs, double_distances, weighted_sum
from nearlabel.lazy.explain import Account, Explanation, OtherRule, explain, make_explanation, share_nearer
from nearlabel.models import WithProbabilities
from nearlabel.neighbors.votes import clone_search
from nearlabel.solvers.binomial import fit_binomial
from nearlabel.solvers.feature_scaling import FeatureScaling
from nearlabel.solvers.label_probabilities import LabelProbabilities
from nearlabel.utils.containers import require_dense
from nearlabel.utils.naming import registered
from nearlabel.utils.tables import column_of, labelset_columns
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix, MatrixLike, NeighborSearch
from nearlabel.utils.validation import as_dense, check_choice, check_feature_sizes, check_flag

_NEAREST_IN_FEATURES, _NEAREST_IN_LABELS = (1.0, 0.0), (0.0, 1.0)
_RIDGE = 1e-6
_MOST_RIVALS = 10  # label sets that an explanation lists besides those that would turn a label
_RULE = "chosen: the label set of least share; share = θ, logit = β0 + β1 distance + β2 dy, loss = n_labels · share"
_CHANGE = (
    "flip row: the training sample of the best label set that decides the label otherwise; margin: how much larger its"
    " share is; margin dx: by how much its distance would have to change to win"
)
_FALLBACK = np.array([0.0, 1.0, 1.0])


@registered("method", "nldd")
class NLDD(WithProbabilities):
    """Predict the training label set that is nearest by a weighted sum of two distances.

    A query has features x and label probabilities p̂, from one binary classifier for each label. For a training sample
    j, Dx is the Euclidean distance from x to its features, and Dy the Euclidean distance from p̂ to its label set.
    Binomial regression models the share θ of wrong labels, and the label set of smallest expected loss is predicted::

        logit θ = β0 + β1 Dx + β2 Dy                    prediction: the y_j of least θ_j

    The β are estimated on pairs of training samples (Gweon et al. 2019, Algorithm 1). The training samples are split at
    random into T1 and T2. Each sample of T2, with p̂ from classifiers fitted to T1, is paired with the sample of T1
    that is nearest in Dx and with the one that is nearest in Dy. The response is the number of labels in which the two
    differ.

    Parameters
    ----------
    estimator : classifier, default=None
        Cloned and fitted to each label, on all samples and on T1. If it has no `predict_proba`, its decision values are
        calibrated by Platt's sigmoid with five-fold cross-validation. None: ``LinearSVC(dual=False)``, a linear support
        vector machine with squared hinge loss, fitted to all labels together (see `BinaryRelevance`). The authors use
        the hinge loss, ``SVC(kernel="linear")``, which is slow with many samples. ``LogisticRegression(max_iter=1000)``
        needs no calibration. Classifiers get the features unscaled: if some are far from zero, pass a pipeline with a
        scaler.
    scale : {"standard", "none"}, default="standard"
        "standard": compute Dx on features divided by their standard deviation, as in the authors' program: that of T1
        to estimate the β, that of all training samples to predict. A constant feature is unchanged. The classifiers get
        the features unscaled.
    trials : {"labels", "authors"}, default="labels"
        "labels": the response is the number of wrong labels out of n_labels, as in the paper. "authors": the odds θ /
        (1 - θ) model the share, as in the authors' program, which passes n_labels where R expects the number of correct
        labels.
    drop_duplicates : bool, default=False
        Whether pairs with equal Dx, Dy and loss count once, as in the authors' program.
    random_state : int, RandomState or None, default=None
        Splits the samples into T1 and T2 and into folds for calibration; passed to the estimator if its own is None.
    search : object with `fit` and `kneighbors`, default=None
        Computes Dx. None: `ExactNeighbors()`, Euclidean. If it is not an `ExactNeighbors`, one clone is fitted to the
        samples of each label set.
    n_jobs : int, default=None
        Number of labels fitted, and of queries compared, in parallel.

    Attributes
    ----------
    coef_ : ndarray of shape (3,)
        β0, β1, β2.
    pairs_ : ndarray of shape (n_pairs, 3)
        Dx, Dy and the number of wrong labels of each pair that the β are estimated on, at most two pairs for each
        sample of T2. `nearlabel.plots.DoubleDistancesDisplay` draws them.
    labelsets_ : ndarray or CSR array of shape (n_labelsets, n_labels)
        Distinct training label sets in lexicographic order; one of them is predicted.
    estimators_ : list of length n_labels
        The fitted classifier of each label; a float, 0 or 1, for a label with one class.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    T1 has one sample more than T2 if the number of samples is odd. Ties between pairs: if several are nearest in Dx,
    the one with the smallest Dy, and vice versa, as in the paper. Ties at prediction: smallest θ, then smallest Dy,
    then smallest Dx. Remaining ties: the lower row number (the paper does not define this). If the regression has no
    finite solution (no loss, or a constant distance), there is a `ConvergenceWarning`, and a ridge of 1e-6 is put on β1
    and β2 of standardised distances; if this fails too, β = (0, 1, 1). A negative β1 or β2 is allowed. `predict_proba`
    returns p̂, the probabilities of the labels' classifiers.

    Every label needs its own classifier, and the probabilities are dense even if y is sparse: use the method for a few
    hundred labels.

    Prediction is exact: its distances do not depend on the rounding of matrix products. Samples are processed in
    blocks, so memory is bounded.

    References
    ----------
    H. Gweon, M. Schonlau, S. H. Steiner: Nearest labelset using double distances for multi-label classification. PeerJ
    Computer Science 5:e242, 2019.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.lazy import NLDD
    >>> digits = load_multidigits()
    >>> nldd = NLDD(random_state=0).fit(digits.X[:500], digits.Y[:500])
    >>> nldd.predict(digits.X[1500:]).shape
    (500, 10)
    """

    _takes_constant_labels = True  # they are labels of which θ is the share

    _dense_in_fit = ("samples", "labels")

    def __init__(
        self,
        estimator: Any = None,
        *,
        scale: str = "standard",
        trials: str = "labels",
        drop_duplicates: bool = False,
        random_state: int | np.random.RandomState | None = None,
        search: NeighborSearch | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.scale = scale
        self.trials = trials
        self.drop_duplicates = drop_duplicates
        self.random_state = random_state
        self.search = search
        self.n_jobs = n_jobs

    def _check_sizes(self, X: Matrix) -> None:
        check_feature_sizes(X, "NLDD")

    def _learn(self, X: Matrix, labels: Matrix) -> None:
        random, self._trials = check_random_state(self.random_state), self.trials
        self.pairs_ = self._pairs_within(X, labels, random)
        self.coef_ = self._regress(self.pairs_, labels.shape[1])
        self._probabilities = self._fit_labels(X, labels, random)
        self.estimators_ = list(self._probabilities.classifiers)
        self._scaling, self._candidates = self._prepare(X, labels)
        self.labelsets_ = self._candidates.labelsets

    def _score(self, X: Matrix) -> FloatArray:
        return self._probabilities.predict(X)

    def _decide(self, X: Matrix) -> Matrix:
        return self.labelsets_[self._nearest(X).labelset]

    def predict_loss(self, X: MatrixLike) -> FloatArray:
        """Return the expected number of wrong labels of each prediction, n_labels · θ.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        loss : ndarray of shape (n_queries,)
            From 0 to n_labels; smaller is more certain.
        """
        nearest = self._nearest(self._queries(X))
        return self.expected_loss(nearest.dx, nearest.dy)

    def expected_loss(self, dx: ArrayLike, dy: ArrayLike) -> FloatArray:
        """Return the expected number of wrong labels at given distances, n_labels · θ(Dx, Dy).

        Parameters
        ----------
        dx, dy : array-like of one shape
            Distances in the features, as this classifier scales them, and from label probabilities to a label set.

        Returns
        -------
        loss : ndarray of that shape
            From 0 to n_labels.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the classifier is not fitted.
        """
        check_is_fitted(self)
        require_dense("dx", dx)
        require_dense("dy", dy)
        sums = weighted_sum(self._weights, np.asarray(dx, dtype=np.float64), np.asarray(dy, dtype=np.float64))
        return self._n_labels * self._shares(self.coef_[0] + sums)

    def distances_to_rows(self, X: MatrixLike) -> tuple[FloatArray, FloatArray, IntArray]:
        """Return both distances of each query to each training sample, whose weighted sum a prediction minimises.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        dx : ndarray of shape (n_queries, n_samples)
            Distances in the features, with `scale` and `search`.
        dy : ndarray of shape (n_queries, n_samples)
            Distances from the queries' label probabilities to the rows' label sets.
        labelset : ndarray of shape (n_samples,)
            The label set of each training sample: its row number in `labelsets_`.

        Raises
        ------
        ValueError
            If X does not fit the training samples.
        sklearn.exceptions.NotFittedError
            If the classifier is not fitted.
        """
        queries = self._queries(X)
        rows, scores = self._scaling(queries), self._probabilities.predict(queries)
        found = [self._candidates.of_rows(rows[[query]], scores[[query]]) for query in range(len(scores))]
        return np.array([pairs.dx for pairs in found]), np.array([pairs.dy for pairs in found]), found[0].labelset

    def _shares(self, linear: FloatArray) -> FloatArray:
        """Return θ."""
        return np.asarray(expit(linear) if self._trials == "labels" else np.exp(np.minimum(linear, 0.0)))

    @property
    def _weights(self) -> tuple[float, float]:
        return float(self.coef_[1]), float(self.coef_[2])

    def _check_parameters(self) -> None:
        check_choice("scale", self.scale, {"standard", "none"})
        check_choice("trials", self.trials, {"labels", "authors"})
        check_flag("drop_duplicates", self.drop_duplicates)
        check_random_state(self.random_state)

    def _nearest(self, X: Matrix) -> Pairs:
        return self._candidates.nearest(self._scaling(X), self._probabilities.predict(X), self._weights)

    explain = explain

    def _explanations(self, X: MatrixLike, other: OtherRule | None) -> Iterator[Explanation]:
        queries = self._queries(X)
        rows, scores = self._scaling(queries), self._probabilities.predict(queries)
        novelty, reason = self._novelty(rows, scores)
        decided = None if other is None else as_dense(other(scores)) == 1
        for query, of_labels in enumerate(scores):
            one = slice(query, query + 1)
            candidates = self._candidates.of_labelsets(rows[one], scores[one], self._weights)
            account, chosen = self._account(candidates, of_labels)
            if other is not None and decided is not None:
                account, chosen = _decided_by(other, account), decided[query]
            new, n_rows = (novelty[query], reason), self._candidates.n_samples
            yield make_explanation(self, account, np.arange(len(chosen)), chosen, new, n_rows)

    def _novelty(self, rows: Matrix, scores: FloatArray) -> tuple[Sequence[float | None], str]:
        """Return the novelty of each query by Dx to the one nearest row; or why there is none."""
        if self._candidates.n_samples == 1:
            return [None] * len(scores), "a single training sample has no neighbours."
        usual = self._candidates.nearest_others()
        if usual is None:
            return [None] * len(scores), "the search contains the samples of one label set at a time."
        dx = self._candidates.nearest(rows, scores, _NEAREST_IN_FEATURES).dx
        return share_nearer(dx, usual).tolist(), ""

    def _account(self, candidates: Pairs, scores: FloatArray) -> tuple[Account, BoolArray]:
        """Return the account of one query's label set, from its best pair with every label set, and that set."""
        linear = np.asarray(self.coef_[0] + candidates.sum(self._weights))  # β0 + β1 Dx + β2 Dy
        shares, change = self._shares(linear), candidates.change_of_dx_to_win(self._weights)
        has = as_dense(self.labelsets_[candidates.labelset]) == 1
        differs = has != has[0]
        rival, turns = differs.argmax(axis=0), differs.any(axis=0)
        flips = {
            "flip_row": column_of([int(r) if t else None for r, t in zip(candidates.row[rival], turns, strict=True)]),
            "margin": np.where(turns, shares[rival] - shares[0], np.nan),
            "margin_dx": np.where(turns, change[rival], np.nan),
        }
        kept = np.union1d(np.arange(min(_MOST_RIVALS, len(shares))), rival[turns])
        pairs = candidates.some(kept)
        neighbors = {
            "row": pairs.row,
            "distance": pairs.dx,
            "dy": pairs.dy,
            "logit": linear[kept],
            "share": shares[kept],
            "loss": len(scores) * shares[kept],
            "margin_dx": change[kept],
            **labelset_columns(self.labelsets_[pairs.labelset], self.label_names_),
        }
        account = Account(
            rule=_RULE,
            change=_CHANGE,
            columns={"score": scores, **flips},
            shown=("score", *flips),
            settings={"coef": self.coef_.tolist(), "trials": self._trials},
            neighbors=neighbors,
        )
        return account, has[0]

    def _fit_labels(self, X: Matrix, labels: Matrix, random: np.random.RandomState) -> LabelProbabilities:
        return LabelProbabilities.fit(self.estimator, X, labels, random, self.n_jobs)

    def _prepare(self, X: Matrix, labels: Matrix) -> tuple[FeatureScaling, DoubleDistances]:
        scaling = FeatureScaling.by_deviation(X) if self.scale == "standard" else FeatureScaling(None)
        return scaling, double_distances(clone_search(self.search), scaling(X), labels, self.n_jobs)

    def _pairs_within(self, X: Matrix, labels: Matrix, random: np.random.RandomState) -> FloatArray:
        """Return Dx, Dy and loss of the pairs of T2 with T1 (Algorithm 1)."""
        order = random.permutation(labels.shape[0])
        T1, T2 = np.split(order, [(len(order) + 1) // 2])
        if not len(T2):
            return np.empty((0, 3))
        probabilities = self._fit_labels(X[T1], labels[T1], random).predict(X[T2])
        scaling, candidates = self._prepare(X[T1], labels[T1])
        m1, m2 = (
            candidates.nearest(scaling(X[T2]), probabilities, weights)
            for weights in (_NEAREST_IN_FEATURES, _NEAREST_IN_LABELS)
        )
        other = m1.row != m2.row
        pairs = Pairs.joined([m1, m2.some(other)])
        of = np.concatenate([T2, T2[other]])
        loss = _hamming(labels[of], labels[T1[pairs.row]])
        rows = np.column_stack([pairs.dx, pairs.dy, loss])
        return np.unique(rows, axis=0) if self.drop_duplicates else rows

    def _regress(self, pairs: FloatArray, n_labels: int) -> FloatArray:
        """Return β by the pairs' Dx, Dy and loss."""
        loss = pairs[:, 2]
        trials = n_labels if self.trials == "labels" else n_labels + loss
        return _estimate(pairs[:, :2], loss, np.broadcast_to(trials, len(loss)))


def _decided_by(other: OtherRule, account: Account) -> Account:
    """Return the account where another rule decides by the scores: no flips are known."""
    return account._replace(
        rule=f"chosen: {other.words}",
        change="no change of votes is known that would change a decision",
        columns={"score": account.columns["score"]},
        shown=("score", "threshold"),
        threshold=other.thresholds,
    )


def _hamming(labels: Matrix, others: Matrix) -> IntArray:
    """Return in how many labels two matrices of label sets differ, row by row."""
    return np.asarray(abs(labels - others).sum(axis=1)).reshape(-1)


def _estimate(distances: FloatArray, loss: FloatArray, trials: FloatArray) -> FloatArray:
    """Return β of the binomial regression, or a substitute for it, with a warning."""
    fit = fit_binomial(distances, loss, trials)
    if fit.converged:
        return fit.coef
    fit = fit_binomial(distances, loss, trials, ridge=_RIDGE)
    used = f"a ridge of {_RIDGE:g} was put on both distances" if fit.converged else "coef_ is set to (0, 1, 1)"
    pairs = f"{len(loss)} pairs with {loss.sum():.0f} wrong labels"
    warnings.warn(
        f"The binomial regression has no finite solution on {pairs}; {used}.",
        ConvergenceWarning,
        stacklevel=8,
    )
    return fit.coef if fit.converged else _FALLBACK.copy()
