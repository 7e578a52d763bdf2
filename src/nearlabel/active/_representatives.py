"""Representative rows: greedy facility location, where similarity falls with the distance.

Row i is as similar to row j as ``exp(-d(i, j) / s_i)``, where its scale s_i is the distance to its tenth nearest row: a
row is well represented if a labelled one is about as near as its neighbours are, in dense and in sparse regions. The
gain of a row is the increase that it brings to the sum of all rows' similarities to their most similar labelled sample.

References
----------
G. L. Nemhauser, L. A. Wolsey, M. L. Fisher: An analysis of approximations for maximizing submodular set functions.
Mathematical Programming 14, 1978 (the greedy choice reaches at least 1 - 1/e of the best sum).
M. Minoux: Accelerated greedy algorithms for maximizing submodular set functions. Optimization Techniques, 1978 (a gain
only falls, so that an old one is a bound).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearlabel.neighbors import ExactNeighbors
from nearlabel.neighbors.contract import clone_search
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import FloatArray, IntArray, Matrix

N_SCALE = 10  # the scale of a row is the distance to its 10th nearest row
_STEPS = 2.0**20  # similarities are whole multiples of 1 / _STEPS: sums of them are exact, and equal gains tie


class Coverage(NamedTuple):
    """How well rows represent each other, and how well labelled samples represent them."""

    similarity: NDArray[np.float32]  # (n_candidates, n_rows): of each row to each candidate
    reached: NDArray[np.float32]  # (n_rows,): of each row to its most similar labelled sample


def coverage(search: Any, rows: Matrix, n_labelled: int) -> Coverage:
    """Return how well unlabelled samples represent each other; `search` is fitted to `n_labelled` labelled ones."""
    n_rows = rows.shape[0]
    among = search_like(search).fit(rows)
    similarity = np.empty((n_rows, n_rows), dtype=np.float32)
    reached = np.empty(n_rows, dtype=np.float32)
    for block in row_blocks(n_rows, 64 * n_rows):
        labelled = search.kneighbors(rows[block], min(N_SCALE, n_labelled))[0]
        distances, indices = among.kneighbors(rows[block], n_rows)  # the first is 0: the row itself, or its duplicate
        scales = _scales(np.hstack([distances[:, 1 : N_SCALE + 1], labelled]))
        np.put_along_axis(similarity[:, block], indices.T, similarities(distances, scales).T, axis=0)
        reached[block] = similarities(labelled[:, :1], scales)[:, 0]
    return Coverage(similarity, reached)


def most_representative(known: Coverage, n: int) -> tuple[IntArray, FloatArray]:
    """Return n rows, each the one of largest gain after those before it, lower rows first; and the gains."""
    similarity, reached = known
    bounds = _gains(similarity, reached)
    rows, gains = np.empty(n, dtype=np.intp), np.empty(n)
    for place in range(n):
        row = _best(similarity, reached, bounds)
        rows[place], gains[place] = row, bounds[row]
        bounds[row] = -1  # below all gains
        reached = np.maximum(reached, similarity[row])
    return rows, gains


def _best(similarity: NDArray[np.float32], reached: NDArray[np.float32], bounds: FloatArray) -> int:
    """Return the first row of largest gain; computed gains replace their bounds."""
    while True:
        row = int(bounds.argmax())
        gain = _gains(similarity[row : row + 1], reached)[0]
        if gain == bounds[row]:
            return row
        bounds[row] = gain


def _gains(similarity: NDArray[np.float32], reached: NDArray[np.float32]) -> FloatArray:
    """Return how much each candidate adds to the similarities; sums of multiples of a power of two are exact."""
    gains = np.empty(len(similarity))
    for block in row_blocks(len(similarity), 8 * len(reached)):
        more = np.maximum(similarity[block] - reached, 0)
        gains[block] = more.sum(axis=1, dtype=np.float64)
    return gains


def similarities(distances: FloatArray, scales: FloatArray) -> NDArray[np.float32]:
    """Return ``exp(-distance / scale)`` in whole steps; with the scale 0, 1 for a distance of 0 and else 0."""
    scale = np.broadcast_to(scales[:, np.newaxis], distances.shape)
    ratio = np.divide(distances, scale, out=np.where(distances > 0, np.inf, 0.0), where=scale > 0)
    rounded: NDArray[np.float32] = (np.rint(np.exp(-ratio) * _STEPS) / _STEPS).astype(np.float32)
    return rounded


def _scales(distances: FloatArray) -> FloatArray:
    """Return the N_SCALE-th smallest distance of each row, or the largest of fewer."""
    scales: FloatArray = np.sort(distances, axis=1)[:, :N_SCALE][:, -1]
    return scales


def search_like(search: Any) -> Any:
    """Return an unfitted search of the same distances; for None, of Euclidean ones.

    Exact where the metric has a name: an approximate index or a cluster is not meant for ranking all of a few rows.
    """
    if not hasattr(search, "metric"):
        return clone_search(search)
    return ExactNeighbors(metric=search.metric, metric_params=getattr(search, "metric_params", None))
