"""Arguments of ``nearlabel demo``."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearlabel.cli._console import FORMATS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--out",
        dest="folder",
        metavar="OUT",
        type=Path,
        default=Path("nearlabel-demo"),
        help="folder for the figure; default: nearlabel-demo",
    )
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")
