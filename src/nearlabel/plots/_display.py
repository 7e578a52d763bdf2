"""What all displays share: to be drawn into a notebook's figure, into axes of one's own, or into a file."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from nearlabel.plots._figure import figure_to_show, figure_to_write, settings, write_figure
from nearlabel.plots._svg import LOOK, svg_element


class Display(ABC):
    """Numbers that can be drawn; a subclass defines how, and how large the figure is.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn last; an array of them where there are several.
    figure_ : matplotlib Figure
        The figure that contains them.
    """

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None, *, title: str | None = None, **style: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where, for instance ``ax_`` of another display of the same kind, to see both; as many as ``ax_`` has. None:
            in a new figure of pyplot.
        title : str, default=None
            Above it. None: that of the display, if it has one.
        **style : properties of matplotlib
            Of the line, if it is one that is drawn, or of the image.

        Returns
        -------
        display
            This one.

        Raises
        ------
        ImportError
            If matplotlib is not installed (extra ``plot``).
        TypeError
            If there is nothing that has a style.
        """
        return self._draw_into(self._axes_of(figure_to_show(self._size())) if ax is None else ax, title, **style)

    def write(self, file: str | os.PathLike[str], *, title: str | None = None) -> Path:
        """Draw into a file; the same numbers give the same file.

        Parameters
        ----------
        file : str or path
            Where to write; the ending decides the format (png, svg, pdf). Missing folders are made.
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
            If matplotlib cannot write a file of this ending.
        """
        figure = figure_to_write(self._size())
        self._draw_into(self._axes_of(figure), title)
        return write_figure(figure, file)

    def to_svg(self, title: str, description: str = "", *, size: tuple[float, float] | None = None) -> str:
        """Draw for a web page; the same numbers give the same text.

        Text stays text, and colours are CSS variables: ``--s0`` to ``--s7`` of lines, ``--rule`` of lines behind them,
        ``--paper`` of the background. A page that sets them decides how the picture looks in a dark scheme; without
        them it has the usual colours.

        Parameters
        ----------
        title : str
            Name of the picture for screen readers; it is not drawn.
        description : str, default=""
            What the picture shows, for screen readers.
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
        """Return words for each of the parts that have some where the pointer rests."""
        return ()

    def _title(self) -> str:
        return ""

    def _write_title(self, title: str) -> None:
        self.ax_.set_title(title, fontsize=11, parse_math=False)


class DisplayInSeveralAxes(Display):
    """A display whose axes are an array, with one title above all."""

    def _figure_of(self, ax: Any) -> Any:
        return ax[0].figure

    def _write_title(self, title: str) -> None:
        self.figure_.suptitle(title, fontsize=11, parse_math=False)
