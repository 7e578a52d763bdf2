"""Comparison of probabilities with the shares of true labels: the points of a reliability diagram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearlabel.metrics.truth import Truth
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import FloatArray, MatrixLike
from nearlabel.utils.validation import as_dense, check_integer


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
