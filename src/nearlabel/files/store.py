"""Stores: a matrix in a folder of plain .npy files, memory-mapped when opened, and a JSON file with their sizes.

A new store is written to a temporary folder next to it, whose name starts with a dot and ends in ``.partial``, and the
folder is renamed when it is complete: an existing path always contains a complete store.

A store changes atomically when its JSON file is replaced. That file lists the files of the store, the number of bytes
of each, and the checksums of their blocks. Rows are appended after these bytes; rewritten arrays get new file names. So
a killed process leaves the old or the new store, and processes that have mapped the old store keep it. One process at a
time can change a store (`atomic_file.locked`).

This module is not in `datasets`, because a search on several machines passes its rows in stores.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from nearlabel.files.atomic_file import (
    check_own_file,
    locked,
    new_partial,
    reason_of,
    settle_folder,
    write_errors_named,
)
from nearlabel.files.check_sums import BLOCK_BYTES
from nearlabel.files.growing_files import FACTS_FILE, ArrayName, GrowingRows, StoreFacts, damaged
from nearlabel.files.row_files import checked_csr
from nearlabel.files.store_rows import are_equal, blocks_of, check_like, like_store
from nearlabel.utils.types import BoolArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import bytes_per_row, check_row_numbers, row_blocks

_PARTIAL_FACTS = re.compile(rf"\.{re.escape(FACTS_FILE)}\..*\.partial")


def write_store(
    path: str | os.PathLike[str], X: MatrixLike, *, dtype: DTypeLike | None = None, overwrite: bool = False
) -> Path:
    """Write a matrix to a folder, from which `open_store` can map it into memory.

    A store contains one matrix: features and label sets are two stores. The folder contains ``store.json`` and
    ``data.npy`` or, for sparse rows, ``data.npy``, ``indices.npy`` and ``indptr.npy`` (CSR, canonical), which other
    programs can read too. It is written atomically: if writing is interrupted, no new store appears, and an existing
    store stays unchanged, even with `overwrite`.

    Parameters
    ----------
    path : path-like
        The folder to create.
    X : array-like, data frame, sparse container, dask array, or iterable of blocks of rows
        Numbers, (n_rows, n_columns). A generator, or a list of matrices, is interpreted as blocks of rows, all dense or
        all sparse, with the same width and type, so that the data may be larger than memory. A dask array is computed
        block by block.
    dtype : numpy type, default=None
        Type of the numbers. None: unchanged, float32 stays float32.
    overwrite : bool, default=False
        Whether to replace an existing store. Only stores are ever replaced.

    Returns
    -------
    path : pathlib.Path
        The folder.

    Raises
    ------
    FileExistsError
        If the path exists, unless it is a store and `overwrite` is True.
    ValueError
        If X does not contain numbers, is not two-dimensional, or its blocks do not match.
    BlockingIOError
        If another process is changing the store to be replaced.

    See Also
    --------
    open_store : Open a store.
    append_to_store, remove_from_store : Change a store.

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
    if path.exists():
        with _changing(path, "writing a store"):
            _write(path, blocks_of(X), dtype, _next_generation(path))
        return path
    with new_partial(path, lambda partial: _make_folder(partial, path)) as partial, write_errors_named(path, partial):
        _write(partial, blocks_of(X), dtype)
        _tidy(partial)
        partial.rename(path)
        settle_folder(path.parent)
    return path


def _make_folder(partial: Path, path: Path) -> None:
    try:
        partial.mkdir(parents=True)
    except OSError as error:
        got = f"{path}: {reason_of(error)}"
        raise type(error)(f"path must be a folder that can be created, got {got}") from error


def append_to_store(path: str | os.PathLike[str], X: MatrixLike, *, n_rows: int | None = None) -> Path:
    """Append rows to a store; only these rows are written, and after an error or a kill none of them is added.

    Processes that have the store open still see the previous rows; `open_store` returns all rows.

    Parameters
    ----------
    path : path-like
        The folder of the store.
    X : array-like, data frame, sparse container, dask array, or iterable of blocks of rows
        As in `write_store`, with the store's number of columns. Rows are stored in the store's form, dense or sparse,
        and type, if that type represents all numbers exactly.
    n_rows : int, default=None
        Number of rows before the change, so that the call can be repeated: if the store has these rows after its first
        `n_rows` rows already, nothing changes. None: rows are appended whatever the store has, so a repeated call
        appends them again.

    Returns
    -------
    path : pathlib.Path
        The folder.

    Raises
    ------
    FileNotFoundError
        If there is no such folder.
    ValueError
        If the folder is not a store, or X has another number of columns or numbers that the store's type cannot
        represent, such as 0.1 in float32 or NaN in uint8; or if it has another number of rows than `n_rows`, and other
        rows after these.
    BlockingIOError
        If another process is changing the store.

    See Also
    --------
    remove_from_store : Remove rows.

    Notes
    -----
    Features and label sets are two stores, and so two changes: if the second one fails or is killed, the first store
    has additional rows. With `n_rows`, repeat both calls; or `remove_from_store` can remove the rows.

    Examples
    --------
    >>> import tempfile
    >>> path = write_store(Path(tempfile.mkdtemp()) / "rows", [[1.0, 2.0]])
    >>> _ = append_to_store(path, [[3.0, 4.0], [5.0, 6.0]])
    >>> _ = remove_from_store(path, [0])
    >>> open_store(path).tolist()
    [[3.0, 4.0], [5.0, 6.0]]
    """
    path = Path(path)
    StoreFacts.read(path)
    with _changing(path, "appending rows"):
        facts = StoreFacts.read(path)
        blocks = (like_store(path, facts, block) for block in blocks_of(X))
        if n_rows is not None and facts.shape[0] != n_rows:
            _check_there(path, n_rows, blocks)
            return path
        with GrowingRows.at_end(path, facts) as rows:
            for block in blocks:
                rows.append(block)
            rows.settle()
            rows.facts().write(path)
    return path


def remove_from_store(path: str | os.PathLike[str], rows: ArrayLike, *, n_rows: int | None = None) -> Path:
    """Remove rows from a store by rewriting the other rows; after an error or a kill, no row is removed.

    Afterwards their bytes are in no file of the store. Processes that have the store open still see the previous rows
    until they close it; the bytes may also remain in the free space of the disk.

    Parameters
    ----------
    path : path-like
        The folder of the store.
    rows : array-like of int of shape (n_removed,)
        Row numbers, without duplicates. The other rows keep their order and are renumbered from 0. Without rows, only
        leftover files of killed processes are removed.
    n_rows : int, default=None
        Number of rows before the change, so that the call can be repeated: if the last change of the store was this
        one, nothing changes. None: a repeated call removes the rows that have these numbers now.

    Returns
    -------
    path : pathlib.Path
        The folder.

    Raises
    ------
    FileNotFoundError
        If there is no such folder.
    ValueError
        If the folder is not a store, a row number is invalid or occurs twice, or the store has another number of rows
        than `n_rows`, and not because these rows were removed last.
    TypeError
        If the numbers are not integers.
    BlockingIOError
        If another process is changing the store.

    Warns
    -----
    RuntimeWarning
        If the system keeps the old files while a process has them open, as on Windows.

    See Also
    --------
    append_to_store : Append rows.

    Notes
    -----
    A process that is killed at the end, after the new store has become valid, may leave the old files in the folder.
    They no longer belong to the store; the next change removes them. So if a process was killed, repeat the call
    without rows.

    Examples
    --------
    >>> import tempfile
    >>> path = write_store(Path(tempfile.mkdtemp()) / "rows", [[1.0], [2.0], [3.0]])
    >>> open_store(remove_from_store(path, [1])).tolist()
    [[1.0], [3.0]]
    """
    path = Path(path)
    StoreFacts.read(path)
    with _changing(path, "removing rows"):
        facts = StoreFacts.read(path)
        there = facts.shape[0]
        gone = check_row_numbers("rows", rows, there if n_rows is None else n_rows)
        if n_rows in (None, there):
            if len(gone):
                removal = _removal(gone, there)
                _write(path, _rows_but(path, gone), None, _next_generation(path), removed=removal)
        elif facts.removed != _removal(gone, n_rows):
            raise _unlike(path, n_rows, there)
    return path


def _removal(gone: IntArray, n_rows: int) -> str:
    """Return the digest of a removal of some of n_rows rows."""
    return blake2b(np.append(n_rows, np.sort(gone)).astype("<i8").tobytes(), digest_size=16).hexdigest()


def open_store(path: str | os.PathLike[str], *, check: bool = False) -> Matrix:
    """Open a matrix that `write_store` wrote; the system loads only the pages that are used.

    Everything that compiled code relies on is checked: types, sizes, and every index of sparse rows, which takes one
    pass over the indices. So a damaged or forged store raises an error, or gives an array of other numbers, but does
    not crash the process.

    Parameters
    ----------
    path : path-like
        The folder.
    check : bool, default=False
        Whether to read everything and compare it with the checksums, to detect changed numbers.

    Returns
    -------
    X : numpy.memmap or scipy.sparse.csr_array of shape (n_rows, n_columns)
        Read-only; for sparse rows all three arrays are memory maps. It can be used like any other array. The files must
        not be truncated while it is in use: the system kills processes that read past the end.

    Raises
    ------
    FileNotFoundError
        If there is no such folder.
    ValueError
        If the folder is not a store or has another version, a file is missing or shorter than written, or its content
        cannot be the rows of a store; with `check`, also if a block of a file has changed.

    Warns
    -----
    UserWarning
        With `check`, if an earlier nearlabel, which wrote no checksums, wrote the store.

    See Also
    --------
    write_store : Write a store, also from data that are larger than memory.
    nearlabel.persistence.verify : Check files of every kind.

    Examples
    --------
    >>> import tempfile
    >>> path = write_store(Path(tempfile.mkdtemp()) / "rows", [[1.0, 2.0]])
    >>> open_store(path, check=True).tolist()
    [[1.0, 2.0]]
    """
    path = Path(path)
    facts = StoreFacts.read(path)
    while True:
        try:
            X = _opened(path, facts)
            if check:
                _check_sums(path, facts)
            return X
        except (ValueError, FileNotFoundError):
            before, facts = facts, StoreFacts.read(path)
            if facts == before:
                raise  # otherwise the store has changed in the meantime


def damaged_blocks(path: Path, facts: StoreFacts) -> Iterator[str]:
    """Yield descriptions of the changed blocks of files; reads everything."""
    headers = facts.headers(path)
    for name in facts.sums:
        header = headers[name]
        with (path / name).open("rb") as file:
            file.seek(header.offset)
            for block in facts.sums_of(path / name, header).differing(file):
                start = header.offset + block * BLOCK_BYTES
                stop = min(start + BLOCK_BYTES, facts.files[name])
                yield f"{path / name} must be what was written, got other bytes in {start} to {stop - 1}"


def _check_sums(path: Path, facts: StoreFacts) -> None:
    if not facts.sums:
        warnings.warn(
            f"{path} has no checksums, since an earlier nearlabel wrote it (version {facts.version}): only its"
            " structure was checked. Hint: append_to_store(path, X[:0]) adds them.",
            stacklevel=3,
        )
    for damage in damaged_blocks(path, facts):
        raise damaged(f"{damage}.")


def _opened(path: Path, facts: StoreFacts) -> Matrix:
    """Map the files of a store, up to the bytes that belong to it, and check all that compiled code relies on."""
    data, *indices = facts.mapped(path)
    if data.dtype == np.bool_:
        _check_truths(data, path)
    return checked_csr(data, indices[0], indices[1], facts.shape, str(path)) if indices else data


def _check_truths(data: BoolArray, path: Path) -> None:
    """Raise ValueError unless the bytes of booleans are 0 and 1: numpy counts other values wrongly."""
    for block in row_blocks(len(data), data.strides[0]):
        if data[block].view(np.uint8).max() > 1:
            raise damaged(f"{path} must contain truth values, got bytes other than 0 and 1.")


def _check_free(path: Path, overwrite: bool) -> None:
    with suppress(FileNotFoundError):
        path.lstat()  # a name that is too long raises an error now, even if the temporary folder's name is not
    if not path.exists() and not path.is_symlink():
        return
    if not overwrite:
        raise FileExistsError(f"{path} must not exist yet. Hint: overwrite=True replaces a store.")
    if not (path / FACTS_FILE).is_file():
        raise FileExistsError(
            f"{path} must be a store to be overwritten, got something else. Hint: remove it yourself."
        )


def _write(
    folder: Path, blocks: Iterator[Matrix], dtype: DTypeLike | None, generation: int = 0, removed: str = ""
) -> None:
    """Write the arrays of the blocks, then the facts of the store."""
    first = next(blocks, None)
    if first is None:
        raise ValueError("X must have at least one block of rows, got none.")
    wanted = np.dtype(first.dtype if dtype is None else dtype)
    if wanted.kind not in "buif":
        raise ValueError(f"dtype must be a type of real numbers, got {wanted}.")
    with GrowingRows.new(folder, first, wanted, generation) as rows:
        rows.append(first)
        for number, block in enumerate(blocks, start=1):
            check_like(first, block, number, cast=dtype is not None)
            rows.append(block)
    replace(rows.facts(), removed=removed).write(folder)


@contextmanager
def _changing(path: Path, doing: str) -> Iterator[None]:
    """Lock a store, and remove all files that do not belong to it, before and after the change."""
    with locked(path, doing), write_errors_named(path):
        _check_no_links(path)
        try:
            _tidy(path)
            yield
        finally:
            _tidy(path)


def _check_no_links(path: Path) -> None:
    """Raise ValueError if a file of a store has another name: a change would truncate or overwrite the other's rows."""
    for file in path.iterdir():
        if ArrayName.of(file.name) or file.name == FACTS_FILE:
            check_own_file(file, hint="write_store makes a store of other rows")


def _tidy(path: Path) -> None:
    """Remove files and trailing bytes that do not belong to the store, from an earlier store or a killed process."""
    try:
        files = StoreFacts.read(path).files
    except ValueError:
        return  # the facts of a damaged store, which may be overwritten, are unknown
    for file in path.iterdir():
        if file.name in files and file.stat().st_size > files[file.name]:
            os.truncate(file, files[file.name])
        elif file.name not in files and (ArrayName.of(file.name) or _PARTIAL_FACTS.fullmatch(file.name)):
            _remove(file)


def _remove(file: Path) -> None:
    try:
        file.unlink()
    except PermissionError:  # on systems that keep files which a process has mapped
        warnings.warn(
            f"{file} must be free to be removed, and a process has it open: it no longer belongs to the store, and the"
            " next change of the store removes it.",
            RuntimeWarning,
            stacklevel=2,
        )


def _next_generation(path: Path) -> int:
    names = (ArrayName.of(file.name) for file in path.iterdir())
    return 1 + max((name.generation for name in names if name), default=0)


def _check_there(path: Path, start: int, blocks: Iterable[Matrix]) -> None:
    """Raise ValueError unless a store has the rows of the blocks from `start` on."""
    X, n_rows = open_store(path), start
    for block in blocks:
        if not are_equal(X[start : start + block.shape[0]], block):
            raise _unlike(path, n_rows, X.shape[0])
        start += block.shape[0]


def _unlike(path: Path, n_rows: int | None, there: int) -> ValueError:
    return ValueError(
        f"n_rows must be the number of rows before the change, got {n_rows}, but {path} has {there} rows, and not those"
        " after the change."
    )


def _rows_but(path: Path, gone: IntArray) -> Iterator[Matrix]:
    """Yield the remaining rows of a store in blocks."""
    X = open_store(path)
    yield X[:0]  # keeps type and width if no rows are left
    left = np.delete(np.arange(X.shape[0]), gone)
    for block in row_blocks(len(left), bytes_per_row(X)):
        yield X[left[block]]
