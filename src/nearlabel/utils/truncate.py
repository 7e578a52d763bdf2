"""Names in little room."""

from __future__ import annotations


def shortened(name: object, longest: int) -> str:
    """Cut the middle out of a long name: names that are alike often differ at their end.

    White space is one blank, line ends too.

    Examples
    --------
    >>> shortened("binary relevance", 16), shortened("binary  relevance", 7)
    ('binary relevance', 'bin…nce')
    """
    text = " ".join(str(name).split())
    half = longest // 2
    return text if len(text) <= longest else f"{text[: longest - half - 1]}…{text[len(text) - half :]}"
