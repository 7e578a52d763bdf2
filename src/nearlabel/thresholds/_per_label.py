"""A threshold for each label, tuned for that label alone: SCut, and FBR with its two heuristics for rare labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state

from nearlabel.metrics import CATALOGUE, Metric, MetricLike
from nearlabel.metrics.counts import Counts, fbeta, mean
from nearlabel.metrics.inputs import blank_scores
from nearlabel.models.decision import cut
from nearlabel.thresholds._cuts import EQUAL, Cuts
from nearlabel.thresholds._strategy import OF_LABELS, ByThresholds, Objective, check_beta, label_counts
from nearlabel.utils.naming import registered
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray
from nearlabel.utils.validation import check_integer, check_positive

_HINT = " Hint: MicroFOptimum finds the best micro_f1, GlobalCut and CyclicAscent serve metrics of examples."

_FUNCTIONS = tuple(metric.function for metric in CATALOGUE.values())


@registered("thresholds", "macro-f", metric="macro_fbeta")
class SCut(ByThresholds):
    """Tune the threshold of each label for that label alone.

    This maximises macro-averaged F, and any other metric that is a mean over labels (Yang 2001). It is exact over all
    distinct thresholds, with one sort per label.

    Parameters
    ----------
    metric : str, Metric or callable, default="macro_f1"
        "macro_f1", "macro_fbeta", "macro_precision", "macro_recall" or "hamming_loss", or these entries or functions of
        `nearlabel.metrics`. Your own function is computed from counts: it takes arrays ``(hits, predicted, positives,
        n_samples)`` with one entry per threshold (the last two are numbers, counted over the samples in which the label
        is known), and returns an array of values, larger is better.
    beta : float, default=1.0
        Weight of recall against precision in "macro_fbeta".

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_labels,)
        A label is predicted if its score is at least this. Among equal optima, the one with the fewest predictions;
        infinity for a label without positives that is best never predicted.
    objective_ : float
        The mean over labels that is reached; for the Hamming loss, the value over all known cells.
    objectives_ : ndarray of shape (n_labels,)
        The value of each label; NaN for a label without a known cell, which the mean leaves out.
    n_labels_ : int
        Number of labels.

    Notes
    -----
    A label without positives counts as 0, as 0/0 does in `macro_f1`. Thresholds of rare labels, tuned separately, are
    often too low for micro-averaged F: see `MicroFOptimum` and `FBR`.

    References
    ----------
    Y. Yang: A study of thresholding strategies for text categorization. SIGIR 2001.

    Examples
    --------
    >>> from nearlabel.thresholds import SCut
    >>> scores = [[0.9, 0.2], [0.8, 0.1], [0.3, 0.4], [0.1, 0.3]]
    >>> y = [[1, 1], [0, 0], [1, 0], [0, 0]]
    >>> SCut().fit(scores, y).objectives_.round(2).tolist()
    [0.8, 0.5]
    """

    _learns_from_stored = True

    def __init__(self, metric: MetricLike | Callable[..., FloatArray] = "macro_f1", *, beta: float = 1.0) -> None:
        self.metric = metric
        self.beta = beta

    def _check_parameters(self) -> None:
        self._objective()

    def _objective(self) -> Objective | None:
        if self._of_counts:
            return None
        metric: Any = self.metric
        return Objective.given(metric, self.beta, OF_LABELS, _HINT)

    @property
    def _of_counts(self) -> bool:
        """Whether the metric is a user's function."""
        listed = isinstance(self.metric, Metric) or self.metric in _FUNCTIONS
        return callable(self.metric) and not listed

    def _learn(self, scores: NDArray[Any], truth: PartialLabels, weights: Any) -> None:
        # Nothing is known about a user's function: any threshold can be the best.
        cuts = Cuts.of(scores, truth, weights, every=self._of_counts)
        known = cuts.n_rows > 0
        values = self._values_of_user(cuts) if self._of_counts else self._values_of(cuts)
        # The first of the best: the fewest predicted samples. Sums of fractional weights are rounded.
        is_rounded = weights is not None and weights.dtype.kind == "f"
        best = cuts.best_of_each_label(values, slack=EQUAL if is_rounded else 0)
        self.thresholds_ = cuts.thresholds[best]
        of_labels = np.where(known, values[best], np.nan)
        self.objectives_ = of_labels if self._of_counts else np.abs(of_labels)
        self.objective_ = self._mean(self.objectives_, cuts.n_rows)

    def _mean(self, values: FloatArray, sizes: FloatArray) -> float:
        """Return the mean over labels with a known cell; for the Hamming loss, over cells."""
        known, objective = sizes > 0, self._objective()
        is_of_cells = objective is not None and objective.groups == "in_total"
        return mean(values[known], sizes[known] / sizes.max() if is_of_cells else None)

    def _values_of(self, cuts: Cuts) -> FloatArray:
        """Return the value of each threshold of all labels, larger is better; of any size where no sample is known."""
        objective = self._objective()
        assert objective is not None
        positives, n_rows = map(cuts.of_each, (cuts.positives, np.where(cuts.n_rows > 0, cuts.n_rows, 1)))
        return objective.combine(objective.parts(Counts(cuts.hits, cuts.predicted, positives, n_rows)))

    def _values_of_user(self, cuts: Cuts) -> FloatArray:
        """Return the values of a user's function, label by label; 0 where no sample is known."""
        values = np.zeros(len(cuts.thresholds))
        for label in np.flatnonzero(cuts.n_rows):
            of_label = slice(*cuts.start[label : label + 2])
            total = cuts.positives[label], cuts.n_rows[label]
            values[of_label] = self._ask_user(cuts.hits[of_label], cuts.predicted[of_label], *total)
        return values

    def _ask_user(self, hits: Any, predicted: Any, positives: Any, total: Any) -> FloatArray:
        """Return the value of each threshold of a label by the user's function."""
        of_counts: Any = self.metric
        values = np.asarray(of_counts(hits, predicted, positives, total), dtype=np.float64)
        if values.shape != hits.shape or np.isnan(values).any():
            raise ValueError(
                f"metric must return {len(hits)} numbers, one for each threshold and none of them NaN, got {values!r}."
            )
        return values

    def _reached(self, truth: PartialLabels, predicted: NDArray[Any], weights: Any) -> float:
        if not self._of_counts:
            return super()._reached(truth, predicted, weights)
        counts = label_counts(truth, predicted, weights)
        sizes = np.broadcast_to(counts.size, counts.true.shape)
        of_labels = zip(counts.hits, counts.predicted, counts.true, sizes, strict=True)
        return float(
            np.mean([self._ask_user(np.array([h]), np.array([p]), t, size) for h, p, t, size in of_labels if size])
        )


# FBR: Yang's two heuristics against overfitted thresholds of rare labels.

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


@registered("thresholds", "fbr0", 0)
@registered("thresholds", "fbr1", 1)
def _around_scut(
    variant: int, *, fbr: float | str = "auto", beta: float = 1.0, cv: int = 5, random_state: Any = None
) -> FBR:
    strategy = SCut("macro_fbeta", beta=beta)
    return FBR(strategy, variant, fbr, beta=beta, cv=cv, random_state=random_state)


class _Tuned:
    """A fitted strategy, the F of each label, and the threshold that each gets where that is too low."""

    def __init__(self, strategy: ByThresholds, f: FloatArray, raised: FloatArray) -> None:
        self.strategy, self.f, self.raised = strategy, f, raised

    def thresholds(self, limit: float) -> FloatArray:
        return np.where(self.f < limit, self.raised, self.strategy.thresholds_)
