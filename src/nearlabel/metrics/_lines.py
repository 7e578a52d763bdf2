"""Blocks of rows of two matrices for ranking within each row; few cells of sparse matrices become dense."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from nearlabel.metrics._ranks import BLOCK_BYTES
from nearlabel.metrics.inputs import is_sparse
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import IntArray, Matrix


def line_blocks(first: Matrix, second: Matrix) -> Iterator[slice]:
    """Yield slices of rows whose non-empty columns fit the memory budget, if the rows are about equally dense."""
    n_lines, n_cells = first.shape
    bytes_per_line = 8 * n_cells
    if is_sparse(first) and is_sparse(second):
        n_stored = max(1.0, (first.nnz + second.nnz) / n_lines)
        n_together = max(1.0, math.sqrt(BLOCK_BYTES / (8 * n_stored)))  # each line adds its columns to all the others
        bytes_per_line = min(bytes_per_line, int(BLOCK_BYTES / n_together))
    yield from row_blocks(n_lines, bytes_per_line, BLOCK_BYTES)


def absent_columns(first: Matrix, second: Matrix) -> IntArray:
    """Return the columns in which neither of two matrices has an entry; none unless both are sparse."""
    if not (is_sparse(first) and is_sparse(second)):
        return np.empty(0, dtype=np.intp)
    is_absent = np.ones(first.shape[1], dtype=bool)
    is_absent[first.indices] = is_absent[second.indices] = False
    return np.flatnonzero(is_absent)
