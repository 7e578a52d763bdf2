"""Figures: what matplotlib draws and writes, as PNG, PDF or SVG, and the base class of displays."""

from __future__ import annotations

import os
import re
import warnings
import xml.etree.ElementTree as ET
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any, Self

from nearlabel.files.atomic_file import check_can_be_written, whole_file
from nearlabel.utils.characters import escape_controls, escape_markup
from nearlabel.utils.naming import import_optional

# Okabe and Ito's colours, which colour-blind readers can distinguish.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9", "#F0E442")
BLUE, ORANGE, GREEN = COLOURS[:3]
GREY, INK, PAPER = "#bbbbbb", "#333333", "#ffffff"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
# matplotlib's names of dashes, and their lengths (on, off) in line widths.
DASHES = {"-": (), "--": (3.7, 1.6), "-.": (6.4, 1.6, 1.0, 1.6), ":": (1.0, 1.65)}
_DRAWING = {"extra": "plot", "purpose": "Drawing"}
_MOST_DOTS = 13
_N_STYLES = len(COLOURS) * len(DASHES)
TIPPED = "tipped"  # name of the artist whose parts have tooltips


def figure_to_write(size: tuple[float, float]) -> Any:
    """Return an empty figure, size in inches, without pyplot, which would select a backend and keep the figure.

    Raises ImportError, naming the extra, if matplotlib is not installed.
    """
    return import_optional("matplotlib.figure", **_DRAWING).Figure(figsize=size, layout="constrained")


def figure_to_show(size: tuple[float, float]) -> Any:
    """Return an empty pyplot figure, which a notebook shows.

    Raises ImportError, naming the extra, if matplotlib is not installed.
    """
    return import_optional("matplotlib.pyplot", **_DRAWING).figure(figsize=size, layout="constrained")


def check_figure_file(file: Path, *, name: str = "file") -> None:
    """Raise the error of `Display.write` for a file that cannot be written, before a figure is drawn.

    Parameters
    ----------
    file : Path
        Path of the file; its folder may be missing.
    name : str, default="file"
        Name of the file parameter in error messages.

    Raises
    ------
    ValueError
        If matplotlib cannot write a file of this ending.
    OSError
        If the file cannot be written.
    ImportError
        If matplotlib is not installed (extra ``plot``).
    """
    _format_of(file, name)
    check_can_be_written(file, name=name)


def check_matplotlib() -> None:
    """Raise an error if matplotlib is not available, before any work is done.

    Raises
    ------
    ImportError
        If matplotlib is not installed (extra ``plot``).
    """
    import_optional("matplotlib.figure", **_DRAWING)


def write_figure(figure: Any, file: str | os.PathLike[str]) -> Path:
    """Save a figure, including everything outside its axes; the suffix determines the format.

    Raises ValueError if matplotlib cannot write a file with this suffix.
    """
    target = Path(file)
    format_ = _format_of(target, "file")
    target.parent.mkdir(parents=True, exist_ok=True)
    # The same data give the same file: without a date, and with identifiers from a fixed seed.
    date = {"svg": "Date", "pdf": "CreationDate"}.get(format_)
    metadata = {date: None} if date else None
    with settings({"svg.hashsalt": "nearlabel"}), whole_file(target, name="file") as partial:
        if format_ == "svg":
            partial.write_text(_svg_of(figure, dpi=150, metadata=metadata), encoding="utf-8", newline="\n")
        else:
            figure.savefig(partial, format=format_, dpi=150, metadata=metadata, bbox_inches="tight")
    return target


def svg_source(figure: Any, salt: str) -> str:
    """Return a figure as SVG with text as text; figures with different salts have different identifiers."""
    with settings({"svg.fonttype": "none", "svg.hashsalt": salt}):
        return _svg_of(figure, metadata={"Date": None}, pad_inches=0.02)


def _svg_of(figure: Any, **options: Any) -> str:
    """Return a figure as SVG; matplotlib writes control characters in names, with which it is no XML."""
    source = StringIO()
    figure.savefig(source, format="svg", bbox_inches="tight", **options)
    return escape_controls(source.getvalue())


@contextmanager
def settings(values: dict[str, Any]) -> Iterator[None]:
    """Draw with matplotlib settings, without warnings of missing glyphs."""
    with import_optional("matplotlib", **_DRAWING).rc_context(values), warnings.catch_warnings():
        # The font draws a box for a missing character; a warning for each would not help.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def _format_of(file: Path, name: str) -> str:
    """Return the format of a file's suffix; raise ValueError if matplotlib does not support it."""
    known = import_optional("matplotlib.backend_bases", **_DRAWING).FigureCanvasBase.get_supported_filetypes()
    ending = file.suffix.removeprefix(".").lower()
    if ending not in known:
        raise ValueError(f"{name} must end in one of {', '.join(sorted(known))}, got {str(file)!r}.")
    return ending


def line_style(number: int) -> dict[str, str]:
    """Return colour and dashes of a line by its number: 32 styles that also differ in print."""
    dashes = list(DASHES)[(number + number // len(COLOURS)) % len(DASHES)]
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": dashes}


def set_line_styles(ax: Any) -> None:
    """Set the styles of the following lines, in order."""
    styles = [line_style(number) for number in range(_N_STYLES)]
    ax.set_prop_cycle(**{name: [style[name] for style in styles] for name in ("color", "linestyle")})


def draw_mark(ax: Any, name: str, place: tuple[float, float], number: int, **style: Any) -> None:
    """Draw an open mark at a point; its number determines the form."""
    look = {"linestyle": "none", "marker": MARKERS[number % len(MARKERS)], "markerfacecolor": "none"}
    ax.plot([place[0]], [place[1]], label=name, **look, **style)


def dots(n_points: int) -> str:
    """Return the marker of a line; none for many points, which would hide the line and enlarge the page."""
    return "." if n_points < _MOST_DOTS else ""


def set_open_frame(ax: Any) -> None:
    """Remove the top and right spines."""
    ax.spines[["top", "right"]].set_visible(False)


def draw_cells(ax: Any, cells: Sequence[tuple[int, int]], values: Any, **style: Any) -> Any:
    """Draw squares at rows and columns; the colour is stronger for larger values in [0, 1]."""
    corners = [[(j, i), (j + 1, i), (j + 1, i + 1), (j, i + 1)] for i, j in cells]
    # Ten steps of a transparent colour, since the background may be light or dark.
    colours = import_optional("matplotlib.colors", **_DRAWING)
    steps = colours.ListedColormap([(*colours.to_rgb(BLUE), (step + 0.5) / 10) for step in range(10)])
    collections = import_optional("matplotlib.collections", **_DRAWING)
    squares = collections.PolyCollection(corners, array=values, **({"cmap": steps, "gid": TIPPED} | style))
    squares.set_clim(0.0, 1.0)
    return ax.add_collection(squares)


def colours_of_counts(n_colours: int) -> Any:
    """Return a matplotlib colour map: blue for 0, then orange with increasing opacity."""
    colours = import_optional("matplotlib.colors", **_DRAWING)
    strength = [0.3 + 0.7 * (step + 1) / (n_colours - 1) for step in range(n_colours - 1)]
    orange = [(*colours.to_rgb(ORANGE), min(one, 1.0)) for one in strength]
    return colours.ListedColormap([colours.to_rgba(BLUE), *orange])


def set_legend(ax: Any) -> None:
    """Draw a legend below the axes if any line has a name, in as many columns as fit."""
    lines, names = ax.get_legend_handles_labels()
    if names:
        width = 72 * ax.figure.get_size_inches()[0]  # points
        columns = max(1, min(4, len(names), int(width / (30 + 5 * max(map(len, names))))))
        ax.legend(
            lines, names, loc="upper center", bbox_to_anchor=(0.5, 0), borderaxespad=4, ncols=columns, frameon=False,
            fontsize=9,
        )  # fmt: skip


# matplotlib's SVG adapted for web pages: small, with text as text, and with the page's colours.

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
_KEPT = ("d", "x", "y", "width", "height", "transform")
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
    words = f"<title>{escape_markup(title)}</title><desc>{escape_markup(description)}</desc>"
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
    'd="M0 5H30" stroke="var(--s0, #0072B2)" stroke-width="2"/></svg>'
    """
    look = line_style(number)
    style, dashes = f'stroke="{_VARIABLES[look["color"].lower()]}" stroke-width="2"', DASHES[look["linestyle"]]
    if dashes:
        style += f' stroke-dasharray="{" ".join(f"{2 * length:g}" for length in dashes)}"'
    head = '<svg viewBox="0 0 30 10" width="30" height="10" aria-hidden="true">'
    return f'{head}<path d="M0 5H30" {style}/></svg>'


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
        content = "".join(_parts(one, linked)) or escape_markup((one.text or "").strip())
        attributes = _attributes(one, linked)
        if name == "g" and not attributes:
            yield content
        elif content or name != "defs":
            yield f"<{name}{attributes}>{content}</{name}>" if content else f"<{name}{attributes}/>"


def _attributes(one: ET.Element, linked: set[str]) -> str:
    values = {_local(name): value for name, value in one.attrib.items()}
    kept = {name: _SHORTENED.get(name, _rounded)(values[name]) for name in _KEPT if name in values}
    kept |= _style(values.get("style", ""))
    if kept.get("transform", "").startswith("rotate(0 "):
        del kept["transform"]
    if "href" in values:
        kept["href"] = values["href"]
    if f"#{values.get('id')}" in linked:
        kept["id"] = values["id"]
    return "".join(f' {name}="{escape_markup(value)}"' for name, value in kept.items() if value)


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _rounded(value: str) -> str:
    """Return numbers with one decimal: smaller differences are not visible."""
    return re.sub(r"-?\d+(?:\.\d+)?", lambda number: f"{round(float(number[0]), 1) + 0:g}", value)


def _path(value: str) -> str:
    return re.sub(r"\s*([A-Za-z])\s*", r"\1", _rounded(value)).strip()


def _style(value: str) -> dict[str, str]:
    """Return the properties of a style as attributes of SVG: the policy of a page allows no style attribute."""
    parts = (part.split(": ") for part in filter(None, map(str.strip, _NOT_NEEDED.sub("", value).split(";"))))
    return {name: re.sub("#[0-9a-f]{6}", lambda found: _VARIABLES.get(found[0], found[0]), of) for name, of in parts}


_SHORTENED = {"d": _path}


# The base class of displays: drawing into a notebook, into given axes, or into a file.


class Display(ABC):
    """Base class of displays; a subclass defines the drawing and the size of the figure.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the last drawing; an array if there are several.
    figure_ : matplotlib Figure
        The figure that contains these axes.
    """

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None, *, title: str | None = None, **style: Any) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into, for instance ``ax_`` of another display of the same kind, to compare both; as many as
            ``ax_`` has. None: a new pyplot figure.
        title : str, default=None
            Title above the plot. None: the title of the display, if it has one.
        **style : properties of matplotlib
            Style of the line or the image.

        Returns
        -------
        display
            This one.

        Raises
        ------
        ImportError
            If matplotlib is not installed (extra ``plot``).
        TypeError
            If the display accepts no style.
        """
        return self._draw_into(self._axes_of(figure_to_show(self._size())) if ax is None else ax, title, **style)

    def write(self, file: str | os.PathLike[str], *, title: str | None = None) -> Path:
        """Save the plot to a file; the same data give the same file.

        Parameters
        ----------
        file : str or path
            Path of the file; the suffix determines the format (png, svg, pdf). Missing folders are created.
        title : str, default=None
            As in `plot`.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        ImportError
            If matplotlib is not installed (extra ``plot``).
        ValueError
            If matplotlib cannot write a file with this suffix.
        """
        figure = figure_to_write(self._size())
        self._draw_into(self._axes_of(figure), title)
        return write_figure(figure, file)

    def to_svg(self, title: str, description: str = "", *, size: tuple[float, float] | None = None) -> str:
        """Return the plot as SVG for a web page; the same data give the same text.

        Text stays text, and colours are CSS variables: ``--s0`` to ``--s7`` for lines, ``--rule`` for lines behind
        them, ``--paper`` for the background. A page can set them, for instance for a dark scheme; without them the plot
        has its default colours.

        Parameters
        ----------
        title : str
            Name of the plot for screen readers; it is not drawn.
        description : str, default=""
            Description of the plot for screen readers.
        size : (float, float), default=None
            Width and height in inches. None: as in `plot`.

        Returns
        -------
        str
            One ``svg`` element.

        Raises
        ------
        ImportError
            If matplotlib is not installed (extra ``plot``).
        """
        with settings(LOOK):
            figure = figure_to_write(self._size() if size is None else size)
            self._draw_into(self._axes_of(figure), title="")
            return svg_element(figure, title, description, self._tips())

    def _draw_into(self, ax: Any, title: str | None, **style: Any) -> Self:
        self._draw(ax, **style)
        self.ax_, self.figure_ = ax, self._figure_of(ax)
        words = self._title() if title is None else title
        if words:
            self._write_title(words)
        return self

    @abstractmethod
    def _draw(self, ax: Any, **style: Any) -> None:
        """Draw into axes."""

    def _size(self) -> tuple[float, float]:
        """Return width and height of a new figure in inches."""
        return 6.4, 4.8

    def _axes_of(self, figure: Any) -> Any:
        """Return new axes in an empty figure."""
        return figure.subplots()

    def _figure_of(self, ax: Any) -> Any:
        return ax.figure

    def _tips(self) -> Iterable[str]:
        """Return the text of each part that shows a tooltip."""
        return ()

    def _title(self) -> str:
        return ""

    def _write_title(self, title: str) -> None:
        self.ax_.set_title(title, fontsize=11, parse_math=False)


class DisplayInSeveralAxes(Display):
    """A display with an array of axes and one title above them."""

    def _figure_of(self, ax: Any) -> Any:
        return ax[0].figure

    def _write_title(self, title: str) -> None:
        self.figure_.suptitle(title, fontsize=11, parse_math=False)
