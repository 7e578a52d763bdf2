"""Plots of several metrics over the number of neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from nearlabel.experiments import Record
from nearlabel.plots._display import DisplayInSeveralAxes
from nearlabel.plots._figure import line_style
from nearlabel.plots._neighbors_curve import NeighborsCurveDisplay, means_of, words_of


class NeighborsPanelsDisplay(DisplayInSeveralAxes):
    """Several metrics over the number of neighbours: a panel for each metric, with a line for each method.

    Parameters
    ----------
    panels : mapping of str to sequence of NeighborsCurveDisplay
        Lines of each panel, by its title; lines with the same name have the same style in all panels.
    names : sequence of str, default=None
        Names of all lines; the position in this list determines the style of a line. None: the names in the panels, in
        order.
    legend : bool, default=True
        Whether to draw a legend below the panels.

    Attributes
    ----------
    ax_ : ndarray of matplotlib Axes
        The panels of the last drawing.
    figure_ : matplotlib Figure
        The figure that contains these axes.

    Raises
    ------
    ValueError
        If there are no panels.

    Examples
    --------
    >>> from nearlabel.plots import NeighborsCurveDisplay, NeighborsPanelsDisplay
    >>> curve = NeighborsCurveDisplay([1, 5, 10], [0.6, 0.72, 0.7], name="ML-kNN")
    >>> panels = NeighborsPanelsDisplay({"micro F1": [curve]})
    >>> file = panels.write("panels.png", title="Digits")  # doctest: +SKIP
    """

    def __init__(
        self,
        panels: Mapping[str, Sequence[NeighborsCurveDisplay]],
        *,
        names: Sequence[str] | None = None,
        legend: bool = True,
    ) -> None:
        if not panels:
            raise ValueError("panels must contain at least one, got none.")
        self.panels = panels
        of_panels = dict.fromkeys(str(curve.name) for curves in panels.values() for curve in curves)
        self.names = list(of_panels if names is None else names)
        self.legend = legend

    @classmethod
    def from_records(
        cls,
        records: Iterable[Record],
        *,
        metrics: Sequence[str] | None = None,
        dataset: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw all methods of a run with numbers of neighbours: means over the folds, with deviations as bands.

        Parameters
        ----------
        records : iterable of Record
            As returned by `nearlabel.experiments.run` or `nearlabel.comparison.read_runs`.
        metrics : sequence of str, default=None
            Names of metrics, a panel for each. None: all metrics in the records.
        dataset : str, default=None
            Name of a data set of the records. None: there is but one.
        ax : array of matplotlib Axes, default=None
            As in `plot`.

        Returns
        -------
        NeighborsPanelsDisplay
            Drawn.

        Raises
        ------
        ValueError
            If there are no such records, or those of several data sets.
        ImportError
            If matplotlib is not installed (extra ``plot``).
        """
        known = list(records)
        with_k = [record for record in known if record["n_neighbors"] is not None]
        methods = list(dict.fromkeys(record["method"] for record in with_k))
        has_value = dict.fromkeys(record["metric"] for record in with_k if record["value"] is not None)
        chosen = list(has_value) if metrics is None else metrics
        panels = {
            words_of(m): [
                NeighborsCurveDisplay(**means_of(known, m, method, dataset), name=method) for method in methods
            ]
            for m in chosen
        }
        return cls(panels).plot(ax)

    def _size(self) -> tuple[float, float]:
        n_rows, n_columns = self._shape()
        return 5.2 * n_columns, 3.4 * n_rows + 0.6

    def _shape(self) -> tuple[int, int]:
        n_columns = min(2, len(self.panels))
        return -(-len(self.panels) // n_columns), n_columns

    def _axes_of(self, figure: Any) -> Any:
        axes = figure.subplots(*self._shape(), squeeze=False).ravel()
        for unused in axes[len(self.panels) :]:
            unused.remove()
        return axes[: len(self.panels)]

    def _draw(self, ax: Any, **style: Any) -> None:
        for axis, (heading, curves) in zip(ax, self.panels.items(), strict=True):
            for curve in curves:
                curve.draw_line(axis, **(line_style(self.names.index(str(curve.name))) | style))
            axis.set_title(heading, fontsize=10, loc="left", parse_math=False)
        if self.legend:
            self._draw_legend(ax)

    def _draw_legend(self, ax: Any) -> None:
        line_of = {name: line for axis in ax for line, name in zip(*axis.get_legend_handles_labels(), strict=True)}
        names = [name for name in self.names if name in line_of]
        lines = [line_of[name] for name in names]
        columns = min(5, len(names))
        ax[0].figure.legend(lines, names, loc="outside lower center", ncols=columns, frameon=False, fontsize=9)
