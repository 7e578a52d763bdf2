"""The weights of AdaBoost.MH on pairs of a sample and a label, and the outputs computed from them."""

from __future__ import annotations

import numpy as np

from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense

_PRECISION = 2.0**52


class Weights:
    """A distribution over pairs of a sample and a label, initially in proportion to the sample weights.

    Sums use weights rounded to multiples of 2⁻⁵². Such sums are exact, so they do not depend on the order.

    Parameters
    ----------
    labels : ndarray or CSR array of shape (n_samples, n_labels)
        Indicator matrix.
    sample_weight : ndarray of shape (n_samples,), default=None
        Sample weights. None: all weights are 1.
    """

    def __init__(self, labels: Matrix, sample_weight: FloatArray | None = None) -> None:
        self._carried = as_dense(labels).astype(np.float64)
        self._signs = 2 * self._carried - 1
        n_samples, n_labels = self._signs.shape
        counts = np.ones(n_samples) if sample_weight is None else sample_weight
        self._smoothing = 1 / (counts.sum() * n_labels)
        self._weights = np.repeat(counts[:, np.newaxis] * self._smoothing, n_labels, axis=1)
        self._by_sign = self._rounded()

    def by_sign(self) -> FloatArray:
        """Return (n_samples, 2 * n_labels): weights of the labels that samples carry, then of those that they lack."""
        return self._by_sign

    def _rounded(self) -> FloatArray:
        rounded = np.rint(self._weights * _PRECISION) / _PRECISION
        carried = rounded * self._carried
        return np.hstack([carried, rounded - carried])

    def put_rule(self, part: IntArray, n_parts: int = 2) -> tuple[FloatArray, float]:
        """Compute the best outputs of the parts and update the weights; return outputs and Z.

        Parameters
        ----------
        part : ndarray of shape (n_samples,)
            Part of each sample; samples whose part is `n_parts` abstain.
        n_parts : int, default=2
            Number of parts with outputs.

        Returns
        -------
        outputs : ndarray of shape (n_parts, n_labels)
            ½ ln((W₊ + ε) / (W₋ + ε)) with ε = 1 / (n_samples · n_labels), where n_samples is the sum of the sample
            weights.
        z : float
            Sum of the weights before normalisation.
        """
        sums = np.stack([self._by_sign[part == number].sum(axis=0) for number in range(n_parts + 1)])
        carried, lacking = np.split(sums, 2, axis=1)
        outputs = np.log((carried + self._smoothing) / (lacking + self._smoothing)) / 2
        outputs[n_parts] = 0
        z = float((carried * np.exp(-outputs) + lacking * np.exp(outputs)).sum())
        self._weights *= np.exp(-self._signs * outputs[part]) / z
        self._by_sign = self._rounded()
        return outputs[:n_parts], z
