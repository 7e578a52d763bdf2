"""Gains of the top labels of each row's ranking; the four metrics of the first k labels are sums of gains."""

from __future__ import annotations

import numpy as np

from nearlabel.metrics._lines import absent_columns, line_blocks
from nearlabel.metrics.inputs import TieRule, check_ties, dense_rows
from nearlabel.utils.types import FloatArray, Matrix


def top_sums(
    true: Matrix, scores: Matrix, place_weights: FloatArray, worth: FloatArray | float = 1.0, *, ties: TieRule
) -> FloatArray:
    """Return, for each row, the summed gains of its relevant labels in the first k places, (n_samples,).

    Parameters
    ----------
    true, scores : ndarray or CSR array of shape (n_samples, n_labels)
        Checked label sets and scores; the score of an unknown cell is NaN, which sorts behind all others.
    place_weights : ndarray of shape (k,)
        Weights of the places, the first one first.
    worth : float or ndarray of shape (n_labels,), default=1.0
        Gain of each label where it is relevant.
    ties : str
        Order of equal scores: "pessimistic" puts the smallest gains first.
    """
    rule = check_ties(ties)
    worths = np.broadcast_to(worth, true.shape[1:])
    return np.concatenate(
        [
            _top_gains(true[rows], scores[rows], len(place_weights), worths, rule) @ place_weights
            for rows in line_blocks(true, scores)
        ]
    )


def _top_gains(true: Matrix, scores: Matrix, k: int, worths: FloatArray, ties: TieRule) -> FloatArray:
    """Return the gains of the first k places of some rows, (n_rows, k).

    The columns that are empty in all these sparse rows have equal, irrelevant cells. The first k and the last k of them
    are enough to fill the places.
    """
    absent = absent_columns(true, scores)[k:-k]
    kept = np.delete(np.arange(true.shape[1]), absent) if len(absent) else slice(None)
    gains = dense_rows(true[:, kept], slice(None)) * worths[kept]
    losses = -dense_rows(scores[:, kept], slice(None))
    return _in_order(gains, losses, ties, len(absent))[:, :k]


def best_sums(true: Matrix, k: int, worth: FloatArray) -> FloatArray:
    """Return, for each row, the summed gains of its k most valuable labels, (n_samples,)."""
    return np.concatenate([_best_gains(true[rows], k, worth).sum(axis=1) for rows in line_blocks(true, true)])


def _best_gains(true: Matrix, k: int, worths: FloatArray) -> FloatArray:
    present = np.delete(np.arange(true.shape[1]), absent_columns(true, true))
    return np.sort(dense_rows(true[:, present], slice(None)) * worths[present], axis=1)[:, -k:]


def _in_order(gains: FloatArray, losses: FloatArray, ties: TieRule, n_absent: int) -> FloatArray:
    """Return the gains of each row in the order of its ranking; `losses` are the negated scores.

    `n_absent` further cells of each row are not ranked; their gain and their loss are 0.
    """
    if ties == "high":
        return _in_order(gains[:, ::-1], losses[:, ::-1], "low", n_absent)
    if ties in ("pessimistic", "optimistic"):
        order = np.lexsort((gains if ties == "pessimistic" else -gains, losses))
    else:
        order = np.argsort(losses, axis=1, kind="stable")
    ordered = np.take_along_axis(gains, order, axis=1)
    if ties != "average":
        return ordered
    return _shared(ordered, np.take_along_axis(losses, order, axis=1), n_absent)


def _shared(gains: FloatArray, losses: FloatArray, n_absent: int) -> FloatArray:
    """Return the gains, replaced within each group of equal losses by their mean."""
    opens = np.ones(losses.shape, dtype=bool)
    opens[:, 1:] = losses[:, 1:] != losses[:, :-1]
    group = np.cumsum(opens) - 1
    sizes = np.bincount(group) + n_absent * (losses[opens] == 0)
    means: FloatArray = np.bincount(group, weights=gains.ravel()) / sizes
    shared: FloatArray = means[group].reshape(gains.shape)
    return shared
