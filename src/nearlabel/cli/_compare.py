"""``nearlabel compare``: which methods of some runs differ by more than chance."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from nearlabel.cli import _console
from nearlabel.cli._comparison import print_order, title_of
from nearlabel.experiments import OVER, POST_HOC, TESTS, Comparison, FriedmanTest, PairedTest, compare, read_runs
from nearlabel.report import draw_critical_differences


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "records", metavar="RECORDS", nargs="+", help="folders that evaluate or reproduce wrote (--out)"
    )
    parser.add_argument(
        "--test",
        choices=TESTS,
        default="corrected-t",
        help="t: paired two-tailed t-test, as Zhang and Zhou (2007); corrected-t: the same with the variance corrected"
        " for folds that share training rows (Nadeau and Bengio 2003); wilcoxon: signed ranks; bayes: Bayesian signed"
        " ranks; friedman: mean ranks of all methods; default: corrected-t",
    )
    parser.add_argument(
        "--over", choices=OVER, default=None, help="what is paired; default: data sets if there are several"
    )
    parser.add_argument(
        "--post-hoc", choices=POST_HOC, default="nemenyi", help="after --test friedman; default: nemenyi"
    )
    parser.add_argument("--alpha", type=float, default=0.05, help="level; default: 0.05")
    parser.add_argument("--metrics", type=names, default=None, help="comma-separated; default: all of the records")
    parser.add_argument("--methods", type=names, default=None, help="comma-separated; default: all of the records")
    parser.add_argument(
        "--figure", type=Path, default=None, metavar="FILE", help="critical difference diagrams, of --test friedman"
    )
    parser.add_argument("--format", choices=_console.FORMATS, default="table", help="default: table")


def main(arguments: argparse.Namespace) -> None:
    """Read the records, compare, print."""
    if arguments.figure is not None and arguments.test != "friedman":
        raise ValueError(f"--figure must go with --test friedman, got --test {arguments.test}.")
    comparison = compare(
        read_runs(arguments.records),
        test=arguments.test,
        over=arguments.over,
        post_hoc=arguments.post_hoc,
        alpha=arguments.alpha,
        metrics=arguments.metrics,
        methods=arguments.methods,
    )
    if arguments.format == "json":
        _console.print_json(comparison.as_dict())
    elif arguments.format == "csv":
        _console.print_csv([_flat(test) for test in comparison.tests])
    else:
        _print(comparison)
    for of in comparison.friedman if arguments.figure is not None else ():
        file = _draw(of, arguments.figure, comparison.alpha)
        if arguments.format == "table":
            _console.print_text(f"Figure: {file}")


def names(text: str) -> tuple[str, ...]:
    """Parse ``a,b``."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _flat(test: PairedTest) -> dict[str, object]:
    row: dict[str, object] = asdict(test)
    row.pop("methods")
    first, second = test.methods
    return {"dataset": row.pop("dataset"), "metric": row.pop("metric"), "first": first, "second": second} | row


def _print(comparison: Comparison) -> None:
    for of in comparison.friedman:
        _print_friedman(of)
    several = len({test.dataset for test in comparison.tests}) > 1
    rows = [
        (*((relation.dataset,) if several else ()), title_of(relation.metric), relation.better, relation.worse,
         f"{relation.p_value:.2g}")
        for relation in comparison.order.relations
    ]  # fmt: skip
    over = "data sets" if comparison.over == "datasets" else "folds"
    test = f"{comparison.test} over {over}, level {comparison.alpha:g}"
    if rows:
        columns = (*(("data set",) if several else ()), "measure", "better", "worse", "p")
        _console.print_table(f"Significant differences: {test}", columns, rows, left=len(columns) - 1)
        print_order(comparison.order, "Wins less losses")
    else:
        _console.print_text(f"No significant difference: {test}.")
    for note in comparison.notes:
        _console.print_text(f"Note: {note}")


def _print_friedman(of: FriedmanTest) -> None:
    rows = [(method, f"{rank:.2f}") for method, rank in sorted(of.mean_ranks.items(), key=lambda item: item[1])]
    heading = (
        f"{title_of(of.metric)}, {'data sets' if of.dataset == 'all' else of.dataset}: Friedman's chi-squared"
        f" {of.statistic:.2f}, p = {of.p_value:.2g}; F {of.f_statistic:.2f}, p = {of.f_p_value:.2g}"
    )
    _console.print_table(heading, ("method", "mean rank"), rows)
    if of.post_hoc == "nemenyi":
        _console.print_text(f"Critical difference of mean ranks (Nemenyi): {of.critical_difference:.2f}")


def _draw(of: FriedmanTest, file: Path, alpha: float) -> Path:
    """Draw a diagram; the measure, and the data set if the folds are ranked, stand in the file's name."""
    of_one = "" if of.dataset == "all" else f"-{of.dataset}"
    return draw_critical_differences(
        of.mean_ranks,
        of.alike(alpha),
        file.with_name(f"{file.stem}-{of.metric}{of_one}{file.suffix}"),
        title=f"{title_of(of.metric)}: mean ranks over {of.n_pairs} {'data sets' if not of_one else 'folds'}",
        critical_difference=of.critical_difference if of.post_hoc == "nemenyi" else None,
    )
