"""Shortened names."""

from __future__ import annotations


def shortened(name: object, longest: int) -> str:
    """Remove the middle of a long name: similar names often differ at their end.

    White space, including line ends, becomes one blank.

    Examples
    --------
    >>> shortened("binary relevance", 16), shortened("binary  relevance", 7)
    ('binary relevance', 'bin…nce')
    """
    text = " ".join(str(name).split())
    half = longest // 2
    return text if len(text) <= longest else f"{text[: longest - half - 1]}…{text[len(text) - half :]}"
