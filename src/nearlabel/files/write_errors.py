"""Errors of writing name the user's file: the system's errors name a temporary file, or no file."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_UNNAMED = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)


@contextmanager
def write_errors_named(path: Path, partial: Path | None = None) -> Iterator[None]:
    """Name `path` in errors of the disk and of the temporary file or folder.

    >>> with write_errors_named(Path("a.txt")):
    ...     raise OSError(errno.ENOSPC, "no space")
    Traceback (most recent call last):
        ...
    OSError: [Errno 28] No space left on device: 'a.txt'
    """
    try:
        yield
    except OSError as error:
        if error.errno in _UNNAMED or (partial is not None and _is_in(partial, error.filename)):
            raise OSError(error.errno, os.strerror(error.errno or 0), str(path)) from error
        raise


def _is_in(folder: Path, name: object) -> bool:
    """Return whether a name is that of a path, or of a file in it."""
    return isinstance(name, str | os.PathLike) and (Path(name) == folder or folder in Path(name).parents)
