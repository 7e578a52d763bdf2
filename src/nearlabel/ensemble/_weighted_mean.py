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
        What the terms are.
    least : float
        Probabilities are clipped to this distance from 0 and 1 before their logits are taken, so that all are finite.
    """

    space: str
    least: float

    def terms(self, probabilities: FloatArray) -> FloatArray:
        """Return the terms of one part."""
        if self.space == "probability":
            return np.asarray(probabilities, dtype=np.float64)
        return np.asarray(logit(np.clip(probabilities, self.least, 1 - self.least)))

    def __call__(self, terms: Sequence[FloatArray], weights: FloatArray) -> FloatArray:
        """Return the probabilities that the terms of all parts make.

        The last axis of `weights` is that of the parts. One whose weights are all 0 adds nothing, whatever it says.
        """
        total: Any = sum(weights[..., place] * part for place, part in enumerate(terms) if weights[..., place].any())
        return np.asarray(total if self.space == "probability" else expit(total))
