"""Arguments of ``nearlabel verify``."""

from __future__ import annotations

import argparse

from nearlabel.cli._console import FORMATS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="stores, runs, models, data files, or folders of them")
    parser.add_argument("--sweep", action="store_true", help="remove the files that killed processes left")
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")
