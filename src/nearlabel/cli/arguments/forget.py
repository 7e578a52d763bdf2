"""Arguments of ``nearlabel forget``."""

from __future__ import annotations

import argparse

from nearlabel.cli.arguments.model import add_model_argument
from nearlabel.cli.arguments.update import add_retune_option


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_model_argument(parser)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "--ids",
        metavar="FILE",
        help="file with one id per line (- is standard input); all rows with these ids are removed",
    )
    which.add_argument("--rows", type=_row_numbers, metavar="N,N", help="row numbers to remove, from 0")
    parser.add_argument(
        "--column",
        metavar="NAME",
        help="saved column that contains the ids; default: the one named id, or whose name ends in id",
    )
    add_retune_option(parser)


def _row_numbers(text: str) -> tuple[int, ...]:
    numbers = text.split(",")
    if not all(number.isascii() and number.isdecimal() for number in numbers):
        raise argparse.ArgumentTypeError(f"must be numbers of rows, from 0, separated by commas, got {text!r}")
    return tuple(map(int, numbers))
