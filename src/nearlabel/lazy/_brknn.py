"""BRkNN and its extensions a and b (Spyromitros, Tsoumakas and Vlahavas, SETN 2008)."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearlabel.decision import at_least_one, cut, top_labels
from nearlabel.lazy._confidence import ByConfidence, Weights, exact_weights, mean_of_neighbors
from nearlabel.lazy._explained import Evidence
from nearlabel.lazy._flips import weights_at
from nearlabel.lazy._query_neighbors import Neighbors
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix, NeighborSearch
from nearlabel.utils.validation import check_choice


class BRkNN(ByConfidence):
    """Choose each label that most of the nearest neighbours carry.

    The confidence of a label is the share of the k nearest neighbours that carry it; the label is chosen if more than
    half of them do. Equal to binary relevance with kNN, with one search for all labels (Spyromitros et al. 2008,
    section 2).

    Parameters
    ----------
    n_neighbors : int or "auto", default=10
        Number of neighbours k, at most n_samples. "auto": of 1 to 30 that with the largest micro F1 of leave-one-out
        predictions, the smallest of equals; `nearlabel.model_selection.tune_neighbors` can do more.
    majority : {"strict", "half"}, default="strict"
        "strict": more than half, which reproduces the paper's tables and is what Mulan computes. "half": at least half,
        the paper's wording. They differ for even k only.
    weights : {"uniform", "distance"} or callable, default="uniform"
        What a neighbour's vote weighs. "distance": the inverse of its distance; neighbours at distance 0, if any, vote
        alone. A callable takes distances (n_queries, n_neighbors) and returns weights of that shape. The paper's votes
        are uniform.
    search : object with `fit` and `kneighbors`, default=None
        Finds the neighbours and is cloned in `fit`. None: `ExactNeighbors()`, raw Euclidean distance. The paper scales
        the features to [0, 1] first: ``make_pipeline(MinMaxScaler(), BRkNN())``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.
    n_neighbors_ : int
        Number of neighbours used.
    cv_results_ : dict of str to ndarray
        With ``n_neighbors="auto"``: "n_neighbors", the numbers that were tried, and "micro_f1", what each reached.
    search_ : object
        The fitted search.

    Notes
    -----
    A sparse y may have a hundred thousand labels and more: fit and `predict` take memory for the votes only.
    `predict_topk` and `predict_proba_sparse` replace `predict_proba` there, whose array is dense, as is that of
    `loo_predict_proba`.

    See Also
    --------
    BRkNNa : Never an empty label set.
    BRkNNb : As many labels as the neighbours have on average.

    References
    ----------
    E. Spyromitros, G. Tsoumakas, I. Vlahavas: An Empirical Study of Lazy Multilabel Classification Algorithms.
    SETN 2008.

    Examples
    --------
    >>> from nearlabel.lazy import BRkNN
    >>> X, y = [[0], [1], [2], [9]], [[1, 0], [1, 1], [0, 1], [0, 0]]
    >>> BRkNN(n_neighbors=3).fit(X, y).predict_proba([[1]]).round(2)
    array([[0.67, 0.67]])
    >>> BRkNN(n_neighbors=3).fit(X, y).predict([[1]])
    array([[1, 1]])
    """

    _labels_are_independent = True

    def __init__(
        self,
        n_neighbors: int | str = 10,
        *,
        majority: str = "strict",
        weights: Weights = "uniform",
        search: NeighborSearch | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.majority = majority
        self.weights = weights
        self.search = search

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("majority", self.majority, {"strict", "half"})

    def _decide(self, neighbors: Neighbors) -> Matrix:
        return self._by_majority(self._confidence(neighbors))

    def _by_majority(self, confidence: Matrix) -> Matrix:
        return cut(confidence, 0.5, strict=self.majority == "strict")

    def _decided_at(self, shares: FloatArray, evidence: Evidence) -> tuple[BoolArray, str, dict[str, Any]]:
        return self._by_majority(shares) == 1, f"score {'>' if self.majority == 'strict' else '>='} 0.5", {}


class BRkNNa(BRkNN):
    """BRkNN, but where no label has a majority, the label of highest confidence.

    Extension a of Spyromitros et al. (2008, section 2). Equal confidences go to the lower label index (the paper does
    not say; Mulan draws at random). Where no neighbour carries any label all confidences are 0, and the rule gives
    label 0.

    Parameters
    ----------
    n_neighbors : int or "auto", default=10
        Number of neighbours k, at most n_samples. "auto": of 1 to 30 that with the largest micro F1 of leave-one-out
        predictions, the smallest of equals; `nearlabel.model_selection.tune_neighbors` can do more.
    majority : {"strict", "half"}, default="strict"
        More than half, or at least half; see `BRkNN`.
    weights : {"uniform", "distance"} or callable, default="uniform"
        What a neighbour's vote weighs; see `BRkNN`.
    search : object with `fit` and `kneighbors`, default=None
        Finds the neighbours; None: `ExactNeighbors()`.

    See Also
    --------
    BRkNN : The base method, with attributes and reference.

    Examples
    --------
    >>> from nearlabel.lazy import BRkNNa
    >>> X, y = [[0], [1], [2], [9]], [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]
    >>> BRkNNa(n_neighbors=4).fit(X, y).predict([[1]])
    array([[0, 0, 1]])
    """

    _labels_are_independent = False

    def _decide(self, neighbors: Neighbors) -> Matrix:
        confidence = self._confidence(neighbors)
        return at_least_one(self._by_majority(confidence), confidence)

    def _decided_at(self, shares: FloatArray, evidence: Evidence) -> tuple[BoolArray, str, dict[str, Any]]:
        majority, how, _ = super()._decided_at(shares, evidence)
        has_majority = majority[np.arange(len(majority)), evidence.votes]
        others_have = has_majority.sum() > has_majority
        best = places_at(shares, evidence) == 0
        settled = "by majority" if has_majority.any() else "no label has a majority, the best is chosen"
        how = f"{how}, else the label of highest score ({settled})"
        return majority | (best & ~others_have[:, np.newaxis]), how, {"majority": bool(has_majority.any())}


class BRkNNb(ByConfidence):
    """Choose the [s] labels of highest confidence, s the mean label-set size of the neighbours.

    Extension b of Spyromitros et al. (2008, section 2); [s] is the nearest integer. Equal confidences go to the lower
    label index. A size of 0 gives the empty set.

    Parameters
    ----------
    n_neighbors : int or "auto", default=10
        Number of neighbours k, at most n_samples. "auto": of 1 to 30 that with the largest micro F1 of leave-one-out
        predictions, the smallest of equals; `nearlabel.model_selection.tune_neighbors` can do more.
    rounding : {"half_down", "half_up"}, default="half_down"
        Where s lies halfway: down, as Mulan does by its correction of the counts, or up. The paper does not say.
    weights : {"uniform", "distance"} or callable, default="uniform"
        What a neighbour's vote weighs, in the confidences and in s; see `BRkNN`.
    search : object with `fit` and `kneighbors`, default=None
        Finds the neighbours; None: `ExactNeighbors()`.

    See Also
    --------
    BRkNN : The base method, with attributes and reference.

    Examples
    --------
    >>> from nearlabel.lazy import BRkNNb
    >>> X, y = [[0], [1], [2], [9]], [[1, 1, 0], [1, 1, 0], [1, 0, 1], [0, 0, 1]]
    >>> BRkNNb(n_neighbors=3).fit(X, y).predict([[1]])
    array([[1, 1, 0]])
    """

    _threshold = np.nan

    def __init__(
        self,
        n_neighbors: int | str = 10,
        *,
        rounding: str = "half_down",
        weights: Weights = "uniform",
        search: NeighborSearch | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.rounding = rounding
        self.weights = weights
        self.search = search

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("rounding", self.rounding, {"half_down", "half_up"})

    def _learn(self, X: Matrix, labels: Matrix) -> None:
        super()._learn(X, labels)
        self._labelset_sizes = np.asarray(labels.sum(axis=1)).reshape(-1, 1)

    def _decide(self, neighbors: Neighbors) -> Matrix:
        mean_size = mean_of_neighbors(neighbors, self._labelset_sizes, self.weights)[:, 0]
        return top_labels(self._confidence(neighbors), self._rounded(mean_size))

    def _rounded(self, mean_size: FloatArray) -> FloatArray:
        return np.ceil(mean_size - 0.5) if self.rounding == "half_down" else np.floor(mean_size + 0.5)

    def _decided_at(self, shares: FloatArray, evidence: Evidence) -> tuple[BoolArray, str, dict[str, Any]]:
        weights = exact_weights(evidence.distances, self.weights, max(1, int(self._labelset_sizes.max())))
        total, gathered = weights.sum() or 1.0, weights_at(evidence.carriers, weights)
        now = np.arange(len(gathered)), evidence.votes
        size = weights @ self._labelset_sizes[evidence.indices, 0]
        # Who gains or loses the label has a larger or smaller label set.
        sizes = self._rounded((size + gathered - gathered[now][:, np.newaxis]) / total)
        mean_size = float(size / total)
        rounded = int(self._rounded(np.array([mean_size]))[0])
        how = f"as many of highest score as the neighbours have on average, {mean_size:.4g}, rounded: {rounded}"
        return places_at(shares, evidence) < sizes, how, {"mean_size": mean_size, "size": rounded}


def places_at(shares: FloatArray, evidence: Evidence) -> IntArray:
    """Return how many labels come before each label at every number of its votes, (n_listed, n_neighbors + 1).

    Labels that are not listed have no vote: the first of them may come before a label that has none either.
    """
    n_listed = len(shares)
    own = np.arange(n_listed)[:, np.newaxis]
    scores, rank = np.unique(-shares[own[:, 0], evidence.votes], return_inverse=True)
    keys = np.sort(rank * n_listed + own[:, 0])
    place = np.searchsorted(scores, -shares)
    equal = scores[np.minimum(place, len(scores) - 1)] == -shares
    key = place * n_listed + np.where(equal, own, 0)
    before = np.searchsorted(keys, key) - ((rank * n_listed + own[:, 0])[:, np.newaxis] < key)
    unlisted_first = evidence.listed > np.arange(n_listed)  # some label of a lower number is not listed
    return np.asarray(before + ((shares == 0) & unlisted_first[:, np.newaxis]))
