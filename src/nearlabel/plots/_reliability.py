"""Reliability diagram: shares of true labels over predicted probabilities."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from nearlabel.metrics import calibration_bins
from nearlabel.plots._figure import GREY, Display, set_legend, set_line_styles, set_open_frame
from nearlabel.utils.estimators import label_scores, response_method_of
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray, MatrixLike

_DIAGONAL = "diagonal"


class ReliabilityDisplay(Display):
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
        Y : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Label sets as an indicator matrix of 0 and 1.
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
        labels = PartialLabels.of(Y).with_nan()
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
            ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, zorder=0, gid=_DIAGONAL)
            set_line_styles(ax)
            set_open_frame(ax)
            ax.set(xlabel="mean probability", ylabel="share that is true", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
        words = f"{self.name}, error {self.error:.3f}" if self.name else f"error {self.error:.3f}"
        (line,) = ax.plot(self.mean_probability, self.true_share, label=words, **({"linewidth": 1.4} | style))
        areas = 12 + 110 * np.sqrt(self.counts / self.counts.max())
        ax.scatter(self.mean_probability, self.true_share, s=areas, color=line.get_color(), alpha=0.7, linewidths=0)
        set_legend(ax)
