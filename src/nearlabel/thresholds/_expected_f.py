"""Decide for the highest expected F of each row: the alternative to thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearlabel.metrics.counts import beta_squared
from nearlabel.models.decision import top_labels
from nearlabel.thresholds._strategy import OF_EXAMPLES, Objective, ThresholdStrategy, check_beta, checked_scores
from nearlabel.utils.naming import registered
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray, IntArray, MatrixLike
from nearlabel.utils.validation import BLOCK_BYTES


@registered("thresholds", "expected-f")
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


# The label set with the highest expected F-beta, for labels that are independent given their probabilities.
#
# For each size the best set consists of the most probable labels, so there are L + 1 candidates. With p_1 >= ... >=
# p_L, S_k true labels among the first k and beta^2 = q/r, predicting the first k labels has F = (1 + beta^2) S_k r /
# (r k + q S_L), hence
#
# E[F] = (1 + beta^2) sum_j j P(S_k = j) s(k, r k + q j),    s(k, a) = E[r / (a + q (S_L - S_k))],
#
# and conditioning on label k gives the recursion s(k - 1, a) = p_k s(k, a + q) + (1 - p_k) s(k, a) from s(L, a) = r /
# a.
#
# References ---------- N. Ye, K. M. A. Chai, W. S. Lee, H. L. Chieu: Optimizing F-measures: A Tale of Two Approaches.
# ICML 2012.

_EQUAL = 1e-12  # expected values that differ by less are equal up to rounding


def best_expected_fbeta(
    probabilities: NDArray[Any], beta_squared: Fraction, empty_value: float = 0.0
) -> tuple[NDArray[Any], FloatArray]:
    """Predict, in each row, the label set with the highest expected example-based F-beta if labels are independent.

    Exact up to rounding. A row of m probabilities above 0 takes O(m^2 min(q + r, m)) steps, where beta^2 = q/r in
    lowest terms, and O(m^2) memory: quadratic time for beta 1, 2 or 1/2, cubic for a beta that is not a simple ratio.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_labels)
        Marginal probability of each label, in [0, 1].
    beta_squared : Fraction
        Weight of recall relative to precision, squared.
    empty_value : float, default=0.0
        F-beta without true and without predicted labels.

    Returns
    -------
    labels : ndarray of shape (n_samples, n_labels)
        Indicator matrix. Among equal probabilities lower indices come first, among sets of equal expected value (to
        1e-12) the smallest; a label with probability 0 is never predicted.
    expected : ndarray of shape (n_samples,)
        Expected F-beta of the predicted sets.

    Examples
    --------
    >>> import numpy as np
    >>> labels, expected = best_expected_fbeta(np.array([[0.4, 0.6], [0.1, 0.9]]), Fraction(1))
    >>> labels
    array([[1, 1],
           [0, 1]])
    >>> expected.round(3)
    array([0.587, 0.87 ])
    """
    n_possible = np.count_nonzero(probabilities, axis=1)
    sizes = np.zeros(len(probabilities), dtype=np.intp)
    expected = np.full(len(probabilities), float(empty_value))
    for rows in _similar_rows(n_possible):
        descending = -np.sort(-probabilities[rows].astype(np.float64), axis=1)[:, : n_possible[rows].max()]
        of_size = _expected_of_sizes(np.ascontiguousarray(descending.T), beta_squared, empty_value)
        sizes[rows] = np.argmax(of_size >= of_size.max(axis=0) - _EQUAL, axis=0)
        expected[rows] = of_size[sizes[rows], np.arange(len(rows))]
    return top_labels(probabilities, sizes), expected


def _expected_of_sizes(p: FloatArray, beta_squared: Fraction, empty_value: float) -> FloatArray:
    """Return the expected F-beta (L + 1, n) of predicting the first 0 .. L labels; p (L, n) descends."""
    n_labels = len(p)
    true_among = _distribution_of_counts(p)
    expected = np.empty((n_labels + 1, p.shape[1]))
    expected[0] = empty_value * true_among[n_labels, 0]
    means, r, q = _means_of_none_left(n_labels, beta_squared)
    s = np.repeat(means[:, np.newaxis], p.shape[1], axis=1)
    for k in range(n_labels, 0, -1):
        j = np.arange(1.0, k + 1)
        expected[k] = np.einsum("j,jn,jn->n", j, true_among[k, 1 : k + 1], s[r * k + q :: q])
        needed = (r + q) * (k - 1) + 1  # r k + q j for the smaller k and j
        s = p[k - 1] * s[q : q + needed] + (1 - p[k - 1]) * s[:needed]
    expected[1:] *= 1 + float(beta_squared)
    return expected


def _means_of_none_left(n_labels: int, beta_squared: Fraction) -> tuple[FloatArray, int, int]:
    """Return s(L, r k + q j) for k and j in 0 .. L in one array, and the steps that k and j take in it.

    For small q + r it contains s(L, a) for a = 0, 1, ..., so that pairs (k, j) with the same a share a value, and the
    steps are r and q. Otherwise that would need more values than pairs, and the array contains one value per pair, in
    steps L + 1 and 1.
    """
    q, r = beta_squared.as_integer_ratio()
    if q + r <= n_labels + 2:
        alpha_over_r, steps = np.arange((q + r) * n_labels + 1) / r, (r, q)
    else:
        pair = np.arange(n_labels + 1)
        alpha_over_r, steps = np.add.outer(pair, float(beta_squared) * pair).ravel(), (n_labels + 1, 1)
    alpha_over_r[0] = np.inf  # k = 0: not used by any set
    return 1 / alpha_over_r, *steps


def _distribution_of_counts(p: FloatArray) -> FloatArray:
    """Return the probability (L + 1, L + 1, n) that j of the first k labels are true, at [k, j]; p is (L, n)."""
    n_labels, n = p.shape
    counts = np.zeros((n_labels + 1, n_labels + 1, n))
    counts[0, 0] = 1
    for k in range(1, n_labels + 1):
        counts[k, :k] = (1 - p[k - 1]) * counts[k - 1, :k]
        counts[k, 1 : k + 1] += p[k - 1] * counts[k - 1, :k]
    return counts


def _similar_rows(n_possible: IntArray) -> Iterator[IntArray]:
    """Yield the rows that have a possible label, those with the most first, in blocks within the budget."""
    order = np.argsort(-n_possible, kind="stable")
    start, stop = 0, np.count_nonzero(n_possible)
    while start < stop:
        widest = int(n_possible[order[start]])
        size = max(1, BLOCK_BYTES // (8 * (widest + 1) ** 2))
        yield order[start : min(start + size, stop)]
        start += size
