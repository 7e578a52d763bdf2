"""Arguments of ``nearlabel audit``."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearlabel.cli._console import FORMATS
from nearlabel.cli.arguments.data import (
    add_data_options,
    add_impute_option,
    add_kept_options,
    add_kind_options,
)
from nearlabel.cli.arguments.parsing import columns
from nearlabel.cli.arguments.registered import SCALES, SEARCHES

METHOD, N_NEIGHBORS = "mlknn", 20  # by which DATA are audited where no option says it
SECOND, MOST_ROWS = "mlmlm", 5_000  # what answers beside it, for so many rows: its cost grows faster than theirs
MODEL_ENDING = ".skops"
_PAGES = (".html", ".htm")
_OF_DATA = (
    "labels", "labels_prefix", "labels_column", "labels_separator", "unknown", "ignore", "decimal", "input_format",
    "categorical", "text", "date", "id", "show", "method", "k", "scale", "search",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_data_options(parser, metavar="DATA|MODEL", before="a model, whose training rows are audited; ")
    add_kept_options(parser)
    add_kind_options(parser)
    _add_method(parser)
    _add_output(parser)
    _add_corrections(parser)
    parser.set_defaults(check=_check)


def _add_method(parser: argparse.ArgumentParser) -> None:
    """Add by what DATA are audited; a model has it."""
    group = parser.add_argument_group("by what DATA are audited")
    group.add_argument(
        "--method",
        default=None,
        metavar="SPEC",
        help=f"a method by votes of neighbours, with options and thresholds as of nearlabel fit; default: {METHOD} and,"
        f" for at most {MOST_ROWS:,} rows, {SECOND} beside it",
    )
    group.add_argument("--k", type=int, default=None, help=f"number of neighbours; default: {N_NEIGHBORS}")
    group.add_argument(
        "--scale",
        choices=SCALES,
        default=None,
        help="how to scale numbers before the search; default: minmax, for counts of words tfidf",
    )
    add_impute_option(parser)
    group.add_argument(
        "--search",
        default=None,
        metavar="SEARCH",
        help=f"one of {', '.join(SEARCHES)}; default: exact, with --scale tfidf exact:metric=cosine",
    )
    parser.add_argument(
        "--trusted", type=columns, default=(), metavar="A,B", help="of a model: additional types to trust when loading"
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    """Add where the answer goes."""
    parser.add_argument(
        "--out",
        dest="file",
        type=Path,
        metavar="FILE",
        help="page with the findings, ending in .html; with --apply the corrected data; default: no page",
    )
    parser.add_argument(
        "--csv",
        type=Path,
        metavar="FILE",
        help="the cells as CSV, whose column correct is yours to fill; default: none",
    )
    parser.add_argument("--n", type=int, default=100, help="at most so many cells, the most suspicious; default: 100")
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")


def _add_corrections(parser: argparse.ArgumentParser) -> None:
    """Add the way back."""
    parser.add_argument(
        "--apply",
        type=Path,
        metavar="CORRECTIONS",
        help="instead of an audit, write DATA with corrected cells to --out: a table with the columns label, correct"
        " (0, 1, ? or empty) and row, or with --id that column",
    )
    parser.add_argument("--force", action="store_true", help="overwrite existing files of --csv and --apply --out")


def is_model(arguments: argparse.Namespace) -> bool:
    """Return whether the file of a model is audited."""
    return Path(arguments.data).suffix.lower() == MODEL_ENDING


def _check(arguments: argparse.Namespace) -> None:
    """Refuse options that do not go together."""
    if is_model(arguments):
        _check_beside_model(arguments)
    if arguments.apply is None:
        if arguments.file is not None and arguments.file.suffix.lower() not in _PAGES:
            raise ValueError(f"--out must end in .html, got {str(arguments.file)!r}. Hint: --csv, or --apply.")
        return
    if arguments.file is None:
        raise ValueError("--apply must go with --out, where the corrected data go, got none.")
    if arguments.csv is not None:
        raise ValueError(f"--csv must not go with --apply, which audits nothing, got {arguments.csv}.")


def _check_beside_model(arguments: argparse.Namespace) -> None:
    if arguments.apply is not None:
        hint = "Hint: correct the data, and fit anew."
        raise ValueError(f"--apply must go with DATA, got the model {arguments.data}. {hint}")
    for name in _OF_DATA:
        if getattr(arguments, name) is not None:
            option = name.replace("_", "-")
            raise ValueError(f"--{option} must go with DATA, got the model {arguments.data}, which knows it.")
