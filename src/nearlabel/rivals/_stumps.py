"""The stump with the smallest Z: feature <= threshold, with two confidence-rated outputs per label (Schapire, Singer).

With W₊ and W₋ the weights of the rows with and without a label on one side of a threshold, ::

    Z = 2 Σ_labels Σ_sides √(W₊ W₋)

All thresholds are candidates. For features with few thresholds, such as words that are present or absent, Z of all of
them is computed: the sums over one side are one sparse product. For other features, Z of few thresholds is computed. W₊
and W₋ of a side grow along a run of sorted values, and Z is concave in both: between two positions of a run, each
label's term of Z is at least the minimum over the four corners of the rectangle between these positions. Blocks whose
bound exceeds a Z already found are skipped; the result is the same as for the full search.

If the kernels are built, one of them finds the runs that contain the smallest Z, in a fraction of the time. Z of their
thresholds is then computed here, so the result does not depend on the kernels.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.neighbors.exact.kernels import StumpRuns, least_z  # one library has all kernels
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import row_blocks, uneven_blocks

_CACHE_BYTES = 2**19  # size of one temporary array
_FEW = 4  # thresholds of a run up to which all are computed
_PART = 4  # entries per part of a block
_N_FIRST = 32  # blocks that are searched first, to find a Z for comparison
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
        n_thresholds = np.bincount(entries.run, ~np.isnan(entries.thresholds))
        self._entries = entries.of_runs(n_thresholds > 0)
        self._is_few = n_thresholds[n_thresholds > 0] <= _FEW

    @cached_property
    def _kernel_search(self) -> _KernelSearch:
        return _KernelSearch(self._entries, self._columns.shape[0])

    @cached_property
    def _searches(self) -> list[_FullSearch | _BoundedSearch]:
        kinds = ((self._is_few, _FullSearch), (~self._is_few, _BoundedSearch))  # the Z of the first limits the second
        n_samples = self._columns.shape[0]
        return [kind(self._entries.of_runs(runs), n_samples, self._n_labels) for runs, kind in kinds if runs.any()]

    def goes_left(self, feature: int, threshold: float) -> BoolArray:
        """Return whether each row's value is at most the threshold."""
        values = np.zeros(self._columns.shape[0])
        stored = slice(*self._columns.indptr[feature : feature + 2])
        values[self._columns.indices[stored]] = self._columns.data[stored]
        return np.asarray(values <= threshold)

    @property
    def has_thresholds(self) -> bool:
        """Whether any feature varies."""
        return len(self._is_few) > 0

    def best(self, weights: FloatArray) -> Stump:
        """Return the stump with the smallest Z; ties go to the lowest feature, then to the lowest threshold.

        Parameters
        ----------
        weights : ndarray of shape (n_samples, 2 * n_labels)
            Weights of the labels that each row carries, 0 for the others; then weights of the labels that it lacks. A
            row with all weights 0 is ignored.
        """
        found = self._kernel_search.candidates(weights) or self._candidates(weights)
        least = found.z.min()
        tied = np.flatnonzero(found.z <= least * TIED)
        first = tied[np.lexsort((found.threshold[tied], found.feature[tied]))[0]]
        return Stump(int(found.feature[first]), float(found.threshold[first]), float(least))

    def least_z(self, weights: FloatArray, reached: BoolArray) -> float:
        """Return Z of the best stump for the rows that are reached, but for rounding."""
        of_runs = self._kernel_search.least_z(weights, reached)
        return self.best(weights * reached[:, np.newaxis]).z if of_runs is None else float(of_runs.min())

    def _candidates(self, weights: FloatArray) -> _Candidates:
        found, least = [], np.inf
        for search in self._searches:
            found.append(search.candidates(weights, least))
            least = found[-1].z.min(initial=least)
        return _Candidates(*(np.concatenate(of_each) for of_each in zip(*found, strict=True)))


class _Candidates(NamedTuple):
    feature: IntArray
    threshold: FloatArray
    z: FloatArray


class _KernelSearch:
    """Computes Z of the thresholds of those runs that have the least Z by the kernel, if there is one."""

    def __init__(self, entries: SortedFeatures, n_samples: int) -> None:
        self._entries = entries
        self._has_threshold = ~np.isnan(entries.thresholds)
        self._starts = np.searchsorted(entries.run, np.arange(entries.run[-1] + 2))
        self._runs = StumpRuns(self._starts, entries.rows, self._has_threshold, n_samples)

    def least_z(self, weights: FloatArray, reached: BoolArray | None = None) -> FloatArray | None:
        """Return the least Z of each run, infinite where it is not the least of all; None if there is no kernel."""
        return least_z(self._runs, weights, reached)

    def candidates(self, weights: FloatArray) -> _Candidates | None:
        """Return the thresholds of the runs with the least Z; None if there is no kernel."""
        least = self.least_z(weights)
        if least is None:
            return None
        found = [self._of_run(run, weights) for run in np.flatnonzero(least <= least.min() * TIED).tolist()]
        return _Candidates(*(np.concatenate(of_each) for of_each in zip(*found, strict=True)))

    def _of_run(self, run: int, weights: FloatArray) -> _Candidates:
        entries = slice(*self._starts[run : run + 2])
        kept = self._has_threshold[entries]
        sums = np.cumsum(weights[self._entries.rows[entries]], axis=0)[kept]
        feature, threshold = self._entries.feature[entries][kept], self._entries.thresholds[entries][kept]
        return _Candidates(feature, threshold, _z(sums, weights.sum(axis=0)))


class _FullSearch:
    """Computes Z of every threshold, for runs with few thresholds."""

    def __init__(self, entries: SortedFeatures, n_samples: int, n_labels: int) -> None:
        self._sides = sides(entries, n_samples)
        members = self._sides.members
        self._parts = [members[part] for part in row_blocks(members.shape[0], 16 * n_labels, _CACHE_BYTES)]

    def candidates(self, weights: FloatArray, limit: float) -> _Candidates:
        """Return all thresholds, for every limit."""
        totals = weights.sum(axis=0)
        z = np.concatenate([_z(part @ weights, totals) for part in self._parts])
        return _Candidates(self._sides.feature, self._sides.thresholds, z)


class _BoundedSearch:
    """Computes Z only of thresholds whose lower bound is below the smallest Z found so far."""

    def __init__(self, entries: SortedFeatures, n_samples: int, n_labels: int) -> None:
        self._blocks = in_blocks(entries, n_samples)
        self._has_threshold = ~np.isnan(self._blocks.thresholds)
        self._groups = _groups(self._blocks, n_samples, n_labels)

    def candidates(self, weights: FloatArray, limit: float) -> _Candidates:
        """Return the thresholds whose Z may be the smallest, if it is at most `limit`."""
        padded = np.vstack([weights, np.zeros_like(weights[:1])])
        edges, bounds = self._edges(padded, weights.sum(axis=0))
        first = np.argpartition(bounds, min(_N_FIRST, len(bounds)) - 1)[:_N_FIRST]
        entries, z = self._entries(first, edges, padded, limit)
        bounds[first] = np.inf
        rest = np.flatnonzero(bounds <= z.min(initial=limit) * TIED)
        for some in row_blocks(len(rest), BLOCK * padded[0].nbytes, _CACHE_BYTES):
            more = self._entries(rest[some], edges, padded, z.min(initial=limit))
            entries, z = np.append(entries, more[0]), np.append(z, more[1])
        return _Candidates(self._blocks.feature[entries // BLOCK], self._blocks.thresholds.ravel()[entries], z)

    def _edges(self, weights: FloatArray, totals: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weights from the start of the run up to each block's end, and a lower bound on Z in the block."""
        edges = np.empty((len(self._blocks.feature), weights.shape[1]))
        bounds = np.empty(len(edges))
        for group in self._groups:
            here = edges[group.blocks]
            np.cumsum(group.sums(weights), axis=0, out=here)
            bounds[group.blocks][1:] = _lower_bounds(here, totals)
        bounds[~self._has_threshold.any(axis=1)] = np.inf
        return edges, bounds

    def _entries(
        self, blocks: IntArray, edges: FloatArray, weights: FloatArray, limit: float
    ) -> tuple[IntArray, FloatArray]:
        """Return the thresholds of some blocks whose Z may be at most `limit`, as positions of entries, and their Z."""
        totals = weights.sum(axis=0)
        sums = weights[self._blocks.rows[blocks]].reshape(len(blocks), -1, _PART, len(totals))
        parts = np.cumsum(np.hstack([edges[blocks - 1, np.newaxis], sums.sum(axis=2)]), axis=1)
        opened = _lower_bounds(parts, totals) <= limit * TIED
        sums = sums[opened]
        sums[:, 0] += parts[:, :-1][opened]
        z = _z(np.cumsum(sums, axis=1), totals).ravel()
        entries = (BLOCK * blocks[:, np.newaxis] + np.arange(BLOCK)).reshape(*opened.shape, _PART)[opened].ravel()
        kept = self._has_threshold.ravel()[entries] & (z <= limit * TIED)
        return entries[kept], z[kept]


class _Group(NamedTuple):
    """Neighbouring runs whose sums fit into the processor's cache."""

    blocks: slice
    members: Any  # CSR (n_blocks, n_samples + 1), the rows of each block
    starts: IntArray  # first block of each run, counted within the group

    def sums(self, weights: FloatArray) -> FloatArray:
        """Return the weights of each block; the empty block that starts a run has minus those of the run before."""
        sums: FloatArray = self.members @ weights
        runs = np.add.reduceat(sums, self.starts, axis=0)
        sums[self.starts[1:]] = -runs[:-1]
        return sums


def _groups(blocks: Blocks, n_samples: int, n_labels: int) -> list[_Group]:
    n_blocks = len(blocks.feature)
    ends = np.append(blocks.starts, n_blocks)
    ones, indptr = np.ones(blocks.rows.size), np.arange(0, blocks.rows.size + 1, BLOCK)
    members = sparse.csr_array((ones, blocks.rows.ravel(), indptr), shape=(n_blocks, n_samples + 1))
    groups = []
    for runs in uneven_blocks(np.diff(ends) * 16 * n_labels, _CACHE_BYTES):
        part = slice(ends[runs.start], ends[runs.stop])
        groups.append(_Group(part, members[part], blocks.starts[runs] - part.start))
    return groups


def _z(sums: FloatArray, totals: FloatArray) -> FloatArray:
    """Return Z of (..., 2 * n_labels) weights on one side of a threshold."""
    n_labels = len(totals) // 2
    rest = np.maximum(totals - sums, 0.0)  # sums in another order may exceed the total by rounding
    roots = np.sqrt(sums[..., :n_labels] * sums[..., n_labels:])
    roots += np.sqrt(rest[..., :n_labels] * rest[..., n_labels:])
    return np.asarray(2 * roots.sum(axis=-1))


def _lower_bounds(edges: FloatArray, totals: FloatArray) -> FloatArray:
    """Return a lower bound on Z between neighbouring edges (..., n_edges, 2 * n_labels).

    In single precision, lowered by the possible rounding error.
    """
    n_labels = len(totals) // 2
    side = np.sqrt(edges, dtype=np.float32, casting="same_kind")
    other = np.sqrt(np.maximum(totals - edges, 0.0), dtype=np.float32, casting="same_kind")
    (with_, without), (with_other, without_other) = (np.split(s, [n_labels], axis=-1) for s in (side, other))
    at_edges = with_ * without + with_other * without_other
    before, after = np.s_[..., :-1, :], np.s_[..., 1:, :]
    least = np.minimum(at_edges[before], at_edges[after])
    for one, two in ((before, after), (after, before)):
        corner = with_[one] * without[two]
        corner += with_other[one] * without_other[two]
        np.minimum(least, corner, out=least)
    rounding = (n_labels + 8) * np.finfo(np.float32).eps
    return np.asarray(2 * (1 - rounding) * (least @ np.ones(n_labels, dtype=np.float32)).astype(np.float64))


# The stored values of every feature, sorted, so that sums over one side of a threshold are running sums.

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
