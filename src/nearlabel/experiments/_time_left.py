"""The remaining time of a run, estimated from the times of its finished folds and the sizes of the data sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nearlabel.experiments._folds import Fold


class TimeLeft:
    """The expected seconds of the folds that are not finished.

    A fold is expected to take as long as the finished folds of its data set took on average. If there are none, its
    time follows from the finished folds of other data sets, in proportion to the sizes: stored values times labels. The
    time of a fold includes all methods.

    Parameters
    ----------
    folds : sequence of Fold
        All folds, in the order in which they are run.
    n_workers : int
        Number of folds that run at a time.
    """

    def __init__(self, folds: Sequence[Fold], n_workers: int) -> None:
        self._datasets = [fold.dataset for fold in folds]
        self._sizes = np.array([_size(fold) for fold in folds], dtype=np.float64)
        self._n_workers = n_workers
        self._seconds: dict[int, float] = {}  # of folds done, by number

    def seconds_after(self, number: int, seconds: float) -> float:
        """Return the remaining seconds after a fold, the last one that is finished, and the seconds that it took."""
        self._seconds[number] = seconds
        left = [self._expected(fold) for fold in range(number + 1, len(self._datasets))]
        return max([sum(left) / self._n_workers, *left])  # a fold is not divided among workers

    def _expected(self, fold: int) -> float:
        alike = [done for done in self._seconds if self._datasets[done] == self._datasets[fold]]
        if alike:
            return float(np.mean([self._seconds[done] for done in alike]))
        done = list(self._seconds)
        return float(sum(self._seconds.values()) * self._sizes[fold] / self._sizes[done].sum())


def _size(fold: Fold) -> float:
    """Return the stored values of the features of a training part times the number of labels."""
    stored = getattr(fold.X, "nnz", fold.X.size)
    return float(stored / fold.X.shape[0] * len(fold.training) * fold.Y.shape[1])
