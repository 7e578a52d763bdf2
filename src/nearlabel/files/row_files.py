"""Rows in files that other processes open: the location of the rows is sent, not the rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.utils.types import Matrix


class _Stamp(NamedTuple):
    """What tells whether a file is still the one that it was."""

    n_bytes: int
    changed: int
    inode: int

    @classmethod
    def of(cls, path: str) -> Self:
        status = Path(path).stat()
        return cls(status.st_size, status.st_mtime_ns, status.st_ino)

    def allows(self, now: _Stamp) -> bool:
        """Tell whether the file is as it was; at most, rows were appended to it."""
        same = self[:2] == now[:2]  # copies on other machines have other inodes
        return same or (self.inode == now.inode and self.n_bytes < now.n_bytes)


class ArrayFile(NamedTuple):
    """Location of an array in a file, and a stamp to detect changes of the file."""

    path: str
    offset: int
    dtype: str
    shape: tuple[int, ...]
    stamp: _Stamp

    @classmethod
    def of(cls, array: NDArray[Any]) -> Self | None:
        """Return the location of a view of a read-only memory map; None if in memory or not contiguous."""
        mapped = _map_under(array)
        if mapped is None or mapped.mode != "r" or mapped.filename is None or not array.flags.c_contiguous:
            return None
        path = str(Path(mapped.filename).resolve())
        offset = mapped.offset + array.ctypes.data - mapped.ctypes.data
        return cls(path, offset, array.dtype.str, array.shape, _Stamp.of(path))

    def open(self) -> NDArray[Any]:
        """Map the array into memory."""
        try:
            stamp = _Stamp.of(self.path)
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"{self.path} must be there for every worker, got no such file."
                " Hint: a store from which rows were removed, or that was replaced, must be opened again; workers on"
                " other machines need a store, or a folder=, that they see under the same name."
            ) from error
        if not self.stamp.allows(stamp):
            raise ValueError(f"{self.path} must not change while rows are read from it, got another size or date.")
        if 0 in self.shape:
            return np.empty(self.shape, dtype=self.dtype)
        return np.memmap(self.path, dtype=self.dtype, mode="r", offset=self.offset, shape=self.shape)


def _map_under(array: Any) -> Any:
    """Return the memory map that an array is a view of, the one that maps the file itself."""
    found = None
    while isinstance(array, np.ndarray):
        found = array if isinstance(array, np.memmap) else found
        array = array.base
    return found


class _Piece(NamedTuple):
    """Some rows of one matrix: the file of its values, or those of its `data`, `indices` and `indptr`."""

    arrays: tuple[ArrayFile, ...]
    n_columns: int
    start: int
    stop: int

    def load(self) -> Matrix:
        """Open the rows; values stay on disk."""
        if len(self.arrays) == 1:
            return self.arrays[0].open()[self.start : self.stop]
        data, indices, indptr = (array.open() for array in self.arrays)
        ends = indptr[self.start : self.stop + 1]
        some = slice(ends[0], ends[-1])
        shape = (self.stop - self.start, self.n_columns)
        rows = sparse.csr_array((data[some], indices[some], ends - ends[0]), shape=shape)
        rows.sum_duplicates()
        return rows


@dataclass(frozen=True)
class RowFiles:
    """Concatenated rows of several matrices, each in its own files."""

    pieces: tuple[_Piece, ...]

    @classmethod
    def of(cls, X: Matrix) -> Self | None:
        """Return the location of the rows of X; None if in memory."""
        arrays = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
        files = [ArrayFile.of(array) for array in arrays]
        known = tuple(file for file in files if file is not None)
        return cls((_Piece(known, X.shape[1], 0, X.shape[0]),)) if len(known) == len(files) else None

    @classmethod
    def joined(cls, parts: Iterable[RowFiles]) -> Self:
        """Return the concatenated rows of all parts."""
        return cls(tuple(piece for part in parts for piece in part.pieces))

    def __len__(self) -> int:
        return sum(piece.stop - piece.start for piece in self.pieces)

    def __getitem__(self, rows: slice) -> RowFiles:
        """Return the rows of ``slice(start, stop)``."""
        chosen, first = [], 0
        for piece in self.pieces:
            n = piece.stop - piece.start
            start, stop = max(rows.start - first, 0), min(rows.stop - first, n)
            if start < stop:
                chosen.append(piece._replace(start=piece.start + start, stop=piece.start + stop))
            first += n
        return RowFiles(tuple(chosen))

    def load(self) -> Matrix:
        """Open the rows: a view if they are in one file, else a copy."""
        parts = [piece.load() for piece in self.pieces]
        if len(parts) == 1:
            return parts[0]
        return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)
