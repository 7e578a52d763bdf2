"""MRHC: clusters of samples that have a label in common (Ougiaroglou, Filippakis and Evangelidis 2021)."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from nearlabel.neighbors.exact.all_pairs import SquaredDistances
from nearlabel.preprocessing import _sampler as sampler
from nearlabel.utils.naming import registered
from nearlabel.utils.types import CSR, IntArray, Matrix
from nearlabel.utils.validation import check_integer


@registered("sampler", "mrhc")
class MRHC(sampler.Reduction):
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
    >>> from nearlabel.preprocessing import MRHC
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
        return sampler.group_of_each(homogeneous_clusters(X, labels, self.max_iter))


# Sets of rows divided by k-means from the medians of their labels (MRHC).


def homogeneous_clusters(X: Matrix, labels: CSR, max_iter: int) -> list[IntArray]:
    """Return parts of all rows, each of rows with a label in common, of equal rows, or of one row."""
    distances = SquaredDistances(X)
    waiting, done = [np.arange(labels.shape[0])], []
    while waiting:
        rows = waiting.pop()
        if sampler.have_a_label_in_common(labels, rows) or _are_equal(distances, rows):
            done.append(rows)
            continue
        clusters = _clusters(distances, labels, rows, max_iter)
        if len(clusters) == 1:
            done += np.split(rows, len(rows))
        else:
            waiting += clusters
    return done


def _are_equal(distances: SquaredDistances, rows: IntArray) -> bool:
    return not distances.from_row(rows[0], rows).any()


def _clusters(distances: SquaredDistances, labels: CSR, rows: IntArray, max_iter: int) -> list[IntArray]:
    """Return the clusters of k-means that starts at the medians of the labels: one cluster where it cannot start."""
    columns = sparse.csc_array(labels[rows])
    carriers = [rows[some] for some in np.split(columns.indices, columns.indptr[1:-1]) if len(some)]
    if not 1 < len(carriers) <= len(rows):
        return [rows]
    cluster_of = lloyd(distances, rows, sampler.medians(distances.X, carriers), max_iter)
    return [rows[members] for members in sampler.rows_of_each(cluster_of)]


def lloyd(distances: SquaredDistances, rows: IntArray, centres: Matrix, max_iter: int) -> IntArray:
    """Return the cluster of each row by k-means: 0, 1, ..., in the order of the centres at which it starts.

    A row that is equally near to several centres goes to the first of them; a centre without rows is dropped.
    """
    cluster = np.full(len(rows), -1)
    for _ in range(max_iter):
        before = cluster
        _, cluster = np.unique(distances.nearest(rows, centres), return_inverse=True)
        if (cluster == before).all():
            break
        centres = _means(distances.X[rows], cluster)
    return cluster


def _means(X: Matrix, cluster: IntArray) -> Matrix:
    """Return the mean of the rows of each cluster; the same bits whether rows are sparse or not."""
    sums, sizes = sampler.indicator(cluster) @ X, np.bincount(cluster)
    if not sparse.issparse(X):
        return sums / sizes[:, np.newaxis]
    sums.sort_indices()
    sums.data = sums.data / np.repeat(sizes, np.diff(sums.indptr))
    return sums
