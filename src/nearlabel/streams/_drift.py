"""Detection of drift: a window of values compared with earlier ones, by a bound for any distribution."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nearlabel.utils.types import FloatArray


class Drift(NamedTuple):
    """A window of a stream compared with earlier values: means of values from 0 to 1; larger is worse.

    Parameters
    ----------
    recent : float
        Mean of the window.
    before : float
        The value that it is compared with: the mean of all earlier windows since the last drift, or the expected mean.
    bound : float
        A rise above this is drift.
    found : bool
        Whether the mean rose by more than the bound.
    """

    recent: float
    before: float
    bound: float
    found: bool


class Watch:
    """Look for a rise of values in [0, 1], once at the end of each window of fixed length.

    With w values in the window and m before it, a rise of their means above ``sqrt(log(1 / alpha) / 2 * (1/w + 1/m))``
    is drift (Hoeffding, 1963, 2.7). If no expected value in the window exceeds the expected values before, each given
    the past (Azuma, 1967), at most the share `alpha` of the windows is called drift. After drift the next windows are
    compared with the one in which it was found.

    Parameters
    ----------
    window : int
        Number of values of a window.
    alpha : float
        The share of windows that may be called drift when there is none.
    expected : float, default=None
        The mean to compare with. None: that of the earlier windows.
    """

    def __init__(self, window: int, alpha: float, expected: float | None = None) -> None:
        self.window, self.alpha, self.expected = window, alpha, expected
        self.last: Drift | None = None
        self._in_window, self._before = (0, 0.0), (0, 0.0)  # number and sum of values

    def add(self, values: FloatArray) -> list[int]:
        """Add values; return the positions after which drift was found."""
        found, n_taken = [], 0
        while n_taken < len(values):
            number, total = self._in_window
            some = values[n_taken : n_taken + self.window - number]
            n_taken += len(some)
            self._in_window = number + len(some), total + float(np.sum(some))
            if self._in_window[0] == self.window and self._close():
                found.append(n_taken)
        return found

    def _close(self) -> bool:
        """Compare the window with the earlier values, and begin another; return whether it is drift."""
        (n_recent, recent), (n_before, before) = self._in_window, self._before
        self._in_window, self._before = (0, 0.0), (n_before + n_recent, before + recent)
        if self.expected is None and n_before == 0:
            return False
        mean = before / n_before if self.expected is None else self.expected
        precision = 1 / n_recent + (1 / n_before if self.expected is None else 0)
        bound = math.sqrt(-math.log(self.alpha) / 2 * precision)
        self.last = Drift(recent / n_recent, mean, bound, recent / n_recent - mean > bound)
        if self.last.found:
            self._before = n_recent, recent
        return self.last.found
