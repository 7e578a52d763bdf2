"""The stored values of every feature in order: sums over one side of a threshold are running sums."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix

BLOCK = 16  # entries of a block


class SortedFeatures(NamedTuple):
    """Runs of entries: a feature's values below 0 ascending, then those above 0 descending, zeros nowhere.

    So each run goes from the far end towards 0, and what is summed up to an entry is one side of a threshold.

    Attributes
    ----------
    rows : ndarray of shape (n_entries,)
        Row of each entry.
    thresholds : ndarray of shape (n_entries,)
        Middle between an entry's value and the next different one; NaN where the next is equal, or none.
    feature : ndarray of shape (n_entries,)
        Feature of each entry.
    run : ndarray of shape (n_entries,)
        Number of each entry's run.
    """

    rows: IntArray
    thresholds: FloatArray
    feature: IntArray
    run: IntArray

    def of_runs(self, chosen: BoolArray) -> SortedFeatures:
        """Return the entries of some runs, which are numbered again."""
        kept = chosen[self.run]
        run = (np.cumsum(chosen) - 1)[self.run[kept]]
        return SortedFeatures(self.rows[kept], self.thresholds[kept], self.feature[kept], run)


class Sides(NamedTuple):
    """The rows on the far side of every threshold.

    Attributes
    ----------
    members : CSR array of shape (n_thresholds, n_samples)
        1 where a row is on that side.
    thresholds, feature : ndarray of shape (n_thresholds,)
        Each threshold and its feature.
    """

    members: Any
    thresholds: FloatArray
    feature: IntArray


class Blocks(NamedTuple):
    """Runs filled up to whole blocks by entries of row n, which is nobody's; each starts with a block of nothing else.

    Attributes
    ----------
    rows, thresholds : ndarray of shape (n_blocks, BLOCK)
        Of each entry, as in `SortedFeatures`.
    feature : ndarray of shape (n_blocks,)
        Feature of each block.
    starts : ndarray of shape (n_runs,)
        First block of each run.
    """

    rows: IntArray
    thresholds: FloatArray
    feature: IntArray
    starts: IntArray


def stored_columns(X: Matrix) -> Any:
    """Return CSC of float64 without zeros and without entries in parts; equal for dense and sparse X."""
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


def sides(entries: SortedFeatures, n_samples: int) -> Sides:
    """List the rows on one side of each threshold: the entries of its run up to it."""
    last = np.flatnonzero(~np.isnan(entries.thresholds))
    first = np.searchsorted(entries.run, entries.run[last])
    ends = np.cumsum(last + 1 - first)
    places = np.arange(ends[-1]) + np.repeat(last + 1 - ends, last + 1 - first)
    indptr = np.append(0, ends)
    members = sparse.csr_array((np.ones(len(places)), entries.rows[places], indptr), shape=(len(last), n_samples))
    return Sides(members, entries.thresholds[last], entries.feature[last])


def in_blocks(entries: SortedFeatures, n_samples: int) -> Blocks:
    """Lay out runs of entries in blocks."""
    _, first, lengths = np.unique(entries.run, return_index=True, return_counts=True)
    n_blocks = 1 + -(-lengths // BLOCK)
    starts = np.cumsum(n_blocks) - n_blocks
    place = np.arange(len(entries.run)) + (BLOCK * (starts + 1) - first)[entries.run]
    rows = np.full((n_blocks.sum(), BLOCK), n_samples, dtype=np.int32)
    thresholds = np.full(rows.shape, np.nan)
    rows.ravel()[place] = entries.rows
    thresholds.ravel()[place] = entries.thresholds
    return Blocks(rows, thresholds, np.repeat(entries.feature[first], n_blocks), starts)


def _next_values(value: FloatArray, feature: IntArray, first: IntArray, lengths: IntArray, n: int) -> FloatArray:
    """Return what follows each entry towards 0: the next of its run, then 0, else the least above 0, else itself.

    `feature`, `first` and `lengths` (n_runs,) belong to the runs. Without a 0 the first threshold above the values
    below 0 is listed once, with them.
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
    """Return the middle of two neighbours, the lower of them if no number lies between; NaN if they are equal."""
    low, high = np.minimum(value, following), np.maximum(value, following)
    middle = low / 2 + high / 2
    return np.where(low == high, np.nan, np.where(middle < high, np.maximum(middle, low), low))
