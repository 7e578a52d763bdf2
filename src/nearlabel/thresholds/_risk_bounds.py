"""Bounds of a risk: the largest threshold that a sum of losses allows, and p-values of the risk being too high."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import rel_entr
from scipy.stats import binom, ks_2samp

from nearlabel.utils.containers import require_dense, without_mask
from nearlabel.utils.types import FloatArray

EQUAL = 1e-12  # relative: sums of thousands of quotients are not exact
_HALVINGS = 50  # of an interval of length 1 at most


def largest_cut(passed: FloatArray, weights: FloatArray, allowed: float) -> tuple[float, float]:
    """Return the largest threshold whose loss is at most `allowed`, and its loss; minus infinity and 0 if none is.

    The loss of a threshold is the sum of the weights (n_cells,) of the cells below it; `passed` (n_cells,) is the
    position of each cell. The largest possible threshold is the position of the highest cell.
    """
    if allowed < 0:
        return -np.inf, 0.0
    order = np.argsort(passed, kind="stable")
    places, sums = passed[order], np.cumsum(weights[order], dtype=np.longdouble)
    # Find the first cell whose loss would exceed the allowed sum. A threshold above the cell would lose it; a threshold
    # at the cell loses neither it nor equal cells.
    best = places[min(int(np.searchsorted(sums, allowed, side="right")), len(places) - 1)]
    n_lost = np.searchsorted(places, best, side="left")
    return float(best), float(sums[n_lost - 1]) if n_lost else 0.0


def allowed_in_expectation(n_rows: int, alpha: float) -> float:
    """Return the sum of losses at which the mean, with one more row of loss 1, is alpha (conformal risk control)."""
    return alpha * (n_rows + 1) * (1 + EQUAL) - 1


def hoeffding_width(n_rows: int, delta: float) -> float:
    """Return Hoeffding's margin: a mean of n rows is below the expectation minus it with probability delta at most."""
    return float(np.sqrt(np.log(1 / delta) / (2 * n_rows)))


def hoeffding_bentkus(losses: FloatArray, n_rows: int, alpha: float) -> FloatArray:
    """Return p-values of the hypothesis that the risk exceeds alpha, for sums (n_cuts,) of losses from 0 to 1."""
    risks = np.minimum(losses / n_rows, alpha)
    hoeffding = np.exp(-n_rows * (rel_entr(risks, alpha) + rel_entr(1 - risks, 1 - alpha)))
    bentkus = np.e * binom.cdf(np.ceil(losses * (1 - EQUAL)), n_rows, alpha)
    p_values: FloatArray = np.minimum(hoeffding, bentkus)
    return p_values


def risk_at_most(loss: float, n_rows: int, delta: float) -> float:
    """Return the smallest risk that `hoeffding_bentkus` rejects for a sum of losses, with an error of delta at most."""
    low, high = loss / n_rows, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        rejected = hoeffding_bentkus(np.array([loss]), n_rows, middle)[0] <= delta
        low, high = (low, middle) if rejected else (middle, high)
    return high


def n_accepted(p_values: FloatArray, delta: float) -> int:
    """Return the number of hypotheses before the first that is not rejected: tests in a fixed order at full level."""
    failed = np.flatnonzero(p_values > delta)
    return int(failed[0]) if len(failed) else len(p_values)


# Compare the scores of new samples with those on which thresholds were calibrated.


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
    require_dense(name, values)
    scores = np.asarray(without_mask(values), dtype=np.float64)
    if scores.ndim != 1 or not len(scores) or np.isnan(scores).any():
        raise ValueError(
            f"{name} must be a score for each of some rows, none of them NaN, got an array of shape {scores.shape}."
        )
    return scores
