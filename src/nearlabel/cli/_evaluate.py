"""``nearlabel evaluate``: compare methods on a data set by cross-validation."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, TypeAlias

import nearlabel
from nearlabel.cli import _arguments, _comparison, _console, _data, _imports, _matched_data
from nearlabel.utils import names

SUMMARY = "compare methods on a data set by cross-validation"
EXAMPLES = ("nearlabel evaluate emotions --methods mlknn,brknn-a --k 1-30 --scale minmax --out results",)
LOADS = ("comparison", "experiments")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    _data.add_data_options(parser)
    _data.add_kind_options(parser)
    _add_methods(parser)
    _add_folds(parser)
    _add_preparation(parser)
    _add_measures(parser)
    parser.add_argument("--out", type=_arguments.folder, help="folder for the records; the same command resumes there")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes; default: 1")
    _console.add_format_option(parser, _console.PAGE_FORMATS)
    parser.set_defaults(check=_check)


def _add_methods(parser: argparse.ArgumentParser) -> None:
    """Add the methods to compare."""
    parser.add_argument(
        "--methods",
        type=_arguments.any_names,
        default=names.NEIGHBOR_METHODS,
        help=f"comma-separated, of {', '.join(names.METHODS)}, or all; with options after a colon (lpknn:ties=first),"
        f" thresholds after an @ (mlknn@micro-f), and before a + a feature selection ({', '.join(names.SELECTIONS)}:"
        f" igs+mlknn) or a sampler of training data ({', '.join(names.SAMPLERS)}: mlsmote+mlknn). The option estimator"
        f" of some methods is one of {', '.join(names.ESTIMATORS)}. Instead of a name you can give"
        " package.module:Class or ./file.py:Class (as estimator: package.module.Class), which runs the code of that"
        " module;"
        f" default: {','.join(names.NEIGHBOR_METHODS)}",
    )
    parser.add_argument(
        "--thresholds",
        type=_arguments.some_names,
        default=(),
        help="comma-separated; compare each method with its own decision and with each of these thresholds: a number"
        f" for all labels (0.3), or tuned on held-out scores: {', '.join(names.THRESHOLDS)} (options after a colon:"
        " micro-f:beta=2); default: none",
    )
    parser.add_argument(
        "--k", type=_numbers, default=(10,), help="numbers of neighbours: 10, 1-30 or 5,10,20; default: 10"
    )


def _numbers(text: str) -> tuple[int, ...]:
    """Parse numbers of neighbours, which are all compared; commands that choose one take ``auto``."""
    if text == "auto":
        raise argparse.ArgumentTypeError("must be like 10 or 1-30, got 'auto'; fit and tune choose the best number")
    return _arguments.numbers(text)


def _add_folds(parser: argparse.ArgumentParser) -> None:
    """Add the options of the folds and test data."""
    parser.add_argument("--cv", help="number of shuffled folds, or 'given' for the catalogue's split; default: 10")
    _data.add_test_data_option(parser, used="to compare the methods on instead of folds of DATA")
    parser.add_argument(
        "--stratify",
        type=_order,
        nargs="?",
        const=1,
        metavar="{1,2}",
        help="stratify the folds by label, or with 2 by pairs of labels; default: plain shuffled folds",
    )


def _add_preparation(parser: argparse.ArgumentParser) -> None:
    """Add the options of the preparation."""
    parser.add_argument(
        "--scale",
        choices=names.SCALES,
        help="how to scale numbers (fitted on the training part of each fold); default: none, or minmax if there are"
        " columns of other kinds",
    )
    _data.add_impute_option(parser)
    _data.add_groups_option(parser)
    parser.add_argument("--seed", type=int, default=0, help="random seed of the shuffle; default: 0")


def _add_measures(parser: argparse.ArgumentParser) -> None:
    """Add the metrics, searches and tests."""
    parser.add_argument(
        "--search",
        type=_arguments.some_names,
        default=(),
        metavar="SEARCH",
        help="comma-separated; run each method with the exact search and with each of these, and print the difference:"
        f" {', '.join(names.SEARCHES)} (options after a colon: faiss-ivf:n_probe=4), or package.module:Class,"
        " which runs its code; default: exact, not compared",
    )
    parser.add_argument(
        "--metrics",
        type=_arguments.any_names,
        help="comma-separated, of the catalogue, with options after a colon (precision_at_k:k=3, roc_auc), or"
        " package.module:function, which runs its code; default: all without options, or micro_f1 with --search",
    )
    parser.add_argument(
        "--per-label",
        action="store_true",
        help="also print the metrics of each label and method: counts, precision, recall and F1 over all test samples"
        " together; ROC-AUC and average precision as means over the folds in which the label has both classes; with"
        " --format csv print only these",
    )
    parser.add_argument(
        "--per-row",
        action="store_true",
        help="also save the predicted label sets of the test samples in the folder of --out, for nearlabel compare"
        " --rows",
    )
    parser.add_argument(
        "--test",
        choices=(*names.TESTS, "none"),
        help="significance test over the folds (test data: see --test-data): print below the table which methods are"
        " significantly better than others; see nearlabel compare; default: corrected-t if there are several methods"
        " and folds",
    )


def _check(arguments: argparse.Namespace) -> None:
    """Refuse options that do not go together."""
    if arguments.test_data is not None and arguments.cv is not None:
        raise ValueError(f"--cv must not go with --test-data, which replaces the folds, got {arguments.cv}.")
    if is_split(arguments) and arguments.stratify is not None:
        option = "--cv given" if arguments.test_data is None else "--test-data"
        raise ValueError(f"--stratify must go with a number of folds, got {option}.")
    if arguments.per_label and arguments.search:  # which are compared by means
        raise ValueError(f"--per-label must not go with --search, got {','.join(arguments.search)}.")
    if arguments.per_label and arguments.format in _console.PAGES and len(arguments.k) > 1:
        raise ValueError(
            f"--per-label must go with one number of neighbours, got {len(arguments.k)}. Hint: --format csv has all."
        )
    if arguments.per_row and (arguments.out is None or arguments.search):
        got = "no --out" if arguments.out is None else f"--search {','.join(arguments.search)}"
        raise ValueError(f"--per-row must go with --out, where the label sets are saved, and no --search, got {got}.")


def is_split(arguments: argparse.Namespace) -> bool:
    """Return whether training and test data are given, so that there is one fold."""
    return arguments.cv == "given" or arguments.test_data is not None


def _order(text: str) -> int:
    if text not in ("1", "2"):
        raise argparse.ArgumentTypeError(f"must be 1 or 2 if a word follows it, got {text!r}; put DATA before it")
    return int(text)


# Text, since the help page loads no room.
Problem: TypeAlias = "nearlabel.experiments.Problem"
Records: TypeAlias = "Sequence[nearlabel.experiments.Record]"

_METRICS_OF_SEARCHES = ("micro_f1",)  # unless others are asked for


def main(arguments: argparse.Namespace) -> None:
    """Run the comparison and print it."""
    plan = _plan(arguments)
    _check_test(arguments, len(plan.methods))
    name, problem = _problem(arguments)
    training = problem[0] if isinstance(problem, tuple) else problem
    usual = arguments.methods in (names.NEIGHBOR_METHODS, ("all",))
    plan = replace(plan, methods=_data.narrowed(plan.methods, training, by_default=usual))
    _print_severe(arguments, plan, problem)
    comparison = _with_copies_or_searches(arguments, plan, problem)
    with _console.progress_bar(f"folds of {name}") as progress:
        records = nearlabel.experiments.run(
            comparison, {name: problem}, out=arguments.out, n_workers=arguments.jobs, progress=progress
        )
    cells = nearlabel.experiments.summarise(records)
    if not any(cell.metric in plan.metrics for cell in cells):
        raise ValueError(f"metrics must be defined on some fold of {name}, got none of {', '.join(plan.metrics)}.")
    if isinstance(comparison, nearlabel.experiments.SearchPlan):
        costs = nearlabel.experiments.search_costs(comparison, records)
        _comparison.show_each(costs, arguments.format, _comparison.print_costs)
    elif arguments.format in _console.PAGES:
        _print_tables(arguments, comparison, problem, records, cells)
    elif not arguments.per_label:
        _comparison.show(cells, arguments.format)
    elif arguments.format == "csv":  # the figures of each label alone
        _console.print_csv(nearlabel.experiments.summarise_labels(records))
    else:
        per_label = nearlabel.experiments.summarise_labels(records)
        _console.print_json({"metrics": [asdict(cell) for cell in cells], "per_label": per_label})


def _with_copies_or_searches(
    arguments: argparse.Namespace, plan: nearlabel.experiments.Plan, problem: Problem
) -> nearlabel.experiments.Plan | nearlabel.experiments.SearchPlan:
    """Return the plan, of several searches if they are asked for, or else also without copies if there are many."""
    if arguments.search:
        return nearlabel.experiments.SearchPlan(plan, _imports.by_text("searches", _imports.search, arguments.search))
    return replace(plan, without_copies=True) if _matched_data.has_copies(problem) else plan


def _plan(arguments: argparse.Namespace) -> nearlabel.experiments.Plan:
    """Return the comparison that the arguments describe."""
    metrics = _METRICS_OF_SEARCHES if arguments.search and arguments.metrics is None else arguments.metrics
    settings: dict[str, Any] = {}
    if metrics is not None:
        settings["metrics"] = _imports.by_text("metrics", _imports.metric, metrics)
    methods = nearlabel.experiments.METHODS if arguments.methods == ("all",) else arguments.methods
    return nearlabel.experiments.Plan(
        methods=_imports.by_text("methods", _imports.method, _with_thresholds(methods, arguments.thresholds)),
        n_neighbors=arguments.k,
        cv=10 if arguments.cv in (None, "given") else _number("--cv", arguments.cv),
        scale=arguments.scale or _data.usual_scale(arguments),
        seeds=(arguments.seed,),
        stratify=arguments.stratify,
        impute=_data.imputation(arguments),
        per_label=arguments.per_label or None,
        per_row=arguments.per_row or None,
        **settings,
    )


def _print_severe(arguments: argparse.Namespace, plan: nearlabel.experiments.Plan, problem: Problem) -> None:
    """Print faults of the training data for these methods."""
    _data.print_severe(
        problem[0] if isinstance(problem, tuple) else problem,
        scales=(plan.scale,),
        searches=(nearlabel.experiments.usual_search(plan.scale), *arguments.search),
        by_neighbors=any(plan.spec_of(method).has_neighbors for method in plan.methods),
    )


def _print_tables(
    arguments: argparse.Namespace,
    plan: nearlabel.experiments.Plan,
    problem: Problem,
    records: Records,
    cells: Sequence[nearlabel.experiments.Cell],
) -> None:
    """Print the metrics, which methods are better, the figures of labels if asked for, and those without copies."""
    page, directions = _console.PAGES[arguments.format], _comparison.directions_of(records)
    every = arguments.metrics is not None
    asked, without = _matched_data.split_copies(cells)
    _comparison.show(asked, arguments.format, directions, every=every)
    _comparison.print_skipped(page, records)
    _show_order(page, [record for record in records if record["metric"] in directions], arguments.test, every=every)
    if arguments.per_label:
        _print_labels(page, nearlabel.experiments.summarise_labels(records))
    if plan.without_copies and not _console.is_quiet():
        how = _matched_data.OF_TEST_ROWS if without else f"{_matched_data.OF_TEST_ROWS}, of which there is none"
        _matched_data.print_share(problem, how, page=page)
        _comparison.show(without, arguments.format, directions, every=every)


def _print_labels(page: _console.Page, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a table of labels for each method, and how many labels have no areas on some or all folds."""
    methods = dict.fromkeys(row["method"] for row in rows)
    tables = {f"Labels, {method}": [row for row in rows if row["method"] == method] for method in methods}
    _comparison.print_labels(page, tables)
    of_one = next(iter(tables.values()))
    never = sum(row["skipped_folds"] == row["folds"] for row in of_one)
    partly = sum(0 < row["skipped_folds"] < row["folds"] for row in of_one)
    for number, where in ((never, "every fold and therefore no"), (partly, "some folds, which are left out of their")):
        if number:
            few = f"{number} of {len(of_one)} labels have one class in {where}"
            page.print_text(f"{few} ROC-AUC and average precision.")


def _check_test(arguments: argparse.Namespace, n_methods: int) -> None:
    """Raise an error for a test that the planned run does not allow, before it is run."""
    if arguments.test in (None, "none"):
        return
    least = 3 if arguments.test == "friedman" else 2
    if is_split(arguments) or arguments.search or arguments.format not in _console.PAGES or n_methods < least:
        raise ValueError(
            f"--test {arguments.test} must go with {least} methods, several folds, a format of tables and no --search."
            " Hint: run nearlabel compare on the folder of --out."
        )


def _show_order(page: _console.Page, records: Records, test: str | None, *, every: bool) -> None:
    """Print which methods are significantly better than others, if there are several, on several folds."""
    n_folds = len({(record["seed"], record["fold"]) for record in records})
    n_methods = len({record["method"] for record in records})
    if test == "none" or n_folds < 2 or n_methods < 2:
        return
    comparison = nearlabel.comparison.compare(records, test=test)
    heading = f"{comparison.test} over the {n_folds} folds, 5 % level"
    if comparison.order.relations:
        title = f"Ranking by significant wins minus losses: {heading}"
        _comparison.print_order(page, comparison.order, title, every=every)
    else:
        page.print_text(f"No method is significantly better than another: {heading}.")
    for note in comparison.notes:
        page.print_text(f"Note: {note}")


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
        dataset = _data.open_training_data(arguments)
        test = _matched_data.open_test_data(arguments, dataset)
        return dataset.name, dataset if test is None else (dataset, test)
    training, test = (_data.open_data(arguments, subset=part) for part in ("train", "test"))
    return arguments.data, (training, test)
