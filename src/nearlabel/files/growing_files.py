"""The files of a store: plain .npy files to which rows are appended, and `store.json`, which counts their bytes.

Bytes after those that the store counts are leftovers of a killed process.
"""

from __future__ import annotations

import json
import math
import os
import re
import reprlib
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

from nearlabel.files.atomic_file import hand_on, whole_file
from nearlabel.files.check_sums import BlockSums, with_sum, without_sum
from nearlabel.files.row_files import INDEX_TYPES
from nearlabel.utils.types import AnyArray, Matrix
from nearlabel.utils.validation import row_blocks

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


def damaged(problem: str) -> ValueError:
    """Return the error for a store in which the files, or their facts, are not those that were written."""
    return ValueError(f"{problem} The store is damaged.")


def map_array(path: Path, header: Header, n_bytes: int) -> AnyArray:
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
        if (facts := path.with_name(FACTS_FILE)).exists():
            hand_on(facts, path)  # as the other files of the store
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

    def append(self, values: AnyArray) -> None:
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
        try:
            if complete:
                self._file.seek(0)  # writes what is buffered: the first error of a small store on a full disk
                self._header.write(self._file, self.length)
                self.settle()
        finally:
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

    @classmethod
    def at_end(cls, folder: Path, facts: StoreFacts) -> Self:
        """Open the files of a store to append rows."""
        headers, arrays = facts.headers(folder), {}
        for role, name in facts.names.items():
            file, header = folder / name, headers[name]
            sums = facts.sums_of(file, header) if facts.sums else None
            arrays[role] = GrowingArray.at_end(file, header, facts.files[name], sums)
        return cls(arrays, facts.shape[1])

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

    def facts(self) -> StoreFacts:
        """Return the facts of a store that consists of these rows."""
        arrays, is_sparse = self._arrays.values(), "indptr" in self._arrays
        n_rows = self._arrays["indptr"].length - 1 if is_sparse else self._arrays["data"].length
        return StoreFacts(
            VERSION,
            "csr" if is_sparse else "dense",
            (n_rows, self._n_columns),
            self._arrays["data"].dtype,
            {array.path.name: array.n_bytes for array in arrays},
            {array.path.name: str(array.sums) for array in arrays},
        )

    def settle(self) -> None:
        """Flush the files to disk."""
        for array in self._arrays.values():
            array.settle()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        with ExitStack() as all_of_them:
            for array in self._arrays.values():
                all_of_them.callback(array.close, complete=error is None)


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
            raise damaged(f"{path} must begin with the header of an array of numbers, got another.") from None
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


# `store.json`: the facts of a store, checked field by field, since the file may be untrusted.
#
# It lists the files, their numbers of bytes, shape and type; since version 3 also the checksums of their blocks.

FACTS_FILE = "store.json"
_FORMAT = "nearlabel store"
# In version 1 file names and sizes were fixed; before version 3 there were no checksums.
VERSION = 3
_VERSIONS_READ = (1, 2, 3)
_MOST_BYTES = 2**26  # bytes of the file: the checksums of 32 TiB
_LARGEST = 2**63 - 1
_NUMBERS = [np.dtype(code) for code in "?bBhHiIlLqQefdg"]
_TYPES = {str(dtype): dtype for each in _NUMBERS for dtype in (each, each.newbyteorder())}


@dataclass(frozen=True)
class StoreFacts:
    """The facts of a store.

    Parameters
    ----------
    version : int
        Version of the format.
    kind : {"dense", "csr"}
        Storage of the rows.
    shape : tuple of two int
        Number of rows and of columns.
    dtype : numpy.dtype
        Type of the values.
    files : dict of str to int
        Names of the files of the arrays, with the number of bytes that belong to the store.
    sums : dict of str to str
        Checksums of the blocks after the headers, by file name; empty for earlier versions.
    removed : str, default=""
        Digest of the numbers of the rows that the last change removed; empty if it did something else.
    """

    version: int
    kind: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    files: dict[str, int]
    sums: dict[str, str]
    removed: str = ""

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the facts of a store.

        Raises
        ------
        FileNotFoundError
            If there is no such folder.
        ValueError
            If it is not a store, has another version, or its facts are inconsistent.
        """
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder} must be the folder of a store, got no such folder.")
        found = _json_in(folder / FACTS_FILE)
        if not isinstance(found, dict) or found.get("format") != _FORMAT:
            raise ValueError(
                f"{folder} must be a store, got a folder without its {FACTS_FILE}. Hint: write_store makes one."
            )
        version = found.get("version")
        if type(version) is not int or version not in _VERSIONS_READ:
            raise ValueError(f"{folder} must be a store of version {VERSION}, got version {_shown(version)}.")
        try:
            bare, has_sum = without_sum(found)
            if version >= VERSION and not has_sum:
                raise ValueError("it has no checksum")
            return cls._of(bare)
        except ValueError as error:
            raise damaged(f"{folder / FACTS_FILE} must be what nearlabel wrote, got a damaged one: {error}.") from error

    @classmethod
    def _of(cls, found: Mapping[str, Any]) -> Self:
        """Return the facts from a mapping; raise a ValueError that describes the first problem."""
        kind, dtype = found.get("kind"), found.get("dtype")
        if not isinstance(kind, str) or kind not in ARRAYS:
            raise ValueError(f"kind must be one of {', '.join(ARRAYS)}, got {_shown(kind)}")
        if not isinstance(dtype, str) or dtype not in _TYPES:
            raise ValueError(f"dtype must be a type of real numbers, got {_shown(dtype)}")
        shape, files = found.get("shape"), found.get("files")
        if not isinstance(shape, list) or len(shape) != 2 or not all(map(_is_size, shape)) or not shape[1]:
            raise ValueError(f"shape must be the numbers of rows and columns, got {_shown(shape)}")
        if not isinstance(files, dict) or not all(map(_is_size, files.values())) or _roles(files) != {*ARRAYS[kind]}:
            raise ValueError(f"files must have the bytes of {' and '.join(ARRAYS[kind])}, got {_shown(files)}")
        if len(files) != len(ARRAYS[kind]) or (
            kind == "dense" and math.prod(shape) * _TYPES[dtype].itemsize > _LARGEST
        ):
            raise ValueError(f"shape and files must be those of arrays, got {_shown(shape)} and {_shown(files)}")
        sums = found.get("sums") if found["version"] >= VERSION else {}
        if not isinstance(sums, dict) or not all(isinstance(text, str) for text in sums.values()):
            raise ValueError(f"sums must be texts, got {_shown(sums)}")
        if found["version"] >= VERSION and sums.keys() != files.keys():
            raise ValueError("sums must be those of the files, got those of others")
        removed = found.get("removed", "")
        if not isinstance(removed, str):
            raise ValueError(f"removed must be a text, got {_shown(removed)}")
        return cls(found["version"], kind, (shape[0], shape[1]), _TYPES[dtype], files, sums, removed)

    def write(self, folder: Path) -> None:
        """Replace the facts in a folder: this makes the new store valid."""
        facts = {"format": _FORMAT, **vars(self), "dtype": str(self.dtype)}
        with whole_file(folder / FACTS_FILE) as partial:
            partial.write_text(json.dumps(with_sum(facts), indent=1) + "\n", encoding="ascii")

    @property
    def names(self) -> dict[str, str]:
        """Names of the files by content, in the order of `ARRAYS`."""
        by_role = {name.partition(".")[0]: name for name in self.files}
        return {role: by_role[role] for role in ARRAYS[self.kind]}

    def headers(self, folder: Path) -> dict[str, Header]:
        """Read the headers of the files by name.

        Raises
        ------
        ValueError
            If a file is missing or shorter than written, or its header and size do not match the facts.
        """
        headers = {name: self._header(folder / name, role) for role, name in self.names.items()}
        lengths = {role: headers[name].length(self.files[name]) for role, name in self.names.items()}
        expected = {"data": self.shape[0]} if self.kind == "dense" else {"indptr": self.shape[0] + 1}
        if any(lengths[role] != length for role, length in expected.items()) or (
            self.kind == "csr" and lengths["data"] != lengths["indices"]
        ):
            got = ", ".join(f"{role} of {length}" for role, length in lengths.items())
            raise damaged(f"{folder} must have the arrays of {self.shape[0]} rows, got {got}.")
        return headers

    def mapped(self, folder: Path) -> list[AnyArray]:
        """Map the bytes of each file that belong to the store into memory."""
        headers = self.headers(folder)
        return [map_array(folder / name, headers[name], self.files[name]) for name in self.names.values()]

    def _header(self, file: Path, role: str) -> Header:
        n_bytes = self.files[file.name]
        size = file.stat().st_size if file.is_file() else None
        if size is None or size < n_bytes:
            got = "no such file" if size is None else f"{size} bytes"
            raise damaged(f"{file} must have the {n_bytes} bytes that were written, got {got}.")
        with file.open("rb") as opened:
            header = Header.of(file, opened)
        types = (self.dtype,) if role == "data" else INDEX_TYPES
        row_shape = (self.shape[1],) if self.kind == "dense" else ()
        if header.dtype not in types or header.row_shape != row_shape:
            wanted = f"{' or '.join(map(str, types))} in rows of shape {row_shape}"
            got = f"{header.dtype} in rows of shape {header.row_shape}"
            raise damaged(f"{file} must contain {wanted}, got {got}.")
        if header.offset + header.length(n_bytes) * header.bytes_per_row != n_bytes:
            raise damaged(f"{file} must end with a whole row, got {n_bytes} bytes.")
        return header

    def sums_of(self, file: Path, header: Header) -> BlockSums:
        """Return the checksums of the bytes after the header of a file.

        Raises
        ------
        ValueError
            If their number is not the number of blocks.
        """
        try:
            return BlockSums.parse(self.sums[file.name], self.files[file.name] - header.offset)
        except ValueError as error:
            raise damaged(f"{file.with_name(FACTS_FILE)}: the sums of {file.name} {error}.") from error


def _json_in(file: Path) -> Any:
    """Return the content of a JSON file; None if it is missing or damaged."""
    try:
        if not file.is_file() or file.stat().st_size > _MOST_BYTES:
            return None
        return json.loads(file.read_bytes())
    except PermissionError:
        raise
    except (OSError, ValueError, RecursionError):
        return None


def _is_size(value: object) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST


def _roles(files: Mapping[str, object]) -> set[str]:
    names = (ArrayName.of(name) for name in files)
    return {name.role if name else "" for name in names}


def _shown(value: object) -> str:
    return reprlib.repr(value)
