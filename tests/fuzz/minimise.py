"""Make an input that breaks the contract smaller, as long as it breaks it in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable

from fuzz.mutation import Files


def minimised(files: Files, still_fails: Callable[[Files], bool], seconds: float) -> Files:
    """Return a smaller input: without whole files, then without halves, quarters ... of each file.

    This is delta debugging as Zeller and Hildebrandt describe it (IEEE Transactions on Software Engineering 28, 2002),
    without its complements, and it ends in any case after some seconds.
    """
    end = time.monotonic() + seconds
    for name in list(files):
        fewer = {other: content for other, content in files.items() if other != name}
        if fewer and time.monotonic() < end and still_fails(fewer):
            files = fewer
    for name in sorted(files, key=lambda one: -len(files[one])):
        files = _with_shorter(name, files, still_fails, end)
    return files


def _with_shorter(name: str, files: Files, still_fails: Callable[[Files], bool], end: float) -> Files:
    """Return the files with a shorter content of one of them."""
    content = files[name]
    size = len(content) // 2
    while size and time.monotonic() < end:
        at = 0
        while at < len(content) and time.monotonic() < end:
            candidate = content[:at] + content[at + size :]
            if still_fails(files | {name: candidate}):
                content = candidate
            else:
                at += size
        size = min(size // 2, len(content) // 2) if size > 1 else 0
    return files | {name: content}
