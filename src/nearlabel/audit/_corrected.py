"""Label sets with corrected cells, in the container of the original."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.audit._corrections import Changes, Correction, changes_of
from nearlabel.utils.containers import is_frame
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.types import Matrix, MatrixLike
from nearlabel.utils.validation import label_names_of, tag_matrix, tags_of


def apply_corrections(
    y: MatrixLike,
    corrections: Iterable[Correction],
    *,
    label_names: Sequence[Any] | None = None,
    ids: Sequence[Any] | None = None,
) -> Any:
    """Return label sets with corrected cells; y does not change.

    Parameters
    ----------
    y : array-like, pandas data frame or sparse container of shape (n_samples, n_labels), or tags
        0 and 1, and NaN where a cell is unknown; or the tags of each sample, as a list, tuple, array or pandas Series
        of lists, tuples or sets.
    corrections : iterable of Correction
        Result of `read_corrections`.
    label_names : sequence of length n_labels, default=None
        Names of the labels; for tags, the allowed tags. None: the columns of a frame, the tags, or the numbers of the
        columns.
    ids : sequence of length n_samples, default=None
        Ids of the samples in the corrections. None: the corrections use their numbers.

    Returns
    -------
    corrected label sets
        In the container of y; integers become float64 where a cell becomes unknown.

    Raises
    ------
    ValueError
        If a sample or label does not exist, a cell gets two values, the present value of a cell differs from the one in
        the correction, or a tag would become unknown.
    TypeError
        If y is a data frame of a library other than pandas.

    Examples
    --------
    >>> from nearlabel.audit import Correction, apply_corrections
    >>> apply_corrections([[0, 1], [1, 1]], [Correction(1, correct=0, row=0, given=1)])
    array([[0, 0],
           [1, 1]])
    >>> apply_corrections([["calm"], ["loud"]], [Correction("loud", correct=1, row=0)])
    [['calm', 'loud'], ['loud']]
    """
    tags = tags_of(y)
    if tags is not None:
        labels, found = tag_matrix(tags)
        names = list(found) if label_names is None else list(label_names)
        return _with_tags(y, tags, _of_tags(corrections, labels, list(found), names, ids), names)
    given = PartialLabels.of(y, dtype=None)
    names = list(label_names_of(y, given.labels.shape[1]) if label_names is None else label_names)
    if len(names) != given.labels.shape[1]:
        raise ValueError(f"label_names must be {given.labels.shape[1]} names, one for each label, got {len(names)}.")
    return _with_cells(y, changes_of(corrections, given, names, ids))


def _of_tags(
    corrections: Iterable[Correction], labels: Matrix, found: list[Any], names: list[Any], ids: Sequence[Any] | None
) -> Changes:
    """Return the changes of tags, whose columns are in the order of `names`."""
    every = np.zeros((len(labels), len(names)), dtype=np.int64)
    columns = {name: column for column, name in enumerate(names)}
    if absent := [name for name in found if name not in columns]:
        raise ValueError(f"label_names must have all tags of y, got none for {absent[0]!r}.")
    every[:, [columns[name] for name in found]] = labels
    changes = changes_of(corrections, PartialLabels(every, None), names, ids)
    if np.isnan(changes.values).any():
        row, label = (one[np.isnan(changes.values)][0] for one in (changes.rows, changes.labels))
        raise ValueError(f"corrections must be 0 or 1 where y has tags, got ? for row {row}, label {names[label]!r}.")
    return changes


def _with_tags(y: Any, tags: Sequence[Collection[str]], changes: Changes, names: Sequence[Any]) -> Any:
    rows = list(tags)
    for row, label, value in zip(*(part.tolist() for part in changes), strict=True):
        rows[row] = _row_of_tags(rows[row], names[label], bool(value))
    if hasattr(y, "iloc"):
        return type(y)(rows, index=y.index, name=y.name)
    if isinstance(y, np.ndarray):
        found = np.empty(len(rows), dtype=object)
        found[:] = rows
        return found
    return tuple(rows) if isinstance(y, tuple) else rows


def _row_of_tags(row: Any, tag: Any, carried: bool) -> Any:
    """Return the tags of a sample with one more, which comes last, or without one."""
    kept = [other for other in row if other != tag] + [tag] * carried
    return np.array(kept, dtype=object) if isinstance(row, np.ndarray) else type(row)(kept)


def _with_cells(y: Any, changes: Changes) -> Any:
    is_unknown = bool(np.isnan(changes.values).any())
    if sparse.issparse(y):
        return _with_entries(y, changes, is_unknown)
    if hasattr(y, "iloc"):
        return _with_columns(y, changes)
    if is_frame(y):
        raise TypeError(f"y must be an array, a pandas data frame, sparse or tags, got {type(y).__name__}.")
    corrected = np.array(y)
    if is_unknown and corrected.dtype.kind in "iub":
        corrected = corrected.astype(np.float64)
    corrected[changes.rows, changes.labels] = changes.values
    return corrected


def _with_entries(y: Any, changes: Changes, is_unknown: bool) -> Any:
    """Return a sparse container with other entries in place of those that change; zeros are not stored."""
    stored = sparse.coo_array(y)
    dtype = np.float64 if is_unknown and y.dtype.kind in "iub" else y.dtype
    n_labels = y.shape[1]
    stays = ~np.isin(stored.row * np.intp(n_labels) + stored.col, changes.rows * n_labels + changes.labels)
    new = changes.values != 0  # NaN is stored
    rows = np.concatenate([stored.row[stays], changes.rows[new]])
    columns = np.concatenate([stored.col[stays], changes.labels[new]])
    values = np.concatenate([stored.data[stays].astype(dtype), changes.values[new].astype(dtype)])
    return type(y)(sparse.coo_array((values, (rows, columns)), shape=y.shape).asformat(y.format))


def _with_columns(y: Any, changes: Changes) -> Any:
    corrected = y.copy()
    for label in np.unique(changes.labels).tolist():
        of_label = changes.labels == label
        column, values = y.iloc[:, label], changes.values[of_label]
        cells = np.array(column, dtype=object)
        value_type = bool if column.dtype.kind == "b" else int
        cells[changes.rows[of_label]] = [None if np.isnan(value) else value_type(value) for value in values]
        dtype = _dtype_with_unknown(column.dtype) if np.isnan(values).any() else column.dtype
        corrected.isetitem(label, type(column)(cells, index=column.index, name=column.name).astype(dtype))
    return corrected


def _dtype_with_unknown(dtype: Any) -> Any:
    """Return the type of a column with missing values: float64 for NumPy integers, which keeps the values."""
    if dtype.kind not in "iub":
        return dtype
    if hasattr(dtype, "fill_value"):
        return type(dtype)(np.float64, 0)
    return np.float64 if isinstance(dtype, np.dtype) else dtype
