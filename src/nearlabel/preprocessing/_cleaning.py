"""MLeNN and MLTL: they delete samples without rare labels whose neighbours have other labels."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.random import RandomState

from nearlabel.labels import minority_labels
from nearlabel.neighbors import clone_search
from nearlabel.preprocessing._random import carries_any
from nearlabel.preprocessing._sampler import Resampled, Sampler
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix, NeighborSearch
from nearlabel.utils.validation import check_flag, check_integer, check_n_neighbors, check_positive


class _Cleaning(Sampler):
    """Delete rows without a minority label that disagree with their neighbours; all decisions use the original rows."""

    _stands_for_refits = False
    threshold: float
    search: NeighborSearch | None

    def _check_parameters(self) -> None:
        if check_positive("threshold", self.threshold) >= 1:
            raise ValueError(f"threshold must be above 0 and below 1, got {self.threshold}.")

    def _resample(self, X: Matrix, labels: Matrix, random: RandomState) -> Resampled:
        minority, everything = minority_labels(labels), np.arange(X.shape[0])
        if not len(minority):
            return Resampled(everything)
        k = check_n_neighbors(self._n_neighbors, X.shape[0], leave_one_out=True)
        near = clone_search(self.search).fit(X).kneighbors(None, k)[1]
        differs = np.column_stack([_distances(labels, others) > self.threshold for others in near.T])
        return Resampled(everything[carries_any(labels, minority) | ~self._disagrees(near, differs)])

    @property
    @abstractmethod
    def _n_neighbors(self) -> int:
        """Number of neighbours to compare with."""

    @abstractmethod
    def _disagrees(self, near: IntArray, differs: BoolArray) -> BoolArray:
        """Return which rows to delete, from their neighbours and which of them differ, (n_samples, k)."""


def _distances(labels: Matrix, others: IntArray) -> FloatArray:
    """Return how far the label set of each row is from that of another: labels of one alone / labels of both."""
    sizes = np.asarray(labels.sum(axis=1)).ravel()
    shared = np.asarray((labels * labels[others]).sum(axis=1)).ravel()
    both = sizes + sizes[others]
    return np.asarray((both - 2 * shared) / np.maximum(both, 1))


class MLeNN(_Cleaning):
    """Delete samples without a rare label whose neighbours have other labels (MLeNN).

    Two label sets differ if ``|difference| / (|one| + |other|)``, the number of labels of only one of them divided by
    the sum of their sizes, is above a threshold; two empty ones do not differ. A sample without any minority label
    (`nearlabel.labels.minority_labels`) is deleted if at least half of its neighbours differ from it. All decisions use
    the original samples. No sample is deleted if all labels are equally frequent.

    Parameters
    ----------
    n_neighbors : int, default=3
        Number of neighbours.
    threshold : float, default=0.75
        Label sets differ above it. (The authors' R package has 0.5.)
    search : object with `fit` and `kneighbors`, default=None
        Finds neighbours. None: ``ExactNeighbors()``, so that equal distances are ordered by sample number.

    Attributes
    ----------
    sample_indices_ : ndarray of int of shape (n_resampled,)
        Numbers of the remaining samples, in their order.
    seed_indices_ : ndarray of int of shape (n_resampled,)
        The same as `sample_indices_`.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, tags, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    MLTL : Deletes from pairs of nearest neighbours.
    MLRUS : Deletes at random.

    Notes
    -----
    The authors' R package also deletes samples with a minority label if they carry another one, and by mistake takes
    the neighbours 2 to k + 1. Here a sample with a minority label stays, and neighbours are 1 to k. Nothing is drawn.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera. MLeNN: a first approach to heuristic multilabel
    undersampling. IDEAL 2014.

    Examples
    --------
    >>> from nearlabel.preprocessing import MLeNN
    >>> X = [[0], [1], [2], [3], [4], [5]]
    >>> y = [[1, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [1, 0, 1], [0, 1, 0]]
    >>> MLeNN().fit(X, y).sample_indices_.tolist()
    [0, 1, 3, 4]
    """

    def __init__(self, n_neighbors: int = 3, *, threshold: float = 0.75, search: NeighborSearch | None = None) -> None:
        self.n_neighbors = n_neighbors
        self.threshold = threshold
        self.search = search

    @property
    def _n_neighbors(self) -> int:
        return check_integer("n_neighbors", self.n_neighbors, low=1)

    def _disagrees(self, near: IntArray, differs: BoolArray) -> BoolArray:
        return np.asarray(2 * differs.sum(axis=1) >= differs.shape[1])


class MLTL(_Cleaning):
    """Delete samples without a rare label from pairs of nearest neighbours with other labels (MLTL).

    Two samples are a Tomek link if each is the nearest neighbour of the other and their label sets differ as in
    `MLeNN`. The samples of a link without any minority label (`nearlabel.labels.minority_labels`) are deleted; none if
    all labels are equally frequent.

    Parameters
    ----------
    threshold : float, default=0.5
        Label sets differ above it.
    mutual : bool, default=True
        Whether each must be the nearest neighbour of the other. False, as in the R package mldr.resampling: a sample is
        deleted if its nearest neighbour differs, which is MLeNN with one neighbour.
    search : object with `fit` and `kneighbors`, default=None
        Finds neighbours. None: ``ExactNeighbors()``, so that equal distances are ordered by sample number.

    Attributes
    ----------
    sample_indices_ : ndarray of int of shape (n_resampled,)
        Numbers of the remaining samples, in their order.
    seed_indices_ : ndarray of int of shape (n_resampled,)
        The same as `sample_indices_`.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, tags, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    MLeNN : Uses more neighbours.
    imblearn.under_sampling.TomekLinks : For one label.

    References
    ----------
    R. M. Pereira, Y. M. G. Costa, C. N. Silla Jr. MLTL: a multi-label approach for the Tomek Link undersampling
    algorithm. Neurocomputing 383, 2020.

    I. Tomek. Two modifications of CNN. IEEE Transactions on Systems, Man, and Cybernetics 6, 1976.

    Examples
    --------
    >>> from nearlabel.preprocessing import MLTL
    >>> X = [[0], [1], [2.1], [3], [4.2], [5.1]]
    >>> y = [[1, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [1, 0, 1], [0, 1, 0]]
    >>> MLTL().fit(X, y).sample_indices_.tolist()
    [0, 1, 4]
    """

    def __init__(self, threshold: float = 0.5, *, mutual: bool = True, search: NeighborSearch | None = None) -> None:
        self.threshold = threshold
        self.mutual = mutual
        self.search = search

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_flag("mutual", self.mutual)

    _n_neighbors = 1

    def _disagrees(self, near: IntArray, differs: BoolArray) -> BoolArray:
        nearest = near[:, 0]
        linked = nearest[nearest] == np.arange(len(nearest)) if self.mutual else True
        return np.asarray(differs[:, 0] & linked)
