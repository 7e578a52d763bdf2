"""Facts about the remaining rows: when they came, how near to others, and how useful they have been since."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from nearlabel.metrics.counts import Comparison
from nearlabel.streams._prequential import f1_of_rows
from nearlabel.utils.types import FloatArray, IntArray, Matrix


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
