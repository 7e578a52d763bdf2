"""Options of what a text names: ``name:parameter=value``."""

from __future__ import annotations

import ast
import math
from typing import Any


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
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
