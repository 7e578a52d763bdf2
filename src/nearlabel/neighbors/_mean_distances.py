"""Mean distances of rows to their neighbours."""

from __future__ import annotations

import numpy as np

from nearlabel.utils.types import FloatArray


def mean_distances(distances: FloatArray) -> FloatArray:
    """Return the mean (n_queries,) of distances (n_queries, n_neighbors), added nearest first.

    The order of the additions does not depend on how the array is stored: equal distances give equal means.
    """
    total: FloatArray = np.zeros(len(distances))
    for of_neighbor in distances.T:
        total += of_neighbor
    return np.asarray(total / distances.shape[1])
