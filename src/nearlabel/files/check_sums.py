"""Check sums: of bytes block by block, which grow with a file, and of a record of JSON.

CRC-32 notices what disks, cables and careless hands do to bytes. It is no signature: who forges a file forges the sum.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

BLOCK_BYTES = 2**22  # that one sum is of
_DIGITS = 8
_HEX = re.compile(rf"(?:[0-9a-f]{{{_DIGITS}}})*")
_FIELD = "crc"


class BlockSums:
    """The sums of the blocks of some bytes, to which more can be added without reading the others again."""

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
        """Return the sums of the next bytes of a file, as far as it has them."""
        sums, left = cls(), n_bytes
        while left and (block := file.read(min(left, BLOCK_BYTES))):
            sums.add(np.frombuffer(block, dtype=np.uint8))
            left -= len(block)
        return sums

    @classmethod
    def parse(cls, text: object, n_bytes: int) -> Self:
        """Return the sums of `n_bytes` bytes from the result of `str`; raise ValueError if they cannot be these."""
        n_blocks = -(-n_bytes // BLOCK_BYTES)
        if not isinstance(text, str) or len(text) != _DIGITS * n_blocks or not _HEX.fullmatch(text):
            raise ValueError(f"must be {n_blocks} check sums of {_DIGITS} hexadecimal digits")
        sums = cls()
        sums.n_bytes = n_bytes
        sums._sums = [int(text[start : start + _DIGITS], 16) for start in range(0, len(text), _DIGITS)]
        return sums

    def __str__(self) -> str:
        """Return the sums as digits."""
        return "".join(f"{each:0{_DIGITS}x}" for each in self._sums)

    def differing(self, file: BinaryIO) -> Iterator[int]:
        """Yield the numbers of the blocks, from 0, whose bytes are others from where a file is now."""
        for number, known in enumerate(self._sums):
            start = number * BLOCK_BYTES
            if zlib.crc32(file.read(min(BLOCK_BYTES, self.n_bytes - start))) != known:
                yield number


def with_sum(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record of JSON with its check sum as the last field."""
    return {**record, _FIELD: _sum_of(record)}


def without_sum(record: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return a record without its check sum, and whether it had one.

    Raises
    ------
    ValueError
        If the sum is another one.
    """
    bare = {name: value for name, value in record.items() if name != _FIELD}
    if _FIELD in record and record[_FIELD] != _sum_of(bare):
        raise ValueError("its check sum is that of another content")
    return bare, _FIELD in record


def _sum_of(record: Mapping[str, Any]) -> str:
    """Return the sum of a record's canonical JSON: sorted keys, no spaces, ASCII."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return f"{zlib.crc32(text.encode('ascii')):0{_DIGITS}x}"
