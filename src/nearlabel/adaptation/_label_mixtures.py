"""Mixtures of independent labels, p(y) = Σ_k π_k Π_l b_kl(y_l), one per query, computed in logarithms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from nearlabel.utils.types import BoolArray, FloatArray, IntArray


class LabelMixtures(NamedTuple):
    """A mixture for each query: log π_k (n, K), and the log-odds (n, K, L) of each label in each component."""

    log_weights: FloatArray
    log_odds: FloatArray

    def some(self, chosen: BoolArray | IntArray | slice) -> LabelMixtures:
        """Return the mixtures of some queries."""
        return LabelMixtures(self.log_weights[chosen], self.log_odds[chosen])

    def marginals(self) -> FloatArray:
        """Return Σ_k π_k b_kl, the probability (n, L) of each label."""
        return np.asarray(np.einsum("nk,nkl->nl", np.exp(self.log_weights), expit(self.log_odds)))

    def joint_of_none(self) -> FloatArray:
        """Return log π_k p_k(y) of the empty label set (n, K)."""
        return np.asarray(self.log_weights - log_one_plus_exp(self.log_odds).sum(axis=2))

    def joint_of_modes(self) -> FloatArray:
        """Return log π_k p_k(y) of each component's own most probable label set (n, K)."""
        return np.asarray(self.log_weights - log_one_plus_exp(-np.abs(self.log_odds)).sum(axis=2))

    def log_probability(self, sets: BoolArray) -> FloatArray:
        """Return log p(y) (n, c) of c label sets per query (n, c, L)."""
        return log_sum(self.joint_of_none()[:, np.newaxis] + sets @ self.log_odds.swapaxes(1, 2))


def log_sum(logs: FloatArray) -> FloatArray:
    """Return log Σ exp over the last axis, of finite numbers."""
    top = logs.max(axis=-1, keepdims=True)
    return np.asarray(top[..., 0] + np.log(np.exp(logs - top).sum(axis=-1)))


def log_one_plus_exp(values: FloatArray) -> FloatArray:
    """Return log(1 + exp(values)) without overflow."""
    return np.asarray(np.maximum(values, 0.0) + np.log1p(np.exp(-np.abs(values))))
