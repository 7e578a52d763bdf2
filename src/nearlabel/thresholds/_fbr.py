"""FBR: Yang's two heuristics against overfitted thresholds of rare labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state

from nearlabel.decision import cut
from nearlabel.metrics.ratios import fbeta
from nearlabel.metrics.truth import blank_scores
from nearlabel.thresholds._objective import Objective, check_beta, label_counts
from nearlabel.thresholds._strategy import ByThresholds
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.types import FloatArray
from nearlabel.utils.validation import check_integer, check_positive

GRID = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


class FBR(ByThresholds):
    """Raise the thresholds that another strategy gave to labels whose tuned F-beta is below a limit, `fbr`.

    A threshold tuned on few positives is uncertain, and a threshold that is too low costs more than one that is too
    high. If a label's tuned F is below `fbr`, its threshold becomes infinity (variant 0: only a score of infinity is
    predicted) or the label's highest score (variant 1) (Yang 2001, as FBR.0 and FBR.1).

    Parameters
    ----------
    strategy : ByThresholds
        A strategy with a threshold for each label, such as `SCut()` or `MicroFOptimum()`; cloned in `fit`.
    variant : {0, 1}, default=1
        Which heuristic.
    fbr : "auto" or float, default="auto"
        The limit. "auto": the one of 0.1, 0.2, ..., 0.8 with the largest sum of the strategy's metric over the folds of
        a cross-validation; the largest if several are equally good, the smallest if all sums are 0.
    beta : float, default=1.0
        Weight of recall against precision in the tuned F.
    cv : int, default=5
        Folds for "auto".
    random_state : int, RandomState or None, default=None
        Shuffles the samples before they are split into folds. None: consecutive samples.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_labels,)
        A label is predicted if its score is at least this.
    strategy_ : ByThresholds
        The fitted strategy.
    fbr_ : float
        The limit used.
    rare_ : ndarray of bool of shape (n_labels,)
        Labels whose tuned F is below the limit.
    objective_ : float
        The value reached of the metric that the strategy optimises.
    n_labels_ : int
        Number of labels.

    Notes
    -----
    No threshold is lowered: if the strategy never predicts a label, variant 1 does not change this. (Yang describes
    thresholds tuned label by label, which always predict some sample.) The grid and the rules for ties are those of Fan
    and Lin's program; the papers do not define them.

    References
    ----------
    Y. Yang: A study of thresholding strategies for text categorization. SIGIR 2001.
    R.-E. Fan, C.-J. Lin: A study on threshold selection for multi-label classification. Technical report, 2007.

    Examples
    --------
    >>> from nearlabel.thresholds import FBR, SCut
    >>> scores = [[0.9, 0.2], [0.8, 0.1], [0.3, 0.4], [0.1, 0.3]]
    >>> y = [[1, 1], [0, 0], [1, 0], [0, 0]]
    >>> FBR(SCut(), variant=0, fbr=0.6).fit(scores, y).thresholds_
    array([0.2, inf])
    """

    def __init__(
        self,
        strategy: ByThresholds,
        variant: int = 1,
        fbr: float | str = "auto",
        *,
        beta: float = 1.0,
        cv: int = 5,
        random_state: int | RandomState | None = None,
    ) -> None:
        self.strategy = strategy
        self.variant = variant
        self.fbr = fbr
        self.beta = beta
        self.cv = cv
        self.random_state = random_state

    def _check_parameters(self) -> None:
        if not isinstance(self.strategy, ByThresholds):
            raise TypeError(f"strategy must be one that gives each label a threshold, got {self.strategy!r}.")
        if self.variant not in (0, 1) or isinstance(self.variant, bool):
            raise ValueError(f"variant must be 0 or 1, got {self.variant!r}.")
        if self.fbr != "auto" and self.fbr != 0:
            check_positive("fbr", self.fbr)
        check_beta(self.beta)
        check_integer("cv", self.cv, low=2)

    def _objective(self) -> Objective | None:
        return self.strategy._objective()

    def _reached(self, truth: PartialLabels, predicted: NDArray[Any], weights: Any) -> float:
        return self.strategy._reached(truth, predicted, weights)

    def _learn(self, scores: NDArray[Any], truth: PartialLabels, weights: Any) -> None:
        self.fbr_ = self._best_limit(scores, truth, weights) if self.fbr == "auto" else float(self.fbr)
        tuned = self._tune(scores, truth, weights)
        self.strategy_ = tuned.strategy
        self.rare_ = tuned.f < self.fbr_
        self.thresholds_ = tuned.thresholds(self.fbr_)
        self.objective_ = self._reached(truth, cut(scores, self.thresholds_), weights)

    def _tune(self, scores: NDArray[Any], truth: PartialLabels, weights: Any) -> _Tuned:
        strategy = clone(self.strategy)._fit_checked(scores, truth, weights)
        counts = label_counts(truth, strategy._decide(scores), weights)
        if self.variant == 0:
            raised = np.full(scores.shape[1], np.inf)
        else:  # of a label that no row knows there is no highest score
            highest = np.fmax.reduce(blank_scores(scores, truth.unknown), axis=0)
            raised = np.fmax(highest, strategy.thresholds_)
        return _Tuned(strategy, fbeta(self.beta)(counts, 0.0), raised)

    def _best_limit(self, scores: NDArray[Any], truth: PartialLabels, weights: Any) -> float:
        """Return the limit of largest summed value over the folds."""
        n_rows = scores.shape[0]
        if self.cv > n_rows:
            raise ValueError(f"cv must be at most the {n_rows} rows, got {self.cv}.")
        shuffle = self.random_state is not None
        random = check_random_state(self.random_state) if shuffle else None
        sums = np.zeros(len(GRID))
        for rest, part in KFold(self.cv, shuffle=shuffle, random_state=random).split(np.zeros(n_rows)):
            of_rest, of_part = (None, None) if weights is None else (weights[rest], weights[part])
            tuned = self._tune(scores[rest], truth.rows(rest), of_rest)
            for place, limit in enumerate(GRID):
                predicted = cut(scores[part], tuned.thresholds(limit))
                sums[place] += self._reached(truth.rows(part), predicted, of_part)
        if np.isnan(sums).any():
            raise ValueError(
                f"fbr must be a number where the strategy optimises no metric as {self.strategy!r}, got 'auto'."
            )
        objective = self._objective()
        sums *= 1 if objective is None else objective.sign
        return GRID[0] if not sums.any() else GRID[int(np.flatnonzero(sums == sums.max())[-1])]


class _Tuned:
    """A fitted strategy, the F of each label, and the threshold that each gets where that is too low."""

    def __init__(self, strategy: ByThresholds, f: FloatArray, raised: FloatArray) -> None:
        self.strategy, self.f, self.raised = strategy, f, raised

    def thresholds(self, limit: float) -> FloatArray:
        return np.where(self.f < limit, self.raised, self.strategy.thresholds_)
