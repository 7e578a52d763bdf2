"""MCut: cut each row at the largest gap between its sorted scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.decision import top_labels
from nearlabel.thresholds._strategy import ThresholdStrategy, check_not_below
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import FloatArray, IntArray, Matrix


class MCut(ThresholdStrategy):
    """Choose, in each row, the labels above the largest gap between two successive scores; nothing is tuned.

    A row gets at least one label, and never all of them unless it has only one. The highest of equally large gaps
    counts (Largeron, Moulin and Géry 2012). Gaps are those between finite scores: plus infinity is always chosen, minus
    infinity never.

    Parameters
    ----------
    absent : {0.0, -inf}, default=0.0
        The score of what sparse scores do not store; stored ones must not be below it. Only stored scores are
        chosen, so that a row without any gets no label.

    Attributes
    ----------
    n_labels_ : int
        Number of labels.

    References
    ----------
    C. Largeron, C. Moulin, M. Géry: MCut: a thresholding strategy for multi-label classification. IDA 2012.

    Examples
    --------
    >>> from nearlabel.thresholds import MCut
    >>> MCut().fit([[0.9, 0.8, 0.1]], [[1, 1, 0]]).predict([[0.9, 0.8, 0.1], [0.5, 0.1, 0.2]])
    array([[1, 1, 0],
           [1, 0, 0]])
    """

    def __init__(self, *, absent: float = 0.0) -> None:
        self.absent = absent

    def _learn(self, scores: Matrix, labels: Matrix, weights: Any) -> None:
        """Nothing is learnt."""

    def _decide(self, scores: Matrix) -> Matrix:
        sizes = np.empty(scores.shape[0], dtype=np.int64)
        if sparse.issparse(scores):
            check_not_below(scores, self.absent)
            return top_labels(scores, _labels_above_gap_of_stored(scores, self.absent))
        for block in row_blocks(scores.shape[0], 24 * scores.shape[1]):
            sizes[block] = _labels_above_gap(scores[block])
        return top_labels(scores, sizes)


def _labels_above_gap(scores: Matrix) -> IntArray:
    """Return (n_rows,): how many labels lie above the largest gap of each row."""
    ordered = np.sort(scores, axis=1)[:, ::-1].astype(np.float64)
    gaps = np.column_stack([_gaps(ordered[:, :-1], ordered[:, 1:]), np.full(len(ordered), -1.0)])
    alone = _where_no_gap(np.isposinf(ordered).sum(axis=1), np.isfinite(ordered).sum(axis=1))
    return np.where(gaps.max(axis=1) >= 0, gaps.argmax(axis=1) + 1, alone)


def _gaps(upper: FloatArray, lower: FloatArray) -> FloatArray:
    """Return the differences, -1 where one side is infinite: that is no gap."""
    finite = np.isfinite(upper) & np.isfinite(lower)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(finite, upper - lower, -1.0)


def _where_no_gap(n_infinite: IntArray, n_finite: IntArray) -> IntArray:
    """Return how many labels rows get that have no gap: those of infinite score, else the only finite one."""
    return np.where(n_infinite > 0, n_infinite, np.minimum(n_finite, 1))


def _labels_above_gap_of_stored(scores: Matrix, absent: float) -> IntArray:
    """Return the same of a CSR array; below the stored scores of a row is the absent one, unless all are stored."""
    n_rows, n_labels = scores.shape
    stored = np.diff(scores.indptr)
    row = np.repeat(np.arange(n_rows), stored)
    place = np.arange(scores.nnz) - scores.indptr[row]
    ordered = scores.data[np.lexsort((-scores.data, row))].astype(np.float64)
    last = place == stored[row] - 1
    below_last = np.where(stored[row] < n_labels, absent, -np.inf)
    gaps = _gaps(ordered, np.where(last, below_last, np.append(ordered[1:], 0.0)))
    best = np.lexsort((place, -gaps, row))[scores.indptr[:-1][stored > 0]]
    infinite, finite = (np.bincount(row[which(ordered)], minlength=n_rows) for which in (np.isposinf, np.isfinite))
    sizes = _where_no_gap(infinite, finite)
    sizes[stored > 0] = np.where(gaps[best] >= 0, place[best] + 1, sizes[stored > 0])
    return sizes
