"""A mixture of independent Bernoulli variables on label sets, without features: where conditional mixtures start."""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState

from nearlabel.adaptation._label_mixtures import log_sum
from nearlabel.utils.types import FloatArray, IntArray

_N_STARTS = 10
_MORE = 1e-9  # by how much a mean log-likelihood must be larger to count as larger
_MOST_STEPS = 100
_LEAST_GAIN = 1e-4  # a row
_PSEUDO_COUNT = 0.5  # of rows with and without each label in each component, so that no probability is 0


def bernoulli_mixture(Y: FloatArray, n_components: int, random: RandomState) -> FloatArray:
    """Return the responsibilities (n, K) of components for label sets (n, L), of the likeliest of ten mixtures.

    The random numbers choose among rows, never among labels, so the order of labels does not matter.
    """
    best, reached = _fitted(Y, n_components, random)
    for _ in range(_N_STARTS - 1):
        other, likelihood = _fitted(Y, n_components, random)
        if likelihood > reached + _MORE:
            best, reached = other, likelihood
    return best


def _fitted(Y: FloatArray, n_components: int, random: RandomState) -> tuple[FloatArray, float]:
    """Return responsibilities and mean log-likelihood of one mixture, by expectation-maximisation."""
    responsibilities = np.eye(n_components)[_nearest(Y, _spread_rows(Y, n_components, random), random)]
    reached = -np.inf
    for _ in range(_MOST_STEPS):
        joint = _log_joint(Y, responsibilities)
        evidence = log_sum(joint)
        responsibilities = np.exp(joint - evidence[:, np.newaxis])
        reached, before = float(evidence.mean()), reached
        if reached - before < _LEAST_GAIN:
            break
    return responsibilities, reached


def _log_joint(Y: FloatArray, responsibilities: FloatArray) -> FloatArray:
    """Return log π_k Π_l b_kl(y_l), the parameters estimated from responsibilities."""
    sizes = responsibilities.sum(axis=0)
    carried = (responsibilities.T @ Y + _PSEUDO_COUNT) / (sizes[:, np.newaxis] + 2 * _PSEUDO_COUNT)
    shares = (sizes + _PSEUDO_COUNT) / (sizes + _PSEUDO_COUNT).sum()
    return np.asarray(np.log(shares) + Y @ np.log(carried).T + (1 - Y) @ np.log1p(-carried).T)


def _spread_rows(Y: FloatArray, count: int, random: RandomState) -> IntArray:
    """Draw rows far from each other, the next in proportion to its Hamming distance from those drawn (k-means++)."""
    rows = [random.randint(len(Y))]
    distance = _hamming(Y, Y[rows[0]])
    while len(rows) < count:
        ends = np.cumsum(distance if distance.any() else np.ones(len(Y)))
        rows.append(int(np.searchsorted(ends, random.uniform() * ends[-1], side="right")))
        distance = np.minimum(distance, _hamming(Y, Y[rows[-1]]))
    return np.array(rows)


def _nearest(Y: FloatArray, rows: IntArray, random: RandomState) -> IntArray:
    """Return which of the drawn rows is nearest, equal distances decided at random."""
    distances = np.stack([_hamming(Y, Y[row]) for row in rows], axis=1)
    return np.asarray(np.argmin(distances + 0.5 * random.uniform(size=distances.shape), axis=1))


def _hamming(Y: FloatArray, labelset: FloatArray) -> FloatArray:
    return np.asarray((labelset != Y).sum(axis=1, dtype=np.float64))
