"""MCut: a threshold for each sample, at the largest gap between its sorted scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearlabel.decision import top_labels
from nearlabel.thresholds._strategy import ThresholdStrategy
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.types import FloatArray, IntArray


class MCut(ThresholdStrategy):
    """Predict for each sample the labels above the largest gap between two successive scores; nothing is tuned.

    A sample gets at least one label, and never all labels unless there is only one. Among equally large gaps, the
    highest is used (Largeron, Moulin and Géry 2012). Gaps are computed between finite scores: a score of plus infinity
    is always predicted, minus infinity never.

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

    def _learn(self, scores: NDArray[Any], truth: PartialLabels, weights: Any) -> None:
        """Nothing is learnt."""

    def _decide(self, scores: NDArray[Any]) -> NDArray[Any]:
        sizes = np.empty(scores.shape[0], dtype=np.int64)
        for block in row_blocks(scores.shape[0], 24 * scores.shape[1]):
            sizes[block] = _labels_above_gap(scores[block])
        labels: NDArray[Any] = top_labels(scores, sizes)
        return labels


def _labels_above_gap(scores: NDArray[Any]) -> IntArray:
    """Return (n_rows,): how many labels lie above the largest gap of each row."""
    ordered = np.sort(scores, axis=1)[:, ::-1].astype(np.float64)
    gaps = np.column_stack([_gaps(ordered[:, :-1], ordered[:, 1:]), np.full(len(ordered), -1.0)])
    n_infinite, n_finite = np.isposinf(ordered).sum(axis=1), np.isfinite(ordered).sum(axis=1)
    without_gap = np.where(n_infinite > 0, n_infinite, np.minimum(n_finite, 1))
    return np.asarray(np.where(gaps.max(axis=1) >= 0, gaps.argmax(axis=1) + 1, without_gap))


def _gaps(upper: FloatArray, lower: FloatArray) -> FloatArray:
    """Return the differences, -1 where one side is infinite: that is no gap."""
    finite = np.isfinite(upper) & np.isfinite(lower)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(finite, upper - lower, -1.0)
