"""Write files atomically: a new file appears when it is complete."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nearlabel.files.leftovers import new_partial
from nearlabel.files.write_errors import write_errors_named


@contextmanager
def whole_file(path: Path, *, name: str = "path") -> Iterator[Path]:
    """Yield the path of a temporary file that is renamed to `path` at the end, or deleted after an error.

    Symbolic links are followed. A replaced file keeps its permissions. Temporary files of killed processes are removed.

    Raises
    ------
    OSError
        If the file cannot be written; `name` is the name of the path in the message.
    """
    place = _place_of(path, name)
    with _partial_of(place, path, name) as partial, write_errors_named(path, partial):
        yield partial
        _settle(partial)
        partial.replace(place)


def check_can_be_written(path: Path, *, name: str = "path") -> None:
    """Raise OSError unless a file can be written or replaced at a path, before any work is done."""
    with _partial_of(_place_of(path, name), path, name):
        pass


def _place_of(path: Path, name: str) -> Path:
    """Return the path to write, with links resolved."""
    place = Path(os.path.realpath(path))
    with suppress(FileNotFoundError, NotADirectoryError):
        place.lstat()  # a name that is too long raises an error now, even if the temporary file's name is not
    if place.is_symlink():
        raise OSError(f"{name} must be a file, got the link {path}, which leads to itself.")
    if place.is_dir():
        raise IsADirectoryError(f"{name} must be a file, got the folder {path}.")
    if not place.parent.is_dir():
        raise FileNotFoundError(f"{name} must be in a folder that exists, got {path}.")
    if place.exists() and not place.is_file():
        raise OSError(f"{name} must be a file, got {path}, which is a device or a pipe.")
    if place.exists() and not os.access(place, os.W_OK):
        raise PermissionError(f"{name} must be a file that can be written, got {path}, which is read-only.")
    return place


@contextmanager
def _partial_of(place: Path, path: Path, name: str) -> Iterator[Path]:
    """Yield an empty temporary file in the same folder, with the permissions of the replaced one."""

    def make(partial: Path) -> None:
        try:
            partial.touch(exist_ok=False)
        except OSError as error:
            got = f"{path}: {error.strerror}"
            raise type(error)(f"{name} must be a file that can be written, got {got}.") from error

    with new_partial(place, make) as partial:
        if place.exists():
            with write_errors_named(path, partial):
                shutil.copymode(place, partial)
        yield partial


def _settle(path: Path) -> None:
    """Flush the file to disk."""
    with path.open("r+b") as file:
        os.fsync(file.fileno())
