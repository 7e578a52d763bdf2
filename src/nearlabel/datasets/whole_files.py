"""Read a data file of any format from the first byte to the last, whatever its columns mean."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from nearlabel.datasets._arff import peek_storage
from nearlabel.datasets._arff_cells import CellReader
from nearlabel.datasets._arff_header import read_header
from nearlabel.datasets._formats import TABLES, format_of, names_data
from nearlabel.datasets._lines import Lines
from nearlabel.datasets._npz import read_npz
from nearlabel.datasets._svmlight import svmlight_rows
from nearlabel.datasets._table import open_table

__all__ = ["check_has_format", "names_data", "read_whole"]


def check_has_format(path: Path) -> None:
    """Raise ValueError if no format has the suffix of a file."""
    format_of(path)


def read_whole(path: Path) -> None:
    """Read a file to its end, block by block where its format allows.

    Raises
    ------
    ValueError
        If no format has its suffix, or it is malformed: the message names the file and, of text, the line.
    OSError
        If it cannot be read.
    ImportError
        If a library for its format is not installed.
    """
    format_ = format_of(path)
    if format_ in TABLES:
        _read_table(path)
    else:
        _READERS[format_](path)


def _read_table(path: Path) -> None:
    table = open_table(path)
    for _ in table.batches(list(table.columns)):
        pass


def _read_arff(path: Path) -> None:
    with Lines(path) as lines:
        header = read_header(lines)
        is_sparse, blocks = peek_storage(path, lines.blocks())
        reader = CellReader(header)
        for first_line, text in blocks:
            _ = reader.sparse(first_line, text) if is_sparse else reader.dense(first_line, text)


def _read_svmlight(path: Path) -> None:
    with Lines(path) as lines:
        for _ in svmlight_rows(lines):
            pass


def _read_npz(path: Path) -> None:
    read_npz(path)


_READERS: dict[str, Callable[[Path], None]] = {"arff": _read_arff, "npz": _read_npz, "svmlight": _read_svmlight}
