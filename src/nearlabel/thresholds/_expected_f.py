"""Decide for the highest expected F of each row: the alternative to thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearlabel.metrics.ratios import beta_squared
from nearlabel.thresholds._best_expected_fbeta import best_expected_fbeta
from nearlabel.thresholds._objective import OF_EXAMPLES, Objective, check_beta
from nearlabel.thresholds._strategy import ThresholdStrategy, checked_scores
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.types import FloatArray, MatrixLike


class ExpectedF(ThresholdStrategy):
    """Predict for each sample the label set of highest expected example-based F-beta, from probabilities.

    The label set is optimal if the labels of a sample are independent given their probabilities (Ye et al. 2012).
    Nothing is tuned: the quality of the result depends on the calibration of the probabilities. There are no
    thresholds, because the prediction of a label depends on the probabilities of the others.

    Parameters
    ----------
    beta : float, default=1.0
        Weight of recall against precision, above 0.
    zero_division : {0.0, 1.0}, default=0.0
        F of a sample without true and without predicted labels. With 0 the empty set is never best.

    Attributes
    ----------
    objective_ : float
        The example-based F-beta reached on the known cells of the samples of `fit`, where 0/0 counts as 0.
    n_labels_ : int
        Number of labels.

    Notes
    -----
    Scores must be probabilities, from 0 to 1. The cost of a row with m
    probabilities above 0 is O(m²) for beta 1/2, 1 or 2, O(m³) for one whose square is no simple fraction.

    References
    ----------
    N. Ye, K. Chai, W. Lee, H. Chieu: Optimizing F-measures: a tale of two approaches. ICML 2012.
    M. Jansche: A maximum expected utility framework for binary sequence labeling. ACL 2007.

    Examples
    --------
    >>> from nearlabel.thresholds import ExpectedF
    >>> ExpectedF().fit([[0.4, 0.6]], [[0, 1]]).predict([[0.4, 0.6], [0.1, 0.9]])
    array([[1, 1],
           [0, 1]])
    """

    def __init__(self, beta: float = 1.0, *, zero_division: float = 0.0) -> None:
        self.beta = beta
        self.zero_division = zero_division

    def _check_parameters(self) -> None:
        check_beta(self.beta)
        if isinstance(self.zero_division, bool) or self.zero_division not in (0.0, 1.0):
            raise ValueError(f"zero_division must be 0.0 or 1.0, got {self.zero_division!r}.")

    def _objective(self) -> Objective:
        return Objective.given("fbeta_examples", self.beta, OF_EXAMPLES)

    def _learn(self, scores: NDArray[Any], truth: PartialLabels, weights: Any) -> None:
        self.objective_ = self._reached(truth, self._decide(scores), weights)

    def _decide(self, scores: NDArray[Any]) -> NDArray[Any]:
        _check_probabilities(scores)
        return best_expected_fbeta(scores, beta_squared(self.beta), self.zero_division)[0]

    def expected(self, scores: MatrixLike) -> FloatArray:
        """Return the expected F-beta of each sample's predicted label set.

        Parameters
        ----------
        scores : array-like or data frame of shape (n_samples, n_labels)
            Probabilities.

        Returns
        -------
        ndarray of shape (n_samples,)
            From 0 to 1.

        Raises
        ------
        ValueError
            If a score is no probability.
        TypeError
            If scores are in a sparse container.
        """
        matrix = checked_scores(scores)
        _check_probabilities(matrix)
        return best_expected_fbeta(matrix, beta_squared(self.beta), self.zero_division)[1]


def _check_probabilities(scores: NDArray[Any]) -> None:
    if scores.size and not 0 <= scores.min() <= scores.max() <= 1:
        wrong = scores.min() if scores.min() < 0 else scores.max()
        raise ValueError(
            f"scores must be probabilities from 0 to 1, got {np.float64(wrong)}."
            " Hint: decision values can be calibrated by sklearn.calibration.CalibratedClassifierCV."
        )
