"""All optima of micro-averaged F at once: the outer boundary of micro-averaged precision and recall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearlabel.thresholds._cuts import Cuts, label_cuts
from nearlabel.thresholds._exact_ratios import as_exact
from nearlabel.thresholds._objective import check_beta
from nearlabel.thresholds._strategy import checked_rows
from nearlabel.utils.types import FloatArray, IntArray, MatrixLike
from nearlabel.utils.validation import check_integer


@dataclass(frozen=True, eq=False)
class MicroPRFrontier:
    """The pairs of micro-averaged precision and recall that are optimal for some beta, in the order of beta.

    Made by `micro_pr_frontier`.

    Parameters
    ----------
    precision, recall : ndarray of shape (n_points,)
        The points; precision decreases and recall increases.
    largest_beta : ndarray of shape (n_points,)
        Each point has the largest F-beta for beta from the previous point's value up to this one; the last value is
        infinite.
    n_chosen : ndarray of shape (n_points,)
        Number of predicted labels, summed over all samples.
    slopes : ndarray of shape (n_points,)
        True labels gained per additional predicted label, on the way to the point.
    vertices : Cuts
        The thresholds (cuts) of each label that some point uses.
    vertex_slopes : ndarray
        The same gain on the way to each of these cuts; infinity for the first one of each label.
    """

    precision: FloatArray
    recall: FloatArray
    largest_beta: FloatArray
    n_chosen: NDArray[Any]
    slopes: FloatArray
    vertices: Cuts
    vertex_slopes: FloatArray

    def best_point(self, beta: float = 1.0) -> int:
        """Return the index of the point with the largest F-beta; ties go to the fewest predicted labels.

        Parameters
        ----------
        beta : float, default=1.0
            Weight of recall relative to precision, above 0.

        Returns
        -------
        int
            Index into the arrays.

        Raises
        ------
        ValueError
            If beta is out of range, or there are no points because y has no positives.
        """
        weight = check_beta(beta)
        if not len(self.precision):
            raise ValueError("y must have a positive for a point to be best, got none.")
        return int(np.searchsorted(self.largest_beta, weight, side="left"))

    def thresholds(self, point: int) -> FloatArray:
        """Return the thresholds of a point, the same as those of `MicroFOptimum` for a beta that it is best for.

        Parameters
        ----------
        point : int
            Number of the point.

        Returns
        -------
        ndarray of shape (n_labels,)
            A label is predicted if its score is at least this.

        Raises
        ------
        ValueError, TypeError
            If there is no such point.
        """
        if check_integer("point", point, low=0) >= len(self.precision):
            raise ValueError(f"point must be below the number of points {len(self.precision)}, got {point}.")
        used = np.concatenate([[0], np.cumsum(self.vertex_slopes >= self.slopes[point])])
        n_used = used[self.vertices.start[1:]] - used[self.vertices.start[:-1]]  # slopes fall within a label
        chosen: FloatArray = self.vertices.thresholds[self.vertices.start[:-1] + n_used - 1]
        return chosen


def micro_pr_frontier(scores: MatrixLike, y: MatrixLike, sample_weight: Any = None) -> MicroPRFrontier:
    """Return all pairs of micro-averaged precision and recall that are optimal for some beta.

    For each label, only the thresholds (cuts) on the upper hull of (predicted, hits) can be best. The edges of all
    hulls, sorted by slope, give every optimum: each point uses the edges down to some slope. Pillai et al. (2012,
    section 5) name the curve as an open issue. Points between these, which are reachable but not optimal for any beta,
    are not returned.

    Parameters
    ----------
    scores : array-like or data frame of shape (n_samples, n_labels)
        Scores, larger is better.
    y : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Label sets as an indicator matrix of 0 and 1, with NaN in unknown cells, which are ignored.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    MicroPRFrontier
        The points, with the beta up to which each is best, and the thresholds; empty if y has no positives.

    Raises
    ------
    ValueError
        If scores or y are malformed or of different shapes, or a score is NaN.
    TypeError
        If scores are in a sparse container.

    Examples
    --------
    >>> from nearlabel.thresholds import micro_pr_frontier
    >>> scores = [[0.9, 0.2], [0.8, 0.1], [0.3, 0.4], [0.1, 0.3]]
    >>> y = [[1, 1], [0, 0], [1, 0], [0, 0]]
    >>> frontier = micro_pr_frontier(scores, y)
    >>> frontier.precision.round(2).tolist(), frontier.recall.round(2).tolist()
    ([1.0, 0.67, 0.5], [0.33, 0.67, 1.0])
    """
    matrix, truth, weights = checked_rows(scores, y, sample_weight)
    vertices = _hulls(Cuts.of(label_cuts(matrix, truth, weights)))
    hits, chosen, slopes = _edges(vertices)
    first = vertices.start[:-1]
    edges = np.ones(len(slopes), dtype=np.bool_)
    edges[first] = False

    order = np.flatnonzero(edges)[np.argsort(-slopes[edges], kind="stable")]
    last = np.flatnonzero(np.diff(slopes[order], append=-1.0))  # the edges of one slope are taken together
    total = vertices.positives.sum()
    start = vertices.hits[first].sum(), vertices.predicted[first].sum()
    all_hits = start[0] + np.concatenate([[0], np.cumsum(hits[order])[last]])
    all_chosen = start[1] + np.concatenate([[0], np.cumsum(chosen[order])[last]])
    steepness = np.concatenate([[np.inf], slopes[order][last]])

    squared = np.append(_squared_betas(all_hits, all_chosen, total), np.inf)
    best = (all_chosen > 0) & (all_hits > 0) & (squared > 0)
    return MicroPRFrontier(
        precision=all_hits[best] / all_chosen[best],
        recall=all_hits[best] / total if total else np.empty(0),
        largest_beta=np.sqrt(squared[best]),
        n_chosen=all_chosen[best],
        slopes=steepness[best],
        vertices=vertices,
        vertex_slopes=slopes,
    )


def _squared_betas(hits: NDArray[Any], chosen: NDArray[Any], total: Any) -> FloatArray:
    """Return the β² from which on F-beta of the next point is larger: once Δhits (β² P + chosen) > hits Δchosen.

    In whole numbers up to the one division, so that a β² as simple as 1/25 is met exactly.
    """
    hits, chosen = as_exact(hits, chosen, factor=2 * int(chosen[-1]))
    gained, spent = np.diff(hits), np.diff(chosen)
    return np.asarray((hits[:-1] * spent - chosen[:-1] * gained) / (gained * total), dtype=np.float64)


def _edges(vertices: Cuts) -> tuple[NDArray[Any], NDArray[Any], FloatArray]:
    """Return hits and chosen rows gained on the way to each vertex, and their ratio: infinite for a label's first."""
    hits, chosen = np.diff(vertices.hits, prepend=0), np.diff(vertices.predicted, prepend=-1)
    slopes = hits / np.where(chosen > 0, chosen, 1)
    slopes[vertices.start[:-1]] = np.inf
    return hits, chosen, slopes


def _hulls(cuts: Cuts) -> Cuts:
    """Return the cuts on the upper hull of each label's (predicted, hits), without those on a straight line.

    A cut on or below the line between two others of its label is not a vertex. All such cuts, compared with their
    current neighbours, are removed together, until none is left.
    """
    label = np.repeat(np.arange(len(cuts.positives)), np.diff(cuts.start))
    all_chosen, all_hits = as_exact(cuts.predicted, cuts.hits, factor=int(cuts.predicted.max()))
    kept: IntArray = np.arange(len(label))
    while True:
        of, chosen, hits = label[kept], all_chosen[kept], all_hits[kept]
        left, here, right = slice(None, -2), slice(1, -1), slice(2, None)
        inside = (of[left] == of[here]) & (of[here] == of[right])
        before = (hits[here] - hits[left]) * (chosen[right] - chosen[here])
        after = (hits[right] - hits[here]) * (chosen[here] - chosen[left])
        below = inside & (before <= after)
        if not below.any():
            break
        kept = kept[np.concatenate([[True], ~below, [True]])]
    start = np.searchsorted(label[kept], np.arange(len(cuts.positives) + 1))
    return Cuts(start, cuts.thresholds[kept], cuts.predicted[kept], cuts.hits[kept], cuts.positives)
