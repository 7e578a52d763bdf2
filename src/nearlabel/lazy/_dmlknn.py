"""DML-kNN (Younes, Abdallah, Denœux and Snoussi, EURASIP Journal on Advances in Signal Processing 2011)."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, fields
from typing import Literal, NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.lazy import _engine
from nearlabel.lazy._counts import UNIT, LeavingOut, Units
from nearlabel.lazy._mlknn import Bayes, MLkNN, bayes
from nearlabel.lazy.explain import Account, Evidence
from nearlabel.metrics import micro_f1
from nearlabel.models.out_of_sample import Needs
from nearlabel.neighbors.votes import Weights
from nearlabel.utils.estimators import Shapes
from nearlabel.utils.naming import registered
from nearlabel.utils.types import CSR, BoolArray, FloatArray, IntArray, Matrix, NeighborSearch
from nearlabel.utils.validation import BLOCK_BYTES, as_dense, check_choice, check_integer, row_blocks


@registered("method", "dmlknn")
class DMLkNN(MLkNN):
    """ML-kNN that counts only the training samples whose neighbours vote similarly for all labels.

    Let v_l be the number of the k neighbours of a query that have label l, and V_il the same number for training sample
    i. `MLkNN` counts, for each label separately, the training samples with V_il = v_l. DML-kNN counts only those that
    are also in the box of the query, ``|V_iq - v_q| <= delta`` for every label q, so that the other labels influence
    the score. Let n be the number of training samples, n1 the number of those that have the label, s the smoothing, and
    c (c') the number of counted samples that have (do not have) the label::

        P(H1) = (s + n1) / (2s + n)
        P(v | H1) = (s + c) / (s(k + 1) + n1)        P(v | H0) = (s + c') / (s(k + 1) + n - n1)

    The score is the posterior P(H1 | v); the label is predicted if the score is at least one half (Younes et al. 2011).
    With ``delta >= n_neighbors`` all samples are in the box, and every prediction is that of `MLkNN`, bit for bit. The
    gain over `MLkNN` is small.

    Parameters
    ----------
    n_neighbors : int, "auto" or callable, default=10
        Number of neighbours k, smaller than n_samples. "auto": the number from 1 to 30 with the best leave-one-out
        micro F1, the smallest if several are equal; with ``delta="auto"`` each number is tried with its best delta. A
        callable replaces micro F1: it takes true label sets and leave-one-out scores and returns a number; larger is
        better.
    delta : int or "auto", default=4
        Largest allowed difference of the votes for any label. 4 suits k = 10, a larger k needs more; 0 requires equal
        votes, which few samples have. "auto": the number from 0 to k with the best leave-one-out micro F1, the largest
        if several are equal. It needs no further search, and takes about k + 1 times as long as `loo_predict`.
    weights : {"uniform", "distance"} or callable, default="uniform"
        Weight of a neighbour's vote, see `MLkNN`.
    smoothing : float, default=1.0
        s in the formulas; 1 is Laplace smoothing.
    cells : {"counts", "labels"}, default="counts"
        How many times s is added in the denominators. "counts": once for each of the k + 1 numbers of votes, as in
        `MLkNN`; "labels": once for each label, as in Mulan.
    search : object with `fit` and `kneighbors`, default=None
        Nearest-neighbour search, cloned in `fit`; see `MLkNN`. None: `ExactNeighbors()`, raw Euclidean distance.

    Attributes
    ----------
    delta_ : int
        The delta in use.
    delta_scores_ : ndarray of shape (n_neighbors + 1,)
        With ``delta="auto"``: the leave-one-out micro F1 of each delta from 0 to k.
    prior_ : ndarray of shape (n_labels,)
        P(H1).
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_, n_neighbors_ : int
        Number of features and number of neighbours.
    weights_ : str or callable
        `weights`, fitted to the training samples.
    cv_results_ : dict of str to ndarray
        With ``n_neighbors="auto"``: "n_neighbors", the candidates, and "micro_f1", the value of each ("value" if
        `n_neighbors` is a callable).
    search_ : object
        The fitted search.

    See Also
    --------
    MLkNN : The method that this one extends; with a large delta the two are equal.

    Notes
    -----
    The paper's tables were not available for this implementation, only its abstract and Mulan's program. Mulan always
    uses k = 10 and delta = 6, even if the user sets others, adds the smoothing n_labels times, and scales features
    itself: this equals ``DMLkNN(delta=6, cells="labels")`` after ``FeatureScaler("minmax")``. With neither smoothing do
    the probabilities of all vectors of votes add up to 1; only the ratio of the two posteriors matters.

    Prediction compares each query with every distinct vector of votes of the training samples, label by label. Only
    votes above 0 cost time, so a sparse y may have a few thousand labels. Memory is bounded. `loo_predict_proba` and
    ``delta="auto"`` compare the training samples with each other, and store their votes as a dense array.

    With sample weights, samples in the box count as often as their weights, see `MLkNN`; these must add up to less than
    2^21.

    `loo_predict_proba` and `loo_predict` use `delta_`; everything else is identical, bit for bit, to a fit to the other
    samples.

    References
    ----------
    Z. Younes, F. Abdallah, T. Denœux, H. Snoussi: A dependent multilabel classification method derived from the
    k-nearest neighbor rule. EURASIP Journal on Advances in Signal Processing 2011:645964.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.lazy import DMLkNN
    >>> digits = load_multidigits()
    >>> dmlknn = DMLkNN(n_neighbors=10, delta=3).fit(digits.X[:1500], digits.Y[:1500])
    >>> dmlknn.predict(digits.X[1500:]).shape
    (500, 10)
    """

    counts_follow_rows = False  # learning from them depends on all rows
    _takes_unknown = False
    _most_weight = 2**53 // UNIT  # boxes are counted in floats
    labels_are_independent = False  # votes for all labels decide which training samples count
    delta_: int
    delta_scores_: FloatArray

    def __init__(
        self,
        n_neighbors: int | Literal["auto"] = 10,
        *,
        delta: int | Literal["auto"] = 4,
        weights: Weights = "uniform",
        smoothing: float = 1.0,
        cells: str = "counts",
        search: NeighborSearch | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.delta = delta
        self.weights = weights
        self.smoothing = smoothing
        self.cells = cells
        self.search = search

    def _learn_counts(self, counts: IntArray, totals: IntArray) -> None:
        self._totals = totals.transpose(0, 2, 1)
        self._n_cells = self.n_neighbors_ + 1 if self.cells == "counts" else self._labels.shape[1]
        self.prior_ = self._bayes(counts, totals).priors[1, :, 0]
        units = self._units()
        self._vectors = VoteVectors.of(units.sums(self._training_lists().nearest(self.n_neighbors_)), units)
        if isinstance(self.delta, str):
            self._choose_delta()
        else:
            self.delta_ = int(self.delta)

    def _score_votes(self, votes: _engine.Votes) -> FloatArray:
        return self._score_counts(self._vectors.counts_at(self._whole(votes), self.delta_), self._totals)

    def _counting(self, leaving_out: LeavingOut) -> LeavingOutOfBoxes:
        return LeavingOutOfBoxes.of_all(leaving_out, self._vectors, self.delta_)

    def _bayes(self, counts: IntArray, totals: IntArray) -> Bayes:
        return bayes(counts, totals, self._n_cells, self._smoothing * self._one)

    def _choose_delta(self) -> None:
        """Take the delta of the best leave-one-out micro F1; among equal ones the largest: more rows count."""
        k = self.n_neighbors_
        if self._lists.lengths.min() == k:
            raise ValueError(
                f"n_neighbors must be at most {k - 1} if delta is selected by leave-one-out, got {k}."
                " Hint: set delta, or use a search that knows one more neighbour."
            )
        single = _engine.Groups.of(np.arange(self._n_samples))
        leaving_out = LeavingOut.of(self._units(), self._training_lists(), k, single)
        self.delta_scores_ = np.empty(k + 1)
        for self.delta_ in range(k + 1):
            left_out = _engine.answer_from_counts(self, leaving_out, Needs(scores=False)).labels
            self.delta_scores_[self.delta_] = micro_f1(self._labels, left_out)
        self.delta_ = k - int(np.argmax(self.delta_scores_[::-1]))

    def _fitted_shapes(self) -> Shapes:
        n_labels, n_vectors = self._n_labels, len(self._vectors.n_rows)
        shapes: Shapes = dict.fromkeys(("_vectors.votes", "_vectors.n_carriers"), (n_vectors, n_labels))
        return {**super()._fitted_shapes(), **shapes, "_totals": (2, 1, n_labels)}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("cells", self.cells, {"counts", "labels"})
        if not isinstance(self.delta, str):
            check_integer("delta", self.delta, low=0)
        elif self.delta != "auto":
            raise ValueError(f"delta must be an integer or 'auto', got {self.delta!r}.")

    def _account(self, evidence: Evidence) -> Account:
        counts = self._vectors.counts_at(self._whole(evidence.votes)[np.newaxis], self.delta_)[:, 0]
        known = {"without_in_box": counts[0], "with_in_box": counts[1]}
        return self._account_of(self._bayes(counts, self._totals[:, 0]), known, delta=self.delta_)


# Training samples counted in a box around the votes of a query: the rows whose votes are near for every label at
# once.
#
# DML-kNN learns from these counts. A row is in the box of some votes if none of its own votes, those of its
# neighbours, differs from them by more than delta. A box of the width k contains all rows.

N_VECTORS = 4096  # compared at once with 256 queries: the numbers of a label stay in the cache


class VoteVectors(NamedTuple):
    """The votes of the training samples, each vector of votes once: rows with equal votes are in the same boxes."""

    votes: CSR  # (n_vectors, n_labels)
    n_rows: IntArray  # (n_vectors,), that have these votes, each row in units
    n_carriers: CSR  # (n_vectors, n_labels), of these rows, those that carry the label

    @classmethod
    def of(cls, votes: Matrix, units: Units) -> VoteVectors:
        """Take votes (n_samples, n_labels), dense or CSR, and units of the training samples."""
        first, which = _distinct_rows(votes)
        rows = sparse.csr_array((np.ones(len(which), dtype=np.int64), (which, np.arange(len(which)))))
        n_carriers = sparse.csr_array(rows @ sparse.csr_array(units.of_rows(slice(None))))
        n_rows = rows @ np.broadcast_to(units.wholes_of(slice(None)), len(which))
        return cls(sparse.csr_array(votes[first]), n_rows, n_carriers)

    def counts_at(self, at: IntArray, delta: int) -> IntArray:
        """Count the rows in the box of each query's votes (n_queries, n_labels) that also have its votes for a label.

        Returns counts (2, n_queries, n_labels): [1] of those that carry the label, [0] of the others.
        """
        queries, which = np.unique(at.astype(self.votes.dtype), axis=0, return_inverse=True)
        counts = np.zeros((2, *queries.shape), dtype=np.int64)
        for vectors in row_blocks(len(self.n_rows), 1, N_VECTORS):
            by_label = _ByLabel.of(*(part[vectors] for part in self))
            for block in row_blocks(len(queries), max(BLOCK_BYTES // 256, 64 * queries.shape[1])):
                counts[:, block] += by_label.counts_at(queries[block].T, delta)
        counts[0] -= counts[1]
        return counts[:, which.ravel()]


class _ByLabel(NamedTuple):
    """Some vectors of votes, label by label."""

    votes: CSR  # (n_labels, n_vectors)
    n_rows: IntArray  # (n_vectors,)
    n_carriers: CSR  # (n_labels, n_vectors)
    most: IntArray  # (n_labels,), of all votes for a label

    @classmethod
    def of(cls, votes: CSR, n_rows: IntArray, n_carriers: CSR) -> _ByLabel:
        """Take them vector by vector."""
        by_label = sparse.csr_array(votes.T)
        return cls(by_label, n_rows, sparse.csr_array(n_carriers.T), as_dense(by_label.max(axis=1)).ravel())

    def counts_at(self, at: IntArray, delta: int) -> IntArray:
        """Take votes (n_labels, n_queries); return how many rows count, and how many of these carry the label.

        Only the vectors with a vote for a label are compared for that label. All others in the box are counted first,
        as if the label had no votes: they have the votes of a query without a vote.
        """
        inside = self._inside(at, delta)
        everyone = np.broadcast_to(self.n_rows @ inside, at.shape)
        counts = np.stack([everyone, self.n_carriers @ inside]) * (at == 0)
        carriers = np.zeros(len(inside))
        for label in np.flatnonzero(np.diff(self.votes.indptr)).tolist():
            vectors, votes = _entries_of(self.votes, label)
            carried_by, number = _entries_of(self.n_carriers, label)
            carriers[carried_by] = number
            gained = (votes[:, np.newaxis] == at[label]).view(np.int8) - (at[label] == 0)
            gained *= inside[vectors]
            weights = np.stack([self.n_rows[vectors], carriers[vectors]])  # as floats, whose sums are exact below 2^53
            counts[:, label] += (weights @ gained).astype(np.int64)
            carriers[carried_by] = 0
        return np.asarray(counts.transpose(0, 2, 1))

    def _inside(self, at: IntArray, delta: int) -> BoolArray:
        """Return which vectors are in the box of each query, (n_vectors, n_queries); takes votes (n_labels, n_queries).

        A label is compared only if some vector and some query can be farther apart than delta.
        """
        inside = np.ones((len(self.n_rows), at.shape[1]), dtype=np.bool_)
        for label in np.flatnonzero((self.most - at.min(axis=1) > delta) | (at.max(axis=1) > delta)).tolist():
            vectors, votes = _entries_of(self.votes, label)
            inside[vectors] &= abs(votes[:, np.newaxis] - at[label]) <= delta
            too_many = np.flatnonzero(at[label] > delta)
            without = np.setdiff1d(np.arange(len(inside)), vectors, assume_unique=True)
            inside[np.ix_(without, too_many)] = False
        return inside


def _entries_of(matrix: CSR, row: int) -> tuple[IntArray, IntArray]:
    """Return columns and values of a row."""
    stored = slice(matrix.indptr[row], matrix.indptr[row + 1])
    return matrix.indices[stored], matrix.data[stored]


def _distinct_rows(votes: Matrix) -> tuple[IntArray, IntArray]:
    """Return the first row of each kind, and the kind of each row."""
    kinds: dict[bytes, int] = {}
    which = np.array([kinds.setdefault(key, len(kinds)) for key in _row_keys(votes)])
    return np.unique(which, return_index=True)[1], which


def _row_keys(votes: Matrix) -> Iterator[bytes]:
    """Yield bytes that are equal where rows are equal."""
    if not sparse.issparse(votes):
        return (row.tobytes() for row in votes)
    votes.sum_duplicates()  # sorted
    ends = zip(votes.indptr[:-1], votes.indptr[1:], strict=True)
    return (votes.indices[start:stop].tobytes() + votes.data[start:stop].tobytes() for start, stop in ends)


@dataclass(frozen=True)
class LeavingOutOfBoxes(LeavingOut):
    """As `LeavingOut`, but of the rows in the box of i's votes only; all matrices are dense.

    A row m whose votes change without the group may enter the box or leave it, and so count for every label.
    """

    vectors: VoteVectors
    delta: int

    @classmethod
    def of_all(cls, leaving_out: LeavingOut, vectors: VoteVectors, delta: int) -> LeavingOutOfBoxes:
        """Take the state for leaving rows out of all rows, and the vectors of votes when none is left out."""
        known = {field.name: getattr(leaving_out, field.name) for field in fields(leaving_out)}
        stored = ("own", "group_units", "sums", "votes", "own_votes")
        known |= {name: as_dense(known[name]) for name in stored}
        known["units"] = copy(leaving_out.units)
        known["units"].labels = as_dense(leaving_out.units.labels)
        return cls(**known, vectors=vectors, delta=delta)

    def _count_all(self, at: IntArray) -> IntArray:
        return self.vectors.counts_at(at, self.delta)

    def _is_counted(self, votes: IntArray, at: IntArray) -> BoolArray:
        apart = votes - at
        return np.asarray((apart == 0) & (abs(apart) <= self.delta).all(axis=1, keepdims=True))
