"""Losses of probabilities, cell by cell: what a classifier pays for being sure of the wrong thing.

Where y_true has unknown cells (NaN, see `nearlabel.metrics`) the mean is over the known ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nearlabel.metrics._ranks import BLOCK_BYTES
from nearlabel.metrics.inputs import dense_rows
from nearlabel.metrics.ratios import ratio
from nearlabel.metrics.truth import Truth, known_weight
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import FloatArray, Matrix, MatrixLike

_LEAST = 1e-15  # a likelihood of 0 counts as this: its logarithm is finite


def log_loss(y_true: MatrixLike, y_prob: MatrixLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Return the mean over all cells of minus the logarithm of the probability that the classifier gave to the truth.

    That probability, ``p`` for a relevant label and ``1 - p`` for another one, is clipped to 1e-15 from below and
    ``1 - 1e-15`` from above. The mean over labels of :func:`sklearn.metrics.log_loss` of each label; that function
    takes a matrix for the classes of a single target. The sum over labels that some print is n_labels times this.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the true label sets.
    y_prob : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Probabilities of the labels; an absent entry of a sparse container is 0.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the examples, at least 0: one of weight 2 counts as two equal ones. None: 1 each.

    Returns
    -------
    float
        From 0 (best) to 34.54, minus the logarithm of 1e-15.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional or is empty, the shapes differ, `y_true` contains anything but 0 and 1,
        `y_prob` contains something that is no number in [0, 1], or the weights are malformed.

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


def brier_score(y_true: MatrixLike, y_prob: MatrixLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Return the mean over all cells of the squared distance of the probability from the truth, 0 or 1 [1]_.

    The mean over labels of :func:`sklearn.metrics.brier_score_loss` of each label.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the true label sets.
    y_prob : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Probabilities of the labels; an absent entry of a sparse container is 0.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the examples, at least 0: one of weight 2 counts as two equal ones. None: 1 each.

    Returns
    -------
    float
        From 0 (best) to 1.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional or is empty, the shapes differ, `y_true` contains anything but 0 and 1,
        `y_prob` contains something that is no number in [0, 1], or the weights are malformed.

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
    """Return the losses of blank probabilities (n_left, n_labels), in blocks of rows."""
    n_samples, n_labels = truth.labels.shape
    sizes = np.ones(n_samples) if truth.weights is None else truth.weights
    logs, squares = np.zeros((2, n_labels))
    for rows in row_blocks(n_samples, bytes_per_row=8 * n_labels, budget=BLOCK_BYTES):
        is_true = dense_rows(truth.labels, rows).astype(bool)
        given = dense_rows(probabilities, rows).astype(np.float64)
        likelihoods = np.clip(np.where(is_true, given, 1 - given), _LEAST, 1 - _LEAST)
        logs -= sizes[rows] @ _of_known(np.log(likelihoods), truth)
        squares += sizes[rows] @ _of_known((given - is_true) ** 2, truth)
    known = np.broadcast_to(known_weight(sizes, truth.unknown), n_labels)
    return LabelLosses(logs, squares, known, sizes.sum())


def _of_known(losses: FloatArray, truth: Truth) -> FloatArray:
    """Return losses of cells with 0 for NaN, which stands where a cell is unknown."""
    return losses if truth.unknown is None else np.nan_to_num(losses)


def _losses(y_true: MatrixLike, y_prob: MatrixLike, sample_weight: Any) -> LabelLosses:
    truth = Truth.of(y_true, sample_weight)
    return losses_of_labels(truth, truth.probabilities(y_prob))
