"""A sparse graph of distances, read as lists of neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.utils.types import BoolArray, FloatArray, IntArray


def read_graph(graph: Any, n_samples: int, *, name: str, without_self: bool = False) -> tuple[FloatArray, IntArray]:
    """Return distances and indices (n_rows, n_neighbors), ordered by (distance, index).

    Entries may be in any order within their row, and explicit zeros are distances. Rows may have different numbers of
    neighbours: the smallest number is used for all.

    Parameters
    ----------
    graph : sparse container of shape (n_rows, n_samples)
        Entry (i, j) is the distance of row i to training sample j.
    n_samples : int
        Number of training samples.
    name : str
        Name of the graph in errors.
    without_self : bool, default=False
        Whether the rows are the training samples: row i loses its entry i, if it has one.

    Raises
    ------
    TypeError
        If the graph is not sparse.
    ValueError
        If its shape is wrong, an entry is no valid distance, a neighbour comes twice or a row has none.
    """
    rows, indices, distances = _entries(graph, n_samples, name)
    if without_self:
        others = rows != indices
        rows, indices, distances = rows[others], indices[others], distances[others]
    counts = np.bincount(rows, minlength=graph.shape[0])
    if counts.min() == 0:
        raise ValueError(f"{name} must have a neighbour of every row, got none of row {counts.argmin()}.")
    if not _in_order(rows, distances, indices):
        order = np.lexsort((indices, distances, rows))
        indices, distances = indices[order], distances[order]
    nearest = (np.cumsum(counts) - counts)[:, np.newaxis] + np.arange(counts.min())
    distances, indices = distances[nearest], indices[nearest]
    if (np.diff(np.sort(indices, axis=1), axis=1) == 0).any():
        raise ValueError(f"{name} must have each neighbour of a row once, got one twice.")
    return distances, indices


def _entries(graph: Any, n_samples: int, name: str) -> tuple[IntArray, IntArray, FloatArray]:
    """Return row, column and value of every stored entry, row by row."""
    if not sparse.issparse(graph):
        raise TypeError(f"{name} must be a sparse graph of distances, got {type(graph).__name__}.")
    if graph.ndim != 2 or graph.shape[0] == 0 or graph.shape[1] != n_samples:
        raise ValueError(f"{name} must be of shape (n_rows, n_samples={n_samples}), got shape {graph.shape}.")
    if graph.dtype.kind not in "iuf":
        raise ValueError(f"{name} must contain distances, got values of type {graph.dtype}.")
    if graph.format == "coo":  # made into CSR, entries given twice would be added
        order = np.argsort(graph.coords[0], kind="stable")
        rows, columns, values = graph.coords[0][order], graph.coords[1][order], graph.data[order]
    else:
        stored = sparse.csr_array(graph)
        rows = np.repeat(np.arange(graph.shape[0]), np.diff(stored.indptr))
        columns, values = stored.indices, stored.data
    distances = values.astype(np.float64)
    wrong = distances[~((distances >= 0) & (distances < np.inf))]
    if len(wrong):
        raise ValueError(f"{name} must contain finite distances of at least 0, got {wrong[0]}.")
    return rows, columns.astype(np.intp), distances


def _in_order(rows: IntArray, distances: FloatArray, indices: IntArray) -> bool:
    """Return whether entries, row by row, are ordered by (distance, index) already, as most libraries give them."""
    further: BoolArray = distances[1:] > distances[:-1]
    tied = (distances[1:] == distances[:-1]) & (indices[1:] > indices[:-1])
    return bool((further | tied | (rows[1:] != rows[:-1])).all())
