"""The parts of every choice: a criterion with one rule for undefined and equal values, and a time limit.

The choice of a number of neighbours (`nearlabel.lazy.NeighborsSweep`), of method, distance, number and thresholds
together (`nearlabel.selection.NeighborsClassifierCV`), and of any models (`nearlabel.experiments.Tuning`) use it.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nearlabel.metrics import Metric


class Criterion(NamedTuple):
    """The metric that a choice optimises: a loss of its values, which is smaller for better ones."""

    metric: Metric

    def loss(self, value: float) -> float:
        """Return the loss of a value; infinite if the metric is undefined."""
        if not np.isfinite(value):
            return np.inf
        return -value if self.metric.greater_is_better else value

    def first_best(self, values: ArrayLike) -> int | None:
        """Return the place of the best value, the first of equally good ones; None if the metric is undefined for all.

        NaN is undefined, an infinite value is not.
        """
        gains = np.asarray(values) if self.metric.greater_is_better else -np.asarray(values)
        return None if np.isnan(gains).all() else int(np.nanargmax(gains))


class Budget:
    """A time limit in seconds from now on, which work may end earlier; None: no limit.

    It also estimates, from the times of earlier jobs on fewer samples, whether there is time for another one.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._deadline = np.inf if seconds is None else time.monotonic() + seconds
        self._seconds: dict[Hashable, tuple[int, float]] = {}

    def stop(self) -> None:
        """Leave no more time."""
        self._deadline = -np.inf

    def allows(self, job: Hashable, n_samples: int) -> bool:
        """Return whether there is time for a job: by its time on fewer samples, which grows with their square."""
        n_before, seconds = self._seconds.get(job, (n_samples, 0.0))
        return not self.is_spent and seconds * (n_samples / n_before) ** 2 <= self.left

    @contextmanager
    def measuring(self, job: Hashable, n_samples: int) -> Iterator[None]:
        """Measure the time of a job."""
        start = time.monotonic()
        yield
        self._seconds[job] = n_samples, time.monotonic() - start

    @property
    def left(self) -> float:
        """Return the seconds that are left; negative after the limit."""
        return float(self._deadline - time.monotonic())

    @property
    def is_spent(self) -> bool:
        """Return whether the limit has passed."""
        return self.left < 0
