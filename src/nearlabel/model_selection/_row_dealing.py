"""Samples assigned to folds so that each fold gets its share of every stratum, the rarest stratum first."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from nearlabel.labels import distinct_labelsets
from nearlabel.model_selection._strata import Strata, strata_of
from nearlabel.utils.types import IntArray, Matrix


def deal_rows(labels: Matrix, order: int, n_folds: int, random: RandomState | None) -> IntArray:
    """Return the fold of every row, iteratively stratified; with `random` the order of labels, rows and folds is drawn.

    Rows of one label set are assigned one after the other, so the work is on distinct label sets.
    """
    labelsets, kinds, counts = distinct_labelsets(labels)
    rows = np.arange(len(kinds))
    if random is not None:
        labelsets, drawn, _ = distinct_labelsets(labelsets[:, random.permutation(labels.shape[1])])
        kinds, counts = drawn[kinds], counts[np.argsort(drawn)]
        rows = random.permutation(rows)
    fold_of_rows: IntArray = np.empty(len(rows), dtype=np.intp)
    fold_of_rows[rows[np.argsort(kinds[rows], kind="stable")]] = _deal(
        strata_of(labelsets, order), counts, n_folds, random
    )
    return fold_of_rows


def _deal(strata: Strata, counts: NDArray[np.int64], n_folds: int, random: RandomState | None) -> IntArray:
    """Return the fold of every row, label set by label set; `counts` are their numbers of rows.

    Within a turn the stratum with the fewest remaining rows is assigned first, each row to the fold that has the fewest
    rows of the stratum, among these to one that has the fewest rows. Ties: the lower stratum; label sets in order; the
    lower fold, or an order of folds that is drawn for each stratum.
    """
    tally, folds = _Tally(strata, counts, n_folds), _Folds(int(counts.sum()), n_folds)
    starts = np.cumsum(counts) - counts
    dealt: IntArray = np.empty(int(counts.sum()), dtype=np.intp)
    for stratum, kinds in tally.rarest_first():
        ties = list(range(n_folds)) if random is None else random.permutation(n_folds).tolist()
        rows = _ranges(starts[kinds], counts[kinds])
        dealt[rows] = np.fromiter(folds.take(tally.held[stratum].tolist(), ties, len(rows)), np.intp, len(rows))
        tally.add(np.repeat(kinds, counts[kinds]), dealt[rows])
    return dealt


class _Tally:
    """Rows of every stratum: those in each fold (`held`), and the remaining ones."""

    def __init__(self, strata: Strata, counts: NDArray[np.int64], n_folds: int) -> None:
        self._strata, self._by_stratum = strata.of_labelsets, strata.of_labelsets.tocsc()
        self._n_strata_of = np.diff(self._strata.indptr)
        self._waiting = np.ones(len(counts), dtype=np.bool_)
        self._left: NDArray[np.int64] = self._strata.T @ counts
        self._turns: list[int] = strata.turns.tolist()
        occurring = np.flatnonzero(self._left)
        self._queue = list(
            zip(strata.turns[occurring].tolist(), self._left[occurring].tolist(), occurring.tolist(), strict=True)
        )
        self.held = np.zeros((len(self._turns), n_folds), dtype=np.int64)

    def rarest_first(self) -> Iterator[tuple[int, IntArray]]:
        """Yield each stratum with its remaining label sets."""
        heapify(self._queue)
        while self._queue:
            _, left, stratum = heappop(self._queue)
            if left and left == self._left[stratum]:  # otherwise it is out of date
                kinds = self._by_stratum.indices[slice(*self._by_stratum.indptr[stratum : stratum + 2])]
                yield stratum, kinds[self._waiting[kinds]]

    def add(self, kinds: IntArray, folds: IntArray) -> None:
        """Record the assigned rows of some label sets: label set and fold of each row."""
        self._waiting[kinds] = False
        n_folds = self.held.shape[1]
        cells, n_rows = np.unique(kinds.astype(np.int64) * n_folds + folds, return_counts=True)
        kinds, folds = np.divmod(cells, n_folds)
        lengths = self._n_strata_of[kinds]
        strata = self._strata.indices[_ranges(self._strata.indptr[kinds], lengths)]
        n_rows = np.repeat(n_rows, lengths)
        np.add.at(self.held, (strata, np.repeat(folds, lengths)), n_rows)
        np.subtract.at(self._left, strata, n_rows)
        for stratum in np.unique(strata).tolist():
            heappush(self._queue, (self._turns[stratum], int(self._left[stratum]), stratum))


class _Folds:
    """Folds that fill up: each takes its share of the rows, and as many as the remainder take one more."""

    def __init__(self, n_rows: int, n_folds: int) -> None:
        self._rows = [0] * n_folds
        self._share, self._n_over = divmod(n_rows, n_folds)

    def take(self, held: list[int], ties: list[int], n_rows: int) -> Iterator[int]:
        """Yield the folds of n_rows rows of a stratum, of which each fold has `held`; `ties` order equal folds."""
        queue = [(held[fold], rows, ties[fold], fold) for fold, rows in enumerate(self._rows)]
        heapify(queue)
        while n_rows:
            n_held, rows, tie, fold = heappop(queue)
            if rows < self._share or (rows == self._share and self._n_over):  # otherwise it is full, and remains full
                self._n_over -= rows == self._share
                self._rows[fold] += 1
                heappush(queue, (n_held + 1, rows + 1, tie, fold))
                n_rows -= 1
                yield fold


def _ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return the numbers from each start on, as many as its length, one range behind the other."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum())
