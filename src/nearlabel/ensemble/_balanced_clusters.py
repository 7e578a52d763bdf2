"""Balanced k-means: clusters of points with a limited size (Tsoumakas, Katakis and Vlahavas 2008)."""

from __future__ import annotations

from bisect import insort

import numpy as np
from numpy.random import RandomState
from scipy import sparse

from nearlabel.utils.types import CSR, FloatArray, IntArray


def balanced_clusters(
    points: CSR, weights: FloatArray, n_clusters: int, max_iter: int, random: RandomState
) -> list[IntArray]:
    """Return clusters of at most ⌈n_points / n_clusters⌉ points each.

    Parameters
    ----------
    points : CSR array of shape (n_points, n_dimensions)
        Points.
    weights : ndarray of shape (n_dimensions,)
        Weight of each dimension in the squared Euclidean distance.
    n_clusters : int
        At most n_points; fewer clusters are returned if some stay empty.
    max_iter : int
        Maximum number of iterations; it stops earlier if nothing changes.
    random : RandomState
        Draws the points that are the first centres.

    Returns
    -------
    list of ndarray
        The points of each cluster, in ascending order; clusters in the order of their first point.
    """
    n_points = points.shape[0]
    capacity = -(-n_points // n_clusters)
    centres = points[random.permutation(n_points)[:n_clusters]].toarray().astype(np.float64)
    cluster: IntArray = np.full(n_points, -1)
    for _ in range(max_iter):
        before, cluster = cluster, balanced_assignment(_squared_distances(points, centres, weights), capacity)
        if (cluster == before).all():
            break
        centres = _means(points, cluster, centres)
    groups = [np.flatnonzero(cluster == number) for number in np.unique(cluster)]
    return sorted(groups, key=lambda group: int(group[0]))


def balanced_assignment(distances: FloatArray, capacity: int) -> IntArray:
    """Return the cluster of each point, from distances (n_points, n_clusters).

    Points go to the nearest cluster, one after the other. A cluster that exceeds its size then evicts its farthest
    point, which goes to the nearest cluster that has not evicted it. Ties: the lower cluster index counts as nearer,
    the higher point index as farther.
    """
    preferences = np.argsort(distances, axis=1, kind="stable")
    evictions = [0] * len(distances)
    members: list[list[tuple[float, int]]] = [[] for _ in range(distances.shape[1])]
    for newcomer in range(len(distances)):
        point = newcomer
        while True:
            nearest = preferences[point, evictions[point]]
            insort(members[nearest], (distances[point, nearest], point))
            if len(members[nearest]) <= capacity:
                break
            point = members[nearest].pop()[1]
            evictions[point] += 1
    return preferences[np.arange(len(distances)), evictions]


def _squared_distances(points: CSR, centres: FloatArray, weights: FloatArray) -> FloatArray:
    """Return |p|² - 2 p·c + |c|² (n_points, n_clusters), each dimension weighted."""
    sizes = np.asarray(points.multiply(points) @ weights, dtype=np.float64).reshape(-1, 1)
    return np.asarray(sizes - 2 * (points @ (weights * centres).T) + (weights * np.square(centres)).sum(axis=1))


def _means(points: CSR, cluster: IntArray, centres: FloatArray) -> FloatArray:
    """Return the mean of each cluster; an empty one keeps its centre."""
    sizes = np.bincount(cluster, minlength=len(centres))
    entries = (np.ones(len(cluster)), (cluster, np.arange(len(cluster))))
    sums = (sparse.csr_array(entries, shape=(len(centres), len(cluster))) @ points).toarray()
    return np.where(sizes[:, np.newaxis] > 0, sums / np.maximum(sizes, 1)[:, np.newaxis], centres)
