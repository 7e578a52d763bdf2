"""A mixture of independent Bernoulli variables on label sets, without features: the start of conditional mixtures."""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState

from nearlabel.adaptation._label_mixtures import log_sum
from nearlabel.utils.types import FloatArray, IntArray

_N_STARTS = 10
_MORE = 1e-9  # minimum difference of mean log-likelihoods that counts as an improvement
_MOST_STEPS = 100
_LEAST_GAIN = 1e-4  # per row
_PSEUDO_COUNT = 0.5  # pseudo-counts of rows with and without each label in each component, so that no probability is 0


def bernoulli_mixture(Y: FloatArray, n_components: int, random: RandomState) -> FloatArray:
    """Return the responsibilities (n, K) of components for label sets (n, L), from the most likely of ten mixtures.

    Random numbers select rows, never labels, so the result does not depend on the order of the labels.
    """
    best, reached = _fitted(Y, n_components, random)
    for _ in range(_N_STARTS - 1):
        other, likelihood = _fitted(Y, n_components, random)
        if likelihood > reached + _MORE:
            best, reached = other, likelihood
    return best


def _fitted(Y: FloatArray, n_components: int, random: RandomState) -> tuple[FloatArray, float]:
    """Return the responsibilities and the mean log-likelihood of one mixture, by expectation-maximisation."""
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
    """Return log π_k Π_l b_kl(y_l), with parameters estimated from responsibilities."""
    sizes = responsibilities.sum(axis=0)
    carried = (responsibilities.T @ Y + _PSEUDO_COUNT) / (sizes[:, np.newaxis] + 2 * _PSEUDO_COUNT)
    shares = (sizes + _PSEUDO_COUNT) / (sizes + _PSEUDO_COUNT).sum()
    return np.asarray(np.log(shares) + Y @ np.log(carried).T + (1 - Y) @ np.log1p(-carried).T)


def _spread_rows(Y: FloatArray, count: int, random: RandomState) -> IntArray:
    """Draw rows far from each other, in proportion to their Hamming distance from those drawn before (k-means++)."""
    rows = [random.randint(len(Y))]
    distance = _hamming(Y, Y[rows[0]])
    while len(rows) < count:
        ends = np.cumsum(distance if distance.any() else np.ones(len(Y)))
        rows.append(int(np.searchsorted(ends, random.uniform() * ends[-1], side="right")))
        distance = np.minimum(distance, _hamming(Y, Y[rows[-1]]))
    return np.array(rows)


def _nearest(Y: FloatArray, rows: IntArray, random: RandomState) -> IntArray:
    """Return the nearest of the drawn rows; ties are broken at random."""
    distances = np.stack([_hamming(Y, Y[row]) for row in rows], axis=1)
    return np.asarray(np.argmin(distances + 0.5 * random.uniform(size=distances.shape), axis=1))


def _hamming(Y: FloatArray, labelset: FloatArray) -> FloatArray:
    return np.asarray((labelset != Y).sum(axis=1, dtype=np.float64))
