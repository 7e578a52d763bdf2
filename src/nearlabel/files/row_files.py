"""Rows in files shared with other processes: the location of the rows is sent instead of the rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from nearlabel.utils.types import CSR, AnyArray, IntArray, Matrix
from nearlabel.utils.validation import row_blocks


def _none() -> IntArray:
    return np.empty(0, dtype=np.intp)


class _Stamp(NamedTuple):
    """Size and date of a file, to detect changes."""

    n_bytes: int
    changed: int
    inode: int

    @classmethod
    def of(cls, path: str) -> Self:
        status = Path(path).stat()
        return cls(status.st_size, status.st_mtime_ns, status.st_ino)

    def allows(self, now: _Stamp) -> bool:
        """Return whether the file is unchanged, except for appended rows."""
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
    def of(cls, array: AnyArray) -> Self | None:
        """Return the location of a view of a read-only memory map; None if in memory or not contiguous."""
        mapped = map_under(array)
        if mapped is None or mapped.mode != "r" or mapped.filename is None or not array.flags.c_contiguous:
            return None
        path = str(Path(mapped.filename).resolve())
        offset = mapped.offset + array.ctypes.data - mapped.ctypes.data
        return cls(path, offset, array.dtype.str, array.shape, _Stamp.of(path))

    def mapped(self) -> AnyArray:
        """Map the array into memory."""
        try:
            stamp = _Stamp.of(self.path)
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"{self.path} must exist for every worker, got no such file."
                " Hint: a store from which rows were removed, or that was replaced, must be opened again; workers on"
                " other machines need a store, or a folder=, that they see under the same name."
            ) from error
        if not self.stamp.allows(stamp):
            raise ValueError(f"{self.path} must not change while rows are read from it, got another size or date.")
        if 0 in self.shape:
            return np.empty(self.shape, dtype=self.dtype)
        return np.memmap(self.path, dtype=self.dtype, mode="r", offset=self.offset, shape=self.shape)


def map_under(array: Any) -> Any:
    """Return the memory map that an array is a view of, the one that maps the file itself."""
    found = None
    while isinstance(array, np.ndarray):
        found = array if isinstance(array, np.memmap) else found
        array = array.base
    return found


@dataclass(frozen=True, eq=False)
class _Piece:
    """Some rows of one matrix, in the file of its values, or in those of its `data`, `indices` and `indptr`.

    They are the rows from `start` to `stop` in the file, except for the ascending numbers `gone`.
    """

    arrays: tuple[ArrayFile, ...]
    n_columns: int
    start: int
    stop: int
    gone: IntArray = field(default_factory=_none)

    def __len__(self) -> int:
        return self.stop - self.start - len(self.gone)

    def __getitem__(self, rows: slice) -> _Piece:
        """Return the rows of ``slice(start, stop)``, at least one."""
        if not len(self.gone):
            return replace(self, start=self.start + rows.start, stop=self.start + rows.stop)
        kept = self._kept()[rows]
        start, stop = int(kept[0]), int(kept[-1]) + 1
        return replace(self, start=start, stop=stop, gone=self.gone[(self.gone >= start) & (self.gone < stop)])

    def without(self, places: IntArray) -> _Piece:
        """Return the piece without some of its rows."""
        return replace(self, gone=np.union1d(self.gone, self._kept()[places]))

    def load(self) -> Matrix:
        """Open the rows; values stay on disk, unless a row was removed."""
        rows = self._opened()
        return rows[self._kept() - self.start] if len(self.gone) else rows

    def _kept(self) -> IntArray:
        return np.delete(np.arange(self.start, self.stop), self.gone - self.start)

    def _opened(self) -> Matrix:
        """Open all rows, including removed ones."""
        if len(self.arrays) == 1:
            return self.arrays[0].mapped()[self.start : self.stop]
        data, indices, indptr = (array.mapped() for array in self.arrays)
        ends = indptr[self.start : self.stop + 1]
        some = slice(ends[0], ends[-1])
        shape = (self.stop - self.start, self.n_columns)
        starts = ends - ends[0] if ends[0] else ends  # those of a whole file stay there
        check_structure(indices[some], starts, shape, self.arrays[1].path)  # the file may have changed since
        rows = sparse.csr_array((data[some], indices[some], starts), shape=shape)
        rows.sum_duplicates()
        return rows


@dataclass(frozen=True, eq=False)
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
        """Return the concatenated rows of all parts; rows that follow each other in a file are one piece."""
        pieces: list[_Piece] = []
        for piece in (piece for part in parts for piece in part.pieces):
            last = pieces[-1] if pieces else None
            if last is not None and last.arrays == piece.arrays and last.stop == piece.start:
                pieces[-1] = replace(last, stop=piece.stop, gone=np.append(last.gone, piece.gone))
            else:
                pieces.append(piece)
        return cls(tuple(pieces))

    def __len__(self) -> int:
        return sum(map(len, self.pieces))

    def __getitem__(self, rows: slice) -> RowFiles:
        """Return the rows of ``slice(start, stop)``."""
        chosen, first = [], 0
        for piece in self.pieces:
            start, stop = max(rows.start - first, 0), min(rows.stop - first, len(piece))
            if start < stop:
                chosen.append(piece[start:stop])
            first += len(piece)
        return RowFiles(tuple(chosen))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type that represents the numbers of all rows."""
        return np.result_type(*(piece.arrays[0].dtype for piece in self.pieces))

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are stored as CSR."""
        return len(self.pieces[0].arrays) > 1

    def split(self) -> list[RowFiles]:
        """Return the rows of each file."""
        return [RowFiles((piece,)) for piece in self.pieces]

    def without(self, numbers: IntArray) -> RowFiles:
        """Return the rows except for some with ascending numbers."""
        left, first = [], 0
        for piece in self.pieces:
            start, stop = np.searchsorted(numbers, [first, first + len(piece)])
            if stop - start < len(piece):
                left.append(piece.without(numbers[start:stop] - first) if start < stop else piece)
            first += len(piece)
        return RowFiles(tuple(left))

    def whole(self) -> tuple[RowFiles, IntArray]:
        """Return these rows together with the rows that were removed between them, and the numbers of the latter."""
        whole = RowFiles(tuple(replace(piece, gone=_none()) for piece in self.pieces))
        firsts = np.cumsum([0, *map(len, whole.pieces)])
        gone = [piece.gone - piece.start + first for piece, first in zip(self.pieces, firsts, strict=False)]
        return whole, np.concatenate(gone)

    def load(self) -> Matrix:
        """Open the rows: a view if they are in one file without removed rows in between, otherwise a copy."""
        parts = [piece.load() for piece in self.pieces]
        if len(parts) == 1:
            return parts[0]
        return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)


# Checks of CSR arrays from files, before compiled code uses an index.
#
# scipy and our kernels do not check indices: an index out of range would crash the process or overwrite other memory.

INDEX_TYPES = (np.dtype(np.int32), np.dtype(np.int64))
_CACHED_BYTES = 2**20  # entries of a block that is read several times


def checked_csr(data: AnyArray, indices: AnyArray, indptr: AnyArray, shape: tuple[int, int], name: str) -> CSR:
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


def check_structure(indices: AnyArray, indptr: AnyArray, shape: tuple[int, int], name: str) -> None:
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


def _ascend(numbers: AnyArray) -> bool:
    blocks = row_blocks(len(numbers) - 1, numbers.itemsize, _CACHED_BYTES)
    pairs = ((numbers[block], numbers[block.start + 1 : block.stop + 1]) for block in blocks)
    return all((first <= second).all() for first, second in pairs)


def _largest_unsigned(indices: AnyArray) -> int:
    """Return the largest index, with negative ones counted as larger than all others, so that one pass finds both."""
    unsigned = indices.view(f"u{indices.itemsize}")
    blocks = row_blocks(len(unsigned), unsigned.itemsize, _CACHED_BYTES)
    return max((int(unsigned[block].max()) for block in blocks), default=-1)
