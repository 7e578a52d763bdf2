"""What would turn a decision where the votes of every label count for every other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearlabel.lazy._flips import least_changes
from nearlabel.lazy._plain import column_of
from nearlabel.utils.types import BoolArray, IntArray


def numbers_of(block: slice) -> IntArray:
    """Return the numbers that a slice stands for."""
    return np.arange(block.start, block.stop)


class FlipsByAny:
    """The least change of the votes of one label that turns each label's decision.

    Of changes of as many votes the label's own comes first, then the label of lower number, then the loss.
    """

    def __init__(self, chosen: BoolArray, votes: IntArray, n_neighbors: int) -> None:
        self.chosen, self.votes = chosen, votes
        self.changes = np.arange(n_neighbors + 1) - votes[:, np.newaxis]
        n_labels = len(votes)
        self.decided_by_own = np.empty(self.changes.shape, dtype=np.bool_)
        self.best = np.full(n_labels, np.iinfo(np.intp).max)
        self.by, self.by_change = np.zeros((2, n_labels), dtype=np.intp)

    def look_at(self, block: slice, decided: BoolArray) -> None:
        """Take what is decided (n_block, n_counts, n_labels) at every number of votes of a block of labels."""
        for label, of_all in zip(numbers_of(block), decided, strict=True):
            self.decided_by_own[label] = of_all[:, label]
            cost = np.repeat(2 * np.abs(self.changes[label])[:, np.newaxis] + 1, len(self.votes), axis=1)
            cost[:, label] -= 1
            cost[of_all == self.chosen] = np.iinfo(np.intp).max
            count, least = cost.argmin(axis=0), cost.min(axis=0)
            better = least < self.best
            self.best[better], self.by[better] = least[better], label
            self.by_change[better] = self.changes[label, count[better]]

    def own(self) -> NDArray[Any]:
        """Return the change of the label's own votes."""
        return least_changes(self.decided_by_own, self.votes)

    def label(self, names: NDArray[Any]) -> NDArray[Any]:
        """Return the name of the label whose votes need the least change."""
        return self._where_any(names[self.by].tolist())

    def change(self) -> NDArray[Any]:
        """Return that change."""
        return self._where_any(self.by_change.tolist())

    def _where_any(self, values: list[Any]) -> NDArray[Any]:
        turns = self.best < np.iinfo(np.intp).max
        return column_of([one if turn else None for one, turn in zip(values, turns, strict=True)])
