"""CML-kNN (Liu and Cao, PAKDD 2015; Chaudhari and Sane 2016)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from nearlabel.labels import coupled_similarity
from nearlabel.lazy._counts import Units, check_total, in_units
from nearlabel.lazy._engine import Votes, exact_weights, total_weight
from nearlabel.lazy._mlknn import Bayes, MLkNN, bayes
from nearlabel.lazy.explain import Account, Evidence
from nearlabel.neighbors.votes import LEAST_ROWS, Neighbors, counted_votes
from nearlabel.utils.naming import registered
from nearlabel.utils.types import CSR, FloatArray, IntArray, Matrix, MatrixLike, NeighborSearch, Table
from nearlabel.utils.validation import check_choice, check_flag, check_integer

# A membership of 1 is this many units: in whole numbers every sum is exact, and a row can be taken out of it again.
ONE = 2**40
_ROUNDING = 1e-9  # a cosine of a label with itself may be a little above 1


@registered("method", "cmlknn")
class CMLkNN(MLkNN):
    """ML-kNN in which a neighbour's label set also votes for similar labels.

    The coupled label similarity S is how far one label supports another. A sample with label set L has label j to the
    degree ``μ = min(1, Σ_{l ∈ L} S(l, j))``, its membership; memberships replace the 0 and 1 of ML-kNN. Let n be the
    number of training samples, s the smoothing, and C_j the rounded sum of the memberships of the k nearest
    neighbours::

        P(H) = (s + Σ μ) / (2s + n)                    α[r] = Σ μ, β[r] = Σ (1 - μ), over the rows with C_j = r
        P(C | H) = (s + α[C]) / (s(k + 1) + Σ α)       P(C | ¬H) = (s + β[C]) / (s(k + 1) + Σ β)

    The score is the posterior P(H | C); the label is predicted if the score exceeds one half (Chaudhari and Sane 2016,
    equations 4 to 12, with 1 in place of their N; see Notes). If every label is similar to itself only, the scores are
    those of `MLkNN`.

    Parameters
    ----------
    n_neighbors : int, "auto" or callable, default=10
        Number of neighbours k, smaller than n_samples. "auto": the number from 1 to 30 with the best leave-one-out
        micro F1, the smallest if several are equal; `nearlabel.selection.tune_neighbors` has more options. A
        callable replaces micro F1: it takes true label sets and leave-one-out scores and returns a number; larger is
        better.
    smoothing : float, default=1.0
        s in the formulas; 1 in the paper.
    membership : {"clip", "max", "mean", "hard"}, default="clip"
        How the membership is computed from the support δ = Σ_{l ∈ L} S(l, j) of a label set L for label j. "clip":
        min(1, δ); "max": the largest S(l, j); "mean": δ divided by the size of L; "hard": 1 if δ is at least one half,
        else 0.
    values, feature_weights, n_bins, adjusted
        Parameters of the similarity, see `nearlabel.labels.coupled_similarity`. Similarities above 1 count as 1. With
        real-valued features use ``adjusted=True`` (see Notes), with large label sets ``membership="max"`` also.
    formulas : {"resolved", "printed"}, default="resolved"
        "printed": equations 4 to 12 as printed, with the support δ as the membership. They predict almost no label, and
        a warning reports this.
    similarity : array-like of shape (n_labels, n_labels), default=None
        Support of the row's label for the column's label, from 0 to 1. None: the coupled similarity in the training
        data.
    search : object with `fit` and `kneighbors`, default=None
        Nearest-neighbour search, cloned in `fit`; see `MLkNN`. None: `ExactNeighbors()`, raw Euclidean distance.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    similarity_ : ndarray of shape (n_labels, n_labels)
        S.
    prior_ : ndarray of shape (n_labels,)
        P(H).
    likelihood_ : ndarray of shape (2, n_labels, n_neighbors + 1)
        P(C | ¬H) and P(C | H).
    posterior_ : ndarray of shape (n_labels, n_neighbors + 1)
        P(H | C).
    n_features_in_, n_neighbors_ : int
        Number of features and number of neighbours.
    cv_results_ : dict of str to ndarray
        With ``n_neighbors="auto"``: "n_neighbors", the candidates, and "micro_f1", the value of each ("value" if
        `n_neighbors` is a callable).
    search_ : object
        The fitted search.

    See Also
    --------
    MLkNN : The method that this one extends.
    nearlabel.preprocessing.InformationGainSelector : The feature selection that the paper applies first.

    Notes
    -----
    The printed equations have N, the number of labels, in place of 1. Up to smoothing, their posterior exceeds one half
    only if the mean support in a bucket exceeds N / 2, which almost no label set reaches. They predict almost no label,
    so the paper's tables cannot have been computed with them. With 1, a membership is a degree from 0 to 1, α and β are
    fuzzy counts, and C is in 0 .. k.

    C_j is rounded half up (the paper writes "Round"). At a posterior of exactly one half the label is not predicted, as
    in equation 12; ML-kNN predicts it. The "i-th neighbour" of equation 4 is read as the i-th training sample, and no
    sample is its own neighbour. Memberships are multiples of 2^-40, so all sums are exact and independent of the order
    of addition.

    The method is meant for 0/1 features of which a sample has few. If almost all features are present in almost all
    samples, the similarity of two labels reflects little more than their frequencies, frequent labels support each
    other even if they never occur together, and nearly all labels are predicted (no exact match on emotions and yeast).
    `fit` warns if the mean membership in labels that samples do not have exceeds one half. ``adjusted=True`` subtracts
    what is expected by chance; then the method is as good as ML-kNN on real-valued features. It predicts slightly more
    labels, which raises micro F1 and exact matches slightly, but tuned thresholds of `MLkNN` gain more.

    With sample weights, a sample of weight w counts w times in n, Σ μ, α and β, in multiples of 2^-40, and C_j is k
    times the weighted mean of the neighbours' memberships, rounded. Weights must add up to less than 2^23. The
    similarity, unless it is given, counts each sample once.

    Time and memory grow with the square of the number of labels, and memberships are dense even if y is sparse: use it
    for a few thousand labels at most. `MLkNN` has no such limit.

    `loo_predict_proba`, `loo_predict` and ``n_neighbors="auto"`` use the similarity that was learnt from all samples;
    everything else is identical, bit for bit, to a fit to the other samples.

    References
    ----------
    C. Liu, L. Cao: A Coupled k-Nearest Neighbor Algorithm for Multi-label Classification. PAKDD 2015.

    P. Chaudhari, S. S. Sane: Multilabel Classification Exploiting Coupled Label Similarity with Feature Selection.
    2016.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.lazy import CMLkNN
    >>> digits = load_multidigits()
    >>> cmlknn = CMLkNN(n_neighbors=10, adjusted=True).fit(digits.X[:1500], digits.Y[:1500])
    >>> cmlknn.predict(digits.X[1500:]).shape
    (500, 10)
    """

    counts_follow_rows = False  # learning from them depends on all rows
    _takes_unknown = False
    labels_are_independent = False  # a label set votes for all labels at once
    _rounds = False  # `Memberships` does
    _one = ONE
    similarity_: FloatArray

    _dense_in_fit = ("labels", "labels")

    def __init__(
        self,
        n_neighbors: int | Literal["auto"] = 10,
        *,
        smoothing: float = 1.0,
        membership: str = "clip",
        values: str = "present",
        feature_weights: str = "mean",
        n_bins: int = 10,
        adjusted: bool = False,
        formulas: str = "resolved",
        similarity: MatrixLike | None = None,
        search: NeighborSearch | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
        self.membership = membership
        self.values = values
        self.feature_weights = feature_weights
        self.n_bins = n_bins
        self.adjusted = adjusted
        self.formulas = formulas
        self.similarity = similarity
        self.search = search

    def _learn_rows(self, X: Matrix, labels: Matrix) -> None:
        super()._learn_rows(X, labels)
        self.similarity_ = self._find_similarity(X, labels)
        of_labelset, most = MEMBERSHIPS[self.membership], 1
        if self.formulas == "printed":
            warnings.warn(_PRINTED, UserWarning, stacklevel=8)
            of_labelset, most = support, labels.shape[1]
        self._memberships = Memberships(labels, self.similarity_, of_labelset, most, self._sample_weight)

    def _fit(self, X: MatrixLike, y: MatrixLike, **params: Any) -> Self:
        super()._fit(X, y, **params)
        if self.similarity is None and self.formulas == "resolved" and self._n_samples >= LEAST_ROWS:
            membership = self._membership_of_lacking()
            if membership > 0.5:
                warnings.warn(_SATURATED.format(membership), UserWarning, stacklevel=4)
        return self

    def _membership_of_lacking(self) -> float:
        """Return the mean membership of training samples in labels that they do not have; 0 if they have all."""
        wholes = np.broadcast_to(self._memberships.wholes_of(slice(None)), self._n_samples) / ONE
        n_ones = float(wholes @ np.asarray(self._labels.sum(axis=1)).ravel())
        n_lacking = wholes.sum() * self._n_labels - n_ones
        return float((self._counts[1].sum(dtype=np.float64) / ONE - n_ones) / max(n_lacking, wholes.max()))

    def _units(self) -> Memberships:
        return self._memberships

    def _count(self, neighbors: Neighbors) -> tuple[Matrix, Any]:
        """Return C_j: the neighbours' memberships, added up and rounded to whole votes."""
        k = self.n_neighbors_
        votes = self._memberships.votes(self._memberships.sums(neighbors), k)
        return votes, np.full((len(votes), 1), k)

    def _vote_weights(self, neighbors: Neighbors) -> None:
        """Return None: votes are memberships, and these are weighed where they are added up."""

    def _bayes(self, counts: IntArray, totals: IntArray) -> Bayes:
        """Return ML-kNN's probabilities from α and β, which are counted in units (equations 6 to 11)."""
        return bayes(counts, totals, self._memberships.n_counts(self.n_neighbors_), self._smoothing * self._one)

    def _decide_labels(self, scores: Any, votes: Votes) -> Any:
        return scores > 0.5

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("membership", self.membership, MEMBERSHIPS)
        check_choice("values", self.values, {"present", "all"})
        check_choice("feature_weights", self.feature_weights, {"mean", "sum"})
        check_choice("formulas", self.formulas, {"resolved", "printed"})
        check_integer("n_bins", self.n_bins, low=1)
        check_flag("adjusted", self.adjusted)

    @property
    def _learns_from_rows(self) -> bool:
        return self.similarity is None

    @property
    def _bytes_per_query(self) -> int:
        return 32 * self._n_labels * (self.n_neighbors_ + 1)  # the memberships of all neighbours

    def _find_similarity(self, X: Matrix, labels: Matrix) -> FloatArray:
        if self.similarity is None:
            names = ("values", "feature_weights", "n_bins", "adjusted")
            return coupled_similarity(X, labels, **{name: getattr(self, name) for name in names})
        similarity = check_array(self.similarity, dtype=np.float64, input_name="similarity")
        n_labels = labels.shape[1]
        if similarity.shape != (n_labels, n_labels) or not ((similarity >= 0) & (similarity <= 1 + _ROUNDING)).all():
            raise ValueError(
                f"similarity must be of shape {(n_labels, n_labels)}, each from 0 to 1,"
                f" got shape {similarity.shape} and {np.min(similarity, initial=0)} to {np.max(similarity, initial=0)}."
            )
        return np.asarray(np.minimum(similarity, 1.0))

    def _account(self, evidence: Evidence) -> Account:
        listed = evidence.votes.label
        support = self._memberships.support(evidence.neighbors)[0, listed]
        account = super()._account(evidence)
        what = "sum of memberships" if self._sample_weight is None else "k · weighted mean of memberships"
        return account._replace(
            rule="score > 0.5",
            scores=f"votes = {what} (support), rounded; {account.scores}",
            columns={"support": support, **account.columns},
            shown=("support", *account.shown),
            settings={**account.settings, "membership": self._memberships.of_labelset.__name__},
            terms=self._similar_labels(evidence),
        )

    def _similar_labels(self, evidence: Evidence) -> Table:
        """Return each pair of a listed label and a label of a neighbour that supports it."""
        listed, votes = evidence.votes.label, evidence.carriers.sum(axis=0)
        carried = np.flatnonzero(votes)
        similarity = self._memberships.similarity[listed[carried]][:, listed]
        label, of = np.nonzero(similarity.T)
        names, of_label = self.label_names_[listed], carried[of]
        return {
            "label": listed[label],
            "name": names[label],
            "of": names[of_label],
            "neighbors": votes[of_label],
            "similarity": similarity[of, label] / ONE,
        }


def support(labels: CSR, similarity: IntArray) -> IntArray:
    """δ_{L|j} = Σ_{l ∈ L} S(l, j): how far the label set L of each row supports each label j (equation 4)."""
    return np.asarray(labels @ similarity)


def clipped(labels: CSR, similarity: IntArray) -> IntArray:
    """min(1, δ_{L|j})."""
    return np.minimum(support(labels, similarity), ONE)


def averaged(labels: CSR, similarity: IntArray) -> IntArray:
    """δ_{L|j} / |L|, and 0 for the empty label set."""
    sizes = np.maximum(np.diff(labels.indptr), 1)[:, np.newaxis]
    return np.asarray((2 * support(labels, similarity) + sizes) // (2 * sizes))


def settled(labels: CSR, similarity: IntArray) -> IntArray:
    """1 where δ_{L|j} ≥ 1/2, else 0; a sum that rounding its terms left just below a half counts as a half."""
    return np.where(2 * support(labels, similarity) + labels.shape[1] >= ONE, ONE, 0)


def largest(labels: CSR, similarity: IntArray) -> IntArray:
    """max_{l ∈ L} S(l, j): over the first label of every row, then the second, and so on."""
    sizes = np.diff(labels.indptr)
    result = np.zeros(labels.shape, dtype=np.int64)
    for place in range(sizes.max(initial=0)):
        rows = np.flatnonzero(sizes > place)
        result[rows] = np.maximum(result[rows], similarity[labels.indices[labels.indptr[rows] + place]])
    return result


MEMBERSHIPS: Mapping[str, Callable[[CSR, IntArray], IntArray]] = MappingProxyType(
    {"clip": clipped, "max": largest, "mean": averaged, "hard": settled}
)


class Memberships(Units):
    """How far each training sample's label set supports each label, in units.

    Takes label sets and similarities (n_labels, n_labels), of which those above 1 count as 1; one of the functions
    above; the largest membership that it can give: 1, or the number of labels for the plain support; and the weights of
    rows. Raises an error if sums could overflow because there are too many rows.

    With weights, the units of a row are its memberships times its weight, rounded, and sums are whole votes at once.
    """

    sample_weight: FloatArray | None = None

    def __init__(
        self,
        labels: Matrix,
        similarity: FloatArray,
        of_labelset: Callable[[CSR, IntArray], IntArray],
        most: int,
        sample_weight: FloatArray | None = None,
    ) -> None:
        room = np.iinfo(np.int64).max // ONE // most
        if labels.shape[0] > room:
            raise ValueError(f"n_samples must be at most {room:,} here, got {labels.shape[0]:,}: sums would overflow.")
        super().__init__(labels)
        self.similarity = np.asarray(np.rint(np.minimum(similarity, 1.0) * ONE), dtype=np.int64)
        self.of_labelset = of_labelset
        self.whole = most * ONE
        if sample_weight is not None:
            check_total(sample_weight, room)
            self.sample_weight, self.wholes, self.add_up = sample_weight, in_units(sample_weight, self.whole), False

    def of_rows(self, rows: slice | IntArray) -> IntArray:
        """Return the memberships of some rows, dense (n_rows, n_labels), times their weights."""
        own = self._memberships_of(rows)
        return own if self.sample_weight is None else in_units(self.sample_weight[rows][:, np.newaxis], own)

    def _memberships_of(self, rows: slice | IntArray) -> IntArray:
        return self.of_labelset(sparse.csr_array(self.labels[rows]), self.similarity)

    def sums(self, neighbors: Neighbors) -> IntArray:
        """Return the summed memberships of each query's neighbours (n_queries, n_labels), or with weights the votes."""
        if self.sample_weight is None:
            return np.asarray(self._summed(neighbors, None))
        slack = neighbors.indices.shape[1] * self.labels.shape[1] / (2 * ONE)  # as in `votes`
        return np.asarray(np.floor(self.support(neighbors) + slack + 0.5).astype(np.int64))

    def support(self, neighbors: Neighbors) -> FloatArray:
        """Return the sum of memberships of each query's neighbours, or with weights k times their weighted mean."""
        if self.sample_weight is None:
            return np.asarray(self._summed(neighbors, None) / ONE)
        weights = exact_weights(neighbors, "uniform", self.sample_weight)
        k = neighbors.indices.shape[1]
        return np.asarray(k * self._summed(neighbors, weights) / (total_weight(weights) * ONE))

    def _summed(self, neighbors: Neighbors, weights: FloatArray | None) -> Any:
        """Add up memberships, nearest first: with weights, floats do not depend on the numbers of rows."""
        rows, place = np.unique(neighbors.indices, return_inverse=True)
        return counted_votes(place.reshape(neighbors.indices.shape), self._memberships_of(rows), weights)

    def votes(self, sums: IntArray, n_neighbors: int) -> IntArray:
        """Return sums rounded to whole votes, half up.

        A sum that rounding its terms left just below a half counts as a half.
        """
        if self.sample_weight is not None:
            return sums
        slack = n_neighbors * self.labels.shape[1]
        return np.asarray((2 * sums + ONE + slack) // (2 * ONE))

    def n_counts(self, n_neighbors: int) -> int:
        """Return how many numbers of votes are possible."""
        return self.whole // ONE * n_neighbors + 1


_SATURATED = (
    "Far too many labels are predicted: the mean membership of training samples in labels that they do not have is"
    " {:.2f}. Hint: adjusted=True, and membership='max' if label sets are large."
)
_PRINTED = (
    "formulas='printed' predicts almost no label: as printed, the posterior of a label exceeds one half only if the"
    " mean support for it exceeds n_labels / 2. Hint: formulas='resolved'."
)
