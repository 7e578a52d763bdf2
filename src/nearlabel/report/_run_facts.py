"""Facts of a run: its records for a report, and its data."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.comparison import Comparison, FriedmanTest, compare, read_results
from nearlabel.experiments import Cell, Problem, Record, problem_digest, summarise
from nearlabel.experiments.records import read_made_with, read_plan, run_folders
from nearlabel.metrics import CATALOGUE
from nearlabel.metrics.evaluation import title_of
from nearlabel.report._facts import examination_of_run, finite, labelset_facts
from nearlabel.utils.messages import warnings_as_notes
from nearlabel.utils.types import Matrix

# Returns the data of a name, or None; the second argument is whether the run used a given split.
OpenProblem = Callable[[str, bool], Problem | None]


def run_facts(
    paths: Iterable[str | os.PathLike[str]], *, open_problem: OpenProblem | None = None, alpha: float = 0.05
) -> dict[str, Any]:
    """Return the facts of one or several runs.

    Parameters
    ----------
    paths : iterable of str or path
        Folders that `run` wrote, or folders of such folders.
    open_problem : callable, default=None
        Function that returns the data of a name, for their statistics, or None if they are not available. None: no data
        are opened.
    alpha : float, default=0.05
        Significance level of the tests.

    Returns
    -------
    dict
        Plain data for `nearlabel.report.write_report`: numbers, texts, lists and dictionaries; what is undefined is
        None.

    Raises
    ------
    ValueError
        If a folder contains no run, there are no records, or runs contradict each other.

    Examples
    --------
    >>> import tempfile
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.experiments import Plan, run
    >>> from nearlabel.report import run_facts
    >>> folder = tempfile.mkdtemp()
    >>> plan = Plan(("brknn", "brknn-b"), n_neighbors=(5, 10), cv=3, metrics=("hamming_loss",))
    >>> records = run(plan, {"multidigits": load_multidigits()}, out=folder)
    >>> facts = run_facts([folder])
    >>> facts["methods"], facts["datasets"][0]["numbers"], facts["tests"][0]["test"]
    (['brknn', 'brknn-b'], [5, 10], 'corrected-t')
    """
    paths = list(paths)
    with warnings_as_notes() as notes:
        records = read_results(paths)
    folders = run_folders(paths)
    plans = [read_plan(folder) for folder in folders]
    cells = summarise(records)
    if not cells:
        raise ValueError("RECORDS must contain at least one value, got metrics that are undefined on every fold.")
    directions = _directions(records)
    names = dict.fromkeys(name for plan in plans for name in plan["problems"])
    folds = {name: FoldsOfMethods.of(name, plans, records) for name in names}
    notes += [note for of in folds.values() for note in of.notes]
    return {
        "kind": "run",
        "plans": [_plan(plan) for plan in plans],
        "made_with": [line for folder in folders for line in read_made_with(folder)],
        "methods": list(dict.fromkeys(cell.method for cell in cells)),
        "metrics": [_metric(name, directions) for name in dict.fromkeys(cell.metric for cell in cells)],
        "datasets": [_dataset(name, folds[name], cells, plans, open_problem) for name in _names(records)],
        "tests": _tests([record for record in records if record["metric"] in directions], alpha, notes),
        "notes": notes,
    }


def _names(records: Iterable[Record]) -> list[str]:
    return list(dict.fromkeys(record["dataset"] for record in records))


def _plan(plan: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in plan.items() if name != "problems"} | {"datasets": list(plan["problems"])}


def _directions(records: Iterable[Record]) -> dict[str, bool]:
    """Return whether greater is better, from the catalogue or, for other metrics, from their records."""
    said = {record["metric"]: record["greater_is_better"] for record in records if "greater_is_better" in record}
    return {name: metric.greater_is_better for name, metric in CATALOGUE.items()} | said


def _metric(name: str, directions: Mapping[str, bool]) -> dict[str, Any]:
    return {"name": name, "title": title_of(name), "greater_is_better": directions.get(name)}


def _dataset(
    name: str,
    folds: FoldsOfMethods,
    cells: Sequence[Cell],
    plans: Sequence[dict[str, Any]],
    open_problem: OpenProblem | None,
) -> dict[str, Any]:
    found = set().union(*folds.found.values())
    own = [cell for cell in cells if cell.dataset == name]
    given = any(seed is None for seed, _ in found)
    return {
        "name": name,
        "folds": len(found),
        "planned_folds": folds.n_planned,
        "given_split": given,
        "comparable": folds.comparable,
        "numbers": sorted({cell.n_neighbors for cell in own if isinstance(cell.n_neighbors, int)}),
        "cells": [_cell(cell) for cell in own],
        **_data_facts(name, given, plans, open_problem, by_neighbors=any(cell.n_neighbors is not None for cell in own)),
    }


def _cell(cell: Cell) -> dict[str, Any]:
    """Return a cell; `n_neighbors` is "mean" for the mean over all numbers, None for a method without neighbours."""
    shown = {"method": cell.method, "n_neighbors": cell.n_neighbors, "metric": cell.metric}
    return shown | {"mean": finite(cell.mean), "std": finite(cell.std)}


def _data_facts(
    name: str, given: bool, plans: Sequence[dict[str, Any]], open_problem: OpenProblem | None, *, by_neighbors: bool
) -> dict[str, Any]:
    """Return the statistics of the data and findings in them, if they are available and are those of the run."""
    problem = None if open_problem is None else open_problem(name, given)
    if problem is None:
        return {"data": None, "why_no_data": "The data were not found when this page was made."}
    digests = {plan["problems"].get(name) for plan in plans} - {None}
    if problem_digest(problem) not in digests:
        return {"data": None, "why_no_data": "The data found under this name are not those of the run."}
    parts = problem if isinstance(problem, tuple) else (problem,)
    names = parts[0].label_names
    facts = labelset_facts(_one_below_the_other([part.Y for part in parts]), names)
    figures = {"features": int(parts[0].X.shape[1]), **facts["figures"]}
    counted = [{"name": str(label), "support": count} for label, count in zip(names, facts["counts"], strict=True)]
    own = [plan for plan in plans if name in plan["problems"]]
    return {
        "data": figures,
        "labels": counted,
        "co_occurrence": facts["co_occurrence"],
        "examination": examination_of_run(problem, own, by_neighbors=by_neighbors),
    }


def _one_below_the_other(parts: Sequence[Matrix]) -> Matrix:
    return sparse.vstack(parts, format="csr") if any(map(sparse.issparse, parts)) else np.vstack(parts)


def _tests(records: Sequence[Record], alpha: float, notes: list[str]) -> list[dict[str, Any]]:
    """Return test results: pairwise tests over folds or data sets, and tests of all methods over several data sets."""
    wanted = ["friedman", None] if len(_names(records)) > 1 else [None]
    tests = []
    for test in wanted:
        try:
            tests.append(_test(compare(records, test=test, alpha=alpha)))
        except ValueError as error:  # too few methods, folds or data sets: the page has a note instead
            reason = str(error).partition(" Hint:")[0]
            notes.append(f"No {'Friedman test' if test else 'test of pairs'}: {reason}")
    return tests


def _test(comparison: Comparison) -> dict[str, Any]:
    order = comparison.order
    return {
        "test": comparison.test,
        "over": comparison.over,
        "alpha": comparison.alpha,
        "scores": order.scores,
        "by_metric": order.by_metric(),
        "relations": [asdict(one) for one in order.relations],
        "friedman": [_friedman(one, comparison.alpha) for one in comparison.friedman],
        "notes": list(comparison.notes),
    }


def _friedman(of: FriedmanTest, alpha: float) -> dict[str, Any]:
    return {
        "metric": of.metric,
        "title": title_of(of.metric),
        "mean_ranks": of.mean_ranks,
        "alike": of.not_different(alpha),
        "f": finite(of.f_statistic),
        "p_value": finite(of.f_p_value),
        "chi2_p_value": finite(of.p_value),
        "n_pairs": of.n_pairs,
        "critical_difference": finite(of.critical_difference),
    }


# The folds of plans and of their records: whether a run is finished, and whether its methods can be compared.

# A seed (None: given split) and a fold number.
FoldKey = tuple[int | None, int]


def planned_folds(plan: Mapping[str, Any], *, given: bool) -> set[FoldKey]:
    """Return the folds of each data set in the description of a plan, for a given split or for shuffles."""
    if "n_parts" in plan:  # `ThresholdPlan`: as many runs on the given split
        return {(None, number) for number in range(plan["n_parts"])}
    if given:
        return {(None, 0)}
    numbers = range(min(plan["cv"], plan.get("first_folds") or plan["cv"]))
    return {(seed, number) for seed in plan["seeds"] for number in numbers}


@dataclass(frozen=True)
class FoldsOfMethods:
    """The folds of one data set.

    Parameters
    ----------
    dataset : str
        Name.
    planned, found : dict of str to set
        For each method, the folds of the plans, and those in the records.
    comparable : bool
        Whether all methods have the same folds, and those with numbers of neighbours the same numbers in each.
    """

    dataset: str
    planned: Mapping[str, set[FoldKey]]
    found: Mapping[str, set[FoldKey]]
    comparable: bool

    @classmethod
    def of(cls, dataset: str, plans: Iterable[Mapping[str, Any]], records: Iterable[Record]) -> FoldsOfMethods:
        """Return the folds of a data set, from plans and records."""
        own = [record for record in records if record["dataset"] == dataset]
        given = any(record["seed"] is None for record in own)
        planned: dict[str, set[FoldKey]] = {}
        for plan in plans:
            for method in plan["methods"] if dataset in plan["problems"] else ():
                planned.setdefault(method, set()).update(planned_folds(plan, given=given))
        settings: dict[str, set[tuple[FoldKey, int | None]]] = {method: set() for method in planned}
        for record in own:
            key = (record["seed"], record["fold"]), record["n_neighbors"]
            settings.setdefault(record["method"], set()).add(key)
        found = {method: {fold for fold, _ in of} for method, of in settings.items()}
        by_neighbors = [of for of in settings.values() if any(k is not None for _, k in of)]
        return cls(dataset, planned, found, _all_equal(list(found.values())) and _all_equal(by_neighbors))

    @property
    def n_planned(self) -> int:
        """Number of folds planned for any method; at least those in the records."""
        return len(set().union(*self.planned.values(), *self.found.values()))

    @property
    def notes(self) -> list[str]:
        """Notes about missing folds."""
        notes = []
        if any(planned - self.found[method] for method, planned in self.planned.items()):
            notes.append(f"{self._counts()}: the run is not finished.")
        if not self.comparable:
            words = "the methods do not share all folds and numbers of neighbours, so none is marked as the best."
            notes.append(f"On {self.dataset} {words}")
        return notes

    def _counts(self) -> str:
        if not any(self.found.values()):  # nor is it known whether the split was given
            return f"No fold of {self.dataset} is in the records"
        methods_of: dict[int, list[str]] = {}
        for method, folds in self.found.items():
            methods_of.setdefault(len(folds), []).append(method)
        if len(methods_of) == 1:
            return f"{next(iter(methods_of))} of {self.n_planned} folds are in the records of {self.dataset}"
        each = " and ".join(f"{count} of {', '.join(methods)}" for count, methods in methods_of.items())
        return f"Of {self.n_planned} folds the records of {self.dataset} contain {each}"


def _all_equal(values: Sequence[Any]) -> bool:
    return all(value == values[0] for value in values)
