"""Compare methods: test each pair on each metric, rank them by their significant wins, or compare them row by row."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from nearlabel.comparison import _significance
from nearlabel.comparison._paired import PairedValues, pair_records
from nearlabel.comparison._results import Results, read_results
from nearlabel.experiments import Record
from nearlabel.metrics import Metric, get_metric
from nearlabel.metrics.evaluation import PER_ROW, title_of
from nearlabel.utils.messages import warnings_as_notes
from nearlabel.utils.tables import grid_of_rows, html_of
from nearlabel.utils.validation import check_choice, check_positive

_SHOWN_METRICS = 5  # in a notebook
TESTS = (*_significance.PAIRED_TESTS, "friedman")


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
    tests: tuple[_significance.PairedTest, ...]
    friedman: tuple[_significance.FriedmanTest, ...]
    order: Order
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists, for JSON."""
        return asdict(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.test} over {self.over}, {len(self.order.relations)} differences>"

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook: the methods in their order, with wins minus losses on each metric."""
        of_metric = self.order.by_metric()
        shown = self.metrics[:_SHOWN_METRICS]
        rows = [
            (method, score, *(of_metric[metric][method] for metric in shown))
            for method, score in self.order.scores.items()
        ]
        more = f"... and {len(self.metrics) - len(shown)} more metrics" if len(shown) < len(self.metrics) else ""
        found = f"{self.test} over {self.over}, alpha {self.alpha:g}: significant wins minus losses of each method."
        heads = ("method", "all metrics", *map(title_of, shown))
        return html_of(found, grid_of_rows(heads, rows, "methods"), more, *self.notes)


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
        by_table = [list(of.tests) for of in friedman] or [_significance.paired_tests(table, test) for table in tables]
        _significance.warn_of_few([pair.n_pairs for pairs in by_table for pair in pairs], test, over, alpha)
    tests = tuple(pair for pairs in by_table for pair in pairs)
    if not tests:
        raise ValueError(
            f"methods must share {over} to be compared, got none in common of {', '.join(tables[0].methods)}."
            + (" Hint: the same seed, or over='datasets'." if over == "folds" else "")
        )
    # Pairwise tests count only if Friedman's test is significant.
    rejected = {(of.dataset, of.metric) for of in friedman if of.rejects(alpha)}
    seen = [pair for pair in tests if not friedman or (pair.dataset, pair.metric) in rejected]
    names, of_tables = tables[0].methods, tuple(dict.fromkeys(table.metric for table in tables))
    order = replace(order_methods(seen, names, alpha), metrics=of_tables)
    return Comparison(test, over, alpha, names, of_tables, tests, friedman, order, (*notes, *of_tests))


def _friedman_tests(
    tables: Sequence[PairedValues], post_hoc: str, alpha: float
) -> tuple[_significance.FriedmanTest, ...]:
    """Test each metric for which enough methods have values; raise ValueError if there is none."""
    enough = [table for table in tables if _significance.is_enough_for_friedman(table)]
    for table in tables if enough else ():
        if table not in enough:
            of = "" if table.dataset == "all" else f" of {table.dataset}"
            warnings.warn(f"{table.metric}{of} is left out: it {_significance.ENOUGH_FOR_FRIEDMAN}.", stacklevel=3)
    return tuple(_significance.friedman_test(table, post_hoc, alpha) for table in enough or tables)


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
    metrics : tuple of str, default=()
        The metrics of the tests, also those without a relation.
    """

    relations: tuple[Relation, ...]
    scores: dict[str, int]
    metrics: tuple[str, ...] = ()

    def by_metric(self) -> dict[str, dict[str, int]]:
        """Return each method's wins minus losses for each metric."""
        scores = {metric: dict.fromkeys(self.scores, 0) for metric in self.metrics}
        for relation in self.relations:
            of_metric = scores.setdefault(relation.metric, dict.fromkeys(self.scores, 0))
            of_metric[relation.better] += 1
            of_metric[relation.worse] -= 1
        return scores

    def as_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists, for JSON."""
        return asdict(self)


def relation_of(test: _significance.PairedTest, alpha: float) -> Relation | None:
    """Return the relation if the test is significant at a level, else None."""
    if not test.p_value < alpha:  # also if the p-value is undefined
        return None
    (worse,) = set(test.methods) - {test.better}
    difference = test.difference if test.better == test.methods[0] else -test.difference
    return Relation(test.dataset, test.metric, test.better, worse, difference, test.p_value, test.n_pairs)


def order_methods(tests: Iterable[_significance.PairedTest], methods: Sequence[str], alpha: float = 0.05) -> Order:
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
    tests = tuple(tests)
    relations = tuple(relation for test in tests if (relation := relation_of(test, alpha)) is not None)
    scores = dict.fromkeys(methods, 0)
    for relation in relations:
        scores[relation.better] += 1
        scores[relation.worse] -= 1
    metrics = tuple(dict.fromkeys(test.metric for test in tests))
    return Order(relations, dict(sorted(scores.items(), key=lambda item: -item[1])), metrics)


# Compare the predictions of two methods for single samples; the tests compare means.


_EXACT = "subset_accuracy"


@dataclass(frozen=True)
class ComparedRow:
    """A sample for which one of two methods predicts better.

    Parameters
    ----------
    dataset : str
        Name.
    seed : int or None
        Seed of the shuffle; None for a given split.
    fold, row : int
        Indices from 0; `row` is the sample's row in the data set, or in the test part of a given split.
    better, worse : str
        The methods.
    labels, of_better, of_worse : tuple of str
        The true labels of the sample, and the predictions of the two methods.
    unknown : tuple of str
        Labels that are unknown for the sample.
    value_of_better, value_of_worse : float
        The metric on this sample alone.
    """

    dataset: str
    seed: int | None
    fold: int
    row: int
    better: str
    worse: str
    labels: tuple[str, ...]
    of_better: tuple[str, ...]
    of_worse: tuple[str, ...]
    unknown: tuple[str, ...]
    value_of_better: float
    value_of_worse: float


@dataclass(frozen=True)
class RowComparison:
    """Two methods compared sample by sample.

    Parameters
    ----------
    metric : str
        Name of the metric.
    methods : tuple of str
        Names of the two methods.
    n_rows : int
        Number of test samples that both predicted; with several seeds a sample counts once for each.
    n_better : dict of str to int
        Number of samples on which each method is better than the other.
    rows : tuple of ComparedRow
        These samples: first those on which the first method is better; within each group, largest differences first.
    """

    metric: str
    methods: tuple[str, str]
    n_rows: int
    n_better: dict[str, int]
    rows: tuple[ComparedRow, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists, for JSON."""
        return asdict(self)


def compare_rows(
    records: Iterable[Record],
    methods: Sequence[str] | None = None,
    *,
    metric: str | Metric = _EXACT,
    n_neighbors: int | None = None,
) -> RowComparison:
    """Return the samples for which one method predicts better than another.

    By default these are the samples whose label set one method predicts exactly and the other does not, like the images
    in figure 4 of Zhang and Zhou (2007).

    Parameters
    ----------
    records : iterable of dict
        Records of a `nearlabel.experiments.Plan` with ``per_row=True``; records without label sets of samples are
        ignored.
    methods : sequence of two str, default=None
        Names; None: the two methods in the records.
    metric : str or Metric, default="subset_accuracy"
        A metric of label sets, computed for each sample alone. Where it is undefined, no method is better.
    n_neighbors : int, default=None
        The number of neighbours, for methods that were run with several.

    Returns
    -------
    RowComparison
        Of the samples in the folds for which both methods have predictions.

    Raises
    ------
    ValueError
        If no record has label sets of samples, a method is missing, was run with several numbers of neighbours or not
        with the requested one, the metric needs scores, or the methods have predictions for different samples or no
        common fold.

    References
    ----------
    M.-L. Zhang, Z.-H. Zhou. ML-KNN: a lazy learning approach to multi-label learning. Pattern Recognition 40(7), 2007.

    Examples
    --------
    >>> from nearlabel.comparison import compare_rows
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.experiments import Plan, run
    >>> plan = Plan(("mlknn", "brknn"), (10,), cv=5, metrics=("micro_f1",), per_row=True)
    >>> found = compare_rows(run(plan, [load_multidigits()]))
    >>> found.n_rows, found.n_better
    (2000, {'mlknn': 98, 'brknn': 42})
    """
    judge = get_metric(metric)
    if judge.needs != "prediction":
        raise ValueError(f"metric must be one of label sets, since records contain no scores, got {judge.name}.")
    two, by_fold = _answers(records, methods, n_neighbors)
    rows = [row for fold, tables in by_fold.items() for row in _compared(fold, two, tables, judge)]
    rows.sort(key=lambda row: (two.index(row.better), -abs(row.value_of_better - row.value_of_worse)))
    n_better = {method: sum(row.better == method for row in rows) for method in two}
    n_rows = sum(len(first["row"]) for first, _ in by_fold.values())
    return RowComparison(judge.name, two, n_rows, n_better, tuple(rows))


class _Fold(NamedTuple):
    dataset: str
    seed: int | None
    number: int


# The samples of a fold in a record: indices, true and predicted label sets.
_Table: TypeAlias = Mapping[str, Any]


def _answers(
    records: Iterable[Record], methods: Sequence[str] | None, n_neighbors: int | None
) -> tuple[tuple[str, str], dict[_Fold, tuple[_Table, _Table]]]:
    """Return the two methods, and their tables on each fold for which both have predictions."""
    tables: dict[str, dict[int | None, dict[_Fold, _Table]]] = defaultdict(lambda: defaultdict(dict))
    for r in records:
        if r["metric"] == PER_ROW:
            tables[r["method"]][r["n_neighbors"]][_Fold(r["dataset"], r["seed"], r["fold"])] = r["table"]
    if not tables:
        raise ValueError(
            "results must contain the label sets of samples, got none. Hint: evaluate --per-row --out FOLDER, in Python"
            " Plan(..., per_row=True)."
        )
    names = tuple(tables if methods is None else methods)
    if len(set(names)) != 2 or len(names) != 2 or not set(names) <= set(tables):
        raise ValueError(f"methods must be two of {', '.join(tables)}, got {', '.join(names)}.")
    first, second = (_with_number(method, tables[method], n_neighbors) for method in names)
    shared = {fold: (first[fold], second[fold]) for fold in first if fold in second}
    if not shared:
        raise ValueError(f"methods must share folds, got none in common of {', '.join(names)}.")
    return (names[0], names[1]), shared


def _with_number(
    method: str, by_number: Mapping[int | None, dict[_Fold, _Table]], n_neighbors: int | None
) -> dict[_Fold, _Table]:
    """Return the tables of a method for a number of neighbours, or its only ones."""
    if len(by_number) == 1 and (n_neighbors is None or None in by_number):
        (only,) = by_number.values()
        return only
    if n_neighbors not in by_number:
        known = ", ".join(map(str, by_number))
        raise ValueError(f"n_neighbors must be of those of {method}, {known}, got {n_neighbors}.")
    return by_number[n_neighbors]


def _compared(
    fold: _Fold, methods: tuple[str, str], tables: tuple[_Table, _Table], metric: Metric
) -> Iterator[ComparedRow]:
    """Yield the samples of a fold on which one of the methods is better."""
    first, second = tables
    if any(first.get(what) != second.get(what) for what in ("label", "row", "true", "unknown")):
        raise ValueError(
            f"methods must have predictions for the same samples, got others in fold {fold.number} of {fold.dataset}."
        )
    sign = 1 if metric.greater_is_better else -1
    for place, predicted in enumerate(zip(first["predicted"], second["predicted"], strict=True)):
        if predicted[0] != predicted[1]:
            values = [_value(metric, first, place, labels) for labels in predicted]
            # With a NaN, neither method is better.
            for better, worse in ((0, 1), (1, 0)):
                if sign * values[better] > sign * values[worse]:
                    unknown = first["unknown"][place] if "unknown" in first else []
                    sets = first["true"][place], predicted[better], predicted[worse], unknown
                    labels, of_better, of_worse, not_known = (_names(first, one) for one in sets)
                    yield ComparedRow(
                        *fold, first["row"][place], methods[better], methods[worse],
                        labels, of_better, of_worse, not_known, values[better], values[worse],
                    )  # fmt: skip


def _names(table: _Table, labels: Iterable[int]) -> tuple[str, ...]:
    return tuple(table["label"][label] for label in labels)


def _value(metric: Metric, table: _Table, place: int, predicted: Sequence[int]) -> float:
    """Return a metric of one sample alone, for the labels that a method predicts."""
    y_true, y_pred = np.zeros((2, 1, len(table["label"])))
    y_true[0, table["true"][place]] = 1
    y_pred[0, predicted] = 1
    if "unknown" in table:
        y_true[0, table["unknown"][place]] = np.nan
    return metric(y_true, y_pred)
