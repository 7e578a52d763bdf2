"""Plot of micro-averaged precision over recall: the frontier of all thresholds, and predictions as points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from nearlabel.metrics import micro_precision, micro_recall
from nearlabel.plots._figure import (
    COLOURS,
    GREY,
    INK,
    MARKERS,
    Display,
    dots,
    set_legend,
    set_line_styles,
    set_open_frame,
)
from nearlabel.thresholds import micro_pr_frontier
from nearlabel.utils.estimators import label_scores, response_method_of
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray, MatrixLike

_EQUAL_F = "equal F"  # marks background lines, which are drawn once


class MicroFrontierDisplay(Display):
    """Frontier of micro-averaged precision and recall over all thresholds, with lines of equal F1.

    The frontier is the best that thresholds can reach for any F-beta. Created by `from_estimator` or
    `from_predictions`. To compare several displays in one figure, draw each into ``ax_`` of the first.

    Parameters
    ----------
    recall, precision : array-like of shape (n_points,)
        Points of the line, as returned by `nearlabel.thresholds.micro_pr_frontier`.
    name : str, default=None
        Name of the line.
    points : mapping of str to (recall, precision), default=None
        Single points to mark, by name.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the last drawing.
    figure_ : matplotlib Figure
        The figure that contains these axes.

    Raises
    ------
    ValueError
        If there are no points, or the lengths differ.

    See Also
    --------
    sklearn.metrics.PrecisionRecallDisplay : For one threshold for all labels, or for one label.

    Examples
    --------
    >>> from nearlabel.plots import MicroFrontierDisplay
    >>> line = MicroFrontierDisplay([0.2, 0.6, 1.0], [1.0, 0.8, 0.4], points={"at one half": (0.5, 0.7)})
    >>> file = line.write("frontier.png", title="All optima of F-beta")  # doctest: +SKIP
    """

    def __init__(
        self,
        recall: Any,
        precision: Any,
        *,
        name: str | None = None,
        points: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        self.recall: FloatArray = np.asarray(recall, dtype=np.float64)
        self.precision: FloatArray = np.asarray(precision, dtype=np.float64)
        self.name = name
        self.points = {} if points is None else dict(points)
        if self.recall.ndim != 1 or not self.recall.size or self.recall.shape != self.precision.shape:
            raise ValueError(
                "recall and precision must be of one shape (n_points,) with at least one point,"
                f" got {self.recall.shape} and {self.precision.shape}."
            )

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: MatrixLike, Y: MatrixLike, *, name: str | None = None, ax: Any = None, **style: Any
    ) -> Self:
        """Draw the frontier of a classifier's scores, and the point of its predictions.

        Parameters
        ----------
        estimator : fitted classifier
            A classifier with `predict_proba` or `decision_function`.
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Samples, preferably not the training samples.
        Y : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Label sets as an indicator matrix of 0 and 1.
        name : str, default=None
            Name of the line. None: the classifier's class.
        ax : matplotlib Axes, default=None
            As in `plot`.
        **style : properties of matplotlib
            Style of the line.

        Returns
        -------
        MicroFrontierDisplay
            Drawn.

        Raises
        ------
        ValueError
            If the classifier has no scores, or Y is malformed, does not match X or the classifier, or has no positives.
        ImportError
            If matplotlib is not installed (extra ``plot``).
        """
        name = type(estimator).__name__ if name is None else name
        scores = label_scores(estimator, X, PartialLabels.of(Y).labels.shape[1], response_method_of(estimator))
        points = {f"{name}: its label sets": estimator.predict(X)}
        return cls.from_predictions(Y, scores, name=name, points=points, ax=ax, **style)

    @classmethod
    def from_predictions(
        cls,
        y_true: MatrixLike,
        y_score: MatrixLike,
        *,
        name: str | None = None,
        points: Mapping[str, MatrixLike] | None = None,
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw the frontier of scores, and the points of predicted label sets.

        Parameters
        ----------
        y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Indicator matrix of the true label sets.
        y_score : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Scores, larger is better.
        name : str, default=None
            Name of the line.
        points : mapping of str to indicator matrix of shape (n_samples, n_labels), default=None
            Predicted label sets by name, each drawn at its recall and precision.
        ax : matplotlib Axes, default=None
            As in `plot`.
        **style : properties of matplotlib
            Style of the line.

        Returns
        -------
        MicroFrontierDisplay
            Drawn.

        Raises
        ------
        ValueError
            If a matrix is malformed, shapes differ, or there are no true labels.
        ImportError
            If matplotlib is not installed (extra ``plot``).
        """
        frontier = micro_pr_frontier(y_score, y_true)
        if not len(frontier.recall):
            raise ValueError("y_true must have a positive for a frontier to exist, got none.")
        # Without predicted labels there is no precision, and so no point.
        at = {
            one: (micro_recall(y_true, predicted), micro_precision(y_true, predicted, zero_division=np.nan))
            for one, predicted in (points or {}).items()
        }
        marked = {one: place for one, place in at.items() if not np.isnan(place[1])}
        return cls(frontier.recall, frontier.precision, name=name, points=marked).plot(ax, **style)

    def _size(self) -> tuple[float, float]:
        return 6.4, 5.8

    def _draw(self, ax: Any, **style: Any) -> None:
        if not any(line.get_gid() == _EQUAL_F for line in ax.lines):
            _draw_equal_f(ax)
            set_line_styles(ax)
            set_open_frame(ax)
            ax.set(xlim=(0, 1), ylim=(0, 1.01), xlabel="micro-averaged recall", ylabel="micro-averaged precision")
        look = {"linewidth": 1.6, "marker": dots(len(self.recall)), "markersize": 4}
        ax.plot(self.recall, self.precision, label=self.name, **(look | style))
        marked = sum(line.get_linestyle() == "None" for line in ax.lines)
        for number, (name, (recall, precision)) in enumerate(self.points.items(), marked):
            look = {"marker": MARKERS[number % len(MARKERS)], "markersize": 7, "markerfacecolor": "none"}
            colour = COLOURS[(number + 1) % len(COLOURS)]  # the first colour is used by the line
            ax.plot([recall], [precision], label=name, color=colour, linestyle="none", markeredgewidth=1.8, **look)
        set_legend(ax)


def _draw_equal_f(ax: Any) -> None:
    """Draw lines of equal F1: precision = F recall / (2 recall - F)."""
    for tenth in range(1, 10):
        f = tenth / 10
        least = f / (2 - f)  # the recall at which a precision of 1 has this F1
        recall = least + (1 - least) * np.linspace(0, 1, 60) ** 2
        ax.plot(recall, f * recall / (2 * recall - f), color=GREY, linewidth=0.6, zorder=0, gid=_EQUAL_F)
        ax.annotate(
            f"F = {f}",
            (1.0, f / (2 - f)),
            fontsize=7,
            color=INK,
            alpha=0.7,
            xytext=(2, 0),
            textcoords="offset points",
            va="center",
            annotation_clip=False,
        )
