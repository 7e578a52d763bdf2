"""Arguments of ``nearlabel resample``."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearlabel.cli._console import FORMATS
from nearlabel.cli.arguments.data import add_data_options
from nearlabel.cli.arguments.registered import SAMPLERS

SEED = "seed"  # the column with the row that a row was made from


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_data_options(parser)
    parser.add_argument(
        "--sampler",
        required=True,
        metavar="NAME",
        help=f"one of {', '.join(SAMPLERS)}, with options after colons (mlros:share=0.1, mlsmote:n_neighbors=3), or"
        " package.module:Class or ./file.py:Class, which executes the code of that module",
    )
    parser.add_argument(
        "--out",
        dest="file",
        metavar="FILE.csv",
        type=Path,
        required=True,
        help=f"CSV file of the resampled rows, overwritten if it exists; its column {SEED} is the number, from 0, of"
        " the row of DATA that each is or was made from (-1: several)",
    )
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")
    parser.set_defaults(check=_check)


def _check(arguments: argparse.Namespace) -> None:
    """Refuse a file of another format."""
    if arguments.file.suffix.lower() != ".csv":
        raise ValueError(f"--out must end in .csv, got {arguments.file}.")
