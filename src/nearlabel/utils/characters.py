r"""Half characters: a surrogate alone, which a Python text can contain, and no file.

JSON can write one, as ``"\ud800"``; Python turns the bytes of a file's name that are not UTF-8 into such halves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

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
