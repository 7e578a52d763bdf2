"""``nearlabel evaluate``: compare methods on a data set by cross-validation."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from nearlabel.cli import _comparison, _console, _data, _missing, _test_data
from nearlabel.cli._columns import add_kind_options, usual_scale
from nearlabel.cli._copies import OF_TEST_ROWS, has_copies, print_share, split_copies
from nearlabel.cli._first_look import print_severe
from nearlabel.cli._label_table import print_labels
from nearlabel.comparison import TESTS, compare
from nearlabel.experiments import (
    ESTIMATORS,
    METHODS,
    NEIGHBOR_METHODS,
    SEARCHES,
    SELECTIONS,
    THRESHOLDS,
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
from nearlabel.preprocessing import SCALES

_MOST_NUMBERS = 10_000
_METRICS_OF_SEARCHES = ("micro_f1",)  # unless others are asked for


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    _data.add_data_options(parser)
    add_kind_options(parser)
    _add_methods(parser)
    _add_folds(parser)
    _add_preparation(parser)
    _add_measures(parser)
    _add_output(parser)


def _add_methods(parser: argparse.ArgumentParser) -> None:
    """Add what is compared."""
    parser.add_argument(
        "--methods",
        type=_comparison.names,
        default=NEIGHBOR_METHODS,
        help=f"comma-separated, of {', '.join(METHODS)}, or all; options behind a colon (lpknn:ties=first), thresholds"
        f" behind an @ (mlknn@micro-f), a selection of features ({', '.join(SELECTIONS)}) before a + (igs+mlknn); the"
        f" option estimator, of methods that have one, is one of {', '.join(ESTIMATORS)}; each name may be"
        " package.module:Class or ./file.py:Class instead, which executes the code of that module;"
        f" default: {','.join(NEIGHBOR_METHODS)}",
    )
    parser.add_argument(
        "--thresholds",
        type=_comparison.some_names,
        default=(),
        help="comma-separated; each method is compared as it is and with each of these: a number for all labels (0.3),"
        f" or tuned on scores of rows left out {', '.join(THRESHOLDS)} (options behind a colon: micro-f:beta=2);"
        " default: none",
    )
    parser.add_argument(
        "--k", type=numbers, default=(10,), help="numbers of neighbours: 10, 1-30 or 5,10,20; default: 10"
    )


def _add_folds(parser: argparse.ArgumentParser) -> None:
    """Add on which rows it is compared."""
    parser.add_argument(
        "--cv", default=None, help="number of shuffled folds, or 'given' for the catalogue's split; default: 10"
    )
    _test_data.add_test_data_option(parser, used="on which the methods are compared instead of folds of DATA")
    parser.add_argument(
        "--stratify",
        type=_order,
        nargs="?",
        const=1,
        default=None,
        metavar="{1,2}",
        help="folds in which each label has its part, or with 2 each pair of labels; default: plain shuffled folds",
    )


def _add_preparation(parser: argparse.ArgumentParser) -> None:
    """Add what is done to the rows before."""
    parser.add_argument(
        "--scale",
        choices=SCALES,
        default=None,
        help="how to scale numbers (fitted on the training part of each fold); default: none, beside columns of other"
        " kinds minmax",
    )
    _missing.add_impute_option(parser)
    _data.add_groups_option(parser)
    parser.add_argument("--seed", type=int, default=0, help="of the shuffle; default: 0")


def _add_measures(parser: argparse.ArgumentParser) -> None:
    """Add by what it is compared."""
    parser.add_argument(
        "--search",
        type=_comparison.some_names,
        default=(),
        metavar="SEARCH",
        help="comma-separated; each method is run with the exact search and with each of these, and what is lost by it"
        f" printed: {', '.join(SEARCHES)} (options behind a colon: faiss-ivf:n_probe=4), or package.module:Class;"
        " default: exact, not compared",
    )
    parser.add_argument(
        "--metrics",
        type=_comparison.names,
        default=None,
        help="comma-separated, of the catalogue, with options behind a colon (precision_at_k:k=3, roc_auc), or"
        " package.module:function; default: all without options, with --search micro_f1",
    )
    parser.add_argument(
        "--per-label",
        action="store_true",
        help="also the figures of each label, for each method: counts, precision, recall and F1 of all test rows"
        " together; ROC-AUC and average precision as means over the folds in which the label has both classes; with"
        " --format csv nothing else",
    )
    parser.add_argument(
        "--test",
        choices=(*TESTS, "none"),
        default=None,
        help="significance test (test data are --test-data): below the table, by this test over the folds, which"
        " methods are significantly better than others; see"
        " nearlabel compare; default: corrected-t, where there are several methods and folds",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    """Add where the answer goes."""
    parser.add_argument("--out", type=Path, default=None, help="folder for the records; the same command resumes there")
    parser.add_argument("--jobs", type=int, default=1, help="processes; default: 1")
    parser.add_argument("--format", choices=_console.FORMATS, default="table", help="default: table")


def main(arguments: argparse.Namespace) -> None:
    """Run the comparison and print it."""
    _check_split(arguments)
    plan = _plan(arguments)
    _check_test(arguments, len(plan.methods))
    _check_per_label(arguments)
    name, problem = _problem(arguments)
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
        **settings,
    )


def _print_severe(arguments: argparse.Namespace, plan: Plan, problem: Problem) -> None:
    """Print what is wrong with the training data for these methods."""
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
    for number, where in ((never, "every fold, so no"), (partly, "some folds, which are not in their")):
        if number:
            few = f"{number} of {len(of_one)} labels have one class in {where}"
            _console.print_text(f"{few} ROC-AUC and average precision.")


def _check_split(arguments: argparse.Namespace) -> None:
    """Refuse options of folds where training and test data are given."""
    if arguments.test_data is not None and arguments.cv is not None:
        raise ValueError(f"--cv must not go with --test-data, on which no folds are made, got {arguments.cv}.")
    if _is_split(arguments) and arguments.stratify is not None:
        option = "--cv given" if arguments.test_data is None else "--test-data"
        raise ValueError(f"--stratify must go with a number of folds, got {option}.")


def _check_per_label(arguments: argparse.Namespace) -> None:
    """Refuse tables of labels that would be too many, or of searches, which are compared by means."""
    if not arguments.per_label:
        return
    if arguments.search:
        raise ValueError(f"--per-label must not go with --search, got {','.join(arguments.search)}.")
    if arguments.format == "table" and len(arguments.k) > 1:
        raise ValueError(
            f"--per-label must go with one number of neighbours, got {len(arguments.k)}. Hint: --format csv has all."
        )


def _check_test(arguments: argparse.Namespace, n_methods: int) -> None:
    """Refuse a test that could not be made of what is run, before it is run."""
    if arguments.test in (None, "none"):
        return
    least = 3 if arguments.test == "friedman" else 2
    if _is_split(arguments) or arguments.search or arguments.format != "table" or n_methods < least:
        raise ValueError(
            f"--test {arguments.test} must go with {least} methods, several folds, the table format and no --search."
            " Hint: nearlabel compare, on the folder of --out."
        )


def _is_split(arguments: argparse.Namespace) -> bool:
    """Return whether training and test data are given, so that there is one fold."""
    return arguments.cv == "given" or arguments.test_data is not None


def _show_order(records: Sequence[Record], test: str | None, *, every: bool) -> None:
    """Print which methods are significantly better than others, if there are several, on several folds."""
    n_folds = len({(record["seed"], record["fold"]) for record in records})
    n_methods = len({record["method"] for record in records})
    if test == "none" or n_folds < 2 or n_methods < 2:
        return
    comparison = compare(records, test=test)
    heading = f"{comparison.test} over the {n_folds} folds, 5 % level"
    if comparison.order.relations:
        _comparison.print_order(comparison.order, f"Total order, wins less losses: {heading}", every=every)
    else:
        _console.print_text(f"No method is significantly better than another: {heading}.")
    for note in comparison.notes:
        _console.print_text(f"Note: {note}")


def numbers(text: str) -> tuple[int, ...]:
    """Parse ``10``, ``1-30`` and ``1,5,10-12``."""
    chosen: list[int] = []
    for part in text.split(","):
        low, dash, high = part.partition("-")
        try:
            numbers_of_part = range(int(low), int(high if dash else low) + 1)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be like 10, 1-30 or 5,10,20, got {text!r}") from None
        if len(numbers_of_part) > _MOST_NUMBERS:
            raise argparse.ArgumentTypeError(f"must name at most {_MOST_NUMBERS:,} numbers, got {text!r}")
        if not numbers_of_part or numbers_of_part[0] < 1:
            raise argparse.ArgumentTypeError(f"must name numbers of at least 1, low to high, got {text!r}")
        chosen += numbers_of_part
    return tuple(dict.fromkeys(chosen))


def _with_thresholds(methods: Iterable[str], thresholds: Sequence[str]) -> tuple[str, ...]:
    """Return each method, followed by itself with each of the thresholds unless it names some already."""
    return tuple(
        spec
        for method in methods
        for spec in (method, *(f"{method}@{name}" for name in thresholds if "@" not in method))
    )


def _order(text: str) -> int:
    if text not in ("1", "2"):
        raise argparse.ArgumentTypeError(f"must be 1 or 2 if a word follows it, got {text!r}; DATA stands before it")
    return int(text)


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
