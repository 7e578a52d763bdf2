"""One process at a time changes a file or a folder; the second gets an error at once.

The lock is the system's, on a small file next to it: the lock of a killed process ends with the process, and the file
that it leaves locks no one out.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_LOCKED_BYTE = 2**30  # behind all that is written: Windows lets nobody read a byte that is locked


@contextmanager
def locked(path: str | os.PathLike[str], doing: str) -> Iterator[None]:
    """Lock a file or folder, which need not exist, for one process and one thread at a time.

    Parameters
    ----------
    path : path-like
        The file or folder to change. A link has the lock of its target.
    doing : str
        What is done to it, as "appending rows": another process reads it in its error.

    Raises
    ------
    BlockingIOError
        If the path is being changed already: the message says by which process, and what that is doing.
    OSError
        If no lock can be had there, as in a folder that cannot be written.
    """
    lock = lock_file_of(path)
    file = _acquired(lock, path)
    try:
        with suppress(OSError):  # a full disk has no room for it, and the lock holds without it
            file.truncate(0)
            os.write(file.fileno(), f"{os.getpid()} {doing}".encode())
        yield
    finally:
        _release(file, lock)


def lock_file_of(path: str | os.PathLike[str]) -> Path:
    """Return the file that is locked while a path is changed; it need not exist."""
    place = Path(os.path.realpath(path))
    # Long names are cut to what file systems take; the checksum tells apart those that begin alike.
    return place.with_name(f".{place.name[:50]}.{zlib.crc32(os.fsencode(place.name)):08x}.lock")


def _acquired(lock: Path, path: str | os.PathLike[str]) -> IO[str]:
    """Return the open and locked file of a lock."""
    while True:
        try:
            file = open(lock, "a+", encoding="utf-8", opener=_opened)  # noqa: SIM115 (the caller closes it)
        except OSError as error:
            raise type(error)(f"{path} must be in a folder that can be written, got {error.strerror}.") from error
        try:
            _take(file)
            if _is_at(file, lock):
                return file
        except BlockingIOError:
            file.seek(0)
            pid, _, doing = file.read().partition(" ")
            file.close()
            raise BlockingIOError(
                f"{path} must not be changed by two processes at once, and is being changed by another process"
                f" (pid {pid or 'unknown'}{doing and ': '}{doing}). Hint: try again when that has ended."
            ) from None
        except BaseException:
            file.close()
            raise
        file.close()  # the last holder removed the file after it was opened here: its lock would lock nobody out


def _opened(name: str, flags: int) -> int:
    """Open no link: what it leads to would lose its content, and in a folder of several users it may be anybody's."""
    return os.open(name, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def _is_at(file: IO[str], path: Path) -> bool:
    """Tell whether an open file is the one that others find under this name."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    return False


if sys.platform == "win32":

    def _take(file: IO[str]) -> None:
        os.lseek(file.fileno(), _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError as error:  # which is how the system says that another has it
            raise BlockingIOError(error.errno, error.strerror) from error

    def _release(file: IO[str], lock: Path) -> None:
        file.close()
        with suppress(OSError):  # an open file cannot be removed: then another process uses it already
            lock.unlink()

else:

    def _take(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _release(file: IO[str], lock: Path) -> None:
        lock.unlink(missing_ok=True)  # while it is locked: afterwards it may be another's
        file.close()
