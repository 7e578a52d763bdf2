"""Random problems for estimators: rows of every type, magnitude and container, and label sets in every form.

A seed gives one problem, the same on every machine. The numbers that a container holds are drawn first, so that each
container of a problem holds the very same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

TYPES = ["f8", "f8", "f8", "f4", "f2", ">f8", ">f4", "i8", "i1", "u1", ">i4", "?", "O"]
_MOST = 60000.0  # that float16 holds


@dataclass(frozen=True)
class Problem:
    """One problem: an estimator by name, numbers as float64, and how both sides are handed over."""

    seed: int
    model: str
    k: int
    rows: np.ndarray  # (n_samples, n_features), what every container holds
    queries: np.ndarray
    labels: np.ndarray  # (n_samples, n_labels), 0 and 1
    dtype: str
    container: str
    label_container: str
    exponent: int  # of two, by which small whole numbers were multiplied; 0 for numbers of other kinds
    kind: str
    bad_cell: bool  # whether a value is NaN or infinite

    @property
    def is_well_conditioned(self) -> bool:
        """Whether rows are near zero and of one size, so that solvers do not magnify how sums are rounded."""
        return not self.kind.startswith("far") and not self.kind.endswith("many sizes")

    @property
    def is_ordinary(self) -> bool:
        """Whether every estimator must answer: enough rows, finite numbers that are neither huge nor tiny."""
        sizes = np.abs(self.rows[self.rows != 0])
        return (
            not self.bad_cell
            and self.rows.shape[0] >= 12
            and self.rows.shape[1] >= 1
            and self.labels.shape[1] >= 1
            and self.k < self.rows.shape[0] // 2
            and (not sizes.size or (sizes.max() < 1e6 and sizes.min() > 1e-6))
        )

    def __str__(self) -> str:
        """Describe the problem in a line."""
        shape = f"{self.rows.shape[0]} x {self.rows.shape[1]}"
        held = f"2^{self.exponent}, {self.dtype}, {self.container}"
        labels = f"{self.labels.shape[1]} labels ({self.label_container})"
        return f"seed {self.seed}: {self.model}(k={self.k}) on {shape} rows, {self.kind} ({held}), {labels}"


def problem(seed: int, models: list[str]) -> Problem:
    """Return the problem of a seed, its estimator being one of `models`."""
    rng = np.random.default_rng(seed)
    model, dtype = str(rng.choice(models)), str(rng.choice(TYPES))
    shape = _size(rng, [0, 1, 2, 3], 4, 30), _size(rng, [0, 1], 1, 7)
    kind = str(rng.choice(list(_KINDS)))
    rows, exponent = _KINDS[kind](rng, shape), 0
    if kind in ("whole", "two values") and dtype in ("f8", ">f8", "O") and rng.random() < 0.5:
        exponent = int(rng.choice([rng.integers(-1070, 1018), rng.integers(500, 515), rng.integers(-560, -400)]))
        rows = np.ldexp(rows, exponent)
    rows, dtype = _as_held(_with_repeats(rng, rows), dtype)
    queries = np.vstack([rows[: shape[0] : 4], _changed(rng, rows)])
    bad_cell = bool(rows.size) and dtype[-2:] in ("f8", "f4") and rng.random() < 0.03
    if bad_cell:
        rows[rng.integers(shape[0]), rng.integers(shape[1])] = rng.choice([np.nan, np.inf, -np.inf])
    return Problem(
        seed,
        model,
        int(rng.integers(1, 7)),
        rows,
        queries,
        _labels(rng, shape[0]),
        dtype,
        str(rng.choice(list(CONTAINERS))),
        str(rng.choice(list(LABEL_CONTAINERS))),
        exponent,
        kind,
        bad_cell,
    )


def _size(rng: np.random.Generator, odd: list[int], low: int, high: int) -> int:
    return int(rng.choice(odd)) if rng.random() < 0.08 else int(rng.integers(low, high + 1))


_KINDS: Mapping[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "whole": lambda rng, shape: rng.integers(-3, 4, shape).astype(float),
    "two values": lambda rng, shape: rng.integers(0, 2, shape).astype(float),
    "counts": lambda rng, shape: rng.poisson(0.3, shape).astype(float),
    "spread": lambda rng, shape: rng.normal(size=shape),
    "far from zero": lambda rng, shape: 1e8 + rng.integers(0, 5, shape) / 4,
    "far and near": lambda rng, shape: 1e8 + 1e-3 * rng.normal(size=shape),
    "equal": lambda rng, shape: np.repeat(rng.normal(size=(1, shape[1])), shape[0], axis=0),
    "columns of many sizes": lambda rng, shape: rng.normal(size=shape) * 10.0 ** rng.uniform(-300, 300, (1, shape[1])),
    "rows of many sizes": lambda rng, shape: rng.normal(size=shape) * 10.0 ** rng.uniform(-160, 160, (shape[0], 1)),
    "cells of many sizes": lambda rng, shape: rng.normal(size=shape) * 10.0 ** rng.uniform(-300, 300, shape),
}


def _with_repeats(rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    """Return rows of which some are equal, with a constant column now and then."""
    if rows.size and rng.random() < 0.4:
        rows = rows[rng.integers(0, len(rows), len(rows))]
    if rows.size and rng.random() < 0.2:
        rows[:, rng.integers(rows.shape[1])] = rows[0, 0]
    return rows


def _as_held(rows: np.ndarray, dtype: str) -> tuple[np.ndarray, str]:
    """Return numbers as a type holds them, in float64, and the type: float64 where it cannot hold them."""
    limit = {"?": 1, "u1": 255, "i1": 127, "f2": _MOST, "i8": 2**53, ">i4": 2**31 - 1, "f4": 3e38, ">f4": 3e38}
    if rows.size and np.abs(rows).max() > limit.get(dtype, np.inf):
        dtype = "f8"
    if dtype in ("u1", "?"):
        rows = np.abs(rows)
    return rows.astype(dtype).astype(np.float64), dtype


def _changed(rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    """Return up to five queries whose cells are those of different rows."""
    if not len(rows):
        return rows
    picked = rng.integers(0, len(rows), (int(rng.integers(1, 6)), rows.shape[1]))
    return np.take_along_axis(rows, picked, axis=0)


def _labels(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    n_labels = int(rng.integers(1, 6))
    shares = rng.choice([0.0, 0.1, 0.4, 0.6, 1.0], n_labels, p=[0.08, 0.2, 0.4, 0.24, 0.08])
    labels = (rng.random((n_rows, n_labels)) < shares).astype(int)
    if rng.random() < 0.05:
        labels[:] = labels[:1]
    return labels


def _typed(rows: np.ndarray, dtype: str) -> np.ndarray:
    return rows.astype(dtype)


def _sparse_type(rows: np.ndarray, dtype: str) -> np.ndarray:
    """Return rows in a type that scipy.sparse knows."""
    return rows.astype(np.dtype(dtype).newbyteorder("=") if dtype not in ("f2", "O") else "f8")


def _strided(rows: np.ndarray, dtype: str, folder: Path) -> Any:
    wide = np.zeros((2 * rows.shape[0], 3 * rows.shape[1]), dtype=dtype)
    view = wide[::2, ::3] if rows.size else _typed(rows, dtype)
    view[...] = rows
    return view


def _reversed(rows: np.ndarray, dtype: str, folder: Path) -> Any:
    return _typed(rows[::-1, ::-1], dtype)[::-1, ::-1]


def _read_only(rows: np.ndarray, dtype: str, folder: Path) -> Any:
    held = _typed(rows, dtype)
    held.setflags(write=False)
    return held


def _mapped(rows: np.ndarray, dtype: str, folder: Path) -> Any:
    if dtype == "O" or not rows.size:
        return _typed(rows, dtype)
    path = folder / "rows.npy"
    np.save(path.with_suffix(".new.npy"), _typed(rows, dtype))
    path.with_suffix(".new.npy").replace(path)  # others may still be mapped
    return np.load(path, mmap_mode="r")


def _wide_indices(rows: np.ndarray, dtype: str, folder: Path) -> Any:
    held = sparse.csr_array(_sparse_type(rows, dtype))
    held.indices, held.indptr = held.indices.astype(np.int64), held.indptr.astype(np.int64)
    return held


def _in_parts(rows: np.ndarray, dtype: str, folder: Path) -> Any:
    """Return CSR rows of which each cell is stored twice, as itself and 0, in descending columns."""
    n, d = rows.shape
    held = _sparse_type(rows, dtype)[:, ::-1]
    data = np.stack([held, np.zeros_like(held)], axis=2).ravel()
    columns = np.tile(np.repeat(np.arange(d)[::-1], 2), n)
    return sparse.csr_array((data, columns, 2 * d * np.arange(n + 1)), shape=(n, d))


def _explicit_zeros(rows: np.ndarray, dtype: str, folder: Path) -> Any:
    n, d = rows.shape
    held = _sparse_type(rows, dtype).ravel()
    return sparse.csr_matrix((held, np.tile(np.arange(d), n), d * np.arange(n + 1)), shape=(n, d))


def _frame(rows: np.ndarray, dtype: str, folder: Path) -> Any:
    native = np.dtype(dtype).newbyteorder("=") if dtype != "O" else np.dtype("O")
    return pd.DataFrame(rows.astype(native), columns=[f"x{place}" for place in range(rows.shape[1])])


def _polars(rows: np.ndarray, dtype: str, folder: Path) -> Any:
    wanted = np.dtype(dtype).newbyteorder("=") if dtype not in ("f2", "O") else np.dtype("f8")
    return pl.DataFrame({f"x{place}": column.astype(wanted) for place, column in enumerate(rows.T)})


CONTAINERS: Mapping[str, Callable[[np.ndarray, str, Path], Any]] = {
    "array": lambda rows, dtype, folder: _typed(rows, dtype),
    "Fortran order": lambda rows, dtype, folder: np.asfortranarray(_typed(rows, dtype)),
    "strided view": _strided,
    "reversed view": _reversed,
    "read-only": _read_only,
    "mapped": _mapped,
    "list": lambda rows, dtype, folder: _typed(rows, dtype).tolist(),
    "pandas": _frame,
    "polars": _polars,
    "CSR": lambda rows, dtype, folder: sparse.csr_array(_sparse_type(rows, dtype)),
    "CSC": lambda rows, dtype, folder: sparse.csc_matrix(_sparse_type(rows, dtype)),
    "COO": lambda rows, dtype, folder: sparse.coo_array(_sparse_type(rows, dtype)),
    "CSR with int64 indices": _wide_indices,
    "CSR in parts": _in_parts,
    "CSR with zeros": _explicit_zeros,
}


def _tags(labels: np.ndarray) -> Any:
    return [[f"t{label}" for label in np.flatnonzero(row)] for row in labels]


LABEL_CONTAINERS: Mapping[str, Callable[[np.ndarray], Any]] = {
    "int64": lambda labels: labels,
    "int8": lambda labels: np.asfortranarray(labels.astype(np.int8)),
    "bool": lambda labels: labels.astype(bool),
    "float32": lambda labels: labels.astype(np.float32)[::-1][::-1],
    "list": lambda labels: labels.tolist(),
    "CSR": lambda labels: sparse.csr_array(labels),
    "CSC": lambda labels: sparse.csc_matrix(labels.astype(np.float64)),
    "LIL": lambda labels: sparse.lil_matrix(labels),
    "pandas": lambda labels: pd.DataFrame(labels, columns=[f"t{label}" for label in range(labels.shape[1])]),
    "polars": lambda labels: pl.DataFrame(labels, schema=[f"t{label}" for label in range(labels.shape[1])]),
    "tags": _tags,
}
