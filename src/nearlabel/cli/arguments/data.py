"""DATA and the options that describe it."""

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
    """Add DATA and the options that name the label columns of a table; `before` describes the alternatives."""
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
        help="separator between tags; default: ; (or, if no cell contains ; and most contain | or a comma, that one)",
    )
    parser.add_argument(
        "--unknown",
        metavar="VALUE",
        help="value that marks an unknown label (-1, n/k), in addition to empty cells in 0/1 columns and ? in ARFF; as"
        " a cell or a tag in --labels-column it means that the other tags are unknown",
    )
    table.add_argument("--ignore", type=columns, metavar="A,B", help="columns that are neither labels nor features")
    table.add_argument("--decimal", choices=(".", ","), help="decimal separator in CSV; default: .")
    parser.add_argument(
        "--input-format",
        choices=_standard_input.FORMATS,
        help="format of standard input (-); default: detected from its content",
    )


def add_kind_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the columns of a table that are no numbers."""
    group = parser.add_argument_group("columns of a table that do not contain numbers")
    group.add_argument("--categorical", type=columns, metavar="A,B", help="categories, compared as equal or different")
    group.add_argument("--text", type=columns, metavar="A,B", help="texts, compared by their words (tf-idf)")
    group.add_argument("--date", type=columns, metavar="A,B", help="dates such as 2026-01-31, or times")


def add_kept_options(parser: argparse.ArgumentParser) -> None:
    """Add --id and --show."""
    group = parser.add_argument_group(
        "columns saved with the model for display (features only if an option below names them, as --text)"
    )
    group.add_argument("--id", metavar="COLUMN", help="column of ids, by which explain and report name neighbours")
    group.add_argument(
        "--show", type=columns, metavar="A,B", help="more columns that they show, such as titles and paths"
    )


def add_groups_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for rows that are held out together."""
    parser.add_argument(
        "--groups",
        metavar=f"COLUMN|{DUPLICATES}",
        default=None,
        help="hold out the rows of a group together: rows with the same value in this column (not used as a feature),"
        f" or with {DUPLICATES} identical rows; default: no groups",
    )


def add_impute_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for missing features."""
    parser.add_argument(
        "--impute",
        choices=(NOT_IMPUTED, *IMPUTATIONS),
        default=NOT_IMPUTED,
        help="how to replace missing features (fitted on training data); none: they are an error; default: none",
    )


def add_test_data_option(parser: argparse.ArgumentParser, *, used: str) -> None:
    """Add the option; `used` describes the purpose of the test data."""
    parser.add_argument(
        TEST_DATA,
        metavar="DATA",
        default=None,
        help=f"another file or data set, with the features and labels of DATA, {used}; default: none",
    )
