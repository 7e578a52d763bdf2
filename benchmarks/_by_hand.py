"""What a user writes with scikit-learn and numpy where no library has the method: models that vote, boosted stumps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse


class VotesByHand:
    """Some multi-label models, each of random rows; a label is predicted if at least half of them predict it.

    Draws its random numbers as nearlabel's ensembles do, so that the answers can be compared.

    Parameters
    ----------
    make : callable
        Returns a model for so many labels, by the random numbers given.
    """

    def __init__(
        self, make: Callable[[int, RandomState], Any], n_models: int = 10, max_samples: float = 0.67, seed: int = 0
    ) -> None:
        self.make = make
        self.n_models = n_models
        self.max_samples = max_samples
        self.seed = seed

    def fit(self, X: Any, Y: NDArray) -> Self:
        """Fit each model to the labels that have both classes in its rows, since scikit-learn's take no others."""
        seeds = RandomState(self.seed).randint(np.iinfo(np.int32).max, size=self.n_models)
        self.members = [self._member(X, Y, RandomState(seed)) for seed in seeds]
        return self

    def _member(self, X: Any, Y: NDArray, random: RandomState) -> tuple[Any, NDArray, NDArray]:
        rows = np.sort(random.permutation(len(Y))[: round(self.max_samples * len(Y))])
        labels = Y[rows]
        varying = np.flatnonzero(np.ptp(labels, axis=0))
        return self.make(len(varying), random).fit(X[rows], labels[:, varying]), varying, labels[0]

    def predict(self, X: Any) -> NDArray:
        """Count the votes of every label."""
        votes = np.zeros((X.shape[0], len(self.members[0][2])))
        for model, varying, constant in self.members:
            answer = np.tile(constant, (X.shape[0], 1))
            answer[:, varying] = model.predict(X)
            votes += answer
        return 2 * votes >= self.n_models


class BoostingByHand:
    """AdaBoost.MH with stumps: in every round Z of all thresholds, all labels at once; nothing is left out."""

    def __init__(self, n_rounds: int) -> None:
        self.n_rounds = n_rounds

    def fit(self, X: Any, Y: NDArray) -> Self:
        """Choose the stump of least Z, round by round; features are sorted once."""
        thresholds = _Words(X) if sparse.issparse(X) else _Numbers(X)
        carried, smoothing = Y == 1, 1 / Y.size
        weights = np.full(Y.shape, smoothing)
        self.stumps = []
        for _ in range(self.n_rounds):
            by_sign = np.hstack([weights * carried, weights * ~carried])
            feature, threshold = thresholds.best(by_sign)
            left = _column(X, feature) <= threshold
            with_label, without_label = np.split(np.stack([by_sign[left].sum(0), by_sign[~left].sum(0)]), 2, axis=1)
            outputs = np.log((with_label + smoothing) / (without_label + smoothing)) / 2
            weights *= np.exp(np.where(carried, -1, 1) * np.where(left[:, np.newaxis], *outputs))
            weights /= weights.sum()
            self.stumps.append((feature, threshold, outputs))
        return self

    def predict(self, X: Any) -> NDArray:
        """Add up the outputs of all stumps."""
        scores = 0.0
        for feature, threshold, outputs in self.stumps:
            scores = scores + np.where((_column(X, feature) <= threshold)[:, np.newaxis], *outputs)
        return np.asarray(scores) >= 0


class _Numbers:
    """Thresholds between the sorted values of dense features: weights on the left are running sums."""

    def __init__(self, X: NDArray) -> None:
        values = np.sort(X, axis=0)
        self.order = np.argsort(X, axis=0, kind="stable")
        self.ends = [np.flatnonzero(np.diff(column)) for column in values.T]
        self.thresholds = [(column[end] + column[end + 1]) / 2 for column, end in zip(values.T, self.ends, strict=True)]

    def best(self, by_sign: NDArray) -> tuple[int, float]:
        totals, least, best = by_sign.sum(axis=0), np.inf, (0, np.inf)
        for feature, ends in enumerate(self.ends):
            z = _z(np.cumsum(by_sign[self.order[:, feature]], axis=0)[ends], totals)
            if len(z) and z.min() < least:
                least, best = z.min(), (feature, float(self.thresholds[feature][z.argmin()]))
        return best


class _Words:
    """The one threshold of each sparse feature that is 0 or 1: weights on the right are a product."""

    def __init__(self, X: Any) -> None:
        if not (X.data == 1).all():
            raise ValueError("X must be of 0 and 1 where it is sparse.")
        self.words = sparse.csr_array(X.T)

    def best(self, by_sign: NDArray) -> tuple[int, float]:
        return int(_z(self.words @ by_sign, by_sign.sum(axis=0)).argmin()), 0.5


def _z(side: NDArray, totals: NDArray) -> NDArray:
    """Return Z of (n_thresholds, 2 * n_labels) weights on one side."""
    n_labels = len(totals) // 2
    other = np.maximum(totals - side, 0)  # rounding may leave it below
    return 2 * (
        np.sqrt(side[:, :n_labels] * side[:, n_labels:]) + np.sqrt(other[:, :n_labels] * other[:, n_labels:])
    ).sum(axis=1)


def _column(X: Any, feature: int) -> NDArray:
    column = X[:, [feature]]
    return (column.toarray() if sparse.issparse(column) else column)[:, 0]
