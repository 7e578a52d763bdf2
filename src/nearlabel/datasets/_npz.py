"""numpy's ``.npz`` files: features, label sets and names as arrays, none of them pickled."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.datasets._dataset import Dataset
from nearlabel.datasets._unknown import (
    as_stored,
    check_beside_zero_and_one,
    check_unknown,
    not_zero_one,
    number_of,
    with_unknown,
)
from nearlabel.files.atomic_file import whole_file
from nearlabel.utils.types import CSR, Matrix

_PARTS = ("data", "indices", "indptr", "shape")  # of a CSR matrix: X_data and so on


def read_npz(path: str | Path, *, unknown: str | None = None) -> Dataset:
    """Read a data set from a ``.npz`` file.

    Parameters
    ----------
    path : path-like
        Holds ``X`` and ``Y`` as two-dimensional arrays, or, of a CSR matrix, ``X_data``, ``X_indices``, ``X_indptr``
        and ``X_shape``; and, if it has them, ``feature_names``, ``feature_kinds`` and ``label_names``. Nothing in it is
        ever unpickled.
    unknown : str, default=None
        The number in ``Y`` that stands for an unknown label, as NaN always does: "-1".

    Returns
    -------
    Dataset
        X (n_samples, n_features) float64 and Y (n_samples, n_labels) int64, or float64 with NaN where labels are
        unknown, dense or CSR as in the file. Without names, features and labels bear their numbers.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If the file is damaged, lacks an array, or an array is not what it must be, or `unknown` is no number or 0 or 1.

    See Also
    --------
    write_npz : Write it.
    """
    path = Path(path)
    check_unknown(unknown)
    check_beside_zero_and_one(unknown)
    if unknown is not None and number_of(unknown) is None:
        raise ValueError(f"unknown must be a number for {path}, whose labels are numbers, got {unknown!r}.")
    with open_npz(path) as arrays:
        X = matrix_of(path, arrays, "X")
        Y = _labels_of(path, arrays, X.shape[0], unknown)
        feature_names = names_of(path, arrays, "feature_names", X.shape[1])
        label_names = names_of(path, arrays, "label_names", Y.shape[1])
        kinds = names_of(path, arrays, "feature_kinds", X.shape[1]) if "feature_kinds" in arrays else ()
    return Dataset(X, Y, feature_names, label_names, path.stem, kinds, source=str(path))


def write_npz(path: str | Path, dataset: Dataset) -> Path:
    """Write a data set to a ``.npz`` file, which appears when it is complete.

    Parameters
    ----------
    path : path-like
        Must end in ``.npz``. A file of this name is replaced.
    dataset : Dataset
        X and Y are kept dense or CSR, as they are, data frames as such; its name is not kept, the file's stands for it.

    Returns
    -------
    path : pathlib.Path

    Raises
    ------
    ValueError
        If the path does not end in ``.npz``.
    OSError
        If the file cannot be written; what was there before stays.

    See Also
    --------
    read_npz : Read it.
    write_store : Keep a matrix so that it can be mapped into memory, which a ``.npz`` file cannot be.

    Examples
    --------
    >>> import tempfile
    >>> from nearlabel.datasets import load_multidigits, read_npz, write_npz
    >>> path = write_npz(Path(tempfile.mkdtemp()) / "digits.npz", load_multidigits())
    >>> read_npz(path)
    Dataset 'digits': 2000 rows, 81 features, 10 labels (dense)
    """
    path = Path(path)
    if path.suffix.lower() != ".npz":
        raise ValueError(f"path must end in .npz, got {path.name!r}.")
    dataset = dataset.with_arrays()
    arrays = _arrays_of("X", dataset.X) | _arrays_of("Y", dataset.Y)
    arrays |= {"feature_names": np.array(dataset.feature_names, dtype=np.str_)}
    arrays |= {"label_names": np.array(dataset.label_names, dtype=np.str_)}
    if set(dataset.feature_kinds) > {"number"} or "number" not in dataset.feature_kinds:
        arrays |= {"feature_kinds": np.array(dataset.feature_kinds, dtype=np.str_)}
    with whole_file(path) as partial, partial.open("wb") as file:
        np.savez(file, **arrays)
    return path


@contextmanager
def open_npz(path: Path) -> Iterator[Mapping[str, NDArray[Any]]]:
    """Open the arrays of a file; each is read when it is asked for."""
    with path.open("rb") as file:  # a missing file or a folder is told from a damaged one
        if not zipfile.is_zipfile(file):
            raise ValueError(f"{path} must be a whole .npz file, got something else or a part of one.")
        file.seek(0)
        try:
            with np.load(file, allow_pickle=False) as arrays:
                yield arrays
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise ValueError(f"{path} must be a whole .npz file, got a damaged one: {error}.") from error


def matrix_of(path: Path, arrays: Mapping[str, NDArray[Any]], name: str) -> Matrix:
    """Return a matrix as float64, dense or CSR."""
    parts = [f"{name}_{part}" for part in _PARTS]
    if name not in arrays and not set(parts).issubset(arrays):
        got = ", ".join(arrays) or "no array"
        raise ValueError(f"{path} must contain an array {name}, or {', '.join(parts)}, got {got}.")
    matrix = array_of(path, arrays, name) if name in arrays else _csr(path, name, arrays, parts)
    if matrix.ndim != 2 or matrix.dtype.kind not in "buif":
        got = f"{matrix.dtype} of shape {matrix.shape}"
        raise ValueError(f"{path}: {name} must be a two-dimensional array of numbers, got {got}.")
    if not matrix.shape[0]:
        raise ValueError(f"{path} must contain at least one row, got none.")
    return matrix.astype(np.float64, copy=False)


def _csr(path: Path, name: str, arrays: Mapping[str, NDArray[Any]], parts: Sequence[str]) -> CSR:
    data, indices, indptr, shape = (array_of(path, arrays, part) for part in parts)
    try:
        matrix = sparse.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
        matrix.check_format(full_check=True)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {', '.join(parts)} must be those of a CSR matrix, got: {error}.") from error
    matrix.sum_duplicates()
    return matrix


def array_of(path: Path, arrays: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    """Return one array of the file."""
    try:
        array = arrays[name]
    except ValueError as error:
        raise ValueError(f"{path}: {name} must be an array of numbers or text, got: {error}.") from error
    if not isinstance(array, np.ndarray):  # numpy gives the bytes of a member that does not begin as arrays do
        raise ValueError(f"{path}: {name} must be an array of numbers or text, got something else.")
    return array


def names_of(path: Path, arrays: Mapping[str, NDArray[Any]], name: str, length: int) -> tuple[str, ...]:
    """Return the names in the file, else the numbers from 0."""
    if name not in arrays:
        return tuple(map(str, range(length)))
    names = array_of(path, arrays, name)
    if names.shape != (length,) or names.dtype.kind != "U":
        raise ValueError(f"{path}: {name} must be {length} texts, got {names.dtype} of shape {names.shape}.")
    return tuple(names.tolist())


def _labels_of(path: Path, arrays: Mapping[str, NDArray[Any]], n_rows: int, unknown: str | None) -> Matrix:
    """Return Y: int64 unless a label is unknown."""
    Y = with_unknown(matrix_of(path, arrays, "Y"), unknown)
    if Y.shape[0] != n_rows:
        raise ValueError(f"{path}: Y must have as many rows as X, {n_rows}, got {Y.shape[0]}.")
    values = Y.data if sparse.issparse(Y) else Y
    wrong = values[(values != 0) & (values != 1) & ~np.isnan(values)]
    if wrong.size:
        raise not_zero_one(f"{path}: Y must contain 0, 1 and NaN only", wrong[0])
    return as_stored(Y)


def _arrays_of(name: str, matrix: Matrix) -> dict[str, Any]:
    if not sparse.issparse(matrix):
        return {name: matrix}
    values = (matrix.data, matrix.indices, matrix.indptr, np.array(matrix.shape))
    return {f"{name}_{part}": value for part, value in zip(_PARTS, values, strict=True)}
