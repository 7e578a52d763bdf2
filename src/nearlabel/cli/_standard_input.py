"""DATA from standard input, kept in a file while a command runs: readers go through a file more than once."""

from __future__ import annotations

import argparse
import importlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nearlabel.cli import _console

NAME = "-"
FORMATS = ("arff", "csv", "jsonl", "npz", "parquet", "svm", "tsv", "xlsx")
_FOLDERS = "nearlabel-stdin-"


@contextmanager
def spooled(arguments: argparse.Namespace) -> Iterator[None]:
    """Replace ``-`` as DATA by a file while a command runs."""
    wanted = getattr(arguments, "input_format", None)
    if getattr(arguments, "data", None) == NAME:
        with tempfile.TemporaryDirectory(prefix=_FOLDERS) as folder:
            arguments.data = str(_written(Path(folder), wanted))
            yield
    elif wanted is None:
        yield
    else:
        raise ValueError(f"--input-format must go with {NAME} as DATA, got {arguments.data}. Hint: rename the file.")


def _written(folder: Path, wanted: str | None) -> Path:
    """Return a file with the content of standard input; its suffix is that of the requested or detected format."""
    file = folder / "stdin"
    try:
        with file.open("wb") as out:
            if sys.stdin is not None:  # it may be closed
                with _console.progress_bar("reading standard input"):
                    shutil.copyfileobj(sys.stdin.buffer, out)
    except OSError as error:  # a full disk: the system's error names no file
        raise OSError(error.errno, error.strerror, f"temporary folder {folder.parent}") from error
    if not file.stat().st_size:
        raise ValueError("standard input must contain data, got nothing.")
    return file.rename(file.with_suffix(_suffix_of_content(file) if wanted is None else f".{wanted}"))


def read_bytes() -> bytes:
    """Return all that standard input gives, whose encoding is not the terminal's to choose; nothing if it is closed."""
    return b"" if sys.stdin is None else sys.stdin.buffer.read()


def _suffix_of_content(file: Path) -> str:
    """Import what looks into files only here: this module is read for help pages, too."""
    suffix: str = importlib.import_module("nearlabel.datasets.tables").suffix_of_content(file)
    return suffix


def without_folder(message: str, arguments: argparse.Namespace) -> str:
    """Return a message that names standard input instead of the file that replaced it."""
    file = Path(getattr(arguments, "data", None) or "")
    return message.replace(str(file), "standard input") if file.parent.name.startswith(_FOLDERS) else message
