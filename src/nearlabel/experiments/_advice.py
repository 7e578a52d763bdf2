"""Advice of a single fit that is noise if many fits are compared."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_OF_ONE_FIT = (
    "formulas='printed' predicts almost no label",  # whoever compares methods sees in the table what they do
    "Far too many labels are predicted",
    ".*which are never neighbours",  # rows without a known label, in every fold anew
)


@contextmanager
def without_advice() -> Iterator[None]:
    """Ignore the advice that a classifier gives on its fit, which is for users who fit it alone."""
    with warnings.catch_warnings():
        for message in _OF_ONE_FIT:
            warnings.filterwarnings("ignore", message=message)
        yield
