"""The stump with the smallest Z: feature <= threshold, with two confidence-rated outputs per label (Schapire, Singer).

With W₊ and W₋ the weights of the rows with and without a label on one side of a threshold, ::

    Z = 2 Σ_labels Σ_sides √(W₊ W₋)

All thresholds are candidates. If the kernels are built, one of them finds the runs that contain the smallest Z, in a
fraction of the time; else numpy computes Z of every threshold. Z of the thresholds of these runs is then computed in
the same way, so the result does not depend on the kernels.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.neighbors.exact.kernels import StumpRuns, least_z  # one library has all kernels
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import uneven_blocks

_CACHE_BYTES = 2**19  # size of one temporary array
TIED = 1 + 1e-10  # the order of the labels changes the rounding of sums


class Stump(NamedTuple):
    """Rows with feature <= threshold go left."""

    feature: int
    threshold: float
    z: float


class StumpSearch:
    """Finds the best stump for any weights of the training samples.

    Sums of the weights must be exact, as those of `Weights` are, so that the result does not depend on the order of the
    rows or on the storage.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n_samples, n_features)
        Training samples; the cost depends on the nonzero values only.
    n_labels : int
        Number of labels.
    """

    def __init__(self, X: Matrix, n_labels: int) -> None:
        self._columns, self._n_labels = stored_columns(X), n_labels
        entries = sorted_features(self._columns)
        self._entries = entries.of_runs(np.bincount(entries.run, entries.has_threshold) > 0)

    @cached_property
    def _runs(self) -> StumpRuns:
        run = self._entries.run
        starts = np.searchsorted(run, np.arange(run[-1] + 2))
        return StumpRuns(starts, self._entries.rows, self._entries.has_threshold, self._columns.shape[0])

    @cached_property
    def _steps(self) -> list[_Steps]:
        return _steps_of(self._entries, self._columns.shape[0], self._n_labels)

    def goes_left(self, feature: int, threshold: float) -> BoolArray:
        """Return whether each row's value is at most the threshold."""
        values = np.zeros(self._columns.shape[0])
        stored = slice(*self._columns.indptr[feature : feature + 2])
        values[self._columns.indices[stored]] = self._columns.data[stored]
        return np.asarray(values <= threshold)

    @property
    def has_thresholds(self) -> bool:
        """Whether any feature varies."""
        return len(self._entries.run) > 0

    def best(self, weights: FloatArray) -> Stump:
        """Return the stump with the smallest Z; ties go to the lowest feature, then to the lowest threshold.

        Parameters
        ----------
        weights : ndarray of shape (n_samples, 2 * n_labels)
            Weights of the labels that each row carries, 0 for the others; then weights of the labels that it lacks. A
            row with all weights 0 is ignored.
        """
        least = self._least_of_runs(weights)
        found = [self._of_run(run, weights) for run in np.flatnonzero(least <= least.min() * TIED).tolist()]
        feature, threshold, z = (np.concatenate(of_each) for of_each in zip(*found, strict=True))
        tied = np.flatnonzero(z <= z.min() * TIED)
        first = tied[np.lexsort((threshold[tied], feature[tied]))[0]]
        return Stump(int(feature[first]), float(threshold[first]), float(z.min()))

    def least_z(self, weights: FloatArray, reached: BoolArray) -> float:
        """Return Z of the best stump for the rows that are reached, but for rounding."""
        return float(self._least_of_runs(weights, reached).min())

    def _least_of_runs(self, weights: FloatArray, reached: BoolArray | None = None) -> FloatArray:
        """Return the least Z of each run; a kernel may return infinity where it is not the least of all."""
        least = least_z(self._runs, weights, reached)
        if least is None:
            counted = weights if reached is None else weights * reached[:, np.newaxis]
            least = np.concatenate([steps.least_z(counted) for steps in self._steps])
        return least

    def _of_run(self, run: int, weights: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
        """Return features, thresholds and Z of the thresholds of a run."""
        entries = slice(*np.searchsorted(self._entries.run, [run, run + 1]))
        feature, threshold = self._entries.feature[entries], self._entries.thresholds[entries]
        kept = ~np.isnan(threshold)
        sums = np.cumsum(weights[self._entries.rows[entries]], axis=0)[kept]
        return feature[kept], threshold[kept], _z(sums, weights.sum(axis=0))


class _Steps(NamedTuple):
    """The rows between neighbouring thresholds of some runs, whose sums fit into the processor's cache."""

    members: Any  # CSR (n_thresholds, n_samples)
    starts: IntArray  # first threshold of each run

    def least_z(self, weights: FloatArray) -> FloatArray:
        """Return the least Z of each run."""
        sums: FloatArray = self.members @ weights
        sums[self.starts[1:]] -= np.add.reduceat(sums, self.starts, axis=0)[:-1]  # each run starts at 0 again
        z = _z(np.cumsum(sums, axis=0), weights.sum(axis=0))
        return np.asarray(np.minimum.reduceat(z, self.starts))


def _steps_of(entries: SortedFeatures, n_samples: int, n_labels: int) -> list[_Steps]:
    has_threshold = entries.has_threshold
    run = entries.run[has_threshold]
    step: IntArray = np.cumsum(has_threshold) - has_threshold  # number of the threshold that follows
    counted = np.append(run, -1)[step] == entries.run  # not those after the last threshold of their run
    ends = np.searchsorted(step[counted], np.arange(len(run) + 1))
    members = sparse.csr_array((np.ones(ends[-1]), entries.rows[counted], ends), shape=(len(run), n_samples))
    starts = np.searchsorted(run, np.arange(run[-1] + 2))
    blocks = uneven_blocks(np.diff(starts) * 16 * n_labels, _CACHE_BYTES)
    parts = [starts[runs.start : runs.stop + 1] for runs in blocks]
    return [_Steps(members[part[0] : part[-1]], part[:-1] - part[0]) for part in parts]


def _z(sums: FloatArray, totals: FloatArray) -> FloatArray:
    """Return Z of (..., 2 * n_labels) weights on one side of a threshold."""
    n_labels = len(totals) // 2
    rest = np.maximum(totals - sums, 0.0)  # sums in another order may exceed the total by rounding
    roots = np.sqrt(sums[..., :n_labels] * sums[..., n_labels:])
    roots += np.sqrt(rest[..., :n_labels] * rest[..., n_labels:])
    return np.asarray(2 * roots.sum(axis=-1))


# The stored values of every feature, sorted, so that sums over one side of a threshold are running sums.


class SortedFeatures(NamedTuple):
    """Runs of entries: a feature's values below 0 ascending, then those above 0 descending, without zeros.

    Each run goes from its extreme value towards 0, so the sum up to an entry is the sum over one side of a threshold.

    Attributes
    ----------
    rows : ndarray of shape (n_entries,)
        Row of each entry.
    thresholds : ndarray of shape (n_entries,)
        Midpoint between an entry's value and the next one; NaN if the next is equal, or if there is none.
    feature : ndarray of shape (n_entries,)
        Feature of each entry.
    run : ndarray of shape (n_entries,)
        Number of each entry's run.
    """

    rows: IntArray
    thresholds: FloatArray
    feature: IntArray
    run: IntArray

    @property
    def has_threshold(self) -> BoolArray:
        """Whether a threshold follows each entry."""
        return ~np.isnan(self.thresholds)

    def of_runs(self, chosen: BoolArray) -> SortedFeatures:
        """Return the entries of some runs, renumbered."""
        kept = chosen[self.run]
        run = (np.cumsum(chosen) - 1)[self.run[kept]]
        return SortedFeatures(self.rows[kept], self.thresholds[kept], self.feature[kept], run)


def stored_columns(X: Matrix) -> Any:
    """Return CSC of float64 without stored zeros or duplicate entries; the same for dense and sparse X."""
    columns = sparse.csc_array(X, dtype=np.float64, copy=True)
    columns.sum_duplicates()
    columns.eliminate_zeros()
    return columns


def sorted_features(columns: Any) -> SortedFeatures:
    """Sort the entries of canonical CSC columns (n_samples, n_features)."""
    n, n_features = columns.shape
    feature = np.repeat(np.arange(n_features), np.diff(columns.indptr))
    order = np.lexsort((-np.abs(columns.data), columns.data > 0, feature))
    value, feature = columns.data[order], feature[order]
    _, first, run, lengths = np.unique(
        2 * feature + (value > 0), return_index=True, return_inverse=True, return_counts=True
    )
    thresholds = _thresholds(value, _next_values(value, feature[first], first, lengths, n))
    return SortedFeatures(columns.indices[order], thresholds, feature, run)


def _next_values(value: FloatArray, feature: IntArray, first: IntArray, lengths: IntArray, n: int) -> FloatArray:
    """Return the next value of each entry towards 0: the next of its run, then 0, else the least above 0, else itself.

    `feature`, `first` and `lengths` (n_runs,) describe the runs. If a feature has no 0, the threshold between its
    negative and positive values is listed once, with the negative ones.
    """
    last = first + lengths - 1
    n_stored = np.bincount(feature, weights=lengths, minlength=1)
    beyond = value[last]
    crosses = np.flatnonzero(feature[1:] == feature[:-1])
    beyond[crosses] = value[last[crosses + 1]]
    following = np.append(value[1:], 0.0)[: len(value)]
    following[last] = np.where(n_stored[feature] < n, 0.0, beyond)
    return following


def _thresholds(value: FloatArray, following: FloatArray) -> FloatArray:
    """Return the midpoint of two neighbours, or the lower one if no number lies between them; NaN if they are equal."""
    low, high = np.minimum(value, following), np.maximum(value, following)
    middle = low / 2 + high / 2
    return np.where(low == high, np.nan, np.where(middle < high, np.maximum(middle, low), low))
