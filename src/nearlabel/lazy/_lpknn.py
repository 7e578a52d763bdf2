"""LPkNN: label powerset with kNN (Spyromitros, Tsoumakas and Vlahavas, SETN 2008)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from nearlabel.labels import distinct_labelsets
from nearlabel.lazy._by_votes import ByVotes
from nearlabel.lazy._confidence import mean_of_neighbors
from nearlabel.lazy._explained import Account, Evidence, labelset_columns
from nearlabel.lazy._flips import weights_at
from nearlabel.lazy._plain import Table, column_of
from nearlabel.lazy._query_neighbors import Neighbors
from nearlabel.utils.types import CSR, BoolArray, FloatArray, IntArray, Matrix, NeighborSearch
from nearlabel.utils.validation import check_choice


class LPkNN(ByVotes):
    """Predict the label set that most of the nearest neighbours have.

    Label powerset treats each distinct label set as one class, and kNN takes the most frequent class among the k
    nearest neighbours (Spyromitros et al. 2008, section 3.2).

    Parameters
    ----------
    n_neighbors : int or "auto", default=10
        Number of neighbours k, at most n_samples. "auto": of 1 to 30 that with the largest micro F1 of leave-one-out
        predictions, the smallest of equals; `nearlabel.model_selection.tune_neighbors` can do more.
    ties : {"nearest", "first", "frequent", "random"}, default="nearest"
        Which of several label sets that are equally frequent among the neighbours: that of the nearest neighbour among
        them; the first in the lexicographic order of the indicator vectors; the most frequent in the training data
        (then the nearest); or one drawn at random. The paper does not say, and its rule cannot be recovered.
    random_state : int, RandomState or None, default=None
        For ``ties="random"`` only. An int draws alike in every call of `predict`.
    search : object with `fit` and `kneighbors`, default=None
        Finds the neighbours; None: `ExactNeighbors()`.

    Attributes
    ----------
    labelsets_ : ndarray or CSR array of shape (n_labelsets, n_labels)
        Distinct training label sets in lexicographic order.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_, n_neighbors_ : int
        Number of features, of neighbours.
    cv_results_ : dict of str to ndarray
        With ``n_neighbors="auto"``: "n_neighbors", the numbers that were tried, and "micro_f1", what each reached.
    search_ : object
        The fitted search.

    Notes
    -----
    `predict_proba` gives the share of the neighbours whose label set has the label: the sum over label sets of their
    share. Mulan by default gives p to the labels of the winning set and 1 - p to the others, p the winner's share,
    which ranks upside down where p is below one half.

    References
    ----------
    E. Spyromitros, G. Tsoumakas, I. Vlahavas: An Empirical Study of Lazy Multilabel Classification Algorithms.
    SETN 2008.

    Examples
    --------
    >>> from nearlabel.lazy import LPkNN
    >>> X, y = [[0], [1], [2], [9]], [[1, 1], [1, 0], [1, 1], [0, 0]]
    >>> LPkNN(n_neighbors=3).fit(X, y).predict([[1]])
    array([[1, 1]])
    """

    def __init__(
        self,
        n_neighbors: int | str = 10,
        *,
        ties: str = "nearest",
        random_state: int | RandomState | None = None,
        search: NeighborSearch | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.ties = ties
        self.random_state = random_state
        self.search = search

    def _check_parameters(self) -> None:
        check_choice("ties", self.ties, {"nearest", "first", "frequent", "random"})
        check_random_state(self.random_state)

    def _learn(self, X: Matrix, labels: Matrix) -> None:
        super()._learn(X, labels)
        self.labelsets_, self._labelset_of, self._frequency = distinct_labelsets(labels)

    def _score(self, neighbors: Neighbors) -> FloatArray:
        return np.asarray(mean_of_neighbors(neighbors, self._labels))

    def _voted_scores(self, neighbors: Neighbors) -> CSR:
        return sparse.csr_array(mean_of_neighbors(neighbors, self._labels))

    def _decide(self, neighbors: Neighbors) -> Matrix:
        labelset = self._labelset_of[neighbors.indices]
        return self._elect(labelset, self._frequency[labelset], neighbors.random)

    def _decide_left_out(self) -> Matrix:
        neighbors = self._neighbors_left_out()
        labelset = self._labelset_of[neighbors.indices]
        without_itself = self._frequency[labelset] - (labelset == self._labelset_of[:, np.newaxis])
        return self._elect(labelset, without_itself, neighbors.random)

    def _elect(self, labelset: IntArray, frequency: IntArray, random: RandomState) -> Matrix:
        """Return the label set of most votes; labelset, its frequency: (n_queries, n_neighbors), nearest first."""
        votes = _votes_for_own(labelset)
        tied = votes == votes.max(axis=1, keepdims=True)
        winner = np.where(tied, self._reluctance(labelset, frequency, random), np.inf).argmin(axis=1)
        return self.labelsets_[labelset[np.arange(len(labelset)), winner]]

    def _reluctance(self, labelset: IntArray, frequency: IntArray, random: RandomState) -> FloatArray:
        """Return (n_queries, n_neighbors): among tied neighbours the least, then the nearest, wins."""
        if self.ties == "first":
            return np.asarray(labelset, dtype=np.float64)
        if self.ties == "frequent":
            return np.asarray(-frequency, dtype=np.float64)
        if self.ties == "random":
            return np.asarray(random.random_sample(labelset.shape))
        return np.zeros(labelset.shape)

    def _account(self, evidence: Evidence) -> Account:
        candidates = self._candidates(evidence)
        shares = weights_at(evidence.carriers, np.ones(self.n_neighbors_)) / self.n_neighbors_
        votes, top = evidence.votes, candidates["votes"].max()
        n_tied = int((candidates["votes"] == top).sum())
        tie = f" ({n_tied} tie with {top} votes each; ties={self.ties!r} settles it)" if n_tied > 1 else ""
        flip, to = self._flips(evidence, candidates)
        return Account(
            labels={
                "votes": votes,
                "score": shares[np.arange(len(votes)), votes],
                "score_at": shares,
                "flip": flip,
                "flip_labelset": to,
            },
            rule=f"score = votes / {self.n_neighbors_}; chosen: the label set of most neighbours{tie}",
            shown=("votes", "score", "flip"),
            settings={"n_neighbors": self.n_neighbors_, "ties": self.ties, "n_tied": n_tied},
            labelsets=candidates,
            threshold=np.nan,
            change="flip, needed: the fewest further neighbours with one other label set (flip_labelset) that turn it",
        )

    def _candidates(self, evidence: Evidence) -> Table:
        """Return the neighbours' label sets, the winner first, then by votes and nearest neighbour."""
        labelset, nearest, votes = np.unique(self._labelset_of[evidence.indices], return_index=True, return_counts=True)
        columns = labelset_columns(self.labelsets_[labelset], self.label_names_)
        chosen = tuple(evidence.listed[evidence.chosen].tolist())
        won = np.array([labels == chosen for labels in columns["labels"]])
        frequency = self._frequency[labelset]
        needed = _needed(votes, won, self._order_of_ties(labelset, nearest, frequency))
        table = {"votes": votes, "nearest": nearest, "frequency": frequency, "needed": needed, "won": won, **columns}
        order = np.lexsort((nearest, -votes, ~won))
        return {name: column[order] for name, column in table.items()}

    def _order_of_ties(self, labelset: IntArray, nearest: IntArray, frequency: IntArray) -> IntArray | None:
        """Return the place of each candidate if all were tied; None where a draw decides."""
        if self.ties == "random":
            return None
        first = {"nearest": nearest, "first": labelset, "frequent": -frequency}[self.ties]
        return np.argsort(np.lexsort((nearest, first)))

    def _flips(self, evidence: Evidence, candidates: Table) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return, for each listed label, the least `needed` of a candidate that has it otherwise, and which that is."""
        has = np.array([np.isin(evidence.listed, labels) for labels in candidates["labels"]])
        other = has != has[0]
        cost = np.where(other, candidates["needed"][:, np.newaxis], np.iinfo(np.intp).max)
        best, turns = cost.argmin(axis=0), other.any(axis=0)
        flips = [int(candidates["needed"][b]) if t else None for b, t in zip(best, turns, strict=True)]
        return column_of(flips), column_of([int(b) if t else None for b, t in zip(best, turns, strict=True)])


def _needed(votes: IntArray, won: BoolArray, place: IntArray | None) -> IntArray:
    """Return how many more votes each label set needs to win for sure; 0 for the winner."""
    needed = votes.max() - votes
    tied = votes == votes.max()
    first = np.zeros(len(votes), dtype=np.bool_) if place is None else place <= place[tied].min()
    return np.where(won, 0, needed + ~first)


def _votes_for_own(labelset: IntArray) -> IntArray:
    """Count, for each neighbour (n_queries, n_neighbors), how many of that query's neighbours share its label set."""
    n_queries, k = labelset.shape
    query_and_set = labelset + (labelset.max(initial=0) + 1) * np.arange(n_queries)[:, np.newaxis]
    _, inverse, counts = np.unique(query_and_set, return_inverse=True, return_counts=True)
    return counts[inverse].reshape(n_queries, k)
