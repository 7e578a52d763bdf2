"""One threshold for all labels, by a sweep from the highest score down."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.metrics.counts import Counts
from nearlabel.thresholds._cuts import between, just_above
from nearlabel.thresholds._objective import ALL, Objective
from nearlabel.thresholds._strategy import ByThresholds
from nearlabel.utils.blocks import uneven_blocks
from nearlabel.utils.types import CSR, FloatArray, IntArray, Matrix

EQUAL = 1e-12  # values that differ by less are held equal: sums of thousands of quotients are not exact
_BYTES_PER_CELL = 150  # of all temporary arrays of a sweep


class GlobalCut(ByThresholds):
    """Find the one threshold for all labels that is best for any measure of predictions, exactly, by one sweep.

    From the highest score down, each adds one label to one row, which changes the counts of one example or label, and
    hence one term of the measure. Only scores of true labels can be where it is best to stop.

    Parameters
    ----------
    metric : str, default="micro_f1"
        A measure of predictions of the catalogue, or "micro_fbeta", "macro_fbeta", "fbeta_examples".
    beta : float, default=1.0
        Weight of recall against precision in those.
    absent : {0.0, -inf}, default=0.0
        The score of what sparse scores do not store.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_labels,)
        The threshold, once for each label. Among equal optima that with the fewest chosen labels.
    objective_ : float
        The value reached.
    n_labels_ : int
        Number of labels.

    Notes
    -----
    In the population one threshold for all labels is best for micro- and example-averaged measures of calibrated
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

    def __init__(self, metric: str = "micro_f1", *, beta: float = 1.0, absent: float = 0.0) -> None:
        self.metric = metric
        self.beta = beta
        self.absent = absent

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._objective()

    def _objective(self) -> Objective:
        return Objective.named(self.metric, self.beta, ALL)

    def _learn(self, scores: Matrix, labels: Matrix, weights: Any) -> None:
        truth = sparse.csr_array(labels)
        candidates = _candidates(scores, truth, self.absent)
        values = values_at(candidates, self._objective(), scores, truth, weights, self.absent)
        best = first_largest(values)
        self.thresholds_ = np.full(labels.shape[1], _threshold(candidates[best], scores, self.absent))
        self.objective_ = float(abs(values[best]))


def values_at(
    candidates: FloatArray, objective: Objective, scores: Matrix, truth: CSR, weights: Any, absent: float
) -> FloatArray:
    """Return the signed value (n_candidates,) of each of some descending thresholds for all labels."""
    sweep = _sweep_total if objective.measure.groups == "in_total" else _sweep_groups
    return objective.combine(sweep(candidates, objective, scores, truth, weights, absent))


def first_largest(values: FloatArray) -> int:
    """Return the place of the first value that is the largest, up to rounding."""
    return int(np.flatnonzero(values >= values.max() - EQUAL)[0])


def _candidates(scores: Matrix, truth: CSR, absent: float) -> FloatArray:
    """Return where to stop, descending: above all scores (unless one is infinite), and at each score of a true label.

    To choose a label that is not true makes no measure better.
    """
    some_absent = sparse.issparse(scores) and scores.nnz < scores.shape[0] * scores.shape[1]
    stored = scores.data if sparse.issparse(scores) else scores
    highest = np.float64(stored.max(initial=absent if some_absent else -np.inf))
    top = just_above(highest) if truth.nnz else np.inf
    true = stored[_truth_of_stored(scores, truth)] if sparse.issparse(scores) else scores[truth.nonzero()]
    at_absent = [absent] if some_absent and len(true) < truth.nnz else []
    return np.unique(np.concatenate([true.astype(np.float64), at_absent, [top]]))[::-1]


def _truth_of_stored(scores: CSR, truth: CSR) -> NDArray[np.bool_]:
    """Return, for each stored score, whether that label is true."""
    return np.isin(cell_numbers(scores), cell_numbers(truth), assume_unique=True)


def cell_numbers(matrix: CSR) -> IntArray:
    """Return the number of each stored cell, counted through the rows."""
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    numbers: IntArray = rows * matrix.shape[1] + matrix.indices
    return numbers


def _threshold(score: float, scores: Matrix, absent: float) -> float:
    """Return a threshold between a score and the next lower one."""
    stored = scores.data if sparse.issparse(scores) else scores
    if not (stored >= score).any() and not (sparse.issparse(scores) and absent >= score):
        return float(score)  # above all
    lower = [stored[stored < score].max()] if (stored < score).any() else []
    if sparse.issparse(scores) and scores.nnz < scores.shape[0] * scores.shape[1] and absent < score:
        lower.append(absent)
    return float(between(np.array([score]), np.array([max(lower, default=np.nan)], dtype=np.float64))[0])


class _Cells(NamedTuple):
    """Cells of whole groups, examples or labels; the cells of a group that no score is stored for are one entry."""

    group: IntArray
    score: NDArray[Any]
    predicted: NDArray[Any]  # weight
    hits: NDArray[Any]  # weight of the true ones


def _sweep_total(
    candidates: FloatArray, objective: Objective, scores: Matrix, truth: CSR, weights: Any, absent: float
) -> FloatArray:
    """Return the ratios (n_ratios, n_candidates) of the counts in total."""
    row_weights = np.ones(truth.shape[0], dtype=np.int64) if weights is None else weights
    hits, predicted = np.zeros((2, len(candidates) + 1))
    for cells in _cells(scores.T, truth.T.tocsr(), row_weights, absent):
        place = _first_reached(candidates, cells.score)
        predicted += np.bincount(place, cells.predicted, minlength=len(predicted))
        hits += np.bincount(place, cells.hits, minlength=len(hits))
    true = np.full(len(candidates), hits.sum())
    counts = Counts(hits.cumsum()[:-1], predicted.cumsum()[:-1], true, row_weights.sum() * truth.shape[1])
    return objective.parts(counts)


def _sweep_groups(
    candidates: FloatArray, objective: Objective, scores: Matrix, truth: CSR, weights: Any, absent: float
) -> FloatArray:
    """Return the means of the ratios (n_ratios, n_candidates) over examples or labels."""
    row_weights = np.ones(truth.shape[0], dtype=np.int64) if weights is None else weights
    one_each = np.ones(truth.shape[1], dtype=np.int64)
    if objective.measure.groups == "per_example":
        group_weights, members = row_weights, (scores, truth, one_each)
    else:
        group_weights, members = one_each, (scores.T, truth.T.tocsr(), row_weights)
    true, size = members[1] @ members[2], members[2].sum()
    nothing = objective.parts(Counts(np.zeros_like(true), np.zeros_like(true), true, size))
    steps = np.zeros((len(nothing), len(candidates) + 1))
    for cells in _cells(*members, absent):
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
    """Return cumulative sums that start anew where a group begins."""
    sums = values.cumsum()
    first = np.flatnonzero(begins)
    before = sums[first] - values[first]
    return np.asarray(sums - np.repeat(before, np.diff(np.append(first, len(values)))))


def _cells(scores: Matrix, truth: CSR, weights: NDArray[Any], absent: float) -> Iterator[_Cells]:
    """Yield all cells of (n_groups, n_members) matrices in blocks of whole groups; the weights are the members'."""
    is_sparse = sparse.issparse(scores)
    rows = sparse.csr_array(scores) if is_sparse else scores
    sizes = np.diff(rows.indptr) + 1 if is_sparse else np.full(scores.shape[0], scores.shape[1])
    for block in uneven_blocks(_BYTES_PER_CELL * sizes):
        groups = np.arange(block.start, block.stop)
        if not is_sparse:
            shape = (len(groups), scores.shape[1])
            predicted = np.broadcast_to(weights, shape)
            hits = truth[block].toarray() * predicted
            yield _Cells(np.repeat(groups, shape[1]), rows[block].reshape(-1), predicted.reshape(-1), hits.reshape(-1))
            continue
        stored = rows[block]
        predicted = weights[stored.indices]
        hits = predicted * _truth_of_stored(stored, truth[block])
        group = np.repeat(groups, np.diff(stored.indptr))
        rest = weights.sum() - np.bincount(group - block.start, predicted, minlength=len(groups))
        true_rest = truth[block] @ weights - np.bincount(group - block.start, hits, minlength=len(groups))
        yield _Cells(
            np.concatenate([group, groups]),
            np.concatenate([stored.data, np.full(len(groups), absent, dtype=stored.dtype)]),
            np.concatenate([predicted, rest]),
            np.concatenate([hits, true_rest]),
        )
