r"""Characters that a terminal, a page or a file cannot show.

A half character is a surrogate alone, which a Python text can contain, and no file. JSON can write one, as
``"\ud800"``; Python turns the bytes of a file's name that are not UTF-8 into such halves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

_HALF = re.compile("[\ud800-\udfff]")


def check_whole(what: str, texts: Iterable[object]) -> None:
    """Raise ValueError if one of some names has half a character; those that are no texts have none."""
    for text in texts:
        if isinstance(text, str) and (found := _HALF.search(text)):
            raise ValueError(
                f"{what} must be of whole characters, got half a character, \\u{ord(found[0]):04x} alone, in"
                f" {text[:60]!a}."
            )


def shown(text: str) -> str:
    r"""Return a text with bytes of a file's name as ``\xe9``, and other half characters as ``\ud800``."""
    return _HALF.sub(_escaped, text)


def _escaped(half: re.Match[str]) -> str:
    code = ord(half[0])
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


# Escape control characters in text from files. On a terminal they could move, colour or overwrite what it shows; XML
# cannot contain them. Those of text direction would reorder the words after them, also of other names, on both.

_CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_CONTROLS_IN_LINE = re.compile(rf"[\t\n]|{_CONTROLS.pattern}")


def escape_controls(text: str) -> str:
    r"""Return text with control characters as ``\x1b``; newlines and tabs stay."""
    return _CONTROLS.sub(_escaped_control, text)


def escape_line(text: str) -> str:
    r"""Return one line of text with control characters, newlines and tabs as ``\x1b``, ``\n`` and ``\t``."""
    return _CONTROLS_IN_LINE.sub(_escaped_control, text)


def escape_markup(text: str) -> str:
    r"""Return text for HTML and SVG: ``<`` as ``&lt;``, control characters as on a terminal.

    >>> print(escape_markup("a<b\x01"))
    a&lt;b\x01
    """
    return escape(escape_controls(text))


def _escaped_control(control: re.Match[str]) -> str:
    half = shown(control[0])
    return control[0].encode("unicode_escape").decode("ascii") if half == control[0] else half
