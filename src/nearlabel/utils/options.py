"""Options of what a text names: ``name:parameter=value``."""

from __future__ import annotations

import ast
import math
import warnings
from typing import Any

_LONGEST_VALUE = 1000  # characters: Python parses a longer one at a cost beside its length


def split_option(whose: str, known: list[str], option: str) -> tuple[str, str]:
    """Return parameter and value of ``parameter=value``; raise ValueError unless the parameter is known."""
    parameter, equals, text = option.partition("=")
    if not known:
        raise ValueError(f"{whose} must be without options, got {option!r}.")
    if parameter not in known or not equals:
        raise ValueError(f"option of {whose} must be parameter=value, of {known}, got {option!r}.")
    return parameter, text


def read_value(text: str) -> Any:
    """Return the number, truth value or None that a text is, else the text."""
    if text == "nan":  # a float, but no literal of Python
        return math.nan
    if len(text) > _LONGEST_VALUE:
        return text
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # on a backslash, which a text may have
            warnings.simplefilter("ignore", DeprecationWarning)  # the same before Python 3.12
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):  # the last two: too many brackets or signs
        return text
