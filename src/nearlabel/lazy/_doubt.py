"""Doubt: how far a query is from its neighbours, against what is usual among the training rows."""

from __future__ import annotations

import numpy as np

from nearlabel.utils.types import FloatArray


def mean_distances(distances: FloatArray) -> FloatArray:
    """Return the mean distance (n_rows,) of each row to its neighbours (n_rows, n_neighbors), added nearest first.

    The order of the additions does not depend on how the array is stored: equal distances give equal means.
    """
    total: FloatArray = np.zeros(len(distances))
    for of_neighbor in distances.T:
        total += of_neighbor
    return np.asarray(total / distances.shape[1])


def share_nearer(distances: FloatArray, usual: FloatArray) -> FloatArray:
    """Return, for each query, the share of usual mean distances (n_samples,), ascending, that are below its own."""
    return np.asarray(np.searchsorted(usual, mean_distances(distances), side="left") / len(usual))
