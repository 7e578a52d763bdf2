"""The training sample of least weighted sum of two distances, in the features and from probabilities to a label set."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import clone

from nearlabel.labels import distinct_labelsets
from nearlabel.neighbors import ExactNeighbors
from nearlabel.neighbors.exact import all_pairs
from nearlabel.neighbors.usual import usual_distances
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import BLOCK_BYTES, as_dense, row_blocks, uneven_blocks

_QUERIES_PER_TILE = 256
_EPS = float(np.finfo(np.float64).eps)

Weights = tuple[float, float]


class Pairs(NamedTuple):
    """Queries paired with training samples: the row, its label set, and the two distances; four arrays."""

    row: IntArray
    labelset: IntArray
    dx: FloatArray
    dy: FloatArray

    @classmethod
    def joined(cls, parts: list[Pairs]) -> Pairs:
        """Return the pairs of one list after the other."""
        joined: Any = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
        return cls(*joined)

    def some(self, which: IntArray | BoolArray) -> Pairs:
        """Return some of the pairs."""
        return Pairs(self.row[which], self.labelset[which], self.dx[which], self.dy[which])

    def sum(self, weights: Weights) -> FloatArray:
        """Return the weighted sums of the two distances."""
        return weighted_sum(weights, self.dx, self.dy)

    def change_of_dx_to_win(self, weights: Weights) -> FloatArray:
        """Return by how much dx of each pair would have to change to win over the first; NaN if no distance does."""
        sums = self.sum(weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            change = (sums[0] - sums) / weights[0]
        return np.where(np.isfinite(change) & (self.dx + change >= 0), change, np.nan)

    def first_of_each(self, query: IntArray, weights: Weights) -> Pairs:
        """Return, for each query in ascending order, its pair of least (weighted sum, dy, dx, row)."""
        order = np.lexsort((self.row, self.dx, self.dy, self.sum(weights), query))
        first = order[np.unique(query[order], return_index=True)[1]]
        return self.some(first)

    def place_of_first(self, weights: Weights) -> int:
        """Return the place of a single query's pair of least (weighted sum, dy, dx, row)."""
        return int(np.lexsort((self.row, self.dx, self.dy, self.sum(weights)))[0])

    def in_order_of_rows(self) -> Pairs:
        """Return the pairs in the order of their training samples."""
        return self.some(np.argsort(self.row))

    def best_of_labelsets(self, weights: Weights) -> Pairs:
        """Return the best pair of a single query with each label set, in ascending (weighted sum, dy, dx, row)."""
        best = self.first_of_each(self.labelset, weights)
        return best.some(np.lexsort((best.row, best.dx, best.dy, best.sum(weights))))


def weighted_sum(weights: Weights, dx: FloatArray, dy: FloatArray) -> FloatArray:
    """Return a·dx + b·dy. Rounding keeps its order: it never falls where a distance of positive weight grows."""
    return weights[0] * dx + weights[1] * dy


class DoubleDistances(ABC):
    """Training samples, ready to be paired with queries by two distances."""

    def __init__(self, labels: Matrix) -> None:
        self.labelsets, labelset_of, _ = distinct_labelsets(labels)
        self._row = np.argsort(labelset_of, kind="stable")  # the rows of a label set lie side by side
        self._labelset_of = labelset_of[self._row]
        self.n_samples = len(self._row)
        self._in_labels = all_pairs.Euclidean()
        self._in_labels.fit(_as_rows(self.labelsets[:1024]))

    @abstractmethod
    def nearest(self, X: Matrix, probabilities: FloatArray, weights: Weights) -> Pairs:
        """Return, for each query, the pair of least (weighted sum, dy, dx, row).

        Takes queries (n_queries, n_features), the probabilities of their labels (n_queries, n_labels), and the weights
        of the distance in the features and of that in the labels.
        """

    @abstractmethod
    def of_labelsets(self, X: Matrix, probabilities: FloatArray, weights: Weights) -> Pairs:
        """Return, for a single query, its best pair with every label set, in ascending (weighted sum, dy, dx, row).

        The first is that of `nearest`. All training samples are weighed: slower than `nearest`.
        """

    @abstractmethod
    def of_rows(self, X: Matrix, probabilities: FloatArray) -> Pairs:
        """Return, for a single query, its pairs with all training samples, in their order."""

    @abstractmethod
    def nearest_others(self) -> FloatArray | None:
        """Return the distance in the features of each training sample to the nearest other, ascending.

        None if it is unknown, because rows of different label sets are in different searches.
        """


def double_distances(search: Any, X: Matrix, labels: Matrix, n_jobs: int | None = None) -> DoubleDistances:
    """Return training samples (n_samples, n_features) and label sets, ready to be paired by a search's distance."""
    if isinstance(search, ExactNeighbors):
        return CertifiedPairs(search, X, labels, n_jobs)
    return SearchedPairs(search, X, labels)


class CertifiedPairs(DoubleDistances):
    """All training samples are weighed, by the distances of `ExactNeighbors`.

    Among the rows with one label set only the nearest in the features can have the least sum (the farthest, if that
    distance has a negative weight). So both distances are bounded tile by tile, and computed in float64, feature by
    feature, for the few rows that the bounds leave. The result depends neither on tiles and threads nor on storage.
    """

    def __init__(self, search: ExactNeighbors, X: Matrix, labels: Matrix, n_jobs: int | None) -> None:
        super().__init__(labels)
        self._n_jobs = search.n_jobs if n_jobs is None else n_jobs
        self._metric, self._metric_params = search.metric, search.metric_params
        self._in_features = all_pairs.distance_named(search.metric, search.metric_params)
        rows = all_pairs.as_float_rows(X[self._row])
        all_pairs.check_not_too_small([rows], self._in_features)
        self._in_features.fit(rows)
        self._rows = self._in_features.prepare(rows)

    def nearest(self, X: Matrix, probabilities: FloatArray, weights: Weights) -> Pairs:
        """Weigh panels of training samples against tiles of queries."""
        tiles = list(row_blocks(X.shape[0], 1, budget=self._queries_per_tile()))
        best: Any = [None] * len(tiles)
        for panel in self._panels():
            best = Parallel(n_jobs=self._n_jobs, require="sharedmem")(
                delayed(self._weigh)(panel, X[tile], probabilities[tile], weights, so_far)
                for tile, so_far in zip(tiles, best, strict=True)
            )
        return Pairs.joined(best)

    def of_labelsets(self, X: Matrix, probabilities: FloatArray, weights: Weights) -> Pairs:
        """Compute all distances of the query."""
        return self.of_rows(X, probabilities).best_of_labelsets(weights)

    def of_rows(self, X: Matrix, probabilities: FloatArray) -> Pairs:
        """Compute all distances of the query."""
        queries = self._in_features.prepare(
            all_pairs.as_float_rows(all_pairs.stored_alike(X, as_sparse=sparse.issparse(self._rows.values)))
        )
        in_labels = self._in_labels.prepare(probabilities)
        parts = []
        for panel in self._panels():
            sets, place = np.unique(panel.labelset, return_inverse=True)
            x = self._in_features.tile(queries, panel.rows).refine(*_with_query_0(len(panel.row)))
            y = self._in_labels.tile(in_labels, panel.label_rows).refine(*_with_query_0(len(sets)))
            dy = self._in_labels.to_distance(y)[place]
            parts.append(Pairs(panel.row, panel.labelset, self._in_features.to_distance(x), dy))
        return Pairs.joined(parts).in_order_of_rows()

    def nearest_others(self) -> FloatArray | None:
        """Search all rows, once."""
        search = ExactNeighbors(metric=self._metric, metric_params=self._metric_params, n_jobs=self._n_jobs)
        return usual_distances(self, 1, lambda: search.fit(self._rows.values).kneighbors(n_neighbors=1)[0].ravel())

    def _panels(self) -> Iterator[_Panel]:
        bytes_per_row = 32 * (_QUERIES_PER_TILE + self.labelsets.shape[1]) + self._filled_bytes_per_row()
        for block in row_blocks(len(self._row), bytes_per_row):
            labelset = self._labelset_of[block]
            label_rows = self._in_labels.prepare(_as_rows(self.labelsets[labelset[0] : labelset[-1] + 1]))
            yield _Panel(self._row[block], labelset, self._rows[block], label_rows)

    def _queries_per_tile(self) -> int:
        return max(1, min(_QUERIES_PER_TILE, BLOCK_BYTES // (1 + self._filled_bytes_per_row())))

    def _filled_bytes_per_row(self) -> int:
        """Return the bytes of a sparse row where the distance makes it dense, else 0."""
        filled = self._in_features.fills_rows and sparse.issparse(self._rows.values)
        return 8 * int(self._rows.values.shape[1]) if filled else 0

    def _weigh(
        self, panel: _Panel, X: Matrix, probabilities: FloatArray, weights: Weights, so_far: Pairs | None
    ) -> Pairs:
        """Return the best pairs of a tile of queries: of those so far and those with rows of the panel."""
        queries = all_pairs.as_float_rows(all_pairs.stored_alike(X, as_sparse=sparse.issparse(self._rows.values)))
        x = self._in_features.tile(self._in_features.prepare(queries), panel.rows)
        y = self._in_labels.tile(self._in_labels.prepare(probabilities), panel.label_rows)
        sign = -1 if weights[0] < 0 else 1  # the farthest row of a label set is that of least negative rank
        x = _negative(x) if sign < 0 else x

        near, dy = _least_of_groups(x, panel.starts), _least_of_groups(y, np.arange(len(panel.starts)))
        dx = near.distances(self._in_features, sign)
        low, high = _bounds_of_sum(weights, dx, dy.distances(self._in_labels))
        limit = high.min(axis=1) if so_far is None else np.minimum(high.min(axis=1), so_far.sum(weights))

        query, group = np.nonzero(low <= limit[:, np.newaxis])
        exact_dy = self._in_labels.to_distance(y.refine(query, group))
        entry, place = _within_reach(x.lower, panel, query, group, near.reach[query, group])
        query = query[entry]
        rank = sign * x.refine(query, place)
        found = Pairs(panel.row[place], panel.labelset[place], self._in_features.to_distance(rank), exact_dy[entry])
        if so_far is None:
            return found.first_of_each(query, weights)
        everything = Pairs.joined([so_far, found])
        return everything.first_of_each(np.concatenate([np.arange(len(limit)), query]), weights)


class _Panel(NamedTuple):
    """Some training samples, those of a label set side by side, and their label sets as rows of numbers."""

    row: IntArray
    labelset: IntArray
    rows: all_pairs.Rows
    label_rows: all_pairs.Rows

    @property
    def starts(self) -> IntArray:
        """Where the rows of each label set begin."""
        return np.flatnonzero(np.diff(self.labelset, prepend=-1))


def _within_reach(
    lower: FloatArray, panel: _Panel, query: IntArray, group: IntArray, reach: FloatArray
) -> tuple[IntArray, IntArray]:
    """Return, of entries (a query, a label set, a limit), entry number and row of each row whose bound is in reach."""
    starts = panel.starts
    sizes = np.diff(starts, append=len(panel.row))[group]
    entries, places = [], []
    for some in uneven_blocks(64 * sizes):
        entry = np.repeat(np.arange(some.start, some.stop), sizes[some])
        place = np.arange(len(entry)) + np.repeat(
            starts[group[some]] + sizes[some] - np.cumsum(sizes[some]), sizes[some]
        )
        inside = lower[query[entry], place] <= reach[entry]
        entries.append(entry[inside])
        places.append(place[inside])
    return (np.concatenate(entries), np.concatenate(places)) if entries else (query, group)  # both are empty


class _Bounds(NamedTuple):
    """Bounds (n_queries, n_groups) on the least rank of a group of rows, and where its rows' lower bounds must lie."""

    low: FloatArray
    high: FloatArray
    reach: FloatArray

    def distances(self, distance: all_pairs.Distance, sign: int = 1) -> tuple[FloatArray, FloatArray]:
        """Return bounds on the distance itself; with sign -1 they are of the largest one."""
        low, high = (self.low, self.high) if sign > 0 else (-self.high, -self.low)
        return _distance_of_bound(distance, low), _distance_of_bound(distance, high)


def _distance_of_bound(distance: all_pairs.Distance, bound: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(distance.to_distance(bound), nan=0.0)  # a lower bound on a square may be negative


def _negative(tile: all_pairs.Tile) -> all_pairs.Tile:
    """Return the bounds of the negative ranks."""

    def refine(query: IntArray, row: IntArray) -> FloatArray:
        return -tile.refine(query, row)

    return all_pairs.Tile(
        -(tile.lower + tile.row_slack), -(tile.base + tile.query_slack), tile.query_slack, tile.row_slack, refine
    )


def _least_of_groups(tile: all_pairs.Tile, starts: IntArray) -> _Bounds:
    """Bound the least rank of each group of rows that lie side by side; rounding here is covered by `margin`."""
    least = np.minimum.reduceat(tile.lower, starts, axis=1)
    slack = tile.query_slack[:, np.newaxis] + np.maximum.reduceat(tile.row_slack, starts)
    base = tile.base[:, np.newaxis]
    margin = 8 * _EPS * (np.abs(least) + np.abs(base) + slack)
    return _Bounds(least + base - margin, least + base + slack + margin, least + slack + margin)


def _bounds_of_sum(
    weights: Weights, dx: tuple[FloatArray, FloatArray], dy: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Bound a·dx + b·dy: a negative weight takes the other bound."""
    (x_low, x_high), (y_low, y_high) = (pair[:: -1 if w < 0 else 1] for w, pair in zip(weights, (dx, dy), strict=True))
    return weighted_sum(weights, x_low, y_low), weighted_sum(weights, x_high, y_high)


class SearchedPairs(DoubleDistances):
    """The nearest row of each label set is found by a search of its own: for searches of any kind.

    Slower where there are many label sets; as exact as the search.
    """

    def __init__(self, search: Any, X: Matrix, labels: Matrix) -> None:
        super().__init__(labels)
        self._rows_of = np.split(self._row, np.flatnonzero(np.diff(self._labelset_of)) + 1)
        self._searches = [clone(search, safe=False).fit(X[rows]) for rows in self._rows_of]
        self._label_rows = self._in_labels.prepare(_as_rows(self.labelsets))

    def nearest(self, X: Matrix, probabilities: FloatArray, weights: Weights) -> Pairs:
        """Query every label set's search, block by block of queries."""
        blocks = row_blocks(X.shape[0], 128 * len(self._searches))
        return Pairs.joined([self._weigh(X[block], probabilities[block], weights) for block in blocks])

    def of_labelsets(self, X: Matrix, probabilities: FloatArray, weights: Weights) -> Pairs:
        """Query every label set's search."""
        return self._all_pairs(X, probabilities, weights)[0].best_of_labelsets(weights)

    def of_rows(self, X: Matrix, probabilities: FloatArray) -> Pairs:
        """Query every label set's search for all its rows."""
        y = self._in_labels.tile(self._in_labels.prepare(probabilities), self._label_rows)
        dy = self._in_labels.to_distance(y.refine(*_with_query_0(len(self._searches))))
        parts = []
        for number, (search, rows) in enumerate(zip(self._searches, self._rows_of, strict=True)):
            dx, found = (answer[0] for answer in search.kneighbors(X, len(rows)))
            parts.append(Pairs(rows[found], np.full(len(found), number), dx, np.full(len(found), dy[number])))
        return Pairs.joined(parts).in_order_of_rows()

    def nearest_others(self) -> FloatArray | None:
        """Return None: no search knows the rows of two label sets."""
        return None

    def _weigh(self, X: Matrix, probabilities: FloatArray, weights: Weights) -> Pairs:
        pairs, query = self._all_pairs(X, probabilities, weights)
        return pairs.first_of_each(query, weights)

    def _all_pairs(self, X: Matrix, probabilities: FloatArray, weights: Weights) -> tuple[Pairs, IntArray]:
        """Return the best pair of each query with each label set, and the query's number in each."""
        shape = X.shape[0], len(self._searches)
        query, labelset = (index.ravel() for index in np.indices(shape))
        y = self._in_labels.tile(self._in_labels.prepare(probabilities), self._label_rows)
        dy = self._in_labels.to_distance(y.refine(query, labelset))
        dx, row = np.empty(shape), np.empty(shape, dtype=np.int64)
        for number, (search, rows) in enumerate(zip(self._searches, self._rows_of, strict=True)):
            wanted = 1 if weights[0] >= 0 else len(rows)
            distances, indices = search.kneighbors(X, wanted)
            place = np.argmax(distances == distances[:, -1:], axis=1)  # of the farthest, the first; of one, itself
            each = np.arange(len(place))
            dx[:, number], row[:, number] = distances[each, place], rows[indices[each, place]]
        return Pairs(row.ravel(), labelset, dx.ravel(), dy), query


def _with_query_0(n_rows: int) -> tuple[IntArray, IntArray]:
    return np.zeros(n_rows, dtype=np.intp), np.arange(n_rows)


def _as_rows(labelsets: Matrix) -> FloatArray:
    return as_dense(labelsets).astype(np.float64)
