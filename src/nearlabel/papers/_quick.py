"""The parts that a quick run leaves out of an experiment, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_UNITS = {"methods": "folds", "thresholds": "runs"}  # of the protocols
_NUMBERS = {"methods": "cv", "thresholds": "n_parts"}  # the setting with their number, 10 by default
_LISTS = {"datasets": "data sets", "given_split": "data sets", "with_labels": "data sets", "methods": "methods"}


def left_out_of(facts: Mapping[str, Any], instead: Mapping[str, Any]) -> str:
    """Return what an experiment does without, given its settings and those that replace them.

    Examples
    --------
    >>> left_out_of({"cv": 10, "methods": ["br", "cbm"]}, {"first_folds": 2, "methods": ["br"]})
    '8 of 10 folds and 1 of 2 methods (cbm)'
    """
    return " and ".join(part for setting in instead if (part := _left_out(facts, setting, instead[setting])))


def _left_out(facts: Mapping[str, Any], setting: str, value: Any) -> str:
    """Return what one setting leaves out."""
    if setting == "first_folds":
        protocol = facts.get("protocol", "methods")
        number = facts.get(_NUMBERS[protocol], 10)
        per_shuffle = " of each shuffle" if len(facts.get("seeds", (0,))) > 1 else ""
        return f"{number - value} of {number} {_UNITS[protocol]}{per_shuffle}" if value < number else ""
    if setting in _LISTS:
        missing = [name for name in facts.get(setting, ()) if name not in value]
        return f"{len(missing)} of {len(facts[setting])} {_LISTS[setting]} ({', '.join(missing)})" if missing else ""
    return f"its own {setting} (here {value}, in the paper {facts.get(setting, 'the default')})"
