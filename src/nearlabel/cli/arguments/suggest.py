"""Arguments of ``nearlabel suggest``."""

from __future__ import annotations

import argparse

from nearlabel.cli._console import FORMATS
from nearlabel.cli.arguments.data import add_data_options
from nearlabel.cli.arguments.model import add_model_argument
from nearlabel.cli.arguments.registered import LOSSES, STRATEGIES

LABELS, REVIEW = "labels", "review"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_model_argument(parser)
    add_data_options(parser)
    parser.add_argument("--n", type=int, default=20, metavar="N", help="number of rows; default: 20")
    parser.add_argument(
        "--for",
        dest="purpose",
        choices=(LABELS, REVIEW),
        default=LABELS,
        help="rows to be labelled next, or rows whose predicted labels a person should check; default: labels",
    )
    parser.add_argument(
        "--strategy",
        choices=STRATEGIES,
        default=None,
        help="with --for labels: rows similar to many others, or a random sample; default: representative",
    )
    parser.add_argument(
        "--labelled",
        metavar="FILE",
        help="with --for labels: the labelled data, for a model that is not a method by nearest neighbours; default:"
        " the training data",
    )
    parser.add_argument(
        "--loss",
        choices=LOSSES,
        default=None,
        help="with --for review: rank by the expected number of wrong labels, by the probability that any label is"
        " wrong, or by the expected loss of F1; default: labels",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=None,
        help="with --for labels: random seed of --strategy random, and of the sample from a pool of more than 4,000"
        " rows; default: 0",
    )
    parser.add_argument("--id", metavar="COLUMN", help="column of DATA to print instead of row numbers")
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")
    parser.set_defaults(check=_check)


def _check(arguments: argparse.Namespace) -> None:
    """Refuse options of the other purpose."""
    others = ("loss",) if arguments.purpose == LABELS else ("strategy", "labelled", "seed")
    needed = REVIEW if arguments.purpose == LABELS else LABELS
    for option in others:
        if getattr(arguments, option) is not None:
            raise ValueError(f"--{option} must go with --for {needed}.")
