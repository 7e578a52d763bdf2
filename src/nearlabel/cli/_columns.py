"""Columns of categories, texts and dates: the options that name them, and what a model knows of its own."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.pipeline import Pipeline

from nearlabel.preprocessing import MixedFeaturesEncoder

_KINDS = {"numbers": "number", "categories": "category", "text": "text", "dates": "date"}  # by the encoder's groups
_OPTIONS = {"category": "categorical", "text": "text", "date": "date"}
_PLURALS = {"number": "numbers", "category": "categories", "text": "texts", "date": "dates"}


def is_mixed(arguments: argparse.Namespace) -> bool:
    """Return whether an option names a column of categories, texts or dates."""
    return any(getattr(arguments, option) is not None for option in _OPTIONS.values())


def usual_scale(arguments: argparse.Namespace) -> str:
    """Return the scaling of features if no option sets it: next to categories, numbers differ by at most 1."""
    return "minmax" if is_mixed(arguments) else "none"


def encoder_of(model: Any) -> MixedFeaturesEncoder | None:
    """Return the encoder at the beginning of a model; None if it takes numbers."""
    first = model[0] if isinstance(model, Pipeline) else None
    return first if isinstance(first, MixedFeaturesEncoder) else None


def kinds_of_model(model: Any) -> tuple[str, ...]:
    """Return the kinds of the columns that a model takes; empty if all are numbers."""
    encoder = encoder_of(model)
    if encoder is None:
        return ()
    kinds = {place: _KINDS[group] for group, places in encoder.groups_.items() for place in places}
    return tuple(kinds[place] for place in range(len(kinds)))


def options_of_kinds(kinds: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the options that name columns of these kinds, by the names of the columns."""
    return {
        option: tuple(name for name, of_column in kinds.items() if of_column == kind)
        for kind, option in _OPTIONS.items()
        if kind in kinds.values()
    }


def counted(kinds: Sequence[str]) -> str:
    """Return how many columns there are of each kind, in words."""
    counts = Counter(kinds)
    return ", ".join(
        f"{counts[kind]} {kind if counts[kind] == 1 else plural}" for kind, plural in _PLURALS.items() if kind in counts
    )
