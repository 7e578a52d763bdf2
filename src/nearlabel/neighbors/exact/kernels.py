"""The compiled kernels, if they were built and the processor runs them: their levels, the level in use, and calls.

Arrays are checked here, so that no call can reach memory that is not theirs.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearlabel.utils.types import CSR, BoolArray, FloatArray, IntArray, Matrix

LIBRARY = Path(__file__).parents[1] / "_nearlabel_kernels.so"
VARIABLE = "NEARLABEL_KERNELS"  # of the environment
OFF, _AUTO = "off", "auto"
# Names of levels, and what there may be for each, the best first; as in kernels/nearlabel_kernels.h.
_NUMBERS = {"bf16": (3,), "int16": (2,), "float32": (1, 0, 4), "hostile": (5,)}
_FOR_TESTS = "hostile"
INTERFACE = 8  # of the functions, and of packed points, which files of models contain
_NO_MEMORY = -2

_chosen: ContextVar[str | None] = ContextVar("kernel_level", default=None)
_pointer, _int32, _int64 = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64


def _pointers(*names: str) -> list[tuple[str, Any]]:
    return [(name, _pointer) for name in names]


class SourceStructure(ctypes.Structure):
    """The same structure of kernels/nearlabel_kernels.h, as those below."""

    _fields_ = (
        *(("values", _pointer), ("is64", ctypes.c_uint8), ("unit_length", ctypes.c_uint8), ("n_features", _int32)),
        *(("exponent", _int32), ("row_stride", _int64), ("column_stride", _int64), *_pointers("rows", "centre")),
    )


class PointsStructure(ctypes.Structure):
    """Dense points."""

    _fields_ = (
        *(("packed", _pointer), ("n_points", _int64), ("depth", _int32), ("n_features", _int32)),
        *_pointers("units", "squares", "norms", "rests"),
    )


class SparseRowsStructure(ctypes.Structure):
    """Sparse rows, feature by feature."""

    _fields_ = (
        *(("n_points", _int64), ("n_features", _int32), ("n_terms", _int32), ("n_columns", _int32)),
        *_pointers("stored", "before", "starts", "columns", "rows", "values", "dense", "squares", "norms", "rests"),
    )


class SparseQueriesStructure(ctypes.Structure):
    """Sparse queries, row by row."""

    _fields_ = (("n_points", _int64), *_pointers("starts", "features", "values", "squares", "norms", "rests"))


class CsrStructure(ctypes.Structure):
    """CSR rows."""

    _fields_ = (*_pointers("values", "features", "starts"),)


class LeftOutStructure(ctypes.Structure):
    """Rows that are left out."""

    _fields_ = (("n_labels", _int64), *_pointers("labels", "votes", "starts", "stops", "changed", "into"))


class StumpRunsStructure(ctypes.Structure):
    """Runs of entries."""

    _fields_ = (("n_runs", _int64), *_pointers("starts", "rows", "has_threshold"))


class PanelsStructure(ctypes.Structure):
    """Panels of rows with one centre."""

    _fields_ = (("n_panels", _int64), *_pointers("rows", "numbers"))


class ListsStructure(ctypes.Structure):
    """Lists of candidates."""

    _fields_ = (
        *(("n_neighbors", _int32), ("most", _int32), ("exact", ctypes.c_uint8), ("absolute", ctypes.c_double)),
        *(*_pointers("limits", "room"), ("n_room", _int64)),
        *_pointers("n_used", "starts", "capacities", "n_candidates", "n_sifted", "unresolved"),
    )


def _opened() -> ctypes.CDLL:
    """Return the library; raise OSError with the reason if it cannot be used."""
    if not LIBRARY.exists():
        raise OSError("not built")
    try:
        opened = ctypes.CDLL(str(LIBRARY))
    except OSError as error:
        raise OSError(f"built, but cannot be loaded: {error}") from error
    number = opened.nearlabel_interface() if hasattr(opened, "nearlabel_interface") else None
    if number != INTERFACE:
        raise OSError(f"built for another version of nearlabel: interface {number}, not {INTERFACE}")
    return opened


def kernels_state() -> str:
    """Return "built", or the reason why there are no kernels."""
    try:
        _opened()
    except OSError as error:
        return str(error)
    return "built"


@cache
def library() -> Any:
    """Return the library; None if it was not built, cannot be loaded or is of another version."""
    try:
        library = _opened()
    except OSError:
        return None
    pointer = ctypes.POINTER
    source, points, lists = pointer(SourceStructure), pointer(PointsStructure), pointer(ListsStructure)
    sparse_rows, sparse_queries = pointer(SparseRowsStructure), pointer(SparseQueriesStructure)
    runs, csr = pointer(StumpRunsStructure), pointer(CsrStructure)
    two_rows = _pointer, _pointer, _int64, _pointer  # of pairs, how many, and the sums
    rest_of_offer = _pointer, _pointer, lists, lists
    library.nearlabel_levels.restype = ctypes.c_uint32
    library.nearlabel_levels.argtypes = ()
    library.nearlabel_packed_bytes.restype = _int64
    library.nearlabel_packed_bytes.argtypes = (_int32, _int32, _int64, _int32, ctypes.POINTER(_int32))
    library.nearlabel_squares.argtypes = (source, _int64, _pointer, _int32, _pointer)
    library.nearlabel_pack.argtypes = (_int32, _int32, source, points)
    library.nearlabel_offer.argtypes = (_int32, points, _pointer, points, *rest_of_offer)
    library.nearlabel_offer_panels.argtypes = (
        *(_int32, pointer(PanelsStructure), _pointer, _int64, _pointer, points, lists),
    )
    library.nearlabel_offer_sparse.argtypes = (_int32, sparse_rows, _pointer, sparse_queries, *rest_of_offer)
    library.nearlabel_sum_sparse_pairs.argtypes = (_int32, _int32, _int32, csr, csr, *two_rows)
    library.nearlabel_sum_pairs.argtypes = (_int32, _int32, _int32, _pointer, _pointer, _int64, *two_rows)
    left_out = ctypes.POINTER(LeftOutStructure)
    library.nearlabel_left_out.argtypes = (left_out, _pointer, _int64, _pointer, _pointer)
    library.nearlabel_least_z.argtypes = (runs, _pointer, _pointer, _pointer, _int32, _pointer)
    return library


@cache
def level_numbers() -> dict[str, int]:
    """Return the number of each level that the processor runs; none if it has no float32, which the others fall to."""
    found = 0 if library() is None else library().nearlabel_levels()
    best = {name: [number for number in numbers if found >> number & 1] for name, numbers in _NUMBERS.items()}
    return {name: numbers[0] for name, numbers in best.items() if numbers} if best["float32"] else {}


def kernel_levels() -> tuple[str, ...]:
    """Return the levels of the kernels that can be used here, the fastest first, and "off", which always can.

    Returns
    -------
    tuple of str
        Some of "bf16" (tiles of AMX), "int16" (AVX512-VNNI) and "float32" (AVX-512, AVX2 or NEON), and "off".

    See Also
    --------
    kernel_level : Sets one.

    Examples
    --------
    >>> from nearlabel.neighbors import kernel_levels
    >>> kernel_levels()[-1]
    'off'
    """
    return (*[name for name in level_numbers() if name != _FOR_TESTS], OFF)


def kernel_in_use() -> str:
    """Return the level that searches use now: that of `kernel_level`, or of NEARLABEL_KERNELS, or "auto".

    "auto" is the fastest there is, or "off" where there is none.
    """
    chosen = _chosen.get() or os.environ.get(VARIABLE) or _AUTO
    if chosen == _AUTO:
        return kernel_levels()[0]
    if chosen != OFF and chosen not in level_numbers():
        raise ValueError(f"{VARIABLE} must be one of {', '.join(kernel_levels())} here, got {chosen!r}.")
    return chosen


@contextmanager
def kernel_level(level: str) -> Iterator[None]:
    """Search with one level of the kernels, or without them, inside a ``with`` block.

    Results are the same to the bit. A search that was fitted outside the block keeps its level, until it is copied or
    loaded from a file.

    Parameters
    ----------
    level : {"auto", "bf16", "int16", "float32", "off"}
        One of `kernel_levels()`; "auto": the fastest.

    Raises
    ------
    ValueError
        If the level cannot be used here.

    Examples
    --------
    >>> from nearlabel.neighbors import ExactNeighbors, kernel_level
    >>> with kernel_level("off"):
    ...     ExactNeighbors().fit([[0.0], [1.0], [3.0]]).kneighbors(n_neighbors=1, return_distance=False).tolist()
    [[1], [0], [1]]
    """
    if level not in (OFF, _AUTO) and level not in level_numbers():
        raise ValueError(f"level must be one of {', '.join(kernel_levels())} here, got {level!r}.")
    token = _chosen.set(level)
    try:
        yield
    finally:
        _chosen.reset(token)


def sum_pairs(
    kind: int, left: NDArray[Any], right: NDArray[Any], pairs: tuple[IntArray, IntArray]
) -> FloatArray | None:
    """Return sums over the features, in their order, of squared differences (0) or products (1) of pairs of rows.

    None if there is no kernel, or it does not take these arrays.
    """
    level = kernel_in_use()
    if level == OFF or left.dtype != right.dtype or left.dtype not in (np.float32, np.float64):
        return None
    regular = all(of.flags.c_contiguous and of.flags.aligned for of in (left, right))
    if not (regular and left.shape[1] == right.shape[1]):
        return None
    rows = _rows_of_pairs(left, right, pairs)
    if rows is None:
        return None
    sums = np.empty(len(rows[0]))
    check_code(
        library().nearlabel_sum_pairs(
            *(level_numbers()[level], kind, left.dtype == np.float64),
            *(left.ctypes.data, right.ctypes.data, left.shape[1]),
            *(rows[0].ctypes.data, rows[1].ctypes.data, len(sums), sums.ctypes.data),
        )
    )
    return sums


def sum_sparse_pairs(kind: int, left: CSR, right: CSR, pairs: tuple[IntArray, IntArray]) -> FloatArray | None:
    """As `sum_pairs` for canonical CSR rows: the features that one of two rows has, in their order."""
    types = {(rows.dtype, rows.indices.dtype, rows.indptr.dtype) for rows in (left, right)}
    if kernel_in_use() == OFF or len(types) > 1 or left.dtype not in (np.float32, np.float64):
        return None
    index = left.indices.dtype
    if index != left.indptr.dtype or index not in (np.int32, np.int64):
        return None
    rows = _rows_of_pairs(left, right, pairs)
    if rows is None or not (is_valid_csr(left) and is_valid_csr(right)):
        return None
    sums = np.empty(len(rows[0]))
    check_code(
        library().nearlabel_sum_sparse_pairs(
            *(kind, left.dtype == np.float64, index == np.int64, _csr_structure(left), _csr_structure(right)),
            *(rows[0].ctypes.data, rows[1].ctypes.data, len(sums), sums.ctypes.data),
        )
    )
    return sums


class StumpRuns:
    """Sorted entries of features in runs, for `least_z`.

    Parameters
    ----------
    starts : ndarray of shape (n_runs + 1,)
        First entry of each run, then the number of entries.
    rows : ndarray of shape (n_entries,)
        Row of each entry.
    has_threshold : ndarray of shape (n_entries,)
        Whether a threshold follows the entry.
    n_rows : int
        Number of rows.

    Raises
    ------
    ValueError
        If the arrays do not fit together.
    """

    def __init__(self, starts: IntArray, rows: IntArray, has_threshold: BoolArray, n_rows: int) -> None:
        self._starts = np.ascontiguousarray(starts, dtype=np.int64)
        self._rows = np.ascontiguousarray(rows, dtype=np.int32)
        self._has_threshold = np.ascontiguousarray(has_threshold, dtype=np.uint8)
        self.n_runs, self.n_rows = len(self._starts) - 1, n_rows
        fit = self._starts[0] == 0 and self._starts[-1] == len(self._rows) == len(self._has_threshold)
        exist = ((self._rows >= 0) & (self._rows < n_rows)).all()
        if not (fit and exist and (np.diff(self._starts) >= 0).all()):
            raise ValueError(f"starts and rows must be those of runs of {n_rows} rows, got others.")

    @property
    def structure(self) -> StumpRunsStructure:
        """What the kernel takes."""
        arrays = (array.ctypes.data for array in (self._starts, self._rows, self._has_threshold))
        return StumpRunsStructure(self.n_runs, *arrays)


def least_z(runs: StumpRuns, weights: FloatArray, reached: BoolArray | None = None) -> FloatArray | None:
    """Return for each run the least criterion of a stump, Z = 2 Σ_labels Σ_sides √(W₊ W₋), but for rounding.

    It is infinite where the Z of another run is smaller by more than a part in 10¹⁰. `weights` (n_rows, 2 * n_labels)
    are W₊ and W₋ of each row; only rows that are `reached` count, all if it is None. None if there is no kernel.
    """
    if kernel_in_use() == OFF:
        return None
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    mask = None if reached is None else np.ascontiguousarray(reached, dtype=np.uint8)
    if len(weights) != runs.n_rows or weights.shape[1] % 2 or (mask is not None and mask.shape != (runs.n_rows,)):
        raise ValueError(f"weights and reached must have {runs.n_rows} rows, got {len(weights)}.")
    totals = weights.sum(axis=0) if mask is None else weights[mask != 0].sum(axis=0)
    least = np.empty(runs.n_runs)
    check_code(
        library().nearlabel_least_z(
            *(runs.structure, None if mask is None else mask.ctypes.data, weights.ctypes.data, totals.ctypes.data),
            *(weights.shape[1] // 2, least.ctypes.data),
        )
    )
    return least


class LeftOut:
    """Counts of rows by their votes, when a row is left out: what changes in the lists of neighbours of other rows.

    Parameters
    ----------
    labels : ndarray of int8 of shape (n_rows, n_labels)
        0 or 1.
    votes : ndarray of int8 of shape (n_rows, n_labels)
        Of each row's neighbours.
    starts, stops : ndarray of int of shape (n_rows,)
        The events of each row: it leaves the list of a row `changed`, which gains the neighbour `into`.
    changed, into : ndarray of int of shape (n_events,)
        Row numbers.

    Raises
    ------
    ValueError
        If the arrays do not fit together.
    """

    def __init__(
        self, labels: Any, votes: Any, starts: IntArray, stops: IntArray, changed: IntArray, into: IntArray
    ) -> None:
        self.labels, self.votes = (np.ascontiguousarray(of, dtype=np.int8) for of in (labels, votes))
        events = (np.ascontiguousarray(of, dtype=np.int64) for of in (starts, stops, changed, into))
        self._starts, self._stops, self._changed, self._into = events
        n_rows, n_events = len(self.labels), len(self._changed)
        fit = self.votes.shape == self.labels.shape and self._starts.shape == self._stops.shape == (n_rows,)
        exist = all(_are_below(n_rows, of) for of in (self._changed, self._into))
        if not (fit and exist and self._into.shape == (n_events,)):
            raise ValueError(f"votes and events must be those of {n_rows} rows, got others.")
        if not (_are_below(n_events + 1, self._stops) and _are_below(n_events + 1, self._starts)):
            raise ValueError(f"events must be {n_events} at most, got more.")

    def change(self, rows: IntArray, counts: IntArray) -> None:
        """Add to counts (2, n_rows, n_labels), of rows without and with each label, what changes without each row."""
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        regular = counts.dtype == np.int64 and counts.flags.c_contiguous
        if not (
            regular and counts.shape == (2, len(rows), self.labels.shape[1]) and _are_below(len(self.labels), rows)
        ):
            raise ValueError(f"counts must be int64 of {len(rows)} rows, got {counts.dtype} {counts.shape}.")
        arrays = self.labels, self.votes, self._starts, self._stops, self._changed, self._into
        structure = LeftOutStructure(self.labels.shape[1], *(array.ctypes.data for array in arrays))
        check_code(
            library().nearlabel_left_out(
                *(structure, rows.ctypes.data, len(rows), counts[0].ctypes.data, counts[1].ctypes.data)
            )
        )


def _are_below(end: int, numbers: IntArray) -> bool:
    return not len(numbers) or bool(numbers.min() >= 0 and numbers.max() < end)


def _rows_of_pairs(left: Matrix, right: Matrix, pairs: tuple[IntArray, IntArray]) -> list[NDArray[np.int64]] | None:
    """Return the row numbers in the format of the kernels; None if a number is out of range."""
    rows = [np.ascontiguousarray(of, dtype=np.int64) for of in pairs]
    if rows[0].shape != rows[1].shape or rows[0].ndim != 1:
        return None
    for numbers, of in zip(rows, (left, right), strict=True):
        if not _are_below(of.shape[0], numbers):
            return None  # numpy counts from the end, or raises the right error
    return rows


def is_valid_csr(rows: CSR) -> bool:
    """Return whether each row is a part of its arrays, which are contiguous."""
    starts, n_stored = rows.indptr, min(len(rows.indices), len(rows.data))
    whole = all(part.flags.c_contiguous and part.flags.aligned for part in (starts, rows.indices, rows.data))
    bounded = len(starts) == rows.shape[0] + 1 and starts[0] >= 0 and starts[-1] <= n_stored
    return bool(whole and bounded and (starts[1:] >= starts[:-1]).all())


def _csr_structure(rows: CSR) -> CsrStructure:
    return CsrStructure(rows.data.ctypes.data, rows.indices.ctypes.data, rows.indptr.ctypes.data)


def check_code(code: int) -> None:
    """Raise RuntimeError unless the kernels accepted a call, MemoryError if they found no memory."""
    if code == _NO_MEMORY:
        raise MemoryError("The kernels found no memory.")
    if code != 0:
        raise RuntimeError(f"The kernels refused a call: code {code}. Hint: {VARIABLE}=off searches without them.")
