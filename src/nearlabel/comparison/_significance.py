"""Statistical tests on paired values of methods."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.random import RandomState
from scipy import stats

from nearlabel.comparison._paired import ROUNDING, PairedValues
from nearlabel.utils.types import FloatArray
from nearlabel.utils.validation import check_choice

_LEAST_FOR_BAYES = 5  # pairs; with fewer the prior dominates
_FEW_ROWS = 6  # rows, for Friedman's approximations
_N_SAMPLES = 50_000  # samples of the posterior


class OverlappingFoldsWarning(UserWarning):
    """A test that assumes independent folds is used on folds with overlapping training sets."""


@dataclass(frozen=True)
class PairedTest:
    """Two methods compared on the same folds or data sets.

    Parameters
    ----------
    dataset : str
        Name, or "all" if the pairs are data sets.
    metric : str
        Name of the metric.
    methods : tuple of str
        The two methods.
    difference : float
        Mean of the first method minus the mean of the second.
    statistic : float
        The test statistic, positive if the first method is better: t; Wilcoxon's sum of signed ranks; z of the mean
        ranks; for the Bayesian test, the probability that the first method is better minus the probability that the
        second is. NaN if undefined: without any difference, with a single pair, for t with the same difference
        everywhere, and for the Bayesian test with fewer than five pairs.
    p_value : float
        Two-tailed p-value; for the Bayesian test, the probability that the method that appears better is the worse one.
    n_pairs : int
        Number of pairs.
    """

    dataset: str
    metric: str
    methods: tuple[str, str]
    difference: float
    statistic: float
    p_value: float
    n_pairs: int

    @property
    def better(self) -> str:
        """The method that the statistic favours; the second if it favours none."""
        return self.methods[0] if self.statistic > 0 else self.methods[1]


@dataclass(frozen=True)
class FriedmanTest:
    """Friedman's test: methods are ranked on each fold or data set, and their mean ranks are compared.

    Parameters
    ----------
    dataset, metric : str
        As in `PairedTest`.
    mean_ranks : dict of str to float
        For each method, the mean of its ranks, 1 for the best; equal values share their mean rank.
    statistic, p_value : float
        Friedman's chi-squared statistic and its p-value.
    f_statistic, f_p_value : float
        Iman and Davenport's F statistic and its p-value, a less conservative form of the test.
    n_pairs : int
        Number of folds or data sets.
    critical_difference : float
        Smallest significant difference of two mean ranks in Nemenyi's test.
    post_hoc : str
        "nemenyi" or "holm".
    tests : tuple of PairedTest
        The post-hoc test of each pair of methods; differences are of mean ranks.
    """

    dataset: str
    metric: str
    mean_ranks: dict[str, float]
    statistic: float
    p_value: float
    f_statistic: float
    f_p_value: float
    n_pairs: int
    critical_difference: float
    post_hoc: str
    tests: tuple[PairedTest, ...]

    def rejects(self, alpha: float = 0.05) -> bool:
        """Return whether Iman and Davenport's F test is significant; if not, the pairwise tests do not count."""
        return self.f_p_value < alpha

    def not_different(self, alpha: float = 0.05) -> list[list[str]]:
        """Return the maximal groups of methods, adjacent in rank, whose first and last do not differ significantly."""
        methods = sorted(self.mean_ranks, key=lambda method: self.mean_ranks[method])
        if not self.rejects(alpha):
            return [methods]
        p_values = {frozenset(test.methods): test.p_value for test in self.tests}
        groups: list[list[str]] = []
        for start, method in enumerate(methods):
            p_of = {i: p_values[frozenset((method, methods[i]))] for i in range(start + 1, len(methods))}
            alike = [i for i, p_value in p_of.items() if p_value >= alpha]
            if alike and not (groups and methods[alike[-1]] in groups[-1]):
                groups.append(methods[start : alike[-1] + 1])
        return groups


class _Outcome(NamedTuple):
    statistic: float
    p_value: float


_UNDEFINED = _Outcome(float("nan"), float("nan"))


def _t(difference: FloatArray, overlap: float) -> _Outcome:
    """Student's t-test on the differences, as in Zhang and Zhou (2007)."""
    return _corrected_t(difference, 0.0)


def _corrected_t(difference: FloatArray, overlap: float) -> _Outcome:
    """Nadeau and Bengio's corrected t-test (2003): σ² (1/n + n_test/n_train) in place of σ²/n."""
    if np.ptp(difference) <= 2 * ROUNDING:
        return _UNDEFINED
    statistic = difference.mean() / np.sqrt((1 / len(difference) + overlap) * difference.var(ddof=1))
    return _Outcome(float(statistic), float(2 * stats.t.sf(abs(statistic), len(difference) - 1)))


def _wilcoxon(difference: FloatArray, overlap: float) -> _Outcome:
    """Wilcoxon's signed-rank test; pairs without a difference are ranked and count for neither side (Demšar 2006).

    The distribution over all signs is exact, also with tied ranks, which are multiples of 1/2.
    """
    ranks = np.rint(2 * stats.rankdata(np.abs(difference))).astype(np.int64)
    observed = int(np.sign(difference) @ ranks)
    shares = np.ones(1)  # combinations of signs, by their sum of signed ranks
    for rank in ranks[difference != 0]:
        shares = (np.pad(shares, (0, 2 * rank)) + np.pad(shares, (2 * rank, 0))) / 2
    sums = np.arange(len(shares)) - len(shares) // 2
    return _Outcome(observed / 2, min(1.0, float(shares[np.abs(sums) >= abs(observed)].sum())))


def _bayesian(difference: FloatArray, overlap: float) -> _Outcome:
    """The Bayesian signed-rank test of Benavoli et al. (2014): a Dirichlet process with a prior of half a tied pair.

    The probability that the first method is better is the share of posterior samples in which the mean of two drawn
    differences is more often above 0 than below.
    """
    if len(difference) < _LEAST_FOR_BAYES:
        return _UNDEFINED
    pairs = np.concatenate([[0.0], difference])
    weights = RandomState(0).dirichlet([0.5] + [1.0] * len(difference), _N_SAMPLES)
    wins = (np.sign(pairs[:, np.newaxis] + pairs) + 1) / 2
    better = float(np.mean(((weights @ wins) * weights).sum(axis=1) > 0.5))
    return _Outcome(2 * better - 1, min(better, 1 - better))


PAIRED_TESTS: Mapping[str, Callable[[FloatArray, float], _Outcome]] = MappingProxyType(
    {"t": _t, "corrected-t": _corrected_t, "wilcoxon": _wilcoxon, "bayes": _bayesian}
)
_TAKES_OVERLAP = ("corrected-t",)


POST_HOC = ("nemenyi", "holm")
ENOUGH_FOR_FRIEDMAN = "must have values of 3 methods on the same 2 folds or data sets"


def paired_tests(values: PairedValues, test: str, pairs: Sequence[tuple[str, str]] | None = None) -> list[PairedTest]:
    """Compare methods pairwise.

    Parameters
    ----------
    values : PairedValues
        Paired values of one metric.
    test : {"t", "corrected-t", "wilcoxon", "bayes"}
        Student's paired t-test; the same with the variance corrected for overlapping training sets (Nadeau and Bengio
        2003; equal to "t" if they do not overlap); Wilcoxon's signed-rank test; the Bayesian signed-rank test (Benavoli
        et al. 2014).
    pairs : sequence of (str, str), default=None
        The methods to compare; None: all pairs. A pair without common rows is left out.

    Raises
    ------
    ValueError
        If the test is unknown.

    Warns
    -----
    OverlappingFoldsWarning
        If training sets overlap and the test assumes independent folds: its p-values are too small.

    References
    ----------
    C. Nadeau, Y. Bengio. Inference for the generalization error. Machine Learning 52, 2003.

    J. Demšar. Statistical comparisons of classifiers over multiple data sets. Journal of Machine Learning Research 7,
    2006.

    A. Benavoli, F. Mangili, G. Corani, M. Zaffalon, F. Ruggeri. A Bayesian Wilcoxon signed-rank test based on the
    Dirichlet process. ICML 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from nearlabel.comparison import PairedValues, paired_tests
    >>> micro_f1 = np.array([[0.70, 0.66], [0.64, 0.61], [0.81, 0.78], [0.55, 0.54], [0.68, 0.66]])
    >>> values = PairedValues("all", "micro_f1", ("brknn", "mlknn"), micro_f1)
    >>> found = paired_tests(values, "wilcoxon")[0]
    >>> found.methods, round(found.difference, 3), round(found.p_value, 4)
    (('brknn', 'mlknn'), 0.026, 0.0625)
    """
    check_choice("test", test, PAIRED_TESTS)
    if test not in _TAKES_OVERLAP:
        warn_of_overlap(values)
    pairs = list(combinations(values.methods, 2)) if pairs is None else pairs
    return [
        _test_of(values, pair, difference, PAIRED_TESTS[test])
        for pair in pairs
        for difference in [values.difference(*pair)]
        if len(difference)
    ]


def warn_of_overlap(values: PairedValues) -> None:
    """Warn if the rows are folds with overlapping training sets."""
    if values.overlap:
        warnings.warn(
            "Folds share training samples, so this test's p-values are too small. Hint: the corrected t-test"
            " (corrected-t) takes that into account.",
            OverlappingFoldsWarning,
            stacklevel=3,
        )


def warn_of_few(n_pairs: Sequence[int], test: str, over: str, alpha: float) -> None:
    """Warn if no difference can be significant, however large and steady it is."""
    for_all_signs = math.floor(math.log2(1 / alpha)) + 2  # those of n pairs are equal in one case of 2^(n - 1)
    least = {"wilcoxon": for_all_signs, "bayes": _LEAST_FOR_BAYES}.get(test, 2)
    if n_pairs and max(n_pairs) < least:
        units, hint = ("data sets", " Hint: compare over folds.") if over == "datasets" else (over, "")
        warnings.warn(
            f"{max(n_pairs)} {units} are too few: {test} finds no difference significant at {alpha:g} with fewer than"
            f" {least}.{hint}",
            stacklevel=3,
        )


def _test_of(
    values: PairedValues,
    pair: tuple[str, str],
    difference: FloatArray,
    test: Callable[[FloatArray, float], _Outcome],
) -> PairedTest:
    undefined = len(difference) < 2 or not difference.any()
    outcome = _UNDEFINED if undefined else test(values.sign * difference, values.overlap)
    return PairedTest(values.dataset, values.metric, pair, float(difference.mean()), *outcome, len(difference))


def is_enough_for_friedman(values: PairedValues) -> bool:
    """Return whether at least three methods have values on at least two common rows."""
    n, k = values.complete().values.shape
    return bool(n >= 2 and k >= 3)


def friedman_test(values: PairedValues, post_hoc: str = "nemenyi", alpha: float = 0.05) -> FriedmanTest:
    """Rank the methods on each fold or data set, and test whether their mean ranks differ.

    Parameters
    ----------
    values : PairedValues
        Paired values of one metric. Methods without values are left out, and so are rows on which another method has no
        value.
    post_hoc : {"nemenyi", "holm"}, default="nemenyi"
        The pairwise test. "nemenyi": by the studentized range, for all pairs. "holm": by the normal distribution, with
        Holm's correction for the number of pairs.
    alpha : float, default=0.05
        Significance level of the critical difference.

    Raises
    ------
    ValueError
        If fewer than three methods or two rows are left, or the post-hoc test is unknown.

    Warns
    -----
    OverlappingFoldsWarning
        If the rows are folds with overlapping training sets.

    References
    ----------
    J. Demšar. Statistical comparisons of classifiers over multiple data sets. Journal of Machine Learning Research 7,
    2006.

    R. L. Iman, J. M. Davenport. Approximations of the critical region of the Friedman statistic. Communications in
    Statistics 9, 1980.

    Examples
    --------
    >>> import numpy as np
    >>> from nearlabel.comparison import PairedValues, friedman_test
    >>> micro_f1 = np.random.default_rng(0).normal([0.70, 0.66, 0.65], 0.02, (12, 3))
    >>> test = friedman_test(PairedValues("all", "micro_f1", ("brknn", "mlknn", "lpknn"), micro_f1))
    >>> {method: round(rank, 2) for method, rank in test.mean_ranks.items()}, round(test.f_p_value, 5)
    ({'brknn': 1.08, 'mlknn': 2.33, 'lpknn': 2.58}, 1e-05)
    """
    check_choice("post_hoc", post_hoc, POST_HOC)
    complete = values.complete()
    n, k = complete.values.shape
    if not is_enough_for_friedman(values):
        raise ValueError(f"{values.metric} {ENOUGH_FOR_FRIEDMAN}, for Friedman's test, got {k} methods on {n}.")
    warn_of_overlap(values)
    _warn_of_rows(values, n)
    ranks = complete.ranks()
    statistic, p_value, f_statistic, f_p_value = _friedman(ranks)
    mean_ranks = dict(zip(complete.methods, ranks.mean(axis=0).tolist(), strict=True))
    error = float(np.sqrt(k * (k + 1) / (6 * n)))
    pairs = list(combinations(complete.methods, 2))
    z = np.array([(mean_ranks[second] - mean_ranks[first]) / error for first, second in pairs])
    p_values = _nemenyi(np.abs(z), k) if post_hoc == "nemenyi" else _holm(2 * stats.norm.sf(np.abs(z)))
    tests = tuple(
        PairedTest(values.dataset, values.metric, pair, float(-of * error), float(of), float(p), n)
        for pair, of, p in zip(pairs, z, p_values, strict=True)
    )
    critical = float(stats.studentized_range.ppf(1 - alpha, k, np.inf) / np.sqrt(2) * error)
    return FriedmanTest(
        values.dataset, values.metric, mean_ranks, statistic, p_value, f_statistic, f_p_value, n, critical, post_hoc,
        tests,
    )  # fmt: skip


def _warn_of_rows(values: PairedValues, n_rows: int) -> None:
    """Warn if rows are left out, or if there are too few rows for accurate p-values."""
    undefined, n_all = np.isnan(values.values), len(values.values)
    rows = "data sets" if values.dataset == "all" else "folds"
    if n_rows < n_all:
        partly = np.flatnonzero(undefined.any(axis=0) & ~undefined.all(axis=0))
        names = ", ".join(values.methods[column] for column in partly)
        warnings.warn(
            f"{values.metric}: {n_all - n_rows} of {n_all} {rows} are left out, on which {names} have no value. Hint:"
            " compare without them.",
            stacklevel=3,
        )
    if n_rows < _FEW_ROWS:
        warnings.warn(f"Friedman's p-values are approximations, rough for {n_rows} {rows}.", stacklevel=3)


def _friedman(ranks: FloatArray) -> tuple[float, float, float, float]:
    """Return Friedman's chi-squared, corrected for ties, and Iman and Davenport's F, each with its p-value."""
    n, k = ranks.shape
    if np.ptp(ranks) == 0:  # all values equal on every row
        return 0.0, 1.0, 0.0, 1.0
    chi2, p_value = stats.friedmanchisquare(*ranks.T)
    largest = n * (k - 1)  # the same ranks on every row
    f = np.inf if chi2 >= largest * (1 - 1e-12) else (n - 1) * chi2 / (largest - chi2)
    return float(chi2), float(p_value), float(f), float(stats.f.sf(f, k - 1, (k - 1) * (n - 1)))


def _nemenyi(z: FloatArray, n_methods: int) -> FloatArray:
    return np.asarray(stats.studentized_range.sf(z * np.sqrt(2), n_methods, np.inf))


def _holm(p_values: FloatArray) -> FloatArray:
    """Return Holm's p-values: from the smallest on, times the number of hypotheses not yet rejected (Holm 1979)."""
    order = np.argsort(p_values, kind="stable")
    steps = np.maximum.accumulate(p_values[order] * np.arange(len(order), 0, -1))
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted
