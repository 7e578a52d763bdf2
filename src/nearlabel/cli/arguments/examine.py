"""Arguments of ``nearlabel examine``."""

from __future__ import annotations

import argparse

from nearlabel.cli._console import FORMATS
from nearlabel.cli.arguments.data import add_data_options, add_impute_option, add_kind_options
from nearlabel.cli.arguments.registered import SCALES, SEARCHES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_data_options(parser)
    add_kind_options(parser)
    parser.add_argument(
        "--test-data", metavar="DATA", default=None, help="rows to predict: those that are in DATA too are counted"
    )
    parser.add_argument(
        "--k", type=int, default=10, help="number of neighbours by which hubs are looked for; default: 10"
    )
    parser.add_argument(
        "--scale",
        choices=SCALES,
        default=None,
        help="how to scale numbers before the search; default: none, beside columns of other kinds minmax",
    )
    add_impute_option(parser)
    parser.add_argument(
        "--search",
        default=None,
        metavar="SEARCH",
        help=f"one of {', '.join(SEARCHES)}, or none, which leaves neighbours out; default: exact, with --scale tfidf"
        " exact:metric=cosine",
    )
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")
