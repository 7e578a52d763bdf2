"""Calibration: maps from scores to probabilities, fitted to scores with known labels: of one label, or of all together.

All maps are non-decreasing. That is necessary: the leave-one-out score of a positive sample is a little lower than that
of a negative sample with the same votes, since each is removed from the counts. A map that may decrease would learn
this reversed order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

from nearlabel.solvers.binomial import fit_binomial
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense, row_blocks

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


# One map for all labels, so that scores can be read as probabilities although decisions are taken on the scores.

_MOST_LOG_ODDS = 40.0  # beyond, the rest counts one thousandth, so that unequal scores stay unequal
_REST = 1e-3
_UNIT = 2.0**-20  # to which positions are rounded while the map is learnt
_LEAST_SLOPE = 2e-3
_TRUSTED = 30.0  # positives that give the curve and the regression the same weight; with more, the curve has less
_BINS = 512
_MOST_CELLS = 20_000_000  # with more, a sample of the rows


class JointMap(NamedTuple):
    """An increasing map of the scores of all labels to probabilities.

    It is a weighted mean of a logistic curve and of an isotonic regression in the position of a score: its log-odds, or
    the standardised decision value. All labels have the same map, so it changes the order of no scores.
    """

    are_probabilities: bool
    center: float  # of decision values
    scale: float
    slope: float
    intercept: float
    weight: float  # of the curve
    steps: Interpolation  # of positions

    def predict(self, scores: Matrix) -> FloatArray:
        """Return the probabilities of scores of any shape; minus and plus infinity stay certain, with 0 and 1."""
        given = np.asarray(scores, dtype=np.float64)
        mapped = np.empty(given.shape)
        for block in row_blocks(len(given), 40 * int(np.prod(given.shape[1:]))):
            positions = self.positions(given[block])
            curve, steps = expit(self.slope * positions + self.intercept), self.steps.predict(positions)
            mapped[block] = self.weight * curve + (1 - self.weight) * steps
        return np.where(np.isfinite(given), mapped, given > 0)

    def positions(self, scores: FloatArray) -> FloatArray:
        """Return the positions of finite scores."""
        if self.are_probabilities:
            shares = np.clip(scores, np.finfo(np.float64).smallest_subnormal, 1)
            with np.errstate(divide="ignore"):
                positions = np.log(shares) - np.log1p(-shares)  # each term rises with the share, rounded too
            positions = np.minimum(positions, _MOST_LOG_ODDS)
        else:
            positions = (np.clip(scores, -_FINITE, _FINITE) - self.center) / self.scale
        within = np.clip(positions, -_MOST_LOG_ODDS, _MOST_LOG_ODDS)
        return np.asarray(within + _REST * np.clip(positions - within, -1e6, 1e6))


def fit_joint_map(
    scores: Matrix, truth: PartialLabels, weights: FloatArray | None = None, *, are_probabilities: bool
) -> JointMap:
    """Return the map of all labels, fitted to their known cells.

    The curve has the lowest log loss; its slope is above 0. Its weight is 30 / (30 + positives): few cells determine a
    curve, but not a regression, and scores of 0 by votes are on no curve. The targets of positives are a little below
    1, those of negatives a little above 0 (Platt), so a map of few cells is never certain. The map is the same in every
    order of samples and labels, to the bit if weights are whole numbers.

    Parameters
    ----------
    scores : ndarray of shape (n, n_labels)
        Scores of held-out samples. Infinite ones do not count. If there are more than 20 million cells, a random
        sample of the rows counts.
    truth : PartialLabels
        Label sets of these samples, and their unknown cells.
    weights : ndarray of shape (n,), default=None
        Sample weights, at least 0.
    are_probabilities : bool
        Whether the scores are probabilities from 0 to 1, or decision values.

    Returns
    -------
    JointMap
        Probabilities of about 0.5 if no cell counts.
    """
    n_rows, n_labels = scores.shape
    rows: Any = slice(None)
    if n_rows * n_labels > _MOST_CELLS:
        rows = np.sort(np.random.RandomState(0).permutation(n_rows)[: max(1, _MOST_CELLS // n_labels)])
    weights = np.ones(n_rows) if weights is None else np.asarray(weights, dtype=np.float64)
    scores = np.asarray(scores, dtype=np.float64)[rows]
    plain = _unfitted(scores, are_probabilities=are_probabilities)
    bins = _bins(plain, scores, truth.rows(rows), weights[rows])
    if not len(bins.scores):
        return plain
    intercept, slope = fit_binomial(bins.scores[:, np.newaxis], bins.successes, bins.trials, _RIDGE).coef
    if not slope >= _LEAST_SLOPE:  # scores that predict the contrary, or nothing
        slope = _LEAST_SLOPE
        middle = (bins.trials @ bins.scores) / bins.trials.sum()
        intercept = logit(bins.successes.sum() / bins.trials.sum()) - slope * middle
    weight = _TRUSTED / (_TRUSTED + float(bins.successes.sum()))
    return plain._replace(slope=float(slope), intercept=float(intercept), weight=weight, steps=_isotonic(bins))


def _unfitted(scores: FloatArray, *, are_probabilities: bool) -> JointMap:
    """Return a map that knows the positions of scores."""
    center, scale = 0.0, 1.0
    finite = np.isfinite(scores)
    if not are_probabilities and finite.any():
        values = np.clip(scores[finite], -_FINITE, _FINITE)
        center, scale = float(values.mean()), float(values.std()) or 1.0
    return JointMap(are_probabilities, center, scale, _LEAST_SLOPE, 0.0, 1.0, _constant(0.5))


def _bins(plain: JointMap, scores: FloatArray, truth: PartialLabels, weights: FloatArray) -> Levels:
    """Return the known cells with finite scores as levels, the mean positions in bins of equal width.

    Positions are rounded, so that their sums are exact.
    """
    n_labels, finite = scores.shape[1], np.isfinite(scores)
    ends = [extreme(scores, where=finite, initial=plain.center) for extreme in (np.min, np.max)]
    low, high = plain.positions(np.array(ends))
    sums = np.zeros((3, _BINS))
    for block in row_blocks(len(scores), 100 * n_labels):
        positions = np.rint(plain.positions(scores[block]) / _UNIT) * _UNIT
        places = np.clip((positions - low) * (_BINS / max(high - low, 1e-300)), 0, _BINS - 1).astype(np.intp)
        trials = weights[block, np.newaxis] * finite[block]
        if truth.unknown is not None:
            trials *= as_dense(truth.unknown[block]) == 0
        each = trials * positions, trials, trials * as_dense(truth.labels[block])
        sums += [np.bincount(places.ravel(), values.ravel(), _BINS) for values in each]
    summed, trials, positives = sums[:, sums[1] > 0]
    n1 = positives.sum()
    lowest, highest = 1 / (trials.sum() - n1 + 2), (n1 + 1) / (n1 + 2)
    return Levels(summed / trials, trials, trials * lowest + positives * (highest - lowest))
