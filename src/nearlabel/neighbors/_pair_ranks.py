"""Ranks of chosen pairs of training rows, which may be in several segments: for lists that follow the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from nearlabel.neighbors._bounds_search import above
from nearlabel.neighbors._candidates import nonzero
from nearlabel.neighbors._distances import Distance, PointDistance, TreeDistance
from nearlabel.neighbors._segment import KeptRows, first_numbers, take_of_all
from nearlabel.utils.blocks import bytes_per_row, row_blocks
from nearlabel.utils.types import FloatArray, IntArray, Matrix

_FEW = 4  # rows, to which all distances are summed, since bounds on them would cost more
_PAIRS_AT_A_TIME = 2**21
_MOST_ROWS = 2**14  # at a time


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


def pairs_within(segments: Sequence[KeptRows], distance: Distance, n_old: int, reach: FloatArray) -> RankedPairs:
    """Return the pairs of a row before and a row from `n_old` on whose rank is below the reach of the former."""
    new = take_of_all(segments, np.arange(n_old, first_numbers(segments)[-1]))
    near = pairs_with(segments, distance, new, reach[:n_old])
    return near._replace(other=near.other + n_old)


def pairs_with(segments: Sequence[KeptRows], distance: Distance, rows: Matrix, reach: FloatArray) -> RankedPairs:
    """Return the pairs of one of the first rows of all, as many as have a reach, and another row that is within it."""
    distance.fit(rows)
    size = min(_MOST_ROWS, max(1, _PAIRS_AT_A_TIME // rows.shape[0]))
    parts = []
    for first, segment in zip(first_numbers(segments), segments, strict=False):
        for block in row_blocks(min(len(segment), len(reach) - first), 1, size):
            numbers = slice(first + block.start, first + block.stop)
            near = _within(distance, segment.take(block), rows, reach[numbers])
            parts.append(near._replace(row=near.row + numbers.start))
    return RankedPairs.joined(parts)


def _within(distance: Distance, queries: Matrix, rows: Matrix, reach: FloatArray) -> RankedPairs:
    """Return the pairs of a query and a row, and their ranks, if these are below the query's reach."""
    if rows.shape[0] <= _FEW and isinstance(distance, PointDistance | TreeDistance):
        query, row = np.divmod(np.arange(queries.shape[0] * rows.shape[0]), rows.shape[0])
        ranks = distance.ranks(queries, rows, (query, row))
    else:
        tile = distance.tile(distance.prepare(queries), distance.prepare(rows))
        query, row = nonzero(tile.lower <= above(reach - tile.base)[:, np.newaxis])
        ranks = tile.refine(query, row)
    near = ranks < reach[query]
    return RankedPairs(query[near], row[near], ranks[near])


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
