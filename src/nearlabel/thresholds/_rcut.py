"""RCut: the same number of labels for every row."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.decision import top_labels
from nearlabel.thresholds._global import first_largest, values_at
from nearlabel.thresholds._objective import ALL, Objective
from nearlabel.thresholds._strategy import ThresholdStrategy, check_not_below
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import Matrix
from nearlabel.utils.validation import check_integer


class RCut(ThresholdStrategy):
    """Choose the given number of labels of highest score in every row (Yang 2001).

    Parameters
    ----------
    n_labels : int or "auto", default="auto"
        How many; "auto" tries every number and takes the best for `metric`, the smallest of equally good ones.
    metric : str, default="f1_examples"
        For "auto": a measure of predictions of the catalogue, or "micro_fbeta", "macro_fbeta", "fbeta_examples".
    beta : float, default=1.0
        Weight of recall against precision in those.
    absent : {0.0, -inf}, default=0.0
        The score of what sparse scores do not store; stored ones must not be below it. Only stored scores are
        chosen, so that a row that stores fewer gets fewer labels.

    Attributes
    ----------
    n_chosen_ : int
        Labels chosen in every row.
    objective_ : float
        The value of `metric` reached, also with a given number.
    n_labels_ : int
        Number of labels there are.

    References
    ----------
    Y. Yang: A study of thresholding strategies for text categorization. SIGIR 2001.

    Examples
    --------
    >>> from nearlabel.thresholds import RCut
    >>> RCut().fit([[0.9, 0.2], [0.3, 0.4]], [[1, 0], [0, 1]]).predict([[0.1, 0.2]])
    array([[0, 1]])
    """

    def __init__(
        self, n_labels: int | str = "auto", *, metric: str = "f1_examples", beta: float = 1.0, absent: float = 0.0
    ) -> None:
        self.n_labels = n_labels
        self.metric = metric
        self.beta = beta
        self.absent = absent

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._objective()
        if self.n_labels != "auto":
            check_integer("n_labels", self.n_labels, low=0)

    def _objective(self) -> Objective:
        return Objective.named(self.metric, self.beta, ALL)

    def _learn(self, scores: Matrix, labels: Matrix, weights: Any) -> None:
        check_not_below(scores, self.absent)
        ranks, most = _ranks(scores)
        sizes = np.arange(most + 1)
        values = values_at(-sizes.astype(float), self._objective(), -ranks, sparse.csr_array(labels), weights, -np.inf)
        self.n_chosen_ = first_largest(values) if self.n_labels == "auto" else int(self.n_labels)
        self.objective_ = float(abs(values[min(self.n_chosen_, most)]))

    def _decide(self, scores: Matrix) -> Matrix:
        check_not_below(scores, self.absent)
        return top_labels(scores, self.n_chosen_)


def _ranks(scores: Matrix) -> tuple[Matrix, int]:
    """Return the rank of each score in its row, from 1, ties by lower label index, and the largest rank there is."""
    if not sparse.issparse(scores):
        ranks = np.empty(scores.shape, dtype=np.float32)  # whole numbers, exact up to 16 million labels
        places = np.arange(1, scores.shape[1] + 1, dtype=np.float32)[np.newaxis]
        for rows in row_blocks(scores.shape[0], 24 * scores.shape[1]):
            np.put_along_axis(ranks[rows], np.argsort(-scores[rows], axis=1, kind="stable"), places, axis=1)
        return ranks, scores.shape[1]
    stored = np.diff(scores.indptr)
    row = np.repeat(np.arange(scores.shape[0]), stored)
    order = np.lexsort((scores.indices, -scores.data, row))
    ranks = np.empty(scores.nnz)
    ranks[order] = 1 + np.arange(scores.nnz) - scores.indptr[row[order]]
    return sparse.csr_array((ranks, scores.indices, scores.indptr), shape=scores.shape), int(stored.max(initial=0))
