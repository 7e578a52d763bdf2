"""Arguments of ``nearlabel explain``."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearlabel.cli.arguments.data import add_data_options
from nearlabel.cli.arguments.model import add_model_argument

_FORMATS = ("text", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_model_argument(parser)
    add_data_options(parser)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--row", type=_row_number, metavar="N", help="number of the row, from 0")
    which.add_argument(
        "--id", type=_column_and_value, metavar="COLUMN=VALUE", help="the row with this value in a column"
    )
    parser.add_argument(
        "--figure",
        type=Path,
        metavar="FILE",
        help="also draw the explanation: .png, .svg, .pdf or another format of matplotlib",
    )
    parser.add_argument("--format", choices=_FORMATS, default="text", help="default: text")


def _row_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"must be a number of a row, from 0, got {text!r}")
    return int(text)


def _column_and_value(text: str) -> tuple[str, str]:
    column, equals, value = text.partition("=")
    if not column or not equals:
        raise argparse.ArgumentTypeError(f"must be COLUMN=VALUE, got {text!r}")
    return column, value
