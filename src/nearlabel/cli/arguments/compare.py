"""Arguments of ``nearlabel compare``."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearlabel.cli._console import FORMATS
from nearlabel.cli.arguments.parsing import some_names
from nearlabel.cli.arguments.registered import OVER, POST_HOC, TESTS


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
        default=None,
        help="t: paired two-tailed t-test, as Zhang and Zhou (2007); corrected-t: the same with the variance corrected"
        " for folds that share training samples (Nadeau and Bengio 2003); wilcoxon: signed ranks; bayes: Bayesian"
        " signed ranks; friedman: mean ranks of all methods; default: corrected-t over folds, wilcoxon over data sets",
    )
    parser.add_argument(
        "--over", choices=OVER, default=None, help="unit of the paired test; default: datasets if there are several"
    )
    parser.add_argument(
        "--post-hoc", choices=POST_HOC, default="nemenyi", help="post-hoc test of --test friedman; default: nemenyi"
    )
    parser.add_argument("--alpha", type=float, default=0.05, help="significance level; default: 0.05")
    parser.add_argument("--metrics", type=some_names, default=None, help="comma-separated; default: all that occur")
    parser.add_argument("--methods", type=some_names, default=None, help="comma-separated; default: all that occur")
    for option in ("--lower-is-better", "--greater-is-better"):
        parser.add_argument(
            option, type=some_names, default=(), metavar="A,B", help="direction of metrics outside the catalogue"
        )
    parser.add_argument(
        "--figure",
        type=Path,
        default=None,
        metavar="FILE",
        help="file for critical difference diagrams; requires --test friedman",
    )
    parser.add_argument(
        "--rows",
        action="store_true",
        help="no test: list the samples that one of two methods (--methods) predicts correctly and the other does not,"
        " with their label sets; with one name in --metrics, the samples where one method is better by that metric;"
        " requires results of evaluate --per-row",
    )
    parser.add_argument(
        "--k", type=int, default=None, help="with --rows: the number of neighbours, if the results contain several"
    )
    parser.add_argument(
        "--limit",
        type=int,
        default=None,
        help="with --rows: maximum number of samples of each method; default: 10 in a table, all in csv and json",
    )
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")
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
