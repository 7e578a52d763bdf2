"""Arguments of ``nearlabel reproduce``."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearlabel.cli._console import PAGE_FORMATS
from nearlabel.cli.arguments.registered import PAPERS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "paper", metavar="PAPER", help=f"one of {', '.join(PAPERS)}, or the path of a .toml file of your own"
    )
    parser.add_argument("--table", metavar="N", action="append", default=[], help="repeatable; default: all tables")
    parser.add_argument(
        "--figure",
        metavar="N",
        action="append",
        default=[],
        help="repeatable; saved in --out, or in the current folder",
    )
    parser.add_argument(
        "--ranking",
        metavar="N",
        action="append",
        default=[],
        help="repeatable; for papers that claim an order of methods",
    )
    for option in ("--method", "--metric"):
        parser.add_argument(
            option,
            type=_named_object,
            metavar="NAME=WHAT",
            action="append",
            default=[],
            help="meaning of a name in your own .toml file, such as mine=./mine.py:Mine; repeatable",
        )
    parser.add_argument(
        "--out", type=Path, default=None, help="folder for records and figures; the same command resumes"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="less than two minutes: fewer folds, data sets or methods; the first line lists what is left out",
    )
    parser.add_argument("--jobs", type=int, default=1, help="number of processes; default: 1")
    parser.add_argument("--format", choices=PAGE_FORMATS, default="table", help="default: table")


def _named_object(text: str) -> tuple[str, str]:
    """Parse ``name=package.module:Name``."""
    name, equals, what = text.partition("=")
    if not name or not equals or not what:
        raise argparse.ArgumentTypeError(f"must be NAME=WHAT, as in mine=./mine.py:Mine, got {text!r}")
    return name, what
