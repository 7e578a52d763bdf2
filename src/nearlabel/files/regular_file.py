"""Open files that were named by someone else: a pipe would be waited for without end, a device may have no end."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading, if it is one that can be read several times.

    Raises
    ------
    ValueError
        If it is a pipe, a socket or a device. This includes ``/dev/stdin``, unless a file was redirected there.
    OSError
        If it is a folder, does not exist or cannot be read; the message names it.
    """
    check_regular(path)
    # A pipe that took the place of the file since then is not waited for either.
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 - Path.open takes no opener
    try:
        _check_mode(path, os.fstat(file.fileno()).st_mode)
    except ValueError:
        file.close()
        raise
    return file


def check_regular(path: Path) -> None:
    """Raise ValueError for a pipe, a socket or a device; a missing file, or a folder, is an error on opening it."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    _check_mode(path, mode)


def _check_mode(path: Path, mode: int) -> None:
    found = _KINDS.get(stat.S_IFMT(mode))
    if found is not None:
        hint = "Hint: write it to a file first; on the command line - reads standard input."
        raise ValueError(f"{path} must be a file that can be read several times, got {found}. {hint}")


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # Windows has none, and no such pipes
