"""Entries and cells of a dense or CSR matrix."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from nearlabel.utils.types import CSR, IntArray, Matrix
from nearlabel.utils.validation import as_dense


def entries(matrix: Matrix) -> tuple[IntArray, IntArray, IntArray]:
    """Return rows, columns and values of the nonzero entries, row by row."""
    if sparse.issparse(matrix):
        matrix = matrix.tocoo()
        return matrix.row.astype(np.intp), matrix.col.astype(np.intp), matrix.data
    row, column = np.nonzero(matrix)
    return row, column, matrix[row, column]


def cells_of(matrix: Matrix, rows: IntArray, columns: IntArray) -> IntArray:
    """Return matrix[rows, columns] as a dense array, for every version of scipy."""
    return as_dense(matrix[rows, columns]).ravel()


def entry_rows(stored: CSR) -> IntArray:
    """Return the row of each stored entry."""
    return np.repeat(np.arange(stored.shape[0]), np.diff(stored.indptr))
