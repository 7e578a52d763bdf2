"""Sets of rows divided by k-means from the medians of their labels (MRHC)."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from nearlabel.neighbors.squared_distances import SquaredDistances
from nearlabel.resampling._prototypes import have_a_label_in_common, indicator, medians, rows_of_each
from nearlabel.utils.types import CSR, IntArray, Matrix


def homogeneous_clusters(X: Matrix, labels: CSR, max_iter: int) -> list[IntArray]:
    """Return parts of all rows, each of rows with a label in common, of equal rows, or of one row."""
    distances = SquaredDistances(X)
    waiting, done = [np.arange(labels.shape[0])], []
    while waiting:
        rows = waiting.pop()
        if have_a_label_in_common(labels, rows) or _are_equal(distances, rows):
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
    cluster_of = lloyd(distances, rows, medians(distances.X, carriers), max_iter)
    return [rows[members] for members in rows_of_each(cluster_of)]


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
    sums, sizes = indicator(cluster) @ X, np.bincount(cluster)
    if not sparse.issparse(X):
        return sums / sizes[:, np.newaxis]
    sums.sort_indices()
    sums.data = sums.data / np.repeat(sizes, np.diff(sums.indptr))
    return sums
