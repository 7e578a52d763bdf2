"""MCut: cut each row at the largest gap between its sorted scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from nearlabel._blocks import row_blocks
from nearlabel._typing import IntArray, Matrix
from nearlabel.decision import top_labels
from nearlabel.thresholds._strategy import ThresholdStrategy, check_not_below


class MCut(ThresholdStrategy):
    """Choose, in each row, the labels above the largest gap between two successive scores; nothing is tuned.

    A row gets at least one label, and never all of them unless it has only one. The highest of equally large gaps
    counts (Largeron, Moulin and Géry 2012).

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
    if scores.shape[1] == 1:
        return np.ones(len(scores), dtype=np.int64)
    ordered = np.sort(scores, axis=1)[:, ::-1].astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):  # two equal infinities are no gap
        gaps = ordered[:, :-1] - ordered[:, 1:]
    widest: IntArray = np.where(np.isnan(gaps), 0.0, gaps).argmax(axis=1)
    return widest + 1


def _labels_above_gap_of_stored(scores: Matrix, absent: float) -> IntArray:
    """Return the same of a CSR array; below the stored scores of a row is the absent one, unless all are stored."""
    stored = np.diff(scores.indptr)
    row = np.repeat(np.arange(scores.shape[0]), stored)
    place = np.arange(scores.nnz) - scores.indptr[row]
    ordered = scores.data[np.lexsort((-scores.data, row))].astype(np.float64)
    last = place == stored[row] - 1
    following = np.where(last, absent, np.append(ordered[1:], absent))
    with np.errstate(invalid="ignore", over="ignore"):
        gaps = np.nan_to_num(ordered - following, nan=0.0, posinf=np.inf)
    gaps[last & (stored[row] == scores.shape[1])] = -1.0  # nothing below
    best = np.lexsort((place, -gaps, row))
    sizes = np.zeros(scores.shape[0], dtype=np.int64)
    sizes[stored > 0] = place[best[scores.indptr[:-1][stored > 0]]] + 1
    return sizes
