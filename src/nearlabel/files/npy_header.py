"""The header of the .npy files of a store, parsed in its only valid spelling; numpy's reader evaluates it as Python."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np
from numpy.lib import format as npy

_MAGIC = b"\x93NUMPY\x01\x00"
_TEXT = re.compile(
    rb"\{'descr': '([<>|][biuf][0-9]{1,2})', 'fortran_order': False,"
    rb" 'shape': \([0-9]{1,20},(?: ([0-9]{1,19}))?\), \} *\n"
)


class Header(NamedTuple):
    """The header in the first bytes of a file, except for the number of rows, which is in `store.json`."""

    offset: int
    dtype: np.dtype[Any]
    row_shape: tuple[int, ...]

    @classmethod
    def of(cls, path: Path, file: BinaryIO) -> Self:
        """Read the header at the beginning of a file.

        Raises
        ------
        ValueError
            If it is not the header of an array of real numbers with one or two axes, as `write` writes it.
        """
        start = file.read(len(_MAGIC) + 2)
        text = file.read(int.from_bytes(start[-2:], "little")) if start.startswith(_MAGIC) else b""
        found = _TEXT.fullmatch(text)
        try:
            if found is None:
                raise TypeError
            dtype = np.dtype(found[1].decode())
        except TypeError:
            raise ValueError(
                f"{path} must begin with the header of an array of numbers, got another. The store is damaged."
            ) from None
        return cls(file.tell(), dtype, () if found[2] is None else (int(found[2]),))

    @property
    def bytes_per_row(self) -> int:
        """Number of bytes per row."""
        return self.dtype.itemsize * (self.row_shape[0] if self.row_shape else 1)

    def length(self, n_bytes: int) -> int:
        """Return the number of complete rows in a file with this number of bytes."""
        return (n_bytes - self.offset) // self.bytes_per_row

    def write(self, file: BinaryIO, length: int) -> None:
        """Write the header of an array with this number of rows."""
        # numpy pads the header for lengths of up to 20 digits, so a later header has the same size.
        shape = (length, *self.row_shape)
        npy.write_array_header_1_0(
            file, {"descr": npy.dtype_to_descr(self.dtype), "fortran_order": False, "shape": shape}
        )
