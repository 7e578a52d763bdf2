"""Arguments of ``nearlabel predict``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

from nearlabel.cli._console import FORMATS, check_format
from nearlabel.cli.arguments.data import add_data_options
from nearlabel.cli.arguments.model import add_model_argument
from nearlabel.cli.arguments.parsing import share, some_names

_SUFFIXES = (".csv", ".parquet", ".jsonl")


class Scores(NamedTuple):
    """Which scores are written: of no label, the predicted labels, the best n, or all."""

    which: str
    n_labels: int = 0

    @classmethod
    def parse(cls, text: str) -> Scores:
        """Read ``none``, ``chosen``, ``top:5`` or ``all``."""
        which, colon, number = text.partition(":")
        if text in ("none", "chosen", "all"):
            return cls(which)
        if which == "top" and colon and number.isascii() and number.isdecimal() and int(number) > 0:
            return cls(which, int(number))
        raise argparse.ArgumentTypeError(f"must be none, chosen, top:N with N of at least 1, or all, got {text!r}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_model_argument(parser)
    add_data_options(parser)
    parser.add_argument(
        "--out",
        dest="file",
        metavar="FILE",
        type=Path,
        help=f"file of the predictions ({', '.join(_SUFFIXES)}), overwritten if it exists; default: CSV to stdout",
    )
    parser.add_argument("--id", metavar="COLUMN", help="column of DATA to write instead of row numbers")
    parser.add_argument(
        "--scores",
        type=Scores.parse,
        default=Scores("none"),
        metavar="{none,chosen,top:N,all}",
        help="scores of no label, of the predicted ones, of the N best, or of all; default: none",
    )
    parser.add_argument(
        "--abstain",
        type=share,
        default=None,
        metavar="LEVEL",
        help="predict nothing for samples unusually far from their neighbours: of samples like the training data at"
        " most this share, such as 0.01. For methods by neighbours; adds a column abstained",
    )
    _add_score_options(parser)
    parser.set_defaults(check=_check)


def _add_score_options(parser: argparse.ArgumentParser) -> None:
    """Add --score and the options that go with it."""
    parser.add_argument(
        "--score",
        action="store_true",
        help="compare with the labels of DATA and print metrics; reads DATA into memory. Without --out the"
        " predictions are not printed",
    )
    parser.add_argument(
        "--metrics",
        type=some_names,
        default=None,
        help="with --score: comma-separated, of the catalogue, with options after a colon (precision_at_k:k=3,"
        " roc_auc:average=micro), or package.module:function; default: all of the catalogue without options",
    )
    parser.add_argument(
        "--per-label",
        action="store_true",
        help="with --score: also print the metrics of each label; JSON always contains them",
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default=None,
        help="with --score; CSV has a line for each metric, or with --per-label for each label; default: table",
    )


def _check(arguments: argparse.Namespace) -> None:
    """Refuse a file of no known format, and options of --score without it."""
    if arguments.file is not None and arguments.file.suffix.lower() not in _SUFFIXES:
        raise ValueError(f"--out must end in one of {', '.join(_SUFFIXES)}, got {arguments.file}.")
    if arguments.score:
        check_format(arguments.format or "table")
        return
    for option in ("metrics", "per_label", "format"):
        if getattr(arguments, option):
            raise ValueError(f"--{option.replace('_', '-')} must go with --score.")
