"""ML-kNN (Zhang and Zhou, Pattern Recognition 2007)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.lazy._best import rows_of
from nearlabel.lazy._by_votes import ByVotes
from nearlabel.lazy._decided_left_out import LeftOut
from nearlabel.lazy._doubt import mean_distances
from nearlabel.lazy._explained import Account, Evidence
from nearlabel.lazy._flips import least_changes
from nearlabel.lazy._left_out import counts_left_out, growing_votes, training_votes
from nearlabel.lazy._listing import Listing
from nearlabel.lazy._query_neighbors import Neighbors
from nearlabel.lazy._sweep import HeldOut, Needs
from nearlabel.neighbors import label_votes
from nearlabel.utils.blocks import BLOCK_BYTES, row_blocks
from nearlabel.utils.types import CSR, FloatArray, IntArray, Matrix, NeighborSearch
from nearlabel.utils.validation import as_dense, check_positive


class MLkNN(ByVotes):
    """Decide each label by Bayes' rule from how many of the nearest neighbours carry it.

    For each label, with n training rows, n1 of them carrying it, s the smoothing, and c[j] (c'[j]) the number of
    training rows that carry (do not carry) it and have j among their k nearest neighbours that do::

        P(H1) = (s + n1) / (2s + n)
        P(j | H1) = (s + c[j]) / (s(k + 1) + Σ c)        P(j | H0) = (s + c'[j]) / (s(k + 1) + Σ c')

    The score is the posterior P(H1 | j), and the label is chosen where it is at least one half (Zhang and Zhou 2007,
    Fig. 1 and equations 6 to 11). A training row is not among its own neighbours; its duplicates may be.

    Parameters
    ----------
    n_neighbors : int or "auto", default=10
        Number of neighbours k, smaller than n_samples. "auto": of 1 to 30 that with the largest micro F1
        of leave-one-out predictions, the smallest of equals; `nearlabel.model_selection.tune_neighbors` can do more.
    smoothing : float, default=1.0
        s above; 1 is Laplace's.
    search : object with `fit` and `kneighbors`, default=None
        Finds the neighbours and is cloned in `fit`. None: `ExactNeighbors()`, raw Euclidean distance as in the paper.
        Its `kneighbors` without rows must leave each training row out of its own list; `fit` asks it for one neighbour
        more than `n_neighbors` where there are as many, for `loo_predict_proba`. For a grid over ``search__metric``
        give an `ExactNeighbors()`.

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
        P(H1 | j). Exactly one half where the two products are equal as fractions: decided in whole numbers.
    n_features_in_, n_neighbors_ : int
        Number of features, of neighbours.
    cv_results_ : dict of str to ndarray
        With ``n_neighbors="auto"``: "n_neighbors", the numbers that were tried, and "micro_f1", what each reached.
    search_ : object
        The fitted search.

    Notes
    -----
    The paper leaves a posterior of exactly one half open; here it is positive, as in the authors' program. Mulan scales
    the features to [0, 1] and breaks that tie at random; scikit-multilearn counts each training row among its own
    neighbours.

    A sparse y may have a hundred thousand labels and more: fit and `predict` take memory for the votes and for tables
    of n_labels times n_neighbors + 1 numbers. `predict_topk` and `predict_proba_sparse` replace `predict_proba` there,
    whose array is dense, as is that of `loo_predict_proba`.

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

    _needs_training_neighbors = True
    _labels_are_independent = True

    def __init__(
        self, n_neighbors: int | str = 10, *, smoothing: float = 1.0, search: NeighborSearch | None = None
    ) -> None:
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
        self.search = search

    def _check_parameters(self) -> None:
        check_positive("smoothing", self.smoothing)

    def _learn(self, X: Matrix, labels: Matrix) -> None:
        super()._learn(X, labels)
        self._smoothing = float(self.smoothing)

    def _learn_from_neighbors(self, X: Matrix, labels: Matrix) -> None:
        self._training_indices = self._find_training_neighbors()
        self._counts = self._count(self._training_indices[:, : self.n_neighbors_])  # c' and c
        priors, self.likelihood_, self.posterior_ = self._estimate(
            self._counts, self._counts.sum(axis=2, keepdims=True)
        )
        self.prior_ = priors[1, :, 0]

    def _count(self, indices: IntArray) -> IntArray:
        """Return the counts c'[j] and c[j] of every label, (2, n_labels, n_neighbors + 1)."""
        return neighbor_counts(indices, self._labels)

    def _counts_left_out(self) -> Iterator[tuple[slice, IntArray, IntArray]]:
        """Yield blocks of rows, the counts that each finds in a fit of all others, and their totals."""
        return counts_left_out(self._training_indices, self._labels, self._counts)

    def _estimate(self, counts: IntArray, totals: IntArray) -> Estimates:
        return estimate(counts, totals, self.n_neighbors_, self._smoothing)

    def _votes(self, neighbors: Neighbors) -> Matrix:
        return label_votes(neighbors.indices, self._labels)

    def _find_training_neighbors(self) -> IntArray:
        """Return indices (n_samples, k), and one more column, for leave-one-out scores, where so many are known.

        Keeps how far they are on average, for explanations.
        """
        k, n = self.n_neighbors_, self._n_samples
        known = getattr(self.search_, "n_neighbors_known", n - 1)
        distances, indices = self._ask_search(None, max(k, min(k + 1, n - 1, known)))
        self._training_distances = np.sort(mean_distances(distances[:, :k]))
        return indices.astype(np.result_type(np.int32, np.min_scalar_type(-n)))

    def _score_left_out(self) -> FloatArray:
        scores = np.empty(self._labels.shape)
        for block, posterior in self._posteriors_left_out():
            scores[block] = posterior
        return scores

    def _decide_left_out(self) -> Matrix:
        self._check_known()
        nearest = self._training_indices[:, :-1]
        votes = training_votes(nearest, self._labels)
        return self._left_out(self._training_indices, Listing.of(nearest), self._labels, votes, self._counts).decide()

    def _left_out(
        self, indices: IntArray, listing: Listing, labels: Matrix, votes: Matrix, counts: IntArray
    ) -> LeftOut:
        def posteriors(counts: IntArray, totals: IntArray) -> FloatArray:
            return estimate(counts, totals, indices.shape[1] - 1, self._smoothing).posterior

        return LeftOut(indices, listing, labels, votes, counts, self._smoothing, posteriors)

    def _sweep(self, X: Matrix, labels: Matrix, candidates: Sequence[int], needs: Needs) -> Iterator[HeldOut]:
        if needs.score:
            yield from super()._sweep(X, labels, candidates, needs)
            return
        _, indices = self._ask_search(None, candidates[-1] + 1)
        listing, stored = Listing.of(indices[:, :-1]), _stored_for_work(self._labels)
        truth = labels if sparse.issparse(labels) == sparse.issparse(stored) else stored.astype(np.int64)
        for k, votes in growing_votes(indices, stored, candidates):
            counts = counts_of_votes(votes, stored, k)
            left_out = self._left_out(indices[:, : k + 1], listing, stored, votes, counts)
            yield HeldOut(k, truth, left_out.decide(), None)

    def _posteriors_left_out(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield blocks of rows, and the posteriors that each has in a fit of all others."""
        self._check_known()
        for block, counts, totals in self._counts_left_out():
            yield block, self._estimate(counts, totals).posterior

    def _check_known(self) -> None:
        k, known = self.n_neighbors_, self._training_indices.shape[1]
        if known == k:
            raise ValueError(
                f"search must know n_neighbors + 1 = {k + 1} neighbours of each training row to leave one out,"
                f" got {known}. Hint: precompute {k + 1}."
            )

    def _score(self, neighbors: Neighbors) -> FloatArray:
        return np.asarray(_look_up(self.posterior_, self._votes(neighbors)))

    def _voted_scores(self, neighbors: Neighbors) -> CSR:
        votes = sparse.csr_array(self._votes(neighbors))
        scores = self.posterior_[votes.indices, votes.data]
        return sparse.csr_array((scores, votes.indices, votes.indptr), shape=votes.shape)

    def _unvoted_scores(self) -> FloatArray:
        return self.posterior_[:, 0]

    def _decide(self, neighbors: Neighbors) -> Matrix:
        positive, votes = self.posterior_ >= 0.5, self._votes(neighbors)
        return _positive_of_sparse(positive, votes) if sparse.issparse(votes) else _look_up(positive.astype(int), votes)

    def _usual_distances(self, n_neighbors: int) -> FloatArray:
        return self._training_distances

    def _account(self, evidence: Evidence) -> Account:
        rows = self._rows_by_votes(evidence.listed)
        labels, posterior = self._bayes_columns(evidence, evidence.votes)
        decided = posterior >= 0.5
        return Account(
            labels={**labels, **rows, "flip": least_changes(decided, evidence.votes)},
            rule=f"{BAYES}; chosen: score >= 0.5",
            shown=BAYES_COLUMNS,
            settings=self._smoothed(),
        )

    def _rows_by_votes(self, listed: IntArray) -> dict[str, Any]:
        """Return the training rows with and without each listed label by their votes, each (n_listed, n_counts)."""
        return dict(zip(("without_at", "with_at"), self._counts[:, listed], strict=True))

    def _smoothed(self) -> dict[str, Any]:
        return {"n_neighbors": self.n_neighbors_, "n_samples": self._n_samples, "smoothing": self._smoothing}

    def _bayes_columns(self, evidence: Evidence, votes: IntArray) -> tuple[dict[str, Any], FloatArray]:
        """Return what made the score of each listed label, and its posterior at every number of votes."""
        counts = self._counts[:, evidence.listed]
        priors, likelihood, posterior = self._estimate(counts, counts.sum(axis=2, keepdims=True))
        now = np.arange(len(votes)), votes
        columns = {
            "votes": votes,
            "prior": priors[1, :, 0],
            "prior_without": priors[0, :, 0],
            "likelihood": likelihood[1][now],
            "likelihood_without": likelihood[0][now],
            "score": posterior[now],
            "score_at": posterior,
        }
        return columns, posterior


BAYES_COLUMNS = ("votes", "prior", "likelihood", "likelihood_without", "score", "flip")
BAYES = "score = prior · likelihood / (prior · likelihood + prior_without · likelihood_without)"


def _look_up(table: Any, votes: IntArray) -> Any:
    """Return table[label, votes] for dense votes (n_queries, n_labels)."""
    n_labels, n_bins = table.shape
    return table.ravel().take(votes + np.arange(n_labels) * n_bins)


def neighbor_counts(indices: IntArray, labels: Matrix) -> IntArray:
    """Count training rows by label and by how many of their neighbours carry it.

    Returns counts (2, n_labels, n_neighbors + 1): [0] of the rows without the label, [1] of those with it.
    """
    n, k = indices.shape
    stored = _stored_for_work(labels)
    votes_each = stored.shape[1] if not sparse.issparse(stored) else (k + 1) * (1 + stored.nnz // n)
    counts = np.zeros((2, labels.shape[1], k + 1), dtype=np.int64)
    for block in row_blocks(n, 64 * max(votes_each, k + 1)):
        counts += counts_of_votes(label_votes(indices[block], stored), stored[block], k)
    return counts


def _stored_for_work(labels: Matrix, cells_for_one: int = 40) -> Matrix:
    """Return labels in bytes, stored so that votes are least work: a one takes as long as so many cells of dense ones.

    Sparse labels are never made dense where that would take more than the budget of a block.
    """
    n_cells, is_sparse = labels.shape[0] * labels.shape[1], sparse.issparse(labels)
    n_ones = labels.nnz if is_sparse else np.count_nonzero(labels)
    if n_cells < cells_for_one * n_ones and not (is_sparse and n_cells >= BLOCK_BYTES):
        return as_dense(labels)
    return labels if is_sparse else _as_csr(labels)


def _as_csr(labels: Matrix) -> CSR:
    """Return dense labels in bytes as a CSR array, several times faster than scipy's constructor."""
    n, n_labels = labels.shape
    ones = np.flatnonzero(labels.view(np.bool_))
    entries = np.ones(len(ones), dtype=np.int8), ones % n_labels, np.searchsorted(ones, np.arange(n + 1) * n_labels)
    return sparse.csr_array(entries, shape=labels.shape)


def counts_of_votes(votes: Matrix, labels: Matrix, k: int) -> IntArray:
    """Count rows by label, own class and votes of k neighbours: (2, n_labels, k + 1), rows without the label first.

    Votes and labels (n_samples, n_labels) are stored alike.
    """
    return (_counts_of_sparse if sparse.issparse(votes) else _counts_of_dense)(votes, labels, k + 1)


def _counts_of_dense(votes: IntArray, labels: IntArray, n_bins: int) -> IntArray:
    """Visit every cell: its label, its own class and its votes make the number of its bin."""
    n, n_labels = labels.shape
    first_bins = np.arange(n_labels) * 2 * n_bins
    counts = np.zeros(n_labels * 2 * n_bins, dtype=np.int64)
    for block in row_blocks(n, 64 * n_labels):
        bins = np.multiply(labels[block], n_bins, dtype=np.intp)
        bins += votes[block]
        bins += first_bins
        counts += np.bincount(bins.ravel(), minlength=len(counts))
    return np.ascontiguousarray(counts.reshape(n_labels, 2, n_bins).swapaxes(0, 1))


def _counts_of_sparse(votes: CSR, labels: CSR, n_bins: int) -> IntArray:
    """Visit non-zero votes only; the rows without follow by subtraction."""
    n, n_labels = labels.shape
    everyone, carriers = _histogram(votes, n_bins), _histogram(votes.multiply(labels).tocsr(), n_bins)
    counts = np.stack([everyone - carriers, carriers]).reshape(2, n_labels, n_bins)
    n_carriers = np.bincount(labels.indices, minlength=n_labels)
    counts[1, :, 0] = n_carriers - counts[1].sum(axis=1)
    counts[0, :, 0] = n - n_carriers - counts[0].sum(axis=1)
    return counts


def _histogram(votes: CSR, n_bins: int) -> IntArray:
    return np.bincount(votes.indices.astype(np.int64) * n_bins + votes.data, minlength=votes.shape[1] * n_bins)


class Estimates(NamedTuple):
    """P(H0) and P(H1), P(j | H0) and P(j | H1), and P(H1 | j)."""

    priors: FloatArray
    likelihood: FloatArray
    posterior: FloatArray


def estimate(counts: IntArray, totals: IntArray, k: int, s: float) -> Estimates:
    """Return the probabilities that counts c'[j] and c[j], j = 0 .. k, and their totals give.

    Counts (2, ...) are of any shape that totals (2, ...) broadcast to.
    """
    priors = (s + totals) / (2 * s + totals.sum(axis=0))
    likelihood = (s + counts) / (s * (k + 1) + totals)
    joint = priors * likelihood
    posterior = joint[1] / (joint[0] + joint[1])
    _settle_halves(posterior, counts, totals, k, s)
    return Estimates(priors, likelihood, posterior)


def _settle_halves(posterior: FloatArray, counts: IntArray, totals: IntArray, k: int, s: float) -> None:
    """Put every posterior that rounding left beside one half on the side where it belongs, or exactly on it.

    Compares (s + n1)(s + c)(s(k+1) + n0) with (s + n0)(s + c')(s(k+1) + n1) in whole numbers: n1 = Σc, n0 = Σc'.
    """
    beside = np.nonzero(np.abs(posterior - 0.5) < 1e-9)
    p, q = Fraction(s).as_integer_ratio()
    c0, c1 = (q * counts[h][beside].astype(object) + p for h in (0, 1))
    n0, n1 = (q * np.broadcast_to(totals, counts.shape)[h][beside].astype(object) for h in (0, 1))
    spread = p * (k + 1)
    excess: Any = (p + n1) * c1 * (spread + n0) - (p + n0) * c0 * (spread + n1)
    near = posterior[beside]
    near = np.where(excess > 0, np.maximum(near, 0.5), np.minimum(near, np.nextafter(0.5, 0)))
    posterior[beside] = np.where(excess == 0, 0.5, near)


def _positive_of_sparse(positive: Any, votes: CSR) -> CSR:
    """Return the sparse indicator matrix of positive[label, votes], visiting non-zero votes only.

    Labels that are positive even without a vote are common to most rows; only their columns are filled.
    """
    rows = rows_of(votes)
    chosen = positive[votes.indices, votes.data]
    without = np.flatnonzero(positive[:, 0])
    empty_row, empty_column = np.nonzero(votes[:, without].toarray() == 0)
    entries = (
        np.concatenate([rows[chosen], empty_row]),
        np.concatenate([votes.indices[chosen], without[empty_column]]),
    )
    labels = sparse.csr_array((np.ones(len(entries[0]), dtype=np.int64), entries), shape=votes.shape)
    labels.sort_indices()
    return labels
