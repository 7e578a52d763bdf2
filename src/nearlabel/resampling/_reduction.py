"""The base class of samplers that replace all samples by fewer ones, prototypes."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.random import RandomState
from scipy import sparse

from nearlabel.resampling._prototypes import majority_labels, medians, rows_of_each
from nearlabel.resampling._sampler import Resampled, Sampler
from nearlabel.utils.types import CSR, IntArray, Matrix


class Reduction(Sampler):
    """Replace each group of samples by one prototype: medians of the features, labels of the majority.

    A subclass stores its parameters and defines `_groups`. No prototype counts as an original sample, even if it equals
    one: `sample_indices_` and `seed_indices_` are -1, and `prototype_of_` is the prototype of each sample.
    """

    _names_seeds = False
    _stands_for_refits = False
    prototype_of_: IntArray

    @abstractmethod
    def _groups(self, X: Matrix, labels: CSR) -> IntArray:
        """Return the group (n_samples,) of each row, numbered 0, 1, ..., in the order of their first rows."""

    def _resample(self, X: Matrix, labels: Matrix, random: RandomState) -> Resampled:
        self.prototype_of_ = self._groups(X, sparse.csr_array(labels))
        prototypes = medians(X, rows_of_each(self.prototype_of_))
        return Resampled(
            source=np.empty(0, dtype=np.intp),
            labels=majority_labels(labels, self.prototype_of_),
            synthetic=prototypes,
            seeds=np.full(prototypes.shape[0], -1),
        )
