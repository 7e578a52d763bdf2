"""One threshold for all labels, by a sweep from the highest score down."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.metrics import Metric, MetricLike
from nearlabel.metrics.counts import Counts
from nearlabel.metrics.inputs import blank_scores, known_weight
from nearlabel.models.decision import cut
from nearlabel.thresholds._cuts import between, first_largest, just_above
from nearlabel.thresholds._strategy import ALL, ByThresholds, Objective
from nearlabel.utils.naming import registered
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import CSR, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import row_blocks

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
        threshold, self.objective_ = common_threshold(self._objective(), scores, truth, weights)
        self.thresholds_ = np.full(scores.shape[1], threshold)


def common_threshold(
    objective: Objective, scores: NDArray[Any], truth: PartialLabels, weights: Any
) -> tuple[float, float]:
    """Return the best threshold for all labels, and the value that it reaches."""
    scores = blank_scores(scores, truth.unknown)
    candidates = _some_scores(scores) if isinstance(objective.metric, Metric) else _candidates(scores, truth.labels)
    values = values_at(candidates, objective, scores, truth, weights)
    best = first_largest(values)
    return _threshold(candidates[best], scores), float(objective.sign * values[best])


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
