"""Compare methods: test each pair on each metric, and rank the methods by their significant wins."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from nearlabel.comparison._paired import PairedValues, pair_records
from nearlabel.comparison._results import Results, read_results
from nearlabel.comparison._significance import (
    ENOUGH_FOR_FRIEDMAN,
    PAIRED_TESTS,
    FriedmanTest,
    PairedTest,
    friedman_test,
    is_enough_for_friedman,
    paired_tests,
)
from nearlabel.utils.messages import warnings_as_notes
from nearlabel.utils.validation import check_choice, check_positive

TESTS = (*PAIRED_TESTS, "friedman")


@dataclass(frozen=True)
class Comparison:
    """Methods compared by a statistical test on each metric.

    Parameters
    ----------
    test, over : str
        Name of the test, and whether it pairs "folds" or "datasets".
    alpha : float
        Significance level: smaller p-values are significant.
    methods, metrics : tuple of str
        Names of the compared methods and metrics.
    tests : tuple of PairedTest
        One test for each pair of methods and each metric.
    friedman : tuple of FriedmanTest
        The test of all methods on each metric, if `test` is "friedman"; its pairwise tests are in `tests`.
    order : Order
        The resulting order of the methods. If a Friedman test is not significant, its pairwise tests are ignored.
    notes : tuple of str
        Notes for readers: violated assumptions, and results that were left out.
    """

    test: str
    over: str
    alpha: float
    methods: tuple[str, ...]
    metrics: tuple[str, ...]
    tests: tuple[PairedTest, ...]
    friedman: tuple[FriedmanTest, ...]
    order: Order
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists, for JSON."""
        return asdict(self)


def compare(
    results: Results,
    *,
    test: str | None = None,
    over: str | None = None,
    post_hoc: str = "nemenyi",
    alpha: float = 0.05,
    metrics: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    greater_is_better: Mapping[str, bool] | None = None,
) -> Comparison:
    """Compare methods by a statistical test on their results.

    Parameters
    ----------
    results : path, DataFrame, list of dict, or list of these
        Records that `run` returned or wrote, or another program's results, as in `read_results`. If a method has
        several numbers of neighbours, the mean over them is compared.
    test : {"t", "corrected-t", "wilcoxon", "bayes", "friedman"}, default=None
        See `paired_tests` and `friedman_test`. "t" is the test of Zhang and Zhou (2007). None: "corrected-t" over
        folds, "wilcoxon" over data sets.
    over : {"folds", "datasets"}, default=None
        The units that are paired. None: data sets if there are several, else folds.
    post_hoc : {"nemenyi", "holm"}, default="nemenyi"
        The pairwise test after Friedman's test.
    alpha : float, default=0.05
        Significance level.
    metrics, methods : sequence of str, default=None
        Names to compare; None: all names in the results.
    greater_is_better : mapping of str to bool, default=None
        The direction of metrics that are neither in `nearlabel.metrics.CATALOGUE` nor have the column
        greater_is_better.

    Returns
    -------
    Comparison
        Tests, relations and order. Only Friedman's post-hoc tests are corrected for the number of pairs; no test is
        corrected for the number of metrics.

    Raises
    ------
    ValueError
        If a name is unknown, `alpha` is out of range, there are too few methods, folds or data sets for the test, no
        two methods share any of them, the direction of a metric is unknown, or the results cannot be read or combined.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.comparison import compare
    >>> from nearlabel.experiments import Plan, run
    >>> plan = Plan(("brknn", "brknn-b"), n_neighbors=(10,), cv=5, metrics=("f1_examples", "hamming_loss"))
    >>> compare(run(plan, {"multidigits": load_multidigits()})).order.by_metric()
    {'f1_examples': {'brknn': -1, 'brknn-b': 1}, 'hamming_loss': {'brknn': 1, 'brknn-b': -1}}
    """
    if test is not None:
        check_choice("test", test, TESTS)
    if check_positive("alpha", alpha) >= 1:
        raise ValueError(f"alpha must be below 1, got {alpha}.")
    with warnings_as_notes() as notes:
        records = read_results(results)
    if over is None:
        over = "folds" if len({r["dataset"] for r in records}) <= 1 else "datasets"
    test = test or ("corrected-t" if over == "folds" else "wilcoxon")
    tables = pair_records(records, over, metrics, methods, greater_is_better)
    _check_enough(tables, over)
    with warnings_as_notes() as of_tests:
        friedman = _friedman_tests(tables, post_hoc, alpha) if test == "friedman" else ()
        by_table = [list(of.tests) for of in friedman] or [paired_tests(table, test) for table in tables]
    tests = tuple(pair for pairs in by_table for pair in pairs)
    if not tests:
        raise ValueError(
            f"methods must share {over} to be compared, got none in common of {', '.join(tables[0].methods)}."
            + (" Hint: the same seed, or over='datasets'." if over == "folds" else "")
        )
    # Pairwise tests count only if Friedman's test is significant.
    rejected = {(of.dataset, of.metric) for of in friedman if of.rejects(alpha)}
    seen = [pair for pair in tests if not friedman or (pair.dataset, pair.metric) in rejected]
    names = tables[0].methods
    return Comparison(
        test, over, alpha, names, tuple(dict.fromkeys(table.metric for table in tables)), tests, friedman,
        order_methods(seen, names, alpha), (*notes, *of_tests),
    )  # fmt: skip


def _friedman_tests(tables: Sequence[PairedValues], post_hoc: str, alpha: float) -> tuple[FriedmanTest, ...]:
    """Test each metric for which enough methods have values; raise ValueError if there is none."""
    enough = [table for table in tables if is_enough_for_friedman(table)]
    for table in tables if enough else ():
        if table not in enough:
            of = "" if table.dataset == "all" else f" of {table.dataset}"
            warnings.warn(f"{table.metric}{of} is left out: it {ENOUGH_FOR_FRIEDMAN}.", stacklevel=3)
    return tuple(friedman_test(table, post_hoc, alpha) for table in enough or tables)


def _check_enough(tables: Sequence[PairedValues], over: str) -> None:
    if len(tables[0].methods) < 2:
        raise ValueError(f"results must contain at least 2 methods to compare, got {', '.join(tables[0].methods)}.")
    if max(len(table.values) for table in tables) < 2:
        raise ValueError(
            f"results must contain at least 2 {over} to compare methods over them, got 1."
            + (" Hint: with several data sets, over='datasets'." if over == "folds" else "")
        )


# Rank methods by significant wins minus losses, as in Zhang and Zhou (2007, section 4.2).


@dataclass(frozen=True)
class Relation:
    """A significant difference: one method is better than another on a metric.

    Parameters
    ----------
    dataset, metric : str
        As in `PairedTest`.
    better, worse : str
        The methods.
    difference : float
        Mean of the better method minus the mean of the worse; after a Friedman test, the difference of mean ranks.
    p_value : float
        The p-value of the test.
    n_pairs : int
        Number of folds or data sets.
    """

    dataset: str
    metric: str
    better: str
    worse: str
    difference: float
    p_value: float
    n_pairs: int


@dataclass(frozen=True)
class Order:
    """Partial orders by each metric, and the total order from their sum.

    Parameters
    ----------
    relations : tuple of Relation
        The partial orders.
    scores : dict of str to int
        For each method, best first, its wins minus its losses over all relations.
    """

    relations: tuple[Relation, ...]
    scores: dict[str, int]

    def by_metric(self) -> dict[str, dict[str, int]]:
        """Return each method's wins minus losses for each metric."""
        scores: dict[str, dict[str, int]] = {}
        for relation in self.relations:
            of_metric = scores.setdefault(relation.metric, dict.fromkeys(self.scores, 0))
            of_metric[relation.better] += 1
            of_metric[relation.worse] -= 1
        return scores

    def as_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists, for JSON."""
        return asdict(self)


def relation_of(test: PairedTest, alpha: float) -> Relation | None:
    """Return the relation if the test is significant at a level, else None."""
    if not test.p_value < alpha:  # also if the p-value is undefined
        return None
    (worse,) = set(test.methods) - {test.better}
    difference = test.difference if test.better == test.methods[0] else -test.difference
    return Relation(test.dataset, test.metric, test.better, worse, difference, test.p_value, test.n_pairs)


def order_methods(tests: Iterable[PairedTest], methods: Sequence[str], alpha: float = 0.05) -> Order:
    """Return the significant relations of some tests, and the order of the methods by wins minus losses.

    Parameters
    ----------
    tests : iterable of PairedTest
        Tests on any metrics.
    methods : sequence of str
        All methods; if scores are equal, the earlier method comes first.
    alpha : float, default=0.05
        Significance level.

    Examples
    --------
    >>> from nearlabel.comparison import PairedTest, order_methods
    >>> test = PairedTest("yeast", "hamming_loss", ("a", "b"), difference=-0.1, statistic=3.2, p_value=0.01, n_pairs=10)
    >>> order_methods([test], ["b", "a"]).scores
    {'a': 1, 'b': -1}
    """
    relations = tuple(relation for test in tests if (relation := relation_of(test, alpha)) is not None)
    scores = dict.fromkeys(methods, 0)
    for relation in relations:
        scores[relation.better] += 1
        scores[relation.worse] -= 1
    return Order(relations, dict(sorted(scores.items(), key=lambda item: -item[1])))
