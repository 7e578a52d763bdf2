"""`store.json`: the facts of a store, checked field by field, since the file may be untrusted.

It lists the files, their numbers of bytes, shape and type; since version 3 also the checksums of their blocks.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from nearlabel.files.atomic_file import whole_file
from nearlabel.files.check_sums import BlockSums, with_sum, without_sum
from nearlabel.files.growing_files import ARRAYS, INDEX_TYPES, ArrayName, GrowingRows, Header

FILE = "store.json"
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
    """

    version: int
    kind: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    files: dict[str, int]
    sums: dict[str, str]

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
        found = _json_in(folder / FILE)
        if not isinstance(found, dict) or found.get("format") != _FORMAT:
            raise ValueError(f"{folder} must be a store, got a folder without its {FILE}. Hint: write_store makes one.")
        version = found.get("version")
        if type(version) is not int or version not in _VERSIONS_READ:
            raise ValueError(f"{folder} must be a store of version {VERSION}, got version {_shown(version)}.")
        try:
            bare, has_sum = without_sum(found)
            if version >= VERSION and not has_sum:
                raise ValueError("it has no checksum")
            return cls._of(bare)
        except ValueError as error:
            raise ValueError(
                f"{folder / FILE} must be what nearlabel wrote, got a damaged one: {error}. The store is damaged."
            ) from error

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
        return cls(found["version"], kind, (shape[0], shape[1]), _TYPES[dtype], files, sums)

    @classmethod
    def of(cls, rows: GrowingRows) -> Self:
        """Return the facts of written rows."""
        n_rows, n_columns = rows.shape
        return cls(VERSION, rows.kind, (n_rows, n_columns), rows.dtype, rows.files, rows.sums)

    def write(self, folder: Path) -> None:
        """Replace the facts in a folder: this makes the new store valid."""
        facts = {
            "format": _FORMAT,
            "version": self.version,
            "kind": self.kind,
            "shape": self.shape,
            "dtype": str(self.dtype),
            "files": self.files,
            "sums": self.sums,
        }
        with whole_file(folder / FILE) as partial:
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
            raise ValueError(f"{folder} must have the arrays of {self.shape[0]} rows, got {got}. The store is damaged.")
        return headers

    def _header(self, file: Path, role: str) -> Header:
        n_bytes = self.files[file.name]
        size = file.stat().st_size if file.is_file() else None
        if size is None or size < n_bytes:
            got = "no such file" if size is None else f"{size} bytes"
            raise ValueError(
                f"{file} must have the {n_bytes} bytes that were written, got {got}. The store is damaged."
            )
        with file.open("rb") as opened:
            header = Header.of(file, opened)
        types = (self.dtype,) if role == "data" else INDEX_TYPES
        row_shape = (self.shape[1],) if self.kind == "dense" else ()
        if header.dtype not in types or header.row_shape != row_shape:
            wanted = f"{' or '.join(map(str, types))} in rows of shape {row_shape}"
            got = f"{header.dtype} in rows of shape {header.row_shape}"
            raise ValueError(f"{file} must contain {wanted}, got {got}. The store is damaged.")
        if header.offset + header.length(n_bytes) * header.bytes_per_row != n_bytes:
            raise ValueError(f"{file} must end with a whole row, got {n_bytes} bytes. The store is damaged.")
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
            raise ValueError(
                f"{file.with_name(FILE)}: the sums of {file.name} {error}. The store is damaged."
            ) from error


def _json_in(file: Path) -> Any:
    """Return the content of a JSON file; None if it is missing or unreadable."""
    try:
        if not file.is_file() or file.stat().st_size > _MOST_BYTES:
            return None
        return json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def _is_size(value: object) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST


def _roles(files: Mapping[str, object]) -> set[str]:
    names = (ArrayName.of(name) for name in files)
    return {name.role if name else "" for name in names}


def _shown(value: object) -> str:
    return reprlib.repr(value)
