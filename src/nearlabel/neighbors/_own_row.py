"""Each row left out of its own list, by its number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearlabel.utils.types import FloatArray, IntArray


def without_own(
    distances: FloatArray, indices: IntArray, own: IntArray
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return lists that are one shorter: without the row itself, or, where it is not listed, without the last.

    Takes lists (n_rows, n_neighbors + 1), nearest first, and the number of each row (n_rows,).
    """
    listed = indices == own[:, np.newaxis]
    dropped = np.where(listed.any(axis=1), listed.argmax(axis=1), indices.shape[1] - 1)
    kept = np.arange(indices.shape[1]) != dropped[:, np.newaxis]
    shape = len(indices), indices.shape[1] - 1
    return distances[kept].reshape(shape), indices[kept].reshape(shape)
