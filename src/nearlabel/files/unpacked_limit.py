"""Limits of the unpacked size of compressed files: gzip packs a gigabyte of zeros into a megabyte, bzip2 into 1 KB."""

from __future__ import annotations

from pathlib import Path

from nearlabel.utils.validation import check_integer

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
