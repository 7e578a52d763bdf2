"""``nearlabel compare``: test which methods differ significantly, in results of nearlabel and other programs."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from operator import attrgetter
from pathlib import Path

import nearlabel
from nearlabel.cli import _comparison, _console
from nearlabel.cli._arguments import some_names
from nearlabel.utils.messages import warnings_as_notes
from nearlabel.utils.names import OVER, POST_HOC, TESTS

SUMMARY = "test which methods differ significantly"
EXAMPLES = ("nearlabel compare results --test friedman --figure ranks.png",)
LOADS = ("comparison", "metrics", "plots")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "results",
        metavar="RESULTS",
        nargs="+",
        help="results folders (--out of evaluate or reproduce), and .csv or .jsonl files of other programs' results",
    )
    parser.add_argument(
        "--test",
        choices=TESTS,
        help="t: paired two-tailed t-test, as Zhang and Zhou (2007); corrected-t: the same with the variance corrected"
        " for folds that share training samples (Nadeau and Bengio 2003); wilcoxon: signed ranks; bayes: Bayesian"
        " signed ranks; friedman: mean ranks of all methods; default: corrected-t over folds, wilcoxon over data sets",
    )
    parser.add_argument("--over", choices=OVER, help="unit of the paired test; default: datasets if there are several")
    parser.add_argument(
        "--post-hoc", choices=POST_HOC, default="nemenyi", help="post-hoc test of --test friedman; default: nemenyi"
    )
    parser.add_argument("--alpha", type=float, default=0.05, help="significance level; default: 0.05")
    parser.add_argument("--metrics", type=some_names, help="comma-separated; default: all that occur")
    parser.add_argument("--methods", type=some_names, help="comma-separated; default: all that occur")
    for option in ("--lower-is-better", "--greater-is-better"):
        parser.add_argument(
            option, type=some_names, default=(), metavar="A,B", help="direction of metrics outside the catalogue"
        )
    parser.add_argument(
        "--figure", type=Path, metavar="FILE", help="file for critical difference diagrams; requires --test friedman"
    )
    parser.add_argument(
        "--rows",
        action="store_true",
        help="no test: list the samples that one of two methods (--methods) predicts correctly and the other does not,"
        " with their label sets; with one name in --metrics, the samples where one method is better by that metric;"
        " requires results of evaluate --per-row",
    )
    parser.add_argument("--k", type=int, help="with --rows: the number of neighbours, if the results contain several")
    parser.add_argument(
        "--limit",
        type=int,
        help="with --rows: maximum number of samples of each method; default: 10 in a table, all in csv and json",
    )
    _console.add_format_option(parser, _console.PAGE_FORMATS)
    parser.set_defaults(check=_check)


def _check(arguments: argparse.Namespace) -> None:
    """Refuse a figure without its test, and options of tests together with those of rows."""
    if arguments.figure is not None and arguments.test != "friedman":
        raise ValueError(f"--figure must go with --test friedman, got --test {arguments.test or 'not given'}.")
    of_rows = [option for option in ("k", "limit") if getattr(arguments, option) is not None]
    if of_rows and not arguments.rows:
        raise ValueError(f"--{of_rows[0]} must go with --rows, got none.")
    if arguments.rows and (arguments.test or arguments.over):
        got = f"--test {arguments.test}" if arguments.test else f"--over {arguments.over}"
        raise ValueError(f"--rows must go without --test and --over, got {got}.")
    if arguments.rows and arguments.metrics is not None and len(arguments.metrics) > 1:
        raise ValueError(f"--metrics must be one metric with --rows, got {','.join(arguments.metrics)}.")
    if arguments.limit is not None and arguments.limit < 0:
        raise ValueError(f"--limit must be a number of rows, 0 or more, got {arguments.limit}.")


_MOST_OTHERS = 50  # pairs without a significant difference
_OVER = {"folds": "folds", "datasets": "data sets"}


def main(arguments: argparse.Namespace) -> None:
    """Compare the results, draw the diagrams and print the outcome; or compare two methods row by row."""
    if arguments.rows:
        show_rows(arguments)
        return
    if arguments.figure is not None:
        nearlabel.plots.check_figure_file(arguments.figure, name="--figure")
    comparison = nearlabel.comparison.compare(
        arguments.results,
        test=arguments.test,
        over=arguments.over,
        post_hoc=arguments.post_hoc,
        alpha=arguments.alpha,
        metrics=arguments.metrics,
        methods=arguments.methods,
        greater_is_better=dict.fromkeys(arguments.greater_is_better, True)
        | dict.fromkeys(arguments.lower_is_better, False),
    )
    drawn = comparison.friedman if arguments.figure is not None else ()
    files = [_draw(of, arguments.figure, comparison) for of in drawn]
    if arguments.format == "json":
        _console.print_json(comparison.as_dict())
    elif arguments.format == "csv":
        _console.print_csv([_flat(test) for test in comparison.tests])
        _console.print_notes(comparison.notes)
    else:
        page = _console.PAGES[arguments.format]
        _print(page, comparison)
        for file in files:
            page.print_text(f"Figure: {file}")


def _flat(test: nearlabel.comparison.PairedTest) -> dict[str, object]:
    row: dict[str, object] = asdict(test)
    row.pop("methods")
    first, second = test.methods
    return {"dataset": test.dataset, "metric": test.metric, "first": first, "second": second} | row


def _print(page: _console.Page, comparison: nearlabel.comparison.Comparison) -> None:
    for of in comparison.friedman:
        _print_friedman(page, of, comparison.over)
    test = f"{comparison.test} over {_OVER[comparison.over]}, level {comparison.alpha:g}"
    if comparison.order.relations:
        _print_relations(page, comparison, f"Significant differences: {test}", comparison.order.relations)
        _comparison.print_order(page, comparison.order, "Ranking: significant wins minus losses", every=True)
    else:
        page.print_text(f"No significant difference: {test}.")
    _print_others(page, comparison)
    for note in comparison.notes:
        page.print_text(f"Note: {note}")


def _print_others(page: _console.Page, comparison: nearlabel.comparison.Comparison) -> None:
    """Print a line for each pair without a significant difference, the smallest p-values first.

    The pairs of a metric on which Friedman's test finds no difference do not count, and are left out.
    """
    equal = {(of.dataset, of.metric) for of in comparison.friedman if not of.rejects(comparison.alpha)}
    tests = [test for test in comparison.tests if (test.dataset, test.metric) not in equal]
    pairs = nearlabel.comparison.order_methods(tests, comparison.methods, math.inf).relations
    others = sorted((pair for pair in pairs if pair.p_value >= comparison.alpha), key=attrgetter("p_value"))
    if others:
        _print_relations(page, comparison, "Not significant, smallest p first", others[:_MOST_OTHERS])
    if len(others) > _MOST_OTHERS:
        page.print_text(f"... and {len(others) - _MOST_OTHERS} more: fewer --metrics, or --format csv.")
    if undefined := len(tests) - len(pairs):
        page.print_text(f"Without a p-value, since the methods never differ or always by the same: {undefined}.")


def _print_relations(
    page: _console.Page,
    comparison: nearlabel.comparison.Comparison,
    heading: str,
    relations: Sequence[nearlabel.comparison.Relation],
) -> None:
    """Print a line for each difference; the data sets only where there are several."""
    several = len({test.dataset for test in comparison.tests}) > 1
    names = ("data set", "metric", "better", "worse")
    figures = ("difference of ranks" if comparison.friedman else "difference", "p", _OVER[comparison.over])
    rows = [
        (relation.dataset, nearlabel.metrics.evaluation.title_of(relation.metric), relation.better, relation.worse,
         f"{relation.difference:+.4f}", f"{relation.p_value:.2g}", str(relation.n_pairs))
        for relation in relations
    ]  # fmt: skip
    first = 0 if several else 1
    columns = (*names, *figures)[first:]
    page.print_table(heading, columns, [row[first:] for row in rows], left=len(names) - first)


def _print_friedman(page: _console.Page, of: nearlabel.comparison.FriedmanTest, over: str) -> None:
    rows = [(method, f"{rank:.2f}") for method, rank in sorted(of.mean_ranks.items(), key=lambda item: item[1])]
    where = f"{of.n_pairs} {_OVER[over]}" + (f" of {of.dataset}" if over == "folds" else "")
    title = nearlabel.metrics.evaluation.title_of(of.metric)
    heading = (
        f"{title}, {where}: Friedman's chi-squared {of.statistic:.2f}, p = {of.p_value:.2g};"
        f" F {of.f_statistic:.2f}, p = {of.f_p_value:.2g}"
    )
    page.print_table(heading, ("method", "mean rank"), rows)
    if of.post_hoc == "nemenyi":
        page.print_text(f"Critical difference of mean ranks (Nemenyi): {of.critical_difference:.2f}")


def _draw(of: nearlabel.comparison.FriedmanTest, file: Path, comparison: nearlabel.comparison.Comparison) -> Path:
    """Draw a diagram into a file named after the metric, and after the data set where folds are ranked."""
    of_one = f"-{of.dataset}" if comparison.over == "folds" else ""
    diagram = nearlabel.plots.CriticalDifferenceDisplay.of(of, alpha=comparison.alpha)
    return diagram.write(file.with_name(f"{file.stem}-{of.metric}{of_one}{file.suffix}"))


# The output of ``nearlabel compare --rows``: the rows that only one of two methods predicts correctly.

_EXACT = "subset_accuracy"
_IN_A_TABLE = 10  # rows of each method


def show_rows(arguments: argparse.Namespace) -> None:
    """Compare two methods row by row and print the rows where one is better."""
    with warnings_as_notes() as notes:
        records = nearlabel.comparison.read_results(arguments.results)
    metric = _EXACT if arguments.metrics is None else arguments.metrics[0]
    comparison = nearlabel.comparison.compare_rows(records, arguments.methods, metric=metric, n_neighbors=arguments.k)
    limit = _IN_A_TABLE if arguments.limit is None and arguments.format in _console.PAGES else arguments.limit
    better = {method: [row for row in comparison.rows if row.better == method] for method in comparison.methods}
    shown = [row for rows in better.values() for row in rows[:limit]]
    if arguments.format == "json":
        _console.print_json(replace(comparison, rows=tuple(shown)).as_dict() | {"notes": notes})
    elif arguments.format == "csv":
        columns = [field.name for field in fields(nearlabel.comparison.ComparedRow)]
        _console.print_csv([_flat_rows(row) for row in shown], columns=columns)
        _console.print_notes(notes)
    else:
        page = _console.PAGES[arguments.format]
        _print_compared(page, comparison, shown)
        for note in notes:
            page.print_text(f"Note: {note}")


def _flat_rows(row: nearlabel.comparison.ComparedRow) -> dict[str, object]:
    """Return the cells for CSV; label sets are JSON lists, since labels may contain any character."""
    return {name: json.dumps(cell) if isinstance(cell, tuple) else cell for name, cell in asdict(row).items()}


def _print_compared(
    page: _console.Page,
    comparison: nearlabel.comparison.RowComparison,
    shown: Sequence[nearlabel.comparison.ComparedRow],
) -> None:
    """Print a table for each method with the rows on which it is better, and how many there are of each kind."""
    first, second = comparison.methods
    for better, worse in ((first, second), (second, first)):
        title = f"{better} better than {worse} by {nearlabel.metrics.evaluation.title_of(comparison.metric)}"
        if comparison.metric == _EXACT:
            title = f"{better} right, {worse} wrong"
        rows, n_better = [row for row in shown if row.better == better], comparison.n_better[better]
        number = f"{len(rows)} of {n_better}" if rows and len(rows) < n_better else str(n_better)
        title += f": {number} row{'' if n_better == 1 else 's'}"
        if rows:
            _print_rows(page, title, rows, comparison)
        else:
            page.print_text(f"{title}.")
    alike = comparison.n_rows - sum(comparison.n_better.values())
    page.print_text(f"Neither is better on {alike} of the {comparison.n_rows} rows.")


def _print_rows(
    page: _console.Page,
    title: str,
    rows: Sequence[nearlabel.comparison.ComparedRow],
    comparison: nearlabel.comparison.RowComparison,
) -> None:
    """Print rows of one method, without the columns that are the same in all."""
    columns: dict[str, list[str]] = {
        "data set": [row.dataset for row in rows],
        "seed": [str(row.seed) for row in rows],
        "row": [str(row.row) for row in rows],
        "labels": [_joined(row.labels, row.unknown) for row in rows],
        f"by {rows[0].better}": [_joined(row.of_better) for row in rows],
        f"by {rows[0].worse}": [_joined(row.of_worse) for row in rows],
    }
    for name, field in (("data set", "dataset"), ("seed", "seed")):
        if len({getattr(row, field) for row in comparison.rows}) == 1:
            del columns[name]
    left = len(columns)
    if comparison.metric != _EXACT:
        columns["better"] = [f"{row.value_of_better:.4f}" for row in rows]
        columns["worse"] = [f"{row.value_of_worse:.4f}" for row in rows]
    page.print_table(title, list(columns), zip(*columns.values(), strict=True), left=left)


def _joined(labels: Sequence[str], unknown: Sequence[str] = ()) -> str:
    """Return a label set in words; a question mark follows labels that are unknown."""
    return ", ".join([*labels, *(f"{label}?" for label in unknown)]) or "–"
