"""Checks of CSR arrays from files, before compiled code uses an index.

scipy and our kernels do not check indices: an index out of range would crash the process or overwrite other memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import CSR

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
