"""Blocks of rows that fit a memory budget."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from nearlabel.utils.types import IntArray, Matrix

BLOCK_BYTES = 64 * 2**20  # bytes of one temporary array of a block


def row_blocks(n_rows: int, bytes_per_row: int, budget: int = BLOCK_BYTES) -> Iterator[slice]:
    """Yield slices that cover ``range(n_rows)``, each of at least one row and at most `budget` bytes."""
    size = max(1, budget // max(1, bytes_per_row))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def bytes_per_row(X: Matrix) -> int:
    """Return the mean number of bytes per row, dense or CSR."""
    n_bytes = X.nnz * (X.data.itemsize + X.indices.itemsize) if sparse.issparse(X) else X.nbytes
    return int(n_bytes // max(1, X.shape[0]))


def uneven_blocks(sizes: IntArray, budget: int = BLOCK_BYTES) -> Iterator[slice]:
    """Yield slices that cover rows with given sizes in bytes, each with one row or at most `budget` bytes."""
    ends = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + budget, side="right")))
        yield slice(start, stop)
        start = stop
