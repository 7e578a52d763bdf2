"""Records to a comparison that a reviewer believes: tests, relations, an order."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nearlabel.comparison._orders import Order, order_methods
from nearlabel.comparison._paired import PairedValues, paired_values
from nearlabel.comparison._significance import (
    ENOUGH_FOR_FRIEDMAN,
    PAIRED_TESTS,
    FriedmanTest,
    PairedTest,
    friedman_test,
    is_enough_for_friedman,
    paired_tests,
    warnings_as_notes,
)
from nearlabel.experiments.records import PLAN, Record, read_plan, read_records
from nearlabel.utils.validation import check_choice, check_positive

TESTS = (*PAIRED_TESTS, "friedman")


@dataclass(frozen=True)
class Comparison:
    """Methods compared by a statistical test on each measure.

    Parameters
    ----------
    test, over : str
        Which test, and whether its pairs are "folds" or "datasets".
    alpha : float
        Level below which a p-value is significant.
    methods, metrics : tuple of str
        What is compared, by what.
    tests : tuple of PairedTest
        Each pair of methods, on each measure.
    friedman : tuple of FriedmanTest
        The test of all methods on each measure, if `test` is "friedman"; its pairs are `tests`.
    order : Order
        What follows. After a Friedman test that rejects nothing its pairs are not looked at.
    notes : tuple of str
        What a reader must know.
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
    records: Iterable[Record],
    *,
    test: str | None = None,
    over: str | None = None,
    post_hoc: str = "nemenyi",
    alpha: float = 0.05,
    metrics: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
) -> Comparison:
    """Compare the methods of some records by a test.

    Parameters
    ----------
    records : iterable of dict
        As `run` gives and `read_runs` reads them. Of a method with several numbers of neighbours the mean over them is
        compared.
    test : {"t", "corrected-t", "wilcoxon", "bayes", "friedman"}, default=None
        See `paired_tests` and `friedman_test`. "t" is that of Zhang and Zhou (2007). None: "corrected-t" over folds,
        "wilcoxon" over data sets.
    over : {"folds", "datasets"}, default=None
        What is paired. None: data sets if there are several, else folds.
    post_hoc : {"nemenyi", "holm"}, default="nemenyi"
        How Friedman's test goes on to pairs.
    alpha : float, default=0.05
        Level.
    metrics, methods : sequence of str, default=None
        Which; None: all that occur.

    Returns
    -------
    Comparison
        Tests, relations and order. Only Friedman's post-hoc tests are corrected for the number of pairs, and none for
        the number of measures.

    Raises
    ------
    ValueError
        If a name is unknown, a level out of range, there are too few methods, folds or data sets for the test, or no
        two methods share any.

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
    records = list(records)
    if over is None:
        over = "folds" if len({r["dataset"] for r in records}) <= 1 else "datasets"
    test = test or ("corrected-t" if over == "folds" else "wilcoxon")
    tables = paired_values(records, over, metrics, methods)
    _check_enough(tables, over)
    with warnings_as_notes() as notes:
        friedman = _friedman_tests(tables, post_hoc, alpha) if test == "friedman" else ()
        tests = (
            tuple(pair for of in friedman for pair in of.tests)
            if friedman
            else tuple(pair for table in tables for pair in paired_tests(table, test))
        )
    if not tests:
        raise ValueError(
            f"methods must share {over} to be compared, got none in common of {', '.join(tables[0].methods)}."
            + (" Hint: the same seed, or over='datasets'." if over == "folds" else "")
        )
    rejected = {(of.dataset, of.metric) for of in friedman if of.rejects(alpha)}
    seen = [pair for pair in tests if not friedman or (pair.dataset, pair.metric) in rejected]
    names = tables[0].methods
    return Comparison(
        test, over, alpha, names, tuple(dict.fromkeys(table.metric for table in tables)), tests, friedman,
        order_methods(seen, names, alpha), tuple(notes),
    )  # fmt: skip


def _friedman_tests(tables: Sequence[PairedValues], post_hoc: str, alpha: float) -> tuple[FriedmanTest, ...]:
    """Test each measure that is known of enough methods, or refuse if none is."""
    enough = [table for table in tables if is_enough_for_friedman(table)]
    for table in tables if enough else ():
        if table not in enough:
            of = "" if table.dataset == "all" else f" of {table.dataset}"
            warnings.warn(f"{table.metric}{of} is left out: it {ENOUGH_FOR_FRIEDMAN}.", stacklevel=3)
    return tuple(friedman_test(table, post_hoc, alpha) for table in enough or tables)


def _check_enough(tables: Sequence[PairedValues], over: str) -> None:
    if len(tables[0].methods) < 2:
        raise ValueError(f"records must hold at least 2 methods to compare, got {', '.join(tables[0].methods)}.")
    if max(len(table.values) for table in tables) < 2:
        raise ValueError(
            f"records must hold at least 2 {over} to compare methods over them, got 1."
            + (" Hint: with several data sets, over='datasets'." if over == "folds" else "")
        )


def read_runs(paths: Iterable[str | os.PathLike[str]]) -> list[Record]:
    """Return the records of one or several runs, of the same folds where they share a data set.

    Parameters
    ----------
    paths : iterable of str or path
        Folders that `run` wrote, or folders of such folders.

    Raises
    ------
    ValueError
        If there is no record, a run compared searches, or two runs differ in the rows or folds of a data set, or in a
        value that both have.

    Warns
    -----
    UserWarning
        If runs scaled the features differently.
    """
    seen: dict[tuple[Any, ...], Record] = {}
    folds: dict[str, tuple[Path, dict[str, Any]]] = {}
    scales: dict[str, Path] = {}
    for path in run_folders(paths):
        plan = read_plan(path)
        if "searches" in plan:
            raise ValueError(f"{path} must hold a comparison of methods, got one of searches (evaluate --search).")
        for dataset, digest in plan["problems"].items():
            cut = path, {"folds": plan.get("cv"), "stratification": plan.get("stratify"), "rows or split": digest}
            _check_same_folds(dataset, folds.setdefault(dataset, cut), cut)
        scales.setdefault(str(plan.get("scale")), path)
        for record in read_records(path):
            key = tuple(value for name, value in record.items() if name != "value")
            if seen.setdefault(key, record)["value"] != record["value"]:
                differ = f" Scales: {', '.join(scales)}." if len(scales) > 1 else ""
                raise ValueError(f"{path} must agree with the other runs on what they share, got {record}.{differ}")
    if not seen:
        raise ValueError("RECORDS must hold at least one record, got none.")
    if len(scales) > 1:
        each = ", ".join(f"{scale} in {path}" for scale, path in scales.items())
        warnings.warn(f"Features are scaled differently: {each}.", stacklevel=2)
    return list(seen.values())


def run_folders(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Return the folders with a plan: those named, or what lies in them."""
    folders: list[Path] = []
    for path in map(Path, paths):
        inner = sorted(plan.parent for plan in path.glob(f"*/{PLAN}")) if path.is_dir() else []
        folders += inner if inner and not (path / PLAN).is_file() else [path]
    return folders


def _check_same_folds(dataset: str, first: tuple[Path, dict[str, Any]], other: tuple[Path, dict[str, Any]]) -> None:
    known = first[1]
    different = [name for name, value in other[1].items() if value != known[name]]
    if different:
        numbers = f" ({other[1]['folds']} against {known['folds']})" if "folds" in different else ""
        raise ValueError(
            f"{other[0]} must have the folds of {dataset} of {first[0]}, got other {different[0]}{numbers}."
        )
