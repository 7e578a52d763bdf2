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
    """Declare what is tried on which rows."""
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
        help=f"comma-separated, of {', '.join(SCALES)}; default: {','.join(USUAL_SCALES)}, beside columns of other"
        f" kinds {','.join(SCALES_OF_MIXED)}",
    )
    add_impute_option(parser)
    add_groups_option(parser)
    add_test_data_option(parser, used="on which the best model is evaluated")
    parser.add_argument(
        "--search",
        type=some_names,
        default=None,
        help=f"comma-separated, of {', '.join(SEARCHES)}, with options such as the distance, or package.module:Class;"
        " default:"
        f" {','.join(USUAL_SEARCHES)}, beside columns of other kinds {','.join(SEARCHES_OF_MIXED)}",
    )
    parser.add_argument(
        "--thresholds",
        type=some_names,
        default=("none",),
        help="comma-separated, for methods that name none behind an @: none, numbers from 0 to 1,"
        f" {', '.join(THRESHOLDS)}; default: none",
    )


def _add_choice_options(parser: argparse.ArgumentParser) -> None:
    """Declare how the best is chosen, and until when."""
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
        help="each row by all others (methods without leave-one-out answers: by five folds), or by N shuffled folds;"
        " default: loo",
    )
    parser.add_argument(
        "--time-limit",
        type=_seconds,
        default=None,
        metavar="SECONDS",
        help="for reading and trying; what is not tried by then is left out, the fit and file of --out come on top;"
        " default: none",
    )
    parser.add_argument(
        "--state",
        type=Path,
        default=None,
        metavar="FILE",
        help="what was tried: the same command goes on there, with other --out, --time-limit and --format, too;"
        " default: not kept",
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
    """Refuse options of the model that is saved where none is."""
    if arguments.file is not None:
        return
    if arguments.test_data is not None:
        raise ValueError("--test-data must go with --out: the model that is saved is evaluated on them.")
    for option in ("id", "show"):
        if getattr(arguments, option) is not None:
            raise ValueError(f"--{option} must go with --out: the model that is saved keeps these columns.")
