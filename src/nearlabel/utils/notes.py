"""Warnings as notes: sentences that are shown beside results."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def warnings_as_notes() -> Iterator[list[str]]:
    """Collect the warnings of a block, each sentence once, in place of showing them."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    notes += dict.fromkeys(str(warning.message) for warning in caught)
