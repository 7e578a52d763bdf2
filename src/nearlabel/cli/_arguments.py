"""Parsers of arguments, for options that several commands have, and the options for labels of other programs."""

from __future__ import annotations

import argparse
import csv
import io
import math
import re
from collections.abc import Callable
from pathlib import Path

LOO = "loo"
# Parameters of the readers of tables that are options of the same name: how labels are written, and others.
OF_LABELS = (
    "labels", "labels_prefix", "labels_column", "labels_separator", "unknown", "negative", "positive", "label_names",
    "label_key", "label_threshold", "normalise",
)  # fmt: skip
OF_TABLES = (*OF_LABELS, "unlabelled", "join_by", "labels_file", "ignore", "decimal", "sheet", "categorical", "text")
_MOST_NUMBERS = 10_000
_OF_FILES = (".csv", ".htm", ".html", ".json", ".jsonl", ".md", ".pdf", ".png", ".tex", ".tsv", ".txt", ".xlsx")


def any_names(text: str) -> tuple[str, ...]:
    """Parse ``a,b``."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def some_names(text: str) -> tuple[str, ...]:
    """Parse ``a,b``, at least one."""
    found = any_names(text)
    if not found:
        raise argparse.ArgumentTypeError(f"must name at least one, got {text!r}")
    return found


def columns(text: str) -> tuple[str, ...]:
    """Parse ``a,b``; a name that contains a comma is in double quotes."""
    of_columns = next(csv.reader([text], skipinitialspace=True), [])
    if not of_columns or not all(of_columns):
        raise argparse.ArgumentTypeError(f"must name columns, separated by commas, got {text!r}")
    return tuple(of_columns)


def one_or_columns(text: str) -> str | tuple[str, ...]:
    """Parse ``a``, or ``a,b``."""
    of_columns = columns(text)
    return of_columns[0] if len(of_columns) == 1 else of_columns


def as_text(value: str | float | tuple[str, ...]) -> str:
    """Return the text of an argument, which a parser of columns reads again."""
    if not isinstance(value, tuple):
        return str(value)
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(value)
    return text.getvalue()


def column_is(text: str) -> tuple[str, ...]:
    """Parse ``column=value``; ``none`` is no column, and a name that contains ``=`` is in double quotes."""
    quoted = re.fullmatch(r'"((?:[^"]|"")+)"(=)(.*)', text, re.DOTALL)
    column, equal, value = text.partition("=") if quoted is None else quoted.groups()
    column = column.replace('""', '"') if quoted else column
    if text != "none" and not (column and equal):
        raise argparse.ArgumentTypeError(f"must be like answer=ignore, or none, got {text!r}")
    return (column, value) if equal else ()


def numbers(text: str) -> tuple[int, ...]:
    """Parse ``10``, ``1-30`` and ``1,5,10-12``."""
    chosen: list[int] = []
    for part in text.split(","):
        low, dash, high = part.partition("-")
        try:
            numbers_of_part = range(int(low), int(high if dash else low) + 1)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be like 10, 1-30 or 5,10,20, got {text!r}") from None
        if len(numbers_of_part) > _MOST_NUMBERS:
            raise argparse.ArgumentTypeError(f"must name at most {_MOST_NUMBERS:,} numbers, got {text!r}")
        if not numbers_of_part or numbers_of_part[0] < 1:
            raise argparse.ArgumentTypeError(f"must name numbers of at least 1, low to high, got {text!r}")
        chosen += numbers_of_part
    return tuple(dict.fromkeys(chosen))


def whole_number(least: int, expected: str, *words: str) -> Callable[[str], str | int]:
    """Return a parser of whole numbers from `least`, and of some words; errors name what is `expected`."""

    def parse(text: str) -> str | int:
        if text in words:
            return text
        if not (text.isascii() and text.isdecimal()) or int(text) < least:
            raise argparse.ArgumentTypeError(f"must be {expected}, got {text!r}")
        return int(text)

    return parse


def folds_or(*words: str) -> Callable[[str], str | int]:
    """Return a parser of a number of folds, and of some words, one of them ``loo``."""
    return whole_number(2, f"{LOO} or a number of folds, from 2", *words)


def share(text: str) -> float:
    """Parse a number between 0 and 1, both excluded."""
    return _positive(text, 1.0, "a number between 0 and 1")


def seconds(text: str) -> float:
    """Parse a number of seconds."""
    return _positive(text, math.inf, "a positive number of seconds")


def _positive(text: str, end: float, expected: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < end:
        raise argparse.ArgumentTypeError(f"must be {expected}, got {text!r}")
    return number


def folder(text: str) -> Path:
    """Parse the path of a folder, which need not exist; it has no ending of files that could be meant."""
    path = Path(text)
    if path.suffix.lower() in _OF_FILES and not path.is_dir():
        raise argparse.ArgumentTypeError(
            f"must be a folder, for the records, got {text!r}; --format and > {text} save what is printed"
        )
    return path


def file_ending_in(*endings: str) -> Callable[[str], Path]:
    """Return a parser of the name of a file that ends in one of these; an error names the first."""

    def parse(text: str) -> Path:
        if Path(text).suffix.lower() not in endings:
            raise argparse.ArgumentTypeError(f"must end in {endings[0]}, got {text!r}")
        return Path(text)

    return parse


def add_written_labels_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for labels as other programs write them in a table."""
    group = parser.add_argument_group("labels of a table as other programs write them")
    group.add_argument("--negative", metavar="VALUE", help="value of 0/1 columns for no, such as -1 or nein")
    group.add_argument("--positive", metavar="VALUE", help="value of 0/1 columns for yes, such as 1 or ja")
    group.add_argument("--label-key", metavar="KEY", help="key of the name of a tag where tags are objects")
    group.add_argument(
        "--label-threshold", type=float, metavar="SCORE", help="least score with which a tag with a score applies"
    )
    group.add_argument(
        "--label-names", type=columns, metavar="A,B", help="the labels of lists of 0 and 1, place by place"
    )
    group.add_argument(
        "--normalise",
        choices=("nfc", "none", "case"),
        help="which tags are the same: nfc: equal in Unicode's composed form; none: as written; case: also in upper and"
        " lower case; default: nfc",
    )
    group.add_argument(
        "--unlabelled",
        type=column_is,
        action="append",
        metavar="COLUMN=VALUE",
        help="rows whose labels are unknown, by a cell; may be repeated; none: no rows; default: by the columns"
        " answer, is_confirmed, cancelled, was_cancelled and annotation_id of annotation tools",
    )
    group.add_argument("--join-by", metavar="COLUMN", help="ids: rows of one id become one row with the tags of all")
    group.add_argument(
        "--labels-file", metavar="FILE", help="another table with the labels; --join-by names the ids in both"
    )
