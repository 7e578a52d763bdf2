"""Untrusted files: opened only if regular, unpacked up to a limit, one error for damage, a process of their own."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

from nearlabel.utils.validation import check_integer

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


# One error for damaged files: any exception of a library becomes a ValueError that names the file.

_LONGEST_REASON = 200  # characters of a library's message, which may repeat the damaged bytes


@contextmanager
def damage_named(path: Path, expected: str) -> Iterator[None]:
    """Raise a ValueError that names `path` and the `expected` content, in place of a library's error on damaged bytes.

    Libraries may raise any exception: OverflowError, struct.error, RecursionError, an OSError without a file name.
    Errors that already name the file pass unchanged. Put only calls of libraries that read untrusted bytes inside,
    since an error of our own code would look like damage.

    >>> with damage_named(Path("a.npz"), "a whole .npz file"):
    ...     raise OverflowError("too large")
    Traceback (most recent call last):
        ...
    ValueError: a.npz must be a whole .npz file, got a damaged one (OverflowError: too large).
    """
    try:
        yield
    except MemoryError as error:
        raise ValueError(f"{path} must be {expected}, got one that needs more memory than is available.") from error
    except Exception as error:
        if isinstance(error, OSError | ValueError) and str(path) in str(error):
            raise
        reason = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": .")
        short = reason if len(reason) <= _LONGEST_REASON else f"{reason[:_LONGEST_REASON]} ..."
        raise ValueError(f"{path} must be {expected}, got a damaged one ({short}).") from error


# Limits of the unpacked size of compressed files: gzip packs a gigabyte of zeros into a megabyte, bzip2 into 1 KB.

ALWAYS_ALLOWED = 2**29  # bytes that a file of any size may unpack to
ALLOWED_RATIO = 100  # ratio of unpacked to packed bytes; gzip reaches 1000, real text stays far below 100


def unpacked_limit(n_bytes: int, max_unpacked_bytes: int | None = None) -> int:
    """Return the limit of the unpacked size of a file with `n_bytes` bytes: the caller's, or else a limit by its size.

    >>> unpacked_limit(1000), unpacked_limit(10**9), unpacked_limit(1000, 5000)
    (536870912, 100000000000, 5000)
    """
    if max_unpacked_bytes is not None:
        return check_integer("max_unpacked_bytes", max_unpacked_bytes, low=1)
    return max(ALWAYS_ALLOWED, ALLOWED_RATIO * n_bytes)


def unpacks_to_more(path: Path, limit: int) -> ValueError:
    """Return the error for a file that unpacks to more than its limit."""
    hint = "Hint: a larger max_unpacked_bytes, or unpack it first, if you trust it."
    return ValueError(f"{path} must unpack to at most {limit} bytes, got more. {hint}")


# Run one of our scripts in a separate process, so that a crash in compiled code does not end the main process.

FAILED = 3  # the exit code of a script that has written its reason to standard error
_PATIENCE = 10  # seconds for a script to end after its output has ended
_MOST_BYTES_OF_REASON = 1000  # bytes


@contextmanager
def output_of(script: Path, arguments: Sequence[str], *, path: Path, expected: str) -> Iterator[IO[bytes]]:
    """Run a Python file that reads `path`, and yield its output while it runs.

    The script is a file, so that the child process starts without the user's main module and without nearlabel. It
    finds the same libraries as this process. If it crashes or fails, a ValueError names `path` and the `expected`
    content. Read the output to its end, or close the generator, which ends the script.
    """
    if not sys.executable:
        raise OSError(f"isolate must be False for {path} in a Python without the path of its executable.")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(
            [sys.executable, "-P", str(script), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            env=environment,
        )
        try:
            yield child.stdout  # type: ignore[misc] # a pipe, as requested
            if _exit_code(child):
                raise _failure(child.returncode, said, path, expected)
        except Exception as error:  # the output ends where the script ends
            if str(path) not in str(error) and _exit_code(child):
                raise _failure(child.returncode, said, path, expected) from error
            raise
        finally:
            child.kill()
            child.communicate()


def _exit_code(child: subprocess.Popen[bytes]) -> int:
    """Return the exit code of a script after its output has ended; 0 if it is still running."""
    try:
        return child.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        return 0


def _failure(code: int, said: IO[bytes], path: Path, expected: str) -> ValueError:
    """Return the error for a script that failed, with its reason, or that crashed."""
    said.seek(0)
    reason = " ".join(said.read(_MOST_BYTES_OF_REASON).decode(errors="replace").split()).rstrip(".")
    if code != FAILED:
        return ValueError(f"{path} must be {expected}, got one at which its reader crashed (exit code {code}).")
    if str(path) in reason:
        return ValueError(f"{reason}.")
    return ValueError(f"{path} must be {expected}, got a damaged one ({reason}).")
