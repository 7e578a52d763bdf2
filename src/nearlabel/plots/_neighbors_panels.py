"""Several measures over the number of neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from nearlabel.experiments import Record
from nearlabel.plots._display import DisplayInSeveralAxes
from nearlabel.plots._neighbors_curve import NeighborsCurveDisplay, means_of, words_of


class NeighborsPanelsDisplay(DisplayInSeveralAxes):
    """Several measures over the number of neighbours: a panel for each, with a line for each method.

    Parameters
    ----------
    panels : mapping of str to sequence of NeighborsCurveDisplay
        Heading of a panel to its lines; the lines of all panels have the same names.

    Attributes
    ----------
    ax_ : ndarray of matplotlib Axes
        The panels it was drawn into last.
    figure_ : matplotlib Figure
        The figure that holds them.

    Raises
    ------
    ValueError
        If there is no panel.

    Examples
    --------
    >>> from nearlabel.plots import NeighborsCurveDisplay, NeighborsPanelsDisplay
    >>> curve = NeighborsCurveDisplay([1, 5, 10], [0.6, 0.72, 0.7], name="ML-kNN")
    >>> panels = NeighborsPanelsDisplay({"micro F1": [curve]})
    >>> file = panels.write("panels.png", title="Digits")  # doctest: +SKIP
    """

    def __init__(self, panels: Mapping[str, Sequence[NeighborsCurveDisplay]]) -> None:
        if not panels:
            raise ValueError("panels must hold at least one, got none.")
        self.panels = panels

    @classmethod
    def from_records(
        cls,
        records: Iterable[Record],
        *,
        metrics: Sequence[str] | None = None,
        dataset: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw all methods of a run that have numbers of neighbours: means over the folds, deviations as bands.

        Parameters
        ----------
        records : iterable of Record
            What `nearlabel.experiments.run` or `read_runs` returns.
        metrics : sequence of str, default=None
            Names of measures, a panel for each. None: all of the records.
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
        chosen = list(dict.fromkeys(record["metric"] for record in with_k)) if metrics is None else metrics
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
                curve._draw_line(axis, **style)
            axis.set_title(heading, fontsize=10, loc="left", parse_math=False)
        lines, names = ax[0].get_legend_handles_labels()
        columns = min(5, len(names))
        ax[0].figure.legend(lines, names, loc="outside lower center", ncols=columns, frameon=False, fontsize=9)
