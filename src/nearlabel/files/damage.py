"""One error for damaged files: any exception of a library becomes a ValueError that names the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
