"""Arguments of ``nearlabel fit``."""

from __future__ import annotations

import argparse

from nearlabel.cli.arguments.data import (
    add_data_options,
    add_groups_option,
    add_impute_option,
    add_kept_options,
    add_kind_options,
    add_test_data_option,
)
from nearlabel.cli.arguments.model import add_file_options
from nearlabel.cli.arguments.parsing import folds_or_loo, share
from nearlabel.cli.arguments.registered import CALIBRATIONS, METHODS, PROMISED_MEASURES, SCALES, SEARCHES, THRESHOLDS

AUTO, NONE = "auto", "none"
MOST = 30  # numbers of neighbours of a named method that auto tries


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_data_options(parser)
    add_kept_options(parser)
    add_kind_options(parser)
    add_file_options(parser, required=True)
    parser.add_argument(
        "--method",
        default=AUTO,
        metavar="SPEC",
        help="auto: select the best of brknn, mlknn and mlmlm (without mlmlm if labels are unknown), together with"
        " weights, distance, scaling, k and thresholds;"
        f" or one of {', '.join(METHODS)}, with options, thresholds and a feature selection as in"
        " nearlabel evaluate --methods; default: auto",
    )
    parser.add_argument(
        "--k",
        type=_number_or_auto,
        default=None,
        metavar="{auto,N}",
        help=f"number of neighbours; auto: for a named method the best of 1 to {MOST} on held-out samples; default:"
        " auto",
    )
    parser.add_argument(
        "--scale",
        choices=SCALES,
        default=None,
        help="how to scale numbers (fitted on training data); default: the best; for a named method none, or minmax if"
        " there are columns of other kinds",
    )
    add_impute_option(parser)
    add_groups_option(parser)
    add_test_data_option(parser, used="to evaluate the model on")
    parser.add_argument(
        "--search",
        default=None,
        metavar="SEARCH",
        help=f"one of {', '.join(SEARCHES)}; default: exact with the best distance; for a named method exact, or"
        " exact:metric=cosine with --scale tfidf",
    )
    parser.add_argument(
        "--thresholds",
        default=None,
        metavar="NAME",
        help=f"none: the method's own decision; a number from 0 to 1; or tuned: {', '.join(THRESHOLDS)}; default: tuned"
        " for --metric; for a named method none",
    )
    parser.add_argument(
        "--calibrate",
        choices=CALIBRATIONS,
        default=None,
        help="how to calibrate the probabilities of a named method, for each label, on held-out samples; default: no"
        " calibration",
    )
    parser.add_argument(
        "--metric",
        default="micro_f1",
        metavar="NAME",
        help="metric used to select: one of the catalogue, or package.module:function; default: micro_f1",
    )
    parser.add_argument(
        "--validate",
        type=_folds_loo_or_none,
        default="loo",
        metavar="{loo,N,none}",
        help="how to evaluate the model and select k of a named method: leave-one-out (five folds for methods that do"
        " not support it), N shuffled folds, or not at all; default: loo",
    )
    _add_guarantee_options(parser)
    parser.set_defaults(format="table", check=_check)  # the format of the output


def _add_guarantee_options(parser: argparse.ArgumentParser) -> None:
    """Add --guarantee and the option that goes with it."""
    parser.add_argument(
        "--guarantee",
        type=_measure_and_level,
        default=None,
        metavar="METRIC=LEVEL",
        help="guarantee at least this on new samples distributed like DATA: one of"
        f" {', '.join(PROMISED_MEASURES)}, as in recall=0.9. Three tenths of the rows, drawn with a fixed seed, are"
        " held out from everything else to set the threshold",
    )
    parser.add_argument(
        "--confidence",
        type=share,
        default=None,
        metavar="P",
        help="with --guarantee: the probability that the guarantee is met, required for precision; default: it is met"
        " on average over draws of DATA",
    )


def _check(arguments: argparse.Namespace) -> None:
    """Refuse options that do not go with a guarantee."""
    if arguments.guarantee is None:
        if arguments.confidence is not None:
            raise ValueError("--confidence must go with --guarantee.")
        return
    if arguments.guarantee[0] == "precision" and arguments.confidence is None:
        raise ValueError("--guarantee precision must go with --confidence. Hint: --confidence 0.9.")
    behind = arguments.method.split("@")[1:]
    if arguments.thresholds is not None or not set(behind) <= set(CALIBRATIONS):
        raise ValueError("--guarantee must go without other thresholds (--thresholds, or after an @ in --method).")
    if arguments.groups is not None:
        raise ValueError("--guarantee must go without --groups: the guarantee is for samples drawn independently.")


def _measure_and_level(text: str) -> tuple[str, float]:
    measure, equals, level = text.partition("=")
    if not equals or measure not in PROMISED_MEASURES:
        raise argparse.ArgumentTypeError(
            f"must be METRIC=LEVEL with one of {', '.join(PROMISED_MEASURES)}, got {text!r}"
        )
    return measure, share(level)


def _number_or_auto(text: str) -> int | str:
    if text == AUTO:
        return text
    if not (text.isascii() and text.isdecimal()) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be auto or a number from 1, got {text!r}")
    return int(text)


def _folds_loo_or_none(text: str) -> int | str:
    return text if text == NONE else folds_or_loo(text)
