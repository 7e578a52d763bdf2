"""Comparison of imbalance ratios with their mean, up to rounding."""

from __future__ import annotations

import numpy as np

from nearlabel.utils.types import BoolArray, FloatArray

ROUNDING = 1e-12  # relative, of means of ratios and of their logarithms


def is_above(values: FloatArray, mean: float) -> BoolArray:
    """Return which values are above a mean by more than the rounding of either."""
    return np.asarray(values > mean * (1 + ROUNDING))
