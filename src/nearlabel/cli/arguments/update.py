"""Arguments of ``nearlabel update``."""

from __future__ import annotations

import argparse

from nearlabel.cli.arguments.data import add_data_options
from nearlabel.cli.arguments.model import add_model_argument


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_model_argument(parser)
    add_data_options(parser, optional=True)
    add_retune_option(parser)


def add_retune_option(parser: argparse.ArgumentParser) -> None:
    """Add --retune."""
    parser.add_argument(
        "--retune",
        action="store_true",
        help="select thresholds and a number of neighbours again; default: leave them unchanged; the card then marks"
        " them as stale",
    )
