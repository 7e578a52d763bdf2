"""How far probabilities are from the shares of true labels: the points of a reliability diagram."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import FloatArray, Matrix

_N_BINS = 10


def calibration_facts(scores: FloatArray, Y: Matrix) -> dict[str, Any]:
    """Return the reliability of scores in [0, 1], micro-averaged: each pair of a row and a label counts once.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_labels)
        Probabilities.
    Y : ndarray or CSR of shape (n_samples, n_labels)
        Indicator matrix.

    Returns
    -------
    dict
        ``bins``, ten of equal width of which the last holds the score 1: each with ``low``, ``high``, ``count``,
        ``mean_score`` and ``true_share``, the last two None where it is empty; and ``error``, the expected calibration
        error, the mean over all pairs of the distance between the two.

    References
    ----------
    M. Pakdaman Naeini, G. F. Cooper, M. Hauskrecht. Obtaining well calibrated probabilities using Bayesian binning.
    Proceedings of the 29th AAAI Conference on Artificial Intelligence, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from nearlabel.experiments._calibration_facts import calibration_facts
    >>> facts = calibration_facts(np.array([[0.95, 0.05], [0.95, 0.05]]), np.array([[1, 0], [0, 0]]))
    >>> round(facts["error"], 3), facts["bins"][9]["count"]
    (0.25, 2)
    """
    counts, hits, sums = np.zeros(_N_BINS, dtype=np.int64), np.zeros(_N_BINS, dtype=np.int64), np.zeros(_N_BINS)
    for block in row_blocks(scores.shape[0], 24 * scores.shape[1]):
        numbers = np.minimum((scores[block] * _N_BINS).astype(np.intp), _N_BINS - 1)
        counts += np.bincount(numbers.ravel(), minlength=_N_BINS)
        sums += np.bincount(numbers.ravel(), scores[block].ravel(), minlength=_N_BINS)
        hits += np.bincount(numbers[Y[block].nonzero()], minlength=_N_BINS)
    error = float(np.abs(sums - hits).sum() / max(counts.sum(), 1))
    return {"bins": [_bin(i, int(counts[i]), float(sums[i]), int(hits[i])) for i in range(_N_BINS)], "error": error}


def _bin(number: int, count: int, total: float, hits: int) -> dict[str, Any]:
    means = (total / count, hits / count) if count else (None, None)
    edges = {"low": number / _N_BINS, "high": (number + 1) / _N_BINS}
    return edges | {"count": count, "mean_score": means[0], "true_share": means[1]}
