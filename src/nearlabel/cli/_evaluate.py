"""``nearlabel evaluate``: compare methods on a data set by cross-validation."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from nearlabel.cli import _comparison, _console, _data, _missing, _test_data, _unknown
from nearlabel.cli._columns import usual_scale
from nearlabel.cli._copies import OF_TEST_ROWS, has_copies, print_share, split_copies
from nearlabel.cli._first_look import print_severe
from nearlabel.cli._label_table import print_labels
from nearlabel.cli.arguments.evaluate import is_split
from nearlabel.cli.arguments.registered import NEIGHBOR_METHODS
from nearlabel.comparison import compare
from nearlabel.experiments import (
    METHODS,
    Cell,
    Plan,
    Problem,
    Record,
    SearchPlan,
    run,
    search_costs,
    summarise,
    summarise_labels,
    usual_search,
)

_METRICS_OF_SEARCHES = ("micro_f1",)  # unless others are asked for


def main(arguments: argparse.Namespace) -> None:
    """Run the comparison and print it."""
    plan = _plan(arguments)
    _check_test(arguments, len(plan.methods))
    name, problem = _problem(arguments)
    training = problem[0] if isinstance(problem, tuple) else problem
    usual = arguments.methods in (NEIGHBOR_METHODS, ("all",))
    plan = replace(plan, methods=_unknown.narrowed(plan.methods, training, by_default=usual))
    _print_severe(arguments, plan, problem)
    comparison: Plan | SearchPlan = plan
    if arguments.search:
        comparison = SearchPlan(plan, arguments.search)
    elif has_copies(problem):
        comparison = replace(plan, without_copies=True)
    with _console.progress_bar(f"folds of {name}") as progress:
        records = run(comparison, {name: problem}, out=arguments.out, n_workers=arguments.jobs, progress=progress)
    cells = summarise(records)
    if not any(cell.metric in plan.metrics for cell in cells):
        raise ValueError(f"metrics must be defined on some fold of {name}, got none of {', '.join(plan.metrics)}.")
    if isinstance(comparison, SearchPlan):
        _comparison.show_costs(search_costs(comparison, records), arguments.format)
    elif arguments.format == "table":
        _print_tables(arguments, comparison, problem, records, cells)
    else:
        _print_data(arguments, records, cells)


def _plan(arguments: argparse.Namespace) -> Plan:
    """Return the comparison that the arguments describe."""
    metrics = _METRICS_OF_SEARCHES if arguments.search and arguments.metrics is None else arguments.metrics
    settings: dict[str, Any] = {} if metrics is None else {"metrics": metrics}
    methods = METHODS if arguments.methods == ("all",) else arguments.methods
    return Plan(
        methods=_with_thresholds(methods, arguments.thresholds),
        n_neighbors=arguments.k,
        cv=10 if arguments.cv in (None, "given") else _number("--cv", arguments.cv),
        scale=arguments.scale or usual_scale(arguments),
        seeds=(arguments.seed,),
        stratify=arguments.stratify,
        impute=_missing.imputation(arguments),
        per_label=arguments.per_label or None,
        per_row=arguments.per_row or None,
        **settings,
    )


def _print_severe(arguments: argparse.Namespace, plan: Plan, problem: Problem) -> None:
    """Print faults of the training data for these methods."""
    print_severe(
        problem[0] if isinstance(problem, tuple) else problem,
        scales=(plan.scale,),
        searches=(usual_search(plan.scale), *arguments.search),
        by_neighbors=any(plan.spec_of(method).has_neighbors for method in plan.methods),
    )


def _print_data(arguments: argparse.Namespace, records: Sequence[Record], cells: Sequence[Cell]) -> None:
    """Print JSON or CSV: the metrics, and the figures of each label if they are asked for, in CSV these alone."""
    if not arguments.per_label:
        _comparison.show(cells, arguments.format)
    elif arguments.format == "csv":
        _console.print_csv(summarise_labels(records))
    else:
        _console.print_json({"metrics": [asdict(cell) for cell in cells], "per_label": summarise_labels(records)})


def _print_tables(
    arguments: argparse.Namespace, plan: Plan, problem: Problem, records: Sequence[Record], cells: Sequence[Cell]
) -> None:
    """Print the metrics, which methods are better, the figures of labels if asked for, and those without copies."""
    directions = _comparison.directions_of(records)
    every = arguments.metrics is not None
    asked, without = split_copies(cells)
    _comparison.show(asked, "table", directions, every=every)
    _comparison.print_skipped(records)
    _show_order([record for record in records if record["metric"] in directions], arguments.test, every=every)
    if arguments.per_label:
        _print_labels(summarise_labels(records))
    if plan.without_copies and not _console.is_quiet():
        print_share(problem, OF_TEST_ROWS if without else f"{OF_TEST_ROWS}, of which there is none")
        _comparison.show(without, "table", directions, every=every)


def _print_labels(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a table of labels for each method, and how many labels have no areas on some or all folds."""
    methods = dict.fromkeys(row["method"] for row in rows)
    tables = {f"Labels, {method}": [row for row in rows if row["method"] == method] for method in methods}
    print_labels(tables)
    of_one = next(iter(tables.values()))
    never = sum(row["skipped_folds"] == row["folds"] for row in of_one)
    partly = sum(0 < row["skipped_folds"] < row["folds"] for row in of_one)
    for number, where in ((never, "every fold and therefore no"), (partly, "some folds, which are left out of their")):
        if number:
            few = f"{number} of {len(of_one)} labels have one class in {where}"
            _console.print_text(f"{few} ROC-AUC and average precision.")


def _check_test(arguments: argparse.Namespace, n_methods: int) -> None:
    """Raise an error for a test that the planned run does not allow, before it is run."""
    if arguments.test in (None, "none"):
        return
    least = 3 if arguments.test == "friedman" else 2
    if is_split(arguments) or arguments.search or arguments.format != "table" or n_methods < least:
        raise ValueError(
            f"--test {arguments.test} must go with {least} methods, several folds, the table format and no --search."
            " Hint: run nearlabel compare on the folder of --out."
        )


def _show_order(records: Sequence[Record], test: str | None, *, every: bool) -> None:
    """Print which methods are significantly better than others, if there are several, on several folds."""
    n_folds = len({(record["seed"], record["fold"]) for record in records})
    n_methods = len({record["method"] for record in records})
    if test == "none" or n_folds < 2 or n_methods < 2:
        return
    comparison = compare(records, test=test)
    heading = f"{comparison.test} over the {n_folds} folds, 5 % level"
    if comparison.order.relations:
        _comparison.print_order(comparison.order, f"Ranking by significant wins minus losses: {heading}", every=every)
    else:
        _console.print_text(f"No method is significantly better than another: {heading}.")
    for note in comparison.notes:
        _console.print_text(f"Note: {note}")


def _with_thresholds(methods: Iterable[str], thresholds: Sequence[str]) -> tuple[str, ...]:
    """Return each method, followed by itself with each of the thresholds unless it names some already."""
    return tuple(
        spec
        for method in methods
        for spec in (method, *(f"{method}@{name}" for name in thresholds if "@" not in method))
    )


def _number(option: str, text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"{option} must be a number of folds or 'given', got {text!r}.")
    return int(text)


def _problem(arguments: argparse.Namespace) -> tuple[str, Problem]:
    if arguments.cv != "given":
        dataset = _missing.open_training_data(arguments)
        test = _test_data.open_test_data(arguments, dataset)
        return dataset.name, dataset if test is None else (dataset, test)
    training, test = (_data.open_data(arguments, subset=part) for part in ("train", "test"))
    return arguments.data, (training, test)
