"""matplotlib's SVG adapted for web pages: small, with text as text, and with the page's colours."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from nearlabel.plots._figure import COLOURS, DASHES, GREY, INK, PAPER, TIPPED, line_style, svg_source

# A page sets its colours by these variables; without them the default colours are used.
_VARIABLES = {colour.lower(): f"var(--s{number}, {colour})" for number, colour in enumerate(COLOURS)} | {
    INK: "currentColor",
    GREY: f"var(--rule, {GREY})",
    PAPER: f"var(--paper, {PAPER})",
}
# Settings of matplotlib while it draws: no ticks, which would be separate elements, and black for background lines.
LOOK = {
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": INK, "xtick.color": INK, "ytick.color": INK,
    "grid.color": GREY, "xtick.major.size": 0, "ytick.major.size": 0, "font.size": 9, "axes.labelsize": 9,
}  # fmt: skip
_PIXELS = 4 / 3  # per point
_WIDE = 480  # pixels; a wider plot scrolls on a phone, others scale with their column
_KEPT = ("d", "x", "y", "width", "height", "transform", "style")
# A style element applies to the whole page; clipping is not needed, as nothing is drawn outside the axes.
_LEFT_OUT = ("metadata", "style", "clipPath")
_NOT_NEEDED = re.compile(r"(?:font-family|stroke-linecap|stroke-linejoin|stroke-miterlimit): [^;]*")


def svg_element(figure: Any, title: str, description: str, tips: Iterable[str] = ()) -> str:
    """Return a figure as an SVG element with a description for screen readers.

    Tooltips are shown for each part of the artist whose gid is `TIPPED`.
    """
    for ax in (figure, *figure.axes):
        ax.patch.set_visible(False)  # the page has its own background
    root = ET.fromstring(svg_source(figure, title + description))
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    size = f'viewBox="0 0 {width:.1f} {height:.1f}" width="{width * _PIXELS:.0f}" height="{height * _PIXELS:.0f}"'
    wide = ' class="wide"' if width * _PIXELS > _WIDE else ""
    _add_tips(root, tips)
    words = f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
    linked = {link for one in root.iter() for link in one.attrib.values() if link.startswith("#")}
    return f'<svg {size} role="img"{wide}>{words}{"".join(_parts(root, linked))}</svg>'


def line_sample(number: int) -> str:
    """Return a short line in the style of a method, for the legend of a page.

    Parameters
    ----------
    number : int
        Index of the method among all methods, from 0.

    Returns
    -------
    str
        One ``svg`` element, hidden from screen readers.

    Examples
    --------
    >>> from nearlabel.plots import line_sample
    >>> line_sample(0).partition("<path ")[2]
    'd="M0 5H30" style="stroke:var(--s0, #0072B2);stroke-width:2"/></svg>'
    """
    look = line_style(number)
    style, dashes = f"stroke:{_VARIABLES[look['color'].lower()]};stroke-width:2", DASHES[look["linestyle"]]
    if dashes:
        style += f";stroke-dasharray:{' '.join(f'{2 * length:g}' for length in dashes)}"
    head = '<svg viewBox="0 0 30 10" width="30" height="10" aria-hidden="true">'
    return f'{head}<path d="M0 5H30" style="{style}"/></svg>'


def _add_tips(root: ET.Element, tips: Iterable[str]) -> None:
    for group in (one for one in root.iter() if one.get("id") == TIPPED):
        for part, words in zip(group, tips, strict=True):
            ET.SubElement(part, "title").text = words


def _parts(parent: ET.Element, linked: set[str]) -> Iterator[str]:
    """Yield the drawn elements without matplotlib's groups, whose identifiers would repeat on a page."""
    for one in parent:
        name = _local(one.tag)
        if name in _LEFT_OUT:
            continue
        content = "".join(_parts(one, linked)) or escape((one.text or "").strip())
        attributes = _attributes(one, linked)
        if name == "g" and not attributes:
            yield content
        elif content or name != "defs":
            yield f"<{name}{attributes}>{content}</{name}>" if content else f"<{name}{attributes}/>"


def _attributes(one: ET.Element, linked: set[str]) -> str:
    values = {_local(name): value for name, value in one.attrib.items()}
    kept = {name: _SHORTENED.get(name, _rounded)(values[name]) for name in _KEPT if name in values}
    if kept.get("transform", "").startswith("rotate(0 "):
        del kept["transform"]
    if "href" in values:
        kept["href"] = values["href"]
    if f"#{values.get('id')}" in linked:
        kept["id"] = values["id"]
    return "".join(f' {name}="{escape(value)}"' for name, value in kept.items() if value)


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _rounded(value: str) -> str:
    """Return numbers with one decimal: smaller differences are not visible."""
    return re.sub(r"-?\d+(?:\.\d+)?", lambda number: f"{round(float(number[0]), 1) + 0:g}", value)


def _path(value: str) -> str:
    return re.sub(r"\s*([A-Za-z])\s*", r"\1", _rounded(value)).strip()


def _style(value: str) -> str:
    parts = [part.strip().replace(": ", ":") for part in _NOT_NEEDED.sub("", value).split(";")]
    return re.sub("#[0-9a-f]{6}", lambda found: _VARIABLES.get(found[0], found[0]), ";".join(filter(None, parts)))


_SHORTENED = {"d": _path, "style": _style}
