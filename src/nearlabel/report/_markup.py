"""HTML and SVG from plain data; anything that is not markup is escaped."""

from __future__ import annotations

from html import escape
from typing import TypeAlias


class Markup(str):
    """Text that is already markup."""

    __slots__ = ()


Child: TypeAlias = str | int | float | None
_VOID = frozenset({"br", "input", "meta"})  # void elements of HTML; elements of SVG are closed


def join(*children: Child) -> Markup:
    """Return concatenated children; None is left out, text is escaped."""
    return Markup("".join(c if isinstance(c, Markup) else escape(str(c)) for c in children if c is not None))


def element(name: str, /, *children: Child, **attributes: Child | bool) -> Markup:
    """Return an element; `_` in attribute names becomes `-`, a final one is removed; None and False are left out.

    Examples
    --------
    >>> print(element("p", "a < b", element("br"), class_="note", hidden=True))
    <p class="note" hidden>a &lt; b<br></p>
    """
    words = [name, *(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())]
    start = f"<{' '.join(word for word in words if word)}>"
    return Markup(start if name in _VOID else f"{start}{join(*children)}</{name}>")


def _attribute(name: str, value: Child | bool) -> str:
    if value is None or value is False:
        return ""
    return name if value is True else f'{name}="{escape(_short(value))}"'


def _short(value: Child | bool) -> str:
    """Return a coordinate with at most two decimals, anything else unchanged."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
