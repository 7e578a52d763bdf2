"""Compare the scores of new samples with those on which thresholds were calibrated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import ks_2samp

from nearlabel.utils.types import FloatArray


class ScoreShift(NamedTuple):
    """The difference between two samples of scores: the test of Kolmogorov and Smirnov.

    Parameters
    ----------
    statistic : float
        The largest difference between their distribution functions, from 0 to 1.
    p_value : float
        Of the hypothesis that both come from one distribution. With many equal scores it is too large, never too small.
    """

    statistic: float
    p_value: float


def score_shift(reference: ArrayLike, scores: ArrayLike) -> ScoreShift:
    """Compare the scores of two sets of samples by the two-sample test of Kolmogorov and Smirnov.

    A guarantee of `RiskControl` is valid for samples like those of calibration. A low p-value indicates that new
    samples differ from them. A high p-value does not prove that they are similar: the meaning of a label may change
    while the scores stay the same.

    Parameters
    ----------
    reference : array-like of shape (n_reference,)
        One score for each calibration sample, such as its highest: `RiskControl.top_scores_`.
    scores : array-like of shape (n_queries,)
        The same score for new samples, which should be drawn independently: parts of one document are not informative.

    Returns
    -------
    ScoreShift
        The statistic and its p-value.

    Raises
    ------
    ValueError
        If one of them is not one-dimensional, is empty or contains NaN.

    Examples
    --------
    >>> from nearlabel.thresholds import score_shift
    >>> shift = score_shift([0.1, 0.4, 0.5, 0.9], [0.6, 0.7, 0.8, 0.95])
    >>> shift.statistic, round(shift.p_value, 3)
    (0.75, 0.229)
    """
    result = ks_2samp(_checked("reference", reference), _checked("scores", scores))
    return ScoreShift(float(result.statistic), float(result.pvalue))


def _checked(name: str, values: ArrayLike) -> FloatArray:
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 1 or not len(scores) or np.isnan(scores).any():
        raise ValueError(
            f"{name} must be a score for each of some rows, none of them NaN, got an array of shape {scores.shape}."
        )
    return scores
