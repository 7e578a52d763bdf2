"""``nearlabel forget``: remove training samples from the model in a file."""

from __future__ import annotations

import argparse
from pathlib import Path

import nearlabel
from nearlabel.cli import _console, _data, _model, _update

SUMMARY = "remove training samples from a model"
EXAMPLES = ("nearlabel forget songs.skops --rows 3,17",)
LOADS = ("persistence",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    _model.add_model_argument(parser)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "--ids",
        metavar="FILE",
        help="file with one id per line, exactly as saved (- is standard input); all rows with these ids are removed",
    )
    which.add_argument("--rows", type=_row_numbers, metavar="N,N", help="row numbers to remove, from 0")
    parser.add_argument(
        "--column",
        metavar="NAME",
        help="saved column that contains the ids; default: the one named id, or whose name ends in id",
    )
    _update.add_retune_option(parser)


def _row_numbers(text: str) -> tuple[int, ...]:
    numbers = text.split(",")
    if not all(number.isascii() and number.isdecimal() for number in numbers):
        raise argparse.ArgumentTypeError(f"must be numbers of rows, from 0, separated by commas, got {text!r}")
    return tuple(map(int, numbers))


def main(arguments: argparse.Namespace) -> None:
    """Read which rows go, remove them, print what has changed."""
    if arguments.column is not None and arguments.ids is None:
        raise ValueError("--column must go with --ids, got --rows.")
    ids = [] if arguments.ids is None else _ids_in(arguments.ids)
    with _console.progress_bar("model"):
        opened = _model.open_updatable(arguments)
        before = opened.card
        card = nearlabel.persistence.forget_rows(
            arguments.model,
            arguments.rows or (),
            ids=ids,
            column=arguments.column,
            retune=arguments.retune,
            trusted=arguments.trusted,
            expected=before,
        )
    n_gone = (before.data.rows or 0) - (card.data.rows or 0)
    _model.print_changes(card, before, arguments.model, f"{n_gone} forgotten")
    if "text" in _data.kinds_of_model(opened.model):
        _console.print_notes(["Words of the removed texts stay in the model until you fit it again."])


def _ids_in(file: str) -> list[str]:
    """Return the lines of a file that are not empty: each is an id, with the blanks at its ends."""
    from nearlabel.files.untrusted import read_regular  # loads numpy, which a wrong option must not wait for

    content = _console.read_bytes() if file == _console.STDIN else read_regular(Path(file))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1  # of the content behind a byte order mark
        got = "standard input" if file == _console.STDIN else file
        raise ValueError(f"--ids must be text in UTF-8, got {got} with other bytes in line {line}.") from error
    # An id may contain whatever else str.splitlines takes for the end of a line.
    ids = [line for line in text.replace("\r\n", "\n").split("\n") if line]
    if not ids:
        raise ValueError(f"--ids must be a file with an id on each line, got {file} without any.")
    return ids
