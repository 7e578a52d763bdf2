"""Run one of our scripts in a separate process, so that a crash in compiled code does not end the main process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

FAILED = 3  # the exit code of a script that has written its reason to standard error
_PATIENCE = 10  # seconds for a script to end after its output has ended
_LONGEST_REASON = 1000  # bytes


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
    reason = " ".join(said.read(_LONGEST_REASON).decode(errors="replace").split()).rstrip(".")
    if code != FAILED:
        return ValueError(f"{path} must be {expected}, got one at which its reader crashed (exit code {code}).")
    if str(path) in reason:
        return ValueError(f"{reason}.")
    return ValueError(f"{path} must be {expected}, got a damaged one ({reason}).")
