"""Plot of a metric over the number of neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from nearlabel.experiments import Record, summarise
from nearlabel.metrics import MetricLike, get_metric
from nearlabel.metrics.evaluation import EMPTY_PREDICTIONS, title_of
from nearlabel.plots import _figure
from nearlabel.selection import tune_neighbors
from nearlabel.utils.types import FloatArray, MatrixLike


class NeighborsCurveDisplay(_figure.Display):
    """A metric over the number of neighbours, as a line, with a band if deviations are known.

    Created by `from_estimator`, `from_cv_results` or `from_records`. To compare several displays in one figure, draw
    each into ``ax_`` of the first.

    Parameters
    ----------
    n_neighbors : array-like of shape (n_numbers,)
        Numbers of neighbours, ascending.
    values : array-like of shape (n_numbers,)
        The value of the metric for each.
    deviations : array-like of shape (n_numbers,), default=None
        Half the height of the band; no band where NaN.
    metric : str, default=None
        Name of the metric, as `nearlabel.metrics.get_metric` accepts it, or "empty_predictions"; other text is shown
        unchanged, with spaces for underscores.
    name : str, default=None
        Name of the line.
    chosen : int, default=None
        A number of neighbours to mark.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the last drawing.
    figure_ : matplotlib Figure
        The figure that contains these axes.

    Raises
    ------
    ValueError
        If there are no numbers, the lengths differ, or `chosen` is not among the numbers.

    See Also
    --------
    nearlabel.selection.tune_neighbors : Computes such values from one search.
    sklearn.model_selection.ValidationCurveDisplay : Refits for each number and fold.

    Examples
    --------
    >>> from nearlabel.plots import NeighborsCurveDisplay
    >>> curve = NeighborsCurveDisplay([1, 5, 10], [0.6, 0.72, 0.7], metric="micro_f1", name="ML-kNN", chosen=5)
    >>> curve.plot().figure_.savefig("curve.png")  # doctest: +SKIP
    """

    def __init__(
        self,
        n_neighbors: Any,
        values: Any,
        *,
        deviations: Any = None,
        metric: str | None = None,
        name: str | None = None,
        chosen: int | None = None,
    ) -> None:
        self.n_neighbors = np.asarray(n_neighbors)
        self.values: FloatArray = np.asarray(values, dtype=np.float64)
        self.deviations = None if deviations is None else np.asarray(deviations, dtype=np.float64)
        self.metric = metric
        self.name = name
        self.chosen = chosen
        _check_lengths(self)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: MatrixLike,
        Y: MatrixLike,
        *,
        metric: MetricLike = "micro_f1",
        n_neighbors: int | Iterable[int] = 30,
        cv: Any = None,
        name: str | None = None,
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw a metric on held-out samples over the number of neighbours; leave-one-out if the method supports it.

        All numbers come from one search, without a refit (`nearlabel.selection.tune_neighbors`).

        Parameters
        ----------
        estimator : lazy classifier or Pipeline
            A classifier with `n_neighbors`, or a pipeline that ends in one. It is cloned and need not be fitted.
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Samples.
        Y : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Label sets as an indicator matrix of 0 and 1.
        metric : str, Metric or callable, default="micro_f1"
            A metric, as `nearlabel.metrics.get_metric` accepts it; the best number is marked. Or "empty_predictions",
            the share of samples without predicted labels (figure 1 of Spyromitros et al. 2008).
        n_neighbors : int or iterable of int, default=30
            An int: all numbers from 1 up to it, or as many as the samples allow. Otherwise: these numbers.
        cv : "loo", int, splitter or iterable of (training, validation) indices, default=None
            As in `tune_neighbors`.
        name : str, default=None
            Name of the line. None: the class of the classifier.
        ax : matplotlib Axes, default=None
            As in `plot`.
        **style : properties of matplotlib
            Style of the line.

        Returns
        -------
        NeighborsCurveDisplay
            Drawn.

        Raises
        ------
        TypeError
            If the estimator is not a lazy classifier with `n_neighbors`.
        ValueError
            As for `tune_neighbors`.
        ImportError
            If matplotlib is not installed (extra ``plot``).

        Examples
        --------
        >>> from nearlabel.datasets import load_multidigits
        >>> from nearlabel.lazy import BRkNN, MLkNN
        >>> from nearlabel.plots import NeighborsCurveDisplay
        >>> digits = load_multidigits()
        >>> first = NeighborsCurveDisplay.from_estimator(MLkNN(), digits.X, digits.Y)  # doctest: +SKIP
        >>> curve = NeighborsCurveDisplay.from_estimator(BRkNN(), digits.X, digits.Y, ax=first.ax_)  # doctest: +SKIP
        """
        decides = metric != EMPTY_PREDICTIONS
        scoring = metric if decides else ("micro_f1", metric)
        tuned = tune_neighbors(estimator, X, Y, n_neighbors=n_neighbors, scoring=scoring, cv=cv)
        classifier = tuned[-1] if hasattr(tuned, "steps") else tuned
        return cls.from_cv_results(
            classifier.cv_results_,
            metric=get_metric(metric).name if decides else EMPTY_PREDICTIONS,
            name=type(classifier).__name__ if name is None else name,
            chosen=int(classifier.n_neighbors) if decides else None,
            ax=ax,
            **style,
        )

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        *,
        metric: str | None = None,
        name: str | None = None,
        chosen: int | None = None,
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw the ``cv_results_`` of a search for the number of neighbours.

        Parameters
        ----------
        cv_results : mapping
            ``cv_results_`` of a classifier that was fitted with ``n_neighbors="auto"`` or by `tune_neighbors`.
        metric : str, default=None
            One of its metrics. None: the first, by which the number was selected.
        name : str, default=None
            Name of the line.
        chosen : int, default=None
            A number of neighbours to mark.
        ax : matplotlib Axes, default=None
            As in `plot`.
        **style : properties of matplotlib
            Style of the line.

        Returns
        -------
        NeighborsCurveDisplay
            Drawn.

        Raises
        ------
        ValueError
            If the metric is not in the table, or the table is of several methods, as that of `NeighborsClassifierCV`.
        ImportError
            If matplotlib is not installed (extra ``plot``).
        """
        if "method" in cv_results:
            several = ", ".join(sorted(set(map(str, cv_results["method"]))))
            raise ValueError(
                f"cv_results must be of one method, got a table of {several}. Hint: from_estimator(MLkNN(), X, Y) draws"
                " one; or choose the rows of one method, scale, metric and n_samples, and draw"
                ' NeighborsCurveDisplay(table["n_neighbors"][rows], table["score"][rows], metric="micro_f1").'
            )
        known = [column for column in cv_results if column != "n_neighbors"]
        shown = metric if metric is not None or not known else known[0]
        if shown not in known or "n_neighbors" not in cv_results:
            raise ValueError(
                f"metric must be one of the table's metrics {', '.join(known) or '(none)'}, got {metric!r}."
            )
        curve = cls(cv_results["n_neighbors"], cv_results[shown], metric=shown, name=name, chosen=chosen)
        return curve.plot(ax, **style)

    @classmethod
    def from_records(
        cls,
        records: Iterable[Record],
        *,
        metric: str,
        method: str,
        dataset: str | None = None,
        name: str | None = None,
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw the means over the folds of a run, with their standard deviation as a band.

        Parameters
        ----------
        records : iterable of Record
            As returned by `nearlabel.experiments.run` or `nearlabel.comparison.read_runs`.
        metric : str
            Name of a metric of the records.
        method : str
            Name of a method in the records that has numbers of neighbours.
        dataset : str, default=None
            Name of a data set in the records. None: the only one.
        name : str, default=None
            Name of the line. None: the method.
        ax : matplotlib Axes, default=None
            As in `plot`.
        **style : properties of matplotlib
            Style of the line.

        Returns
        -------
        NeighborsCurveDisplay
            Drawn.

        Raises
        ------
        ValueError
            If there are no such records, or records of several data sets.
        ImportError
            If matplotlib is not installed (extra ``plot``).
        """
        return cls(**means_of(list(records), metric, method, dataset), name=name or method).plot(ax, **style)

    def _draw(self, ax: Any, **style: Any) -> None:
        self.draw_line(ax, **style)
        ax.set_ylabel(words_of(self.metric))
        _figure.set_legend(ax)

    def draw_line(self, ax: Any, **style: Any) -> None:
        """Draw the line and the band, without a legend."""
        if not ax.lines:
            _figure.set_line_styles(ax)
            _figure.set_open_frame(ax)
            ax.grid(visible=True, linewidth=0.4, alpha=0.5)
            ax.xaxis.get_major_locator().set_params(integer=True)
            ax.set_xlabel("number of neighbours k", fontsize=9)
        look = {"linewidth": 1.6, "marker": _figure.dots(len(self.n_neighbors)), "markersize": 4}
        (line,) = ax.plot(self.n_neighbors, self.values, label=self.name, **(look | style))
        if self.deviations is not None:
            lower, upper = self.values - self.deviations, self.values + self.deviations
            ax.fill_between(self.n_neighbors, lower, upper, color=line.get_color(), alpha=0.12, linewidth=0)
        if self.chosen is not None:
            at = self.values[self.n_neighbors == self.chosen]
            ax.scatter([self.chosen], at, s=60, facecolors="none", edgecolors=line.get_color(), zorder=3)


def means_of(records: Sequence[Record], metric: str, method: str, dataset: str | None) -> dict[str, Any]:
    """Return means and deviations of records over the folds, as arguments of a display."""
    cells = [cell for cell in summarise(records) if cell.dataset == dataset or dataset is None]
    datasets = list(dict.fromkeys(cell.dataset for cell in cells))
    if len(datasets) > 1:
        raise ValueError(f"dataset must be one of {', '.join(datasets)}, got {dataset}.")
    own = [c for c in cells if c.metric == metric and c.method == method and isinstance(c.n_neighbors, int)]
    if not own:
        wanted = f"{metric} of {method}" + ("" if dataset is None else f" on {dataset}")
        raise ValueError(f"records must contain {wanted} over numbers of neighbours, got none.")
    points = sorted((cell.n_neighbors, cell.mean, cell.std) for cell in own if isinstance(cell.n_neighbors, int))
    numbers, means, deviations = zip(*points, strict=True)
    return {"n_neighbors": numbers, "values": means, "deviations": deviations, "metric": metric}


def words_of(metric: str | None) -> str:
    """Return the label of the axis of values."""
    if metric is None:
        return ""
    if metric == EMPTY_PREDICTIONS:
        return "share of empty predictions"
    return title_of(metric)


def _check_lengths(curve: NeighborsCurveDisplay) -> None:
    n = curve.n_neighbors.shape
    if len(n) != 1 or not n[0]:
        raise ValueError(f"n_neighbors must be of shape (n_numbers,) with at least one, got shape {n}.")
    for name, array in (("values", curve.values), ("deviations", curve.deviations)):
        if array is not None and array.shape != n:
            raise ValueError(f"{name} must be of shape {n}, as n_neighbors, got {array.shape}.")
    if curve.chosen is not None and curve.chosen not in curve.n_neighbors:
        raise ValueError(f"chosen must be one of n_neighbors, got {curve.chosen}.")


# Plots of several metrics over the number of neighbours.


class NeighborsPanelsDisplay(_figure.DisplayInSeveralAxes):
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

        def curve(metric: str, method: str) -> NeighborsCurveDisplay:
            return NeighborsCurveDisplay(**means_of(known, metric, method, dataset), name=method)

        return cls({words_of(metric): [curve(metric, method) for method in methods] for metric in chosen}).plot(ax)

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
                curve.draw_line(axis, **(_figure.line_style(self.names.index(str(curve.name))) | style))
            axis.set_title(heading, fontsize=10, loc="left", parse_math=False)
        if self.legend:
            self._draw_legend(ax)

    def _draw_legend(self, ax: Any) -> None:
        line_of = {name: line for axis in ax for line, name in zip(*axis.get_legend_handles_labels(), strict=True)}
        names = [name for name in self.names if name in line_of]
        lines = [line_of[name] for name in names]
        columns = min(5, len(names))
        ax[0].figure.legend(lines, names, loc="outside lower center", ncols=columns, frameon=False, fontsize=9)
