"""Check that the rows of an Excel sheet ascend, before openpyxl reads them: it drops those that do not, in silence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO

_CHUNK = 2**20
_LONGEST_TAG = 2**20  # a longer one is cut: else a file without an end of one would take quadratic time
_ROW = re.compile(rb"""<(?:\w++:)?+row(?=[\s/>])(?:[^<>]*?\sr\s*+=\s*+["'](\d{1,18})["'])?+""")


def check_ascending(name: str, sheet: IO[bytes]) -> None:
    """Raise ValueError for the first row of a sheet, read as XML, whose number is not above that of the row before.

    A row without a number is the next one.
    """
    last = 0
    for part in _parts(sheet):
        for written in _ROW.findall(part):
            number = int(written) if written else last + 1
            if number <= last:
                raise ValueError(f"rows of {name} must ascend, got {number} behind {last}")
            last = number


def _parts(sheet: IO[bytes]) -> Iterator[bytes]:
    """Yield the text in parts that end before a tag, so that no tag is cut."""
    rest = b""
    while chunk := sheet.read(_CHUNK):
        part = rest + chunk
        end = part.rfind(b"<") if len(rest) < _LONGEST_TAG else len(part)
        yield part[: max(end, 0)]
        rest = part[max(end, 0) :]
    yield rest
