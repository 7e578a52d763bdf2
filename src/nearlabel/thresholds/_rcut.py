"""RCut: the same number of labels for every row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearlabel.decision import top_labels
from nearlabel.metrics import MetricLike
from nearlabel.metrics.truth import blank_scores
from nearlabel.thresholds._global import first_largest, values_at
from nearlabel.thresholds._objective import ALL, Objective
from nearlabel.thresholds._strategy import ThresholdStrategy
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.validation import check_integer


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
