"""Text from anybody's file on the terminal: what would move, colour or overwrite is shown, not done."""

from __future__ import annotations

import re

_SIGNS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")  # with those that turn the direction
_SIGNS_IN_LINE = re.compile(rf"[\t\n]|{_SIGNS.pattern}")


def in_sight(text: str) -> str:
    r"""Return text with control signs as ``\x1b``; lines and tabs stay."""
    return _SIGNS.sub(_escaped, text)


def in_line(text: str) -> str:
    r"""Return text of one line with control signs as ``\x1b`` and ``\n``."""
    return _SIGNS_IN_LINE.sub(_escaped, text)


def _escaped(sign: re.Match[str]) -> str:
    return sign[0].encode("unicode_escape").decode("ascii")
