"""The arrays of a store during writing: plain .npy files to which rows are appended.

Bytes after those that the store counts are leftovers of a killed process.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.files.check_sums import BlockSums
from nearlabel.utils.arrays import row_blocks
from nearlabel.utils.types import CSR, Matrix

ARRAYS = {"dense": ("data",), "csr": ("data", "indices", "indptr")}
_LARGEST_INDEX = int(np.iinfo(np.int32).max)
_NAME = re.compile(r"(data|indices|indptr)(?:\.([1-9][0-9]{0,17}))?\.npy")


class ArrayName(NamedTuple):
    """Name of the file of an array; a file that replaces another has the next generation number."""

    role: str
    generation: int

    @classmethod
    def of(cls, file: str) -> Self | None:
        """Parse a name; None if it is not the name of an array's file."""
        found = _NAME.fullmatch(file)
        return cls(found[1], int(found[2] or 0)) if found else None

    def __str__(self) -> str:
        """Return the name."""
        return f"{self.role}.{self.generation}.npy" if self.generation else f"{self.role}.npy"


def map_array(path: Path, header: Header, n_bytes: int) -> NDArray[Any]:
    """Map the first bytes of a file into memory."""
    shape = (header.length(n_bytes), *header.row_shape)
    return np.memmap(path, header.dtype, mode="r", offset=header.offset, shape=shape)


class GrowingArray:
    """A .npy file to which rows are appended; its header counts them when it is closed."""

    def __init__(self, path: Path, file: BinaryIO, header: Header, length: int, sums: BlockSums) -> None:
        self.path, self.length, self.sums = path, length, sums
        self._file, self._header = file, header

    @classmethod
    def new(cls, path: Path, dtype: np.dtype[Any], row_shape: tuple[int, ...] = ()) -> Self:
        """Create a file without rows."""
        file, header = path.open("wb"), Header(0, dtype, row_shape)
        header.write(file, 0)
        return cls(path, file, header._replace(offset=file.tell()), 0, BlockSums())

    @classmethod
    def at_end(cls, path: Path, header: Header, n_bytes: int, sums: BlockSums | None) -> Self:
        """Open a file to append after its first bytes, which are read if their checksums are unknown."""
        file = path.open("r+b")
        file.seek(header.offset)
        if sums is None:
            sums = BlockSums.of(file, n_bytes - header.offset)
        file.seek(n_bytes)
        return cls(path, file, header, header.length(n_bytes), sums)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        return self._header.dtype

    @property
    def n_bytes(self) -> int:
        """Bytes of the header and the rows."""
        return self._header.offset + self.length * self._header.bytes_per_row

    def append(self, values: NDArray[Any]) -> None:
        """Append values (n, *row_shape), in blocks if they must be copied."""
        for block in row_blocks(len(values), self._header.bytes_per_row):
            rows = np.ascontiguousarray(values[block], dtype=self.dtype)
            self._file.write(rows.reshape(-1).view(np.uint8).data)  # tofile does not report the system's error
            self.sums.add(rows)
        self.length += len(values)

    def settle(self) -> None:
        """Flush the file to disk."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self, *, complete: bool = True) -> None:
        """Close the file, after writing the number of rows to its header if they are `complete`."""
        if complete:
            self._file.seek(0)
            self._header.write(self._file, self.length)
            self.settle()
        self._file.close()

    def in_type(self, dtype: np.dtype[Any]) -> GrowingArray:
        """Return the array converted to another type, in a file of the next generation."""
        self.settle()
        name = ArrayName.of(self.path.name)
        assert name is not None, "an array is in a file of its name"
        other = GrowingArray.new(self.path.with_name(str(name._replace(generation=name.generation + 1))), dtype)
        other.append(map_array(self.path, self._header, self.n_bytes))
        self.close(complete=False)
        return other


class GrowingRows:
    """The files of dense rows, or of CSR ones.

    scipy needs `indices` and `indptr` of the same type: int32 as long as it can represent the number of stored values.
    After that both are rewritten.
    """

    def __init__(self, arrays: dict[str, GrowingArray], n_columns: int) -> None:
        self._arrays, self._n_columns = arrays, n_columns

    @classmethod
    def new(cls, folder: Path, like: Matrix, dtype: np.dtype[Any], generation: int) -> Self:
        """Create files with the storage and width of some rows."""
        n_columns = int(like.shape[1])
        index = np.dtype(np.int32 if n_columns <= _LARGEST_INDEX else np.int64)
        types = (dtype, index, index) if sparse.issparse(like) else (dtype,)
        row_shape = () if sparse.issparse(like) else (n_columns,)
        arrays = {
            role: GrowingArray.new(folder / str(ArrayName(role, generation)), of_role, row_shape)
            for role, of_role in zip(ARRAYS["csr"], types, strict=False)
        }
        if "indptr" in arrays:
            arrays["indptr"].append(np.zeros(1, dtype=index))
        return cls(arrays, n_columns)

    def append(self, block: Matrix) -> None:
        """Append rows in the same storage."""
        data = self._arrays["data"]
        if not sparse.issparse(block):
            data.append(block)
            return
        self._make_room(data.length + block.nnz)
        self._arrays["indptr"].append(block.indptr[1:].astype(np.int64) + data.length)
        self._arrays["indices"].append(block.indices[: block.nnz])
        data.append(block.data[: block.nnz])

    def _make_room(self, n_stored: int) -> None:
        """Make sure that the index type can represent a number of stored values."""
        if n_stored > _LARGEST_INDEX and self._arrays["indptr"].dtype == np.int32:
            for role in ("indices", "indptr"):
                self._arrays[role] = self._arrays[role].in_type(np.dtype(np.int64))

    @property
    def kind(self) -> str:
        """Storage of the rows: a key of `ARRAYS`."""
        return "csr" if "indptr" in self._arrays else "dense"

    @property
    def shape(self) -> list[int]:
        """Number of rows and of columns."""
        n_rows = self._arrays["indptr"].length - 1 if "indptr" in self._arrays else self._arrays["data"].length
        return [n_rows, self._n_columns]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        return self._arrays["data"].dtype

    @property
    def files(self) -> dict[str, int]:
        """Number of bytes of the files, by name."""
        return {array.path.name: array.n_bytes for array in self._arrays.values()}

    @property
    def sums(self) -> dict[str, str]:
        """Checksums of the blocks of the files, by name."""
        return {array.path.name: str(array.sums) for array in self._arrays.values()}

    def settle(self) -> None:
        """Flush the files to disk."""
        for array in self._arrays.values():
            array.settle()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        for array in self._arrays.values():
            array.close(complete=error is None)


# Checks of CSR arrays from files, before compiled code uses an index.
#
# scipy and our kernels do not check indices: an index out of range would crash the process or overwrite other memory.

INDEX_TYPES = (np.dtype(np.int32), np.dtype(np.int64))
_CACHED_BYTES = 2**20  # entries of a block that is read several times


def checked_csr(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int], name: str
) -> CSR:
    """Return canonical CSR rows based on these arrays, which are read once and not copied.

    Raises
    ------
    ValueError
        If the arrays do not match rows of this shape with ascending columns; the message begins with `name`.
    """
    check_structure(indices, indptr, shape, name)
    if len(data) != len(indices):
        raise ValueError(f"{name} must have a column for each of its {len(data)} values, got {len(indices)} columns.")
    rows = sparse.csr_array((data, indices, indptr), shape)
    if not rows.has_canonical_format:  # checked in compiled code, which is safe after the checks above
        raise ValueError(f"{name} must have ascending columns in each row, got others. The file is damaged.")
    return rows


def check_structure(indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int], name: str) -> None:
    """Raise ValueError unless the ends of rows ascend from 0 to the number of entries, and columns are in range."""
    n_rows, n_columns = shape
    if indices.dtype not in INDEX_TYPES or indices.dtype != indptr.dtype:
        got = f"{indices.dtype} and {indptr.dtype}"
        raise ValueError(f"{name} must have int32 or int64 numbers as indices, got {got}. The file is damaged.")
    if len(indptr) != n_rows + 1 or indptr[0] != 0 or indptr[-1] != len(indices) or not _ascend(indptr):
        raise ValueError(
            f"{name} must have the ends of {n_rows} rows, ascending from 0 to {len(indices)}, got others."
            " The file is damaged."
        )
    if _largest_unsigned(indices) >= min(n_columns, int(np.iinfo(indices.dtype).max) + 1):
        raise ValueError(f"{name} must have columns from 0 to {n_columns - 1}, got others. The file is damaged.")


def _ascend(numbers: NDArray[Any]) -> bool:
    blocks = row_blocks(len(numbers) - 1, numbers.itemsize, _CACHED_BYTES)
    pairs = ((numbers[block], numbers[block.start + 1 : block.stop + 1]) for block in blocks)
    return all((first <= second).all() for first, second in pairs)


def _largest_unsigned(indices: NDArray[Any]) -> int:
    """Return the largest index, with negative ones counted as larger than all others, so that one pass finds both."""
    unsigned = indices.view(f"u{indices.itemsize}")
    blocks = row_blocks(len(unsigned), unsigned.itemsize, _CACHED_BYTES)
    return max((int(unsigned[block].max()) for block in blocks), default=-1)


# The header of the .npy files of a store, parsed in its only valid spelling; numpy's reader evaluates it as Python.

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
