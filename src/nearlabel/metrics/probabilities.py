"""Probabilities compared with labels: losses of confident wrong predictions, and points of a reliability diagram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearlabel.metrics.counts import ratio
from nearlabel.metrics.inputs import Truth, declared, known_weight
from nearlabel.metrics.ranking import BLOCK_BYTES
from nearlabel.utils.types import FloatArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense, check_integer, row_blocks

_LEAST = 1e-15  # smallest likelihood, so that its logarithm is finite


@declared("log loss", greater_is_better=False, on_request=True)
def log_loss(y_true: MatrixLike, y_prob: MatrixLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Return the mean over all cells of minus the logarithm of the probability predicted for the true value.

    That probability is ``p`` for a relevant label and ``1 - p`` for an irrelevant one, clipped to ``[1e-15, 1 -
    1e-15]``. The result equals the mean over labels of :func:`sklearn.metrics.log_loss` of each label; that function
    itself interprets a matrix as the classes of a single target. Some authors report the sum over labels, n_labels
    times this value.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the true label sets.
    y_prob : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Probabilities of the labels; an absent entry of a sparse container is 0.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 (best) to 34.54, minus the logarithm of 1e-15.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional or is empty, the shapes differ, `y_true` contains anything but 0 and 1,
        `y_prob` contains a value that is not a number in [0, 1], or the weights are malformed.

    See Also
    --------
    label_table : The losses of each label.

    Examples
    --------
    >>> round(log_loss([[1, 0]], [[0.5, 0.25]]), 4)  # (ln 2 - ln 0.75) / 2
    0.4904
    """
    losses = _losses(y_true, y_prob, sample_weight)
    return losses.mean_of_cells(losses.logs)


@declared("Brier score", greater_is_better=False, on_request=True)
def brier_score(y_true: MatrixLike, y_prob: MatrixLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Return the mean over all cells of the squared difference between the probability and the true value, 0 or 1 [1]_.

    Equal to the mean over labels of :func:`sklearn.metrics.brier_score_loss` of each label.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the true label sets.
    y_prob : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Probabilities of the labels; an absent entry of a sparse container is 0.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 (best) to 1.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional or is empty, the shapes differ, `y_true` contains anything but 0 and 1,
        `y_prob` contains a value that is not a number in [0, 1], or the weights are malformed.

    See Also
    --------
    label_table : The losses of each label.

    References
    ----------
    .. [1] Brier: Verification of forecasts expressed in terms of probability. Monthly Weather Review 78(1), 1950.

    Examples
    --------
    >>> brier_score([[1, 0]], [[0.5, 0.25]])  # (0.25 + 0.0625) / 2
    0.15625
    """
    losses = _losses(y_true, y_prob, sample_weight)
    return losses.mean_of_cells(losses.squares)


class LabelLosses(NamedTuple):
    """The losses of the known cells of each label, weighted sums of shape (n_labels,)."""

    logs: FloatArray
    squares: FloatArray
    known: FloatArray  # weight of the cells
    total: Any  # weight of all rows

    def means_of_labels(self, sums: FloatArray) -> FloatArray:
        """Return the mean over the known cells of each label; nan if it has none."""
        return ratio(sums, self.known, np.nan)

    def mean_of_cells(self, sums: FloatArray) -> float:
        """Return the mean over all known cells."""
        return float((sums / self.total).sum() / (self.known / self.total).sum())


def losses_of_labels(truth: Truth, probabilities: Matrix) -> LabelLosses:
    """Return the losses of probabilities with NaN in unknown cells (n_left, n_labels), in blocks of rows."""
    n_samples, n_labels = truth.labels.shape
    sizes = np.ones(n_samples) if truth.weights is None else truth.weights
    logs, squares = np.zeros((2, n_labels))
    for rows in row_blocks(n_samples, bytes_per_row=8 * n_labels, budget=BLOCK_BYTES):
        is_true = as_dense(truth.labels[rows]).astype(bool)
        given = as_dense(probabilities[rows]).astype(np.float64)
        likelihoods = np.clip(np.where(is_true, given, 1 - given), _LEAST, 1 - _LEAST)
        logs -= sizes[rows] @ _of_known(np.log(likelihoods), truth)
        squares += sizes[rows] @ _of_known((given - is_true) ** 2, truth)
    known = np.broadcast_to(known_weight(sizes, truth.unknown), n_labels)
    return LabelLosses(logs, squares, known, sizes.sum())


def _of_known(losses: FloatArray, truth: Truth) -> FloatArray:
    """Return losses of cells, with 0 in place of NaN, which marks unknown cells."""
    return losses if truth.unknown is None else np.nan_to_num(losses)


def _losses(y_true: MatrixLike, y_prob: MatrixLike, sample_weight: Any) -> LabelLosses:
    truth = Truth.of(y_true, sample_weight)
    return losses_of_labels(truth, truth.probabilities(y_prob))


# Comparison of probabilities with the shares of true labels: the points of a reliability diagram.


@dataclass(frozen=True, eq=False)
class CalibrationBins:
    """Probabilities in bins of equal width, and how many of them belong to true labels.

    Parameters
    ----------
    edges : ndarray of shape (n_bins + 1,)
        Limits of the bins; the last bin contains the probability 1.
    counts : ndarray of shape (n_bins,)
        Number of probabilities in each bin, or the sum of their weights.
    mean_probability, true_share : ndarray of shape (n_bins,)
        Mean of the probabilities in each bin, and the share of them whose label is true; NaN for an empty bin.
    error : float
        Expected calibration error: the mean distance between the two, over all probabilities.
    """

    edges: FloatArray
    counts: NDArray[Any]
    mean_probability: FloatArray
    true_share: FloatArray
    error: float


def calibration_bins(
    y_true: MatrixLike, y_prob: MatrixLike, *, n_bins: int = 10, sample_weight: ArrayLike | None = None
) -> CalibrationBins:
    """Compare probabilities with the shares of true labels, micro-averaged: each known cell of y_true counts once.

    Parameters
    ----------
    y_true : indicator matrix of shape (n_samples, n_labels)
        True label sets.
    y_prob : array-like or sparse container of shape (n_samples, n_labels)
        Probabilities.
    n_bins : int, default=10
        Number of bins.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    CalibrationBins
        The bins and the expected calibration error.

    Raises
    ------
    ValueError
        If a matrix is malformed, shapes differ, weights are malformed, or a probability is not in [0, 1].

    See Also
    --------
    sklearn.calibration.calibration_curve : The same for one label, without the empty bins.

    References
    ----------
    M. Pakdaman Naeini, G. F. Cooper, M. Hauskrecht. Obtaining well calibrated probabilities using Bayesian binning.
    Proceedings of the 29th AAAI Conference on Artificial Intelligence, 2015.

    Examples
    --------
    >>> from nearlabel.metrics import calibration_bins
    >>> bins = calibration_bins([[1, 0], [0, 0]], [[0.95, 0.05], [0.95, 0.05]])
    >>> round(bins.error, 3), int(bins.counts[9]), float(bins.true_share[9])
    (0.25, 2, 0.5)
    """
    n_bins = check_integer("n_bins", n_bins, low=1)
    truth = Truth.of(y_true, sample_weight)
    scores, weights = as_dense(truth.probabilities(y_prob)), truth.weights
    counts, hits, sums = np.zeros((3, n_bins))
    for block in row_blocks(scores.shape[0], 24 * scores.shape[1]):
        given = scores[block]
        cells = np.ones(given.shape) if weights is None else np.broadcast_to(weights[block, np.newaxis], given.shape)
        if truth.unknown is not None:
            cells, given = np.where(np.isnan(given), 0.0, cells), np.nan_to_num(given)
        bins = np.minimum((given * n_bins).astype(np.intp), n_bins - 1)
        carried = truth.labels[block].nonzero()
        counts += np.bincount(bins.ravel(), cells.ravel(), minlength=n_bins)
        sums += np.bincount(bins.ravel(), (given * cells).ravel(), minlength=n_bins)
        hits += np.bincount(bins[carried], cells[carried], minlength=n_bins)
    error = float(np.abs(sums - hits).sum() / counts.sum())
    counts = counts.astype(np.int64) if weights is None else counts
    filled = np.where(counts, counts, np.nan)
    return CalibrationBins(np.arange(n_bins + 1) / n_bins, counts, sums / filled, hits / filled, error)
