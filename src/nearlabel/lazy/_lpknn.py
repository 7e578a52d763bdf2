"""LPkNN: label powerset with kNN (Spyromitros, Tsoumakas and Vlahavas, SETN 2008)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from nearlabel.lazy._brknn import fit_weighted
from nearlabel.lazy._classifier import LabelSetClassifier
from nearlabel.lazy._counts import UNIT
from nearlabel.lazy._engine import NeighborLabelSets, Votes
from nearlabel.lazy.explain import Account, Evidence
from nearlabel.utils.naming import registered
from nearlabel.utils.tables import labelset_columns
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, NeighborSearch, Table
from nearlabel.utils.validation import check_choice


@registered("method", "lpknn")
class LPkNN(LabelSetClassifier):
    """Predict the label set that most of the nearest neighbours have.

    Label powerset treats each distinct label set as one class, and kNN takes the most frequent class among the k
    nearest neighbours (Spyromitros et al. 2008, section 3.2).

    Parameters
    ----------
    n_neighbors : int, "auto" or callable, default=10
        Number of neighbours k, at most n_samples. "auto": the number from 1 to 30 with the best leave-one-out micro F1,
        the smallest if several are equal; `nearlabel.selection.tune_neighbors` has more options. A callable
        replaces micro F1: it takes true label sets and leave-one-out scores and returns a number; larger is better.
    ties : {"nearest", "first", "frequent", "random"}, default="nearest"
        Which label set to predict if several are equally frequent among the neighbours. "nearest": the one with the
        nearest neighbour; "first": the first in lexicographic order of the indicator vectors; "frequent": the most
        frequent in the training data, then the nearest; "random": one drawn at random. The paper does not define this,
        and its rule cannot be recovered.
    random_state : int, RandomState or None, default=None
        Only for ``ties="random"``. With an int, every call of `predict` draws the same numbers.
    search : object with `fit` and `kneighbors`, default=None
        Nearest-neighbour search, cloned in `fit`. None: `ExactNeighbors()`.

    Attributes
    ----------
    labelsets_ : ndarray or CSR array of shape (n_labelsets, n_labels)
        Distinct training label sets in lexicographic order.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_, n_neighbors_ : int
        Number of features and number of neighbours.
    cv_results_ : dict of str to ndarray
        With ``n_neighbors="auto"``: "n_neighbors", the candidates, and "micro_f1", the value of each ("value" if
        `n_neighbors` is a callable).
    search_ : object
        The fitted search.

    Notes
    -----
    `predict_proba` returns the share of the neighbours whose label set contains the label. Mulan's default score is p
    for the labels of the predicted label set and 1 - p for the others, where p is that label set's share; this reverses
    the ranking if p is below one half.

    With sample weights, the label set whose neighbours have the largest summed weight is predicted, and "frequent"
    compares the summed weights of the training samples.

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

    takes_sparse_votes = True
    fit = fit_weighted

    def __init__(
        self,
        n_neighbors: int | Literal["auto"] = 10,
        *,
        ties: str = "nearest",
        random_state: int | np.random.RandomState | None = None,
        search: NeighborSearch | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.ties = ties
        self.random_state = random_state
        self.search = search

    @property
    def _answers_in_tiles(self) -> bool:
        return super()._answers_in_tiles and self.ties != "random"  # which one generator breaks, query after query

    def _decide_labels(self, scores: Any, votes: Votes) -> Any:
        return self.labelsets_[most_frequent(votes.labelsets, self._tie_break)]

    def _tie_break(self, labelsets: NeighborLabelSets) -> FloatArray:
        """Return (n_queries, n_neighbors): among tied neighbours the least, then the nearest, wins."""
        if self.ties == "first":
            return np.asarray(labelsets.number, dtype=np.float64)
        if self.ties == "frequent":
            return np.asarray(-labelsets.frequency, dtype=np.float64)
        if self.ties == "random":
            return np.asarray(labelsets.random.random_sample(labelsets.number.shape))
        return np.zeros(labelsets.number.shape)

    def _check_parameters(self) -> None:
        check_choice("ties", self.ties, {"nearest", "first", "frequent", "random"})
        check_random_state(self.random_state)

    def _account(self, evidence: Evidence) -> Account:
        candidates = self._candidates(evidence)
        top = candidates["votes"].max()
        n_tied = int((candidates["votes"] == top).sum())
        tie = f" ({n_tied} tie with {top:.6g} votes each; ties={self.ties!r} decides)" if n_tied > 1 else ""
        return Account(
            rule=f"the label set of most {'neighbours' if self._sample_weight is None else 'weight'}{tie}",
            settings={"ties": self.ties, "n_tied": n_tied},
            labelsets=candidates,
        )

    def _candidates(self, evidence: Evidence) -> Table:
        """Return the neighbours' label sets, the winner first, then by votes and nearest neighbour."""
        seen: NeighborLabelSets = evidence.votes.labelsets
        number, nearest = np.unique(seen.number, return_index=True)
        votes = votes_for_own(seen)[0, nearest]
        columns = labelset_columns(self.labelsets_[number], self.label_names_)
        chosen = tuple(evidence.votes.label[evidence.chosen].tolist())
        won = np.array([labels == chosen for labels in columns["labels"]])
        frequency = seen.frequency[0, nearest]
        place = None  # of each candidate if all were tied; unknown before a draw
        if self.ties != "random":
            tie_break = self._tie_break(NeighborLabelSets(number, frequency, seen.random))
            place = np.argsort(np.lexsort((nearest, tie_break)))
        if self._sample_weight is None:
            counted = {"frequency": frequency, "needed": _needed(votes, won, place)}
        else:  # further neighbours may be of any weight
            counted = {"frequency": frequency / UNIT}
        table = {"votes": votes, "nearest": nearest, **counted, "won": won, **columns}
        order = np.lexsort((nearest, -votes, ~won))
        return {name: column[order] for name, column in table.items()}


def most_frequent(labelsets: NeighborLabelSets, tie_break: Any) -> IntArray:
    """Return, for each query, the number of the label set that most of its neighbours have."""
    votes = votes_for_own(labelsets)
    tied = votes == votes.max(axis=1, keepdims=True)
    winner = np.where(tied, tie_break(labelsets), np.inf).argmin(axis=1)
    return np.asarray(labelsets.number[np.arange(len(winner)), winner])


def votes_for_own(labelsets: NeighborLabelSets) -> Any:
    """Count, for each neighbour (n_queries, n_neighbors), how many of that query's neighbours share its label set.

    With sample weights these are added up, exactly, see `exact_weights`.
    """
    number, weights = labelsets.number, labelsets.weights
    n_queries, k = number.shape
    query_and_set = number + (number.max(initial=0) + 1) * np.arange(n_queries)[:, np.newaxis]
    _, inverse, counts = np.unique(query_and_set, return_inverse=True, return_counts=True)
    if weights is not None:
        counts = np.bincount(inverse.ravel(), weights=weights.ravel())
    return counts[inverse].reshape(n_queries, k)


def _needed(votes: IntArray, won: BoolArray, place: IntArray | None) -> IntArray:
    """Return how many more votes each label set needs to win for sure; 0 for the winner."""
    needed = votes.max() - votes
    tied = votes == votes.max()
    first = np.zeros(len(votes), dtype=np.bool_) if place is None else place <= place[tied].min()
    return np.where(won, 0, needed + ~first)
