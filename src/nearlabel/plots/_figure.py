"""Empty figures, their look, and their files: the one place that knows matplotlib."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

from nearlabel.files.atomic_file import check_can_be_written, whole_file
from nearlabel.utils.optional import import_optional

# Okabe and Ito's colours, told apart by colour-blind readers too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9", "#F0E442")
BLUE, ORANGE, GREY, INK = "#0072B2", "#D55E00", "#bbbbbb", "#333333"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_LINES = ("-", "--", "-.", ":")
_N_STYLES = len(COLOURS) * len(_LINES)


def figure_to_write(size: tuple[float, float]) -> Any:
    """Return an empty figure of a size in inches, without pyplot, which would choose a backend and keep the figure.

    Raises ImportError, naming the extra, if matplotlib is not installed.
    """
    return import_optional("matplotlib.figure", extra="plot", purpose="Drawing").Figure(
        figsize=size, layout="constrained"
    )


def figure_to_show(size: tuple[float, float]) -> Any:
    """Return an empty figure of pyplot, which a notebook shows.

    Raises ImportError, naming the extra, if matplotlib is not installed.
    """
    return import_optional("matplotlib.pyplot", extra="plot", purpose="Drawing").figure(
        figsize=size, layout="constrained"
    )


def check_figure_file(file: Path, *, name: str = "file") -> None:
    """Raise what `write_figure` would, but for a folder that is not there, before there is a figure.

    `name` is what the message calls the file.
    """
    _format_of(file, name)
    check_can_be_written(file, name=name)


def write_figure(figure: Any, file: str | os.PathLike[str]) -> Path:
    """Write a figure with all that stands outside of its axes; the ending decides the format.

    Raises ValueError if matplotlib cannot write a file of this ending.
    """
    target = Path(file)
    format_ = _format_of(target, "file")
    target.parent.mkdir(parents=True, exist_ok=True)
    # The same numbers give the same file: no date in it, and its identifiers are drawn from a fixed seed.
    date = {"svg": "Date", "pdf": "CreationDate"}.get(format_)
    metadata = {date: None} if date else None
    settings = import_optional("matplotlib", extra="plot", purpose="Drawing").rc_context({"svg.hashsalt": "nearlabel"})
    with settings, warnings.catch_warnings(), whole_file(target, name="file") as partial:
        # A box stands for a sign that the font has not; a warning for each would say no more.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(partial, format=format_, dpi=150, metadata=metadata, bbox_inches="tight")
    return target


def _format_of(file: Path, name: str) -> str:
    """Return the format that the ending of a file asks for; raise ValueError if matplotlib does not know it."""
    backends = import_optional("matplotlib.backend_bases", extra="plot", purpose="Drawing")
    ending, known = file.suffix.removeprefix(".").lower(), backends.FigureCanvasBase.get_supported_filetypes()
    if ending not in known:
        raise ValueError(f"{name} must end in one of {', '.join(sorted(known))}, got {str(file)!r}.")
    return ending


def set_line_styles(ax: Any) -> None:
    """Give the lines to come colours and dashes that differ in print, too."""
    colours = [COLOURS[number % len(COLOURS)] for number in range(_N_STYLES)]
    lines = [_LINES[(number + number // len(COLOURS)) % len(_LINES)] for number in range(_N_STYLES)]
    ax.set_prop_cycle(color=colours, linestyle=lines)


def set_open_frame(ax: Any) -> None:
    """Take away the lines above and to the right."""
    ax.spines[["top", "right"]].set_visible(False)


def set_legend(ax: Any) -> None:
    """Name the lines below the axes, if any has a name."""
    lines, names = ax.get_legend_handles_labels()
    if names:
        columns = min(4, len(names))
        ax.legend(
            lines, names, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=columns, frameon=False, fontsize=9
        )
