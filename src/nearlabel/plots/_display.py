"""The base class of displays: drawing into a notebook, into given axes, or into a file."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from nearlabel.plots._figure import figure_to_show, figure_to_write, settings, write_figure
from nearlabel.plots._svg import LOOK, svg_element


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
