"""The arrays of a store during writing: plain .npy files to which rows are appended.

Bytes after those that the store counts are leftovers of a killed process.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.files.check_sums import BlockSums
from nearlabel.files.npy_header import Header
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import Matrix

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
