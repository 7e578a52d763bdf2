"""All optima of micro- or macro-averaged F at once: the outer boundary of averaged precision and recall."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearlabel.thresholds._cuts import Cuts, as_exact
from nearlabel.thresholds._strategy import check_beta, checked_rows
from nearlabel.utils.types import FloatArray, IntArray, MatrixLike
from nearlabel.utils.validation import check_integer


@dataclass(frozen=True, eq=False)
class _PRFrontier:
    """Points of precision and recall in the order of the betas that they are best for."""

    precision: FloatArray
    recall: FloatArray
    largest_beta: FloatArray

    def best_point(self, beta: float = 1.0) -> int:
        """Return the number of the point of largest F-beta; if two are equal, the one with fewer predicted labels.

        Parameters
        ----------
        beta : float, default=1.0
            Weight of recall against precision, above 0.

        Returns
        -------
        int
            Index into the arrays.

        Raises
        ------
        ValueError
            If beta is out of range, or there is no point since y has no positive.
        """
        weight = check_beta(beta)
        if not len(self.precision):
            raise ValueError("y must have a positive for a point to be best, got none.")
        return int(np.searchsorted(self.largest_beta, weight, side="left"))

    def _checked_point(self, point: int) -> int:
        if check_integer("point", point, low=0) >= len(self.precision):
            raise ValueError(f"point must be below the number of points {len(self.precision)}, got {point}.")
        return point


@dataclass(frozen=True, eq=False)
class MicroPRFrontier(_PRFrontier):
    """The pairs of micro-averaged precision and recall that are optimal for some beta, in the order of beta.

    Made by `micro_pr_frontier`.

    Parameters
    ----------
    precision, recall : ndarray of shape (n_points,)
        The points; precision falls and recall rises.
    largest_beta : ndarray of shape (n_points,)
        Each point has the largest F-beta for beta from that of the previous point up to this value, which is infinite
        for the last point.
    n_chosen : ndarray of shape (n_points,)
        Number of predicted labels, over all samples.
    slopes : ndarray of shape (n_points,)
        True labels gained per additional predicted label, on the last step to the point.
    vertices : Cuts
        The thresholds of each label that some point uses.
    vertex_slopes : ndarray
        The same gain on the step to each of those thresholds; infinity for the first of each label.
    """

    n_chosen: NDArray[Any]
    slopes: FloatArray
    vertices: Cuts
    vertex_slopes: FloatArray

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
        slope = self.slopes[self._checked_point(point)]
        used = np.concatenate([[0], np.cumsum(self.vertex_slopes >= slope)])
        n_used = used[self.vertices.start[1:]] - used[self.vertices.start[:-1]]  # slopes fall within a label
        chosen: FloatArray = self.vertices.thresholds[self.vertices.start[:-1] + n_used - 1]
        return chosen


@dataclass(frozen=True, eq=False)
class MacroPRFrontier(_PRFrontier):
    """The pairs of macro-averaged precision and recall that are optimal for some beta, in the order of beta.

    Made by `macro_pr_frontier`.

    Parameters
    ----------
    precision, recall : ndarray of shape (n_points,)
        The points; precision falls and recall rises.
    largest_beta : ndarray of shape (n_points,)
        Each point has the largest macro-averaged F-beta for beta from that of the previous point up to this value,
        which is infinite for the last point.
    label_betas : tuple of n_labels ndarrays
        For each label, the same bounds of its own optima.
    label_thresholds : tuple of n_labels ndarrays
        For each label, the thresholds of these optima.
    """

    label_betas: tuple[FloatArray, ...]
    label_thresholds: tuple[FloatArray, ...]

    def thresholds(self, point: int) -> FloatArray:
        """Return the thresholds of a point: those of ``SCut("macro_fbeta", beta=...)`` for a beta of this point.

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
        beta = self.largest_beta[self._checked_point(point)]
        labels = zip(self.label_betas, self.label_thresholds, strict=True)
        return np.array([thresholds[np.searchsorted(betas, beta)] for betas, thresholds in labels])


def micro_pr_frontier(scores: MatrixLike, y: MatrixLike, sample_weight: Any = None) -> MicroPRFrontier:
    """Return all pairs of micro-averaged precision and recall that are optimal for some beta.

    Only thresholds on the upper hull of a label's (predicted samples, hits) can be best. The edges of all hulls, sorted
    by slope once, give every optimum: each point uses the edges down to some slope. Pillai et al. (2012, section 5)
    name the curve as an open issue. Points between these can be reached but are best for no beta; they are not
    returned.

    Parameters
    ----------
    scores : array-like or data frame of shape (n_samples, n_labels)
        Scores, larger is more certain.
    y : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Label sets as an indicator matrix of 0 and 1, with NaN where a label is unknown. Unknown cells are left out.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    MicroPRFrontier
        The points, the largest beta for which each is best, and the thresholds. There is no point if y has no positive.

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
    vertices = _hulls(Cuts.of(*checked_rows(scores, y, sample_weight)))
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

    best, largest_beta = _best_for_some_beta(all_hits, all_chosen, total)
    return MicroPRFrontier(
        precision=all_hits[best] / all_chosen[best],
        recall=all_hits[best] / total if total else np.empty(0),
        largest_beta=largest_beta,
        n_chosen=all_chosen[best],
        slopes=steepness[best],
        vertices=vertices,
        vertex_slopes=slopes,
    )


def macro_pr_frontier(scores: MatrixLike, y: MatrixLike, sample_weight: Any = None) -> MacroPRFrontier:
    """Return all pairs of macro-averaged precision and recall that are optimal for some beta.

    Macro-averaged F-beta is a mean over labels, so each label has its own optimum. As beta grows, this optimum moves
    along the upper hull of the label's (predicted samples, hits); a point of the frontier has the optima of all labels
    for one beta. Pillai et al. (2012, section 5) name the curve as an open issue.

    Parameters
    ----------
    scores : array-like or data frame of shape (n_samples, n_labels)
        Scores, larger is more certain.
    y : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Label sets as an indicator matrix of 0 and 1, with NaN where a label is unknown. Unknown cells are left out.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    MacroPRFrontier
        The points, the largest beta for which each is best, and the thresholds. There is no point if y has no positive.

    Raises
    ------
    ValueError
        If scores or y are malformed or of different shapes, or a score is NaN.
    TypeError
        If scores are in a sparse container.

    See Also
    --------
    micro_pr_frontier : The same for micro-averaged F.

    Notes
    -----
    A label without positives counts as 0 in both means, as 0/0 does in `macro_fbeta`. A label that is unknown in all
    samples is left out of them.

    Examples
    --------
    >>> from nearlabel.thresholds import macro_pr_frontier
    >>> scores = [[0.9, 0.2], [0.8, 0.1], [0.3, 0.4], [0.1, 0.3]]
    >>> y = [[1, 1], [0, 0], [1, 0], [0, 0]]
    >>> frontier = macro_pr_frontier(scores, y)
    >>> frontier.precision.round(2).tolist(), frontier.recall.round(2).tolist()
    ([0.67, 0.5], [0.75, 1.0])
    """
    vertices = _hulls(Cuts.of(*checked_rows(scores, y, sample_weight)))
    optima = [_optima(vertices, label) for label in range(len(vertices.positives))]
    has_points = any(vertices.positives > 0)
    beta = np.unique(np.concatenate([optimum.largest_beta for optimum in optima])) if has_points else np.empty(0)
    known = [optimum for optimum, n_rows in zip(optima, vertices.n_rows, strict=True) if n_rows]
    sums = np.zeros((2, len(beta)))
    for optimum in known:
        at = np.searchsorted(optimum.largest_beta, beta)
        sums += optimum.precision[at], optimum.recall[at]
    precision, recall = sums / max(len(known), 1)
    betas, thresholds = tuple(one.largest_beta for one in optima), tuple(one.thresholds for one in optima)
    return MacroPRFrontier(precision, recall, beta, betas, thresholds)


class _Optima(NamedTuple):
    """The thresholds of one label that are best for some beta, in order of beta."""

    thresholds: FloatArray
    precision: FloatArray
    recall: FloatArray
    largest_beta: FloatArray


def _optima(vertices: Cuts, label: int) -> _Optima:
    """Return the optima of a label; without positives, the threshold with the fewest predicted samples, of value 0."""
    place = slice(vertices.start[label], vertices.start[label + 1])
    thresholds, hits, chosen = vertices.thresholds[place], vertices.hits[place], vertices.predicted[place]
    total = vertices.positives[label]
    if not total:
        return _Optima(thresholds[:1], np.zeros(1), np.zeros(1), np.full(1, np.inf))
    best, largest_beta = _best_for_some_beta(hits, chosen, total)
    return _Optima(thresholds[best], hits[best] / chosen[best], hits[best] / total, largest_beta)


def _best_for_some_beta(hits: NDArray[Any], chosen: NDArray[Any], total: Any) -> tuple[NDArray[np.bool_], FloatArray]:
    """Return which vertices of a hull have the largest F-beta for some beta, and the largest such beta of each."""
    squared = np.append(_squared_betas(hits, chosen, total), np.inf)
    best = (chosen > 0) & (hits > 0) & (squared > 0)
    return best, np.sqrt(squared[best])


def _squared_betas(hits: NDArray[Any], chosen: NDArray[Any], total: Any) -> FloatArray:
    """Return the β² above which F-beta of the next point is larger: Δhits (β² P + chosen) > hits Δchosen.

    The terms are integers until the last division, so that a simple β² such as 1/25 is exact.
    """
    hits, chosen = as_exact(hits, chosen, factor=2 * int(chosen[-1]))
    gained, spent = np.diff(hits), np.diff(chosen)
    return np.asarray((hits[:-1] * spent - chosen[:-1] * gained) / (gained * total), dtype=np.float64)


def _edges(vertices: Cuts) -> tuple[NDArray[Any], NDArray[Any], FloatArray]:
    """Return the hits and predicted samples that each vertex adds, and their ratio; infinity for a label's first."""
    hits, chosen = np.diff(vertices.hits, prepend=0), np.diff(vertices.predicted, prepend=-1)
    slopes = hits / np.where(chosen > 0, chosen, 1)
    slopes[vertices.start[:-1]] = np.inf
    return hits, chosen, slopes


def _hulls(cuts: Cuts) -> Cuts:
    """Return the vertices of the upper hull of each label's (predicted samples, hits).

    A threshold on or below the line between its neighbours is no vertex. All of these are removed at once, and the rest
    are compared with their new neighbours, until none is removed.
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
    of_candidates = {name: getattr(cuts, name)[kept] for name in ("thresholds", "predicted", "hits")}
    return replace(cuts, start=start, **of_candidates)
