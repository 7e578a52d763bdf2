"""Bounds of a risk: the largest threshold that a sum of losses allows, and p-values of the risk being too high."""

from __future__ import annotations

import numpy as np
from scipy.special import rel_entr
from scipy.stats import binom

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
