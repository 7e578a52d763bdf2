"""The thresholds of largest micro-averaged F (Pillai, Fumera and Roli, ICPR 2012), by fractional programming."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearlabel.metrics import CATALOGUE, Metric
from nearlabel.metrics.counts import beta_terms
from nearlabel.thresholds._cuts import Cuts, as_exact, first_largest_ratio
from nearlabel.thresholds._strategy import ALL, ByThresholds, Objective, check_beta
from nearlabel.utils.naming import registered
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.validation import check_integer, check_positive


@registered("thresholds", "micro-f")
class MicroFOptimum(ByThresholds):
    """Find the thresholds, one for each label, that reach the global maximum of micro-averaged F-beta.

    Over all labels l with threshold t_l, micro-averaged F-beta is a ratio of sums::

        F(t) = Σ a_l(t_l) / (β² P + Σ b_l(t_l)),    a_l = (1 + β²) · hits,    b_l = predicted samples

    where P is the number of true labels. For a fixed λ, Σ a_l - λ Σ b_l can be maximised for each label separately. If
    λ is the F reached so far, the thresholds that maximise this sum reach at least this F, and a larger one unless it
    is the maximum (Dinkelbach 1967). The paper's theorem is that the maximum can be found one threshold at a time. For
    beta = 1 the thresholds also maximise the micro-averaged Jaccard index, F / (2 - F).

    Parameters
    ----------
    beta : float, default=1.0
        Weight of recall against precision, above 0.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_labels,)
        A label is predicted if its score is at least this. It is halfway between two distinct scores; the next float
        above all scores if no training sample is predicted; infinity for a label without positives; minus infinity if
        all are predicted. Among equal optima, the one with the fewest predicted labels.
    objective_ : float
        The micro-averaged F-beta reached; 0 if y has no positive at all.
    n_iter_ : int
        Number of passes over the thresholds; the last one finds nothing better.
    n_labels_ : int
        Number of labels.

    Notes
    -----
    The result is exact: thresholds are compared in integers, with beta² as a fraction (0.5² as 1/4), unless sample
    weights are not integers or beta² is not a fraction of integers up to a million. The cost is one sort of each
    label's scores; the cost of the other steps depends on the number of positives only. A score of plus infinity
    reaches every threshold.

    See Also
    --------
    PillaiAscent : The algorithm that the paper prints; it finds the same thresholds.
    micro_pr_frontier : The optima for all beta at once.

    References
    ----------
    I. Pillai, G. Fumera, F. Roli: F-measure optimisation in multi-label classifiers. ICPR 2012.
    W. Dinkelbach: On nonlinear fractional programming. Management Science 13(7), 1967.

    Examples
    --------
    >>> from nearlabel.thresholds import MicroFOptimum
    >>> scores = [[0.9, 0.2], [0.8, 0.1], [0.3, 0.4], [0.1, 0.3]]
    >>> y = [[1, 1], [0, 0], [1, 0], [0, 0]]
    >>> optimum = MicroFOptimum().fit(scores, y)
    >>> optimum.thresholds_.round(2).tolist(), optimum.objective_
    ([0.2, 0.4], 0.6666666666666666)
    """

    _learns_from_stored = True

    def __init__(self, beta: float = 1.0) -> None:
        self.beta = beta

    def _check_parameters(self) -> None:
        check_beta(self.beta)

    def _objective(self) -> Objective:
        return Objective.given("micro_fbeta", self.beta, ALL)

    def _reaches(self, metric: Metric) -> bool:
        return metric is CATALOGUE["micro_f1"] and self.beta == 1

    def _learn(self, scores: NDArray[Any], truth: PartialLabels, weights: Any) -> None:
        cuts = Cuts.of(scores, truth, weights)
        gains, costs, constant = micro_f_terms(cuts, self.beta)
        largest = [np.maximum.reduceat(terms, cuts.start[:-1]).sum().item() for terms in (gains, costs)]
        a, b = as_exact(gains, costs, factor=2 * int(max(largest[0], constant + largest[1])))
        reached, cost, self.n_iter_ = 0, 1, 0
        while True:
            chosen = cuts.best_of_each_label(a * cost - reached * b)  # the largest a - λ b, where λ = reached / cost
            new, new_cost = gains[chosen].sum().item(), constant + costs[chosen].sum().item()
            self.n_iter_ += 1
            if not new * cost > reached * new_cost:
                break
            reached, cost = new, new_cost
        self.thresholds_ = cuts.thresholds[chosen]
        self.objective_ = reached / cost


def micro_f_terms(cuts: Cuts, beta: float) -> tuple[NDArray[Any], NDArray[Any], Any]:
    """Return the terms of each threshold, and the denominator's constant: F = Σ gains / (constant + Σ costs).

    The terms are integers if β² = q/r is a simple fraction: both sides are multiplied by r.
    """
    q, r = beta_terms(beta)
    return (q + r) * cuts.hits, r * cuts.predicted, q * np.sum(cuts.positives).item()


# Algorithm 1 of Pillai, Fumera and Roli (ICPR 2012), as printed.


@registered("thresholds", "pillai")
class PillaiAscent(ByThresholds):
    """Raise one threshold at a time to where micro-averaged F-beta is largest, until a scan of all changes nothing.

    Algorithm 1 of the paper: all thresholds start below the lowest score; each in turn moves to its best value at or
    above the present one, given the others. The paper's theorem is that this ends in the global maximum, which is
    `MicroFOptimum`'s, found here at a higher cost.

    Parameters
    ----------
    beta : float, default=1.0
        Weight of recall against precision, above 0.
    max_scans : int, default=None
        Largest number of scans; 1 is the paper's "1st loop". None: continue until nothing changes.
    tol : float, default=0.0
        Stop after a scan that gains less than this: with it, the greedy search of Fan and Lin (2007), which may stop
        short of the maximum.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_labels,)
        A label is predicted if its score is at least this; of equal maxima the highest threshold is taken.
    objective_ : float
        The micro-averaged F-beta reached.
    n_scans_ : int
        Number of scans over all labels; the last one changes nothing unless stopped before.
    n_evaluated_ : int
        Threshold vectors evaluated. The paper observes fewer than 2 (n_samples + 1) n_labels.
    n_labels_ : int
        Number of labels.

    Notes
    -----
    Every distinct score is a candidate, as in the paper; memory is about 40 bytes per score.

    References
    ----------
    I. Pillai, G. Fumera, F. Roli: F-measure optimisation in multi-label classifiers. ICPR 2012.
    R.-E. Fan, C.-J. Lin: A study on threshold selection for multi-label classification. Technical report, 2007.

    Examples
    --------
    >>> from nearlabel.thresholds import PillaiAscent
    >>> scores = [[0.9, 0.2], [0.8, 0.1], [0.3, 0.4], [0.1, 0.3]]
    >>> y = [[1, 1], [0, 0], [1, 0], [0, 0]]
    >>> ascent = PillaiAscent().fit(scores, y)
    >>> ascent.objective_, ascent.n_scans_, ascent.n_evaluated_
    (0.6666666666666666, 2, 15)
    """

    def __init__(self, beta: float = 1.0, *, max_scans: int | None = None, tol: float = 0.0) -> None:
        self.beta = beta
        self.max_scans = max_scans
        self.tol = tol

    def _check_parameters(self) -> None:
        check_beta(self.beta)
        if self.max_scans is not None:
            check_integer("max_scans", self.max_scans, low=1)
        if self.tol != 0:
            check_positive("tol", self.tol)

    def _objective(self) -> Objective:
        return Objective.given("micro_fbeta", self.beta, ALL)

    def _learn(self, scores: NDArray[Any], truth: PartialLabels, weights: Any) -> None:
        cuts = Cuts.of(scores, truth, weights, every=True)
        ascent = _Ascent(cuts, self.beta)
        self.n_scans_ = 0
        while True:
            before = ascent.objective
            updated = ascent.scan()
            self.n_scans_ += 1
            if not updated or self.n_scans_ == self.max_scans or ascent.objective - before < self.tol:
                break
        self.thresholds_ = cuts.thresholds[ascent.chosen]
        self.objective_ = ascent.objective
        self.n_evaluated_ = ascent.n_evaluated


class _Ascent:
    """The present thresholds with the sums that F is a ratio of."""

    def __init__(self, cuts: Cuts, beta: float) -> None:
        self.first = cuts.start[:-1]
        self.chosen = cuts.start[1:] - 1  # below the lowest score: all rows
        self.gains, self.costs, constant = micro_f_terms(cuts, beta)
        self.gain = self.gains[self.chosen].sum()
        self.cost = constant + self.costs[self.chosen].sum()
        self.n_evaluated = 0

    @property
    def objective(self) -> float:
        return float(self.gain / self.cost) if self.cost else 0.0

    def scan(self) -> bool:
        """Move each threshold to θ = argmax over τ >= t_k of F(t_1, ..., τ, ..., t_N); return whether any moved."""
        before = self.chosen.copy()
        for label in range(len(self.first)):
            self._raise(label)
        return bool((self.chosen != before).any())

    def _raise(self, label: int) -> None:
        now = self.chosen[label]
        upward = slice(self.first[label], now + 1)
        gain, cost = self.gain - self.gains[now], self.cost - self.costs[now]
        best = self.first[label] + first_largest_ratio(gain + self.gains[upward], cost + self.costs[upward])
        self.n_evaluated += int(now + 1 - self.first[label])
        self.chosen[label] = best
        self.gain, self.cost = gain + self.gains[best], cost + self.costs[best]
