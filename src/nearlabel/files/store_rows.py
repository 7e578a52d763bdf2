"""Rows that go into a store: blocks of them, in its form and type, and compared with others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from nearlabel.files.growing_files import StoreFacts
from nearlabel.utils.containers import checked_container, is_dask_array
from nearlabel.utils.types import Matrix, MatrixLike
from nearlabel.utils.validation import canonical


def blocks_of(X: MatrixLike) -> Iterator[Matrix]:
    """Yield X, or the blocks of X, as arrays of numbers or canonical CSR arrays."""
    if is_dask_array(X):
        blocks = X.rechunk({1: -1}).blocks
        parts: Iterable[Any] = (blocks[i].compute() for i in range(X.numblocks[0]))
    else:
        parts = X if _is_made_of_blocks(X) else [X]
    for part in parts:
        if part is None or np.isscalar(part):
            raise ValueError(f"X must have blocks that are matrices, got {part!r} as a block.")
        block = check_array(
            checked_container("X", part), accept_sparse="csr", ensure_all_finite=False, ensure_min_samples=0
        )
        yield canonical(sparse.csr_array(block)) if sparse.issparse(block) else block


def _is_made_of_blocks(X: Any) -> bool:
    if isinstance(X, list | tuple):
        return any(getattr(part, "ndim", 0) == 2 for part in X)
    return isinstance(X, Iterable) and not hasattr(X, "shape") and not hasattr(X, "__array__")


def like_store(path: Path, facts: StoreFacts, block: Matrix) -> Matrix:
    """Return rows in the form and type of a store."""
    if block.shape[1] != facts.shape[1]:
        raise ValueError(f"X must have {facts.shape[1]} columns, as the store {path}, got {block.shape[1]}.")
    return _in_type(_stored_as(facts.kind, block), facts.dtype)


def are_equal(some: Matrix, others: Matrix) -> bool:
    """Return whether rows of one form are equal, NaN to NaN."""
    if some.shape != others.shape:
        return False
    names = ("indptr", "indices", "data") if sparse.issparse(some) else ("T",)
    return all(np.array_equal(getattr(some, name), getattr(others, name), equal_nan=True) for name in names)


def _in_type(block: Matrix, dtype: Any) -> Matrix:
    """Return rows in a type that represents all their numbers exactly."""
    values = block.data if sparse.issparse(block) else block
    if np.can_cast(values.dtype, dtype):
        return block
    with np.errstate(invalid="ignore", over="ignore"):
        changed = values[(values.astype(dtype) != values) & ~((values != values) & (np.dtype(dtype).kind == "f"))]
    if len(changed):
        raise ValueError(
            f"X must contain numbers that {dtype}, the type of the store, represents exactly, got {changed[0]!r}."
            f" Hint: X.astype({str(dtype)!r}) rounds them."
        )
    return block


def _stored_as(kind: str, block: Matrix) -> Matrix:
    """Return dense or CSR rows."""
    if kind == "csr":
        return sparse.csr_array(block)
    return block.toarray() if sparse.issparse(block) else block


def check_like(first: Matrix, block: Matrix, number: int, *, cast: bool) -> None:
    """Raise ValueError unless a block matches the first one; types may differ if all are cast."""
    expected, got = _describe(first, cast), _describe(block, cast)
    if expected != got:
        hint = "" if cast else " Hint: dtype=... converts all blocks to one type."
        raise ValueError(f"X must have similar blocks, {expected} as block 0, got {got} as block {number}.{hint}")


def _describe(block: Matrix, cast: bool) -> str:
    storage = "sparse" if sparse.issparse(block) else "dense"
    return f"{storage} rows of {block.shape[1]} columns" + ("" if cast else f" of {block.dtype}")
