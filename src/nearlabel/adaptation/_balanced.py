"""The nearest feasible dual point of Rank-SVM: inside the box, with zero sums of the labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearlabel.adaptation._label_pairs import LabelPairs
from nearlabel.utils.types import FloatArray

_MAX_STEPS, _MAX_HALVINGS, _ACCURACY, _RIDGE = 50, 30, 1e-12, 1e-8
_ROUNDING = 1e-13  # tolerated relative rounding error of the function, so that the last steps are accepted


def balanced(alpha: FloatArray, pairs: LabelPairs, caps: FloatArray) -> FloatArray:
    """Return the point nearest to α with 0 <= α <= caps and Σ_i β_ik = 0 for every label k.

    It is α_ijl - (ν_j - ν_l), clipped. The multipliers ν minimise a convex, piecewise quadratic function, whose
    gradient is the negative of the sums: Newton's method with step halving.
    """
    projection = _Projection(alpha, pairs, caps)
    multipliers = np.zeros(pairs.n_labels)
    value, nearest, sums = projection.at(multipliers)
    for _ in range(_MAX_STEPS):
        if np.abs(sums).max() <= _ACCURACY * nearest.sum():
            break
        step = np.linalg.solve(projection.curvature(nearest), sums)
        for shrinkage in 0.5 ** np.arange(_MAX_HALVINGS):
            lower, nearest, sums = projection.at(multipliers + shrinkage * step)
            if lower <= value + _ROUNDING * abs(value):
                break
        multipliers, value = multipliers + shrinkage * step, lower
    return nearest


@dataclass(frozen=True)
class _Projection:
    """The function of the multipliers that the projection minimises."""

    alpha: FloatArray
    pairs: LabelPairs
    caps: FloatArray

    def at(self, multipliers: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return the function's value, the clipped point, and the sum of each label."""
        moved = self.alpha - self.pairs.margins(np.tile(multipliers, (self.pairs.n_rows, 1)))
        nearest = np.clip(moved, 0, self.caps)
        return float(nearest @ (moved - nearest / 2)), nearest, self.pairs.spread(nearest).sum(axis=0)

    def curvature(self, nearest: FloatArray) -> FloatArray:
        """Return the Laplacian of the graph of labels whose edges are the pairs inside the box, made nonsingular."""
        inside = (nearest > 0) & (nearest < self.caps)
        edges = self.pairs.count(inside)
        return np.asarray(np.diag(edges.sum(axis=1) + _RIDGE * (1 + inside.sum())) - edges)
