"""``nearlabel forget``: remove training samples from the model in a file."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearlabel.cli import _changes, _console, _standard_input
from nearlabel.persistence import forget_rows


def main(arguments: argparse.Namespace) -> None:
    """Read which rows go, remove them, print what has changed."""
    if arguments.column is not None and arguments.ids is None:
        raise ValueError("--column must go with --ids, got --rows.")
    ids = [] if arguments.ids is None else _ids_in(arguments.ids)
    with _console.progress_bar("model"):
        before = _changes.open_updatable(arguments).card
        card = forget_rows(
            arguments.model,
            arguments.rows or (),
            ids=ids,
            column=arguments.column,
            retune=arguments.retune,
            trusted=arguments.trusted,
            expected=before,
        )
    _changes.print_changes(card, before, arguments.model)


def _ids_in(file: str) -> list[str]:
    """Return the lines of a file that are not blank."""
    content = _standard_input.read_bytes() if file == _standard_input.NAME else Path(file).read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1  # of the content behind a byte order mark
        got = "standard input" if file == _standard_input.NAME else file
        raise ValueError(f"--ids must be text in UTF-8, got {got} with other bytes in line {line}.") from error
    ids = [line.strip() for line in text.splitlines() if line.strip()]
    if not ids:
        raise ValueError(f"--ids must be a file with an id on each line, got {file} without any.")
    return ids
