"""Store a matrix in a folder: plain .npy files, memory-mapped when opened, and a JSON file of their sizes.

The files are written in a folder beside, whose name starts with a dot and ends in ``.partial``, and the folder is
renamed when they are complete: a path that exists holds a whole store. Here and not in `datasets`, because a search
that works on several machines hands its rows over in stores.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray
from scipy import sparse
from sklearn.utils import check_array

from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import Matrix, MatrixLike

_FACTS = "store.json"
_FORMAT = "nearlabel store"
_VERSION = 1
_ARRAYS = {"dense": ("data",), "csr": ("data", "indices", "indptr")}
_LARGEST_INDEX = int(np.iinfo(np.int32).max)


def write_store(
    path: str | os.PathLike[str], X: MatrixLike, *, dtype: DTypeLike | None = None, overwrite: bool = False
) -> Path:
    """Write a matrix to a folder, from which `open_store` maps it into memory.

    One store holds one matrix: features and label sets are two stores. The folder holds ``data.npy`` or, for sparse
    rows, ``data.npy``, ``indices.npy`` and ``indptr.npy`` (CSR, canonical), which other programs can read too, and
    ``store.json``. It appears under its name when it is complete. Where writing is cut off, nothing is there, and what
    was there before stays.

    Parameters
    ----------
    path : path-like
        The folder to make.
    X : array-like, data frame, sparse container, dask array, or iterable of blocks of rows
        Numbers, (n_rows, n_columns). A generator, or a list of matrices, is taken for blocks of rows, all dense or all
        sparse, of one width and one type: more than memory holds can be written. A dask array is computed block by
        block.
    dtype : numpy type, default=None
        Type of the numbers. None: as they are, float32 stays float32.
    overwrite : bool, default=False
        Whether a store that is there already is replaced. Nothing but a store ever is.

    Returns
    -------
    path : pathlib.Path
        The folder.

    Raises
    ------
    FileExistsError
        If the path exists, unless it is a store and `overwrite` is True.
    ValueError
        If X holds no numbers, is not two-dimensional, or its blocks do not fit each other.

    See Also
    --------
    open_store : Read it.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rows"
    >>> blocks = (np.full((2, 3), i, dtype=np.float32) for i in range(4))
    >>> _ = write_store(path, blocks)
    >>> open_store(path).shape
    (8, 3)
    """
    path = Path(path)
    _check_free(path, overwrite)
    partial = _beside(path, "partial")
    partial.mkdir(parents=True)
    try:
        _write(partial, _blocks_of(X), dtype)
        _move(partial, path)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return path


def open_store(path: str | os.PathLike[str]) -> Matrix:
    """Open a matrix that `write_store` wrote, without reading it: the system loads the pages that are used.

    Parameters
    ----------
    path : path-like
        The folder.

    Returns
    -------
    X : numpy.memmap or scipy.sparse.csr_array of shape (n_rows, n_columns)
        Read-only; the three arrays of a sparse one lie on memory maps. To all that takes rows it is an array like any
        other.

    Raises
    ------
    FileNotFoundError
        If there is no such folder.
    ValueError
        If the folder is not a store, of another version, or a file of it is missing or has another size than was
        written. (Bytes that were changed in place are not noticed.)

    See Also
    --------
    write_store : Write one, from more than memory holds if need be.
    """
    path = Path(path)
    facts = _facts_of(path)
    arrays = [_mapped(path, f"{name}.npy", facts["files"]) for name in _ARRAYS[facts["kind"]]]
    n_rows, n_columns = facts["shape"]
    matrix: Matrix = arrays[0] if facts["kind"] == "dense" else sparse.csr_array(tuple(arrays), (n_rows, n_columns))
    if matrix.shape != (n_rows, n_columns) or str(matrix.dtype) != facts["dtype"]:
        wanted = f"{facts['dtype']} of shape {(n_rows, n_columns)}"
        raise ValueError(f"{path} must contain {wanted}, got {matrix.dtype} of shape {matrix.shape}.")
    if facts["kind"] == "csr":
        matrix.has_canonical_format = True  # as it was written; to find out would read it all
    return matrix


def _check_free(path: Path, overwrite: bool) -> None:
    if not path.exists() and not path.is_symlink():
        return
    if not overwrite:
        raise FileExistsError(f"{path} must not exist yet. Hint: overwrite=True replaces a store.")
    if not (path / _FACTS).is_file():
        raise FileExistsError(
            f"{path} must be a store to be overwritten, got something else. Hint: remove it yourself."
        )


def _beside(path: Path, what: str) -> Path:
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}.{what}")


def _move(partial: Path, path: Path) -> None:
    """Rename the finished store; an older one is renamed before and removed afterwards."""
    if not path.exists():
        partial.rename(path)
        return
    older = _beside(path, "older")
    path.rename(older)
    try:
        partial.rename(path)
    except BaseException:
        older.rename(path)
        raise
    shutil.rmtree(older)


def _blocks_of(X: MatrixLike) -> Iterator[Matrix]:
    """Yield X, or the blocks that X is made of, as arrays of numbers or canonical CSR arrays."""
    if hasattr(X, "__dask_graph__"):
        blocks = X.rechunk({1: -1}).blocks
        parts: Iterable[Any] = (blocks[i].compute() for i in range(X.numblocks[0]))
    else:
        parts = X if _is_made_of_blocks(X) else [X]
    for part in parts:
        block = check_array(part, accept_sparse="csr", ensure_all_finite=False, ensure_min_samples=0)
        yield _canonical(block) if sparse.issparse(block) else block


def _is_made_of_blocks(X: Any) -> bool:
    if isinstance(X, list | tuple):
        return any(getattr(part, "ndim", 0) == 2 for part in X)
    return isinstance(X, Iterable) and not hasattr(X, "shape") and not hasattr(X, "__array__")


def _canonical(X: Any) -> Any:
    rows = sparse.csr_array(X)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _write(folder: Path, blocks: Iterator[Matrix], dtype: DTypeLike | None) -> None:
    """Write the arrays of the blocks, then what they are."""
    first = next(blocks, None)
    if first is None:
        raise ValueError("X must have at least one block of rows, got none.")
    wanted = np.dtype(first.dtype if dtype is None else dtype)
    if wanted.kind not in "buif":
        raise ValueError(f"dtype must be a type of real numbers, got {wanted}.")
    rows = (_SparseFiles if sparse.issparse(first) else _DenseFiles)(folder, first.shape[1], wanted)
    with rows:
        rows.append(first)
        for number, block in enumerate(blocks, start=1):
            _check_like(first, block, number, cast=dtype is not None)
            rows.append(block)
    kind = "csr" if sparse.issparse(first) else "dense"
    files = {f"{name}.npy": (folder / f"{name}.npy").stat().st_size for name in _ARRAYS[kind]}
    shape = [rows.n_rows, int(first.shape[1])]
    facts = {"format": _FORMAT, "version": _VERSION, "kind": kind, "shape": shape, "dtype": str(wanted), "files": files}
    with (folder / _FACTS).open("w") as file:
        file.write(json.dumps(facts, indent=1) + "\n")
        _settle(file)


def _check_like(first: Matrix, block: Matrix, number: int, *, cast: bool) -> None:
    """Raise ValueError unless a block matches the first one; the type may differ if all are cast."""
    expected, got = _describe(first, cast), _describe(block, cast)
    if expected != got:
        hint = "" if cast else " Hint: dtype=... makes one type of several."
        raise ValueError(f"X must have blocks alike, {expected} as block 0, got {got} as block {number}.{hint}")


def _describe(block: Matrix, cast: bool) -> str:
    storage = "sparse" if sparse.issparse(block) else "dense"
    return f"{storage} rows of {block.shape[1]} columns" + ("" if cast else f" of {block.dtype}")


class _GrowingArray:
    """A .npy file to which rows are appended; its header is written again when their number is known."""

    def __init__(self, path: Path, dtype: np.dtype[Any], row_shape: tuple[int, ...] = ()) -> None:
        self.dtype, self.length = dtype, 0
        self._row_shape = row_shape
        self._file = path.open("wb")
        self._write_header()

    def append(self, values: NDArray[Any]) -> None:
        """Add values (n, *row_shape), block by block as far as they must be copied."""
        bytes_per_row = self.dtype.itemsize * int(np.prod(self._row_shape))
        for block in row_blocks(len(values), bytes_per_row):
            np.ascontiguousarray(values[block], dtype=self.dtype).tofile(self._file)
        self.length += len(values)

    def close(self) -> None:
        """Write the header with the length, and flush the file to disk."""
        self._file.seek(0)
        self._write_header()
        _settle(self._file)
        self._file.close()

    def _write_header(self) -> None:
        # numpy pads the header for lengths of up to 20 digits, so the later one takes the same place.
        shape = (self.length, *self._row_shape)
        npy.write_array_header_1_0(
            self._file, {"descr": npy.dtype_to_descr(self.dtype), "fortran_order": False, "shape": shape}
        )


class _DenseFiles:
    """The file of dense rows."""

    def __init__(self, folder: Path, n_columns: int, dtype: np.dtype[Any]) -> None:
        self._data = _GrowingArray(folder / "data.npy", dtype, (n_columns,))

    def append(self, block: NDArray[Any]) -> None:
        self._data.append(block)

    @property
    def n_rows(self) -> int:
        return self._data.length

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._data.close()


class _SparseFiles:
    """The three files of a CSR array.

    scipy wants `indices` and `indptr` of one type, and which one is known at the end: int32 if that holds the number of
    stored values. So one of the two files may be written again.
    """

    def __init__(self, folder: Path, n_columns: int, dtype: np.dtype[Any]) -> None:
        self._folder, self._n_columns = folder, n_columns
        index = np.dtype(np.int32 if n_columns <= _LARGEST_INDEX else np.int64)
        self._data = _GrowingArray(folder / "data.npy", dtype)
        self._indices = _GrowingArray(folder / "indices.npy", index)
        self._indptr = _GrowingArray(folder / "indptr.npy", np.dtype(np.int64))
        self._indptr.append(np.zeros(1, dtype=np.int64))

    def append(self, block: Any) -> None:
        self._indptr.append(block.indptr[1:].astype(np.int64) + self._data.length)
        self._indices.append(block.indices[: block.nnz])
        self._data.append(block.data[: block.nnz])

    @property
    def n_rows(self) -> int:
        return self._indptr.length - 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for array in (self._data, self._indices, self._indptr):
            array.close()
        largest = max(self._data.length, self._n_columns)
        index = np.dtype(np.int32 if largest <= _LARGEST_INDEX else np.int64)
        for name, array in (("indices", self._indices), ("indptr", self._indptr)):
            if array.dtype != index:
                _rewrite(self._folder / f"{name}.npy", index)


def _rewrite(path: Path, dtype: np.dtype[Any]) -> None:
    """Convert the numbers of a file to another type, block by block."""
    before = path.rename(path.with_suffix(".before"))
    array = _GrowingArray(path, dtype)
    array.append(_map_file(before))
    array.close()
    before.unlink()


def _settle(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())


def _facts_of(path: Path) -> dict[str, Any]:
    if not path.is_dir():
        raise FileNotFoundError(f"{path} must be the folder of a store, got no such folder.")
    try:
        facts = json.loads((path / _FACTS).read_text())
    except (OSError, ValueError):
        facts = None
    if not isinstance(facts, dict) or facts.get("format") != _FORMAT:
        raise ValueError(f"{path} must be a store, got a folder without its {_FACTS}. Hint: write_store makes one.")
    if facts.get("version") != _VERSION:
        raise ValueError(f"{path} must be a store of version {_VERSION}, got version {facts.get('version')!r}.")
    return facts


def _mapped(folder: Path, name: str, sizes: dict[str, int]) -> NDArray[Any]:
    file = folder / name
    size = file.stat().st_size if file.is_file() else None
    if size != sizes[name]:
        got = "no such file" if size is None else f"{size} bytes"
        raise ValueError(
            f"{file} must have the {sizes[name]} bytes that were written, got {got}. The store is damaged."
        )
    return _map_file(file)


def _map_file(path: Path) -> NDArray[Any]:
    array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return array
