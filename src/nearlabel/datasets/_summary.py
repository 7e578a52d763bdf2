"""A summary of a data set: the tables that it prints, and shows in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.datasets._frames import is_frame, labels_of_frame
from nearlabel.datasets._numbered_names import counts_of
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.tables import Grid, grid
from nearlabel.utils.types import IntArray, Matrix
from nearlabel.utils.validation import is_sparse_frame, without_sparse_frame

_NONE = np.array(None)
_SHOWN = 10  # labels


def counted(number: int, noun: str) -> str:
    """Return a number and a noun in its form."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def storage_of(X: Any) -> str:
    """Return in words how the rows are stored."""
    frame = is_frame(X)
    is_sparse = is_sparse_frame(X) if frame else sparse.issparse(X)
    return ("sparse" if is_sparse else "dense") + (" data frame" if frame else "")


def tables_of(data: Any) -> tuple[Grid, Grid]:
    """Return the facts of a `Dataset`, and its most frequent labels."""
    labels = labels_of_frame(data.Y)
    unknown = _unknown(labels)
    known = labels.shape[0] - np.asarray(unknown.sum(axis=0)).reshape(-1)
    return _facts(data, labels, known, unknown), _most_frequent(data.label_names, _rows_of_labels(labels), known)


def _facts(data: Any, labels: Matrix, known: IntArray, unknown: Matrix) -> Grid:
    """Return names and values; a fact that most data sets lack is listed only if it exists.

    `known` (n_labels,) is the number of rows of which it is known whether they carry each label.
    """
    (n_rows, n_labels), n_features = labels.shape, len(data.feature_names)
    cardinality = float((_rows_of_labels(labels) / np.maximum(1, known)).sum())
    n_missing, n_unknown = _n_missing(data.X), int(unknown.sum())
    n_useless = int((np.asarray(unknown.sum(axis=1)) == n_labels).sum()) if n_unknown else 0
    facts = {
        "name": data.name,
        "source": data.source,
        "rows": str(n_rows),
        "groups of rows": "" if data.groups is None else str(len(np.unique(data.groups))),
        "features": str(n_features),
        "kinds of features": ", ".join(f"{kind} ({n})" for kind, n in counts_of(data.feature_kinds).most_common()),
        "missing values": f"{n_missing} ({n_missing / max(1, n_rows * n_features):.2%} of all)" if n_missing else "0",
        "labels": str(n_labels),
        "label cardinality": f"{cardinality:.4g}",
        "label density": f"{cardinality / max(1, n_labels):.4g}",
        "unknown labels": f"{n_unknown} ({n_unknown / (n_rows * n_labels):.2%} of all cells)" if n_unknown else "",
        "rows without a known label": str(n_useless) if n_useless else "",
    }
    return Grid([("fact", "value"), *(fact for fact in facts.items() if fact[1])], [False, False], "")


def _most_frequent(names: Sequence[str], rows: IntArray, known: IntArray) -> Grid:
    """Return the table of the labels; shares are those among the rows where a label is known."""
    order = np.argsort(-rows, kind="stable")
    shares = (rows / np.maximum(1, known))[order]
    shown = np.full(len(names), "", dtype=np.object_)  # there may be millions of names, of which few are needed
    shown[:_SHOWN] = [names[label] for label in order[:_SHOWN].tolist()]
    table = {"name": shown, "rows": rows[order], "share": shares}
    return grid(table, list(table), "labels", at_most=_SHOWN)


def _rows_of_labels(labels: Matrix) -> IntArray:
    """Return how many rows are known to carry each label."""
    return np.asarray((labels == 1).sum(axis=0)).reshape(-1)


def _unknown(labels: Matrix) -> Matrix:
    """Return which cells are unknown."""
    if not sparse.issparse(labels):
        return labels != labels
    return sparse.csr_array((np.isnan(labels.data), labels.indices, labels.indptr), shape=labels.shape)


def _n_missing(matrix: Any) -> int:
    """Return how many cells are NaN, None or missing values of pandas."""
    matrix = without_sparse_frame(matrix)
    if is_frame(matrix):
        return int(matrix.isna().sum().sum())
    values = matrix.data if sparse.issparse(matrix) else matrix
    if values.dtype.kind not in "fO":
        return 0
    n_bytes = values.itemsize * (values.shape[1] if values.ndim == 2 else 1)
    return sum(_n_missing_cells(values[block]) for block in row_blocks(len(values), n_bytes))


def _n_missing_cells(cells: Any) -> int:
    missing = cells != cells if cells.dtype.kind == "f" else np.not_equal(cells, cells) | np.equal(cells, _NONE)
    return int(np.count_nonzero(missing))
