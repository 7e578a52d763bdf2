"""What the labels on top of each row's ranking are worth: the four metrics of the first k labels are sums of it."""

from __future__ import annotations

import numpy as np

from nearlabel.metrics._ranks import BLOCK_BYTES
from nearlabel.metrics.inputs import TieRule, check_ties, dense_rows
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import FloatArray, Matrix


def top_sums(
    true: Matrix, scores: Matrix, place_weights: FloatArray, worth: FloatArray | float = 1.0, *, ties: TieRule
) -> FloatArray:
    """Return for each row the sum of what its relevant labels in the first k places are worth, (n_samples,).

    Parameters
    ----------
    true, scores : ndarray or CSR array of shape (n_samples, n_labels)
        Checked label sets and scores.
    place_weights : ndarray of shape (k,)
        Weights of the places, the first one first.
    worth : float or ndarray of shape (n_labels,), default=1.0
        What each label is worth where it is relevant.
    ties : str
        How equal scores are ordered: "pessimistic" places what is worth least first.
    """
    rule = check_ties(ties)
    return np.concatenate(
        [
            _in_order(dense_rows(true, rows) * worth, -dense_rows(scores, rows), rule)[:, : len(place_weights)]
            @ place_weights
            for rows in row_blocks(true.shape[0], bytes_per_row=8 * true.shape[1], budget=BLOCK_BYTES)
        ]
    )


def best_sums(true: Matrix, k: int, worth: FloatArray) -> FloatArray:
    """Return for each row what its k labels of most worth are worth, (n_samples,)."""
    return np.concatenate(
        [
            np.sort(dense_rows(true, rows) * worth, axis=1)[:, -k:].sum(axis=1)
            for rows in row_blocks(true.shape[0], bytes_per_row=8 * true.shape[1], budget=BLOCK_BYTES)
        ]
    )


def _in_order(gains: FloatArray, losses: FloatArray, ties: TieRule) -> FloatArray:
    """Return the gains of each row in the order of its ranking; `losses` are the negated scores."""
    if ties == "high":
        return _in_order(gains[:, ::-1], losses[:, ::-1], "low")
    if ties in ("pessimistic", "optimistic"):
        order = np.lexsort((gains if ties == "pessimistic" else -gains, losses))
    else:
        order = np.argsort(losses, axis=1, kind="stable")
    ordered = np.take_along_axis(gains, order, axis=1)
    return _shared(ordered, np.take_along_axis(losses, order, axis=1)) if ties == "average" else ordered


def _shared(gains: FloatArray, losses: FloatArray) -> FloatArray:
    """Return the gains with those of each group of equal losses replaced by their mean."""
    opens = np.ones(losses.shape, dtype=bool)
    opens[:, 1:] = losses[:, 1:] != losses[:, :-1]
    group = np.cumsum(opens) - 1
    means: FloatArray = np.bincount(group, weights=gains.ravel()) / np.bincount(group)
    shared: FloatArray = means[group].reshape(gains.shape)
    return shared
