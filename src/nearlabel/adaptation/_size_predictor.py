"""A threshold on the scores of each row that is linear in these scores.

Elisseeff and Weston (2001) call it the set size predictor; Zhang and Zhou (2006) use the same.
"""

from __future__ import annotations

import numpy as np

from nearlabel.utils.types import FloatArray, IntArray

_OUTSIDE = 0.1  # distance from the scores of a threshold that excludes all or no labels, as in the authors' program
_RANK_TOLERANCE = 1e-8  # the scores of a row often have a constant sum up to rounding, which must not be fitted


def best_thresholds(scores: FloatArray, labels: IntArray) -> FloatArray:
    """Return, for each row, the threshold with the fewest wrong labels.

    Candidates are the midpoints between the sorted scores of the row, and 0.1 below and above all of them. Ties go to
    the lowest.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_labels)
        Scores.
    labels : ndarray of shape (n_rows, n_labels)
        Indicator matrix.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    order = np.argsort(scores, axis=1)
    rising, right = np.take_along_axis(scores, order, axis=1), np.take_along_axis(labels, order, axis=1)
    candidates = np.column_stack(
        [rising[:, 0] - _OUTSIDE, (rising[:, :-1] + rising[:, 1:]) / 2, rising[:, -1] + _OUTSIDE]
    )
    missed = np.cumsum(np.pad(right, ((0, 0), (1, 0))), axis=1)  # relevant labels below the threshold
    wrongly = np.cumsum(np.pad(1 - right, ((0, 0), (0, 1)))[:, ::-1], axis=1)[:, ::-1]  # irrelevant labels above it
    errors = (missed + wrongly).astype(np.float64)
    errors[:, 1:-1][rising[:, :-1] == rising[:, 1:]] = np.inf  # no threshold separates equal scores
    return np.take_along_axis(candidates, np.argmin(errors, axis=1)[:, np.newaxis], axis=1)[:, 0]


def fit_size_predictor(scores: FloatArray, labels: IntArray) -> FloatArray:
    """Return the least-squares fit of the best thresholds: the coefficients of the scores, followed by the constant."""
    design = np.column_stack([scores, np.ones(len(scores))])
    return np.asarray(np.linalg.lstsq(design, best_thresholds(scores, labels), rcond=_RANK_TOLERANCE)[0])


def above_threshold(scores: FloatArray, coef: FloatArray) -> FloatArray:
    """Return the scores minus the predicted threshold of their row."""
    return np.asarray(scores - (scores @ coef[:-1] + coef[-1])[:, np.newaxis])
