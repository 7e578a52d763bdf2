"""A search for the best weights, among multiples of 1/20 that sum to 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, permutations

import numpy as np

from nearlabel.utils.types import FloatArray

STEPS = 20
_COARSE = 4  # a step of 1/4, for more than two weights


class WeightSearch:
    """The weights that were tried, their values, and the best of them.

    Ties go to the weights that are nearest to equal, then to those with more weight on the first. Weights are stored as
    integer numbers of twentieths, so that comparisons are exact.

    Parameters
    ----------
    value : callable
        Gets weights (n_weights,) and returns the value to maximise. NaN is worse than any number.
    n_weights : int
        At least 2. With two weights, all multiples of 1/20 are tried. With more, the multiples of 1/4; then, from the
        best, moves of 1/20 from one weight to another, until no move improves the value.
    """

    def __init__(self, value: Callable[[FloatArray], float], n_weights: int) -> None:
        self._value = value
        self._tried: dict[tuple[int, ...], float] = {}
        for weights in _simplex(n_weights, STEPS if n_weights == 2 else _COARSE):
            self._try(weights)
        best = None
        while n_weights > 2 and best != self._best:
            best = self._best
            for weights in _moves(best):
                self._try(weights)

    @property
    def best(self) -> FloatArray:
        """The best weights (n_weights,)."""
        return np.array(self._best) / STEPS

    @property
    def weights(self) -> FloatArray:
        """All weights that were tried (n_tried, n_weights), ascending by the first."""
        return np.array(sorted(self._tried)) / STEPS

    @property
    def values(self) -> FloatArray:
        """Their values (n_tried,)."""
        return np.array([self._tried[weights] for weights in sorted(self._tried)])

    def _try(self, weights: tuple[int, ...]) -> None:
        if weights not in self._tried:
            self._tried[weights] = self._value(np.array(weights) / STEPS)

    @property
    def _best(self) -> tuple[int, ...]:
        return max(self._tried, key=self._rank)

    def _rank(self, weights: tuple[int, ...]) -> tuple[float, int, tuple[int, ...]]:
        value = self._tried[weights]
        from_equal = sum((len(weights) * weight - STEPS) ** 2 for weight in weights)
        return -np.inf if np.isnan(value) else value, -from_equal, weights


def _simplex(n_weights: int, n_steps: int) -> Iterator[tuple[int, ...]]:
    """Yield all weights that are multiples of 1 / n_steps, in twentieths (stars and bars)."""
    for bars in combinations(range(n_steps + n_weights - 1), n_weights - 1):
        ends = np.array([-1, *bars, n_steps + n_weights - 1])
        yield tuple(((np.diff(ends) - 1) * (STEPS // n_steps)).tolist())


def _moves(weights: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the weights with one twentieth moved from one weight to another."""
    for giving, taking in permutations(range(len(weights)), 2):
        if weights[giving]:
            moved = list(weights)
            moved[giving] -= 1
            moved[taking] += 1
            yield tuple(moved)
