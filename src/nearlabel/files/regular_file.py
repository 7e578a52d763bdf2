"""Open files whose names come from users: reading a pipe could wait forever, and a device may have no end."""

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
    """Open a file for reading if it can be read several times.

    Raises
    ------
    ValueError
        If it is a pipe, a socket or a device. This includes ``/dev/stdin``, unless a file was redirected there.
    OSError
        If it is a folder, does not exist or cannot be read; the message names it.
    """
    check_regular(path)
    # Do not wait for a pipe that has replaced the file in the meantime either.
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 - Path.open takes no opener
    try:
        _check_mode(path, os.fstat(file.fileno()).st_mode)
    except ValueError:
        file.close()
        raise
    return file


def check_regular(path: Path) -> None:
    """Raise ValueError for a pipe, a socket or a device; missing files and folders raise errors when opened."""
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
