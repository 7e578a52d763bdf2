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
        help="folders that evaluate or reproduce wrote (--out), and .csv or .jsonl files of other programs' results",
    )
    parser.add_argument(
        "--test",
        choices=TESTS,
        default=None,
        help="t: paired two-tailed t-test, as Zhang and Zhou (2007); corrected-t: the same with the variance corrected"
        " for folds that share training rows (Nadeau and Bengio 2003); wilcoxon: signed ranks; bayes: Bayesian signed"
        " ranks; friedman: mean ranks of all methods; default: corrected-t over folds, wilcoxon over data sets",
    )
    parser.add_argument(
        "--over", choices=OVER, default=None, help="what is paired; default: data sets if there are several"
    )
    parser.add_argument(
        "--post-hoc", choices=POST_HOC, default="nemenyi", help="after --test friedman; default: nemenyi"
    )
    parser.add_argument("--alpha", type=float, default=0.05, help="level; default: 0.05")
    parser.add_argument("--metrics", type=some_names, default=None, help="comma-separated; default: all that occur")
    parser.add_argument("--methods", type=some_names, default=None, help="comma-separated; default: all that occur")
    for option in ("--lower-is-better", "--greater-is-better"):
        parser.add_argument(
            option, type=some_names, default=(), metavar="A,B", help="metrics that nearlabel does not know"
        )
    parser.add_argument(
        "--figure", type=Path, default=None, metavar="FILE", help="critical difference diagrams, of --test friedman"
    )
    parser.add_argument(
        "--rows",
        action="store_true",
        help="no test: the rows that one of two methods (--methods) gets right and the other wrong, with their label"
        " sets, of results of evaluate --per-row; with --metrics and one name, where one is better by this metric",
    )
    parser.add_argument(
        "--k", type=int, default=None, help="of --rows: the number of neighbours, if there are several in the results"
    )
    parser.add_argument(
        "--limit",
        type=int,
        default=None,
        help="of --rows: how many to show of each method; default: 10 in a table, all in csv and json",
    )
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")
    parser.set_defaults(check=_check)


def _check(arguments: argparse.Namespace) -> None:
    """Refuse a figure of what is not computed, and options of tests beside those of rows."""
    if arguments.figure is not None and arguments.test != "friedman":
        raise ValueError(f"--figure must go with --test friedman, got --test {arguments.test or 'not given'}.")
    of_rows = [option for option in ("k", "limit") if getattr(arguments, option) is not None]
    if of_rows and not arguments.rows:
        raise ValueError(f"--{of_rows[0]} must go with --rows, got none.")
    if arguments.rows and (arguments.test or arguments.over):
        got = f"--test {arguments.test}" if arguments.test else f"--over {arguments.over}"
        raise ValueError(f"--rows must go without a test, which it does not make, got {got}.")
    if arguments.rows and arguments.metrics is not None and len(arguments.metrics) > 1:
        raise ValueError(f"--metrics must be one metric with --rows, got {','.join(arguments.metrics)}.")
    if arguments.limit is not None and arguments.limit < 0:
        raise ValueError(f"--limit must be a number of rows, 0 or more, got {arguments.limit}.")
