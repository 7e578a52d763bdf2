"""Standard streams: closed, full or of another encoding; DATA from standard input; and errors as messages."""

from __future__ import annotations

import argparse
import csv
import errno
import importlib
import io
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from nearlabel.cli import _console
from nearlabel.utils.messages import ParameterError


@contextmanager
def usable_streams() -> Iterator[None]:
    """Let everything be printed, as far as there is room; errors of standard output name it.

    A closed stream is replaced by the null device, a character that the encoding lacks by "?". In the end, what a full
    disk or a closed pipe has not taken is dropped: Python would try again at exit, and exit with 120.
    """
    with ExitStack() as stack:
        if sys.stdout is None or sys.stderr is None:
            nowhere = stack.enter_context(Path(os.devnull).open("w", encoding="utf-8"))
            stack.enter_context(redirect_stdout(sys.stdout or nowhere))
            stack.enter_context(redirect_stderr(sys.stderr or nowhere))
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # instead of an error after the work is done
        stack.callback(_drop_what_is_left, sys.stderr)
        stack.callback(_drop_what_is_left, sys.stdout)
        stack.enter_context(redirect_stdout(_StandardOutput(sys.stdout)))
        yield


class _StandardOutput:
    """Standard output, with its name in errors of writing, in which the system names no file."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write text, as a text file does."""
        with _errors_named():
            return self._stream.write(text)

    def flush(self) -> None:
        """Write the contents of the buffer."""
        with _errors_named():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _errors_named() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from error


def _drop_what_is_left(stream: TextIO) -> None:
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


# DATA from standard input, kept in a file while a command runs: readers go through a file more than once.

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


# Errors of the library as messages of the command line, which name options instead of parameters.

# Parameters of the library and the options for them, of which a command has at most one. Parameters that also occur in
# the specification of a method or search, such as `metric` and `thresholds`, keep their names.
_SAME = (
    "categorical", "decimal", "ignore", "labels", "labels_column", "labels_prefix", "labels_separator", "metrics",
    "state", "text", "time_limit", "trusted", "unknown",
)  # fmt: skip
_OPTIONS = {name: (name,) for name in _SAME} | {
    "corrections": ("apply",), "cv": ("cv", "validate"), "dates": ("date",), "file": ("figure",), "id_column": ("id",),
    "method": ("method", "methods"), "methods": ("methods", "method"), "n_cells": ("n",), "n_neighbors": ("k",),
    "n_rows": ("rows",), "n_workers": ("jobs",), "scale": ("scale", "scales"),
}  # fmt: skip
_OF_FIT = {"categorical": "fit --categorical", "dates": "fit --date", "text": "fit --text"}  # of hints elsewhere
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def message_of(error: Exception, arguments: argparse.Namespace) -> str:
    """Return the message for an error of a command; that of a file that cannot be opened or written begins with it."""
    if isinstance(error, OSError) and error.strerror:
        file = error.filename
        if file is None and error.errno in _NO_SPACE:  # the system does not name what was written
            file = getattr(arguments, "file", None) or getattr(arguments, "out", None) or "standard output"
        if file is not None:
            return f"{file}: {error.strerror}."
    if isinstance(error, MemoryError) and str(error):
        return f"not enough memory: {error}."
    if isinstance(error, ParameterError):
        return error.message(partial(_show, arguments))
    subject, must, rest = str(error).partition(" must ")  # every message begins with the parameter that must change
    return _option(subject, arguments) + must + rest or "not enough memory."


def _show(arguments: argparse.Namespace, name: str, value: Any) -> str:
    """Return ``--ignore a,b`` for the parameter `ignore` and the value ``["a", "b"]``, as a shell takes it."""
    option = _option(name, arguments)
    if value is None:
        return option
    if option == name:
        option = _OF_FIT.get(name, name)
    if isinstance(value, str):
        return f"{option} {shlex.quote(value)}"
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(value)
    return f"{option} {shlex.quote(text.getvalue())}"


def _option(parameter: str, arguments: argparse.Namespace) -> str:
    """Return the option of the present command for a parameter, or the parameter if there is no option."""
    options = (option for option in _OPTIONS.get(parameter, ()) if option in arguments)
    return next((f"--{option.replace('_', '-')}" for option in options), parameter)
