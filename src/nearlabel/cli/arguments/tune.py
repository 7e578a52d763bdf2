"""Arguments of ``nearlabel tune``."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from nearlabel.cli._console import FORMATS
from nearlabel.cli.arguments.data import (
    add_data_options,
    add_groups_option,
    add_impute_option,
    add_kept_options,
    add_kind_options,
    add_test_data_option,
)
from nearlabel.cli.arguments.model import add_file_options
from nearlabel.cli.arguments.parsing import LOO, folds_or_loo, numbers, some_names
from nearlabel.cli.arguments.registered import LEADERBOARD_METHODS, METHODS, SCALES, SEARCHES, THRESHOLDS

USUAL_SCALES, SCALES_OF_MIXED = ("none", "minmax"), ("minmax", "standard")
USUAL_SEARCHES, SEARCHES_OF_MIXED = ("exact", "exact:metric=cosine"), ("exact",)
MOST = 30  # numbers of neighbours, as far as the rows allow


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_data_options(parser)
    add_kept_options(parser)
    add_kind_options(parser)
    add_file_options(parser, required=False)
    _add_candidate_options(parser)
    _add_choice_options(parser)
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")
    parser.set_defaults(check=_check)


def _add_candidate_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the models to try."""
    parser.add_argument(
        "--methods",
        type=some_names,
        default=LEADERBOARD_METHODS,
        help=f"comma-separated, of {', '.join(METHODS)}, or package.module:Class, as in nearlabel evaluate; default:"
        f" {','.join(LEADERBOARD_METHODS)}",
    )
    parser.add_argument(
        "--k", type=numbers, default=MOST, help="numbers of neighbours: 10, 1-30 or 5,10,20; default: 1-30"
    )
    parser.add_argument(
        "--scales",
        type=some_names,
        default=None,
        help=f"comma-separated, of {', '.join(SCALES)}; default: {','.join(USUAL_SCALES)}, or"
        f" {','.join(SCALES_OF_MIXED)} if there are columns of other kinds",
    )
    add_impute_option(parser)
    add_groups_option(parser)
    add_test_data_option(parser, used="to evaluate the best model on")
    parser.add_argument(
        "--search",
        type=some_names,
        default=None,
        help=f"comma-separated, of {', '.join(SEARCHES)}, with options such as the distance, or package.module:Class;"
        f" default: {','.join(USUAL_SEARCHES)}, or {','.join(SEARCHES_OF_MIXED)} if there are columns of other kinds",
    )
    parser.add_argument(
        "--thresholds",
        type=some_names,
        default=("none",),
        help="comma-separated, for methods that name none after an @: none, numbers from 0 to 1,"
        f" {', '.join(THRESHOLDS)}; default: none",
    )


def _add_choice_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the selection, and its time limit."""
    parser.add_argument(
        "--metric",
        default="micro_f1",
        metavar="NAME",
        help="metric used to select the best: one of the catalogue, or package.module:function; default: micro_f1",
    )
    parser.add_argument(
        "--cv",
        type=folds_or_loo,
        default=LOO,
        metavar="{loo,N}",
        help="leave-one-out (five folds for methods that do not support it), or N shuffled folds; default: loo",
    )
    parser.add_argument(
        "--time-limit",
        type=_seconds,
        default=None,
        metavar="SECONDS",
        help="time limit for reading DATA and trying models; models not tried by then are left out; fitting and saving"
        " the model of --out take extra time; default: none",
    )
    parser.add_argument(
        "--state",
        type=Path,
        default=None,
        metavar="FILE",
        help="file of the finished trials: the same command resumes there, also with another --out, --time-limit or"
        " --format; default: none",
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        raise argparse.ArgumentTypeError(f"must be a positive number of seconds, got {text!r}")
    return seconds


def _check(arguments: argparse.Namespace) -> None:
    """Refuse options of the saved model if none is saved."""
    if arguments.file is not None:
        return
    if arguments.test_data is not None:
        raise ValueError("--test-data must go with --out: the saved model is evaluated on them.")
    for option in ("id", "show"):
        if getattr(arguments, option) is not None:
            raise ValueError(f"--{option} must go with --out: the saved model contains these columns.")
