"""Standard streams: closed, full or of another encoding."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, TextIO


@contextmanager
def usable_streams() -> Iterator[None]:
    """Let everything be printed, as far as there is room; errors of standard output name it.

    A closed stream is replaced by the null device, a character that the encoding lacks by "?". In the end, what a full
    disk or a closed pipe has not taken is dropped: Python would try again at exit, and exit with 120.
    """
    with ExitStack() as stack:
        out, err = map(_if_open, (sys.stdout, sys.stderr))
        if out is None or err is None:
            nowhere = stack.enter_context(Path(os.devnull).open("w", encoding="utf-8"))
            stack.enter_context(redirect_stdout(out or nowhere))
            stack.enter_context(redirect_stderr(err or nowhere))
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # instead of an error after the work is done
        stack.callback(_drop_what_is_left, sys.stderr)
        stack.callback(_drop_what_is_left, sys.stdout)
        stack.enter_context(redirect_stdout(_StandardOutput(sys.stdout)))
        yield


def _if_open(stream: TextIO | None) -> TextIO | None:
    """Return a stream; None if it was closed, perhaps by its descriptor alone, as the program that calls `main` may."""
    try:
        if stream is None or stream.closed:
            return None
        os.fstat(stream.fileno())
    except (io.UnsupportedOperation, AttributeError):  # it is no file
        return stream
    except (OSError, ValueError):
        return None
    return stream


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
