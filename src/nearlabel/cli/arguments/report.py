"""Arguments of ``nearlabel report``."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearlabel.cli.arguments.data import add_data_options, add_test_data_option
from nearlabel.cli.arguments.parsing import columns


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "source",
        metavar="RUN|MODEL",
        type=Path,
        help="results folder (--out of evaluate or reproduce), or a folder of such folders; or file of a saved model",
    )
    add_data_options(parser, optional=True)
    parser.add_argument(
        "--out", dest="file", type=_page, required=True, metavar="FILE", help="HTML page to write, ending in .html"
    )
    add_test_data_option(parser, used="for a run with test data (evaluate --test-data)")
    parser.add_argument("--title", default=None, help="heading of the page; default: name of the run or model")
    parser.add_argument(
        "--training",
        default=None,
        metavar="DATA",
        help="for a model: its training data, to report problems in them and show pictures of the neighbours",
    )
    parser.add_argument(
        "--rows",
        type=_count,
        default=200,
        metavar="N",
        help="for a model: maximum number of rows in the explorer; default: 200",
    )
    parser.add_argument(
        "--trusted",
        type=columns,
        default=(),
        metavar="A,B",
        help="for a model: additional types to trust when loading",
    )


def _page(text: str) -> Path:
    """Parse the name of a page, before the work."""
    if Path(text).suffix.lower() not in (".html", ".htm"):
        raise argparse.ArgumentTypeError(f"must end in .html, got {text!r}")
    return Path(text)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)
