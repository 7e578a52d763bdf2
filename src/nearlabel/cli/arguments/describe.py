"""Arguments of ``nearlabel describe``."""

from __future__ import annotations

import argparse

from nearlabel.cli._console import FORMATS
from nearlabel.cli.arguments.data import add_data_options, add_kind_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_data_options(parser)
    add_kind_options(parser)
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")
