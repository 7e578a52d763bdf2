"""Arguments of ``nearlabel card``."""

from __future__ import annotations

import argparse

_FORMATS = ("table", "json", "markdown")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL", help="file that save_model wrote")
    parser.add_argument("--format", choices=_FORMATS, default="table", help="default: table")
