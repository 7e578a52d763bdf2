"""ML-kNN (Zhang and Zhou, Pattern Recognition 2007)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from nearlabel.lazy._classifier import CountingClassifier
from nearlabel.lazy._counts import MOST_WEIGHT, UNIT, Units, WeightedUnits, check_total
from nearlabel.lazy._engine import Votes, whole_votes
from nearlabel.lazy.explain import Account, Evidence
from nearlabel.neighbors.votes import Weights, check_weights
from nearlabel.utils.estimators import Shapes
from nearlabel.utils.naming import registered
from nearlabel.utils.one_step import all_or_nothing
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike, NeighborSearch, Table
from nearlabel.utils.validation import check_positive


@registered("method", "mlknn")
class MLkNN(CountingClassifier):
    """Predict each label by Bayes' rule from the number of nearest neighbours that have it.

    For each label, let n be the number of training samples, n1 the number of those that have the label, s the
    smoothing, and c[j] (c'[j]) the number of training samples that have (do not have) the label and for which exactly j
    of the k nearest neighbours have it::

        P(H1) = (s + n1) / (2s + n)
        P(j | H1) = (s + c[j]) / (s(k + 1) + Σ c)        P(j | H0) = (s + c'[j]) / (s(k + 1) + Σ c')

    The score is the posterior P(H1 | j); the label is predicted if the score is at least one half (Zhang and Zhou 2007,
    Fig. 1 and equations 6 to 11). A training sample is not its own neighbour; its duplicates may be.

    Parameters
    ----------
    n_neighbors : int, "auto" or callable, default=10
        Number of neighbours k, smaller than n_samples. "auto": the number from 1 to 30 with the best leave-one-out
        micro F1, the smallest if several are equal; `nearlabel.selection.tune_neighbors` has more options. A
        callable replaces micro F1: it takes true label sets and leave-one-out scores and returns a number; larger is
        better.
    weights : {"uniform", "distance"} or callable, default="uniform"
        Weight of a neighbour's vote. "distance": the inverse of its distance; if there are neighbours at distance 0,
        only they vote. `nearlabel.neighbors.SimilarityWeights` and `GaussianWeights` are kernels. A callable takes
        distances (n, k) and returns weights of that shape, computed row by row. With weights, j is k times the share of
        the weight, rounded half up, for training samples and for queries.
    smoothing : float, default=1.0
        s in the formulas; 1 is Laplace smoothing.
    search : object with `fit` and `kneighbors`, default=None
        Nearest-neighbour search, cloned in `fit`. None: `ExactNeighbors()`, raw Euclidean distance as in the paper. Its
        `kneighbors` without X must leave each training sample out of its own list; `fit` requests one neighbour more
        than `n_neighbors`, if there are that many, for `loo_predict_proba`. To search a grid over ``search__metric``,
        pass an `ExactNeighbors()`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    prior_ : ndarray of shape (n_labels,)
        P(H1).
    likelihood_ : ndarray of shape (2, n_labels, n_neighbors + 1)
        P(j | H0) and P(j | H1).
    posterior_ : ndarray of shape (n_labels, n_neighbors + 1)
        P(H1 | j). Exactly one half if the two products are equal as fractions; this is computed in integers. NaN for a
        j that is impossible because the label, known in few samples, has fewer neighbours.
    n_features_in_, n_neighbors_ : int
        Number of features and number of neighbours.
    weights_ : str or callable
        `weights`, fitted to the training samples.
    cv_results_ : dict of str to ndarray
        With ``n_neighbors="auto"``: "n_neighbors", the candidates, and "micro_f1", the value of each ("value" if
        `n_neighbors` is a callable).
    search_ : object
        The fitted search.

    Notes
    -----
    The paper does not define the prediction at a posterior of exactly one half; here the label is predicted, as in the
    authors' program. Mulan scales the features to [0, 1] and breaks that tie at random; scikit-multilearn counts each
    training sample among its own neighbours.

    A sparse y may have more than a hundred thousand labels: `fit` and `predict` need memory for the votes and for
    tables of n_labels times n_neighbors + 1 numbers. Use `predict_topk` or `predict_proba_sparse` then; `predict_proba`
    and `loo_predict_proba` return dense arrays.

    With sample weights, a training sample of weight w counts w times in n, n1, c and c', so ``prior_`` equals, bit for
    bit, that of a fit to samples repeated w times. Its vote as a neighbour weighs w, and j is k times the share of the
    weight, rounded half up. Scores differ from those of repeated samples, which take several of the k places and are
    neighbours of each other. Weights are rounded to multiples of 2^-32, so that all sums are exact: leave-one-out
    scores and updates equal fits, and weights of 1 no weights, bit for bit. Weights are not rescaled: if they add up to
    1, a `smoothing` of 1 outweighs them. Selecting `n_neighbors` counts each sample once.

    If cells of y are unknown, a label is learnt from the samples in which it is known, and only those are its
    neighbours; if there are fewer than k + 1 of them, k is lower for this label. A label that is known in fewer than
    two samples has the score 0.

    References
    ----------
    M.-L. Zhang, Z.-H. Zhou: ML-KNN: A lazy learning approach to multi-label learning. Pattern Recognition 40(7), 2007.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.lazy import MLkNN
    >>> digits = load_multidigits()
    >>> mlknn = MLkNN(n_neighbors=10).fit(digits.X[:1500], digits.Y[:1500])
    >>> mlknn.predict(digits.X[1500:]).shape
    (500, 10)
    """

    counts_follow_rows = True
    labels_are_independent = True
    _takes_unknown = True
    _most_weight: ClassVar[int] = MOST_WEIGHT
    prior_: FloatArray
    likelihood_: FloatArray
    posterior_: FloatArray

    def __init__(
        self,
        n_neighbors: int | Literal["auto"] = 10,
        *,
        weights: Weights = "uniform",
        smoothing: float = 1.0,
        search: NeighborSearch | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.smoothing = smoothing
        self.search = search

    @all_or_nothing
    def fit(self, X: MatrixLike, y: MatrixLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier to training samples and their label sets.

        Parameters
        ----------
        X, y
            See `BRkNN.fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the training samples, at least 0, whole or fractional. A sample of weight w counts w times in all
            sums of the formulas, and its vote as a neighbour weighs w, see Notes. A sample of weight 0 is left out.

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        ValueError
            If X, y or the weights are malformed, their lengths differ, or a parameter is out of range.
        TypeError
            If a parameter is of a wrong type.
        """
        return self._fit(X, y, sample_weight=sample_weight)

    def _learn_rows(self, X: Matrix, labels: Matrix) -> None:
        self._smoothing = float(self.smoothing)
        check_total(self._sample_weight, self._most_weight)

    def _units_of(self, labels: Matrix, sample_weight: FloatArray | None) -> Units:
        units = super()._units_of(labels, sample_weight)
        return WeightedUnits(units.labels, self.weights_, sample_weight) if self._rounds else units

    @property
    def _rounds(self) -> bool:
        """Whether votes are shares of a weight, rounded to whole ones."""
        return self.weights != "uniform" or self._sample_weight is not None

    @property
    def _one(self) -> int:
        """The units in counts of a row of weight 1."""
        return 1 if self._sample_weight is None else UNIT

    def _whole(self, votes: Votes) -> Any:
        """Return votes in the form in which training samples are counted."""
        return whole_votes(votes.count, votes.total, self.n_neighbors_) if self._rounds else votes.count

    def _learn_counts(self, counts: IntArray, totals: IntArray) -> None:
        priors, self.likelihood_, self.posterior_ = self._bayes(counts, totals)
        self.prior_ = priors[1, :, 0]

    def _gather(self, parts: Sequence[tuple[IntArray, Any]]) -> None:
        n_labels, n_counts = len(self.label_names_), self.n_neighbors_ + 1
        self.prior_, self.posterior_ = np.zeros(n_labels), np.full((n_labels, n_counts), np.nan)
        self.likelihood_ = np.full((2, n_labels, n_counts), np.nan)
        for labels, rule in parts:
            at = slice(rule.n_neighbors_ + 1)
            self.prior_[labels], self.posterior_[labels, at] = rule.prior_, rule.posterior_
            self.likelihood_[:, labels, at] = rule.likelihood_

    def _score_votes(self, votes: Votes) -> Any:
        return self.posterior_[votes.label, self._whole(votes)]

    def _score_counts(self, counts: IntArray, totals: IntArray) -> FloatArray:
        return self._bayes(counts, totals).posterior

    def _decide_labels(self, scores: Any, votes: Votes) -> Any:
        return scores >= 0.5

    def _bayes(self, counts: IntArray, totals: IntArray) -> Bayes:
        return bayes(counts, totals, self.n_neighbors_ + 1, self._smoothing * self._one)

    @property
    def _words(self) -> str:
        """Return in words how scores are computed."""
        rounded = "votes are k · weight / total_weight, rounded; " if self._rounds else ""
        return f"{rounded}{BAYES}"

    def _fitted_shapes(self) -> Shapes:
        n_labels = self._n_labels
        shapes: Shapes = {"prior_": (n_labels,), "posterior_": (n_labels, None), "likelihood_": (2, n_labels, None)}
        return {**super()._fitted_shapes(), **shapes}

    def _check_parameters(self) -> None:
        check_weights(self.weights)
        check_positive("smoothing", self.smoothing)

    def _account(self, evidence: Evidence) -> Account:
        counts = self._counts[:, evidence.votes.label]
        at_votes = counts[:, np.arange(len(evidence.n_votes)), self._whole(evidence.votes)]
        known = {"without_at": counts[0], "with_at": counts[1]}
        return self._account_of(self._bayes(at_votes, counts.sum(axis=2)), known)

    def _account_of(self, bayes: Bayes, counts: Table, **settings: Any) -> Account:
        """Return the account of a decision by Bayes' rule, given the columns of the counts of the listed labels."""
        columns = {
            "prior": bayes.priors[1],
            "prior_without": bayes.priors[0],
            "likelihood": bayes.likelihood[1],
            "likelihood_without": bayes.likelihood[0],
        }
        counted = counts if self._one == 1 else {name: units / self._one for name, units in counts.items()}
        return Account(
            rule="score >= 0.5",
            scores=self._words,
            columns={**columns, **counted},
            shown=("prior", "likelihood", "likelihood_without"),
            settings={"n_samples": self._n_samples, "smoothing": self._smoothing, **settings},
            threshold=0.5,
        )


BAYES = "score = prior · likelihood / (prior · likelihood + prior_without · likelihood_without)"


class Bayes(NamedTuple):
    """P(H0) and P(H1), P(j | H0) and P(j | H1), and P(H1 | j)."""

    priors: FloatArray
    likelihood: FloatArray
    posterior: FloatArray


def bayes(counts: IntArray, totals: IntArray, n_cells: int, s: float) -> Bayes:
    """Return the probabilities from counts c'[j] and c[j] and their totals n0 and n1 (equations 6 to 11).

    Counts (2, ...) are of any shape that totals (2, ...) broadcast to. Smoothing adds s to each of `n_cells` counts; in
    ML-kNN they are k + 1.
    """
    priors = (s + totals) / (2 * s + totals.sum(axis=0))
    likelihood = (s + counts) / (s * n_cells + totals)
    joint = priors * likelihood
    posterior = joint[1] / (joint[0] + joint[1])
    _resolve_ties(posterior, counts, totals, n_cells, s)
    return Bayes(priors, likelihood, posterior)


def _resolve_ties(posterior: FloatArray, counts: IntArray, totals: IntArray, n_cells: int, s: float) -> None:
    """Correct every posterior that rounding may have put on the wrong side of one half, or next to it.

    Compares (s + n1)(s + c)(s n_cells + n0) with (s + n0)(s + c')(s n_cells + n1) in whole numbers, s a fraction p/q.
    """
    close = np.nonzero(np.abs(posterior - 0.5) < 1e-9)
    p, q = Fraction(s).as_integer_ratio()
    cells: tuple[Any, ...] = (slice(None), *close)  # without and with the label
    c0, c1 = q * counts[cells].astype(object) + p
    n0, n1 = q * np.broadcast_to(totals, counts.shape)[cells].astype(object)
    spread = p * n_cells
    excess: Any = (p + n1) * c1 * (spread + n0) - (p + n0) * c0 * (spread + n1)
    near = posterior[close]
    near = np.where(excess > 0, np.maximum(near, 0.5), np.minimum(near, np.nextafter(0.5, 0)))
    posterior[close] = np.where(excess == 0, 0.5, near)
