"""Options in specifications: ``name:parameter=value``."""

from __future__ import annotations

import ast
import math
import warnings
from typing import Any

_LONGEST_VALUE = 1000  # characters; Python's parser is slow for longer literals


def split_option(whose: str, known: list[str], option: str) -> tuple[str, str]:
    """Return parameter and value of ``parameter=value``; raise ValueError unless the parameter is known."""
    parameter, equals, text = option.partition("=")
    if not known:
        raise ValueError(f"{whose} must be without options, got {option!r}.")
    if parameter not in known or not equals:
        raise ValueError(f"option of {whose} must be parameter=value, of {known}, got {option!r}.")
    return parameter, text


def read_value(text: str) -> Any:
    """Return the number, boolean or None that a text represents, or else the text."""
    if text == "nan":  # a float, but not a Python literal
        return math.nan
    if len(text) > _LONGEST_VALUE:
        return text
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # for a backslash, which a text may contain
            warnings.simplefilter("ignore", DeprecationWarning)  # the same before Python 3.12
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):  # the last two: too many brackets or signs
        return text
