"""Weights of votes by a kernel, for the parameter `weights` of the methods by votes."""

from __future__ import annotations

import math
from copy import copy
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator

from nearlabel.utils.containers import require_dense
from nearlabel.utils.types import FloatArray
from nearlabel.utils.validation import check_positive


class SimilarityWeights(BaseEstimator):
    """Weigh a neighbour's vote by a power of its cosine similarity, 1 - distance; 0 where this is negative.

    For a search by the metric "cosine". If all neighbours of a query weigh 0, each weighs 1. A large power lets a few
    very similar neighbours decide among many, so k may be some hundreds.

    Parameters
    ----------
    power : float, default=4.0
        The exponent, above 0.

    Notes
    -----
    Votes by sharpened similarities are known for very many labels: Aoshima, Kobayashi and Minami, arXiv 1802.03938,
    2018.

    See Also
    --------
    GaussianWeights : For the Euclidean distance.

    Examples
    --------
    >>> from nearlabel.neighbors import SimilarityWeights
    >>> SimilarityWeights(power=2)([[0.0, 0.5, 1.2]])
    array([[1.  , 0.25, 0.  ]])
    """

    def __init__(self, power: float = 4.0) -> None:
        self.power = power

    def __call__(self, distances: FloatArray) -> FloatArray:
        """Return the weights of neighbours at some distances, both of shape (n_queries, n_neighbors)."""
        weights = np.maximum(0.0, 1.0 - np.asarray(distances)) ** self.power
        return np.where(weights.any(axis=1, keepdims=True), weights, 1.0)

    def check(self) -> None:
        """Raise ValueError or TypeError unless the power is a number above 0."""
        check_positive("power", self.power)


class GaussianWeights(BaseEstimator):
    """Weigh a neighbour's vote by exp(-sharpness · distance² / unit²).

    Weights of a query are shares of its nearest neighbour's, so they do not vanish far from all samples.

    Parameters
    ----------
    sharpness : float, default=2.0
        How fast weights fall, above 0.
    unit : float, default=None
        The distance that counts as 1, above 0. None: `fit` of a classifier learns it, as the square root of the median,
        over the training samples, of the squared distance to the 10th nearest other sample; this takes one search more.
        Updates and leave-one-out predictions keep the unit; a new `fit` learns it again.

    See Also
    --------
    SimilarityWeights : For the cosine.

    Examples
    --------
    >>> from nearlabel.neighbors import GaussianWeights
    >>> GaussianWeights(sharpness=1, unit=2)([[0.0, 2.0]]).round(3)
    array([[1.   , 0.368]])
    """

    n_typical = 10  # the neighbour whose distance is the unit

    def __init__(self, sharpness: float = 2.0, unit: float | None = None) -> None:
        self.sharpness = sharpness
        self.unit = unit

    def learnt_from(self, distances: FloatArray) -> Self:
        """Return a copy that has learnt its unit.

        Parameters
        ----------
        distances : ndarray of shape (n_samples, n_neighbors)
            Distances of the training samples to the nearest others; the last column counts.

        Returns
        -------
        GaussianWeights
        """
        require_dense("distances", distances)
        learnt, last = copy(self), np.asarray(distances)[:, -1]
        known = last[np.isfinite(last)]  # not of samples that lack all features
        largest = float(known.max(initial=0.0))
        middle = math.sqrt(np.median((known / largest) ** 2)) if largest > 0 else 0.0
        learnt.unit = largest * middle or float(np.finfo(np.float64).tiny)  # most samples have copies: the nearest vote
        return learnt

    def __call__(self, distances: FloatArray) -> FloatArray:
        """Return the weights of neighbours at some distances, both of shape (n_queries, n_neighbors).

        Raises
        ------
        ValueError
            If the unit is None.
        """
        if self.unit is None:
            raise ValueError("unit must be learnt by the fit of a classifier, or given, got None.")
        distances = np.asarray(distances, dtype=np.float64)
        nearest = distances.min(axis=1, keepdims=True)
        with np.errstate(over="ignore", invalid="ignore"):
            # (d - n)(d + n) is d² - n² without a difference of large squares.
            beyond = ((distances - nearest) / self.unit) * ((distances + nearest) / self.unit)
            weights: FloatArray = np.exp(-self.sharpness * beyond)
        return np.where(distances == nearest, 1.0, weights)

    def check(self) -> None:
        """Raise ValueError or TypeError unless sharpness and unit are numbers above 0; the unit may be None."""
        check_positive("sharpness", self.sharpness)
        if self.unit is not None:
            check_positive("unit", self.unit)
