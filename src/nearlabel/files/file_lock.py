"""Locks, so that one process at a time changes a file or a folder; a second process gets an error immediately.

The lock is a system lock on a small file next to the path: the lock of a killed process ends with the process, and the
remaining file does not block other processes.
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

_LOCKED_BYTE = 2**30  # after all written bytes: on Windows a locked byte cannot be read


@contextmanager
def locked(path: str | os.PathLike[str], doing: str) -> Iterator[None]:
    """Lock a file or folder, which need not exist, for one process and one thread at a time.

    Parameters
    ----------
    path : path-like
        The file or folder to change. A link has the lock of its target.
    doing : str
        Description of the change, such as "appending rows", for the error in another process.

    Raises
    ------
    BlockingIOError
        If another process is changing the path; the message contains that process and what it is doing.
    OSError
        If the path cannot be locked, for instance in a folder that is not writable.
    """
    lock = lock_file_of(path)
    file = _acquired(lock, path)
    try:
        with suppress(OSError):  # a full disk has no space for the text, and the lock works without it
            file.truncate(0)
            os.write(file.fileno(), f"{os.getpid()} {doing}".encode())
        yield
    finally:
        _release(file, lock)


def lock_file_of(path: str | os.PathLike[str]) -> Path:
    """Return the file that is locked while a path is changed; it need not exist."""
    place = Path(os.path.realpath(path))
    # Long names are shortened for file systems; the checksum distinguishes names with the same beginning.
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
        file.close()  # the previous process removed the file after it was opened here: its lock would have no effect


def _opened(name: str, flags: int) -> int:
    """Open a file, but not a link: the target would be emptied, and in a shared folder it may be another user's."""
    return os.open(name, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def _is_at(file: IO[str], path: Path) -> bool:
    """Return whether an open file is the one that other processes find under this name."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    return False


if sys.platform == "win32":

    def _take(file: IO[str]) -> None:
        os.lseek(file.fileno(), _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError as error:  # the system's error if another process has the lock
            raise BlockingIOError(error.errno, error.strerror) from error

    def _release(file: IO[str], lock: Path) -> None:
        file.close()
        with suppress(OSError):  # an open file cannot be removed, if another process already uses it
            lock.unlink()

else:

    def _take(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _release(file: IO[str], lock: Path) -> None:
        lock.unlink(missing_ok=True)  # while it is locked: afterwards it may belong to another process
        file.close()
