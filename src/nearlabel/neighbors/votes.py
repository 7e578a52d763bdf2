"""Votes of neighbours for labels, mean distances, and whether neighbours distinguish samples."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy import sparse

from nearlabel.utils.messages import AdviceWarning
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import check_choice

Weights: TypeAlias = str | Callable[[FloatArray], FloatArray]  # of votes, by the distances of the neighbours


def label_votes(indices: IntArray, y: Matrix, weights: FloatArray | None = None) -> Matrix:
    """Count, for each query and label, the neighbours that carry the label: one sparse product.

    Parameters
    ----------
    indices : ndarray of int of shape (n_queries, n_neighbors)
        Numbers of the training samples that are neighbours.
    y : ndarray or CSR array of shape (n_samples, n_labels)
        Label sets of the training samples, an indicator matrix.
    weights : ndarray of shape (n_queries, n_neighbors), default=None
        Weight of each neighbour's vote; None: one each.

    Returns
    -------
    votes : ndarray or CSR array of shape (n_queries, n_labels)
        Counts, float64 with weights; stored as y is. Counts are int64 or, if y has bytes, of the smallest signed type
        that can store n_neighbors. Weighted votes are added nearest first.

    Raises
    ------
    ValueError
        If indices is not (n_queries, n_neighbors), or contains a number that is no row of y.

    Examples
    --------
    >>> import numpy as np
    >>> label_votes(np.array([[0, 2], [2, 1]]), np.array([[1, 0], [1, 1], [0, 1]]))
    array([[1, 1],
           [1, 2]])
    """
    check_neighbor_indices(indices, y.shape[0])
    n_queries, n_neighbors = indices.shape
    count = np.min_scalar_type(-n_neighbors - 1) if y.dtype.itemsize == 1 else np.int64
    votes_of = np.ones(indices.size, dtype=count) if weights is None else weights.ravel()
    row_ends = np.arange(0, indices.size + 1, n_neighbors)
    neighbor_graph = sparse.csr_array((votes_of, indices.ravel(), row_ends), shape=(n_queries, y.shape[0]))
    return neighbor_graph @ y


def check_neighbor_indices(indices: IntArray, n_samples: int) -> None:
    """Raise ValueError unless indices (n_queries, n_neighbors) name training samples only.

    A search of another library may return -1 for "none found"; a sparse product would read outside its arrays.
    """
    if getattr(indices, "ndim", 0) != 2 or indices.shape[1] == 0 or indices.dtype.kind not in "iu":
        raise ValueError(f"indices must be whole numbers of shape (n_queries, n_neighbors), got {indices!r}.")
    if indices.size and (indices.min() < 0 or indices.max() >= n_samples):
        wrong = indices[(indices < 0) | (indices >= n_samples)]
        raise ValueError(f"indices must name training samples 0 to {n_samples - 1}, got {wrong[0]}.")


def vote_weights(distances: FloatArray, weights: Weights) -> FloatArray:
    """Return the weight of each neighbour's vote (n_queries, n_neighbors).

    "distance" weighs by the inverse distance, as a share of the nearest one's, which cannot overflow.
    """
    if callable(weights):
        weighed = np.asarray(weights(distances), dtype=np.float64)
        if weighed.shape != distances.shape or not (weighed >= 0).all() or not np.isfinite(weighed).all():
            raise ValueError(
                f"weights must return finite numbers >= 0 of shape {distances.shape}, got shape {weighed.shape}."
            )
        return weighed
    if weights == "uniform":
        return np.ones(distances.shape)
    at_zero = distances == 0
    nearest = distances.min(axis=1, keepdims=True)
    inverse: FloatArray = np.isinf(nearest) * np.ones_like(distances)  # all equally far: rows that lack all features
    np.divide(nearest, distances, out=inverse, where=~at_zero & np.isfinite(nearest))
    return np.where(at_zero.any(axis=1, keepdims=True), at_zero.astype(np.float64), inverse)


def check_weights(weights: Weights) -> None:
    """Raise ValueError unless weights are a function or a known word."""
    if not callable(weights):
        check_choice("weights", weights, {"uniform", "distance"})


# Mean distances of rows to their neighbours.


def mean_distances(distances: FloatArray) -> FloatArray:
    """Return the mean (n_queries,) of distances (n_queries, n_neighbors), added nearest first.

    The order of the additions does not depend on how the array is stored: equal distances give equal means.
    """
    total: FloatArray = np.zeros(len(distances))
    for of_neighbor in distances.T:
        total += of_neighbor
    return np.asarray(total / distances.shape[1])


# Whether neighbours distinguish samples: the doctor reports it, and classifiers warn of it.

MOST_OF_ALL = 0.5  # of all places, to the most used hundredth of the rows: 50 times its part
LEAST_ROWS = 100  # of fewer, the most used row is more than a hundredth


class UselessNeighborsWarning(AdviceWarning):
    """All neighbours of all training samples are equally far, or a few samples are neighbours of nearly all others."""


def occurrences(indices: IntArray, n_rows: int) -> IntArray:
    """Return how often each row is a neighbour: k-occurrence (Radovanovic et al., 2010)."""
    return np.bincount(indices.ravel(), minlength=n_rows)


def share_of_most_used(occurs: IntArray) -> float:
    """Return the share of all places that the most used hundredth of the rows take."""
    n_top = -(-len(occurs) // 100)
    return float(np.partition(occurs, -n_top)[-n_top:].sum() / occurs.sum())


def skewness(occurs: IntArray) -> float:
    """Return the skewness of how often rows are neighbours; 0 if all are equally often."""
    deviations = occurs - occurs.mean()
    variance = float((deviations**2).mean())
    return float((deviations**3).mean()) / variance**1.5 if variance > 0 else 0.0


def all_tied(distances: FloatArray) -> BoolArray:
    """Return which rows have all their neighbours at the same distance."""
    return np.asarray(distances[:, 0] == distances[:, -1])


def warn_of_useless(distances: FloatArray, indices: IntArray) -> None:
    """Warn if the neighbours of the training samples, each without itself, cannot be useful.

    That is, if all neighbours of all samples are at one distance, or if more than half of all places go to 1 % of the
    samples.
    """
    n_rows, n_neighbors = indices.shape
    if n_neighbors > 1 and n_neighbors < n_rows - 1 and (distances == distances[0, 0]).all():
        warnings.warn(
            f"All neighbours of each training sample are at the distance {distances[0, 0]:g}, so the order of the"
            " samples decides which are its neighbours. Use features or a metric that distinguish samples.",
            UselessNeighborsWarning,
            stacklevel=2,
        )
    elif n_rows >= LEAST_ROWS and share_of_most_used(occurrences(indices, n_rows)) > MOST_OF_ALL:
        warnings.warn(
            "1 % of the training samples take more than half of all places among the neighbours, so a few samples"
            " decide nearly everything. Scale the features, or use the metric 'cosine' for texts;"
            " nearlabel.datasets.examine reports more.",
            UselessNeighborsWarning,
            stacklevel=2,
        )
