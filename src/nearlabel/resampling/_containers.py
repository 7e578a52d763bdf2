"""Samples and label sets of a resampled data set in the containers of the original."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.out_of_sample import rows_of
from nearlabel.utils.containers import columns_of, is_frame
from nearlabel.utils.types import IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import Target, as_dense, is_sparse_frame, names_of_labels, tags_of


def rows_like(X: MatrixLike, rows: Matrix, source: IntArray, synthetic: Matrix | None) -> MatrixLike:
    """Return rows of X by their numbers, then synthetic ones, in the container of X; `rows` are X after its checks.

    A column of whole numbers keeps its type unless a synthetic row has a fraction there.
    """
    if synthetic is None or synthetic.shape[0] == 0:
        return _with_index(rows_of(X, source), X, source) if is_frame(X) else rows[source]
    values = _joined(rows[source], synthetic)
    return _frame_like(X, values) if is_frame(X) else values


def labels_like(y: MatrixLike, target: Target, labels: Matrix, sample_indices: IntArray) -> MatrixLike:
    """Return label sets (n_resampled, n_labels) in the container of y."""
    if tags_of(y) is not None:
        made: Any = [list(names) for names in names_of_labels(labels, target.names)]
    elif is_frame(y) and target.container.classes is None:
        return _with_index(_frame_like(y, labels), y, sample_indices)
    else:
        made = target.container.wrap(labels)
    is_series = hasattr(y, "to_frame")  # of pandas or polars
    return _with_index(_series_like(y, made), y, sample_indices) if is_series else made


def stacked(parts: list[Matrix]) -> Matrix:
    """Return parts below each other, in the container of the first."""
    if not sparse.issparse(parts[0]):
        return np.concatenate(parts)
    return type(parts[0])(sparse.vstack(parts, format="csr"))


def _joined(taken: Matrix, synthetic: Matrix) -> Matrix:
    """Return one matrix in the container of the taken rows, of their type if it can represent the synthetic values."""
    values = synthetic.data if sparse.issparse(synthetic) else synthetic
    dtype = taken.dtype if taken.dtype.kind == "f" or _are_whole(values) else np.dtype(np.float64)
    return stacked([taken.astype(dtype, copy=False), synthetic.astype(dtype, copy=False)])


def _with_index(made: Any, frame: Any, sample_indices: IntArray) -> Any:
    """Return a frame or series of pandas with the index of its rows if some were only deleted, else renumbered."""
    if not hasattr(made, "iloc"):
        return made
    only_went = (sample_indices >= 0).all() and (np.diff(sample_indices) > 0).all()
    return made.set_axis(frame.index[sample_indices]) if only_went else made.reset_index(drop=True)


def _frame_like(frame: Any, values: Matrix) -> Any:
    """Return a data frame or Arrow table of numbers, with the names of columns and their types."""
    if is_sparse_frame(frame):
        return type(frame).sparse.from_spmatrix(sparse.csr_array(values), columns=frame.columns)
    columns = as_dense(values).T
    if hasattr(frame, "column_names"):
        made = type(frame).from_pydict(dict(zip(frame.column_names, columns, strict=True)))
        arrays = [
            new.cast(old.type) if _holds(old.type, new) else new
            for old, new in zip(frame.columns, made.columns, strict=True)
        ]
        return type(frame).from_arrays(arrays, names=frame.column_names)
    series = [_series_like(old, new) for old, new in zip(columns_of(frame), columns, strict=True)]
    if not hasattr(frame, "iloc"):
        return type(frame)(series)
    made = type(frame)(dict(enumerate(series)))
    made.columns = frame.columns  # which need not be distinct
    return made


def _series_like(series: Any, values: Any) -> Any:
    """Return a series of pandas or polars with other values, of its type if that can represent them."""
    if hasattr(series, "iloc"):
        made = type(series)(values, name=series.name)
        return made.astype(series.dtype) if _holds(series.dtype, values) else made
    made = type(series)(series.name, values)
    return made.cast(series.dtype) if _holds(series.dtype, values) else made


def _holds(dtype: object, values: Any) -> bool:
    """Return whether a type of pandas, polars or Arrow can represent values: only fractions need one of floats."""
    numbers = np.asarray(values) if not isinstance(values, list) else np.empty(0)
    if numbers.dtype.kind != "f" or any(name in str(dtype).lower() for name in ("float", "double")):
        return True
    return _are_whole(numbers)


def _are_whole(values: NDArray[Any]) -> bool:
    return bool((values == np.round(values)).all())
