"""Checks of arguments: convert them to the form that private code needs, or raise a clear error; then parts of arrays.

Messages have the form ``{name} must be {expected}, got {value}.``, with a hint if there is one.
"""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array, get_tags
from sklearn.utils.sparsefuncs import min_max_axis
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from nearlabel.utils.characters import check_whole
from nearlabel.utils.containers import (
    check_exact,
    checked_container,
    checked_samples,
    columns_of,
    is_dask_array,
    is_frame,
    kind_of,
    missing,
    require_dense,
    with_stored_zeros,
    without_mask,
)
from nearlabel.utils.types import CSR, FloatArray, IntArray, Matrix, MatrixLike


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
    require_dense("sample_weight", sample_weight)
    weights = np.asarray(without_mask(sample_weight), dtype=np.float64)
    if weights.ndim:
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


def asked_n_neighbors(search: Any, X: MatrixLike | None, n_neighbors: object) -> int:
    """Return how many neighbours a fitted search is asked for: None is the number of its constructor."""
    check_is_fitted(search)
    wanted = search.n_neighbors if n_neighbors is None else n_neighbors
    return check_n_neighbors(wanted, search.n_samples_fit_, leave_one_out=X is None)


def check_row_numbers(
    name: str, rows: ArrayLike, n_samples: int, *, distinct: bool = True, of: str = "row"
) -> IntArray:
    """Return indices of training samples as an array; raise ValueError or TypeError if they are invalid or repeated.

    `of` is the word for a row in messages, for instance if the numbers are of columns.
    """
    require_dense(name, rows)
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
    scores = checked_container(name, scores)
    matrix: Matrix = sparse.csr_array(scores) if sparse.issparse(scores) else _as_dense_scores(scores, name)
    if matrix.ndim != 2:
        hint = " Hint: a single label is one column, reshape(-1, 1)." if matrix.ndim == 1 else ""
        raise ValueError(f"{name} must be of shape (n_samples, n_labels), got shape {matrix.shape}.{hint}")
    if matrix.dtype.kind != "f" or matrix.dtype.itemsize < 4:
        matrix = _to_float(matrix, name)
    matrix = canonical(matrix) if sparse.issparse(matrix) else matrix
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


def check_groups(groups: ArrayLike, n_samples: int) -> IntArray:
    """Return the group number of each row, from 0 in the order of the group names.

    Raises
    ------
    ValueError
        If there is not one group per row, a group is missing, or the names cannot be sorted.
    """
    require_dense("groups", groups)
    of_list = isinstance(groups, list | tuple)  # numpy would write the numbers among names as text
    names = np.array(groups, dtype=object) if of_list else np.asarray(without_mask(groups))
    if names.shape != (n_samples,):
        raise ValueError(f"groups must be of shape ({n_samples},), one for each row, got shape {names.shape}.")
    without = np.flatnonzero(missing(names))
    if len(without):
        raise ValueError(
            f"groups must name the group of every sample, got {names[without[0]]} for row {without[0]}, counted from 0."
            " Hint: give a sample without a group its own name."
        )
    try:
        return np.unique(names, return_inverse=True)[1]
    except TypeError as error:
        raise ValueError(f"groups must have names of one type, got several: {error}.") from error


def check_rows(estimator: Any, X: MatrixLike, *, reset: bool = True, takes_dask: bool = False) -> Matrix:
    """Return X as a dense array or CSR, in a form that every method accepts.

    A dask array is returned unchanged if `takes_dask`; otherwise it raises an error and is not gathered. NaN raises an
    error unless the estimator's tags allow it.
    """
    if not is_dask_array(X):
        finite = "allow-nan" if get_tags(estimator).input_tags.allow_nan else True
        try:
            rows = with_stored_zeros(checked_samples("X", X))
            rows = validate_data(estimator, rows, accept_sparse="csr", ensure_all_finite=finite, reset=reset)
            if rows.dtype.kind == "O":  # a polars frame with a text column, whose texts may be numbers
                rows = check_array(rows.astype(np.float64), ensure_all_finite=finite, input_name="X")
        except ValueError as error:
            _name_the_column(error, X)
            raise
        check_whole("X", getattr(estimator, "feature_names_in_", ()) if reset else ())
        check_exact("X", rows)
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
    X = canonical(X)
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


# Limits of the size of features for methods that sum their squares and products.

LARGEST_FEATURE, SMALLEST_OF_ALL = 1e30, 1e-100


def largest_size(X: Matrix) -> float:
    """Return the largest absolute value of a dense or sparse matrix, ignoring missing values; 0 if there is none."""
    values = X.data if sparse.issparse(X) else X
    if not values.size:
        return 0.0
    return max(float(np.fmax.reduce(values, axis=None)), -float(np.fmin.reduce(values, axis=None)), 0.0)


def check_feature_sizes(X: Matrix, method: str, *, smallest: float = 0.0) -> None:
    """Raise ValueError if a feature is too large for sums of squares, or if all are too small but not all 0.

    Small features among larger ones, such as saturated probabilities, add nothing to such sums; values below `smallest`
    are an error. `method` is the name of the method in messages.
    """
    sizes = _largest_sizes(X)
    wrong = int(np.argmax(sizes))
    if sizes[wrong] > LARGEST_FEATURE:
        raise ValueError(
            f"X must have features of at most {LARGEST_FEATURE:g} for {method}, got {sizes[wrong]:.3g} in feature"
            f" {wrong}, counted from 0. Hint: scale the features."
        )
    if 0 < sizes[wrong] < SMALLEST_OF_ALL:
        raise ValueError(
            f"X must have a feature whose largest size is at least {SMALLEST_OF_ALL:g} for {method}, got"
            f" {sizes[wrong]:.3g} as the largest. Hint: multiply the features."
        )
    if len(tiny := np.flatnonzero((sizes > 0) & (sizes < smallest))):
        raise ValueError(
            f"X must have features whose largest size is 0 or at least {smallest:g} for {method}, got"
            f" {sizes[tiny[0]]:.3g} in feature {tiny[0]}, counted from 0. Hint: scale it, or leave it out."
        )


def _largest_sizes(X: Matrix) -> FloatArray:
    """Return the largest absolute value of each feature."""
    if sparse.issparse(X):
        low, high = min_max_axis(X.astype(np.float64, copy=False), axis=0)
    else:
        low, high = X.min(axis=0), X.max(axis=0)
    return np.asarray(np.maximum(high.astype(np.float64), -low.astype(np.float64)))


# Blocks of rows that fit a memory budget.

BLOCK_BYTES = 64 * 2**20  # bytes of one temporary array of a block


def row_blocks(n_rows: int, bytes_per_row: int, budget: int = BLOCK_BYTES) -> Iterator[slice]:
    """Return slices that cover ``range(n_rows)``, each of at least one row and at most `budget` bytes."""
    size = max(1, budget // max(1, bytes_per_row))
    return iter([slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)])


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


def as_float64(rows: Matrix) -> Matrix:
    """Return float64 rows, dense or CSR; a copy only where they are not."""
    return rows.astype(np.float64, copy=False)


def is_mapped(X: Matrix) -> bool:
    """Return whether rows are mapped from a file."""
    part = X.data if sparse.issparse(X) else X
    while isinstance(part, np.ndarray) and not isinstance(part, np.memmap):
        part = part.base
    return isinstance(part, np.memmap)


# Entries and cells of a dense or CSR matrix.


def as_dense(matrix: Matrix) -> NDArray[Any]:
    """Return a dense array of a dense or sparse matrix."""
    dense: NDArray[Any] = matrix.toarray() if sparse.issparse(matrix) else matrix
    return dense


def entries(matrix: Matrix) -> tuple[IntArray, IntArray, IntArray]:
    """Return rows, columns and values of the nonzero entries, row by row."""
    if sparse.issparse(matrix):
        matrix = matrix.tocoo()
        return matrix.row.astype(np.intp), matrix.col.astype(np.intp), matrix.data
    row, column = np.nonzero(matrix)
    return row, column, matrix[row, column]


_CELLS_FOR_ONE = 32  # dense cells that are made in the time in which one is looked for


def cells_of(matrix: Matrix, rows: IntArray, columns: IntArray) -> IntArray:
    """Return matrix[rows, columns] as a dense array, for every version of scipy."""
    if sparse.issparse(matrix):
        used = np.zeros(matrix.shape[0], dtype=bool)
        used[rows] = True
        if 2 * np.count_nonzero(used) < len(used):  # scipy looks at all entries before it looks for the cells
            matrix, rows = matrix[used], (np.cumsum(used) - 1)[rows]
    n_cells = matrix.shape[0] * matrix.shape[1]
    if sparse.issparse(matrix) and n_cells <= min(_CELLS_FOR_ONE * len(rows), BLOCK_BYTES // matrix.dtype.itemsize):
        matrix = matrix.toarray()  # faster than to look for each cell
    return as_dense(matrix[rows, columns]).ravel()


def entry_rows(stored: CSR) -> IntArray:
    """Return the row of each stored entry."""
    return np.repeat(np.arange(stored.shape[0]), np.diff(stored.indptr))


def canonical(stored: Any) -> Any:
    """Return a sparse matrix whose entries are sorted, each once; that of the caller is not changed."""
    if not stored.has_canonical_format:
        stored = stored.copy()
        stored.sum_duplicates()
    return stored


def stacked(parts: Sequence[Matrix]) -> Matrix:
    """Return rows below each other; a single part is returned unchanged."""
    if len(parts) == 1:
        return parts[0]
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)


def groups_of_labels(unknown: Matrix) -> list[tuple[IntArray, IntArray]]:
    """Return the labels that are unknown in the same rows, and those rows, by the first label of each group."""
    columns = sparse.csc_array(unknown)
    columns.sort_indices()
    groups: dict[bytes, list[int]] = {}
    hidden = np.split(columns.indices, columns.indptr[1:-1])
    for label, rows in enumerate(hidden):
        groups.setdefault(rows.tobytes(), []).append(label)
    return [(np.array(labels), hidden[labels[0]]) for labels in groups.values()]
