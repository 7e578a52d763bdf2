"""Checks of arguments: convert them to the form that private code needs, or raise a clear error.

Messages have the form ``{name} must be {expected}, got {value}.``, with a hint if there is one.
"""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import check_consistent_length, validate_data

from nearlabel.utils.containers import columns_of, is_frame, kind_of, with_stored_zeros
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Raise ValueError unless `value` is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {sorted(choices)}, got {value!r}.")


def check_flag(name: str, value: object) -> None:
    """Raise TypeError unless `value` is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r} of type {type(value).__name__}.")


def check_integer(name: str, value: object, *, low: int) -> int:
    """Return `value` as an int of at least `low`; raise TypeError or ValueError otherwise."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, got {value!r} of type {type(value).__name__}.")
    if value < low:
        raise ValueError(f"{name} must be at least {low}, got {value}.")
    return int(value)


def check_positive(name: str, value: object) -> float:
    """Return `value` as a finite float above zero; raise TypeError or ValueError otherwise."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r} of type {type(value).__name__}.")
    number = float(value)
    if not 0 < number < np.inf:
        raise ValueError(f"{name} must be a finite number above 0, got {value}.")
    return number


def check_share(name: str, value: object) -> float:
    """Return `value` as a float between 0 and 1, exclusive; raise TypeError or ValueError otherwise."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r} of type {type(value).__name__}.")
    if not 0 < float(value) < 1:
        raise ValueError(f"{name} must be between 0 and 1, got {value!r}.")
    return float(value)


def check_sample_weight(sample_weight: Any, n_samples: int) -> FloatArray:
    """Return weights (n_samples,) as float64; raise ValueError unless they are finite, at least 0 and not all 0."""
    weights = np.asarray(sample_weight, dtype=np.float64)
    check_consistent_length(weights, np.empty(n_samples))
    if weights.ndim != 1 or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        # "zero": scikit-learn's check looks for the word.
        raise ValueError("sample_weight must be finite numbers of at least 0, one for each row, not all zero.")
    return weights


def check_n_neighbors(n_neighbors: object, n_samples: int, *, leave_one_out: bool = False) -> int:
    """Return `n_neighbors` as an int that is possible with `n_samples` training samples.

    With `leave_one_out` a training sample is not its own neighbour, so there is one neighbour fewer.
    """
    k = check_integer("n_neighbors", n_neighbors, low=1)
    if leave_one_out and k >= n_samples:
        raise ValueError(
            f"n_neighbors must be smaller than n_samples={n_samples}, got {k}. A sample is not its own neighbour."
        )
    if k > n_samples:
        raise ValueError(f"n_neighbors must be at most n_samples={n_samples}, got {k}.")
    return k


def check_row_numbers(
    name: str, rows: ArrayLike, n_samples: int, *, distinct: bool = True, of: str = "row"
) -> IntArray:
    """Return indices of training samples as an array; raise ValueError or TypeError if they are invalid or repeated.

    `of` is the word for a row in messages, for instance if the numbers are of columns.
    """
    numbers = np.asarray(rows)
    if numbers.size == 0:
        return np.empty(0, dtype=np.intp)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise TypeError(
            f"{name} must be a list of {of} numbers, got an array of {numbers.dtype} of shape {numbers.shape}."
        )
    outside = numbers[(numbers < 0) | (numbers >= n_samples)]
    if len(outside):
        raise ValueError(f"{name} must be numbers from 0 to {n_samples - 1}, got {outside[0]}.")
    if distinct and len(np.unique(numbers)) < len(numbers):
        twice, count = Counter(numbers.tolist()).most_common(1)[0]
        raise ValueError(f"{name} must name each {of} once, got {twice} {count} times.")
    return numbers.astype(np.intp)


def as_score_matrix(scores: Any, *, name: str = "scores") -> Matrix:
    """Return scores as a floating-point array or a canonical CSR array; infinities are allowed.

    Parameters
    ----------
    scores : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Numbers; float32 stays float32.

    Raises
    ------
    ValueError
        If scores are not two-dimensional, are not numbers, or contain NaN; the message names the column.
    """
    matrix: Matrix = sparse.csr_array(scores) if sparse.issparse(scores) else _as_dense_scores(scores, name)
    if matrix.ndim != 2:
        hint = " Hint: a single label is one column, reshape(-1, 1)." if matrix.ndim == 1 else ""
        raise ValueError(f"{name} must be of shape (n_samples, n_labels), got shape {matrix.shape}.{hint}")
    if matrix.dtype.kind != "f" or matrix.dtype.itemsize < 4:
        matrix = _to_float(matrix, name)
    if sparse.issparse(matrix) and not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    _check_no_nan(matrix, name)
    return matrix


def _as_dense_scores(scores: Any, name: str) -> Any:
    if isinstance(scores, list | tuple) and any(getattr(part, "ndim", 1) == 2 for part in scores):
        raise ValueError(
            f"{name} must be one array of shape (n_samples, n_labels), got a {type(scores).__name__} of"
            f" {len(scores)} arrays. Hint: np.column_stack([p[:, 1] for p in {name}]) joins the results of"
            " scikit-learn's predict_proba, if each label has both classes in the training data."
        )
    try:
        return np.asarray(scores)
    except ValueError as error:
        raise ValueError(f"{name} must be of shape (n_samples, n_labels), got rows of unequal length.") from error


def _to_float(scores: Any, name: str) -> Any:
    if scores.dtype.kind not in "buifO":
        raise ValueError(f"{name} must contain numbers, got values of type {scores.dtype}.")
    try:
        return scores.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must contain numbers, got values of type {scores.dtype}.") from error


def _check_no_nan(scores: Any, name: str) -> None:
    values = scores.data if sparse.issparse(scores) else scores
    # The minimum is NaN if any value is NaN: one pass and no temporary array if there is none.
    if values.size == 0 or not np.isnan(values.min()):
        return
    columns = scores.indices[np.isnan(values)] if sparse.issparse(scores) else np.nonzero(np.isnan(values))[1]
    raise ValueError(f"{name} must not contain NaN, got NaN in column {columns.min()}.")


class NotFinite(NamedTuple):
    """A value of a matrix that is NaN or infinite: its row and column, counted from 0, and its text."""

    row: int
    column: int
    got: str


def first_not_finite(X: Matrix) -> NotFinite | None:
    """Return the first value that is not finite, row by row; None if there is none."""
    values = X.data if sparse.issparse(X) else X.ravel()
    places = np.flatnonzero(~np.isfinite(values))
    if not places.size:
        return None
    place = int(places[0])
    if sparse.issparse(X):
        row, column = np.searchsorted(X.indptr, place, side="right") - 1, X.indices[place]
    else:
        row, column = divmod(place, X.shape[1])
    return NotFinite(int(row), int(column), "a missing value" if np.isnan(values[place]) else f"{values[place]:g}")


def numbers_of(X: Matrix) -> Matrix:
    """Return X; cells of several kinds become numbers: NaN and infinity stay, other cells become 0."""
    if X.dtype.kind != "O":
        return X
    return np.select([np.not_equal(X, X), np.inf == X, -np.inf == X], [np.nan, np.inf, -np.inf], 0.0)


def without_missing(X: Matrix) -> Matrix:
    """Return X with 0 for NaN: any remaining non-finite value is infinite."""
    values = X.data if sparse.issparse(X) else X
    missing = np.isnan(values)
    if not missing.any():
        return X
    known = np.where(missing, 0.0, values)
    return sparse.csr_array((known, X.indices, X.indptr), shape=X.shape) if sparse.issparse(X) else known


def as_dense(matrix: Matrix) -> NDArray[Any]:
    """Return a dense array of a dense or sparse matrix."""
    dense: NDArray[Any] = matrix.toarray() if sparse.issparse(matrix) else matrix
    return dense


def check_groups(groups: ArrayLike, n_samples: int) -> IntArray:
    """Return the group number of each row, from 0 in the order of the group names.

    Raises
    ------
    ValueError
        If there is not one group per row, a group is missing, or the names cannot be sorted.
    """
    of_list = isinstance(groups, list | tuple)  # numpy would write the numbers among names as text
    names = np.array(groups, dtype=object) if of_list else np.asarray(groups)
    if names.shape != (n_samples,):
        raise ValueError(f"groups must be of shape ({n_samples},), one for each row, got shape {names.shape}.")
    missing = np.flatnonzero(np.frompyfunc(_is_missing, 1, 1)(names))
    if len(missing):
        raise ValueError(
            f"groups must name the group of every sample, got {names[missing[0]]} for row {missing[0]}, counted from 0."
            " Hint: give a sample without a group its own name."
        )
    try:
        return np.unique(names, return_inverse=True)[1]
    except TypeError as error:
        raise ValueError(f"groups must have names of one type, got several: {error}.") from error


def _is_missing(value: object) -> bool:
    """Return whether a value is None, or NaN or NA, which are not equal to themselves."""
    equal: object = value == value
    return value is None or not (isinstance(equal, bool | np.bool_) and equal)


def is_dask_array(X: object) -> bool:
    """Return whether X is a dask array, whose blocks may be on other machines."""
    return hasattr(X, "__dask_graph__")


def check_rows(estimator: Any, X: MatrixLike, *, reset: bool = True, takes_dask: bool = False) -> Matrix:
    """Return X as a dense array or CSR, in a form that every method accepts.

    A dask array is returned unchanged if `takes_dask`; otherwise it raises an error and is not gathered. NaN raises an
    error unless the estimator's tags allow it.
    """
    if not is_dask_array(X):
        finite = "allow-nan" if get_tags(estimator).input_tags.allow_nan else True
        try:
            rows = with_stored_zeros(X) if hasattr(X, "iloc") else X
            rows = validate_data(estimator, rows, accept_sparse="csr", ensure_all_finite=finite, reset=reset)
            if rows.dtype.kind == "O":  # a polars frame with a text column, whose texts may be numbers
                rows = check_array(rows.astype(np.float64), ensure_all_finite=finite, input_name="X")
        except ValueError as error:
            _name_the_column(error, X)
            raise
        if sparse.issparse(rows):
            check_width(rows)
        return _as_plain_rows(rows)
    if not takes_dask:
        raise TypeError(
            f"X must be an array for this {type(estimator).__name__}, got a dask array. Hint: search=DaskNeighbors()"
            " leaves the samples on their machines (for methods that need only neighbours),"
            " nearlabel.datasets.write_store writes them to disk, X.compute() gathers them."
        )
    if not hasattr(X, "chunks") or X.ndim != 2 or any(n != n for n in X.shape):
        raise ValueError(
            "X must be a dask array (n_rows, n_features) that knows its shape,"
            f" got {type(X).__name__} of shape {getattr(X, 'shape', None)}. Hint: X.compute_chunk_sizes(), or"
            " to_dask_array(lengths=True) of a data frame."
        )
    return validate_data(estimator, X, reset=reset, skip_check_array=True)


def check_width(X: Matrix) -> None:
    """Raise ValueError if sparse X has more features than 32-bit indices allow, too many for an array per feature."""
    if X.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(
            f"X must have at most {np.iinfo(np.int32).max:,} features, got {X.shape[1]:,}. Hint:"
            " sklearn.feature_extraction.FeatureHasher takes names of features to fewer columns."
        )


def _name_the_column(error: ValueError, X: MatrixLike) -> None:
    """Raise an error that names the non-numeric column of a data frame; scikit-learn's error quotes only a value."""
    if "could not convert" not in str(error) or not is_frame(X):
        return
    kinds = [kind_of(column) for column in columns_of(X)]
    place = next((place for place, kind in enumerate(kinds) if kind != "number"), 0)
    names: Any = getattr(X, "column_names", getattr(X, "columns", None))
    raise ValueError(
        f"X must contain numbers, got those of kind {kinds[place]!r} in column {names[place]!r}: {error}."
        " Hint: nearlabel.preprocessing.MixedFeaturesEncoder encodes categories, dates and texts as numbers."
    ) from error


def _as_plain_rows(X: Matrix) -> Matrix:
    """Return a checked matrix in native byte order and, if sparse, canonical with 32-bit indices if possible.

    scipy.sparse supports neither float16 nor non-native byte order, scikit-learn's solvers and trees do not support
    64-bit indices, and code that reads `data` of a CSR array may ignore duplicate entries. X itself is not changed.
    """
    if X.dtype == np.float16:
        X = X.astype(np.float32)
    if not sparse.issparse(X):
        return X.astype(X.dtype.newbyteorder("="), copy=False)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if X.indices.dtype == np.int64 and max(X.nnz, *X.shape) <= np.iinfo(np.int32).max:
        X = type(X)((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    return X


def row_names(X: MatrixLike) -> NDArray[Any] | None:
    """Return the names of the rows in the index of a pandas data frame if they are texts; numbers are ambiguous."""
    index = X.index if hasattr(X, "iloc") else ()
    if not len(index) or not all(isinstance(name, str) for name in index):
        return None
    return np.array(index, dtype=str)


def each_once(name: str, values: object) -> tuple[Any, ...]:
    """Return the values as a tuple; raise an error if it is empty or has duplicates."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a tuple, got {values!r}. Hint: ({values!r},).")
    each = tuple(values)
    if not each or len(set(each)) != len(each):
        raise ValueError(f"{name} must name at least one, each once, got {each}.")
    return each
