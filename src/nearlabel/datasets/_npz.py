"""NumPy's ``.npz`` files: features, label sets and names as arrays, none of them pickled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from scipy import sparse

from nearlabel.datasets._dataset import Dataset, check_unweighted
from nearlabel.datasets._label_codes import as_stored, check_unknown, not_zero_one, number_of, with_unknown
from nearlabel.datasets._lines import name_of_data
from nearlabel.datasets._numbered_names import LARGEST_LABEL_COUNT, NumberedNames, counts_of
from nearlabel.files.atomic_file import whole_file
from nearlabel.files.untrusted import naming_too_large, open_npz
from nearlabel.utils.containers import rounded_integer
from nearlabel.utils.types import CSR, AnyArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import check_integer

_NAMED_ARRAYS = 10  # in a message
_PARTS = ("data", "indices", "indptr", "shape")  # of a CSR matrix: X_data and so on


@naming_too_large
def read_npz(path: str | Path, *, unknown: str | None = None, max_unpacked_bytes: int | None = None) -> Dataset:
    """Read a data set from a ``.npz`` file, which may be untrusted.

    Parameters
    ----------
    path : path-like
        Contains ``X`` and ``Y`` as two-dimensional arrays or, for a CSR matrix, ``X_data``, ``X_indices``, ``X_indptr``
        and ``X_shape``; optionally ``feature_names``, ``feature_kinds`` and ``label_names``. Nothing in it is ever
        unpickled.
    unknown : str, default=None
        The number in ``Y`` that means an unknown label, as NaN always does: "-1".
    max_unpacked_bytes : int, default=None
        How much the arrays may take, each number as 8 bytes, whatever its type in the file, and each text as at least
        64. None: 512 MiB, or 100 times the size of the file if that is more. Reading takes at most four times as much.

    Returns
    -------
    Dataset
        X (n_samples, n_features) float64 and Y (n_samples, n_labels) int64, or float64 with NaN where labels are
        unknown, dense or CSR as in the file. Without names, the names are the numbers of features and labels; then
        there are at
        most 4,194,304 labels.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If the file is damaged, lacks an array or would take too much memory, or an array is invalid; the message names
        the file and the array. Or if `unknown` is no number or is 0 or 1.

    See Also
    --------
    write_npz : Write it.

    Examples
    --------
    >>> import tempfile
    >>> from nearlabel.datasets import load_multidigits, read_npz, write_npz
    >>> path = write_npz(Path(tempfile.mkdtemp()) / "digits.npz", load_multidigits())
    >>> read_npz(path).Y.shape
    (2000, 10)
    """
    path = Path(path)
    check_unknown(unknown, beside_zero_and_one=True)
    if unknown is not None and number_of(unknown) is None:
        raise ValueError(f"unknown must be a number for {path}, whose labels are numbers, got {unknown!r}.")
    if max_unpacked_bytes is not None:
        check_integer("max_unpacked_bytes", max_unpacked_bytes, low=1)
    with open_npz(path, max_unpacked_bytes) as arrays:
        X = matrix_of(path, arrays, "X")
        Y = _labels_of(path, arrays, X.shape[0], unknown)
        feature_names = names_of(path, arrays, "feature_names", X.shape[1])
        if Y.shape[1] > LARGEST_LABEL_COUNT and "label_names" not in arrays:
            got = f"{Y.shape[1]}. Hint: label_names, an array with the name of each"
            raise ValueError(f"{path}: Y must have at most {LARGEST_LABEL_COUNT} labels without names, got {got}.")
        label_names = names_of(path, arrays, "label_names", Y.shape[1])
        kinds = names_of(path, arrays, "feature_kinds", X.shape[1]) if "feature_kinds" in arrays else ()
    try:
        return Dataset(X, Y, feature_names, label_names, name_of_data(path), kinds, source=str(path))
    except ValueError as error:  # names and kinds come from the file
        raise ValueError(f"{path}: {error}") from error


def write_npz(path: str | Path, dataset: Dataset) -> Path:
    """Write a data set to a ``.npz`` file, which appears when it is complete.

    Parameters
    ----------
    path : path-like
        Must end in ``.npz``. A file of this name is replaced.
    dataset : Dataset
        X and Y are saved dense or CSR, as in the data set, data frames as such matrices. The name of the data set is
        not saved: readers take it from the name of the file.

    Returns
    -------
    path : pathlib.Path

    Raises
    ------
    ValueError
        If the path does not end in ``.npz``, a name ends in a NUL character, or the data set has weights, for which the
        file has no place.
    OSError
        If the file cannot be written; an existing file is then unchanged.

    See Also
    --------
    read_npz : Read it.
    write_store : Save a matrix so that it can be mapped into memory, which a ``.npz`` file cannot be.

    Examples
    --------
    >>> import tempfile
    >>> from nearlabel.datasets import load_multidigits, read_npz, write_npz
    >>> path = write_npz(Path(tempfile.mkdtemp()) / "digits.npz", load_multidigits())
    >>> read_npz(path)
    Dataset 'digits': 2000 rows, 81 features, 10 labels (dense)
    """
    path = Path(path)
    check_unweighted(dataset)
    if path.suffix.lower() != ".npz":
        raise ValueError(f"path must end in .npz, got {path.name!r}.")
    dataset = dataset.with_arrays()
    arrays = _arrays_of("X", dataset.X) | _arrays_of("Y", dataset.Y)
    for what in ("feature_names", "label_names"):
        names = getattr(dataset, what)
        if not isinstance(names, NumberedNames):  # these are made again when the file is read
            arrays[what] = _as_texts(what, names)
    kinds = set(counts_of(dataset.feature_kinds))
    if kinds > {"number"} or "number" not in kinds:
        arrays |= {"feature_kinds": np.array(dataset.feature_kinds, dtype=np.str_)}
    with whole_file(path) as partial, partial.open("wb") as file:
        np.savez(file, **arrays)
    return path


def matrix_of(path: Path, arrays: Mapping[str, AnyArray], name: str) -> Matrix:
    """Return a matrix as float64, dense or CSR."""
    parts = [f"{name}_{part}" for part in _PARTS]
    if name not in arrays and not set(parts).issubset(arrays):
        got = ", ".join(list(arrays)[:_NAMED_ARRAYS])[:200] or "no array"
        raise ValueError(f"{path} must contain an array {name}, or {', '.join(parts)}, got {got}.")
    matrix = _dense(path, name, arrays[name]) if name in arrays else _csr(path, name, arrays, parts)
    if not matrix.shape[0]:
        raise ValueError(f"{path} must contain at least one row, got none.")
    return matrix


def _dense(path: Path, name: str, array: AnyArray) -> FloatArray:
    if array.ndim != 2 or array.dtype.kind not in "buif":
        got = f"{array.dtype} of shape {array.shape}"
        raise ValueError(f"{path}: {name} must be a two-dimensional array of numbers, got {got}.")
    return _as_float64(path, name, array)


def _as_float64(path: Path, name: str, array: AnyArray) -> FloatArray:
    if (found := rounded_integer(array)) is not None:
        raise ValueError(f"{path}: {name} must contain numbers that float64 can store, got the integer {found}.")
    with np.errstate(all="ignore"):  # a long double may become infinite, and a NaN of a kind of its own a usual one
        return array.astype(np.float64, copy=False)


def _csr(path: Path, name: str, arrays: Mapping[str, AnyArray], parts: Sequence[str]) -> CSR:
    """Return a CSR matrix from its parts, after checks: scipy would check only some, and after allocating memory."""
    data, indices, indptr, shape = (arrays[part] for part in parts)
    if wrong := _wrong_parts(data, indices, indptr, shape):
        raise ValueError(f"{path}: {', '.join(parts)} must be those of a CSR matrix, got {wrong}.")
    n_rows, n_columns = shape.tolist()
    index_type = np.int32 if max(n_columns, len(indices)) <= np.iinfo(np.int32).max else np.int64
    of_rows = (
        _as_float64(path, parts[0], data),
        indices.astype(index_type, copy=False),
        indptr.astype(index_type, copy=False),
    )
    matrix = sparse.csr_array(of_rows, shape=(n_rows, n_columns))
    matrix.sum_duplicates()
    return matrix


def _wrong_parts(data: AnyArray, indices: AnyArray, indptr: AnyArray, shape: AnyArray) -> str:
    """Return the error in the parts of a CSR matrix, or nothing."""
    for part, array, kinds in zip(_PARTS, (data, indices, indptr, shape), ("buif", "iu", "iu", "iu"), strict=True):
        if array.ndim != 1 or array.dtype.kind not in kinds:
            return f"{part} of type {array.dtype} and shape {array.shape}"
    if len(shape) != 2 or not (shape.min() >= 0 and shape.max() <= np.iinfo(np.int64).max):
        return f"the shape {shape[:3].tolist()}"
    if len(indptr) != int(shape[0]) + 1 or len(data) != len(indices):
        return f"{len(data)} data, {len(indices)} indices and {len(indptr)} in indptr for {shape[0]} rows"
    if indptr[0] != 0 or indptr[-1] != len(indices) or (indptr[1:] < indptr[:-1]).any():
        return f"an indptr that does not rise from 0 to {len(indices)}"
    if len(indices) and not (indices.min() >= 0 and int(indices.max()) < int(shape[1])):
        return f"indices from {indices.min()} to {indices.max()} for {shape[1]} columns"
    return ""


def with_columns(matrix: Matrix, columns: IntArray) -> Matrix:
    """Return some columns of a matrix."""
    if len(columns) == matrix.shape[1] and np.array_equal(columns, np.arange(len(columns))):
        return matrix
    if not sparse.issparse(matrix):
        return matrix[:, columns]
    # scipy takes memory for each column that there is: they may be a thousand million
    known = np.union1d(matrix.indices, columns)
    parts = (matrix.data, np.searchsorted(known, matrix.indices), matrix.indptr)
    return sparse.csr_array(parts, shape=(matrix.shape[0], len(known)))[:, np.searchsorted(known, columns)]


def names_of(path: Path, arrays: Mapping[str, AnyArray], name: str, length: int) -> tuple[str, ...]:
    """Return the names in the file, else the numbers from 0."""
    if name not in arrays:
        return cast("tuple[str, ...]", NumberedNames(length))
    names = arrays[name]
    if names.shape != (length,) or names.dtype.kind != "U":
        raise ValueError(f"{path}: {name} must be {length} texts, got {names.dtype} of shape {names.shape}.")
    return tuple(names.tolist())


def _labels_of(path: Path, arrays: Mapping[str, AnyArray], n_rows: int, unknown: str | None) -> Matrix:
    """Return Y: int64 unless a label is unknown."""
    Y = with_unknown(matrix_of(path, arrays, "Y"), unknown)
    if Y.shape[0] != n_rows:
        raise ValueError(f"{path}: Y must have as many rows as X, {n_rows}, got {Y.shape[0]}.")
    values = Y.data if sparse.issparse(Y) else Y
    wrong = values[(values != 0) & (values != 1) & ~np.isnan(values)]
    if wrong.size:
        raise not_zero_one(f"{path}: Y must contain 0, 1 and NaN only", wrong[0])
    return as_stored(Y)


def _as_texts(what: str, names: Sequence[str]) -> AnyArray:
    texts = np.array(names, dtype=np.str_)
    if texts.tolist() != list(names):
        raise ValueError(f"{what} must not end in a NUL character, which NumPy drops, got such a name.")
    return texts


def _arrays_of(name: str, matrix: Matrix) -> dict[str, Any]:
    if not sparse.issparse(matrix):
        return {name: matrix}
    values = (matrix.data, matrix.indices, matrix.indptr, np.array(matrix.shape))
    return {f"{name}_{part}": value for part, value in zip(_PARTS, values, strict=True)}
