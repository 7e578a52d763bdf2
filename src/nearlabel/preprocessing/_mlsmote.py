"""MLSMOTE: new samples between rows that share a rare label."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, stats

from nearlabel.labels import minority_labels
from nearlabel.neighbors.votes import clone_search, counted_votes
from nearlabel.preprocessing._sampler import Resampled, Sampler, stacked
from nearlabel.utils.naming import registered
from nearlabel.utils.types import IntArray, Matrix, NeighborSearch
from nearlabel.utils.validation import as_dense, check_integer, check_row_numbers


@registered("sampler", "mlsmote")
class MLSMOTE(Sampler):
    """Make new samples between samples that share a rare label (MLSMOTE).

    For each minority label (`nearlabel.labels.minority_labels`), in their order, each sample that carries it is the
    seed of one new sample. One of the nearest other samples that carry the label is drawn as reference. Each feature of
    the new sample is drawn between those of seed and reference, independently of the others: so the new sample is in
    their box, not on the line between them. Its labels are those that more than half of seed and neighbours carry: the
    label it was made for may be missing. A label of a single sample makes none; a sample with several minority labels
    is a seed once for each.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours; fewer where fewer other samples carry the label.
    categorical_features : array-like of int or bool, default=None
        Columns of X, by numbers or as a mask, whose numbers are categories: a new sample gets the most frequent one
        among the neighbours, the least of equally frequent ones. None: no such columns. The search treats their numbers
        like any others.
    search : object with `fit` and `kneighbors`, default=None
        Finds neighbours. None: ``ExactNeighbors()``, so that equal distances are ordered by sample number.
    random_state : int, RandomState or None, default=None
        Draws references and features.

    Attributes
    ----------
    sample_indices_ : ndarray of int of shape (n_resampled,)
        For each resampled row the number of the original sample, -1 for a new one.
    seed_indices_ : ndarray of int of shape (n_resampled,)
        The number of the original sample, or of a new sample's seed.
    reference_indices_ : ndarray of int of shape (n_resampled,)
        The number of the original sample, or of a new sample's reference.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, tags, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    ResampledClassifier : Resamples the training samples of a classifier, and tunes on samples that are no seeds of its
    own.
    imblearn.over_sampling.SMOTE : For one label.

    Notes
    -----
    A new sample is often the nearest neighbour of its seed, and has its labels: leave-one-out predictions and folds
    after resampling are too good. `ResampledClassifier` leaves new samples out with their seed.

    The imbalance ratios are those of the original samples; they are not computed again after each label. Features of
    whole numbers get fractions, except for `categorical_features`. The published R package by mistake takes the
    neighbours 2 to k + 1; these are 1 to k.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera. MLSMOTE: approaching imbalanced multilabel learning through
    synthetic instance generation. Knowledge-Based Systems 89, 2015.

    Examples
    --------
    >>> from nearlabel.preprocessing import MLSMOTE
    >>> sampler = MLSMOTE(random_state=0)
    >>> X, y = sampler.fit_resample([[0.0], [1.0], [2.0], [4.0]], [[1, 0], [1, 0], [1, 1], [1, 1]])
    >>> X.round(2).ravel().tolist()
    [0.0, 1.0, 2.0, 4.0, 3.1, 2.57]
    >>> y[4:].tolist()
    [[1, 1], [1, 1]]
    >>> sampler.seed_indices_.tolist()
    [0, 1, 2, 3, 2, 3]
    """

    _stands_for_refits = False
    reference_indices_: IntArray

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        categorical_features: ArrayLike | None = None,
        search: NeighborSearch | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.categorical_features = categorical_features
        self.search = search
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_integer("n_neighbors", self.n_neighbors, low=1)

    def _resample(self, X: Matrix, labels: Matrix, random: np.random.RandomState) -> Resampled:
        categories = self._categorical_columns(X)
        rows = X if X.dtype.kind == "f" else X.astype(np.float64)
        bags = [np.flatnonzero(as_dense(labels[:, [label]])) for label in minority_labels(labels)]
        made = [self._made_of(rows, labels, bag, categories, random) for bag in bags if len(bag) > 1]
        features, sets, seeds, references = zip(*made, strict=True) if made else ([], [], [], [])
        own = np.arange(X.shape[0])
        self.reference_indices_ = np.concatenate([own, *references])
        if not made:
            return Resampled(own)
        return Resampled(own, stacked([labels, *sets]), stacked(list(features)), np.concatenate(seeds))

    def _made_of(
        self, X: Matrix, labels: Matrix, bag: IntArray, categories: IntArray, random: np.random.RandomState
    ) -> tuple[Matrix, Matrix, IntArray, IntArray]:
        """Return a new sample for each row of a bag: its features, its labels, its seed and its reference."""
        n_neighbors = min(self.n_neighbors, len(bag) - 1)
        search = clone_search(self.search).fit(X[bag])
        near = bag[search.kneighbors(None, n_neighbors)[1]]
        reference = near[np.arange(len(bag)), random.randint(n_neighbors, size=len(bag))]
        features = _between(X[bag], X[reference], random)
        if len(categories):
            features[:, categories] = stats.mode(X[:, categories][near], axis=1).mode
        with_seed = np.column_stack([bag, near])
        return features, _more_than_half(counted_votes(with_seed, labels), n_neighbors + 1), bag, reference

    def _categorical_columns(self, X: Matrix) -> IntArray:
        if self.categorical_features is None:
            return np.empty(0, dtype=np.intp)
        if sparse.issparse(X):
            raise ValueError(f"categorical_features must be None for sparse X, got {self.categorical_features!r}.")
        columns = np.asarray(self.categorical_features)
        if columns.dtype == np.bool_ and columns.shape == (X.shape[1],):
            return np.flatnonzero(columns)
        return check_row_numbers("categorical_features", columns, X.shape[1], of="column")


def _between(seeds: Matrix, references: Matrix, random: np.random.RandomState) -> Matrix:
    """Return rows in the box of each seed and its reference, drawn feature by feature, in float64.

    Random numbers are drawn only where the two differ: so sparse rows cost no more than their stored values, and the
    result is that of dense ones.
    """
    step = references.astype(np.float64) - seeds  # which float32 may not represent
    if sparse.issparse(step):
        step.eliminate_zeros()
        step.sort_indices()
        step.data *= random.random_sample(step.nnz)
    else:
        differs = step != 0
        step[differs] *= random.random_sample(np.count_nonzero(differs))
    return seeds + step


def _more_than_half(votes: Matrix, n_voters: int) -> Matrix:
    return (2 * votes > n_voters).astype(np.int64)
