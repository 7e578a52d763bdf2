"""PCut: each label, or all labels together, predicted as often as in the known label sets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearlabel.thresholds._cuts import label_cuts
from nearlabel.thresholds._strategy import ByThresholds
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.validation import as_dense, check_positive


class PCut(ByThresholds):
    """Set the threshold of each label so that it is predicted as often as it occurs; no metric is optimised.

    Yang's proportional assignment (2001), and with ``per_label=False`` cardinality matching: one threshold for all
    labels, chosen so that the mean number of predicted labels is that of the true labels (Read et al. 2011).

    Parameters
    ----------
    per_label : bool, default=True
        Whether each label has its own threshold.
    factor : float, default=1.0
        Factor by which labels are predicted more often than they occur; Yang's x.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_labels,)
        A label is predicted if its score is at least this. If equal scores prevent the exact number of predictions, the
        nearest number, the smaller of two equally near ones.
    n_labels_ : int
        Number of labels.

    Notes
    -----
    If y has unknown cells, only the samples in which a label is known are counted for it.

    Yang ranks all test samples and assigns a label to the first of them, so no sample can be predicted alone. Here the
    threshold is learnt from samples with known label sets, and each sample is predicted separately.

    References
    ----------
    Y. Yang: A study of thresholding strategies for text categorization. SIGIR 2001.
    J. Read, B. Pfahringer, G. Holmes, E. Frank: Classifier chains for multi-label classification. Machine Learning
    85, 2011.

    Examples
    --------
    >>> from nearlabel.thresholds import PCut
    >>> scores = [[0.9, 0.2], [0.8, 0.1], [0.3, 0.4], [0.1, 0.3]]
    >>> y = [[1, 1], [0, 0], [1, 0], [0, 0]]
    >>> PCut().fit(scores, y).predict(scores).sum(axis=0)
    array([2, 1])
    """

    def __init__(self, *, per_label: bool = True, factor: float = 1.0) -> None:
        self.per_label = per_label
        self.factor = factor

    def _check_parameters(self) -> None:
        check_positive("factor", self.factor)
        if not isinstance(self.per_label, bool | np.bool_):
            raise TypeError(f"per_label must be True or False, got {self.per_label!r}.")

    def _learn(self, scores: NDArray[Any], truth: PartialLabels, weights: Any) -> None:
        if not self.per_label:
            scores, truth = scores.reshape(-1, 1), _in_one_column(truth)
            weights = None if weights is None else np.repeat(weights, self.n_labels_)
        thresholds = [
            cuts.thresholds[np.abs(cuts.predicted - self.factor * cuts.positives).argmin()]
            for cuts in label_cuts(scores, truth, weights, every=True)
        ]
        self.thresholds_ = np.broadcast_to(thresholds, self.n_labels_).astype(np.float64)


def _in_one_column(truth: PartialLabels) -> PartialLabels:
    labels, unknown = (None if part is None else as_dense(part).reshape(-1, 1) for part in truth)
    return PartialLabels(labels, unknown)
