"""Exact comparison of ratios of integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_LARGEST = 2**62


def as_exact(*arrays: NDArray[Any], factor: int) -> tuple[NDArray[Any], ...]:
    """Return integer arrays that can be multiplied by `factor` without overflow: Python's integers if need be."""
    largest = max((abs(int(array.max(initial=0))) for array in arrays if array.dtype.kind in "iu"), default=0)
    if largest * abs(factor) < _LARGEST or any(array.dtype.kind == "f" for array in arrays):
        return arrays
    return tuple(array.astype(object) for array in arrays)


def first_largest_ratio(numerators: NDArray[Any], denominators: NDArray[Any]) -> int:
    """Return the index of the largest quotient, the first among equal ones; 0/0 counts as 0.

    Floats find the candidates, integers decide among them.
    """
    zeros = np.zeros(len(numerators))
    quotients = np.divide(numerators, denominators, out=zeros, where=denominators != 0)
    best = int(quotients.argmax())
    near = np.flatnonzero(quotients >= quotients[best] * (1 - 1e-12))
    while len(near) > 1:
        top, bottom = numerators[best], denominators[best]
        over, under = as_exact(numerators[near], denominators[near], factor=int(max(top, bottom)))
        excess = over * bottom - top * under
        if not (excess > 0).any():
            return int(near[(excess == 0) | (near == best)][0])
        near = near[excess >= 0]
        best = int(near[int(np.flatnonzero(excess[excess >= 0] > 0)[0])])
    return best
