"""The most probable of random label sets, drawn from a mixture of independent labels."""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState
from scipy.special import expit

from nearlabel.adaptation._label_mixtures import LabelMixtures
from nearlabel.utils.types import BoolArray, FloatArray


def sampled_labelsets(mixtures: LabelMixtures, n_samples: int, random: RandomState, allow_empty: bool) -> BoolArray:
    """Return the most probable (n, L) of the label sets drawn for each query; ties go to the first.

    All queries use the same uniform random numbers, so that the result of a query does not depend on the other queries.
    If the empty set is drawn but not allowed, it is replaced by the label with the largest marginal.
    """
    n_labels = mixtures.log_odds.shape[2]
    sets = _drawn(mixtures, random.uniform(size=n_samples), random.uniform(size=(n_samples, n_labels)))
    if not allow_empty:
        query, sample = np.nonzero(~sets.any(axis=2))
        sets[query, sample, mixtures.marginals().argmax(axis=1)[query]] = True
    return np.asarray(sets[np.arange(len(sets)), mixtures.log_probability(sets).argmax(axis=1)])


def _drawn(mixtures: LabelMixtures, for_component: FloatArray, for_labels: FloatArray) -> BoolArray:
    """Return label sets (n, n_samples, L): draw a component by its weight, then each label by its probability there."""
    ends = np.cumsum(np.exp(mixtures.log_weights), axis=1)[:, :-1]
    component = (ends[:, np.newaxis] <= for_component[:, np.newaxis]).sum(axis=2)
    probability = expit(mixtures.log_odds)[np.arange(len(component))[:, np.newaxis], component]
    return np.asarray(for_labels < probability)
