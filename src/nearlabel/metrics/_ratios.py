"""The measures of predictions as ratios of counts, each one line; the mean is over whatever the groups are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearlabel._typing import FloatArray
from nearlabel.metrics._counts import Comparison, Counts


def ratio(numerator: NDArray[Any], denominator: NDArray[Any], zero_division: float) -> FloatArray:
    """Return the quotients (n_groups,); one with denominator 0, always a 0/0 here, is `zero_division`."""
    quotients: FloatArray = np.full(denominator.shape, zero_division)
    np.divide(numerator, denominator, out=quotients, where=denominator != 0)
    return quotients


def mean(values: FloatArray) -> float:
    """Return the mean of the values that are not nan; nan, without a warning, if there is none."""
    kept = values[~np.isnan(values)]
    return float(kept.mean()) if kept.size else math.nan


def hamming(comparison: Comparison) -> float:
    """Return the share of cells in which the two matrices differ."""
    hits, predicted, true = (int(count[0]) for count in comparison.in_total)
    return (predicted + true - 2 * hits) / comparison.n_cells


def exact_match(comparison: Comparison) -> float:
    """Return the share of rows in which both sets are the same."""
    hits, predicted, true = comparison.per_example
    return float(np.mean((hits == predicted) & (hits == true)))


def jaccard(counts: Counts, zero_division: float) -> float:
    """Return the mean of intersection over union."""
    return mean(ratio(counts.hits, counts.predicted + counts.true - counts.hits, zero_division))


def precision(counts: Counts, zero_division: float) -> float:
    """Return the mean share of the predicted that is true."""
    return mean(ratio(counts.hits, counts.predicted, zero_division))


def recall(counts: Counts, zero_division: float) -> float:
    """Return the mean share of the true that is predicted."""
    return mean(ratio(counts.hits, counts.true, zero_division))


def fbeta(counts: Counts, zero_division: float, beta: float = 1.0) -> float:
    """Return the mean of the weighted harmonic mean of precision and recall, written in counts."""
    return mean(ratio((1 + beta**2) * counts.hits, beta**2 * counts.true + counts.predicted, zero_division))


def harmonic_mean(first: float, second: float) -> float:
    """Return the harmonic mean, which is 0 where both are 0."""
    return 2 * first * second / (first + second) if first + second != 0 else 0.0


def f_of_means(counts: Counts, zero_division: float) -> float:
    """Return the harmonic mean of the mean precision and the mean recall."""
    return harmonic_mean(precision(counts, zero_division), recall(counts, zero_division))
