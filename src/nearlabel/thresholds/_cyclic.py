"""Cyclic coordinate ascent for metrics in which the labels of an example interact."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.metrics import MetricLike, get_metric
from nearlabel.metrics.counts import Counts
from nearlabel.metrics.inputs import blank_scores
from nearlabel.models.decision import cut
from nearlabel.thresholds._cuts import EQUAL, between, first_largest, just_above
from nearlabel.thresholds._global import GlobalCut
from nearlabel.thresholds._micro_f import MicroFOptimum
from nearlabel.thresholds._per_label import SCut
from nearlabel.thresholds._strategy import OF_EXAMPLES, OF_LABELS, ByThresholds, Objective, ThresholdStrategy
from nearlabel.utils.naming import registered
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import check_integer

_HINT = " Hint: MicroFOptimum finds the best micro_f1, SCut the best of metrics that are means over labels."


@registered("thresholds", "examples-f", metric="fbeta_examples")
class CyclicAscent(ByThresholds):
    """Tune one threshold at a time for metrics of examples: a heuristic without a guarantee.

    Whether predicting a label improves an example depends on the example's other labels, so thresholds cannot be tuned
    label by label, and a point that no single change improves may not be the maximum. The search starts at the best
    common threshold, so the result is never worse than that of `GlobalCut`.

    Parameters
    ----------
    metric : str, Metric or callable, default="f1_examples"
        "f1_examples", "fbeta_examples", "jaccard_examples" (the papers' accuracy), "subset_accuracy",
        "precision_examples", "recall_examples" or "f1_of_means", or these entries of `nearlabel.metrics.CATALOGUE`.
    beta : float, default=1.0
        Weight of recall against precision in "fbeta_examples".
    max_scans : int, default=None
        Largest number of scans over the labels. None: continue until nothing changes.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_labels,)
        A label is predicted if its score is at least this.
    objective_ : float
        The value reached.
    n_scans_ : int
        Number of scans over all labels; the last one changes nothing unless stopped before.
    n_labels_ : int
        Number of labels.

    Notes
    -----
    The counts and ratios of each example are kept, so a move costs one sort of the label's scores down to its lowest
    true one. A threshold moves only for a gain of more than 1e-12, to the highest of the equally good places. Terms of
    0/0 count as 0.

    References
    ----------
    R.-E. Fan, C.-J. Lin: A study on threshold selection for multi-label classification. Technical report, 2007.

    Examples
    --------
    >>> from nearlabel.thresholds import CyclicAscent
    >>> scores = [[0.9, 0.2], [0.8, 0.1], [0.3, 0.4], [0.1, 0.3]]
    >>> y = [[1, 1], [0, 0], [1, 0], [0, 0]]
    >>> CyclicAscent("subset_accuracy").fit(scores, y).objective_
    0.5
    """

    def __init__(self, metric: MetricLike = "f1_examples", *, beta: float = 1.0, max_scans: int | None = None) -> None:
        self.metric = metric
        self.beta = beta
        self.max_scans = max_scans

    def _check_parameters(self) -> None:
        self._objective()
        if self.max_scans is not None:
            check_integer("max_scans", self.max_scans, low=1)

    def _objective(self) -> Objective:
        return Objective.given(self.metric, self.beta, OF_EXAMPLES, _HINT)

    def _learn(self, scores: NDArray[Any], truth: PartialLabels, weights: Any) -> None:
        start = GlobalCut(self.metric, beta=self.beta)._fit_checked(scores, truth, weights)
        labels, scores = sparse.csc_array(truth.labels), blank_scores(scores, truth.unknown)
        examples = _Examples(self._objective(), labels, cut(scores, start.thresholds_), weights)
        self.thresholds_, self.n_scans_, moved = start.thresholds_, 0, True
        while moved and self.n_scans_ != self.max_scans:
            before = self.thresholds_.copy()
            for label, threshold in enumerate(before):
                self.thresholds_[label] = examples.move(_column(scores, labels, label, threshold), threshold)
            examples.sum_anew()
            moved = bool((self.thresholds_ != before).any())
            self.n_scans_ += 1
        self.objective_ = abs(examples.value())


class _Column(NamedTuple):
    """The samples for which one label is predicted, or could be predicted in an optimum."""

    rows: IntArray
    scores: FloatArray
    true: BoolArray
    below: float  # the highest score of the other samples; NaN if there are none


def _column(scores: NDArray[Any], truth: Any, label: int, threshold: float) -> _Column:
    """Return the rows at or above the threshold or the lowest true one: below that no cut is best.

    Scores of NaN, in unknown cells, are left out.
    """
    of_label = np.asarray(scores[:, label], dtype=np.float64)
    true = np.zeros(len(of_label), dtype=np.bool_)
    true[truth.indices[truth.indptr[label] : truth.indptr[label + 1]]] = True
    kept = of_label >= min(threshold, of_label[true].min(initial=np.inf))
    below = np.nan if kept.all() else np.fmax.reduce(of_label[~kept])
    return _Column(np.flatnonzero(kept), of_label[kept], true[kept], below)


class _Examples:
    """The counts and ratios of each sample with the current thresholds, and the means of the ratios."""

    def __init__(self, objective: Objective, truth: Any, predicted: NDArray[Any], weights: Any) -> None:
        n = truth.shape[0]
        self.objective = objective
        self.share = np.full(n, 1 / n) if weights is None else weights / weights.sum()
        self.n_labels = truth.shape[1]
        self.true = _row_sums(truth)
        self.predicted = _row_sums(predicted)
        self.hits = _row_sums(truth.multiply(predicted))
        self.ratios = self._ratios(slice(None), self.hits, self.predicted)
        self.sum_anew()

    def sum_anew(self) -> None:
        """Recompute the sums, to remove rounding errors of the moves."""
        self.means = self.ratios @ self.share

    def value(self) -> float:
        """Return the current value; larger is better."""
        return float(self.objective.combine(self.means[:, np.newaxis])[0])

    def move(self, column: _Column, threshold: float) -> float:
        """Return the best threshold for one label, with the others unchanged, and set it."""
        rows, scores, true, _ = column
        if not len(rows):
            return threshold
        chosen = scores >= threshold
        hits, predicted = self.hits[rows] - (true & chosen), self.predicted[rows] - chosen
        without = self._ratios(rows, hits, predicted)
        chosen_too = self._ratios(rows, hits + true, predicted + 1)
        nothing = self.means + (without - self.ratios[:, rows]) @ self.share[rows]
        cuts, means = _means_at_cuts(column, (chosen_too - without) * self.share[rows], nothing)
        values = self.objective.combine(means)
        best = first_largest(values)
        if values[best] <= self.value() + EQUAL:
            return threshold
        now = scores >= cuts[best]
        self.hits[rows], self.predicted[rows] = hits + (true & now), predicted + now
        self.ratios[:, rows] = np.where(now, chosen_too, without)
        self.means = means[:, best]
        return float(cuts[best])

    def _ratios(self, rows: Any, hits: NDArray[Any], predicted: NDArray[Any]) -> FloatArray:
        return self.objective.parts(Counts(hits, predicted, self.true[rows], self.n_labels))


def _row_sums(matrix: Matrix) -> IntArray:
    return np.asarray(matrix.sum(axis=1)).reshape(-1).astype(np.int64)


def _means_at_cuts(column: _Column, gains: FloatArray, nothing: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return all thresholds, fewest predicted samples first, and the resulting means (n_ratios, n_cuts)."""
    order = np.argsort(-column.scores, kind="stable")
    ordered = column.scores[order]
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    cuts = between(ordered[last], np.append(ordered[last[1:]], column.below))
    means = nothing[:, np.newaxis] + gains[:, order].cumsum(axis=1)[:, last]
    if ordered[0] == np.inf:  # reaches every threshold
        return cuts, means
    none = just_above(ordered[0]) if column.true.any() else np.inf
    return np.append(none, cuts), np.column_stack([nothing, means])


# The strategy that makes a metric as good as possible.

_BY_MICRO_F = {"micro_f1", "micro_jaccard"}  # the Jaccard index F / (2 - F) grows with F
_OF_EXAMPLES_TOGETHER = {"subset_accuracy", "f1_of_means"}


def strategy_for(metric: MetricLike) -> ThresholdStrategy:
    """Return the unfitted threshold strategy that is made for a metric.

    Parameters
    ----------
    metric : str, callable or Metric
        What `nearlabel.metrics.get_metric` takes.

    Returns
    -------
    ThresholdStrategy
        `MicroFOptimum` for micro F1 and the micro-averaged Jaccard index, `SCut` for means over labels and the Hamming
        loss, `CyclicAscent` for metrics of examples, `GlobalCut` for other metrics of predictions, your own among them.
        For a metric of scores, which no threshold changes, `MicroFOptimum`.

    Examples
    --------
    >>> strategy_for("macro_f1"), strategy_for("f1_examples"), strategy_for("ranking_loss")
    (SCut(), CyclicAscent(), MicroFOptimum())
    """
    known = get_metric(metric)
    if known.needs == "score" or known.name in _BY_MICRO_F:
        return MicroFOptimum()
    if known.name in OF_LABELS:
        return SCut(known.name)
    if known.name in OF_EXAMPLES | _OF_EXAMPLES_TOGETHER:
        return CyclicAscent(known.name)
    return GlobalCut(metric)
