"""The parts of every choice: a criterion with one rule for undefined and equal values, and a time limit.

The choice of a number of neighbours (`nearlabel.lazy.NeighborsSweep`), of method, distance, number and thresholds
together (`nearlabel.selection.NeighborsClassifierCV`), and of any models (`nearlabel.experiments.Tuning`) use it.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nearlabel.metrics import Metric
from nearlabel.utils.messages import expect, is_asked_to_stop, listening, tell

_GROWTH = 1.5  # of the time of a job with its samples: between that of votes, 1, and that of searches, 2


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
    """A time limit in seconds from now on, None: no limit, and what jobs take, estimated from those already done.

    A job is any key and its number of samples, faster than which its time grows. Listeners get the finished share and
    the seconds left. Within `stopping_if` the time may end earlier.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._start = time.monotonic()
        self._deadline = np.inf if seconds is None else self._start + seconds
        self._rates: dict[Hashable, float] = {}  # seconds of each job, for one sample to the power _GROWTH

    @property
    def left(self) -> float:
        """Return the seconds that are left; negative after the limit."""
        return -1.0 if is_asked_to_stop() else float(self._deadline - time.monotonic())

    @property
    def is_spent(self) -> bool:
        """Return whether the limit has passed."""
        return self.left < 0

    def allows(self, job: Hashable, n_samples: int) -> bool:
        """Return whether there is time for a job; if it was not done before, there is as long as time is left."""
        return not self.is_spent and (job not in self._rates or self.seconds_of(job, n_samples) <= self.left)

    def seconds_of(self, job: Hashable, n_samples: int) -> float:
        """Return the estimated time of a job: by its own on other samples, or the mean of all; 0 if none was done."""
        mean = sum(self._rates.values()) / max(1, len(self._rates))
        return float(self._rates.get(job, mean) * n_samples**_GROWTH)

    def spend(self, job: Hashable, n_samples: int, seconds: float) -> None:
        """Remember what a job took."""
        self._rates[job] = seconds / n_samples**_GROWTH

    @contextmanager
    def measuring(self, job: Hashable, n_samples: int, later: Iterable[tuple[Hashable, int]]) -> Iterator[None]:
        """Measure a job, whose own searches are not heard; then report how much is left, given the jobs that follow."""
        start = time.monotonic()
        with listening(None):
            yield
        self.spend(job, n_samples, time.monotonic() - start)
        self.tell_left(later)

    def tell_left(self, later: Iterable[tuple[Hashable, int]]) -> tuple[float, float]:
        """Report to listeners how much is left, given the jobs that follow; return the seconds so far, and of all."""
        done, left = time.monotonic() - self._start, sum(self.seconds_of(*job) for job in later)
        left = max(0.0, min(left, self.left))
        tell(done / (done + left))
        expect(left)
        return done, done + left
