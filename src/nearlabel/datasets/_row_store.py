"""Rows as they come from a file, split into features and labels at once.

`array.array` grows in place (the system moves pages, not bytes), so the peak stays close to the finished matrices;
collecting blocks and joining them at the end would store everything twice.
"""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.utils.types import CSR, FloatArray, IntArray


class SparseRows:
    """A growing CSR matrix.

    `first_column` and `width` (one more than the last column) also count explicit zeros.
    """

    def __init__(self) -> None:
        self.first_column = 2**31
        self.width = 0
        self._data = array("d")
        self._indices = array("i")
        self._ends = array("q", [0])

    def append(self, n_rows: int, rows: IntArray, columns: IntArray, values: FloatArray) -> None:
        """Add `n_rows` rows by their cells, of which zeros are dropped; `rows` (n_cells,) is ascending from 0."""
        self.first_column = min(self.first_column, int(columns.min(initial=2**31)))
        self.width = max(self.width, int(columns.max(initial=-1)) + 1)
        stored = values != 0
        if not stored.all():
            rows, columns, values = rows[stored], columns[stored], values[stored]
        counts = np.bincount(rows, minlength=n_rows)
        self._ends.frombytes((np.cumsum(counts) + self._ends[-1]).astype(np.int64).tobytes())
        self._indices.frombytes(columns.astype(np.intc).tobytes())
        self._data.frombytes(values.astype(np.float64, copy=False).tobytes())

    def __len__(self) -> int:
        return len(self._ends) - 1

    def shift(self, by: int) -> None:
        """Move all cells by a number of columns."""
        _view(self._indices, np.intc)[:] += by
        self.first_column, self.width = self.first_column + by, self.width + by

    def matrix(self, n_columns: int) -> CSR:
        """Return the rows as a canonical float64 CSR array that shares the memory."""
        ends = _view(self._ends, np.int64)
        if ends[-1] <= np.iinfo(np.intc).max:
            ends = ends.astype(np.intc)  # otherwise scipy would widen the column indices too
        parts = _view(self._data, np.float64), _view(self._indices, np.intc), ends
        matrix = sparse.csr_array(parts, shape=(len(self), n_columns))
        matrix.sort_indices()
        return matrix


class DenseRows:
    """A growing dense matrix of a known width."""

    def __init__(self, n_columns: int) -> None:
        self._data = array("d")
        self._n_columns = n_columns
        self._n_rows = 0

    def __len__(self) -> int:
        return self._n_rows

    def append(self, block: FloatArray) -> None:
        """Add the rows of a block (n_rows, n_columns)."""
        self._n_rows += len(block)
        self._data.frombytes(block.astype(np.float64, copy=False).tobytes())

    def matrix(self) -> FloatArray:
        """Return the rows as an array that shares the memory."""
        return _view(self._data, np.float64).reshape(self._n_rows, self._n_columns)


class CellRows:
    """A growing array of objects of a known width."""

    def __init__(self, n_columns: int) -> None:
        self._blocks = [np.empty((0, n_columns), dtype=np.object_)]
        self._n_rows = 0

    def __len__(self) -> int:
        return self._n_rows

    def append(self, block: NDArray[np.object_]) -> None:
        """Add the rows of a block (n_rows, n_columns)."""
        self._n_rows += len(block)
        self._blocks.append(block)

    def matrix(self) -> NDArray[np.object_]:
        """Return the rows as one array."""
        return np.vstack(self._blocks)


def _view(store: array[Any], dtype: type[np.generic]) -> NDArray[Any]:
    return np.frombuffer(store, dtype=dtype) if store else np.empty(0, dtype=dtype)
