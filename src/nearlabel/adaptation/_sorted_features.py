"""The stored values of every feature, sorted, so that sums over one side of a threshold are running sums."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix

BLOCK = 16  # entries per block


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

    def of_runs(self, chosen: BoolArray) -> SortedFeatures:
        """Return the entries of some runs, renumbered."""
        kept = chosen[self.run]
        run = (np.cumsum(chosen) - 1)[self.run[kept]]
        return SortedFeatures(self.rows[kept], self.thresholds[kept], self.feature[kept], run)


class Sides(NamedTuple):
    """The rows on the side of every threshold away from 0.

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
    """Runs padded to whole blocks with entries of a dummy row n; each run starts with a block of padding only.

    Attributes
    ----------
    rows, thresholds : ndarray of shape (n_blocks, BLOCK)
        Row and threshold of each entry, as in `SortedFeatures`.
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
