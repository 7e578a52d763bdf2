"""MRHC: clusters of samples that have a label in common (Ougiaroglou, Filippakis and Evangelidis 2021)."""

from __future__ import annotations

from nearlabel.resampling._homogeneous_clusters import homogeneous_clusters
from nearlabel.resampling._prototypes import group_of_each
from nearlabel.resampling._reduction import Reduction
from nearlabel.utils.types import CSR, IntArray, Matrix
from nearlabel.utils.validation import check_integer


class MRHC(Reduction):
    """Replace samples by prototypes: of clusters by k-means whose samples all have a label in common.

    A set of samples, at first that of all, is *homogeneous* if its samples have at least one label in common. Any other
    set is divided by k-means, which starts at the medians of the samples of each label that occurs (a sample counts for
    each of its labels); each cluster is then treated in the same way. A homogeneous set becomes one prototype: the
    median of each feature, with the labels on more than half of its samples. The data determine the number of
    prototypes.

    Parameters
    ----------
    max_iter : int, default=300
        Largest number of times that k-means moves its centres; it ends earlier when no sample changes its cluster.

    Attributes
    ----------
    prototype_of_ : ndarray of shape (n_samples,)
        The prototype of each sample; prototypes are in the order of their first samples.
    sample_indices_, seed_indices_ : ndarray of shape (n_prototypes,)
        -1: prototypes are made of several samples.
    label_names_ : ndarray of shape (n_labels,)
        Tags, column names of the data frame y, or 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    MRSP3 : Divides by the farthest pair, independently of the labels.

    Notes
    -----
    Some sets become a prototype for each of their samples: sets with fewer samples than labels that occur, with one
    such label, or that k-means does not divide. So do samples without labels, unless they end in one set and are equal:
    then they become one prototype.

    This k-means draws nothing; a sample that is equally near to several centres goes to that of the first label, and a
    centre without samples is dropped. scikit-learn's k-means, which the authors use, moves such a centre to the
    farthest sample, and so makes more and smaller clusters.

    Distances are Euclidean: scale features of different units first (`nearlabel.preprocessing.FeatureScaler`).

    References
    ----------
    S. Ougiaroglou, P. Filippakis, G. Evangelidis: Prototype Generation for Multi-label Nearest Neighbours
    Classification. Hybrid Artificial Intelligent Systems (HAIS), 2021.

    Examples
    --------
    >>> from nearlabel.resampling import MRHC
    >>> sampler = MRHC()
    >>> X, y = sampler.fit_resample([[0.0], [1.0], [2.0], [8.0], [9.0]], [[1, 0], [1, 1], [1, 0], [0, 1], [0, 1]])
    >>> X.tolist(), y.tolist()
    ([[1.0], [8.5]], [[1, 0], [0, 1]])
    >>> sampler.prototype_of_.tolist()
    [0, 0, 0, 1, 1]
    """

    def __init__(self, max_iter: int = 300) -> None:
        self.max_iter = max_iter

    def _check_parameters(self) -> None:
        check_integer("max_iter", self.max_iter, low=1)

    def _groups(self, X: Matrix, labels: CSR) -> IntArray:
        return group_of_each(homogeneous_clusters(X, labels, self.max_iter))
