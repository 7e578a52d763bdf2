"""Parts of a classifier of a stream: detection of drift, facts about stored samples, and scores by test-then-train."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from nearlabel.metrics.counts import Comparison, Counts, fbeta
from nearlabel.models import copy_to_update
from nearlabel.models.unwrapped import unwrapped
from nearlabel.neighbors.votes import Neighbors
from nearlabel.utils.one_step import on_a_copy
from nearlabel.utils.types import FloatArray, IntArray, Matrix


class Drift(NamedTuple):
    """A window of a stream compared with earlier values: means of values from 0 to 1; larger is worse.

    Parameters
    ----------
    recent : float
        Mean of the window.
    before : float
        The value that it is compared with: the mean of all earlier windows since the last drift, or the expected mean.
    bound : float
        A rise above this is drift.
    found : bool
        Whether the mean rose by more than the bound.
    """

    recent: float
    before: float
    bound: float
    found: bool


class Watch:
    """Look for a rise of values in [0, 1], once at the end of each window of fixed length.

    With w values in the window and m before it, a rise of their means above ``sqrt(log(1 / alpha) / 2 * (1/w + 1/m))``
    is drift (Hoeffding, 1963, 2.7). If no expected value in the window exceeds the expected values before, each given
    the past (Azuma, 1967), at most the share `alpha` of the windows is called drift. After drift the next windows are
    compared with the one in which it was found.

    Parameters
    ----------
    window : int
        Number of values of a window.
    alpha : float
        The share of windows that may be called drift when there is none.
    expected : float, default=None
        The mean to compare with. None: that of the earlier windows.
    """

    def __init__(self, window: int, alpha: float, expected: float | None = None) -> None:
        self.window, self.alpha, self.expected = window, alpha, expected
        self.last: Drift | None = None
        self._in_window, self._before = (0, 0.0), (0, 0.0)  # number and sum of values

    def add(self, values: FloatArray) -> list[int]:
        """Add values; return the positions after which drift was found."""
        found, n_taken = [], 0
        while n_taken < len(values):
            number, total = self._in_window
            some = values[n_taken : n_taken + self.window - number]
            n_taken += len(some)
            self._in_window = number + len(some), total + float(np.sum(some))
            if self._in_window[0] == self.window and self._close():
                found.append(n_taken)
        return found

    def _close(self) -> bool:
        """Compare the window with the earlier values, and begin another; return whether it is drift."""
        (n_recent, recent), (n_before, before) = self._in_window, self._before
        self._in_window, self._before = (0, 0.0), (n_before + n_recent, before + recent)
        if self.expected is None and n_before == 0:
            return False
        mean = before / n_before if self.expected is None else self.expected
        precision = 1 / n_recent + (1 / n_before if self.expected is None else 0)
        bound = math.sqrt(-math.log(self.alpha) / 2 * precision)
        self.last = Drift(recent / n_recent, mean, bound, recent / n_recent - mean > bound)
        if self.last.found:
            self._before = n_recent, recent
        return self.last.found


def _to_change(stream: Any) -> Any:
    """Return a copy of a classifier of a stream, with copies of all that new samples change in place."""
    other = copy_to_update(stream)
    for name in {"_losses", "_novelties", "drifts_"} & set(vars(stream)):
        setattr(other, name, copy(getattr(stream, name)))
    return other


changing_in_one_step = on_a_copy(_to_change)


# Facts about the remaining rows: when they came, how near to others, and how useful they have been since.


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Facts about the remaining rows, each an array of shape (n_kept,), in the order in which the rows came.

    Parameters
    ----------
    number : ndarray of int
        Their place in the stream.
    distance : ndarray of float
        Mean distance to the neighbours that they had when they came; nan if they were not searched for.
    balance : ndarray of float
        How much better their label sets agreed with those of later samples than other neighbours' label sets did.
    """

    number: IntArray
    distance: FloatArray
    balance: FloatArray

    @classmethod
    def first(cls, n_rows: int) -> Self:
        """Return the facts of rows that were not searched for."""
        return cls(np.arange(n_rows), np.full(n_rows, np.nan), np.zeros(n_rows))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.number)

    def with_new(self, number: IntArray, distance: FloatArray) -> KeptRows:
        """Return the facts with those of added rows."""
        balance = np.append(self.balance, np.zeros(len(number)))
        return KeptRows(np.append(self.number, number), np.append(self.distance, distance), balance)

    def without(self, gone: IntArray) -> KeptRows:
        """Return the facts of the other rows."""
        return KeptRows(np.delete(self.number, gone), np.delete(self.distance, gone), np.delete(self.balance, gone))

    def weighed(self, fading: float, indices: IntArray, labels: Matrix, truth: Matrix) -> KeptRows:
        """Return the facts updated by rows with these neighbours, whose true labels have become known.

        Parameters
        ----------
        fading : float
            Factor for the earlier balances.
        indices : ndarray of int of shape (n_new, n_neighbors)
            The neighbours.
        labels, truth : ndarray or CSR of shape (n_kept, n_labels) and (n_new, n_labels)
            Label sets of the remaining rows, and of the added ones.
        """
        agreements = [f1_of_rows(Comparison.of(truth, labels[column]).per_example) for column in indices.T]
        agreement = np.column_stack(agreements)
        gains = agreement - agreement.mean(axis=1, keepdims=True)
        gained = np.bincount(indices.ravel(), weights=gains.ravel(), minlength=len(self))
        return replace(self, balance=self.balance * fading + gained)

    def least_useful(self, n_rows: int) -> IntArray:
        """Return the places of the rows of least balance, among equal ones the oldest; ascending."""
        return np.sort(np.argsort(self.balance, kind="stable")[:n_rows])

    def novelty(self, distance: FloatArray, least: int) -> FloatArray:
        """Return for each distance the share of rows that were nearer, equal ones half; nothing of too few rows."""
        known = np.sort(self.distance[~np.isnan(self.distance)])
        if len(known) < least:
            return np.empty(0)
        nearer, not_farther = (np.searchsorted(known, distance, side) for side in ("left", "right"))
        return np.asarray((nearer + not_farther) / (2 * len(known)))


# Scores of predictions that were made before the true labels were known, added up row by row.

_f1 = fbeta(1.0)


def f1_of_rows(counts: Counts) -> FloatArray:
    """Return the F1 of each row; 1 where nothing was predicted and nothing is true."""
    return _f1(counts, 1.0)


@dataclass(frozen=True)
class Prequential:
    """Sums over the predicted rows: their number, cells, labels and F1."""

    n_samples: int = 0
    hits: int = 0
    predicted: int = 0
    true: int = 0
    cells: int = 0
    f1: float = 0.0

    def with_rows(self, counts: Counts) -> Prequential:
        """Return the sums with those of further rows."""
        n_rows = len(counts.true)
        return Prequential(
            self.n_samples + n_rows,
            self.hits + int(counts.hits.sum()),
            self.predicted + int(counts.predicted.sum()),
            self.true + int(counts.true.sum()),
            self.cells + n_rows * counts.size,
            self.f1 + float(f1_of_rows(counts).sum()),
        )

    def figures(self) -> dict[str, float]:
        """Return the number of rows, micro F1, mean F1 of a row and Hamming loss."""
        if self.n_samples == 0:
            return {"n_samples": 0} | dict.fromkeys(("micro_f1", "example_f1", "hamming_loss"), math.nan)
        hits, predicted, true = np.array([[self.hits], [self.predicted], [self.true]])
        return {
            "n_samples": self.n_samples,
            "micro_f1": float(_f1(Counts(hits, predicted, true, self.cells), 0.0)[0]),
            "example_f1": self.f1 / self.n_samples,
            "hamming_loss": (self.predicted + self.true - 2 * self.hits) / self.cells,
        }


def nearest_learnt(model: Any, X: Matrix) -> Neighbors:
    """Return the neighbours of rows among those that a model has learnt, also through thresholds and pipelines."""
    found = unwrapped(model)
    return Neighbors(*found.classifier.search_.kneighbors(found.transformed(X), found.classifier.n_neighbors_))
