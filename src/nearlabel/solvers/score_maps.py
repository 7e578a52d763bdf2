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
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix
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
_SLOPES = 2e-3, 50.0  # at a slope beyond these a logistic curve does not fit
_LEAST_POSITIVES = 2_000  # with fewer, all labels share an intercept
_PSEUDO_CELLS = 50.0  # that draw the intercept of a label to the common one
_MOST_CELLS = 20_000_000  # with more, a sample of the rows
_BINS = 64, 512, 2**19  # at least and at most, and in all labels together
_MOST_STEPS = 30
_SHOWN_LEAST = 1e-3  # to which probabilities are clipped before their log loss is compared


class JointMap(NamedTuple):
    """An increasing map of the scores of all labels to probabilities.

    It is a logistic curve in the position of a score: its log-odds, or the standardised decision value. All labels
    share the slope. If no slope fits, it is the line through `steps`, which have positions in place of scores.
    """

    are_probabilities: bool
    center: float  # of decision values
    scale: float
    slope: float
    intercepts: FloatArray  # (n_labels,)
    steps: Interpolation | None

    def predict(self, scores: Matrix) -> FloatArray:
        """Return the probabilities of scores (n, n_labels); minus and plus infinity stay certain, with 0 and 1."""
        given = np.asarray(scores, dtype=np.float64)
        mapped = np.empty(given.shape)
        for block in row_blocks(len(given), 40 * given.shape[1]):
            positions = self.positions(given[block])
            if self.steps is None:
                mapped[block] = expit(self.slope * positions + self.intercepts)
            else:
                mapped[block] = self.steps.predict(positions)
        return np.where(np.isfinite(given), mapped, given > 0)

    def of_labels(self, labels: IntArray) -> JointMap:
        """Return the map of some labels, by index."""
        return self._replace(intercepts=self.intercepts[labels])

    def positions(self, scores: FloatArray) -> FloatArray:
        """Return the positions of finite scores."""
        if self.are_probabilities:
            shares = np.clip(scores, np.finfo(np.float64).smallest_subnormal, 1)
            with np.errstate(divide="ignore"):
                positions = np.log(shares) - np.log1p(-shares)  # each term rises with the share, rounded too
            positions = np.minimum(positions, _MOST_LOG_ODDS)
        else:
            finite = np.nan_to_num(scores, posinf=_FINITE, neginf=-_FINITE)
            positions = (finite - self.center) / self.scale
        within = np.clip(positions, -_MOST_LOG_ODDS, _MOST_LOG_ODDS)
        return np.asarray(within + _REST * np.clip(positions - within, -1e6, 1e6))


def fit_joint_map(
    scores: Matrix, truth: PartialLabels, weights: FloatArray | None = None, *, are_probabilities: bool
) -> JointMap:
    """Return the map of all labels, of least log loss over the known cells.

    The targets of positives are a little below 1, those of negatives a little above 0 (Platt), so a map of few cells is
    never certain. A label of one class gets an intercept of its own, and so does every label if there are at least
    2,000 positives; 50 pseudo-cells with the probabilities of the common curve draw it to the common one. If the slope
    is at a bound, or the log loss is no lower than that of the scores themselves, the line through the pools of an
    isotonic regression replaces the curve; equal pools are spread by 1e-9 a step, so that the map increases.

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
        Probabilities of 0.5 if no cell counts.
    """
    n_rows, n_labels = scores.shape
    rows: Any = slice(None)
    if n_rows * n_labels > _MOST_CELLS:
        rows = np.sort(np.random.RandomState(0).permutation(n_rows)[: max(1, _MOST_CELLS // n_labels)])
    weights = np.ones(n_rows) if weights is None else np.asarray(weights, dtype=np.float64)
    scores = np.asarray(scores, dtype=np.float64)[rows]
    plain = _plain(scores, are_probabilities=are_probabilities)
    bins = _Bins.of(plain, scores, truth.rows(rows), weights[rows])
    pooled = bins.pooled()
    slope, common = _common_curve(pooled)
    fits = _SLOPES[0] < slope < _SLOPES[1]
    if fits and are_probabilities:
        fits = _clipped_loss(pooled, slope, common) <= _clipped_loss(pooled, 1.0, 0.0)
    if not fits:
        return plain._replace(steps=_spread(pooled))
    slope, intercepts = _own_intercepts(bins, slope, common)
    return plain._replace(slope=slope, intercepts=intercepts)


def _plain(scores: FloatArray, *, are_probabilities: bool) -> JointMap:
    """Return the map that leaves probabilities unchanged, or standardises decision values."""
    center, scale = 0.0, 1.0
    finite = np.isfinite(scores)
    if not are_probabilities and finite.any():
        values = np.clip(scores[finite], -_FINITE, _FINITE)
        center, scale = float(values.mean()), float(values.std()) or 1.0
    return JointMap(are_probabilities, center, scale, 1.0, np.zeros(scores.shape[1]), None)


class _Bins(NamedTuple):
    """Known cells by label and position, (n_labels, n_bins): the sums of positions, of weights, of positives' weights.

    Positions are rounded, so that sums are the same in every order of samples and labels if weights are whole numbers.
    The labels are in an order that their numbers give.
    """

    summed: FloatArray
    trials: FloatArray
    positives: FloatArray
    order: IntArray  # their columns in y

    @classmethod
    def of(cls, plain: JointMap, scores: FloatArray, truth: PartialLabels, weights: FloatArray) -> _Bins:
        """Sum the cells with finite scores."""
        n_labels = scores.shape[1]
        n_bins = max(_BINS[0], min(_BINS[1], _BINS[2] // n_labels))
        finite, middle = np.isfinite(scores), plain.center
        low, high = plain.positions(
            np.array([extreme(scores, where=finite, initial=middle) for extreme in (np.min, np.max)])
        )
        sums = np.zeros((3, n_labels * n_bins))
        for block in row_blocks(len(scores), 100 * n_labels):
            positions = np.rint(plain.positions(scores[block]) / _UNIT) * _UNIT
            places = np.clip((positions - low) * (n_bins / max(high - low, 1e-300)), 0, n_bins - 1).astype(np.intp)
            places += n_bins * np.arange(n_labels)
            trials = weights[block, np.newaxis] * finite[block]
            if truth.unknown is not None:
                trials *= as_dense(truth.unknown[block]) == 0
            each = trials * positions, trials, trials * as_dense(truth.labels[block])
            for total, values in zip(sums, each, strict=True):
                total += np.bincount(places.ravel(), values.ravel(), len(total))
        summed, trials, positives = sums.reshape(3, n_labels, n_bins)
        keys = [tuple(part.tobytes() for part in parts) for parts in zip(summed, trials, positives, strict=True)]
        order = np.array(sorted(range(n_labels), key=keys.__getitem__), dtype=np.intp)
        return cls(summed[order], trials[order], positives[order], order)

    @property
    def n_positives(self) -> float:
        """The weight of all positives."""
        return float(self.positives.sum())

    def levels(self, summed: FloatArray, trials: FloatArray, positives: FloatArray) -> Levels:
        """Return bins that are not empty as levels, with Platt's targets."""
        n1 = self.n_positives
        lowest, highest = 1 / (self.trials.sum() - n1 + 2), (n1 + 1) / (n1 + 2)
        return Levels(summed / trials, trials, trials * lowest + positives * (highest - lowest))

    def pooled(self) -> Levels:
        """Return the bins of all labels together."""
        summed, trials, positives = (part.sum(axis=0) for part in self[:3])
        kept = trials > 0
        return self.levels(summed[kept], trials[kept], positives[kept])

    def with_own_intercept(self) -> BoolArray:
        """Return which labels get an intercept of their own: all, or those of one class."""
        known, positives = self.trials.sum(axis=1), self.positives.sum(axis=1)
        if self.n_positives >= _LEAST_POSITIVES:
            return known > 0
        return np.asarray((known > 0) & ((positives == 0) | (positives == known)))


def _common_curve(pooled: Levels) -> tuple[float, float]:
    """Return slope and intercept."""
    intercept, slope = fit_binomial(pooled.scores[:, np.newaxis], pooled.successes, pooled.trials, _RIDGE).coef
    return float(slope), float(intercept)


def _clipped_loss(pooled: Levels, slope: float, intercept: float) -> float:
    """Return the log loss of a curve whose probabilities are clipped."""
    p = np.clip(expit(intercept + slope * pooled.scores), _SHOWN_LEAST, 1 - _SHOWN_LEAST)
    return -float(pooled.successes @ np.log(p) + (pooled.trials - pooled.successes) @ np.log1p(-p))


def _own_intercepts(bins: _Bins, slope: float, common: float) -> tuple[float, FloatArray]:
    """Return the slope and the intercepts of all labels, by Newton steps from the common curve."""
    own = bins.with_own_intercept()
    intercepts = np.full(len(own), common)
    if not own.any():
        return slope, intercepts
    group = np.where(own, np.cumsum(own), 0)
    label, place = np.nonzero(bins.trials)
    positions, trials, successes = bins.levels(*(part[label, place] for part in bins[:3]))
    pseudo = np.where(own, _PSEUDO_CELLS / np.maximum(bins.trials.sum(axis=1), 1e-300), 0.0)[label] * trials
    successes = successes + pseudo * expit(slope * positions + common)
    curves = _Curves(group[label], positions, successes, trials + pseudo)
    slope, of_groups = curves.fitted(slope, np.full(group.max() + 1, common))
    intercepts[bins.order] = of_groups[group]
    return slope, intercepts


class _Curves(NamedTuple):
    """Logistic curves of groups of levels, with one slope and an intercept for each group."""

    group: IntArray
    positions: FloatArray
    successes: FloatArray
    trials: FloatArray

    def fitted(self, slope: float, intercepts: FloatArray) -> tuple[float, FloatArray]:
        """Return slope and intercepts of maximum likelihood, from a start, with a slope above 0."""
        loss = self._loss(slope, intercepts)
        for _ in range(_MOST_STEPS):
            step, moves = self._newton_step(slope, intercepts)
            length = 1.0
            while slope + length * step <= 0 or self._loss(slope + length * step, intercepts + length * moves) > loss:
                length /= 2
                if length < 1e-6:
                    return slope, intercepts
            slope, intercepts = slope + length * step, intercepts + length * moves
            before, loss = loss, self._loss(slope, intercepts)
            if before - loss <= 1e-9 * abs(loss):
                break
        return slope, intercepts

    def _loss(self, slope: float, intercepts: FloatArray) -> float:
        linear = slope * self.positions + intercepts[self.group]
        return float(self.trials @ np.logaddexp(0, linear) - self.successes @ linear)

    def _newton_step(self, slope: float, intercepts: FloatArray) -> tuple[float, FloatArray]:
        """Return the steps of slope and intercepts; the Hessian has the shape of an arrow."""
        p = expit(slope * self.positions + intercepts[self.group])
        residual, curvature = self.successes - self.trials * p, self.trials * p * (1 - p)
        by_intercept, own, mixed = (
            np.bincount(self.group, values, len(intercepts))
            for values in (residual, curvature, curvature * self.positions)
        )
        own = np.maximum(own, 1e-12)
        gradient = residual @ self.positions - mixed @ (by_intercept / own)
        step = float(gradient / max(curvature @ self.positions**2 - mixed @ (mixed / own), 1e-12))
        return step, (by_intercept - step * mixed) / own


def _spread(pooled: Levels) -> Interpolation:
    """Return the isotonic regression as a line that increases, also beyond its ends."""
    if not len(pooled.scores):
        return _constant(0.5)
    means = pooled.successes / pooled.trials
    pools = IsotonicRegression().fit_transform(pooled.scores, means, sample_weight=pooled.trials)
    order = np.arange(len(pools))
    rising = np.clip(pools, 1e-6, 1 - 1e-6) + 1e-9 * (order - order.mean())
    ends = rising[0] - 1e-7, rising[-1] + 1e-7
    scores = np.concatenate([pooled.scores[:1] - 1e3, pooled.scores, pooled.scores[-1:] + 1e3])
    return Interpolation(scores, np.concatenate([ends[:1], rising, ends[1:]]))
