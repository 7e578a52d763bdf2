"""RCut, PCut and MCut: as many labels for every row, each label as often as before, or at the largest gap of scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearlabel.metrics import MetricLike
from nearlabel.metrics.inputs import blank_scores
from nearlabel.models.decision import top_labels
from nearlabel.thresholds._cuts import Cuts, first_largest
from nearlabel.thresholds._global import values_at
from nearlabel.thresholds._strategy import ALL, ByThresholds, Objective, ThresholdStrategy
from nearlabel.utils.naming import registered
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray, IntArray
from nearlabel.utils.validation import as_dense, check_integer, check_positive, row_blocks


@registered("thresholds", "rcut", metric="fbeta_examples")
class RCut(ThresholdStrategy):
    """Predict the same number of labels for every sample, those with the highest scores (Yang 2001).

    Parameters
    ----------
    n_labels : int or "auto", default="auto"
        Number of labels; "auto" tries every number and uses the best for `metric`, the smallest if several are equally
        good.
    metric : str, Metric or callable, default="f1_examples"
        For "auto": a metric of predictions of the catalogue, "micro_fbeta", "macro_fbeta" or "fbeta_examples", or a
        metric of your own, as `nearlabel.metrics.get_metric` takes it, which is computed for every number.
    beta : float, default=1.0
        Weight of recall against precision in the F-beta.

    Attributes
    ----------
    n_chosen_ : int
        Number of labels predicted for every sample.
    objective_ : float
        The value of `metric` reached, even if the number is given.
    n_labels_ : int
        Number of labels.

    Notes
    -----
    Samples are ranked by all their scores, like new samples; unknown cells of y are not evaluated.

    References
    ----------
    Y. Yang: A study of thresholding strategies for text categorization. SIGIR 2001.

    Examples
    --------
    >>> from nearlabel.thresholds import RCut
    >>> RCut().fit([[0.9, 0.2], [0.3, 0.4]], [[1, 0], [0, 1]]).predict([[0.1, 0.2]])
    array([[0, 1]])
    """

    def __init__(self, n_labels: int | str = "auto", *, metric: MetricLike = "f1_examples", beta: float = 1.0) -> None:
        self.n_labels = n_labels
        self.metric = metric
        self.beta = beta

    def _check_parameters(self) -> None:
        self._objective()
        if self.n_labels != "auto":
            check_integer("n_labels", self.n_labels, low=0)

    def _objective(self) -> Objective:
        return Objective.given(self.metric, self.beta, ALL, own=True)

    def _learn(self, scores: NDArray[Any], truth: PartialLabels, weights: Any) -> None:
        objective = self._objective()
        sizes = np.arange(scores.shape[1] + 1)
        places = blank_scores(-_ranks(scores), truth.unknown)
        values = values_at(-sizes.astype(float), objective, places, truth, weights)
        self.n_chosen_ = first_largest(values) if self.n_labels == "auto" else int(self.n_labels)
        self.objective_ = float(objective.sign * values[min(self.n_chosen_, scores.shape[1])])

    def _decide(self, scores: NDArray[Any]) -> NDArray[Any]:
        labels: NDArray[Any] = top_labels(scores, self.n_chosen_)
        return labels


def _ranks(scores: NDArray[Any]) -> NDArray[Any]:
    """Return the rank of each score in its row, from 1, ties by lower label index."""
    ranks = np.empty(scores.shape, dtype=np.float32)  # whole numbers, exact up to 16 million labels
    places = np.arange(1, scores.shape[1] + 1, dtype=np.float32)[np.newaxis]
    for rows in row_blocks(scores.shape[0], 24 * scores.shape[1]):
        np.put_along_axis(ranks[rows], np.argsort(-scores[rows], axis=1, kind="stable"), places, axis=1)
    return ranks


# PCut: each label, or all labels together, predicted as often as in the known label sets.


@registered("thresholds", "pcut")
@registered("thresholds", "cardinality", per_label=False)
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
        cuts = Cuts.of(scores, truth, weights, every=True)
        best = cuts.best_of_each_label(-np.abs(cuts.predicted - self.factor * cuts.of_each(cuts.positives)))
        self.thresholds_ = np.broadcast_to(cuts.thresholds[best], self.n_labels_).copy()


def _in_one_column(truth: PartialLabels) -> PartialLabels:
    labels, unknown = (None if part is None else as_dense(part).reshape(-1, 1) for part in truth)
    return PartialLabels(labels, unknown)


# MCut: a threshold for each sample, at the largest gap between its sorted scores.


@registered("thresholds", "mcut")
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
