"""MRHC: clusters of rows that have a label in common (Ougiaroglou, Filippakis and Evangelidis 2021)."""

from __future__ import annotations

from nearlabel.resampling._homogeneous_clusters import homogeneous_clusters
from nearlabel.resampling._prototypes import group_of_each
from nearlabel.resampling._reduction import Reduction
from nearlabel.utils.types import CSR, IntArray, Matrix
from nearlabel.utils.validation import check_integer


class MRHC(Reduction):
    """Put prototypes in the place of rows: of clusters by k-means whose rows all have a label in common.

    A set of rows, at first that of all, is *homogeneous* if its rows have at least one label in common. Any other is
    divided by k-means, which starts at the medians of the rows of each label that occurs, a row counting for each of
    its labels; and so each cluster again. A homogeneous set becomes one prototype: the median of each feature, with the
    labels on more than half of its rows. How many prototypes there are follows from the data.

    Parameters
    ----------
    max_iter : int, default=300
        How often k-means moves its centres at most; it ends before where no row changes its cluster.

    Attributes
    ----------
    prototype_of_ : ndarray of shape (n_samples,)
        The prototype that each row went to; prototypes are in the order of their first rows.
    sample_indices_, seed_indices_ : ndarray of shape (n_prototypes,)
        -1: prototypes are made of several rows.
    label_names_ : ndarray of shape (n_labels,)
        Tags, column names of the data frame y, or 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    MRSP3 : Divides by the farthest pair, whatever the labels are.

    Notes
    -----
    A set with fewer rows than labels that occur, or with one such label, or that k-means leaves whole, becomes a
    prototype for each of its rows. So do rows without labels, unless they end in one set and are equal: then nothing
    tells them apart, and they become one prototype.

    K-means is our own: it draws nothing, a row equally near to several centres goes to that of the first label, and a
    centre without rows is given up. scikit-learn's, which the authors use, moves such a centre to the farthest row, and
    so makes more and smaller clusters.

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
