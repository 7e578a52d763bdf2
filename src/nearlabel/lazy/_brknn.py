"""BRkNN and its extensions a and b (Spyromitros, Tsoumakas and Vlahavas, SETN 2008)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from nearlabel.lazy._classifier import LazyClassifier
from nearlabel.lazy._engine import Votes, has_majority
from nearlabel.lazy.explain import Account, Evidence
from nearlabel.models.decision import at_least_one, top_labels
from nearlabel.neighbors.votes import Weights, check_weights
from nearlabel.utils.naming import registered
from nearlabel.utils.one_step import all_or_nothing
from nearlabel.utils.types import FloatArray, Matrix, MatrixLike, NeighborSearch
from nearlabel.utils.validation import check_choice


@all_or_nothing
def fit_weighted(self: Any, X: MatrixLike, y: MatrixLike, sample_weight: ArrayLike | None = None) -> Any:
    """Fit the classifier to training samples and their label sets.

    Parameters
    ----------
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Training samples.
    y : array-like, data frame or sparse container of shape (n_samples, n_labels) or (n_samples,)
        Label sets as an indicator matrix of 0 and 1; or a single label with two classes, as for scikit-learn's binary
        classifiers; or the tags of each sample as a list, tuple or set of strings, where the labels are the distinct
        tags. A label with one class is allowed. NaN marks an unknown cell; None in a list of tags marks a sample whose
        labels are all unknown.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the training samples, at least 0: a neighbour's vote is multiplied by its sample weight. A sample of
        weight 0 is never a neighbour. (A sample of weight 2 has two votes, but is one of the k neighbours. Sums of
        whole weights are exact.)

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


@registered("method", "brknn")
class BRkNN(LazyClassifier):
    """Predict each label that most of the nearest neighbours have.

    The score of a label is the share of the k nearest neighbours that have it; the label is predicted if more than half
    of them have it. This equals binary relevance with kNN, but uses one search for all labels (Spyromitros et al. 2008,
    section 2).

    Parameters
    ----------
    n_neighbors : int, "auto" or callable, default=10
        Number of neighbours k, at most n_samples. "auto": the number from 1 to 30 with the best leave-one-out micro F1,
        the smallest if several are equal; `nearlabel.selection.tune_neighbors` has more options. A callable
        replaces micro F1: it takes true label sets and leave-one-out scores and returns a number; larger is better.
    majority : {"strict", "half"}, default="strict"
        "strict": more than half, which reproduces the paper's tables and which Mulan computes. "half": at least half,
        the paper's wording. The two differ only for even k.
    weights : {"uniform", "distance"} or callable, default="uniform"
        Weight of a neighbour's vote. "distance": the inverse of its distance; if there are neighbours at distance 0,
        only they vote. `nearlabel.neighbors.SimilarityWeights` and `GaussianWeights` are kernels. A callable takes
        distances (n_queries, n_neighbors) and returns weights of that shape. Paper: "uniform".
    search : object with `fit` and `kneighbors`, default=None
        Nearest-neighbour search, cloned in `fit`. None: `ExactNeighbors()`, raw Euclidean distance. The paper scales
        the features to [0, 1] first: ``make_pipeline(MinMaxScaler(), BRkNN())``.

    Attributes
    ----------
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

    Notes
    -----
    A sparse y may have 100,000 labels: `fit` and `predict` need memory for the votes only. Use `predict_topk` or
    `predict_proba_sparse` then; `predict_proba` and `loo_predict_proba` return dense arrays.

    If cells of y are unknown, the neighbours of a label are the k nearest samples in which the label is known, or all
    of them if there are fewer than k. A label that is unknown in every sample has the score 0.

    See Also
    --------
    BRkNNa : Never predicts an empty label set.
    BRkNNb : Predicts as many labels as the neighbours have on average.

    References
    ----------
    Spyromitros, Tsoumakas, Vlahavas: An Empirical Study of Lazy Multilabel Classification Algorithms. SETN 2008.

    Examples
    --------
    >>> from nearlabel.lazy import BRkNN
    >>> X, y = [[0], [1], [2], [9]], [[1, 0], [1, 1], [0, 1], [0, 0]]
    >>> BRkNN(n_neighbors=3).fit(X, y).predict_proba([[1]]).round(2)
    array([[0.67, 0.67]])
    >>> BRkNN(n_neighbors=3).fit(X, y).predict([[1]])
    array([[1, 1]])
    """

    labels_are_independent = True
    _takes_unknown = True
    fit = fit_weighted

    def __init__(
        self,
        n_neighbors: int | Literal["auto"] = 10,
        *,
        majority: str = "strict",
        weights: Weights = "uniform",
        search: NeighborSearch | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.majority = majority
        self.weights = weights
        self.search = search

    def _decide_labels(self, scores: Any, votes: Votes) -> Any:
        return has_majority(scores, self.majority)

    def _check_parameters(self) -> None:
        check_weights(self.weights)
        check_choice("majority", self.majority, {"strict", "half"})

    def _account(self, evidence: Evidence) -> Account:
        return Account(rule=f"score {'>' if self.majority == 'strict' else '>='} 0.5", threshold=0.5)


@registered("method", "brknn-a")
class BRkNNa(LazyClassifier):
    """BRkNN that predicts the label of highest score if no label has a majority.

    Extension a of Spyromitros et al. (2008, section 2). Among labels with equal scores, the one with the lowest index
    is predicted (the paper does not define this; Mulan draws at random). If no neighbour has a label, all scores are 0
    and label 0 is predicted. Unknown cells of y are treated as in `BRkNN`; the rule is then applied to the scores of
    all
    labels.

    Parameters
    ----------
    n_neighbors, majority, weights, search
        See `BRkNN`.

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

    takes_sparse_votes = True
    _takes_unknown = True
    fit = fit_weighted
    majority: str
    __init__, _check_parameters = BRkNN.__init__, BRkNN._check_parameters  # the same parameters

    def _decide_labels(self, scores: Any, votes: Votes) -> Any:
        return at_least_one(has_majority(scores, self.majority), scores)

    def _account(self, evidence: Evidence) -> Account:
        majority = bool(np.any(has_majority(evidence.votes.share(), self.majority)))
        which = "by majority" if majority else "no label has a majority, the best is chosen"
        rule = f"score {'>' if self.majority == 'strict' else '>='} 0.5, else the label of highest score ({which})"
        return Account(rule=rule, settings={"majority": majority}, threshold=0.5)


@registered("method", "brknn-b")
class BRkNNb(LazyClassifier):
    """Predict the [s] labels of highest share; s is the mean label-set size of the neighbours, [s] the nearest integer.

    Extension b of Spyromitros et al. (2008, section 2). Among labels with equal shares, those with the lowest indices
    are predicted; [s] = 0 gives the empty set. Unknown cells of y are treated as in `BRkNN`; s is then the sum of the
    scores of all labels, rounded to nine digits.

    Parameters
    ----------
    n_neighbors : int, "auto" or callable, default=10
        See `BRkNN`.
    rounding : {"half_down", "half_up"}, default="half_down"
        How to round s if it is halfway between two integers: down, as Mulan does by correcting the counts, or up. The
        paper does not define this.
    weights, search
        See `BRkNN`. Weights apply to the scores and to s.

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

    takes_sparse_votes = True
    _takes_unknown = True
    fit = fit_weighted

    def __init__(
        self,
        n_neighbors: int | Literal["auto"] = 10,
        *,
        rounding: str = "half_down",
        weights: Weights = "uniform",
        search: NeighborSearch | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.rounding = rounding
        self.weights = weights
        self.search = search

    def _remember_labels(self, labels: Matrix) -> None:
        super()._remember_labels(labels)
        self._most_added = max(1, int(labels.sum(axis=1).max()))  # the mean size adds up votes over labels

    def _decide_labels(self, scores: Any, votes: Votes) -> Any:
        return top_labels(scores, self._rounded(votes.mean_size()))

    def _rounded(self, mean_size: FloatArray) -> FloatArray:
        return np.ceil(mean_size - 0.5) if self.rounding == "half_down" else np.floor(mean_size + 0.5)

    def _check_parameters(self) -> None:
        check_weights(self.weights)
        check_choice("rounding", self.rounding, {"half_down", "half_up"})

    def _account(self, evidence: Evidence) -> Account:
        mean_size = round(float(np.sum(evidence.votes.count) / evidence.votes.total), 9)  # see `Shares`
        size = int(self._rounded(np.array([mean_size]))[0])
        rule = f"as many of highest score as the neighbours have on average, {mean_size:.4g}, rounded: {size}"
        return Account(rule=rule, settings={"mean_size": mean_size, "size": size})
