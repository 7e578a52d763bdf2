"""The shards of a search on a cluster, and the tasks that search in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from nearlabel.files.row_files import RowFiles
from nearlabel.neighbors.exact._search import ExactNeighbors
from nearlabel.neighbors.exact._segments import RankedPairs
from nearlabel.neighbors.exact.all_pairs import Distance
from nearlabel.neighbors.optional._dask_cluster import _Files
from nearlabel.utils.types import FloatArray, IntArray

JOINED_UP_TO = 8  # times as many rows as are added, or were removed: as in `ExactNeighbors`


class _Shard(NamedTuple):
    """Some of the training samples, and the search of a worker in them."""

    rows: RowFiles
    files: _Files
    search: Any  # the future of a `_ShardSearch`; None: not started yet


class _ShardSearch:
    """A search fitted to the rows of a shard; pickled as file names, and fitted again on arrival."""

    def __init__(self, rows: RowFiles, engine: ExactNeighbors) -> None:
        self._recipe = rows, engine
        self.n_rows = len(rows)
        whole, gone = rows.whole()
        few = len(gone) * JOINED_UP_TO <= len(rows)  # then the rows stay in the file, and these are left out
        self.exact = clone(engine).fit_to_part((whole if few else rows).load())
        if few and len(gone):
            self.exact.remove(gone)

    def __reduce__(self) -> Any:
        return _ShardSearch, self._recipe


def _nearest(
    shard: _ShardSearch, first: int, queries: RowFiles, k: int, own: int | None
) -> tuple[FloatArray, IntArray]:
    """Return rank and index of a shard's nearest rows, (n_queries, k or all of them).

    With `own`, query i is training sample own + i: the shard returns one neighbour more, and the row itself gets an
    infinite rank, so that the merge drops it.
    """
    wanted = min(k if own is None else k + 1, shard.n_rows)
    ranks, indices = shard.exact._search(queries.load(), wanted)
    indices = indices + first
    if own is not None:
        ranks = np.where(indices == own + np.arange(len(indices))[:, np.newaxis], np.inf, ranks)
    return ranks, indices


def _near(shard: _ShardSearch, reach: RowFiles, first: int, rows: RowFiles, number: int) -> RankedPairs:
    """Return the pairs of a shard's row and another within its reach; the others are numbered from `number` on."""
    near = shard.exact.pairs_with(rows.load(), reach.load()[:, 0])
    return RankedPairs(near.row + first, near.other + number, near.rank)


def _use(
    result: tuple[FloatArray, IntArray], function: Callable[..., Any], tile: slice, distance: Distance, arguments: Any
) -> Any:
    """Return what a function makes of the neighbours of a tile of queries."""
    ranks, indices = result
    return function(distance.to_distance(ranks), indices, tile, *arguments)
