"""Votes of neighbours for labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy import sparse

from nearlabel.utils.types import FloatArray, IntArray, Matrix
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
