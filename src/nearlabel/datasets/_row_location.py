"""Where in a file a row stands, for messages."""

from __future__ import annotations

from pathlib import Path

from nearlabel.datasets._formats import format_of
from nearlabel.datasets._table import open_table


def locate_row(path: Path, row: int) -> str:
    """Return in words where a row of a file, counted from 0, stands: of CSV its line, else its number from 1."""
    if format_of(path) == "csv":
        table = open_table(path)
        for batch in table.batches(list(table.columns)[:1]):
            if row < batch.n_rows:
                return batch.locate(row)
            row -= batch.n_rows
    return f"row {row + 1}"
