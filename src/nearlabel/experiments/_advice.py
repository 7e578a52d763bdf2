"""Warnings with advice on a single fit, which are hidden when many fits are compared."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_OF_ONE_FIT = (
    "formulas='printed' predicts almost no label",  # a comparison shows the effect in its table
    "Far too many labels are predicted",
    ".*which are never neighbours",  # samples without known labels, in every fold
)


@contextmanager
def without_advice() -> Iterator[None]:
    """Ignore warnings with advice for users who fit a single classifier."""
    with warnings.catch_warnings():
        for message in _OF_ONE_FIT:
            warnings.filterwarnings("ignore", message=message)
        yield
