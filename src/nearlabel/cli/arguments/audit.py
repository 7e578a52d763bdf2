"""Arguments of ``nearlabel audit``."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearlabel.cli._console import FORMATS
from nearlabel.cli.arguments.data import add_data_options, add_impute_option, add_kept_options, add_kind_options
from nearlabel.cli.arguments.parsing import columns
from nearlabel.cli.arguments.registered import SCALES, SEARCHES

METHOD, N_NEIGHBORS = "mlknn", 20  # the defaults for DATA
SECOND, MOST_ROWS = "mlmlm", 5_000  # averaged with METHOD up to this many rows: its cost grows faster
MODEL_ENDING = ".skops"
_PAGES = (".html", ".htm")
_OF_DATA = (
    "labels", "labels_prefix", "labels_column", "labels_separator", "unknown", "ignore", "decimal", "input_format",
    "categorical", "text", "date", "id", "show", "method", "k", "scale", "search",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_data_options(parser, metavar="DATA|MODEL", before="a model, to audit its training data; ")
    add_kept_options(parser)
    add_kind_options(parser)
    _add_method(parser)
    _add_output(parser)
    _add_corrections(parser)
    parser.set_defaults(check=_check)


def _add_method(parser: argparse.ArgumentParser) -> None:
    """Add the method that audits DATA; a model has its own."""
    group = parser.add_argument_group("method that audits DATA (a model uses its own)")
    group.add_argument(
        "--method",
        default=None,
        metavar="SPEC",
        help=f"a method by votes of neighbours, with options and thresholds as in nearlabel fit; default: {METHOD},"
        f" averaged with {SECOND} for at most {MOST_ROWS:,} rows",
    )
    group.add_argument("--k", type=int, default=None, help=f"number of neighbours; default: {N_NEIGHBORS}")
    group.add_argument(
        "--scale",
        choices=SCALES,
        default=None,
        help="how to scale numbers before the search; default: minmax, or tfidf for word counts",
    )
    add_impute_option(parser)
    group.add_argument(
        "--search",
        default=None,
        metavar="SEARCH",
        help=f"one of {', '.join(SEARCHES)}; default: exact, or exact:metric=cosine with --scale tfidf",
    )
    parser.add_argument(
        "--trusted", type=columns, default=(), metavar="A,B", help="for a model: additional types to trust when loading"
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    """Add the options of the output."""
    parser.add_argument(
        "--out",
        dest="file",
        type=Path,
        metavar="FILE",
        help="HTML page with the findings; with --apply, file for the corrected data; default: none",
    )
    parser.add_argument(
        "--csv",
        type=Path,
        metavar="FILE",
        help="CSV file of the findings; fill in its column correct for --apply; default: none",
    )
    parser.add_argument("--n", type=int, default=100, help="maximum number of findings; default: 100")
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")


def _add_corrections(parser: argparse.ArgumentParser) -> None:
    """Add the options that apply corrections."""
    parser.add_argument(
        "--apply",
        type=Path,
        metavar="CORRECTIONS",
        help="no audit: apply this table of corrections to DATA and write the result to --out. Its columns are label,"
        " correct (0, 1, ? or empty) and row, or the column of --id instead of row",
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
        raise ValueError("--apply must go with --out, the file for the corrected data, got none.")
    if arguments.csv is not None:
        raise ValueError(f"--csv must not go with --apply, which audits nothing, got {arguments.csv}.")


def _check_beside_model(arguments: argparse.Namespace) -> None:
    if arguments.apply is not None:
        hint = "Hint: correct the data, and fit again."
        raise ValueError(f"--apply must go with DATA, got the model {arguments.data}. {hint}")
    for name in _OF_DATA:
        if getattr(arguments, name) is not None:
            option = name.replace("_", "-")
            raise ValueError(f"--{option} must go with DATA, got the model {arguments.data}, which contains it.")
