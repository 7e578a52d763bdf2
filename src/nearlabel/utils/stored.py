"""A check of the places that a sparse container stores, before compiled code follows them.

scipy's constructors look at the lengths of the arrays only, and its compiled code at nothing: an index beyond the width
reads or writes memory of others. Nor is a container believed that its entries are sorted, each once.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.utils.types import IntArray


def checked_places(name: str, container: Any) -> Any:
    """Return a sparse container of the same arrays whose every place is inside it, and which knows nothing about order.

    One pass over the indices. Lists of lists and dictionaries of keys become coordinates; entries that CSR, CSC and BSR
    store behind the last row are left out, as scipy does.

    Parameters
    ----------
    name : str
        Name of the argument in messages.
    container : sparse array or matrix
        In any format of scipy.

    Raises
    ------
    ValueError
        If it is not a valid container of numbers.
    """
    family = "array" if isinstance(container, sparse.sparray) else "matrix"
    try:
        stored, parts = _PARTS[container.format](container)
        if stored.dtype.kind not in "buifc":
            raise ValueError(f"its data are of type {stored.dtype}, not numbers")
        kind = getattr(sparse, f"{'coo' if container.format in ('lil', 'dok') else container.format}_{family}")
        return kind((stored, *parts), shape=container.shape)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:  # scipy's too, of sizes
        raise ValueError(
            f"{name} must be a valid sparse container, got a {type(container).__name__} in which {error}. Hint:"
            f" scipy.sparse.csr_{family}((data, (row, column)), shape=...) checks the places that it is given,"
            " ((data, indices, indptr), shape=...) does not."
        ) from error


def _compressed(container: Any) -> tuple[Any, tuple[IntArray, IntArray]]:
    """Return the data, indices and pointers of CSR, CSC and, by blocks, BSR, without what is behind the last row."""
    data = np.asarray(container.data)
    indices, pointers = _integers("indices", container.indices), _integers("indptr", container.indptr)
    lines, width = container.shape if container.ndim == 2 else (1, *container.shape)
    words = "row", "column"
    if container.format == "csc":
        lines, width, words = width, lines, words[::-1]
    if container.format == "bsr":
        if data.ndim != 3 or 0 in data.shape[1:]:
            raise ValueError(f"data have the shape {data.shape}, not (n_blocks, n_rows, n_columns)")
        lines, width = lines // data.shape[1], width // data.shape[2]
        words = "row of blocks", "column of blocks"
    if len(indices) != len(data):
        raise ValueError(f"indices has {len(indices):,} numbers, of {len(data):,} entries")
    _check_pointers(pointers, lines, len(indices), words[0])
    indices = indices[: pointers[-1]]
    _check_range(indices, width, words[1])
    if len(indices) <= np.iinfo(indices.dtype).max:
        pointers = pointers.astype(indices.dtype, copy=False)  # scipy would take the larger type for both
    return data[: pointers[-1]], (indices, pointers)


def _check_pointers(pointers: IntArray, n_lines: int, n_entries: int, word: str) -> None:
    """Raise ValueError unless pointers go up from 0 to at most the number of entries."""
    if len(pointers) != n_lines + 1:
        raise ValueError(f"indptr has {len(pointers):,} numbers, not {n_lines + 1:,}, one more than it has {word}s")
    if pointers[0] != 0:
        raise ValueError(f"indptr starts with {pointers[0]:,}, not with 0")
    falls = pointers[1:] < pointers[:-1]
    if falls.any():
        line = int(falls.argmax())
        raise ValueError(f"{word} {line} ends at entry {pointers[line + 1]:,}, before its start {pointers[line]:,}")
    if pointers[-1] > n_entries:
        raise ValueError(f"indptr ends with {pointers[-1]:,}, of {n_entries:,} entries")


def _coordinates(container: Any) -> tuple[Any, tuple[tuple[IntArray, ...]]]:
    """Return the data of COO, and the places on each axis."""
    data, axes = np.asarray(container.data), tuple(_integers("coords", each) for each in container.coords)
    for places in axes:
        if places.shape != data.shape:
            raise ValueError(f"coords have {len(places):,} numbers, of {len(data):,} entries")
    return data, (_checked_axes(axes, container.shape),)


def _of_lists(container: Any) -> tuple[Any, tuple[tuple[IntArray, ...]]]:
    """Return the values of a list of lists, and their rows and columns."""
    lengths = [len(columns) for columns in container.rows]
    if [len(values) for values in container.data] != lengths or len(lengths) != container.shape[0]:
        raise ValueError(f"rows and data do not have the same number of entries in each of {container.shape[0]:,} rows")
    values = np.array(list(chain.from_iterable(container.data)), dtype=container.dtype)
    columns = _integers("rows", list(chain.from_iterable(container.rows)))
    rows = np.repeat(np.arange(len(lengths)), lengths)
    return values, (_checked_axes((rows, columns), container.shape),)


def _of_dictionary(container: Any) -> tuple[Any, tuple[tuple[IntArray, ...]]]:
    """Return the values of a dictionary of keys, and their places on each axis."""
    keys = list(container.keys())
    places = _integers("keys", list(chain.from_iterable(keys)) if container.ndim > 1 else keys)
    axes = tuple(np.ascontiguousarray(places.reshape(len(keys), container.ndim).T))
    values = np.array(list(container.values()), dtype=container.dtype)
    return values, (_checked_axes(axes, container.shape),)


def _diagonals(container: Any) -> tuple[Any, tuple[IntArray]]:
    """Return the diagonals that have a cell of the container, and their offsets."""
    data, offsets = np.asarray(container.data), _integers("offsets", container.offsets)
    if len(data) != len(offsets):
        raise ValueError(f"offsets has {len(offsets):,} numbers, of {len(data):,} diagonals")
    n_rows, n_columns = container.shape
    inside = (offsets > -n_rows) & (offsets < n_columns)
    return data[inside], (offsets[inside],)


_PARTS = {
    "csr": _compressed,
    "csc": _compressed,
    "bsr": _compressed,
    "coo": _coordinates,
    "lil": _of_lists,
    "dok": _of_dictionary,
    "dia": _diagonals,
}


def _checked_axes(axes: tuple[IntArray, ...], shape: tuple[int, ...]) -> tuple[IntArray, ...]:
    if len(axes) != len(shape):
        raise ValueError(f"there are places on {len(axes)} axes, not {len(shape)}")
    for places, size, word in zip(axes, shape, ("row", "column", *map(str, range(2, len(shape)))), strict=False):
        _check_range(places, size, word)
    return axes


def _check_range(places: IntArray, size: int, word: str) -> None:
    """Raise ValueError for a place that is not from 0 to size - 1."""
    unsigned = places.view(f"u{places.dtype.itemsize}")  # a negative place is larger than any size: one pass, no copy
    if places.size and unsigned.max() >= size:
        entry = int((unsigned >= size).argmax())
        raise ValueError(f"entry {entry:,} has {word} index {places[entry]:,}, of {size:,} {word}s")


def _integers(name: str, values: Any) -> IntArray:
    """Return a one-dimensional array of integers in native byte order."""
    numbers = np.empty(0, dtype=np.int32) if isinstance(values, list) and not values else np.asarray(values)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise ValueError(f"{name} is an array of {numbers.dtype} of {numbers.ndim} dimensions, not a row of integers")
    return numbers.astype(numbers.dtype.newbyteorder("="), copy=False)
