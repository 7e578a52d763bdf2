"""CML-kNN (Liu and Cao, PAKDD 2015; Chaudhari and Sane 2016)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from nearlabel.decision import cut
from nearlabel.labels import coupled_similarity
from nearlabel.lazy._explained import Account, Evidence
from nearlabel.lazy._flips import least_changes
from nearlabel.lazy._memberships import (
    MEMBERSHIPS,
    ONE,
    Memberships,
    in_units,
    membership_counts,
    memberships_left_out,
    support,
)
from nearlabel.lazy._mlknn import BAYES, BAYES_COLUMNS, Estimates, MLkNN, estimate
from nearlabel.lazy._plain import Table
from nearlabel.lazy._query_neighbors import Neighbors
from nearlabel.lazy._sweep import HeldOut, Needs, left_out
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike, NeighborSearch
from nearlabel.utils.validation import check_choice, check_integer


class CMLkNN(MLkNN):
    """ML-kNN in which a neighbour's label set also votes for the labels that are similar to its own.

    The coupled label similarity S tells how far one label supports another. A row with label set L has label j to the
    degree ``μ = min(1, Σ_{l ∈ L} S(l, j))``, its membership, and memberships take the place of the 0 and 1 of ML-kNN.
    With n training rows, s the smoothing, and C_j the sum over the k nearest neighbours of their memberships, rounded::

        P(H) = (s + Σ μ) / (2s + n)                    α[r] = Σ μ, β[r] = Σ (1 - μ), over the rows with C_j = r
        P(C | H) = (s + α[C]) / (s(k + 1) + Σ α)       P(C | ¬H) = (s + β[C]) / (s(k + 1) + Σ β)

    The score is the posterior P(H | C), and the label is chosen where it exceeds one half (Chaudhari and Sane 2016,
    equations 4 to 12, with 1 in the place of their N; see Notes). Where every label is similar to itself only, the
    scores are those of `MLkNN`.

    Parameters
    ----------
    n_neighbors : int or "auto", default=10
        Number of neighbours k, smaller than n_samples. "auto": of 1 to 30 that with the largest micro F1
        of leave-one-out predictions, the smallest of equals; `nearlabel.model_selection.tune_neighbors` can do more.
    smoothing : float, default=1.0
        s above; 1 in the paper.
    membership : {"clip", "max", "mean", "hard"}, default="clip"
        What a label set L makes of its support δ = Σ_{l ∈ L} S(l, j) for label j: min(1, δ); the largest S(l, j); δ
        divided by the size of L; or 1 if δ is at least one half, else 0.
    values, feature_weights, n_bins
        How similarity is measured, see `nearlabel.labels.coupled_similarity`. Similarities above 1 count as 1.
    formulas : {"resolved", "printed"}, default="resolved"
        "printed": equations 4 to 12 as they stand, with plain support δ for the membership, which predict hardly any
        label (a warning says so).
    similarity : array-like of shape (n_labels, n_labels), default=None
        How far the label of the row supports that of the column, from 0 to 1. None: the coupled similarity in the
        training data.
    search : object with `fit` and `kneighbors`, default=None
        Finds the neighbours and is cloned in `fit`; see `MLkNN`. None: `ExactNeighbors()`, raw Euclidean distance.

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
        Number of features, of neighbours.
    cv_results_ : dict of str to ndarray
        With ``n_neighbors="auto"``: "n_neighbors", the numbers that were tried, and "micro_f1", what each reached.
    search_ : object
        The fitted search.

    See Also
    --------
    MLkNN : The method that this one extends.
    nearlabel.feature_selection.InformationGainSelector : The feature selection that the paper puts before it.

    Notes
    -----
    The printed equations have N, the number of labels, where 1 stands above. Up to smoothing, their posterior exceeds
    one half only where the mean support in a bucket exceeds N / 2, more than nearly any label set can lend: they
    predict next to no label, and cannot be what the paper's tables were computed with. With 1 a membership is a degree
    from 0 to 1, α and β are fuzzy counts, and C lies in 0 .. k.

    C_j is rounded half up (the paper says "Round"). A posterior of exactly one half is not chosen, as in equation 12;
    ML-kNN chooses it. The "i-th neighbour" of equation 4 is read as the i-th training row, and no row is its own
    neighbour. Memberships are whole numbers of 2^-40, so that all sums are exact and independent of any order.

    Where nearly all features are present in nearly all rows, the similarity of two labels is little more than that of
    their frequencies, and frequent labels support each other whether or not they occur together: on such data (yeast,
    scene) the method is far worse than ML-kNN. It is made for 0/1 features of which a row has few.

    Time and memory grow with the square of the number of labels, and memberships are dense, also of a sparse y: made
    for some thousand labels at most; `MLkNN` has no such bound.

    `loo_predict_proba`, `loo_predict` and ``n_neighbors="auto"`` keep to the similarity that was learnt from all rows;
    all else is as in a fit of the others, bit for bit.

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
    >>> cmlknn = CMLkNN(n_neighbors=10).fit(digits.X[:1500], digits.Y[:1500])
    >>> cmlknn.predict(digits.X[1500:]).shape
    (500, 10)
    """

    _labels_are_independent = False

    def __init__(
        self,
        n_neighbors: int | str = 10,
        *,
        smoothing: float = 1.0,
        membership: str = "clip",
        values: str = "present",
        feature_weights: str = "mean",
        n_bins: int = 10,
        formulas: str = "resolved",
        similarity: MatrixLike | None = None,
        search: NeighborSearch | None = None,
    ) -> None:
        super().__init__(n_neighbors, smoothing=smoothing, search=search)
        self.membership = membership
        self.values = values
        self.feature_weights = feature_weights
        self.n_bins = n_bins
        self.formulas = formulas
        self.similarity = similarity

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("membership", self.membership, MEMBERSHIPS)
        check_choice("values", self.values, {"present", "all"})
        check_choice("feature_weights", self.feature_weights, {"mean", "sum"})
        check_choice("formulas", self.formulas, {"resolved", "printed"})
        check_integer("n_bins", self.n_bins, low=1)

    @property
    def _learns_from_rows(self) -> bool:
        return self.similarity is None

    def _learn(self, X: Matrix, labels: Matrix) -> None:
        self.similarity_ = self._find_similarity(X, labels)
        units = in_units(self.similarity_)
        if self.formulas == "printed":
            warnings.warn(_PRINTED, UserWarning, stacklevel=3)
            self._memberships = Memberships(labels, units, support, most=labels.shape[1])
        else:
            self._memberships = Memberships(labels, units, MEMBERSHIPS[self.membership], most=1)
        super()._learn(X, labels)

    def _find_similarity(self, X: Matrix, labels: Matrix) -> FloatArray:
        if self.similarity is None:
            return coupled_similarity(
                X, labels, values=self.values, feature_weights=self.feature_weights, n_bins=self.n_bins
            )
        similarity = check_array(self.similarity, dtype=np.float64, input_name="similarity")
        n_labels = labels.shape[1]
        if similarity.shape != (n_labels, n_labels) or not ((similarity >= 0) & (similarity <= 1)).all():
            raise ValueError(
                f"similarity must be of shape {(n_labels, n_labels)}, each from 0 to 1,"
                f" got shape {similarity.shape} and {np.min(similarity, initial=0)} to {np.max(similarity, initial=0)}."
            )
        return np.asarray(similarity)

    def _count(self, indices: IntArray) -> IntArray:
        return membership_counts(indices, self._memberships)

    def _counts_left_out(self) -> Iterator[tuple[slice, IntArray, IntArray]]:
        return memberships_left_out(self._training_indices, self._memberships, self._counts)

    def _estimate(self, counts: IntArray, totals: IntArray) -> Estimates:
        return estimate(counts, totals, self._memberships.most * self.n_neighbors_, self._smoothing * ONE)

    def _votes(self, neighbors: Neighbors) -> IntArray:
        return self._memberships.votes(self._memberships.sums(neighbors.indices), self.n_neighbors_)

    def _decide(self, neighbors: Neighbors) -> Matrix:
        return self._stored(cut(self._score(neighbors), 0.5, strict=True))

    def _sweep(self, X: Matrix, labels: Matrix, candidates: Sequence[int], needs: Needs) -> Iterator[HeldOut]:
        return left_out(self, X, labels, candidates, needs)

    def _decide_left_out(self) -> Matrix:
        blocks = [self._stored(cut(posteriors, 0.5, strict=True)) for _, posteriors in self._posteriors_left_out()]
        return sparse.vstack(blocks, format="csr") if sparse.issparse(blocks[0]) else np.vstack(blocks)

    def _stored(self, labels: IntArray) -> Matrix:
        """Return dense label sets, stored as the training label sets are."""
        return sparse.csr_array(labels) if sparse.issparse(self._labels) else labels

    def _account(self, evidence: Evidence) -> Account:
        sums = self._memberships.sums(evidence.indices[np.newaxis])
        votes = self._memberships.votes(sums, self.n_neighbors_)[0, evidence.listed]
        labels, posterior = self._bayes_columns(evidence, votes)
        rows = {name: counts / ONE for name, counts in self._rows_by_votes(evidence.listed).items()}
        support = {"support": sums[0, evidence.listed] / ONE}
        return Account(
            labels={**support, **labels, **rows, "flip": least_changes(posterior > 0.5, votes)},
            rule=f"votes = sum of memberships (support), rounded; {BAYES}; chosen: score > 0.5",
            shown=["support", *BAYES_COLUMNS],
            settings={**self._smoothed(), "membership": self._memberships.of_labelset.__name__},
            terms=self._similar_labels(evidence),
        )

    def _similar_labels(self, evidence: Evidence) -> Table:
        """Return each pair of a listed label and a label of a neighbour that supports it."""
        carried = np.flatnonzero(evidence.votes)
        similarity = self._memberships.similarity[evidence.listed[carried]][:, evidence.listed]
        label, of = np.nonzero(similarity.T)
        names, of_label = self.label_names_[evidence.listed], carried[of]
        return {
            "label": evidence.listed[label],
            "name": names[label],
            "of": names[of_label],
            "neighbors": evidence.votes[of_label],
            "similarity": similarity[of, label] / ONE,
        }

    @property
    def _visits_votes_only(self) -> bool:
        return False

    def _query_blocks(self, neighbors: Neighbors) -> Iterator[slice]:
        return self._memberships.blocks(self.n_neighbors_, len(neighbors.indices))


_PRINTED = (
    "formulas='printed' predicts next to no label: as printed, the posterior of a label exceeds one half only where the"
    " mean support for it exceeds n_labels / 2. Hint: formulas='resolved'."
)
