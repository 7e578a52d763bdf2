"""Calibration: maps from the scores of a label to probabilities, fitted to scores with known labels.

All maps are non-decreasing. That is necessary: the leave-one-out score of a positive sample is a little lower than that
of a negative sample with the same votes, since each is removed from the counts. A map that may decrease would learn
this reversed order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

from nearlabel.solvers.binomial import fit_binomial
from nearlabel.utils.types import FloatArray, IntArray

_RIDGE = 1e-3  # makes the fit of linearly dependent columns unique; no effect on others
_LEAST = 1e-6  # minimum distance of probabilities from 0 and 1
_FINITE = 1e100  # replaces infinite decision values


class Interpolation(NamedTuple):
    """A map that is linear between given scores, and constant beyond the first and the last."""

    scores: FloatArray
    probabilities: FloatArray

    def predict(self, scores: FloatArray) -> FloatArray:
        """Return the probabilities of scores (n,)."""
        return np.asarray(np.interp(scores, self.scores, self.probabilities))


class Logistic(NamedTuple):
    """A map whose log-odds are linear in one or two functions of the score."""

    kind: str  # a key of `_COLUMNS`
    coef: FloatArray  # the intercept first
    low: float  # lower scores are raised to this
    high: float

    def predict(self, scores: FloatArray) -> FloatArray:
        """Return the probabilities of scores (n,)."""
        columns = _COLUMNS[self.kind](np.clip(scores, self.low, self.high))
        return np.asarray(expit(self.coef[0] + columns @ self.coef[1:]))


ScoreMap = Interpolation | Logistic

_COLUMNS: Mapping[str, Callable[[FloatArray], FloatArray]] = MappingProxyType(
    {
        "values": lambda values: values[:, np.newaxis],
        "log-odds": lambda shares: logit(shares)[:, np.newaxis],
        "two logarithms": lambda shares: np.column_stack([np.log(shares), -np.log1p(-shares)]),
    }
)


class Levels(NamedTuple):
    """The distinct scores of some rows, with the weight of the rows and of their targets at each."""

    scores: FloatArray
    trials: FloatArray
    successes: FloatArray

    @classmethod
    def of(cls, scores: FloatArray, y: IntArray, weights: FloatArray) -> Levels:
        """Sum targets (n1 + 1) / (n1 + 2) and 1 / (n0 + 2) instead of 1 and 0 (Platt); infinite scores are left out.

        n1 and n0 are the weights of all rows with and without the label.
        """
        n1 = (weights * y).sum()
        targets = np.where(y == 1, (n1 + 1) / (n1 + 2), 1 / (weights.sum() - n1 + 2))
        finite = np.isfinite(scores)
        levels, places = np.unique(scores[finite], return_inverse=True)
        trials, successes = (np.bincount(places, each[finite]) for each in (weights, weights * targets))
        return cls(levels, trials.astype(np.float64), successes.astype(np.float64))


def fit_score_map(
    method: str, scores: FloatArray, y: IntArray, weights: FloatArray, *, are_probabilities: bool
) -> ScoreMap:
    """Return the map of a label, fitted to rows in which it is known.

    Parameters
    ----------
    method : {"sigmoid", "isotonic", "beta"}
        "beta" accepts probabilities only.
    scores : ndarray of shape (n,)
        Scores of held-out samples.
    y : ndarray of shape (n,)
        True values, 0 and 1.
    weights : ndarray of shape (n,)
        Sample weights, above 0.
    are_probabilities : bool
        Whether the scores are probabilities from 0 to 1, or decision values.

    Returns
    -------
    Interpolation or Logistic
        A constant map if all scores are equal (the mean target), or without rows (0).
    """
    levels = Levels.of(scores, y, weights)
    if not len(levels.scores):
        return _constant((weights @ y + 1) / (weights.sum() + 2) if len(y) else 0.0)
    if method == "isotonic":
        return _isotonic(levels)
    if not are_probabilities:
        return _logistic("values", levels, -_FINITE, _FINITE)
    low, high = _limits(levels.scores)
    return _logistic("two logarithms" if method == "beta" else "log-odds", levels, low, high)


def _constant(probability: float) -> Interpolation:
    return Interpolation(np.zeros(1), np.full(1, probability))


def _isotonic(levels: Levels) -> Interpolation:
    means = levels.successes / levels.trials
    fitted = IsotonicRegression().fit(levels.scores, means, sample_weight=levels.trials)
    return Interpolation(fitted.X_thresholds_, fitted.y_thresholds_)


def _limits(shares: FloatArray) -> tuple[float, float]:
    """Return replacements of 0 and 1, which have no log-odds: halfway to the nearest share between them, or to 0.5."""
    between = shares[(shares > 0) & (shares < 1)]
    least, most = (between.min(), between.max()) if len(between) else (0.5, 0.5)
    return float(max(least / 2, _LEAST)), float(1 - max((1 - most) / 2, _LEAST))


def _logistic(kind: str, levels: Levels, low: float, high: float) -> Logistic:
    columns = _COLUMNS[kind](np.clip(levels.scores, low, high))
    return Logistic(kind, _rising(columns, levels), low, high)


def _rising(columns: FloatArray, levels: Levels) -> FloatArray:
    """Return the maximum-likelihood coefficients, the intercept first, with slopes of at least 0."""
    varying = np.flatnonzero(np.ptp(columns, axis=0) > 0).tolist()
    for size in range(len(varying), 0, -1):
        fits = [_fit_some(columns, list(kept), levels) for kept in combinations(varying, size)]
        rising = [coef for coef in fits if coef[1:].min() >= 0]
        if rising:
            return min(rising, key=lambda coef: _loss(coef, columns, levels))
    mean = levels.successes.sum() / levels.trials.sum()
    return np.append(logit(mean), np.zeros(columns.shape[1]))


def _fit_some(columns: FloatArray, kept: list[int], levels: Levels) -> FloatArray:
    """Return the coefficients of a regression on some columns, 0 for the others."""
    coef = np.zeros(1 + columns.shape[1])
    fit = fit_binomial(columns[:, kept], levels.successes, levels.trials, _RIDGE)
    coef[[0, *(1 + column for column in kept)]] = fit.coef
    return coef


def _loss(coef: FloatArray, columns: FloatArray, levels: Levels) -> float:
    linear = coef[0] + columns @ coef[1:]
    return float((levels.trials * np.logaddexp(0, linear) - levels.successes * linear).sum())
