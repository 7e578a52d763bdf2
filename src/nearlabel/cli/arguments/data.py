"""DATA and the options that say what it holds."""

from __future__ import annotations

import argparse

from nearlabel.cli import _standard_input
from nearlabel.cli.arguments.parsing import columns
from nearlabel.cli.arguments.registered import IMPUTATIONS

EMBEDDED = "multidigits"
DUPLICATES = "duplicates"
TEST_DATA = "--test-data"
NOT_IMPUTED = "none"


def add_data_options(
    parser: argparse.ArgumentParser, *, optional: bool = False, metavar: str = "DATA", before: str = ""
) -> None:
    """Add DATA and the options that name the label columns of a table; `before` says what else it may be."""
    parser.add_argument(
        "data",
        metavar=metavar,
        nargs="?" if optional else None,
        help=f"{before}a name of the catalogue, {EMBEDDED!r} (embedded), or a file: ARFF, svmlight, CSV, Excel, JSON"
        " lines, Parquet or NPZ; - is standard input",
    )
    table = parser.add_argument_group(
        "labels of a table: CSV, Excel, JSON lines or Parquet (exactly one of the first three)"
    )
    table.add_argument("--labels", type=columns, metavar="A,B", help="0/1 columns, one for each label")
    table.add_argument("--labels-prefix", metavar="TEXT", help="0/1 columns whose name starts with this prefix")
    table.add_argument("--labels-column", metavar="NAME", help="column with the tags of each row")
    table.add_argument(
        "--labels-separator",
        metavar="TEXT",
        help="separator between tags; default: ; or, if no tag has one and most cells have | or a comma, that",
    )
    parser.add_argument(
        "--unknown",
        metavar="VALUE",
        help="what stands for a label that nobody knows (-1, n/k), beside empty cells in 0/1 columns and ? in ARFF; in"
        " --labels-column as a cell or a tag: the other tags are unknown",
    )
    table.add_argument("--ignore", type=columns, metavar="A,B", help="columns that are neither labels nor features")
    table.add_argument("--decimal", choices=(".", ","), help="what stands before decimals in CSV; default: .")
    parser.add_argument(
        "--input-format",
        choices=_standard_input.FORMATS,
        help="format of standard input (-); default: what its content shows",
    )


def add_kind_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the columns of a table that are no numbers."""
    group = parser.add_argument_group("columns of a table that hold no numbers")
    group.add_argument("--categorical", type=columns, metavar="A,B", help="categories: equal or not")
    group.add_argument("--text", type=columns, metavar="A,B", help="texts, compared by their words (tf-idf)")
    group.add_argument("--date", type=columns, metavar="A,B", help="dates such as 2026-01-31, or times")


def add_kept_options(parser: argparse.ArgumentParser) -> None:
    """Add --id and --show."""
    group = parser.add_argument_group("columns that the model keeps of its training rows, and which are no features")
    group.add_argument("--id", metavar="COLUMN", help="of ids, by which explain and report name neighbours")
    group.add_argument(
        "--show", type=columns, metavar="A,B", help="further ones that they show, such as titles and paths"
    )


def add_groups_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for rows that are held out together."""
    parser.add_argument(
        "--groups",
        metavar=f"COLUMN|{DUPLICATES}",
        default=None,
        help="hold out rows of one group together: rows with equal cells in this column, which is no feature, or equal"
        " rows; default: each row by itself",
    )


def add_impute_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for missing features."""
    parser.add_argument(
        "--impute",
        choices=(NOT_IMPUTED, *IMPUTATIONS),
        default=NOT_IMPUTED,
        help="what takes the place of missing features (fitted on training data); none: they are an error;"
        " default: none",
    )


def add_test_data_option(parser: argparse.ArgumentParser, *, used: str) -> None:
    """Add the option; `used` says what the test data are for."""
    parser.add_argument(
        TEST_DATA,
        metavar="DATA",
        default=None,
        help=f"another file or data set, with the features and labels of DATA, {used}; default: none",
    )
