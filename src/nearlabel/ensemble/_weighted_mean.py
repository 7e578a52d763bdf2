"""The weighted mean of probabilities, or of their logits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from nearlabel.utils.types import FloatArray


class WeightedMean(NamedTuple):
    """A weighted mean of terms, which are probabilities or their logits.

    Parameters
    ----------
    space : {"probability", "logit"}
        Kind of the terms.
    least : float
        Probabilities are clipped to this distance from 0 and 1 before the logit, so that logits are finite.
    """

    space: str
    least: float

    def terms(self, probabilities: FloatArray) -> FloatArray:
        """Return the terms of one part."""
        if self.space == "probability":
            return np.asarray(probabilities, dtype=np.float64)
        return np.asarray(logit(np.clip(probabilities, self.least, 1 - self.least)))

    def __call__(self, terms: Sequence[FloatArray], weights: FloatArray) -> FloatArray:
        """Return the probabilities, the mean of the terms of all parts.

        The last axis of `weights` is that of the parts. A part whose weights are all 0 is ignored, even if its terms
        are not finite.
        """
        total: Any = sum(weights[..., place] * part for place, part in enumerate(terms) if weights[..., place].any())
        return np.asarray(total if self.space == "probability" else expit(total))
