"""One error for damaged files: whatever a library raises on their bytes becomes a ValueError that names the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LONGEST_REASON = 200  # characters of a library's message: some repeat the bytes that they choke on


@contextmanager
def damage_named(path: Path, expected: str) -> Iterator[None]:
    """Raise ValueError that names `path` and the `expected` content, not the error of a library on damaged bytes.

    Libraries raise almost anything then: OverflowError, struct.error, RecursionError, an OSError without a name.
    Errors that name the file already pass as they are. Only calls of a library that reads untrusted bytes belong
    inside, since an error of our own would look like damage.

    >>> with damage_named(Path("a.npz"), "a whole .npz file"):
    ...     raise OverflowError("too large")
    Traceback (most recent call last):
        ...
    ValueError: a.npz must be a whole .npz file, got a damaged one (OverflowError: too large).
    """
    try:
        yield
    except MemoryError as error:
        raise ValueError(f"{path} must be {expected}, got one that asks for more memory than there is.") from error
    except Exception as error:
        if isinstance(error, OSError | ValueError) and str(path) in str(error):
            raise
        reason = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": .")
        short = reason if len(reason) <= _LONGEST_REASON else f"{reason[:_LONGEST_REASON]} ..."
        raise ValueError(f"{path} must be {expected}, got a damaged one ({short}).") from error
