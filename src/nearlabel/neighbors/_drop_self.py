"""Drop each row from its own list of neighbours."""

from __future__ import annotations

import numpy as np

from nearlabel.utils.types import FloatArray, IntArray


def drop_self(distances: FloatArray, indices: IntArray, own: IntArray) -> tuple[FloatArray, IntArray]:
    """Return lists that are one shorter: without the row itself or, where that is not listed, without the last.

    A row is recognised by its index, never by its place: among duplicates another row may come first.

    Parameters
    ----------
    distances, indices : ndarray of shape (n_rows, n_neighbors + 1)
        Nearest first; the distances may be ranks.
    own : ndarray of shape (n_rows,)
        The index of each row.
    """
    listed = indices == own[:, np.newaxis]
    last = indices.shape[1] - 1
    dropped = np.where(listed.any(axis=1), listed.argmax(axis=1), last)
    kept = np.arange(last) + (np.arange(last) >= dropped[:, np.newaxis])
    return np.take_along_axis(distances, kept, axis=1), np.take_along_axis(indices, kept, axis=1)
