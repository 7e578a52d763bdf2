"""One threshold for all labels, and thresholds from there by cyclic ascent; the best strategy for a metric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.metrics import Metric, MetricLike, get_metric
from nearlabel.metrics.counts import Counts
from nearlabel.metrics.inputs import blank_scores, known_weight
from nearlabel.models.decision import cut
from nearlabel.thresholds._cuts import EQUAL, between, first_largest, just_above
from nearlabel.thresholds._micro_f import MicroFOptimum
from nearlabel.thresholds._per_label import SCut
from nearlabel.thresholds._strategy import ALL, OF_EXAMPLES, OF_LABELS, ByThresholds, Objective, ThresholdStrategy
from nearlabel.utils.arrays import row_blocks
from nearlabel.utils.naming import registered
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import CSR, BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import check_integer

_BYTES_PER_CELL = 150  # of all temporary arrays of a sweep
_MOST_TRIED = 200  # thresholds, for a metric that is no ratio of counts


@registered("thresholds", "global-f", metric="micro_fbeta")
class GlobalCut(ByThresholds):
    """Find the one threshold for all labels that is best for a metric of predictions, exactly and by one sweep.

    Thresholds decrease from the highest score. Each score adds one label to one sample, which changes the counts of one
    example or label, and so one term of the metric. Only scores of true labels can be optimal thresholds.

    Parameters
    ----------
    metric : str, Metric or callable, default="micro_f1"
        A metric of predictions of the catalogue, "micro_fbeta", "macro_fbeta" or "fbeta_examples", or a metric of your
        own, as `nearlabel.metrics.get_metric` takes it. Your own is computed for at most 200 thresholds, evenly spaced
        among the distinct scores: then the result is not exact.
    beta : float, default=1.0
        Weight of recall against precision in the F-beta.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_labels,)
        The threshold, repeated for each label. Among equal optima, the one with the fewest predicted labels.
    objective_ : float
        The value reached.
    n_labels_ : int
        Number of labels.

    Notes
    -----
    In the population one threshold for all labels is best for micro- and example-averaged metrics of calibrated
    probabilities (Koyejo et al. 2015); on a sample, and with scores that are not calibrated, thresholds for each label
    reach more: see `MicroFOptimum` and `CyclicAscent`. Terms of 0/0 count as 0.

    References
    ----------
    O. Koyejo, N. Natarajan, P. Ravikumar, I. Dhillon: Consistent multilabel classification. NIPS 2015.

    Examples
    --------
    >>> from nearlabel.thresholds import GlobalCut
    >>> scores = [[0.9, 0.2], [0.8, 0.1], [0.3, 0.4], [0.1, 0.3]]
    >>> y = [[1, 1], [0, 0], [1, 0], [0, 0]]
    >>> round(GlobalCut("f1_examples").fit(scores, y).objective_, 3)
    0.417
    """

    def __init__(self, metric: MetricLike = "micro_f1", *, beta: float = 1.0) -> None:
        self.metric = metric
        self.beta = beta

    def _check_parameters(self) -> None:
        self._objective()

    def _objective(self) -> Objective:
        return Objective.given(self.metric, self.beta, ALL, own=True)

    def _learn(self, scores: NDArray[Any], truth: PartialLabels, weights: Any) -> None:
        objective, scores = self._objective(), blank_scores(scores, truth.unknown)
        candidates = _some_scores(scores) if isinstance(objective.metric, Metric) else _candidates(scores, truth.labels)
        values = values_at(candidates, objective, scores, truth, weights)
        best = first_largest(values)
        self.thresholds_ = np.full(scores.shape[1], _threshold(candidates[best], scores))
        self.objective_ = float(objective.sign * values[best])


def values_at(
    candidates: FloatArray, objective: Objective, scores: NDArray[Any], truth: PartialLabels, weights: Any
) -> FloatArray:
    """Return the signed value (n_candidates,) of each of some descending thresholds for all labels.

    A score of NaN, in an unknown cell, reaches no threshold.
    """
    if isinstance(objective.metric, Metric):
        values = [objective.of(truth, cut(scores, threshold), weights) for threshold in candidates]
        return objective.sign * np.array(values)
    sweep = _sweep_total if objective.groups == "in_total" else _sweep_groups
    return objective.combine(sweep(candidates, objective, scores, truth, weights))


def _candidates(scores: NDArray[Any], labels: Matrix) -> FloatArray:
    """Return where to stop, descending: above all scores (unless one is infinite), and at each score of a true label.

    Predicting a label that is not true improves no metric of the catalogue.
    """
    true = scores[labels.nonzero()].astype(np.float64)
    top = just_above(np.float64(np.fmax.reduce(scores, axis=None))) if len(true) else np.inf
    return np.unique(np.append(true, top))[::-1]


def _some_scores(scores: NDArray[Any]) -> FloatArray:
    """Return the thresholds to try for an unknown metric, descending: one above all scores, and some of the scores."""
    distinct = np.unique(scores[~np.isnan(scores)].astype(np.float64))[::-1]
    spaced = np.linspace(0, len(distinct) - 1, min(len(distinct), _MOST_TRIED - 1)).round().astype(np.intp)
    return np.unique(np.append(distinct[spaced], just_above(distinct[0])))[::-1]


def _threshold(score: float, scores: NDArray[Any]) -> float:
    """Return a threshold between a score and the next lower one."""
    if not (scores >= score).any():
        return float(score)  # above all
    lower = scores[scores < score].max() if (scores < score).any() else np.nan
    return float(between(np.array([score]), np.array([lower], dtype=np.float64))[0])


class _Cells(NamedTuple):
    """Cells of whole groups, examples or labels."""

    group: IntArray
    score: NDArray[Any]
    predicted: NDArray[Any]  # weight
    hits: NDArray[Any]  # weight of the true ones


def _sweep_total(
    candidates: FloatArray, objective: Objective, scores: NDArray[Any], truth: PartialLabels, weights: Any
) -> FloatArray:
    """Return the ratios (n_ratios, n_candidates) of the counts in total."""
    n_rows, n_labels = scores.shape
    row_weights = np.ones(n_rows, dtype=np.int64) if weights is None else weights
    known = known_weight(row_weights, truth.unknown)
    hits, predicted = np.zeros((2, len(candidates) + 1))
    for cells in _cells(scores.T, sparse.csr_array(truth.labels).T.tocsr(), row_weights):
        place = _first_reached(candidates, cells.score)
        predicted += np.bincount(place, cells.predicted, minlength=len(predicted))
        hits += np.bincount(place, cells.hits, minlength=len(hits))
    true = np.full(len(candidates), hits.sum())
    size = known * n_labels if truth.unknown is None else known.sum()
    counts = Counts(hits.cumsum()[:-1], predicted.cumsum()[:-1], true, size)
    return objective.parts(counts)


def _sweep_groups(
    candidates: FloatArray, objective: Objective, scores: NDArray[Any], truth: PartialLabels, weights: Any
) -> FloatArray:
    """Return the means of the ratios (n_ratios, n_candidates) over examples, or labels that some row knows."""
    n_rows, n_labels = scores.shape
    labels = sparse.csr_array(truth.labels)
    row_weights = np.ones(n_rows, dtype=np.int64) if weights is None else weights
    one_each = np.ones(n_labels, dtype=np.int64)
    if objective.groups == "per_example":
        group_weights, members = row_weights, (scores, labels, one_each)
    else:
        is_known = True if truth.unknown is None else truth.unknown.sum(axis=0) < n_rows
        group_weights, members = one_each * is_known, (scores.T, labels.T.tocsr(), row_weights)
    true, size = members[1] @ members[2], members[2].sum()  # no ratio of examples or labels asks for the size
    nothing = objective.parts(Counts(np.zeros_like(true), np.zeros_like(true), true, size))
    steps = np.zeros((len(nothing), len(candidates) + 1))
    for cells in _cells(*members):
        place = _first_reached(candidates, cells.score)
        order = np.lexsort((place, cells.group))
        order = order[place[order] < len(candidates)]
        group, place = cells.group[order], place[order]
        begins = np.diff(group, prepend=-1) > 0
        counts = Counts(
            _running(cells.hits[order], begins), _running(cells.predicted[order], begins), true[group], size
        )
        value = objective.parts(counts)
        before = np.where(begins, nothing[:, group], np.roll(value, 1, axis=1))
        for step, change in zip(steps, (value - before) * group_weights[group], strict=True):
            step += np.bincount(place, change, minlength=len(step))
    steps[:, 0] += nothing @ group_weights
    sums = steps[:, :-1].cumsum(axis=1, dtype=np.longdouble)  # of millions of steps: doubles lose the twelfth digit
    return np.asarray(sums / group_weights.sum(), dtype=np.float64)


def _first_reached(candidates: FloatArray, scores: NDArray[Any]) -> IntArray:
    """Return the first of the descending candidates that a score reaches; their number if it reaches none."""
    return len(candidates) - np.searchsorted(candidates[::-1], scores, side="right")


def _running(values: NDArray[Any], begins: NDArray[np.bool_]) -> NDArray[Any]:
    """Return cumulative sums that start again where a group begins."""
    sums = values.cumsum()
    first = np.flatnonzero(begins)
    before = sums[first] - values[first]
    return np.asarray(sums - np.repeat(before, np.diff(np.append(first, len(values)))))


def _cells(scores: NDArray[Any], truth: CSR, weights: NDArray[Any]) -> Iterator[_Cells]:
    """Yield all cells of (n_groups, n_members) matrices in blocks of whole groups; the weights are the members'.

    An unknown cell has no weight.
    """
    n_members = scores.shape[1]
    for block in row_blocks(scores.shape[0], _BYTES_PER_CELL * n_members):
        groups = np.arange(block.start, block.stop)
        predicted = np.where(np.isnan(scores[block]), 0, weights)
        hits = truth[block].toarray() * predicted
        yield _Cells(np.repeat(groups, n_members), scores[block].reshape(-1), predicted.reshape(-1), hits.reshape(-1))


# One threshold for each label, raised and lowered in turn.

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
