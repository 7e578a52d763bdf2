"""Plots of scores: micro-averaged precision over recall for all thresholds, and how reliable probabilities are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from nearlabel.metrics import calibration_bins, micro_precision, micro_recall
from nearlabel.plots import _figure
from nearlabel.thresholds import micro_pr_frontier
from nearlabel.utils.containers import checked_container
from nearlabel.utils.estimators import in_order_of_fit, label_scores, response_method_of
from nearlabel.utils.frames import plain_labels
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray, MatrixLike

_EQUAL_F = "equal F"  # marks background lines, which are drawn once


class MicroFrontierDisplay(_figure.Display):
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
        Y : array-like, data frame or sparse container of shape (n_samples, n_labels), or tags
            Label sets as an indicator matrix of 0 and 1, or the tags of each sample. Tags that the classifier does not
            know have no scores: they are left out, with a warning.
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
        name, Y = type(estimator).__name__ if name is None else name, in_order_of_fit(estimator, Y)
        scores = label_scores(estimator, X, PartialLabels.of(Y).labels.shape[1], response_method_of(estimator))
        points = {f"{name}: its label sets": plain_labels(estimator, X)}
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
        y_true, y_score = checked_container("y_true", y_true), checked_container("y_score", y_score)
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
            _figure.set_line_styles(ax)
            _figure.set_open_frame(ax)
            ax.set(xlim=(0, 1), ylim=(0, 1.01), xlabel="micro-averaged recall", ylabel="micro-averaged precision")
        look = {"linewidth": 1.6, "marker": _figure.dots(len(self.recall)), "markersize": 4}
        (line,) = ax.plot(self.recall, self.precision, label=self.name, **(look | style))
        marked = sum(line.get_linestyle() == "None" for line in ax.lines)
        for number, (name, place) in enumerate(self.points.items(), marked):
            look = {"color": line.get_color(), "markersize": 7, "markeredgewidth": 1.8}  # they differ in form
            _figure.draw_mark(ax, name, place, number, **look)
        _figure.set_legend(ax)


def _draw_equal_f(ax: Any) -> None:
    """Draw lines of equal F1: precision = F recall / (2 recall - F)."""
    for tenth in range(1, 10):
        f = tenth / 10
        least = f / (2 - f)  # the recall at which a precision of 1 has this F1
        recall = least + (1 - least) * np.linspace(0, 1, 60) ** 2
        ax.plot(recall, f * recall / (2 * recall - f), color=_figure.GREY, linewidth=0.6, zorder=0, gid=_EQUAL_F)
        look = {"fontsize": 7, "color": _figure.INK, "alpha": 0.7, "va": "center", "annotation_clip": False}
        ax.annotate(f"F = {f}", (1.0, f / (2 - f)), (2, 0), textcoords="offset points", **look)


# Reliability diagram: shares of true labels over predicted probabilities.


_DIAGONAL = "diagonal"


class ReliabilityDisplay(_figure.Display):
    """Reliability diagram: the share of true labels over their predicted probability, in ten bins.

    Calibrated probabilities are on the diagonal. Micro-averaged: each pair of a sample and a label counts once. Created
    by `from_estimator` or `from_predictions`. To compare several displays in one figure, draw each into ``ax_`` of the
    first.

    Parameters
    ----------
    mean_probability, true_share : array-like of shape (n_bins,)
        Values of each non-empty bin.
    counts : array-like of shape (n_bins,)
        Number of probabilities in each bin, shown by the size of the point.
    name : str, default=None
        Name of the line; the expected calibration error follows it.

    Attributes
    ----------
    error : float
        The expected calibration error: the mean distance between the two, over all pairs (Pakdaman Naeini et al. 2015).
    ax_ : matplotlib Axes
        Axes of the last drawing.
    figure_ : matplotlib Figure
        The figure that contains these axes.

    Raises
    ------
    ValueError
        If there are no bins, or the lengths differ.

    See Also
    --------
    sklearn.calibration.CalibrationDisplay : The same for one label.

    References
    ----------
    M. Pakdaman Naeini, G. F. Cooper, M. Hauskrecht. Obtaining well calibrated probabilities using Bayesian binning.
    Proceedings of the 29th AAAI Conference on Artificial Intelligence, 2015.

    Examples
    --------
    >>> from nearlabel.plots import ReliabilityDisplay
    >>> display = ReliabilityDisplay([0.1, 0.9], [0.2, 0.8], counts=[300, 100])
    >>> round(display.error, 3)
    0.1
    """

    def __init__(self, mean_probability: Any, true_share: Any, counts: Any, *, name: str | None = None) -> None:
        self.mean_probability: FloatArray = np.asarray(mean_probability, dtype=np.float64)
        self.true_share: FloatArray = np.asarray(true_share, dtype=np.float64)
        self.counts = np.asarray(counts)
        self.name = name
        shapes = {self.mean_probability.shape, self.true_share.shape, self.counts.shape}
        if len(shapes) > 1 or self.counts.ndim != 1 or not self.counts.sum():
            raise ValueError(
                "mean_probability, true_share and counts must be of one shape (n_bins,) and not empty,"
                f" got {self.mean_probability.shape}, {self.true_share.shape} and {self.counts.shape}."
            )
        distances = np.abs(self.mean_probability - self.true_share)
        self.error = float(self.counts @ distances / self.counts.sum())

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: MatrixLike, Y: MatrixLike, *, name: str | None = None, ax: Any = None, **style: Any
    ) -> Self:
        """Draw the reliability diagram of a classifier's probabilities.

        Parameters
        ----------
        estimator : fitted classifier
            A classifier with `predict_proba`.
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Rows, better not those it was fitted to.
        Y : array-like, data frame or sparse container of shape (n_samples, n_labels), or tags
            Label sets as an indicator matrix of 0 and 1, or the tags of each sample. Tags that the classifier does not
            know have no scores: they are left out, with a warning.
        name : str, default=None
            Name of the line. None: the class of the classifier.
        ax : matplotlib Axes, default=None
            As in `plot`.
        **style : properties of matplotlib
            Style of the line.

        Returns
        -------
        ReliabilityDisplay
            Drawn.

        Raises
        ------
        ValueError
            If the classifier has no probabilities, or Y is malformed or does not match X or the classifier.
        ImportError
            If matplotlib is not installed (extra ``plot``).
        """
        labels = PartialLabels.of(in_order_of_fit(estimator, Y)).with_nan()
        method = response_method_of(estimator, ("predict_proba",))
        scores = label_scores(estimator, X, labels.shape[1], method)
        return cls.from_predictions(
            labels, scores, name=type(estimator).__name__ if name is None else name, ax=ax, **style
        )

    @classmethod
    def from_predictions(
        cls, y_true: MatrixLike, y_prob: MatrixLike, *, name: str | None = None, ax: Any = None, **style: Any
    ) -> Self:
        """Draw the reliability diagram of probabilities.

        Parameters
        ----------
        y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Indicator matrix of the true label sets.
        y_prob : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Probabilities.
        name : str, default=None
            Name of the line.
        ax : matplotlib Axes, default=None
            As in `plot`.
        **style : properties of matplotlib
            Style of the line.

        Returns
        -------
        ReliabilityDisplay
            Drawn.

        Raises
        ------
        ValueError
            If a matrix is malformed, shapes differ, or a probability is not in [0, 1].
        ImportError
            If matplotlib is not installed (extra ``plot``).
        """
        bins = calibration_bins(y_true, y_prob)
        filled = bins.counts > 0
        columns = bins.mean_probability[filled], bins.true_share[filled], bins.counts[filled]
        return cls(*columns, name=name).plot(ax, **style)

    def _size(self) -> tuple[float, float]:
        return 5.6, 5.6

    def _draw(self, ax: Any, **style: Any) -> None:
        if not any(line.get_gid() == _DIAGONAL for line in ax.lines):
            ax.plot([0, 1], [0, 1], color=_figure.GREY, linewidth=1, zorder=0, gid=_DIAGONAL)
            _figure.set_line_styles(ax)
            _figure.set_open_frame(ax)
            ax.set(xlabel="mean probability", ylabel="share that is true", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
        words = f"{self.name}, error {self.error:.3f}" if self.name else f"error {self.error:.3f}"
        (line,) = ax.plot(self.mean_probability, self.true_share, label=words, **({"linewidth": 1.4} | style))
        areas = 12 + 110 * np.sqrt(self.counts / self.counts.max())
        ax.scatter(self.mean_probability, self.true_share, s=areas, color=line.get_color(), alpha=0.7, linewidths=0)
        _figure.set_legend(ax)
