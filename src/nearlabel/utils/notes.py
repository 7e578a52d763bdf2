"""Warnings: advice, and collected warnings, to be issued later or shown with results."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


class AdviceWarning(UserWarning):
    """Advice on data, which the command line hides with --quiet."""


@contextmanager
def kept_warnings() -> Iterator[list[Warning]]:
    """Collect the warnings of a block, each text once, instead of showing them."""
    kept: list[Warning] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield kept
    by_sentence = {str(w.message): w.message for w in caught if isinstance(w.message, Warning)}
    kept += by_sentence.values()


@contextmanager
def warnings_as_notes() -> Iterator[list[str]]:
    """Collect the texts of the warnings of a block, each once, instead of showing them."""
    notes: list[str] = []
    with kept_warnings() as kept:
        yield notes
    notes += [str(warning) for warning in kept]
