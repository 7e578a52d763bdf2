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
        "--test-data", metavar="DATA", default=None, help="samples to predict; those that are also in DATA are counted"
    )
    parser.add_argument("--k", type=int, default=10, help="number of neighbours used to find hubs; default: 10")
    parser.add_argument(
        "--scale",
        choices=SCALES,
        default=None,
        help="how to scale numbers before the search; default: none, or minmax if there are columns of other kinds",
    )
    add_impute_option(parser)
    parser.add_argument(
        "--search",
        default=None,
        metavar="SEARCH",
        help=f"one of {', '.join(SEARCHES)}, or none, which skips the checks of neighbours; default: exact, or"
        " exact:metric=cosine with --scale tfidf",
    )
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")
