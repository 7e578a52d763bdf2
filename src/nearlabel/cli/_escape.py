"""Escape control characters in text from files, which could move, colour or overwrite what a terminal shows."""

from __future__ import annotations

import re

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")  # also those of text direction
_CONTROLS_IN_LINE = re.compile(rf"[\t\n]|{_CONTROLS.pattern}")


def escape_controls(text: str) -> str:
    r"""Return text with control characters as ``\x1b``; newlines and tabs stay."""
    return _CONTROLS.sub(_escaped, text)


def escape_line(text: str) -> str:
    r"""Return one line of text with control characters, newlines and tabs as ``\x1b``, ``\n`` and ``\t``."""
    return _CONTROLS_IN_LINE.sub(_escaped, text)


def _escaped(control: re.Match[str]) -> str:
    return control[0].encode("unicode_escape").decode("ascii")
