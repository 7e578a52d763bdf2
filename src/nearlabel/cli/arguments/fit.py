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
from nearlabel.cli.arguments.registered import (
    CALIBRATIONS,
    METHODS,
    PROMISED_MEASURES,
    SCALES,
    SEARCHES,
    THRESHOLDS,
)

AUTO, NONE = "auto", "none"
MOST = 30  # numbers of neighbours of a named method that auto chooses from


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
        help="auto: the best of brknn, mlknn and mlmlm, chosen together with weights, distance, scaling, k and"
        " thresholds (of the first two where labels are unknown);"
        f" or one of {', '.join(METHODS)}, with options, thresholds and a selection of features as in"
        " nearlabel evaluate --methods; default: auto",
    )
    parser.add_argument(
        "--k",
        type=_number_or_auto,
        default=None,
        metavar="{auto,N}",
        help=f"number of neighbours; auto: of a named method the best of 1 to {MOST} on held-out rows; default: auto",
    )
    parser.add_argument(
        "--scale",
        choices=SCALES,
        default=None,
        help="how to scale numbers (fitted on training data); default: what is best, for a named method none, or minmax"
        " beside columns of other kinds",
    )
    add_impute_option(parser)
    add_groups_option(parser)
    add_test_data_option(parser, used="on which the model is evaluated")
    parser.add_argument(
        "--search",
        default=None,
        metavar="SEARCH",
        help=f"one of {', '.join(SEARCHES)}; default: exact by the best metric, for a named method exact, with --scale"
        " tfidf exact:metric=cosine",
    )
    parser.add_argument(
        "--thresholds",
        default=None,
        metavar="NAME",
        help=f"none: the method's own decision; a number from 0 to 1; or tuned: {', '.join(THRESHOLDS)}; default: tuned"
        " for --metric, for a named method none",
    )
    parser.add_argument(
        "--calibrate",
        choices=CALIBRATIONS,
        default=None,
        help="how to calibrate the probabilities of a named method, label by label, on held-out rows; default: not",
    )
    parser.add_argument(
        "--metric",
        default="micro_f1",
        metavar="NAME",
        help="metric used to choose: one of the catalogue, or package.module:function; default: micro_f1",
    )
    parser.add_argument(
        "--validate",
        type=_folds_loo_or_none,
        default="loo",
        metavar="{loo,N,none}",
        help="how to evaluate the model and select k of a named method: each row by all others (methods without"
        " leave-one-out answers: by five folds), by N shuffled folds, or not at all; default: loo",
    )
    _add_guarantee_options(parser)
    parser.set_defaults(format="table", check=_check)  # the format of what is printed


def _add_guarantee_options(parser: argparse.ArgumentParser) -> None:
    """Add --guarantee and the option that goes with it."""
    parser.add_argument(
        "--guarantee",
        type=_measure_and_level,
        default=None,
        metavar="MEASURE=LEVEL",
        help="promise at least this on new rows like those of DATA: one of"
        f" {', '.join(PROMISED_MEASURES)}, as in recall=0.9. Three tenths of the rows, drawn by a fixed seed, are held"
        " out from all else to set the threshold",
    )
    parser.add_argument(
        "--confidence",
        type=share,
        default=None,
        metavar="P",
        help="of --guarantee: the probability with which the promise holds, needed for precision; default: it holds on"
        " average over draws of DATA",
    )


def _check(arguments: argparse.Namespace) -> None:
    """Refuse what does not go with a promise."""
    if arguments.guarantee is None:
        if arguments.confidence is not None:
            raise ValueError("--confidence must go with --guarantee.")
        return
    if arguments.guarantee[0] == "precision" and arguments.confidence is None:
        raise ValueError("--guarantee precision must go with --confidence. Hint: --confidence 0.9.")
    behind = arguments.method.split("@")[1:]
    if arguments.thresholds is not None or not set(behind) <= set(CALIBRATIONS):
        raise ValueError("--guarantee must go without other thresholds (--thresholds, or behind an @ in --method).")
    if arguments.groups is not None:
        raise ValueError("--guarantee must go without --groups: the promise is for rows drawn one by one.")


def _measure_and_level(text: str) -> tuple[str, float]:
    measure, equals, level = text.partition("=")
    if not equals or measure not in PROMISED_MEASURES:
        raise argparse.ArgumentTypeError(
            f"must be MEASURE=LEVEL with one of {', '.join(PROMISED_MEASURES)}, got {text!r}"
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
