"""Checksums of files, block by block, and of JSON records.

CRC-32 detects accidental changes of bytes. It is not a signature: a forged file can have a matching checksum.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

BLOCK_BYTES = 2**22  # bytes per checksum
_DIGITS = 8
_HEX = re.compile(rf"(?:[0-9a-f]{{{_DIGITS}}})*")
_FIELD = "crc"


class BlockSums:
    """The checksums of blocks of bytes; more bytes can be added without reading the previous ones."""

    def __init__(self) -> None:
        self.n_bytes = 0
        self._sums: list[int] = []

    def add(self, values: NDArray[Any]) -> None:
        """Add the bytes of a contiguous array."""
        new = values.reshape(-1).view(np.uint8)
        while len(new):
            filled = self.n_bytes % BLOCK_BYTES
            if not filled:
                self._sums.append(0)
            part, new = new[: BLOCK_BYTES - filled], new[BLOCK_BYTES - filled :]
            self._sums[-1] = zlib.crc32(part.data, self._sums[-1])
            self.n_bytes += len(part)

    @classmethod
    def of(cls, file: BinaryIO, n_bytes: int) -> Self:
        """Return the checksums of the next bytes of a file, up to its end."""
        sums, left = cls(), n_bytes
        while left and (block := file.read(min(left, BLOCK_BYTES))):
            sums.add(np.frombuffer(block, dtype=np.uint8))
            left -= len(block)
        return sums

    @classmethod
    def parse(cls, text: object, n_bytes: int) -> Self:
        """Return the checksums of `n_bytes` bytes from their text; raise ValueError if the text is invalid."""
        n_blocks = -(-n_bytes // BLOCK_BYTES)
        if not isinstance(text, str) or len(text) != _DIGITS * n_blocks or not _HEX.fullmatch(text):
            raise ValueError(f"must be {n_blocks} checksums of {_DIGITS} hexadecimal digits")
        sums = cls()
        sums.n_bytes = n_bytes
        sums._sums = [int(text[start : start + _DIGITS], 16) for start in range(0, len(text), _DIGITS)]
        return sums

    def __str__(self) -> str:
        """Return the checksums as hexadecimal digits."""
        return "".join(f"{each:0{_DIGITS}x}" for each in self._sums)

    def differing(self, file: BinaryIO) -> Iterator[int]:
        """Yield the numbers, from 0, of the blocks that differ in a file, from its current position."""
        for number, known in enumerate(self._sums):
            start = number * BLOCK_BYTES
            if zlib.crc32(file.read(min(BLOCK_BYTES, self.n_bytes - start))) != known:
                yield number


def with_sum(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON record with its checksum as the last field."""
    return {**record, _FIELD: _sum_of(record)}


def without_sum(record: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return a record without its checksum, and whether it had one.

    Raises
    ------
    ValueError
        If the checksum does not match.
    """
    bare = {name: value for name, value in record.items() if name != _FIELD}
    if _FIELD in record and record[_FIELD] != _sum_of(bare):
        raise ValueError("its checksum does not match its content")
    return bare, _FIELD in record


def _sum_of(record: Mapping[str, Any]) -> str:
    """Return the checksum of a record's canonical JSON: sorted keys, no spaces, ASCII."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return f"{zlib.crc32(text.encode('ascii')):0{_DIGITS}x}"


# Findings of a check of files: damage, files without permission, unchecked parts, and leftovers of killed processes.

Severity: TypeAlias = Literal["damage", "unreadable", "unchecked", "leftover", "note"]


class Finding(NamedTuple):
    """A finding about a file.

    Parameters
    ----------
    path : pathlib.Path
        The file or folder.
    severity : {"damage", "unreadable", "unchecked", "leftover", "note"}
        Whether it is damaged, cannot be read for lack of permission, could not be checked for another reason, is a
        leftover of a killed process, or is sound and contains changes of a model.
    message : str
        Description of the problem, with the line or the bytes.
    """

    path: Path
    severity: Severity
    message: str


def finding_of(path: Path, error: ValueError | OSError) -> Finding:
    """Return the finding for an error of a reader; a file without permission may be sound."""
    if isinstance(error, PermissionError):
        return Finding(path, "unreadable", f"cannot be read: {error.strerror}")
    return Finding(path, "damage", str(error))
