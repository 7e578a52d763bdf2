"""Rows in blocks that fit a memory budget."""

from __future__ import annotations

from collections.abc import Iterator

BLOCK_BYTES = 64 * 2**20  # what one temporary array of a block may take


def row_blocks(n_rows: int, bytes_per_row: int, budget: int = BLOCK_BYTES) -> Iterator[slice]:
    """Yield slices that cover ``range(n_rows)``, each of at least one row and at most `budget` bytes."""
    size = max(1, budget // max(1, bytes_per_row))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))
