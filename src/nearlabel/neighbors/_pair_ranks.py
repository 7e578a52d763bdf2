"""Ranks of chosen pairs of training samples, which may be in several segments: for lists that are updated with rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from nearlabel.neighbors._distances import Distance, PointDistance, TreeDistance
from nearlabel.neighbors._result import Result
from nearlabel.neighbors._segment import KeptRows, first_numbers, take_of_all
from nearlabel.utils.blocks import bytes_per_row, row_blocks
from nearlabel.utils.types import FloatArray, IntArray, Matrix

_FEW = 4  # new samples, to which all distances are summed, since a search would cost more
_BYTES_AT_A_TIME = 2**22  # of rows, which are copied where some between them were removed
_FIRST, _MORE = 2, 8  # new samples to search for, and how many times as many where all that are found are within reach


Search: TypeAlias = Callable[[Matrix, int], Result]  # ranks and indices of the k rows nearest to queries


class RankedPairs(NamedTuple):
    """Pairs of rows, with the rank of the second as a neighbour of the first; sorted by the first."""

    row: IntArray
    other: IntArray
    rank: FloatArray

    @classmethod
    def joined(cls, parts: Sequence[RankedPairs]) -> Self:
        """Return the pairs of all parts, one after the other."""
        return cls(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def ranks_of(segments: Sequence[KeptRows], distance: Distance, rows: IntArray, others: IntArray) -> FloatArray:
    """Return the rank of each of `others` as a neighbour of that of `rows`, which are sorted."""
    ranks = np.empty(len(rows))
    for block in row_blocks(len(rows), bytes_per_row(segments[0].rows)):
        distinct, query = np.unique(rows[block], return_inverse=True)
        left, of_block = take_of_all(segments, distinct), ranks[block]
        for first, segment in zip(first_numbers(segments), segments, strict=False):
            mine = np.flatnonzero((others[block] >= first) & (others[block] < first + len(segment)))
            if len(mine):
                numbers = segment.stored_at(others[block][mine] - first)
                of_block[mine] = _ranks(distance, left, segment.rows, query[mine], numbers)
    return ranks


def pairs_within(
    segments: Sequence[KeptRows],
    distance: Distance,
    new: Matrix,
    search: Callable[[], Search],
    reach: FloatArray,
) -> RankedPairs:
    """Return the pairs of one of the first rows, as many as have a reach, and an added row whose rank is below it.

    `search` gives the engine that searches in the added rows, for which the others are queries; sums are faster for few
    rows.
    """
    if new.shape[0] <= _FEW and isinstance(distance, PointDistance | TreeDistance):
        within: Callable[[Matrix, FloatArray], RankedPairs] = partial(_summed_within, distance, new)
    else:
        within = partial(_found_within, search(), new.shape[0])
    parts = []
    for first, segment in zip(first_numbers(segments), segments, strict=False):
        for block in row_blocks(min(len(segment), len(reach) - first), bytes_per_row(segment.rows), _BYTES_AT_A_TIME):
            start, stop = first + block.start, first + block.stop
            near = within(segment.take(block), reach[start:stop])
            parts.append(near._replace(row=near.row + start))
    return RankedPairs.joined(parts)


def _summed_within(
    distance: PointDistance | TreeDistance, rows: Matrix, queries: Matrix, reach: FloatArray
) -> RankedPairs:
    query, row = np.divmod(np.arange(queries.shape[0] * rows.shape[0]), rows.shape[0])
    ranks = distance.ranks(queries, rows, (query, row))
    near = ranks < reach[query]
    return RankedPairs(query[near], row[near], ranks[near])


def _found_within(search: Search, n_rows: int, queries: Matrix, reach: FloatArray) -> RankedPairs:
    """Search for more and more rows nearest to each query, until the last is not within its reach."""
    left, k, parts = np.arange(len(reach)), min(_FIRST, n_rows), []
    while len(left):
        found = search(queries if len(left) == len(reach) else queries[left], k)
        near = found.ranks < reach[left, np.newaxis]
        unknown = near[:, -1] & (k < n_rows)
        query, place = np.nonzero(near & ~unknown[:, np.newaxis])
        parts.append(RankedPairs(left[query], found.indices[query, place], found.ranks[query, place]))
        left, k = left[unknown], min(_MORE * k, n_rows)
    pairs = RankedPairs.joined(parts)
    order = np.argsort(pairs.row, kind="stable")
    return RankedPairs(pairs.row[order], pairs.other[order], pairs.rank[order])


def _ranks(distance: Distance, left: Matrix, right: Matrix, query: IntArray, row: Any) -> FloatArray:
    if isinstance(distance, PointDistance | TreeDistance):
        return distance.ranks(left, right, (query, row))
    distance.fit(right)
    ranks = np.empty(len(query))
    # Other distances have ranks for all pairs of a tile only: each query is one, with its own rows.
    for mine in np.split(np.arange(len(query)), np.flatnonzero(np.diff(query)) + 1):
        if len(mine):
            tile = distance.tile(distance.prepare(left[query[mine[:1]]]), distance.prepare(right[row[mine]]))
            ranks[mine] = tile.refine(np.zeros_like(mine), np.arange(len(mine)))
    return ranks
