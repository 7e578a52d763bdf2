"""Votes: where neighbours meet labels."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from nearlabel._typing import FloatArray, IntArray, Matrix


def label_votes(indices: IntArray, Y: Matrix, weights: FloatArray | None = None) -> Matrix:
    """Count, for each query and label, the neighbours that carry the label: one sparse product.

    Parameters
    ----------
    indices : ndarray of int of shape (n_queries, n_neighbors)
        Training row numbers of the neighbours.
    Y : ndarray or CSR array of shape (n_samples, n_labels)
        Label sets of the training rows, an indicator matrix.
    weights : ndarray of shape (n_queries, n_neighbors), default=None
        What the vote of each neighbour weighs; None: one each.

    Returns
    -------
    votes : ndarray or CSR array of shape (n_queries, n_labels)
        int64 counts, float64 with weights; stored as Y is. Weighted votes are added nearest first.

    Examples
    --------
    >>> import numpy as np
    >>> label_votes(np.array([[0, 2], [2, 1]]), np.array([[1, 0], [1, 1], [0, 1]]))
    array([[1, 1],
           [1, 2]])
    """
    n_queries, n_neighbors = indices.shape
    votes_of = np.ones(indices.size, dtype=np.int64) if weights is None else weights.ravel()
    row_ends = np.arange(0, indices.size + 1, n_neighbors)
    neighbor_graph = sparse.csr_array((votes_of, indices.ravel(), row_ends), shape=(n_queries, Y.shape[0]))
    return neighbor_graph @ Y
