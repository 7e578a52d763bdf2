"""Plot of a metric over the number of neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from nearlabel.experiments import Record, summarise
from nearlabel.metrics import MetricLike, get_metric
from nearlabel.metrics.evaluation import EMPTY_PREDICTIONS, title_of
from nearlabel.model_selection import tune_neighbors
from nearlabel.plots._display import Display
from nearlabel.plots._figure import dots, set_legend, set_line_styles, set_open_frame
from nearlabel.utils.types import FloatArray, MatrixLike


class NeighborsCurveDisplay(Display):
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
    nearlabel.model_selection.tune_neighbors : Computes such values from one search.
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

        All numbers come from one search, without a refit (`nearlabel.model_selection.tune_neighbors`).

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
            If the metric is not in the table.
        ImportError
            If matplotlib is not installed (extra ``plot``).
        """
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
        set_legend(ax)

    def draw_line(self, ax: Any, **style: Any) -> None:
        """Draw the line and the band, without a legend."""
        if not ax.lines:
            set_line_styles(ax)
            set_open_frame(ax)
            ax.grid(visible=True, linewidth=0.4, alpha=0.5)
            ax.xaxis.get_major_locator().set_params(integer=True)
            ax.set_xlabel("number of neighbours k", fontsize=9)
        look = {"linewidth": 1.6, "marker": dots(len(self.n_neighbors)), "markersize": 4}
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
