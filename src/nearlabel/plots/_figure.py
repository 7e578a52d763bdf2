"""Figures, styles and files: all basic use of matplotlib is in this module."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

from nearlabel.files.atomic_file import check_can_be_written, whole_file
from nearlabel.utils.optional import import_optional

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
        figure.savefig(partial, format=format_, dpi=150, metadata=metadata, bbox_inches="tight")
    return target


def svg_source(figure: Any, salt: str) -> str:
    """Return a figure as SVG with text as text; figures with different salts have different identifiers."""
    source = StringIO()
    with settings({"svg.fonttype": "none", "svg.hashsalt": salt}):
        figure.savefig(source, format="svg", metadata={"Date": None}, bbox_inches="tight", pad_inches=0.02)
    return source.getvalue()


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
