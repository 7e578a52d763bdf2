"""Training rows counted by label, by whether they carry it, and by the votes of their neighbours; with and without one.

ML-kNN and CML-kNN learn from these counts. A row carries a label in whole units: 0 or 1 in ML-kNN, a degree of
membership in CML-kNN. Units are added as whole numbers, so a row can be taken out of every sum without a trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from nearlabel.neighbors import label_votes
from nearlabel.utils.blocks import BLOCK_BYTES, row_blocks, uneven_blocks
from nearlabel.utils.types import CSR, IntArray, Matrix
from nearlabel.utils.validation import as_dense


class Units(Protocol):
    """How far each training row carries each label, in whole numbers; `whole` is a label that is wholly carried."""

    @property
    def whole(self) -> int:
        """Return the units of a label that a row wholly carries."""
        ...

    def of_rows(self, rows: slice) -> Matrix:
        """Return the units of some rows (n_rows, n_labels), dense or CSR."""
        ...

    def sums(self, indices: IntArray) -> Matrix:
        """Return the summed units of each query's neighbours (n_queries, n_labels), dense or CSR."""
        ...

    def votes(self, sums: Matrix, n_neighbors: int) -> Matrix:
        """Return sums as whole votes, stored alike."""
        ...

    def n_counts(self, n_neighbors: int) -> int:
        """Return how many numbers of votes are possible."""
        ...


class CarriedLabels:
    """The units of ML-kNN: 1 for a label that a row carries, 0 for any other; a sum of units is a number of votes."""

    whole = 1

    def __init__(self, labels: Matrix) -> None:
        self._labels = labels  # in bytes

    def of_rows(self, rows: slice) -> Matrix:
        """Return the labels of some rows."""
        return self._labels[rows]

    def sums(self, indices: IntArray) -> Matrix:
        """Return the votes of each query's neighbours."""
        return label_votes(indices, self._labels)

    def votes(self, sums: Matrix, n_neighbors: int) -> Matrix:
        """Return the sums: they are the votes."""
        return sums

    def n_counts(self, n_neighbors: int) -> int:
        """Return k + 1: from no vote to all."""
        return n_neighbors + 1

    @classmethod
    def of(cls, labels: Matrix, cells_for_one: int = 40) -> CarriedLabels:
        """Store labels so that counting is least work: a one of CSR takes as long as so many dense cells.

        Sparse labels are not made dense where that would take more than the budget of a block.
        """
        is_sparse, n_cells = sparse.issparse(labels), labels.shape[0] * labels.shape[1]
        n_ones = labels.nnz if is_sparse else np.count_nonzero(labels)
        if n_cells < cells_for_one * n_ones and not (is_sparse and n_cells >= BLOCK_BYTES):
            return cls(as_dense(labels))
        return cls(sparse.csr_array(labels))


def count_rows(units: Units, indices: IntArray) -> IntArray:
    """Add up the units of the training rows by label and by the votes of their neighbours (n_samples, n_neighbors).

    Returns counts (2, n_labels, n_counts): [1] of the units, [0] of what they lack to a whole. In ML-kNN these are the
    numbers c[j] and c'[j] of rows with and without the label of which j neighbours carry it.
    """
    n, k = indices.shape
    total = np.zeros((), dtype=np.int64)
    for block in row_blocks(n, 64 * _cells_a_row(units, k)):
        total = total + _count_block(units.votes(units.sums(indices[block]), k), units, block, units.n_counts(k))
    return total


def _count_block(votes: Matrix, units: Units, block: slice, n_counts: int) -> IntArray:
    """Count the rows of a block; of CSR votes those without a vote follow by subtraction."""
    n_rows, n_labels = votes.shape
    own, n_bins = units.of_rows(block), n_labels * n_counts
    cells = entries(votes)[1:] if sparse.issparse(votes) else (np.tile(np.arange(n_labels), n_rows), votes.ravel())
    rows = np.bincount(cells[0] * n_counts + cells[1], minlength=n_bins).reshape(n_labels, n_counts)
    rows[:, 0] += n_rows - rows.sum(axis=1)
    row, label, unit = entries(own)
    carried = np.zeros(n_bins, dtype=np.int64)
    np.add.at(carried, label * n_counts + cells_of(votes, row, label), unit.astype(np.int64))
    carried = carried.reshape(n_labels, n_counts)
    return np.stack([units.whole * rows - carried, carried])


def _cells_a_row(units: Units, n_neighbors: int) -> int:
    """Return about how many cells a row of votes takes; of CSR units, if each neighbour carries up to 64 labels."""
    sample = units.of_rows(slice(0, 1))
    n_labels = sample.shape[1]
    return int(max(min(n_labels, 64 * n_neighbors) if sparse.issparse(sample) else n_labels, n_neighbors))


_NOWHERE = np.empty((2, 0), dtype=np.int64), np.empty((2, 0), dtype=np.int64)  # all cells are listed


class CountsWithout(NamedTuple):
    """What a fit without a row, and without all others of its group, counts at this row's own votes; for some rows.

    Cells are all of these rows where units are dense, row by row, else the stored entries of `votes`, zeros among them:
    those that have a vote, or other counts than all cells of their label `elsewhere`.
    """

    rows: IntArray
    votes: Matrix  # (n_rows, n_labels), stored as the units are
    counts: IntArray  # (2, n_rows, n_labels) or (2, n_cells)
    totals: IntArray  # of the same shape
    elsewhere: tuple[IntArray, IntArray]  # counts and totals of the cells that are not listed, each (2, n_labels)


class LeavingOut(NamedTuple):
    """Counts of all rows but those of one group: for rows i of the group and labels l, the others with i's votes.

    Without the group g of row i, other rows take the places of its rows in the lists of the rows m that have some of
    them among their k neighbours. With C the counts of all rows, u the units, v the sums of the neighbours' units, v'
    these sums without the group, and V the votes that a sum makes::

        c[i, l] = C[l, V(v'_il)] - Σ_{m in g} u_ml [V(v_ml) = V(v'_il)]
                  + Σ_{m not in g} u_ml ([V(v'_ml) = V(v'_il)] - [V(v_ml) = V(v'_il)])

    Most often each row is a group of its own.
    """

    units: Units
    own: Matrix  # (n_samples, n_labels), and the next four stored alike
    group_units: Matrix  # of each group (n_groups, n_labels)
    sums: Matrix
    votes: Matrix
    own_votes: Matrix  # V(v'_il)
    groups: Groups
    events: Events
    counts: IntArray  # (2, n_labels, n_counts), of all rows
    k: int

    @classmethod
    def of(cls, units: Units, neighbors: IntArray, k: int, counts: IntArray, groups: Groups) -> LeavingOut:
        """Take neighbours (n_samples, at least k + the largest group) and the counts of all rows by their first k."""
        own = units.of_rows(slice(0, len(neighbors)))
        if sparse.issparse(own):
            own.sum_duplicates()
        sums = _sums_of(units, neighbors[:, :k])
        votes = own_votes = units.votes(sums, k)
        if groups.largest > 1:
            others = np.take_along_axis(neighbors, groups.places_of_others(neighbors, k), axis=1)
            own_votes = units.votes(_sums_of(units, others), k)
        events = Events.of(neighbors, k, groups)
        return cls(units, own, groups.add(own), sums, votes, own_votes, groups, events, counts, k)

    def blocks(self) -> Iterator[IntArray]:
        """Yield rows, those of equally large groups together, whose counts fit the memory budget."""
        size_of = self.groups.sizes[self.groups.number]
        for size in np.unique(size_of):
            rows = np.flatnonzero(size_of == size)
            for block in row_blocks(len(rows), 64 * max(_cells_a_row(self.units, self.k), size * (1 + self.k))):
                yield rows[block]

    def counts_of(self, rows: IntArray) -> CountsWithout:
        """Return the counts without the group of each of some rows; these groups are equally large."""
        return self._sparse_block(rows) if sparse.issparse(self.own) else self._dense_block(rows)

    def _dense_block(self, rows: IntArray) -> CountsWithout:
        """Visit every cell: row by row of all labels, which is as fast as memory."""
        label, whole = np.arange(self.own.shape[1]), self.units.whole
        number = np.int32 if self.own.dtype == np.int8 else np.int64  # of a sum of units
        bins = self.own_votes[rows] + label * self.counts.shape[2]
        left = self.counts.reshape(2, -1).take(bins, axis=1)
        for pairs in self._pairs(rows):
            of_m = self.own.take(pairs.m, axis=0)
            weight = self._moved(pairs, of_m.dtype)
            first, last = pairs.place[0], pairs.place[-1] + 1
            ends = np.searchsorted(pairs.place, np.arange(first, last + 1))
            of_rows = sparse.csr_array((np.ones(len(weight), dtype=number), np.arange(len(weight)), ends))
            left[1, first:last] += of_rows @ (weight * of_m)
            left[0, first:last] += of_rows @ (weight * (whole - of_m))
        of_group = self.group_units[self.groups.number[rows]].astype(np.int64)
        n_left = self.groups.sizes[self.groups.number[rows], np.newaxis]
        totals = self.counts.sum(axis=2)[:, np.newaxis] - np.stack([n_left * whole - of_group, of_group])
        return CountsWithout(rows, self.own_votes[rows], left, totals, _NOWHERE)

    def _sparse_block(self, rows: IntArray) -> CountsWithout:
        """Visit the cells that have a vote, or where leaving the group out changes more than the number of rows."""
        votes, whole = self.own_votes[rows], self.units.whole
        n_left = int(self.groups.sizes[self.groups.number[rows[0]]])
        place, label, at = entries(votes)
        none = np.zeros(len(at), dtype=np.int64)
        parts: list[tuple[IntArray, ...]] = [(place, label, at.astype(np.int64), none, none)]
        parts += [self._changed_cells(pairs) for pairs in self._pairs(rows)]
        place, label, *values = (np.concatenate(part) for part in zip(*parts, strict=True))
        at, absent, present = (sparse.csr_array((one, (place, label)), shape=votes.shape) for one in values)
        left = self.counts[:, at.indices, at.data] + np.stack([absent.data, present.data])
        left[0] -= n_left * whole * (at.data == 0)  # as if no row of the group had the label, or a vote for it
        of_group = cells_of(self.group_units, np.repeat(self.groups.number[rows], np.diff(at.indptr)), at.indices)
        totals = self.counts.sum(axis=2)[:, at.indices] - np.stack([n_left * whole - of_group, of_group])
        gone = np.array([[n_left * whole], [0]])
        elsewhere = self.counts[:, :, 0] - gone, self.counts.sum(axis=2) - gone
        return CountsWithout(rows, at, left, totals, tuple(np.maximum(one, 0) for one in elsewhere))

    def _changed_cells(self, pairs: _Pairs) -> tuple[IntArray, ...]:
        """Return cells of a row i and a label, no votes, and how the counts of rows without and with the label change.

        Of a row m of the group all cells with a vote or the label change, of another row those where what leaves its
        list and what enters it carry the label unequally.
        """
        whole = self.units.whole
        if pairs.event is None:
            pair, label, value = entries(self.votes[pairs.m].astype(np.int64) * (whole + 1) + self.own[pairs.m])
            before, units = np.divmod(value, whole + 1)
            at = cells_of(self.own_votes, pairs.i[pair], label)
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
            units = cells_of(self.own, pairs.m[pair], label).astype(np.int64)
        return pairs.place[pair], label, np.zeros_like(weight), weight * (whole - units) + undone, weight * units

    def _moved(self, pairs: _Pairs, dtype: Any) -> IntArray:
        """Return 1 where a row m enters the votes of row i by the change of its sum, -1 where it leaves them."""
        at = self.own_votes.take(pairs.i, axis=0)
        leaves = self.votes.take(pairs.m, axis=0) == at
        if pairs.event is None:
            return np.asarray(-leaves.astype(dtype))
        after = self.sums.take(pairs.m, axis=0) + self._change(pairs.event)
        return np.asarray(np.subtract(self.units.votes(after, self.k) == at, leaves, dtype=dtype))

    def _change(self, event: IntArray) -> Matrix:
        """Return by how much the sums of units change in each event (n_events, n_labels), stored as the units are."""
        first, last = self.events.first[event], self.events.first[event + 1]
        ends = np.append(0, np.cumsum(last - first))
        swaps = first if ends[-1] == len(event) else _ranges(first, last)
        into, gone = self.events.into[swaps], self.events.gone[swaps]
        if sparse.issparse(self.own):
            ones = np.ones(len(swaps), dtype=np.int64)
            return sparse.csr_array((ones, np.arange(len(swaps)), ends)) @ (self.own[into] - self.own[gone])
        change = self.own.take(into, axis=0) - self.own.take(gone, axis=0)
        return change if len(swaps) == len(event) else np.add.reduceat(change, ends[:-1], dtype=self.sums.dtype)

    def _pairs(self, rows: IntArray) -> Iterator[_Pairs]:
        """Yield pairs of a row i and a row m of its group, then of i and a row m with such a row in its list."""
        group = self.groups.number[rows]
        for ends, events in ((self.groups.ends, None), (self.events.ends, self.events.m)):
            of = _ranges(ends[group], ends[group + 1])
            place = np.repeat(np.arange(len(rows)), ends[group + 1] - ends[group])
            m = self.groups.members[of] if events is None else events[of]
            if sparse.issparse(self.own):
                chunks = uneven_blocks(64 * (1 + np.diff(self.votes.indptr)[m]))
            else:
                chunks = row_blocks(len(m), 128 * self.own.itemsize * self.own.shape[1])
            for some in chunks:
                yield _Pairs(place[some], rows[place[some]], m[some], None if events is None else of[some])


class Groups(NamedTuple):
    """Rows in groups that are left out together; most often each row is one."""

    number: IntArray  # of the group of each row
    members: IntArray  # rows, group by group
    ends: IntArray  # of the groups in `members`, after 0

    @classmethod
    def of(cls, number: IntArray) -> Groups:
        """Take the number of each row's group: all from 0 on."""
        return cls(number, np.argsort(number, kind="stable"), np.append(0, np.cumsum(np.bincount(number))))

    @property
    def sizes(self) -> IntArray:
        """Return how many rows each group has."""
        return np.diff(self.ends)

    @property
    def largest(self) -> int:
        """Return the rows of the largest group."""
        return int(self.sizes.max())

    def labelsets(self, rule: Any) -> CSR | None:
        """Return how many rows of each row's group have each label set, for a rule that sees label sets."""
        if rule.sees != "label sets":
            return None
        carried = sparse.csr_array(
            (np.ones(len(self.number), dtype=np.int64), (np.arange(len(self.number)), rule._labelset_of))
        )
        return sparse.csr_array(self.add(carried))[self.number]

    def add(self, own: Matrix) -> Matrix:
        """Return the summed units of each group (n_groups, n_labels), stored as those of the rows."""
        if self.largest == 1:
            return own[self.members]
        ones = np.ones(len(self.members), dtype=np.int64)
        return sparse.csr_array((ones, self.members, self.ends), shape=(len(self.sizes), len(self.number))) @ own

    def places_of_others(self, neighbors: IntArray, k: int) -> IntArray:
        """Return the columns (n_samples, k) of the nearest neighbours of each row that are not of its group."""
        places = np.empty((len(neighbors), k), dtype=np.intp)
        for block in row_blocks(len(neighbors), 24 * neighbors.shape[1]):
            is_own = self.number[neighbors[block]] == self.number[block, np.newaxis]
            places[block] = is_own.argsort(axis=1, kind="stable")[:, :k]
        return places


class Events(NamedTuple):
    """What happens to the lists of other rows when a group leaves: a row m loses neighbours, and others take over.

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
        if groups.largest == 1:  # what follows comes to this: an event has one swap, and the next neighbour enters
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
    """Rows i that are left out, and rows m of their group (no event), or what happens to the list of a row m."""

    place: IntArray  # of i among the rows of a block, ascending
    i: IntArray
    m: IntArray
    event: IntArray | None


def _sums_of(units: Units, neighbors: IntArray) -> Matrix:
    """Return the summed units of all rows' neighbours, with sorted indices if they are sparse."""
    n, k = neighbors.shape
    sums = [units.sums(neighbors[block]) for block in row_blocks(n, 64 * _cells_a_row(units, k))]
    if not sparse.issparse(sums[0]):
        return np.vstack(sums)
    stacked = sparse.vstack(sums, format="csr")
    stacked.sum_duplicates()  # sorted, so that single cells are found by bisection
    return stacked


def _ranges(starts: IntArray, stops: IntArray) -> IntArray:
    """Return the numbers from each start to its stop, joined."""
    sizes = stops - starts
    return np.repeat(starts - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())


def entries(matrix: Matrix) -> tuple[IntArray, IntArray, IntArray]:
    """Return rows, columns and values of the entries that are not 0, row by row."""
    if sparse.issparse(matrix):
        matrix = matrix.tocoo()
        return matrix.row.astype(np.intp), matrix.col.astype(np.intp), matrix.data
    row, column = np.nonzero(matrix)
    return row, column, matrix[row, column]


def cells_of(matrix: Matrix, rows: IntArray, columns: IntArray) -> IntArray:
    """Return matrix[rows, columns] as a dense array, whichever container this scipy makes of it."""
    return as_dense(matrix[rows, columns]).ravel()
