"""Counts of the training samples by label, by whether they have it, and by their neighbours' votes; also without one.

ML-kNN and CML-kNN learn from these counts. A row carries a label in whole units: 0 or 1 in ML-kNN, a degree of
membership in CML-kNN, each times the weight of the row. Units are added as whole numbers, so a row can be taken out of
every sum without a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.lazy._engine import Groups, count_votes, exact_weights, whole_votes
from nearlabel.neighbors.exact.kernels import OFF, LeftOut, kernel_in_use
from nearlabel.neighbors.votes import Neighbors, Weights, counted_votes
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import BLOCK_BYTES, as_dense, cells_of, entries, row_blocks, stacked, uneven_blocks


class Units:
    """How far each training sample has each label, in whole numbers: in ML-kNN 1 for a label that it has, else 0.

    The number of votes is a sum of the units of neighbours; here one unit is one vote. With weights of rows, `wholes`,
    the units of a row are its weight where it has the label.
    """

    whole = 1  # the units of a label that a row fully carries
    wholes: IntArray | None = None  # (n_rows,), those of each row where they differ
    add_up = True  # a sum changes by the units of an entering neighbour, minus the units of a leaving one

    def __init__(self, labels: Matrix) -> None:
        self.labels = labels

    def of_rows(self, rows: slice | IntArray) -> Matrix:
        """Return the units of some rows (n_rows, n_labels), dense or CSR."""
        own = self.labels[rows]
        if self.wholes is None:
            return own
        if not sparse.issparse(own):
            return own * self.wholes[rows][:, np.newaxis]
        weighed = np.repeat(self.wholes[rows], np.diff(own.indptr))
        return sparse.csr_array((own.data * weighed, own.indices, own.indptr), shape=own.shape)

    def wholes_of(self, rows: slice | IntArray) -> Any:
        """Return the units of a label that each of some rows fully carries; one number if all carry as many."""
        return self.whole if self.wholes is None else self.wholes[rows]

    def sums(self, neighbors: Neighbors) -> Matrix:
        """Return the summed units of each query's neighbours (n_queries, n_labels), dense or CSR."""
        return counted_votes(neighbors.indices, self.labels)

    def votes(self, sums: Matrix, n_neighbors: int) -> Matrix:
        """Return sums as whole votes, in the same container."""
        return sums

    def n_counts(self, n_neighbors: int) -> int:
        """Return how many numbers of votes are possible."""
        return n_neighbors + 1

    @classmethod
    def of(cls, labels: Matrix, cells_for_one: int = 40) -> Units:
        """Store labels, in bytes, in the container in which counting is fastest.

        A one of CSR takes as long as `cells_for_one` dense cells. Sparse labels are not made dense where that
        would take more than the budget of a block.
        """
        is_sparse, n_cells = sparse.issparse(labels), labels.shape[0] * labels.shape[1]
        n_ones = labels.nnz if is_sparse else np.count_nonzero(labels)
        if n_cells < cells_for_one * n_ones and not (is_sparse and n_cells >= BLOCK_BYTES):
            return cls(as_dense(labels))
        return cls(sparse.csr_array(labels))


class WeightedUnits(Units):
    """Units whose sums are weighted votes, rounded to whole ones: weights depend on the distances of all neighbours.

    With sample weights, a row also counts as often as its weight, in units of `UNIT`.
    """

    add_up = False

    def __init__(self, labels: Matrix, weights: Weights, sample_weight: FloatArray | None = None) -> None:
        super().__init__(labels)
        self.weights, self.sample_weight = weights, sample_weight
        self.wholes = None if sample_weight is None else in_units(sample_weight, UNIT)

    def sums(self, neighbors: Neighbors) -> Matrix:
        """Return the whole votes of each query's neighbours (n_queries, n_labels), dense or CSR."""
        weights = exact_weights(neighbors, self.weights, self.sample_weight)
        count, total = count_votes(neighbors, self.labels, weights)
        n_neighbors = neighbors.indices.shape[1]
        if not sparse.issparse(count):
            return whole_votes(count, total, n_neighbors)
        count.data = whole_votes(count.data, np.repeat(total.ravel(), np.diff(count.indptr)), n_neighbors)
        count.eliminate_zeros()
        return count


# A sample weight of 1 is this many units of counts: weights are rounded to multiples of its inverse.
UNIT = 2**32
MOST_WEIGHT = 2**62 // UNIT  # of all samples together, as counts are int64


def in_units(sample_weight: FloatArray, one: Any) -> IntArray:
    """Return weights in whole units, of which `one` are a weight of 1."""
    return np.asarray(np.rint(sample_weight * one).astype(np.int64))


def check_total(sample_weight: FloatArray | None, most: int) -> None:
    """Raise ValueError if counts of rows with these weights could be no exact numbers."""
    total = 0.0 if sample_weight is None else float(np.minimum(sample_weight, 2.0 * most).sum())
    if total >= most:
        raise ValueError(
            f"sample_weight must add up to less than {most:,} here, got {total:.6g}: counts would overflow. Hint:"
            " divide weights and smoothing by the same number, which changes no prediction."
        )


def count_rows(units: Units, neighbors: Neighbors, rows: IntArray | None = None) -> IntArray:
    """Add up the units of all or the given training samples by label and by the votes of their neighbours.

    Returns counts (2, n_labels, n_counts): [1] of the units, [0] of the units missing to a whole. In ML-kNN these are
    the numbers c[j] and c'[j] of rows with and without the label of which j neighbours carry it.
    """
    n, k = neighbors.indices.shape

    def count(block: slice) -> tuple[Matrix, Matrix, Any]:
        some = block if rows is None else rows[block]
        return units.of_rows(some), units.votes(units.sums(neighbors[block]), k), units.wholes_of(some)

    return _counted(units, map(count, _blocks(units, n, k)), k)


def count_few(
    units_of: Callable[[Matrix, FloatArray | None], Units],
    labels: Matrix,
    sample_weight: FloatArray | None,
    neighbors: Neighbors,
    rows: IntArray | slice,
) -> IntArray:
    """Count some training samples, given their neighbours, with the label sets of these rows and neighbours only."""
    near, place = np.unique(neighbors.indices, return_inverse=True)
    own, place = labels[rows], place.reshape(neighbors.indices.shape)
    moved = Neighbors(neighbors.distances, place + own.shape[0])
    weights = None if sample_weight is None else np.append(sample_weight[rows], sample_weight[near])
    return count_rows(units_of(stacked([own, labels[near]]), weights), moved)


def _counted(units: Units, parts: Iterable[tuple[Matrix, Matrix, Any]], n_neighbors: int) -> IntArray:
    """Return the counts (2, n_labels, n_counts) of rows, given their units, votes and whole units part by part."""
    n_labels, n_counts = units.of_rows(slice(0, 0)).shape[1], units.n_counts(n_neighbors)
    counts, total = np.zeros((2, n_labels, n_counts), dtype=np.int64), 0
    missing, carried = counts.reshape(2, -1)
    for own, votes, whole in parts:
        n_rows = votes.shape[0]
        total += int(np.sum(np.broadcast_to(whole, n_rows)))
        if sparse.issparse(votes):
            row, label, vote = entries(votes)
        else:
            row, label, vote = None, np.tile(np.arange(n_labels), n_rows), votes.ravel()
        cells = label * n_counts
        cells += vote  # not in one expression, which takes another array in Python 3.14
        if units.wholes is not None:  # as floats, as `bincount` adds them, sums would be rounded
            np.add.at(missing, cells, np.repeat(whole, n_labels) if row is None else whole[row])
        elif len(cells) < len(missing):  # many labels, few of them in a block
            np.add.at(missing, cells, whole)
        else:
            missing += whole * np.bincount(cells, minlength=len(missing))
        row, label, unit = entries(own)
        cells, unit = label * n_counts + cells_of(votes, row, label), unit.astype(np.int64)
        np.add.at(carried, cells, unit)
        np.subtract.at(missing, cells, unit)
    counts[0, :, 0] += total - counts.sum(axis=(0, 2))  # of cells of CSR without a vote
    return counts


def _blocks(units: Units, n_rows: int, n_neighbors: int, n_more: int = 0) -> Iterable[slice]:
    """Yield blocks of rows whose votes, or `n_more` numbers a row, fit the memory budget.

    CSR votes fit if each neighbour carries up to 64 labels.
    """
    sample = units.of_rows(slice(0, 1))
    n_labels = sample.shape[1]
    n_cells = min(n_labels, 64 * n_neighbors) if sparse.issparse(sample) else n_labels
    return row_blocks(n_rows, 64 * max(n_cells, n_neighbors, n_more))


class CountsWithout(NamedTuple):
    """The counts of a fit without a row, and without all others of its group, at this row's own votes; for some rows.

    Cells are all of these rows where units are dense, row by row, else the stored entries of `votes`, zeros among them:
    those that have a vote, or other counts than all other cells of their label (`LeavingOut.elsewhere`).
    """

    votes: Matrix  # (n_rows, n_labels), stored as the units are
    counts: IntArray  # (2, n_rows, n_labels) or (2, n_cells)
    totals: IntArray  # of the same shape


@dataclass(frozen=True)
class LeavingOut:
    """Counts of all rows but those of one group: for rows i of the group and labels l, the others with i's votes.

    Without the group g of row i, other rows take the places of its rows in the lists of the rows m that have some of
    them among their k neighbours. With C the counts of all rows, u the units, v the sums of the neighbours' units, v'
    these sums without the group, and V the votes that a sum makes::

        c[i, l] = C[l, V(v'_il)] - Σ_{m in g} u_ml [V(v_ml) = V(v'_il)]
                  + Σ_{m not in g} u_ml ([V(v'_ml) = V(v'_il)] - [V(v_ml) = V(v'_il)])

    Most often each sample is a group of its own. A subclass may count fewer rows at some votes, as defined by
    `_count_all` and `_is_counted`.
    """

    units: Units
    lists: Neighbors  # of the training samples, at least k + the largest group
    own: Matrix  # (n_samples, n_labels); the next four have the same container
    group_units: Matrix  # of each group (n_groups, n_labels)
    sums: Matrix
    votes: Matrix
    own_votes: Matrix  # V(v'_il)
    groups: Groups
    events: Events
    counts: IntArray  # (2, n_labels, n_counts), of all rows
    k: int

    @classmethod
    def of(cls, units: Units, lists: Neighbors, k: int, groups: Groups) -> LeavingOut:
        """Take neighbours (n_samples, at least k + the largest group), and count all rows by their first k."""
        n_samples = len(lists.indices)
        own = units.of_rows(slice(0, n_samples))
        if sparse.issparse(own):
            own.sum_duplicates()
        sums = _sums_of(units, lists.nearest(k))
        votes = own_votes = units.votes(sums, k)
        if groups.largest > 1:
            own_votes = units.votes(_sums_of(units, groups.others_of(lists, k)), k)
        parts = ((own[block], votes[block], units.wholes_of(block)) for block in _blocks(units, n_samples, k))
        counts = _counted(units, parts, k)
        events = Events.of(lists.indices, k, groups)
        return cls(units, lists, own, groups.add(own), sums, votes, own_votes, groups, events, counts, k)

    @cached_property
    def totals(self) -> IntArray:
        """The rows without and with each label, in units: (2, n_labels)."""
        return np.asarray(self.counts.sum(axis=2))

    @cached_property
    def group_wholes(self) -> IntArray:
        """The units of a label that all rows of each group fully carry: (n_groups,)."""
        if self.units.wholes is None:
            return np.asarray(self.groups.sizes * self.units.whole)
        return np.asarray(self.groups.add(self.units.wholes[:, np.newaxis])).ravel()

    def blocks(self) -> Iterator[IntArray]:
        """Yield rows, those of equally large groups together, whose counts fit the memory budget.

        If labels are sparse, groups are equally heavy, too: then `elsewhere` is the same for all rows of a block.
        """
        kind, size_of = (of_group[self.groups.number] for of_group in (self._kinds_of_groups(), self.groups.sizes))
        for one in np.unique(kind):
            rows = np.flatnonzero(kind == one)
            for block in _blocks(self.units, len(rows), self.k, size_of[rows[0]] * (1 + self.k)):
                yield rows[block]

    def _kinds_of_groups(self) -> IntArray:
        """Return a number of each group, equal where groups may be in one block."""
        sizes = self.groups.sizes
        if self.units.wholes is None or not sparse.issparse(self.own):
            return sizes
        return np.unique(np.column_stack([sizes, self.group_wholes]), axis=0, return_inverse=True)[1].ravel()

    def counts_of(self, rows: IntArray) -> CountsWithout:
        """Return the counts without the group of each of the rows of a block."""
        return self._sparse_block(rows) if sparse.issparse(self.own) else self._dense_block(rows)

    def elsewhere(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Return counts and totals of the cells of these rows that no sparse block lists, each (2, n_labels)."""
        gone = np.array([[self._gone(rows)[0]], [0]])  # of rows without the label
        return np.maximum(self.counts[:, :, 0] - gone, 0), np.maximum(self.totals - gone, 0)

    def _count_all(self, at: IntArray) -> IntArray:
        """Return how many rows, none left out, have these votes (n_rows, n_labels), by label: (2, n_rows, n_labels)."""
        bins = at + np.arange(at.shape[1]) * self.counts.shape[2]
        return np.asarray(self.counts.reshape(2, -1).take(bins, axis=1))

    def _is_counted(self, votes: IntArray, at: IntArray) -> BoolArray:
        """Return where a row with these votes (n_pairs, n_labels) counts at the votes of another row."""
        return np.asarray(votes == at)

    def _gone(self, rows: IntArray) -> IntArray:
        """Return the units of a label that the group of each of these rows fully carries: (n_rows,)."""
        return np.asarray(self.group_wholes[self.groups.number[rows]])

    def _dense_block(self, rows: IntArray) -> CountsWithout:
        """Visit every cell: row by row of all labels, which is as fast as memory."""
        left = self._count_all(self.own_votes[rows])
        if self._compiled is None:
            self._change_counts(rows, left)
        else:
            self._compiled.change(rows, left)
        of_group = self.group_units[self.groups.number[rows]].astype(np.int64)
        gone = np.stack([self._gone(rows)[:, np.newaxis] - of_group, of_group])
        return CountsWithout(self.own_votes[rows], left, self.totals[:, np.newaxis] - gone)

    @cached_property
    def _compiled(self) -> LeftOut | None:
        """A kernel for the usual case: each row is a group, and has a label or not."""
        is_usual = type(self) is LeavingOut and type(self.units) is Units and self.groups.largest == 1
        if not is_usual or not self.own.dtype == self.votes.dtype == np.int8 or kernel_in_use() == OFF:
            return None
        of, events = self.groups.number, self.events
        return LeftOut(self.own, self.votes, events.ends[of], events.ends[of + 1], events.m, events.into)

    def _change_counts(self, rows: IntArray, left: IntArray) -> None:
        """Add what changes to the counts (2, n_rows, n_labels) at the votes of each row."""
        wholes = self.units.wholes
        number = np.int32 if self.own.dtype == np.int8 else np.int64  # of a sum of units
        for pairs in self._pairs(rows):
            of_m = self.own.take(pairs.m, axis=0)
            weight = self._moved(pairs, of_m.dtype)
            first, last = pairs.place[0], pairs.place[-1] + 1
            ends = np.searchsorted(pairs.place, np.arange(first, last + 1))
            of_rows = sparse.csr_array((np.ones(len(weight), dtype=number), np.arange(len(weight)), ends))
            carried = of_rows @ (weight * of_m)
            heavy = weight * (self.units.whole if wholes is None else wholes[pairs.m][:, np.newaxis])
            left[1, first:last] += carried
            left[0, first:last] += of_rows @ heavy - carried

    def _sparse_block(self, rows: IntArray) -> CountsWithout:
        """Visit the cells that have a vote, or where leaving the group out changes more than the number of rows."""
        votes = self.own_votes[rows]
        place, label, at = entries(votes)
        none = np.zeros(len(at), dtype=np.int64)
        parts: list[tuple[IntArray, ...]] = [(place, label, at.astype(np.int64), none, none)]
        parts += [self._changed_cells(pairs) for pairs in self._pairs(rows)]
        cells, (at_cells, absent, present) = _summed(votes.shape[1], *map(np.concatenate, zip(*parts, strict=True)))
        ends = np.searchsorted(cells, np.arange(len(rows) + 1) * votes.shape[1])
        at = sparse.csr_array((at_cells, cells % votes.shape[1], ends), shape=votes.shape)
        left = self.counts[:, at.indices, at.data] + np.stack([absent, present])
        gone = self._gone(rows)[0]
        left[0] -= gone * (at.data == 0)  # as if no row of the group had the label, or a vote for it
        of_group = cells_of(self.group_units, np.repeat(self.groups.number[rows], np.diff(at.indptr)), at.indices)
        totals = self.totals[:, at.indices] - np.stack([gone - of_group, of_group])
        return CountsWithout(at, left, totals)

    def _changed_cells(self, pairs: _Pairs) -> tuple[IntArray, ...]:
        """Return cells of a row i and a label, no votes, and how the counts of rows without and with the label change.

        For a row m of the group all cells with a vote or the label change. For another row, those change where the rows
        that leave and enter its list do not both carry or both lack the label.
        """
        if pairs.event is None:
            pair, label, value = entries(2 * self.votes[pairs.m].astype(np.int64) + self.units.labels[pairs.m])
            before, carried = np.divmod(value, 2)
            whole = self._wholes_of_pairs(pairs, pair)
            units = carried * whole
            at = before if self.groups.largest == 1 else cells_of(self.own_votes, pairs.i[pair], label)
            weight = -(before == at).astype(np.int64)
            undone = whole * (at == 0)
        else:
            pair, label, change = entries(self._change(pairs.event))
            sums = cells_of(self.sums, pairs.m[pair], label)
            at = cells_of(self.own_votes, pairs.i[pair], label)
            enters, leaves = self.units.votes(sums + change, self.k) == at, self.units.votes(sums, self.k) == at
            weight, undone = enters.astype(np.int64) - leaves, 0
            moved = np.flatnonzero(weight)
            pair, label, weight = pair[moved], label[moved], weight[moved]
            whole = self._wholes_of_pairs(pairs, pair)
            units = cells_of(self.own, pairs.m[pair], label).astype(np.int64)
        return pairs.place[pair], label, np.zeros_like(weight), weight * (whole - units) + undone, weight * units

    def _wholes_of_pairs(self, pairs: _Pairs, pair: IntArray) -> Any:
        """Return the units of a label that the row m of each of some pairs fully carries."""
        return self.units.wholes_of(pairs.m[pair])

    def _moved(self, pairs: _Pairs, dtype: Any) -> IntArray:
        """Return 1 where a row m enters the votes of row i by the change of its sum, -1 where it leaves them."""
        at = self.own_votes.take(pairs.i, axis=0)
        leaves = self._is_counted(self.votes.take(pairs.m, axis=0), at)
        if pairs.event is None:
            return np.asarray(-leaves.astype(dtype))
        after = self.sums.take(pairs.m, axis=0) + self._change(pairs.event)
        enters = self._is_counted(self.units.votes(after, self.k), at)
        return np.asarray(np.subtract(enters, leaves, dtype=dtype))

    def _change(self, event: IntArray) -> Matrix:
        """Return by how much the sums of units change in each event (n_events, n_labels), stored as the units are."""
        if not self.units.add_up:
            after = self.units.sums(self._lists_after(event))
            return after - self.sums[self.events.m[event]]
        first, last = self.events.first[event], self.events.first[event + 1]
        ends = np.append(0, np.cumsum(last - first))
        swaps = first if ends[-1] == len(event) else _ranges(first, last)
        into, gone = self.events.into[swaps], self.events.gone[swaps]
        if sparse.issparse(self.own):
            ones = np.ones(len(swaps), dtype=np.int64)
            return sparse.csr_array((ones, np.arange(len(swaps)), ends)) @ (self.own[into] - self.own[gone])
        change = self.own.take(into, axis=0) - self.own.take(gone, axis=0)
        return change if len(swaps) == len(event) else np.add.reduceat(change, ends[:-1], dtype=self.sums.dtype)

    def _lists_after(self, event: IntArray) -> Neighbors:
        """Return the neighbours of the row m of each event without the group that leaves."""
        group = self.groups.number[self.events.gone[self.events.first[event]]]
        lists = self.lists[self.events.m[event]]
        leave = self.groups.number[lists.indices] == group[:, np.newaxis]
        return lists.at(leave.argsort(axis=1, kind="stable")[:, : self.k])

    def _pairs(self, rows: IntArray) -> Iterator[_Pairs]:
        """Yield pairs of a row i and a row m of its group, then of i and a row m with such a row in its list."""
        group = self.groups.number[rows]
        for ends, events in ((self.groups.ends, None), (self.events.ends, self.events.m)):
            of = _ranges(ends[group], ends[group + 1])
            place = np.repeat(np.arange(len(rows)), ends[group + 1] - ends[group])
            m = self.groups.members[of] if events is None else events[of]
            chunks: Iterable[slice]
            if sparse.issparse(self.own):
                chunks = uneven_blocks(64 * (1 + np.diff(self.votes.indptr)[m]))
            else:
                chunks = row_blocks(len(m), 128 * self.own.itemsize * self.own.shape[1])
            for some in chunks:
                yield _Pairs(place[some], rows[place[some]], m[some], None if events is None else of[some])


def _summed(n_labels: int, row: IntArray, label: IntArray, *values: IntArray) -> tuple[IntArray, list[IntArray]]:
    """Return the numbers of distinct cells, row by row, and the sums of their values."""
    cells = row * n_labels + label
    order = np.argsort(cells)
    cells = cells[order]
    first = np.flatnonzero(np.diff(cells, prepend=-1))
    return cells[first], [np.add.reduceat(value[order], first) if len(first) else value for value in values]


class Events(NamedTuple):
    """Changes in the lists of other rows when a group leaves: a row m loses neighbours, and others take their places.

    An event is of one group and one row m. It has as many swaps as m has neighbours in that group, among its first k.
    """

    m: IntArray  # of each event, group by group
    ends: IntArray  # of the groups in the events, after 0
    first: IntArray  # swap of each event; last, the number of all swaps
    gone: IntArray  # the row that leaves the list, of each swap
    into: IntArray  # the row that takes its place: the next one that is not of the group

    @classmethod
    def of(cls, neighbors: IntArray, k: int, groups: Groups) -> Events:
        """Look for all groups in the lists."""
        n, n_groups = len(neighbors), len(groups.sizes)
        near, more, ends = neighbors[:, :k], neighbors[:, k:], np.arange(0, n * k + 1, k)
        number = groups.number[near].ravel()
        if groups.largest == 1:  # the general case gives the same: an event has one swap, and the next neighbour enters
            ones = np.ones(n * k, dtype=np.int8)
            lists = sparse.csr_array((ones, number, ends), shape=(n, n_groups)).tocsc()
            gone = np.repeat(groups.members, np.diff(lists.indptr))
            first = np.arange(len(gone) + 1)
            return cls(lists.indices, lists.indptr, first, gone, neighbors[:, k].take(lists.indices))
        lists = sparse.csr_array((np.arange(n * k), number, ends), shape=(n, n_groups)).tocsc()
        place, m, group = lists.data, lists.indices, np.repeat(np.arange(n_groups), np.diff(lists.indptr))
        others = groups.number[m] != group
        place, m, group = place[others], m[others], group[others]
        starts = np.flatnonzero(np.diff(m, prepend=-1) | np.diff(group, prepend=-1))
        which = np.arange(len(m)) - np.repeat(starts, np.diff(starts, append=len(m)))  # of the event's swaps
        into = np.empty_like(m)
        for block in row_blocks(len(m), 24 * more.shape[1]):
            free = groups.number[more[m[block]]] != group[block, np.newaxis]
            nth = (free & (free.cumsum(axis=1) == which[block, np.newaxis] + 1)).argmax(axis=1)
            into[block] = more[m[block], nth]
        ends = np.searchsorted(group[starts], np.arange(n_groups + 1))
        return cls(m[starts], ends, np.append(starts, len(m)), near.ravel()[place], into)


class _Pairs(NamedTuple):
    """Rows i that are left out, with rows m of their group (no event), or with events of the list of a row m."""

    place: IntArray  # of i among the rows of a block, ascending
    i: IntArray
    m: IntArray
    event: IntArray | None


def _sums_of(units: Units, neighbors: Neighbors) -> Matrix:
    """Return the summed units of all rows' neighbours, with sorted indices if they are sparse."""
    sums = [units.sums(neighbors[block]) for block in _blocks(units, *neighbors.indices.shape)]
    if not sparse.issparse(sums[0]):
        return np.vstack(sums)
    stacked = sparse.vstack(sums, format="csr")
    stacked.sum_duplicates()  # sorted, so that single cells are found by bisection
    return stacked


def _ranges(starts: IntArray, stops: IntArray) -> IntArray:
    """Return the numbers from each start to its stop, joined."""
    sizes = stops - starts
    return np.repeat(starts - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
